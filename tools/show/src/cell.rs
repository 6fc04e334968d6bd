//! The value of a row in a column of a table.

use std::borrow::Cow;

use crate::text;

/// The value of a row in a column.
#[derive(Clone, Debug)]
pub enum Cell {
    /// As it is.
    Text(String),
    /// Nanoseconds, in the unit of their column.
    Time(f64),
    /// Both ends of an interval, likewise.
    Interval([f64; 2]),
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

/// A time in the unit of its column, or nothing.
pub fn time(ns: impl Into<Option<f64>>) -> Cell {
    ns.into().map_or_else(|| Cell::Text(String::new()), Cell::Time)
}

/// Both ends of an interval in the unit of its column, or nothing.
pub fn interval(ns: Option<[f64; 2]>) -> Cell {
    ns.map_or_else(|| Cell::Text(String::new()), Cell::Interval)
}

impl Cell {
    /// The value that it shows: a time, or the middle of an interval.
    pub(crate) fn ns(&self) -> Option<f64> {
        match self {
            Cell::Text(_) => None,
            Cell::Time(ns) => Some(*ns),
            Cell::Interval([lower, upper]) => Some((lower + upper) / 2.0),
        }
    }

    pub(crate) fn time(&self) -> Option<f64> {
        if let Cell::Time(ns) = self { Some(*ns) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Cell::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn shown(&self, unit: Option<text::Unit>) -> Cow<'_, str> {
        let time = |ns: f64| unit.map_or_else(|| text::time(ns), |unit| unit.number(ns));
        match self {
            Cell::Text(text) => text.into(),
            Cell::Time(ns) => time(*ns).into(),
            Cell::Interval(ends) => ends.map(time).join(" to ").into(),
        }
    }
}
