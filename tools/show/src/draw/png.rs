//! The picture as PNG: the same paths, and texts in a font of our own, so that it looks alike on every machine.

use std::io::Write;

use anyhow::Result;
use ttf_parser::Face;
use zeno::{Cap, Fill, Mask, Placement, Stroke as Pen, Style, Transform, Vector};

use super::glyphs;
use super::scene::{Anchor, Area, Colour, Item, PAPER, Scene, Stroke, runs};

/// Pixels of an inch, as print wants them, and of a metre, as the file states them.
const DOTS: f64 = 300.0;
const PER_METRE: u32 = 11_811;
/// Pixels for each unit of the picture, of which 96 are an inch.
const SCALE: f64 = DOTS / 96.0;

/// Writes a scene as PNG of 300 dots an inch, which the file states.
///
/// # Errors
/// There is no font, or the output cannot be written.
pub fn write(scene: &Scene, output: &mut dyn Write) -> Result<()> {
    let face = glyphs::font()?;
    let mut paper = Paper::new((scene.width * SCALE).round() as usize, (scene.height * SCALE).round() as usize);
    for item in &scene.items {
        match item {
            Item::Path { data, fill, stroke, within, .. } => paper.path(data, *fill, *stroke, *within),
            Item::Image { area, width, pixels, .. } => {
                runs(*area, *width, pixels).into_iter().for_each(|(area, colour)| paper.fill(area, colour));
            }
            Item::Text { at, anchor, size, text, colour, upright, .. } => {
                paper.text(&face, *at, (*anchor, *size, *upright), text, *colour);
            }
        }
    }
    output.write_all(&file(paper.width, paper.height, &paper.pixels, Some(PER_METRE))?)?;
    Ok(())
}

/// Pixels as a file, row by row from the top.
pub fn encoded(width: usize, pixels: &[Colour]) -> Vec<u8> {
    let bytes: Vec<u8> = pixels.iter().flat_map(|colour| [colour.0, colour.1, colour.2]).collect();
    // Memory takes all that is written, and the number of bytes is right.
    file(width, pixels.len() / width.max(1), &bytes, None).unwrap_or_default()
}

