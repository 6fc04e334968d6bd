//! When each mode of a series occurs.

/// The places in the series of the values of a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// How many values.
    pub count: usize,
    /// The place of the first value.
    pub first: usize,
    /// The place of the last value.
    pub last: usize,
    /// Quartiles of the places.
    pub quartiles: [usize; 3],
    /// How many times a value of the mode does not follow another one of it.
    pub runs: usize,
}

/// The places of each mode, where the modes end at these values, ascending, and the last one has no end. Values that
/// are not finite belong to none.
pub(super) fn places(values: &[f64], ends: &[f64]) -> Vec<Places> {
    if ends.is_empty() && values.iter().all(|value| value.is_finite()) {
        let last = values.len().saturating_sub(1);
        let quartiles = [1, 2, 3].map(|quarter| last * quarter / 4);
        let runs = usize::from(!values.is_empty());
        return vec![Places { count: values.len(), first: 0, last, quartiles, runs }];
    }
    let mode_of = |value: f64| ends.iter().take_while(|end| **end <= value).count();
    let finite = || values.iter().enumerate().filter(|(_, value)| value.is_finite());
    let mut all = vec![Places::default(); ends.len() + 1];
    let mut before = None;
    for (place, &value) in finite() {
        let mode = mode_of(value);
        let places = &mut all[mode];
        if places.count == 0 {
            places.first = place;
        }
        places.count += 1;
        places.last = place;
        places.runs += usize::from(before != Some(mode));
        before = Some(mode);
    }
    let mut seen = vec![0; ends.len() + 1];
    for (place, &value) in finite() {
        let mode = mode_of(value);
        let places = &mut all[mode];
        for (quartile, quarter) in places.quartiles.iter_mut().zip(1..) {
            if seen[mode] == (places.count - 1) * quarter / 4 {
                *quartile = place;
            }
        }
        seen[mode] += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    /// By the definition.
    fn plain(values: &[f64], ends: &[f64]) -> Vec<Places> {
        let mode_of = |value: f64| ends.partition_point(|end| *end <= value);
        let finite: Vec<usize> = (0..values.len()).filter(|&place| values[place].is_finite()).collect();
        (0..=ends.len())
            .map(|mode| {
                let own: Vec<usize> = finite.iter().copied().filter(|&place| mode_of(values[place]) == mode).collect();
                let Some(&first) = own.first() else { return Places::default() };
                let quartiles = [1, 2, 3].map(|quarter| own[(own.len() - 1) * quarter / 4]);
                let starts = |index: usize| index == 0 || mode_of(values[finite[index - 1]]) != mode;
                let runs = (0..finite.len()).filter(|&i| mode_of(values[finite[i]]) == mode && starts(i)).count();
                Places { count: own.len(), first, last: own[own.len() - 1], quartiles, runs }
            })
            .collect()
    }

    #[test]
    fn places_are_those_of_the_definition() {
        let mut random = Random::new(3);
        for n in [0, 1, 2, 100, 5077] {
            let mut level = 1.0;
            let mut values: Vec<f64> = (0..n)
                .map(|_| {
                    if random.uniform() < 0.01 {
                        level = (random.uniform() * 3.0).floor();
                    }
                    level
                })
                .collect();
            for ends in [&[][..], &[0.5], &[0.5, 1.5], &[1.5, 7.0, 8.0]] {
                assert_eq!(places(&values, ends), plain(&values, ends), "{n}, {ends:?}");
            }
            values.iter_mut().step_by(7).for_each(|value| *value = f64::NAN);
            for ends in [&[][..], &[0.5, 1.5]] {
                assert_eq!(places(&values, ends), plain(&values, ends), "{n}, {ends:?}");
            }
        }
    }
}
