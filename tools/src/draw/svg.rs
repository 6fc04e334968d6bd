//! The picture as SVG.

use std::fmt::Write;

use super::scene::{Anchor, Area, Colour, Item, Scene, Stroke};

/// The text of the file. Fonts are named, not embedded: the first that a reader has is taken.
pub fn text(scene: &Scene) -> String {
    let (width, height) = (scene.width, scene.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escaped(&scene.title)
    );
    let mut areas: Vec<Area> = Vec::new();
    for item in &scene.items {
        let Item::Path { within: Some(area), .. } = item else { continue };
        if areas.contains(area) {
            continue;
        }
        let Area { left, top, width, height } = area;
        let rectangle = format!("<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>");
        let _ = writeln!(svg, "<clipPath id=\"area{}\">{rectangle}</clipPath>", areas.len());
        areas.push(*area);
    }
    for item in &scene.items {
        svg.push_str(&element(item, &areas));
        svg.push('\n');
    }
    svg.push_str("</svg>\n");
    svg
}

fn element(item: &Item, areas: &[Area]) -> String {
    match item {
        Item::Path { data, fill, stroke, within } => {
            let clip = within.and_then(|area| areas.iter().position(|known| *known == area));
            let clip = clip.map_or_else(String::new, |number| format!(" clip-path=\"url(#area{number})\""));
            let fill = fill.map_or_else(|| "none".to_owned(), hex);
            format!("<path d=\"{data}\" fill=\"{fill}\"{}{clip}/>", stroke.map_or_else(String::new, stroke_of))
        }
        Item::Text { at: (x, y), anchor, size, text, colour, upright } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let place = match upright {
                false => format!("x=\"{x:.1}\" y=\"{y:.1}\""),
                true => format!("transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
            };
            let (fill, text) = (hex(*colour), escaped(text));
            format!("<text {place} font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{text}</text>")
        }
    }
}

fn stroke_of(stroke: Stroke) -> String {
    let dash = stroke.dash.map_or_else(String::new, |(on, off)| format!(" stroke-dasharray=\"{on} {off}\""));
    format!(" stroke=\"{}\" stroke-width=\"{}\"{dash}", hex(stroke.colour), stroke.width)
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::scene::INK;

    #[test]
    fn names_of_a_trace_stay_text() {
        let mut scene = Scene::new(100.0, 50.0, "a & b".into());
        scene.text((1.0, 2.0), Anchor::End, 12.0, INK, "<script>");
        let svg = text(&scene);
        assert!(svg.contains("<title>a &amp; b</title>") && svg.contains(">&lt;script&gt;</text>"), "{svg}");
    }
}
