//! The first inputs of the targets: small, and with every structure that the formats have.

pub mod segment;
pub mod text;
pub mod trace;

/// A name, and the bytes of a file.
pub type Seed = (&'static str, Vec<u8>);
