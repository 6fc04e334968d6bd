//! The picture as PDF (ISO 32000-1): one page of its size, paths, and texts that can be searched and copied, with the
//! font embedded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use ttf_parser::Face;
use zeno::{Command, PathData, Vector};

use super::glyphs::{self, start};
use super::scene::{Area, Colour, Item, Scene, Stroke, runs};

/// Points of PDF for each unit of the picture: 72 an inch for 96.
const POINTS: f64 = 0.75;
/// A font is named with six letters before its name where it has not all glyphs of that name.
const FONT_NAME: &str = "MPITRC+DejaVuSans";
/// Units of widths in a file, an em.
const PER_EM: f64 = 1000.0;

/// Writes the picture.
///
/// # Errors
/// The output cannot be written.
pub fn write(scene: &Scene, output: &mut dyn Write) -> Result<()> {
    let face = glyphs::font()?;
    let content = content(scene, &face);
    let (width, height) = (POINTS * scene.width, POINTS * scene.height);
    let title: String = scene.title.encode_utf16().fold("FEFF".to_owned(), |mut hex, unit| {
        let _ = write!(hex, "{unit:04X}");
        hex
    });
    let [composite, descendant, descriptor, program, unicode] = font(scene, &face)?;
    let objects: [Vec<u8>; 10] = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2} {height:.2}] /Resources << /Font << /F 6 0 R >> >> \
             /Contents 4 0 R >>"
        )
        .into_bytes(),
        stream(content.as_bytes(), "")?,
        format!("<< /Title <{title}> /Producer (mpitrace {}) >>", env!("CARGO_PKG_VERSION")).into_bytes(),
        composite,
        descendant,
        descriptor,
        program,
        unicode,
    ];
    // The second line says that the file holds bytes.
    let mut file: Vec<u8> = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").as_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    let count = objects.len() + 1;
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").as_bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").as_bytes());
    }
    file.extend(
        format!("trailer\n<< /Size {count} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n").as_bytes(),
    );
    output.write_all(&file)?;
    Ok(())
}

/// A compressed stream, with further keys of its dictionary.
fn stream(bytes: &[u8], keys: &str) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    let packed = encoder.finish()?;
    let head = format!("<< /Length {}{keys} /Filter /FlateDecode >>\nstream\n", packed.len());
    Ok([head.as_bytes(), &packed, b"\nendstream"].concat())
}

/// The font as objects 6 to 10: characters are the numbers of glyphs, and a table says what each means.
fn font(scene: &Scene, face: &Face) -> Result<[Vec<u8>; 5]> {
    let mut used: BTreeMap<u16, (char, f64)> = BTreeMap::new();
    for item in &scene.items {
        let Item::Text { text, .. } = item else { continue };
        used.extend(glyphs::glyphs(face, text, PER_EM).iter().map(|(glyph, shown, wide)| (glyph.0, (*shown, *wide))));
    }
    let widths: String = used.iter().map(|(glyph, (_, wide))| format!("{glyph} [{wide:.0}] ")).collect();
    let mut unicode = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Adobe-Identity-UCS def \
                       /CMapType 2 def\n1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        .to_owned();
    // A table takes at most 100 entries at once.
    let entries: Vec<String> = used
        .iter()
        .map(|(glyph, (shown, _))| {
            let units: String = shown.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("{unit:04X}")).collect();
            format!("<{glyph:04X}> <{units}>\n")
        })
        .collect();
    for some in entries.chunks(100) {
        let _ = write!(unicode, "{} beginbfchar\n{}endbfchar\n", some.len(), some.concat());
    }
    unicode.push_str("endcmap CMapName currentdict /CMap defineresource pop end end\n");
    let per_em = |units: i16| f64::from(units) * PER_EM / f64::from(face.units_per_em());
    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(per_em);
    let (ascent, descent) = (per_em(face.ascender()), per_em(face.descender()));
    let capitals = per_em(face.capital_height().unwrap_or(face.ascender()));
    Ok([
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /{FONT_NAME} /Encoding /Identity-H /DescendantFonts [7 0 R] \
             /ToUnicode 10 0 R >>"
        )
        .into_bytes(),
        format!(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{FONT_NAME} /CIDSystemInfo << /Registry (Adobe) \
             /Ordering (Identity) /Supplement 0 >> /FontDescriptor 8 0 R /W [{widths}] /CIDToGIDMap /Identity >>"
        )
        .into_bytes(),
        format!(
            "<< /Type /FontDescriptor /FontName /{FONT_NAME} /Flags 4 /FontBBox [{left:.0} {bottom:.0} {right:.0} \
             {top:.0}] /ItalicAngle 0 /Ascent {ascent:.0} /Descent {descent:.0} /CapHeight {capitals:.0} /StemV 80 \
             /FontFile2 9 0 R >>"
        )
        .into_bytes(),
        stream(glyphs::FONT, &format!(" /Length1 {}", glyphs::FONT.len()))?,
        stream(unicode.as_bytes(), "")?,
    ])
}

