//! The meaning of a performance variable's words, and the value of a call that comes out of them.
//!
//! A column holds whole numbers of 64 bits. What is no such number in the library becomes one in a unit that keeps its
//! digits.

use mpitrace_format::layout::NO_VALUE;
use mpitrace_platform::mpi_t::Value;

#[derive(Debug, PartialEq)]
pub struct Class {
    /// The name of the class in the name of a variable that shares its name with one of another class.
    pub name: &'static str,
    /// A value is what the variable stands at after the call, else what the call added.
    is_level: bool,
    /// A double is multiplied by it.
    factor: f64,
    unit: &'static str,
}

const fn class(name: &'static str, is_level: bool, factor: f64, unit: &'static str) -> Class {
    Class { name, is_level, factor, unit }
}

/// All classes in the standard's order (MPI 5.0, section 15.3.7). Percentages are 0.0 to 1.0.
pub static CLASSES: [Class; 9] = [
    class("state", true, 1.0, "state"),
    class("level", true, 1.0, "units"),
    class("size", true, 1.0, "units"),
    class("percentage", true, 1e6, "millionths"),
    class("high watermark", true, 1.0, "units"),
    class("low watermark", true, 1.0, "units"),
    class("counter", false, 1.0, "events"),
    class("aggregate", false, 1.0, "units"),
    class("timer", false, 1e9, "ns"),
];
/// A size, and a counter.
pub static SIZE: &Class = &CLASSES[2];
pub static COUNTER: &Class = &CLASSES[6];
static TIMER: &Class = &CLASSES[8];

pub fn words(value: Value, count: usize) -> usize {
    match value {
        Value::Signed32 | Value::Unsigned32 => count.div_ceil(2),
        _ => count,
    }
}

/// How a value comes out of two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    value: Value,
    class: &'static Class,
}

impl Rule {
    /// The rule for a variable of this class and type; `None`: its values are not numbers.
    pub fn new(class: &'static Class, value: Value) -> Option<Rule> {
        (value != Value::Text).then_some(Rule { value, class })
    }

    /// The unit of a value. Times of type double are seconds (MPI 5.0, section 15.3.7), others in a unit of the
    /// library's own.
    pub fn unit(&self) -> &'static str {
        if self.class == TIMER && self.value != Value::Double { "ticks" } else { self.class.unit }
    }

    pub fn is_level(&self) -> bool {
        self.class.is_level
    }

    /// The value of an element in the words of two readings. [`NO_VALUE`] where it is negative.
    pub fn value(&self, before: &[u64], after: &[u64], element: usize) -> u64 {
        let difference = !self.class.is_level;
        let number = |words: &[u64]| match self.value {
            Value::Unsigned32 => half(words, element).into(),
            Value::Signed32 => i128::from(half(words, element) as i32),
            Value::Signed64 => i128::from(words[element] as i64),
            _ => i128::from(words[element]),
        };
        let value = number(after) - if difference { number(before) } else { 0 };
        match self.value {
            // Counters may wrap around.
            Value::Unsigned32 => (value as u32).into(),
            Value::Unsigned64 => value as u64,
            Value::Signed32 | Value::Signed64 => u64::try_from(value).unwrap_or(NO_VALUE),
            Value::Text => NO_VALUE,
            Value::Double => {
                let [before, after] = [before, after].map(|words| f64::from_bits(words[element]));
                let value = ((after - if difference { before } else { 0.0 }) * self.class.factor).round();
                // Everything below 2^64 that a double holds fits.
                if value >= 0.0 && value < u64::MAX as f64 { value as u64 } else { NO_VALUE }
            }
        }
    }
}

fn half(words: &[u64], element: usize) -> u32 {
    (words[element / 2] >> (element % 2 * 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_give_what_was_added_also_around_the_end_of_their_range() {
        let counter = |value| Rule::new(COUNTER, value).unwrap();
        assert_eq!(counter(Value::Unsigned32).value(&[0xffff_fffe], &[1], 0), 3);
        assert_eq!(counter(Value::Unsigned64).value(&[u64::MAX], &[4], 0), 5);
        assert_eq!(counter(Value::Signed64).value(&[7], &[9], 0), 2);
        assert_eq!(counter(Value::Signed32).value(&[9], &[7], 0), NO_VALUE, "it has lost something");
        let words = |low: u64, high: u64| [high << 32 | low];
        assert_eq!(counter(Value::Unsigned32).value(&words(1, 10), &words(2, 30), 1), 20);
    }

    #[test]
    fn levels_give_what_they_stand_at_and_nothing_below_zero() {
        let level = |value| Rule::new(&CLASSES[1], value).unwrap();
        assert_eq!(level(Value::Unsigned64).value(&[5], &[3], 0), 3);
        assert_eq!(level(Value::Signed32).value(&[5], &[0xffff_ffff], 0), NO_VALUE);
        assert_eq!(level(Value::Double).value(&[0], &[2.5f64.to_bits()], 0), 3);
        assert!(level(Value::Double).is_level() && !Rule::new(&CLASSES[7], Value::Double).unwrap().is_level());
    }

    #[test]
    fn seconds_become_nanoseconds_and_shares_millionths() {
        let words = |value: f64| [value.to_bits()];
        assert_eq!(Rule::new(TIMER, Value::Double).unwrap().value(&words(1.5), &words(1.500_000_25), 0), 250);
        assert_eq!(Rule::new(&CLASSES[3], Value::Double).unwrap().value(&[0], &words(0.125), 0), 125_000);
        for nonsense in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(
                Rule::new(&CLASSES[1], Value::Double).unwrap().value(&[0], &words(nonsense), 0),
                NO_VALUE,
                "{nonsense}"
            );
        }
    }
}
