//! The look of pictures.

use clap::Args;

use super::pictures::Format;

/// Size and title.
#[derive(Clone, Debug, Args)]
pub struct PictureOption {
    /// Width and height of the pictures, mm; texts keep their size
    #[arg(long, value_name = "WxH", requires = "output", value_parser = size)]
    size: Option<(f64, f64)>,
    /// The line above each picture, in place of its own; '' for none
    #[arg(long, value_name = "TEXT", requires = "output")]
    title: Option<String>,
}

/// Millimetres that a picture may be wide or high: below there is no room within the axes.
const SIZES_MM: std::ops::RangeInclusive<f64> = 40.0..=1000.0;

/// `84x55`: width and height, mm.
fn size(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.parse().ok().filter(|number| SIZES_MM.contains(number));
    text.split_once('x').and_then(|(width, height)| Some((number(width)?, number(height)?))).ok_or_else(|| {
        format!("expected: width and height in mm, {} to {}, as in 84x55", SIZES_MM.start(), SIZES_MM.end())
    })
}

impl PictureOption {
    /// The format of a picture whose usual size is this, in units of which 96 are an inch.
    pub fn format_or(&self, size: (f64, f64)) -> Format {
        let units = |mm: f64| mm / 25.4 * 96.0;
        let size = self.size.map_or(size, |(width, height)| (units(width), units(height)));
        Format { size, title: self.title.clone() }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let options = [("--size", self.size.is_some()), ("--title", self.title.is_some())];
        options.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}
