//! What a performance variable's words mean, and the value of a call that comes out of them.
//!
//! A column holds whole numbers of 64 bits. What is no such number in the library becomes one in a unit that keeps its
//! digits.

use mpitrace_format::layout::NO_VALUE;

/// The classes of performance variables (MPI 5.0, section 15.3.7), in the standard's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    State,
    Level,
    Size,
    Percentage,
    HighWatermark,
    LowWatermark,
    Counter,
    Aggregate,
    Timer,
}

/// The types of numbers that a variable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Signed32,
    Unsigned32,
    Signed64,
    Unsigned64,
    Double,
}

impl Class {
    pub const ALL: [Class; 9] = [
        Class::State,
        Class::Level,
        Class::Size,
        Class::Percentage,
        Class::HighWatermark,
        Class::LowWatermark,
        Class::Counter,
        Class::Aggregate,
        Class::Timer,
    ];

    /// As it is called in the name of a variable that shares its name with one of another class.
    pub fn name(self) -> &'static str {
        match self {
            Class::State => "state",
            Class::Level => "level",
            Class::Size => "size",
            Class::Percentage => "percentage",
            Class::HighWatermark => "high watermark",
            Class::LowWatermark => "low watermark",
            Class::Counter => "counter",
            Class::Aggregate => "aggregate",
            Class::Timer => "timer",
        }
    }
}

impl Number {
    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Number::Signed32 | Number::Unsigned32 => 4,
            Number::Signed64 | Number::Unsigned64 | Number::Double => 8,
        }
    }
}

/// How a value comes out of two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    number: Number,
    /// Whether it is the difference of the readings, else the second one.
    difference: bool,
    /// What a double is multiplied by, before it is rounded.
    factor: f64,
    /// What a value counts in.
    pub unit: &'static str,
}

impl Rule {
    /// The rule for a variable of this class and type.
    pub fn of(class: Class, number: Number) -> Rule {
        let difference = matches!(class, Class::Counter | Class::Aggregate | Class::Timer);
        let (factor, unit) = match (class, number) {
            // Times of type double are seconds (MPI 5.0, section 15.3.7), others in whatever the library likes.
            (Class::Timer, Number::Double) => (1e9, "ns"),
            (Class::Timer, _) => (1.0, "ticks"),
            // 0.0 to 1.0.
            (Class::Percentage, _) => (1e6, "millionths"),
            (Class::State, _) => (1.0, "state"),
            (Class::Counter, _) => (1.0, "events"),
            _ => (1.0, "units"),
        };
        Rule { number, difference, factor, unit }
    }

    /// Whether a value is what the variable stood at after the call.
    pub fn is_level(&self) -> bool {
        !self.difference
    }

    /// The value of an element in the words of two readings. [`NO_VALUE`] where it is negative.
    pub fn value(&self, before: &[u64], after: &[u64], element: usize) -> u64 {
        let difference = self.difference;
        let whole = |value: i128| u64::try_from(value).unwrap_or(NO_VALUE);
        match self.number {
            // Counters may wrap around.
            Number::Unsigned32 => {
                let [before, after] = [before, after].map(|words| half(words, element));
                if difference { after.wrapping_sub(before).into() } else { after.into() }
            }
            Number::Unsigned64 => {
                let [before, after] = [before, after].map(|words| words[element]);
                if difference { after.wrapping_sub(before) } else { after }
            }
            Number::Signed32 => {
                let [before, after] = [before, after].map(|words| half(words, element) as i32);
                whole(i128::from(after) - if difference { i128::from(before) } else { 0 })
            }
            Number::Signed64 => {
                let [before, after] = [before, after].map(|words| words[element] as i64);
                whole(i128::from(after) - if difference { i128::from(before) } else { 0 })
            }
            Number::Double => {
                let [before, after] = [before, after].map(|words| f64::from_bits(words[element]));
                let value = ((after - if difference { before } else { 0.0 }) * self.factor).round();
                // Everything below 2^64 that a double holds fits.
                if value >= 0.0 && value < u64::MAX as f64 { value as u64 } else { NO_VALUE }
            }
        }
    }
}

/// The element of an array of 32-bit numbers.
fn half(words: &[u64], element: usize) -> u32 {
    (words[element / 2] >> (element % 2 * 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_give_what_was_added_also_around_the_end_of_their_range() {
        let counter = |number| Rule::of(Class::Counter, number);
        assert_eq!(counter(Number::Unsigned32).value(&[0xffff_fffe], &[1], 0), 3);
        assert_eq!(counter(Number::Unsigned64).value(&[u64::MAX], &[4], 0), 5);
        assert_eq!(counter(Number::Signed64).value(&[7], &[9], 0), 2);
        assert_eq!(counter(Number::Signed32).value(&[9], &[7], 0), NO_VALUE, "it has lost something");
        let words = |low: u64, high: u64| [high << 32 | low];
        assert_eq!(counter(Number::Unsigned32).value(&words(1, 10), &words(2, 30), 1), 20);
    }

    #[test]
    fn levels_give_what_they_stand_at_and_nothing_below_zero() {
        let level = |number| Rule::of(Class::Level, number);
        assert_eq!(level(Number::Unsigned64).value(&[5], &[3], 0), 3);
        assert_eq!(level(Number::Signed32).value(&[5], &[0xffff_ffff], 0), NO_VALUE);
        assert_eq!(level(Number::Double).value(&[0], &[2.5f64.to_bits()], 0), 3);
        assert!(level(Number::Double).is_level() && !Rule::of(Class::Aggregate, Number::Double).is_level());
    }

    #[test]
    fn seconds_become_nanoseconds_and_shares_millionths() {
        let words = |value: f64| [value.to_bits()];
        assert_eq!(Rule::of(Class::Timer, Number::Double).value(&words(1.5), &words(1.500_000_25), 0), 250);
        assert_eq!(Rule::of(Class::Percentage, Number::Double).value(&[0], &words(0.125), 0), 125_000);
        for nonsense in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(Rule::of(Class::Level, Number::Double).value(&[0], &words(nonsense), 0), NO_VALUE, "{nonsense}");
        }
    }
}
