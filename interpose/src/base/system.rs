//! Questions to the C library and the kernel.

pub use mpitrace_format::live::now::nanoseconds;
pub use mpitrace_platform::system::*;
