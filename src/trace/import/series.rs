//! The repetitions of one rank, and those that all ranks have.

/// Values by repetition, ascending.
#[derive(Debug, Default)]
pub(super) struct Series<T> {
    pub(super) repetition: Vec<u64>,
    pub(super) value: Vec<T>,
}

impl<T> Series<T> {
    /// Adds what comes next. The error completes "... of rank 3 ".
    pub(super) fn push(&mut self, repetition: u64, value: T) -> Result<(), String> {
        match self.repetition.last() {
            Some(&last) if last == repetition => {
                return Err(format!("comes a second time for repetition {repetition}"));
            }
            Some(&last) if last > repetition => {
                return Err(format!("is out of order: repetition {repetition} comes after repetition {last}"));
            }
            _ => {}
        }
        self.repetition.push(repetition);
        self.value.push(value);
        Ok(())
    }
}

/// The repetitions that all of some series have.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) repetition: Vec<u64>,
    /// How many are missing between the first and the last that any series has.
    pub(super) incomplete: u64,
}

pub(super) fn common<T>(series: &[&Series<T>]) -> Common {
    let mut lists = series.iter().map(|series| &series.repetition);
    let Some(first) = lists.next() else { return Common { repetition: Vec::new(), incomplete: 0 } };
    let mut repetition = first.clone();
    for other in lists.filter(|other| *other != first) {
        let mut others = other.iter().peekable();
        repetition.retain(|wanted| {
            while others.next_if(|number| *number < wanted).is_some() {}
            others.peek() == Some(&wanted)
        });
    }
    let begin = series.iter().filter_map(|series| series.repetition.first()).min();
    let end = series.iter().filter_map(|series| series.repetition.last()).max();
    let begun = begin.zip(end).map_or(0, |(begin, end)| (end - begin).saturating_add(1));
    let incomplete = begun - repetition.len() as u64;
    Common { repetition, incomplete }
}

impl Common {
    /// The values of a series for these repetitions; where it has none, `missing`.
    pub(super) fn column<T: Copy>(&self, series: &Series<T>, missing: T) -> Vec<T> {
        if series.repetition == self.repetition {
            return series.value.clone();
        }
        let mut pairs = series.repetition.iter().zip(&series.value).peekable();
        self.repetition
            .iter()
            .map(|wanted| {
                while pairs.next_if(|(number, _)| *number < wanted).is_some() {}
                pairs.next_if(|(number, _)| *number == wanted).map_or(missing, |(_, value)| *value)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(repetitions: &[u64]) -> Series<f64> {
        let mut series = Series::default();
        repetitions.iter().for_each(|&number| series.push(number, number as f64).unwrap());
        series
    }

    #[test]
    fn only_what_all_ranks_have_is_common() {
        let (a, b, c) = (series(&[0, 1, 2, 4, 5]), series(&[0, 2, 3, 4]), series(&[0, 1, 2, 3, 4, 5, 6]));
        let found = common(&[&a, &b, &c]);
        assert_eq!((found.repetition.as_slice(), found.incomplete), ([0, 2, 4].as_slice(), 4));
        assert_eq!(found.column(&c, f64::NAN), [0.0, 2.0, 4.0]);
        let sparse = found.column(&series(&[2, 3]), -1.0);
        assert_eq!(sparse, [-1.0, 2.0, -1.0]);
        assert_eq!(common::<f64>(&[]).incomplete, 0);
        assert_eq!(common(&[&a, &series(&[])]).incomplete, 6);
    }

    #[test]
    fn repetitions_come_in_order_and_once() {
        let mut series = series(&[3, 4]);
        assert_eq!(series.push(4, 0.0).unwrap_err(), "comes a second time for repetition 4");
        assert_eq!(series.push(2, 0.0).unwrap_err(), "is out of order: repetition 2 comes after repetition 4");
    }
}
