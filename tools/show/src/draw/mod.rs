//! The drawing library: plots as marks over axes, and ways to draw and write them.
//!
//! A [`plot::Plot`] is drawn by [`picture`] into a [`scene::Scene`], which is written as [`svg`], [`png`] or [`pdf`],
//! by [`terminal`] in characters, or its values as [`csv`]. The page of a report has the same SVG.

pub mod axis;
pub mod csv;
mod glyphs;
pub mod pdf;
pub mod picture;
pub mod plot;
pub mod png;
pub mod scene;
pub mod svg;
pub mod terminal;