fn content(scene: &Scene, face: &Face) -> String {
    // The picture's y runs downwards.
    let mut text = format!("{POINTS} 0 0 -{POINTS} 0 {:.2} cm\n", POINTS * scene.height);
    for item in &scene.items {
        match item {
            Item::Path { data, fill, stroke, within, .. } => {
                text += "q\n";
                within.iter().for_each(|area| text += &clip(*area));
                let path = commands(data.as_str().commands());
                if let Some(colour) = fill {
                    let _ = writeln!(text, "{} rg\n{path}f", rgb(*colour));
                }
                if let Some(stroke) = stroke {
                    let _ = writeln!(text, "{}{path}S", pen(stroke));
                }
                text += "Q\n";
            }
            Item::Image { area, width, pixels, .. } => {
                for (Area { left, top, width, height }, colour) in runs(*area, *width, pixels) {
                    // A little larger, so that no seam shows.
                    let (width, height) = (width + 0.1, height + 0.1);
                    let _ = writeln!(text, "{} rg\n{left:.2} {top:.2} {width:.2} {height:.2} re f", rgb(colour));
                }
            }
            Item::Text { text: line, .. } if line.is_empty() => {}
            Item::Text { at, anchor, size, text: line, colour, upright, .. } => {
                let glyphs = glyphs::glyphs(face, line, *size);
                let start = start(*anchor, glyphs.iter().map(|(.., advance)| advance).sum());
                // The y of letters runs upwards.
                let (turned, x, y) = match upright {
                    true => ("0 -1 -1 0", at.0, at.1 - start),
                    false => ("1 0 0 -1", at.0 + start, at.1),
                };
                let codes: String = glyphs.iter().map(|(glyph, ..)| format!("{:04X}", glyph.0)).collect();
                let colour = rgb(*colour);
                let _ = writeln!(text, "BT\n{colour} rg\n/F {size} Tf\n{turned} {x:.2} {y:.2} Tm\n<{codes}> Tj\nET");
            }
        }
    }
    text
}

/// Restricts the following items to the area.
fn clip(area: Area) -> String {
    format!("{:.2} {:.2} {:.2} {:.2} re W n\n", area.left, area.top, area.width, area.height)
}

fn pen(stroke: &Stroke) -> String {
    let dash = stroke.dash.map_or_else(String::new, |(on, off)| format!("[{on} {off}] 0 d\n"));
    format!("{} RG\n{} w\n{dash}", rgb(stroke.colour), stroke.width)
}

fn rgb(Colour(red, green, blue): Colour) -> String {
    let share = |value: u8| f64::from(value) / 255.0;
    format!("{:.3} {:.3} {:.3}", share(red), share(green), share(blue))
}

