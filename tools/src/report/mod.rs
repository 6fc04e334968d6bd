//! The fingerprint of a micro-benchmark (thesis, section 4.7: MPI-MiBFi), and the ways to look at it.
//!
//! [`measured`] takes what a source has measured, [`make`] makes a [`fingerprint::Report`] of it, and that is shown as
//! a [`page`], as static [`pictures`] or in the [`terminal`]. Each of them only draws: every number comes out of
//! [`make`].

pub mod detail;
pub mod fingerprint;
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
