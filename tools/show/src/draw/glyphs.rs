//! Texts as outlines of the built-in font: they look alike everywhere, and need no font where they are shown.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use zeno::{Command, PathBuilder, Vector};

use super::scene::Anchor;

/// DejaVu Sans, of which Latin letters and some signs are kept. Its licence lies beside it.
pub const FONT: &[u8] = include_bytes!("assets/DejaVuSans.ttf");

/// The built-in font.
pub fn font() -> Result<Face<'static>> {
    Face::parse(FONT, 0).context("the built-in font")
}

/// The glyphs of a line of text, each with the character that it shows and its advance, in units of `size` an em. One
/// that the font does not have is shown as a question mark.
pub fn glyphs(face: &Face, text: &str, size: f64) -> Vec<(GlyphId, char, f64)> {
    let per_unit = size / f64::from(face.units_per_em());
    let glyph = |character: char| {
        let (glyph, character) = match face.glyph_index(character) {
            Some(glyph) => (glyph, character),
            None => (face.glyph_index('?').unwrap_or(GlyphId(0)), '?'),
        };
        (glyph, character, f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * per_unit)
    };
    text.chars().map(glyph).collect()
}

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| font().ok());

/// The first letter of a text that the font does not have.
pub fn missing(text: &str) -> Option<char> {
    let face = FACE.as_ref()?;
    text.chars().find(|&letter| face.glyph_index(letter).is_none())
}

/// How wide a line of text of this size is.
pub fn width(text: &str, size: f64) -> f64 {
    // The font is there; as wide as a digit else.
    FACE.as_ref().map_or(0.64 * size * text.chars().count() as f64, |face| {
        glyphs(face, text, size).iter().map(|(.., advance)| advance).sum()
    })
}

/// The text in so much room: smaller where it does not fit, down to the least size, and then cut off. With its size.
pub fn fitted(text: &str, size: f64, least: f64, room: f64) -> (String, f64) {
    let wide = width(text, size);
    if wide <= room {
        return (text.to_owned(), size);
    }
    let smaller = size * room / wide;
    if smaller >= least {
        return (text.to_owned(), (smaller * 10.0).floor() / 10.0);
    }
    let mut short: Vec<char> = text.chars().collect();
    while !short.is_empty() && width(&format!("{}...", String::from_iter(&short)), least) > room {
        short.pop();
    }
    (format!("{}...", String::from_iter(short).trim_end()), least)
}

/// How far left of its place a text of this width begins.
pub fn start(anchor: Anchor, width: f64) -> f64 {
    match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    }
}

/// The outlines of a line of text of this size, y downwards, relative to its place.
pub fn outlines(face: &Face, text: &str, anchor: Anchor, size: f64) -> Vec<Command> {
    let per_unit = size / f64::from(face.units_per_em());
    let glyphs = glyphs(face, text, size);
    let mut along = start(anchor, glyphs.iter().map(|(.., advance)| advance).sum());
    let mut outline = Outline { commands: Vec::new(), per_unit: per_unit as f32, along: 0.0 };
    for (glyph, _, advance) in glyphs {
        outline.along = along as f32;
        face.outline_glyph(glyph, &mut outline);
        along += advance;
    }
    outline.commands
}

/// The outlines of glyphs, one after the other, y downwards.
struct Outline {
    commands: Vec<Command>,
    per_unit: f32,
    along: f32,
}

impl Outline {
    fn placed(&self, x: f32, y: f32) -> Vector {
        Vector::new(self.along + x * self.per_unit, -y * self.per_unit)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let at = self.placed(x, y);
        self.commands.move_to(at);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let at = self.placed(x, y);
        self.commands.line_to(at);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (control, at) = (self.placed(x1, y1), self.placed(x, y));
        self.commands.quad_to(control, at);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second, at) = (self.placed(x1, y1), self.placed(x2, y2), self.placed(x, y));
        self.commands.curve_to(first, second, at);
    }

    fn close(&mut self) {
        PathBuilder::close(&mut self.commands);
    }
}
