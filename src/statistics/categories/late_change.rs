//! A level that changes near the end: what lies before it is no warm-up.

use std::fmt;

use serde::Serialize;

use super::{Class, Levels};

/// The level changes in the last quarter of the series for the first time [Barrett2017].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LateChange {
    /// The repetitions behind the change.
    pub repetitions: usize,
    /// All repetitions.
    pub of: usize,
    /// Their median over that of the repetitions before.
    pub ratio: f64,
}

impl fmt::Display for LateChange {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let LateChange { repetitions, of, ratio } = self;
        write!(
            f,
            "the last {repetitions} of {of} repetitions take {ratio:.2} times as long as those before, which are no \
             warm-up: fewer than a quarter follow"
        )
    }
}

/// The late change of a series with these repetitions and levels.
pub(super) fn late_change(repetition: &[u64], levels: Option<&Levels>) -> Option<LateChange> {
    let Levels { class: Class::LevelShift, change_points, level_ns } = levels? else { return None };
    let ([change], [before, behind]) = (&change_points[..], &level_ns[..]) else { return None };
    let of = repetition.len();
    let repetitions = of - repetition.partition_point(|number| number < change);
    (4 * repetitions < of && *before > 0.0).then_some(LateChange { repetitions, of, ratio: behind / before })
}

#[cfg(test)]
mod tests {
    use crate::categories::Category;
    use crate::categories::Rule;

    /// A series of 1000 with noise, the last `quick` of which are a tenth quicker.
    fn series(quick: u64) -> Vec<f64> {
        let noise = |i: u64| (i * 7919 % 101) as f64 / 50.0;
        (0..1000).map(|i| if i + quick < 1000 { 100.0 + noise(i) } else { 90.0 + noise(i) }).collect()
    }

    #[test]
    fn a_change_in_the_last_quarter_makes_no_warm_up_of_what_was_before() {
        let number: Vec<u64> = (0..1000).collect();
        let of = |quick: u64| {
            let times = series(quick);
            let found = Rule::default().apply(&number, &times).unwrap();
            let class = found.levels.as_ref().unwrap().class;
            let late = found.remarks(&number, &times).late_change.map(|late| late.repetitions);
            (class.name(), found.categories.count(Category::Warmup), late)
        };
        assert_eq!(of(8), ("level-shift", 0, Some(8)));
        assert_eq!(of(240), ("level-shift", 0, Some(240)));
        assert_eq!(of(300), ("warmup", 699, None));
        let found = Rule::default().apply(&number, &series(8)).unwrap();
        let said: Vec<String> = found.remarks(&number, &series(8)).sentences().collect();
        let wanted = "the last 8 of 1000 repetitions take 0.90 times as long as those before, which are no warm-up: \
            fewer than a quarter follow";
        assert!(said.iter().any(|sentence| sentence == wanted), "{said:?}");
    }
}
