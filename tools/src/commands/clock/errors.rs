//! The median of more errors than memory should hold.

use std::collections::BTreeMap;

/// Errors, counted by their size: each class holds those that agree in sign, exponent and 12 bits, so a median is right
/// to one part in 8000.
#[derive(Debug, Default)]
pub struct Errors {
    classes: BTreeMap<u64, Class>,
    /// The class that was added to last, which seldom changes.
    last: Option<(u64, Class)>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    count: u64,
    least: f64,
    most: f64,
}

/// The bits of a float that make the class, after this shift.
const CLASS_SHIFT: u32 = 52 - 12;

impl Errors {
    /// Adds one that is 0 or more.
    pub fn add(&mut self, error: f64) {
        let key = error.to_bits() >> CLASS_SHIFT;
        match &mut self.last {
            Some((last, class)) if *last == key => class.add(error),
            _ => {
                self.settle();
                self.last = Some((key, Class { count: 1, least: error, most: error }));
            }
        }
    }

    /// The largest and the median; `None` where there are none.
    pub fn summary(mut self) -> Option<(f64, f64)> {
        self.settle();
        let most = self.classes.last_key_value()?.1.most;
        let count: u64 = self.classes.values().map(|class| class.count).sum();
        Some((most, (self.with_below((count - 1) / 2) + self.with_below(count / 2)) / 2.0))
    }

    fn settle(&mut self) {
        if let Some((key, class)) = self.last.take() {
            self.classes.entry(key).and_modify(|known| known.merge(&class)).or_insert(class);
        }
    }

    /// The error with this many below it.
    fn with_below(&self, mut below: u64) -> f64 {
        for class in self.classes.values() {
            if below < class.count {
                return class.least + (class.most - class.least) / 2.0;
            }
            below -= class.count;
        }
        f64::NAN
    }
}

impl Class {
    fn add(&mut self, error: f64) {
        self.merge(&Class { count: 1, least: error, most: error });
    }

    fn merge(&mut self, other: &Class) {
        self.count += other.count;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(errors: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
        let mut all = Errors::default();
        errors.into_iter().for_each(|error| all.add(error));
        all.summary()
    }

    #[test]
    fn few_errors_have_the_exact_median() {
        assert_eq!(summary([]), None);
        assert_eq!(summary([0.0]), Some((0.0, 0.0)));
        assert_eq!(summary([7.0, 1.0, 300.0]), Some((300.0, 7.0)));
        assert_eq!(summary([1.0, 300.0, 2.0, 3.0]), Some((300.0, 2.5)));
    }

    #[test]
    fn many_errors_have_nearly_the_median() {
        let (most, median) = summary((0..100_001).map(|number| 20.0 + f64::from(number * 7919 % 100_001))).unwrap();
        assert_eq!(most, 100_020.0);
        assert!((median / 50_020.0 - 1.0).abs() < 1.0 / 8000.0, "{median}");
    }
}
