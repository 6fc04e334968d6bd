//! The drawing library: plots as marks over axes, and ways to draw and write them.
//!
//! A [`plot::Plot`] is drawn by [`picture`] into a [`scene::Scene`], which is written as [`svg`], [`png`] or [`pdf`],
//! or by [`terminal`] in characters. The page of a report has the same SVG.

pub mod axis;
mod glyphs;
pub mod pdf;
pub mod picture;
pub mod plot;
pub mod png;
pub mod scene;
pub mod svg;
pub mod terminal;
