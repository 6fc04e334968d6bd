//! The picture as PDF (ISO 32000-1): one page of its size, paths and texts as outlines, so that no font is embedded.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use zeno::{Command, PathData, Vector};

use super::glyphs;
use super::scene::{Area, Colour, Item, Scene, Stroke, runs};

/// Points of PDF for each unit of the picture: 72 an inch for 96.
const POINTS: f64 = 0.75;

/// Writes the picture.
///
/// # Errors
/// The output cannot be written.
pub fn write(scene: &Scene, output: &mut dyn Write) -> Result<()> {
    let content = compressed(content(scene)?.as_bytes())?;
    let (width, height) = (POINTS * scene.width, POINTS * scene.height);
    let title: String = scene.title.encode_utf16().fold("FEFF".to_owned(), |mut hex, unit| {
        let _ = write!(hex, "{unit:04X}");
        hex
    });
    let objects: [Vec<u8>; 5] = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.2} {height:.2}] /Resources << >> /Contents 4 0 R >>"
        )
        .into_bytes(),
        [
            format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", content.len()).as_bytes(),
            &content,
            b"\nendstream",
        ]
        .concat(),
        format!("<< /Title <{title}> /Producer (mpitrace {}) >>", env!("CARGO_PKG_VERSION")).into_bytes(),
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

fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn content(scene: &Scene) -> Result<String> {
    let face = glyphs::font()?;
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
            Item::Text { at: (x, y), anchor, size, text: line, colour, upright, .. } => {
                let turned = if *upright { "0 -1 1 0" } else { "1 0 0 1" };
                let path = commands(glyphs::outlines(&face, line, *anchor, *size).iter().copied());
                let _ = writeln!(text, "q\n{turned} {x:.2} {y:.2} cm\n{} rg\n{path}f\nQ", rgb(*colour));
            }
        }
    }
    Ok(text)
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
            let row = find(b"xref\n0 6\n") + 9 + 20 * number;
            std::str::from_utf8(&bytes[row..row + 10]).unwrap().parse::<usize>().unwrap()
        };
        for number in 1..=5 {
            let object = format!("{number} 0 obj\n");
            assert!(bytes[place(number)..].starts_with(object.as_bytes()), "object {number}");
        }
        let stated: usize = text.rsplit("startxref\n").next().unwrap().lines().next().unwrap().parse().unwrap();
        assert_eq!(stated, find(b"xref\n0 6\n"));
    }

    #[test]
    fn paths_are_the_operators_of_pdf() {
        let mut scene = Scene::new(100.0, 50.0, String::new());
        scene.fill(Area { left: 2.0, top: 3.0, width: 5.0, height: 4.0 }, Colour(255, 0, 0));
        let stroke = Stroke { colour: INK, width: 1.5, dash: Some((4.0, 3.0)) };
        let within = Area { left: 0.0, top: 0.0, width: 10.0, height: 10.0 };
        scene.path("M1 2L3 4".into(), None, Some(stroke), Some(within));
        let text = content(&scene).unwrap();
        assert!(text.starts_with("0.75 0 0 -0.75 0 37.50 cm\n"), "{text}");
        let filled = "1.000 0.000 0.000 rg\n2.00 3.00 m\n7.00 3.00 l\n7.00 7.00 l\n2.00 7.00 l\nh\nf\n";
        assert!(text.contains(filled), "{text}");
        assert!(text.contains("0.00 0.00 10.00 10.00 re W n\n"), "{text}");
        assert!(text.contains("1.5 w\n[4 3] 0 d\n1.00 2.00 m\n3.00 4.00 l\nS\n"), "{text}");
    }
}