/// A path in PDF's operators, which have no quadratic curves.
fn commands(path: impl Iterator<Item = Command>) -> String {
    let mut text = String::new();
    let (mut here, mut start) = (Vector::ZERO, Vector::ZERO);
    for command in path {
        let _ = match command {
            Command::MoveTo(to) => {
                (here, start) = (to, to);
                writeln!(text, "{:.2} {:.2} m", to.x, to.y)
            }
            Command::LineTo(to) => {
                here = to;
                writeln!(text, "{:.2} {:.2} l", to.x, to.y)
            }
            Command::QuadTo(control, to) => {
                let (first, second) = (here + (control - here) * (2.0 / 3.0), to + (control - to) * (2.0 / 3.0));
                here = to;
                curve(&mut text, first, second, to)
            }
            Command::CurveTo(first, second, to) => {
                here = to;
                curve(&mut text, first, second, to)
            }
            Command::Close => {
                here = start;
                writeln!(text, "h")
            }
        };
    }
    text
}

fn curve(text: &mut String, first: Vector, second: Vector, to: Vector) -> std::fmt::Result {
    writeln!(text, "{:.2} {:.2} {:.2} {:.2} {:.2} {:.2} c", first.x, first.y, second.x, second.y, to.x, to.y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::scene::{Anchor, INK};

    #[test]
    fn the_places_of_objects_are_those_that_the_file_states() {
        let mut scene = Scene::new(400.0, 200.0, "µs (a)".into());
        scene.fill(Area { left: 10.0, top: 20.0, width: 30.0, height: 40.0 }, Colour(255, 0, 0));
        scene.text((20.0, 15.0), Anchor::End, 12.0, INK, "µs");
        let mut bytes = Vec::new();
        write(&scene, &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.starts_with("%PDF-1.4\n") && text.ends_with("%%EOF\n"), "{text}");
        assert!(text.contains("/MediaBox [0 0 300.00 150.00]") && text.contains("/Title <FEFF00B50073"), "{text}");
        let find = |what: &[u8]| bytes.windows(what.len()).position(|window| window == what).unwrap();
        let place = |number: usize| {
            let row = find(b"xref\n0 11\n") + 10 + 20 * number;
            std::str::from_utf8(&bytes[row..row + 10]).unwrap().parse::<usize>().unwrap()
        };
        for number in 1..=10 {
            let object = format!("{number} 0 obj\n");
            assert!(bytes[place(number)..].starts_with(object.as_bytes()), "object {number}");
        }
        let stated: usize = text.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
        assert_eq!(stated, find(b"xref\n0 11\n"));
    }

    #[test]
    fn paths_are_the_operators_of_pdf() {
        let mut scene = Scene::new(100.0, 50.0, String::new());
        scene.fill(Area { left: 2.0, top: 3.0, width: 5.0, height: 4.0 }, Colour(255, 0, 0));
        let stroke = Stroke { colour: INK, width: 1.5, dash: Some((4.0, 3.0)) };
        let within = Area { left: 0.0, top: 0.0, width: 10.0, height: 10.0 };
        scene.path("M1 2L3 4".into(), None, Some(stroke), Some(within));
        scene.upright((20.0, 40.0), 12.0, INK, "aé");
        let face = glyphs::font().unwrap();
        let text = content(&scene, &face);
        assert!(text.starts_with("0.75 0 0 -0.75 0 37.50 cm\n"), "{text}");
        let filled = "1.000 0.000 0.000 rg\n2.00 3.00 m\n7.00 3.00 l\n7.00 7.00 l\n2.00 7.00 l\nh\nf\n";
        assert!(text.contains(filled), "{text}");
        assert!(text.contains("0.00 0.00 10.00 10.00 re W n\n"), "{text}");
        assert!(text.contains("1.5 w\n[4 3] 0 d\n1.00 2.00 m\n3.00 4.00 l\nS\n"), "{text}");
        // A text that runs upwards begins half its width below its place.
        let below = 40.0 + glyphs::width("aé", 12.0) / 2.0;
        assert!(text.contains(&format!("/F 12 Tf\n0 -1 -1 0 20.00 {below:.2} Tm\n<")), "{text}");
    }
}
