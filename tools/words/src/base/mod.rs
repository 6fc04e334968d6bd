//! What all sentences stand on: descriptions and names of operations, numbers, shares, reasons.

pub mod description;
pub mod names;
pub mod numbers;
pub mod reason;
pub mod share;