fn file(width: usize, height: usize, pixels: &[u8], per_metre: Option<u32>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let size = |dots| png::PixelDimensions { xppu: dots, yppu: dots, unit: png::Unit::Meter };
    encoder.set_pixel_dims(per_metre.map(size));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

struct Paper {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Paper {
    fn new(width: usize, height: usize) -> Paper {
        let white = [PAPER.0, PAPER.1, PAPER.2];
        Paper { width, height, pixels: white.repeat(width * height) }
    }

    fn path(&mut self, data: &str, fill: Option<Colour>, stroke: Option<Stroke>, within: Option<Area>) {
        let scale = Transform::scale(SCALE as f32, SCALE as f32);
        if let Some(colour) = fill {
            let (mask, place) = Mask::new(data).style(Fill::NonZero).transform(Some(scale)).render();
            self.blend(&mask, place, colour, within);
        }
        if let Some(Stroke { colour, width, dash }) = stroke {
            let dashes = dash.map_or([0.0; 2], |(on, off)| [on as f32, off as f32]);
            let mut pen = Pen::new(width as f32);
            pen.cap(Cap::Butt);
            if dash.is_some() {
                pen.dash(&dashes, 0.0);
            }
            let (mask, place) = Mask::new(data).style(Style::Stroke(pen)).transform(Some(scale)).render();
            self.blend(&mask, place, colour, within);
        }
    }

    /// Fills the pixels of an area, without smooth edges: neighbouring areas leave no seam.
    fn fill(&mut self, area: Area, colour: Colour) {
        let bound = |place: f64, size: usize| ((place * SCALE).round().max(0.0) as usize).min(size);
        let (left, right) = (bound(area.left, self.width), bound(area.right(), self.width));
        for row in bound(area.top, self.height)..bound(area.bottom(), self.height) {
            let pixels = &mut self.pixels[3 * (row * self.width + left)..3 * (row * self.width + right)];
            pixels.copy_from_slice(&[colour.0, colour.1, colour.2].repeat(right - left));
        }
    }

    fn text(&mut self, face: &Face, at: (f64, f64), how: (Anchor, f64, bool), text: &str, colour: Colour) {
        let (anchor, size, upright) = how;
        let outlines = glyphs::outlines(face, text, anchor, size * SCALE);
        let place = Vector::new((at.0 * SCALE) as f32, (at.1 * SCALE) as f32);
        let turned = match upright {
            true => Transform::new(0.0, -1.0, 1.0, 0.0, place.x, place.y),
            false => Transform::translation(place.x, place.y),
        };
        let (mask, place) = Mask::new(&outlines).style(Fill::NonZero).transform(Some(turned)).render();
        self.blend(&mask, place, colour, None);
    }

    /// Lays a colour over the picture where the mask says, as much as it says.
    fn blend(&mut self, mask: &[u8], place: Placement, colour: Colour, within: Option<Area>) {
        let bound = |from: f64, to: f64, size: usize| {
            ((from * SCALE).round().max(0.0) as i64, ((to * SCALE).round().max(0.0) as i64).min(size as i64))
        };
        let ((left, right), (top, bottom)) = match within {
            Some(area) => (bound(area.left, area.right(), self.width), bound(area.top, area.bottom(), self.height)),
            None => ((0, self.width as i64), (0, self.height as i64)),
        };
        for row in 0..i64::from(place.height) {
            let y = i64::from(place.top) + row;
            if y < top || y >= bottom {
                continue;
            }
            for column in 0..i64::from(place.width) {
                let x = i64::from(place.left) + column;
                let share = u32::from(mask[(row * i64::from(place.width) + column) as usize]);
                if share == 0 || x < left || x >= right {
                    continue;
                }
                let first = 3 * (y as usize * self.width + x as usize);
                for (pixel, ink) in self.pixels[first..first + 3].iter_mut().zip([colour.0, colour.1, colour.2]) {
                    *pixel = ((u32::from(*pixel) * (255 - share) + u32::from(ink) * share + 127) / 255) as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::scene::INK;

    fn pixels(scene: &Scene) -> (u32, u32, Vec<u8>) {
        let mut bytes = Vec::new();
        write(scene, &mut bytes).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    #[test]
    fn paths_and_texts_leave_ink_where_they_are() {
        let mut scene = Scene::new(40.0, 20.0, String::new());
        scene.fill(Area { left: 2.0, top: 3.0, width: 5.0, height: 4.0 }, Colour(200, 0, 0));
        scene.text((20.0, 15.0), Anchor::Start, 12.0, INK, "µs");
        let area = Area { left: 30.0, top: 2.0, width: 4.0, height: 2.0 };
        scene.items.push(Item::Image { area, width: 2, pixels: vec![INK, Colour(0, 9, 0), INK, INK], layer: 0 });
        let (width, height, pixels) = pixels(&scene);
        assert_eq!((width, height), (125, 63));
        let at = |x: usize, y: usize| &pixels[3 * (y * 125 + x)..3 * (y * 125 + x) + 3];
        assert_eq!(
            (at(5, 12), at(7, 12), at(20, 12), at(23, 23)),
            (&[255; 3][..], &[200, 0, 0][..], &[200, 0, 0][..], &[255; 3][..])
        );
        assert_eq!((at(96, 7), at(102, 7), at(102, 10)), (&[26; 3][..], &[0, 9, 0][..], &[26; 3][..]));
        let dark = (62..94).flat_map(|x| (16..60).map(move |y| (x, y))).filter(|&(x, y)| at(x, y)[0] < 100).count();
        assert!(dark > 60, "{dark}");
    }
}
