//! From values to places, with ticks at round numbers.

use serde::Serialize;

use crate::text::Unit;

/// The unit of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisKind {
    /// ns, labelled in the unit that suits the range.
    Time,
    /// Things: no tick between two whole numbers.
    #[default]
    Count,
    /// The size of a message: on a scale of logarithms ticks are powers of two, and below 1 is none.
    #[serde(rename = "count")]
    Bytes,
    /// Anything else.
    Share,
    /// Nothing: an axis without ticks.
    Names,
}

/// An axis: the values from one end to the other, and their places.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The value at the start, in the unit of its kind.
    pub from: f64,
    /// The value at the end.
    pub to: f64,
    /// The places of `from` and `to`.
    pub places: (f64, f64),
    kind: AxisKind,
    /// True if the places are even in the logarithm of the values.
    pub logarithmic: bool,
    /// Values of one unit.
    per_unit: f64,
    /// Its name; empty for a plain number.
    pub unit: &'static str,
}

/// Where no bytes are on a scale of logarithms.
pub const NO_BYTES: f64 = 0.5;
/// Below this ratio of its ends a logarithmic axis has the ticks of a linear one.
const DECADES: f64 = 8.0;

impl Axis {
    /// Over `range`, from the first of the `places` to the second.
    pub fn new(range: (f64, f64), places: (f64, f64), kind: AxisKind, logarithmic: bool) -> Axis {
        let (mut from, mut to) = range;
        let logarithmic = logarithmic && to > 0.0;
        if logarithmic && from <= 0.0 {
            from = to / 1e6;
        }
        if to <= from {
            (from, to) = if logarithmic { (from / 1.1, from * 1.1) } else { (from - 0.5, from + 0.5) };
        }
        let most = from.abs().max(to.abs());
        let (per_unit, unit) = match (kind, Unit::for_time(most)) {
            (AxisKind::Time, unit) => (unit.ns, unit.name),
            _ => (1.0, ""),
        };
        Axis { from, to, places, kind, logarithmic, per_unit, unit }
    }

    /// Times in this unit, whatever the range.
    pub fn in_unit(self, unit: Unit) -> Axis {
        if self.kind == AxisKind::Time { Axis { per_unit: unit.ns, unit: unit.name, ..self } } else { self }
    }

    /// Where a value lies; beyond the ends for values beyond the range.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.logarithmic {
            true => (value / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// The value at a place; places are in pixels.
    pub fn value(&self, place: f64) -> f64 {
        let share = (place - self.places.0) / (self.places.1 - self.places.0);
        match self.logarithmic {
            true => self.from * (self.to / self.from).powf(share),
            false => self.from + share * (self.to - self.from),
        }
    }

    /// True if the axis reaches over the value.
    pub fn has(&self, value: f64) -> bool {
        value >= self.from && value <= self.to
    }

    /// How far apart labels of ticks should be, pixels: those of powers are short.
    pub fn apart(&self) -> f64 {
        if self.kind == AxisKind::Bytes { 40.0 } else { 75.0 }
    }

    /// Places with their labels, about so many.
    pub fn ticks(&self, wanted: f64) -> Vec<(f64, String)> {
        if self.kind == AxisKind::Names {
            return Vec::new();
        }
        let powers = self.powers_of_two(wanted);
        if powers.len() > 1 {
            return powers;
        }
        let (from, to) = (self.from / self.per_unit, self.to / self.per_unit);
        let tick = |value: f64, digits: usize| (self.place(value * self.per_unit), self.label(value, digits));
        if self.logarithmic && to / from > DECADES {
            let count = (to / from).log10();
            let digits: &[f64] = match count {
                many if many > wanted => &[1.0],
                some if some > wanted / 3.0 => &[1.0, 3.0],
                _ => &[1.0, 2.0, 5.0],
            };
            // Where there is no room for each decade, each second one, or third.
            let step = (count / wanted.max(1.0) - 0.5).ceil().max(1.0) as usize;
            let first = if step > 1 { from.log10().ceil() } else { from.log10().floor() };
            let powers = first as i32..=to.log10().floor() as i32;
            let values = powers.step_by(step).flat_map(|power| {
                let after_point = (-power).max(0) as usize;
                digits.iter().map(move |digit| (digit * 10f64.powi(power), after_point))
            });
            let inside = values.filter(|(value, _)| *value >= from && *value <= to);
            return inside.map(|(value, digits)| tick(value, digits)).collect();
        }
        let mut step = round_step((to - from) / wanted.max(1.0));
        if self.kind == AxisKind::Count && to - from >= 1.0 {
            step = step.max(1.0);
        }
        // Steps below the precision of the numbers have no digits of their own.
        let digits = ((-(step.log10() + 1e-9).floor()).max(0.0) as usize).min(15);
        let (first, last) = ((from / step - 1e-9).ceil() as i64, (to / step + 1e-9).floor() as i64);
        (first..=last).map(|number| tick(number as f64 * step, digits)).collect()
    }

    /// The ticks of message sizes; none: it is another axis.
    fn powers_of_two(&self, wanted: f64) -> Vec<(f64, String)> {
        if self.kind != AxisKind::Bytes || !self.logarithmic {
            return Vec::new();
        }
        let (first, last) = (self.from.max(1.0).log2().ceil() as i32, self.to.log2().floor() as i32);
        let step = (f64::from(last - first + 1) / wanted.max(1.0)).ceil().max(1.0) as usize;
        let none = (self.from <= NO_BYTES).then(|| (self.place(NO_BYTES), "0".to_owned()));
        // No bytes stand where a power below 1 would.
        let first = if none.is_some() { step as i32 - 1 } else { first };
        let power = |power: i32| (self.place(2f64.powi(power)), binary(power));
        none.into_iter().chain((first..=last).step_by(step).map(power)).collect()
    }

    fn label(&self, value: f64, digits: usize) -> String {
        let text = match value.abs() {
            large if large >= 1e9 => format!("{} G", value / 1e9),
            large if large >= 1e6 => format!("{} M", value / 1e6),
            _ => format!("{value:.digits$}", digits = digits.min(15)),
        };
        // A typographical minus is as wide as a plus.
        text.replace('-', "\u{2212}")
    }
}

/// A power of two with its binary prefix: `64 Ki`.
fn binary(power: i32) -> String {
    let (prefix, rest) = match power {
        30.. => (" Gi", power - 30),
        20.. => (" Mi", power - 20),
        10.. => (" Ki", power - 10),
        _ => ("", power),
    };
    format!("{}{prefix}", 1u64 << rest.clamp(0, 63))
}

/// 1, 2 or 5 times a power of ten, no less than this.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|step| *step >= least * 0.999).unwrap_or(power)
}

