//! The page: one file that needs nothing else. The report lies in it as JSON, and a script draws it.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use serde_json::ser::Formatter;

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
/// In the order in which they stand upon each other.
const SCRIPT: [&str; 10] = [
    include_str!("assets/base.js"),
    include_str!("assets/axis.js"),
    include_str!("assets/plot.js"),
    include_str!("assets/marks.js"),
    include_str!("assets/plots.js"),
    include_str!("assets/heat.js"),
    include_str!("assets/section.js"),
    include_str!("assets/overlay.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/page.js"),
];

/// Writes it.
pub fn write(title: &str, report: &impl Serialize, output: &mut dyn Write) -> Result<()> {
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        output.write_all(before.as_bytes())?;
        let Some((place, behind)) = after.split_once("}}") else { break };
        match place {
            "title" => output.write_all(escaped(title).as_bytes())?,
            "style" => output.write_all(STYLE.as_bytes())?,
            "script" => output.write_all(SCRIPT.join("\n").as_bytes())?,
            _ => report_json(report, output)?,
        }
        rest = behind;
    }
    output.write_all(rest.as_bytes())?;
    Ok(())
}

fn report_json(report: &impl Serialize, output: &mut dyn Write) -> Result<()> {
    report.serialize(&mut serde_json::Serializer::with_formatter(output, WithinHtml))?;
    Ok(())
}

/// JSON in which no `<` stands: nothing in it can end the element that it lies in.
struct WithinHtml;

impl Formatter for WithinHtml {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> std::io::Result<()> {
        for (index, piece) in fragment.split('<').enumerate() {
            if index > 0 {
                writer.write_all(b"\\u003c")?;
            }
            writer.write_all(piece.as_bytes())?;
        }
        Ok(())
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_trace_ends_the_data() {
        let mut bytes = Vec::new();
        let text = "</script><script>alert(1)</script>";
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, WithinHtml)).unwrap();
        let json = String::from_utf8(bytes).unwrap();
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        for text in SCRIPT.iter().chain([&TEMPLATE, &STYLE]) {
            for forbidden in ["http:", "https:", "@import", "fetch(", "import("] {
                assert!(!text.contains(forbidden), "{forbidden}");
            }
        }
    }
}
