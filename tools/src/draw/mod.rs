//! The drawing library: axes with ticks, charts with marks in data coordinates, and ways to write them.
//!
//! A [`Chart`] draws into a [`scene::Scene`], which is written as [`svg`], [`png`] or [`pdf`]. A [`terminal::Canvas`] holds
//! points in characters. Static pictures, the picture of the clocks and the plots in the terminal use the same
//! [`axis::Axis`].

pub mod axis;
mod chart;
mod glyphs;
pub mod pdf;
pub mod png;
pub mod scene;
pub mod svg;
pub mod terminal;

pub use chart::{Chart, PALETTE, Range, SMALL, circle, error_bar};