/// The least and the greatest of the finite values.
pub fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |found, value| {
        let (low, high) = found.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

/// The range with some room on either side.
pub fn with_room((low, high): (f64, f64), logarithmic: bool) -> (f64, f64) {
    if logarithmic && low > 0.0 {
        let room = (high / low).powf(0.04) * 1.02;
        return (low / room, high * room);
    }
    let room = match (high - low) * 0.04 {
        0.0 => (high.abs() * 0.02).max(0.5),
        room => room,
    };
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, wanted: f64) -> Vec<String> {
        axis.ticks(wanted).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        let axis = Axis::new((7000.0, 14_500.0), (0.0, 300.0), AxisKind::Time, false);
        assert_eq!((labels(&axis, 5.0), axis.unit), (vec!["8".into(), "10".into(), "12".into(), "14".into()], "µs"));
        assert_eq!(axis.ticks(5.0)[0].0, 40.0);
        assert_eq!(axis.value(40.0), 8000.0);
        let axis = Axis::new((-0.04, 0.36), (100.0, 0.0), AxisKind::Share, false);
        assert_eq!(labels(&axis, 5.0), ["0.0", "0.1", "0.2", "0.3"]);
        let axis = Axis::new((0.0, 4.0), (0.0, 1.0), AxisKind::Count, false);
        assert_eq!(labels(&axis, 40.0), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn a_logarithmic_axis_counts_in_decades() {
        let axis = Axis::new((500.0, 2e6), (0.0, 100.0), AxisKind::Time, true);
        assert_eq!(
            (labels(&axis, 6.0), axis.unit),
            (["0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"].map(String::from).into(), "ms")
        );
        assert!((axis.value(axis.place(1e3)) - 1e3).abs() < 1e-9);
        assert!((axis.place(1e3) - 100.0 * 2f64.ln() / 4000f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn message_sizes_are_powers_of_two() {
        let axis = |from, to| Axis::new((from, to), (0.0, 100.0), AxisKind::Bytes, true);
        assert_eq!(labels(&axis(0.4, 5.0), 9.0), ["0", "1", "2", "4"]);
        assert_eq!(labels(&axis(0.4, 5e3), 5.0), ["0", "4", "32", "256", "2 Ki"]);
        assert_eq!(labels(&axis(6.0, 3e6), 7.0), ["8", "64", "512", "4 Ki", "32 Ki", "256 Ki", "2 Mi"]);
        assert!((axis(6.0, 96.0).ticks(7.0)[1].0 - 100.0 * (16.0f64 / 6.0).ln() / 16f64.ln()).abs() < 1e-9);
        // One power is no scale.
        assert_eq!(labels(&axis(70.0, 140.0), 4.0), ["80", "100", "120", "140"]);
    }

    #[test]
    fn a_unit_can_be_chosen_and_decades_are_left_out_where_there_is_no_room() {
        let axis = Axis::new((500.0, 2e6), (0.0, 100.0), AxisKind::Time, true).in_unit(Unit { name: "ns", ns: 1.0 });
        assert_eq!(
            (labels(&axis, 3.0), axis.unit),
            (["1000", "10000", "100000", "1 M"].map(String::from).into(), "ns")
        );
        assert_eq!(labels(&axis, 1.6), ["1000", "100000"].map(String::from));
    }

    #[test]
    fn one_value_and_none_below_zero_have_an_axis() {
        assert_eq!(Axis::new((5.0, 5.0), (0.0, 10.0), AxisKind::Count, false).place(5.0), 5.0);
        assert!(Axis::new((0.0, 5.0), (0.0, 10.0), AxisKind::Time, true).place(5.0) > 9.9);
        assert_eq!(extent([f64::NAN, 3.0, 1.0]), Some((1.0, 3.0)));
        assert_eq!(extent([]), None);
    }
}
