//! Facts of calls beside their times: the algorithm that the library took, the samples that fell into them, and the
//! calls of which no record was kept.

pub mod algorithms;
pub mod samples;
pub mod whole_run;
