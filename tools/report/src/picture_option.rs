//! The look of pictures: one place for the options of all commands that draw some.

use std::path::Path;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use mpitrace_show::text::Unit;

use super::pictures::{Format, Written};

/// Size, title, labels and unit.
#[derive(Clone, Debug, Default, Args)]
pub struct PictureOption {
    /// Width and height of the picture, mm; texts keep their size
    #[arg(long, value_name = "WxH", requires = "output", value_parser = size)]
    size: Option<(f64, f64)>,
    /// The line above the picture, in place of its own; '' for none
    #[arg(long, value_name = "TEXT", requires = "output")]
    title: Option<String>,
    /// The label of the axis from left to right, as it stands: without a unit
    #[arg(long, value_name = "TEXT", requires = "output")]
    x_label: Option<String>,
    /// The label of the axis from the bottom up
    #[arg(long, value_name = "TEXT", requires = "output")]
    y_label: Option<String>,
    /// The unit of all axes that show a time; without: the one that suits each
    #[arg(long, value_enum, requires = "output")]
    unit: Option<TimeUnit>,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TimeUnit {
    S,
    Ms,
    Us,
    Ns,
}

impl TimeUnit {
    fn unit(self) -> Unit {
        let (name, ns) = match self {
            TimeUnit::S => ("s", 1e9),
            TimeUnit::Ms => ("ms", 1e6),
            TimeUnit::Us => ("µs", 1e3),
            TimeUnit::Ns => ("ns", 1.0),
        };
        Unit { name, ns }
    }
}

/// Millimetres that a picture may be wide or high: below there is no room within the axes.
const SIZES_MM: std::ops::RangeInclusive<f64> = 40.0..=1000.0;

/// `84x55`: width and height, mm.
fn size(text: &str) -> std::result::Result<(f64, f64), String> {
    let number = |text: &str| text.parse().ok().filter(|number| SIZES_MM.contains(number));
    text.split_once('x').and_then(|(width, height)| Some((number(width)?, number(height)?))).ok_or_else(|| {
        format!("expected: width and height in mm, {} to {}, as in 84x55", SIZES_MM.start(), SIZES_MM.end())
    })
}

impl PictureOption {
    /// The format that they ask for.
    pub fn format(&self) -> Format {
        Format {
            size_mm: self.size,
            title: self.title.clone(),
            labels: [self.x_label.clone(), self.y_label.clone()],
            unit: self.unit.map(TimeUnit::unit),
        }
    }

    /// A check that the options have a meaning for a file of this kind.
    ///
    /// # Errors
    /// One of them is for pictures.
    pub fn check(&self, written: Written, path: &Path) -> Result<()> {
        match self.given_of_look() {
            Some(option) if written == Written::Csv => {
                bail!("{option} is for pictures: {} holds the values of one; leave it out", path.display())
            }
            _ => Ok(()),
        }
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let unit = ("--unit", self.unit.is_some());
        self.look().into_iter().chain([unit]).find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// The first one that was given of those that change how a picture looks, but not its values.
    fn given_of_look(&self) -> Option<&'static str> {
        self.look().into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// The first one that was given of those that are for one kind of plot.
    pub fn given_of_labels(&self) -> Option<&'static str> {
        self.look().into_iter().skip(2).find(|(_, given)| *given).map(|(option, _)| option)
    }

    fn look(&self) -> [(&'static str, bool); 4] {
        [
            ("--size", self.size.is_some()),
            ("--title", self.title.is_some()),
            ("--x-label", self.x_label.is_some()),
            ("--y-label", self.y_label.is_some()),
        ]
    }
}
