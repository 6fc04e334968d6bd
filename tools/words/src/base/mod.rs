//! The words that all sentences use: descriptions and names of operations, numbers, shares, reasons.

pub mod counted_names;
pub mod description;
pub mod names;
pub mod numbers;
pub mod reason;
pub mod rows;
pub mod share;
