//! Texts as outlines of the built-in font: they look alike everywhere, and need no font where they are shown.

use anyhow::{Context, Result};
use ttf_parser::{Face, GlyphId, OutlineBuilder};
use zeno::{Command, PathBuilder, Vector};

use super::scene::Anchor;

/// DejaVu Sans, of which Latin letters and some signs are kept. Its licence lies beside it.
const FONT: &[u8] = include_bytes!("assets/DejaVuSans.ttf");

/// The built-in font.
pub fn font() -> Result<Face<'static>> {
    Face::parse(FONT, 0).context("the built-in font")
}

/// The outlines of a line of text of this size, y downwards, relative to its place.
pub fn outlines(face: &Face, text: &str, anchor: Anchor, size: f64) -> Vec<Command> {
    let per_unit = size / f64::from(face.units_per_em());
    let glyphs: Vec<(GlyphId, f64)> = text
        .chars()
        .map(|character| {
            let glyph = face.glyph_index(character).or(face.glyph_index('?')).unwrap_or(GlyphId(0));
            (glyph, f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * per_unit)
        })
        .collect();
    let width: f64 = glyphs.iter().map(|(_, advance)| advance).sum();
    let mut along = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let mut outline = Outline { commands: Vec::new(), per_unit: per_unit as f32, along: 0.0 };
    for (glyph, advance) in glyphs {
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
