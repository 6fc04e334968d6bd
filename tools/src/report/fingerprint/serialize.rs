//! Numbers as JSON has them: rounded to what they can tell, and whole ones without a point.

use mpitrace::categories::Category;
use mpitrace::run_time::RunTime;
use serde::{Serialize, Serializer};

fn round(value: f64, per_unit: f64) -> Option<f64> {
    value.is_finite().then(|| (value * per_unit).round() / per_unit)
}

fn rounded<S: Serializer>(values: &[f64], per_unit: f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|&value| Short(round(value, per_unit))))
}

/// A number without the `.0` of a whole one.
struct Short(Option<f64>);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_none(),
            // Whole numbers of this size are exact.
            Some(value) if value.fract() == 0.0 && value.abs() < 9e15 => serializer.serialize_i64(value as i64),
            Some(value) => serializer.serialize_f64(value),
        }
    }
}

pub fn tenths<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    rounded(values, 10.0, serializer)
}

pub fn fine<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    rounded(values, 1e5, serializer)
}

pub fn plain<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    rounded(values, 1e3, serializer)
}

pub fn tenths_each<S: Serializer>(lists: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(|list| Rounded(list, 10.0)))
}

pub fn whole_each<S: Serializer>(lists: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(|list| Rounded(list, 1.0)))
}

struct Rounded<'a>(&'a [f64], f64);

impl Serialize for Rounded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        rounded(self.0, self.1, serializer)
    }
}

pub fn tenth<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    Short(value.and_then(|value| round(value, 10.0))).serialize(serializer)
}

pub fn tenths_one<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Short(round(*value, 10.0)).serialize(serializer)
}

pub fn thousandths<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Short(round(*value, 1000.0)).serialize(serializer)
}

pub fn tenth_pair<S: Serializer>(pair: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    let pair = pair.map(|(low, high)| (Short(round(low, 10.0)), Short(round(high, 10.0))));
    pair.serialize(serializer)
}

pub fn time_name<S: Serializer>(time: &RunTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(time.name())
}

/// A letter for each repetition: `f`, `w`, `o`, `g`.
pub fn letters_each<S: Serializer>(lists: &[Vec<Category>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(|list| list.iter().map(|&category| letter(category)).collect::<String>()))
}

/// The first letter of the category's name.
fn letter(category: Category) -> char {
    match category {
        Category::First => 'f',
        Category::Warmup => 'w',
        Category::Outlier => 'o',
        Category::Good => 'g',
    }
}
