//! The fingerprint of a micro-benchmark (thesis, section 4.7: MPI-MiBFi), and the ways to look at it. What comes in are
//! the run times and counters of a source. What goes out is a [`page`], static [`pictures`], or lines in the
//! [`terminal`].
//!
//! [`measured`] takes what a source has measured, and [`make`] makes a [`fingerprint::Report`] of it. All else only
//! draws: every number comes out of [`make`].

pub mod detail;
pub mod fingerprint;
mod for_pictures;
pub mod histogram;
pub mod make;
pub mod measured;
pub mod page;
pub mod picture_option;
pub mod pictures;
pub mod plots;
pub mod terminal;
pub mod thin;
pub mod timed;
pub mod timeline;
