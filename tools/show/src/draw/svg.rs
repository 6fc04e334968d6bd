//! The picture as SVG.

use std::fmt::Write;

use super::picture::SMALL;
use super::png;
use super::scene::{Anchor, Area, Colour, INK, Item, Scene, Stroke};

/// A length in pixels, of which 96 are an inch, to a hundredth.
fn length(pixels: f64) -> String {
    format!("{}", (pixels * 100.0).round() / 100.0)
}

/// The text of the file. Fonts are named, not embedded: the first that a reader has is taken. `prefix` distinguishes
/// the names in it from those of other pictures in the same document.
///
/// Marks are in a group that is clipped to the axes. Each carries the number of its layer as `data-layer`, and the name
/// as its class.
pub fn text(scene: &Scene, prefix: &str) -> String {
    let (width, height) = (length(scene.width), length(scene.height));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" \
         font-size=\"{SMALL}\" fill=\"{}\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        hex(INK),
        escaped(&scene.title)
    );
    let mut areas = 0;
    let mut open: Option<Area> = None;
    for item in &scene.items {
        let within = match item {
            Item::Path { within, .. } => *within,
            Item::Image { area, layer, .. } => (*layer != usize::MAX).then_some(*area),
            Item::Text { .. } => None,
        };
        if within != open {
            if open.is_some() {
                svg.push_str("</g>\n");
            }
            if let Some(Area { left, top, width, height }) = within {
                let area = format!("x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
                let name = format!("{prefix}{areas}");
                let _ =
                    writeln!(svg, "<clipPath id=\"{name}\"><rect {area}/></clipPath><g clip-path=\"url(#{name})\">");
                areas += 1;
            }
            open = within;
        }
        element(item, &mut svg);
    }
    svg.push_str(if open.is_some() { "</g>\n</svg>\n" } else { "</svg>\n" });
    svg
}

fn element(item: &Item, svg: &mut String) {
    let _ = match item {
        Item::Path { data, fill, stroke, layer, .. } => {
            let fill = fill.map_or_else(|| "none".to_owned(), hex);
            let layer = layer.as_ref().map_or_else(String::new, |(number, name)| {
                let number = if *number == usize::MAX { String::new() } else { format!(" data-layer=\"{number}\"") };
                format!("{number} class=\"{}\"", escaped(name))
            });
            writeln!(svg, "<path d=\"{data}\" fill=\"{fill}\"{}{layer}/>", stroke.map_or_else(String::new, pen))
        }
        Item::Image { area: Area { left, top, width, height }, width: columns, pixels, .. } => {
            let bytes = base64(&png::encoded(*columns, pixels));
            writeln!(
                svg,
                "<image x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{bytes}\"/>"
            )
        }
        Item::Text { text, .. } if text.is_empty() => Ok(()),
        Item::Text { at: (x, y), anchor, size, text, colour, upright, is_tick } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let place = match upright {
                false => format!("x=\"{x:.1}\" y=\"{y:.1}\""),
                true => format!("transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
            };
            let size = if *size == SMALL { String::new() } else { format!(" font-size=\"{size}\"") };
            let fill = if *colour == INK { String::new() } else { format!(" fill=\"{}\"", hex(*colour)) };
            let class = if *is_tick { " class=\"tick\"" } else { "" };
            writeln!(svg, "<text{class} {place}{size}{anchor}{fill}>{}</text>", escaped(text))
        }
    };
}

fn pen(stroke: Stroke) -> String {
    let dash = stroke.dash.map_or_else(String::new, |(on, off)| format!(" stroke-dasharray=\"{on} {off}\""));
    format!(" stroke=\"{}\" stroke-width=\"{}\"{dash}", hex(stroke.colour), stroke.width)
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A text as it is written within an element or an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Bytes in Base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for letter in 0..4 {
            let is_filled = letter <= three.len();
            let value = (bits >> (18 - 6 * letter) & 63) as usize;
            text.push(if is_filled { LETTERS[value].into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_trace_stay_text() {
        let mut scene = Scene::new(100.0, 50.0, "a & b".into());
        scene.text((1.0, 2.0), Anchor::End, 12.0, INK, "<script>");
        let svg = text(&scene, "a");
        assert!(svg.contains("<title>a &amp; b</title>") && svg.contains(">&lt;script&gt;</text>"), "{svg}");
    }

    #[test]
    fn marks_are_clipped_to_their_axes_and_name_their_layer() {
        let mut scene = Scene::new(100.0, 50.0, String::new());
        let area = Area { left: 1.0, top: 2.0, width: 30.0, height: 20.0 };
        let layer = Some((1, "good".to_owned()));
        scene.items.push(Item::Path { data: "M1 2h3".into(), fill: None, stroke: None, within: Some(area), layer });
        scene.items.push(Item::Image { area, width: 1, pixels: vec![INK; 2], layer: 0 });
        scene.line((0.0, 0.0), (1.0, 1.0), Stroke::solid(INK, 1.0));
        let svg = text(&scene, "p7-");
        let start = svg.find("<clipPath id=\"p7-0\">").unwrap();
        let group = svg[start..].split("</g>").next().unwrap();
        assert!(
            group.contains("<g clip-path=\"url(#p7-0)\">") && group.contains("data-layer=\"1\" class=\"good\""),
            "{svg}"
        );
        assert!(group.contains("data:image/png;base64,iVBORw0KGgo"), "{svg}");
        assert!(svg.ends_with(
            "</g>\n<path d=\"M0.0 0.0L1.0 1.0\" fill=\"none\" stroke=\"#1a1a1a\" stroke-width=\"1\"/>\n</svg>\n"
        ));
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
    }
}
