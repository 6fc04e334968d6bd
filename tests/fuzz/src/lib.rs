//! The common part of the targets: they read hostile files as the companion does, and look at all that it would look
//! at. What comes in are bytes of the fuzzer, as seeds or changed. What goes out is nothing, or a failure.
//!
//! A target fails where the code under it panics, overflows, allocates more than libFuzzer's limits, takes longer than
//! its time limit, or breaks a promise that is asserted here.

pub mod analyse;
pub mod checksums;
pub mod leftovers;
pub mod memory_file;
pub mod mutate;
pub mod places;
pub mod seeds;
