//! When each mode of a series occurs.

use mpitrace_series::parallel;

/// The places in the series of the values of a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// How many values.
    pub count: usize,
    /// Of the first and the last.
    pub first: usize,
    /// See `first`.
    pub last: usize,
    /// Quartiles of the places.
    pub quartiles: [usize; 3],
    /// How many times a value of the mode does not follow another one of it.
    pub runs: usize,
}

/// Values that are looked at by one processor at a time.
const PART: usize = 1 << 16;

/// Of a part of the series.
struct Part {
    /// Of each mode.
    modes: Vec<Places>,
    /// The modes of its first and its last value.
    ends: Option<[usize; 2]>,
}

/// The places of each mode, where the modes end at these values, ascending, and the last one has no end. Values that
/// are not finite belong to none.
///
/// The values are read once, by all processors, and the parts that hold the quartiles once more.
pub fn places(values: &[f64], ends: &[f64]) -> Vec<Places> {
    if ends.is_empty() && values.iter().all(|value| value.is_finite()) {
        let last = values.len().saturating_sub(1);
        let quartiles = [1, 2, 3].map(|quarter| last * quarter / 4);
        let runs = usize::from(!values.is_empty());
        return vec![Places { count: values.len(), first: 0, last, quartiles, runs }];
    }
    let mode_of = |value: f64| ends.iter().take_while(|end| **end <= value).count();
    let of_part = |(number, part): (usize, &[f64])| {
        let mut modes = vec![Places::default(); ends.len() + 1];
        let mut found: Option<[usize; 2]> = None;
        for (place, &value) in (number * PART..).zip(part).filter(|(_, value)| value.is_finite()) {
            let mode = mode_of(value);
            let places = &mut modes[mode];
            if places.count == 0 {
                places.first = place;
            }
            places.count += 1;
            places.last = place;
            places.runs += usize::from(found.is_none_or(|[_, last]| last != mode));
            found = Some([found.map_or(mode, |[first, _]| first), mode]);
        }
        Part { modes, ends: found }
    };
    let parts = parallel::map(values.chunks(PART).enumerate().collect(), of_part);
    let nth = |mode: usize, mut n: usize| {
        for (number, part) in parts.iter().enumerate() {
            if n < part.modes[mode].count {
                let own = values[number * PART..].iter().take(PART).enumerate();
                let mut own = own.filter(|(_, value)| value.is_finite() && mode_of(**value) == mode);
                return own.nth(n).map_or(0, |(place, _)| number * PART + place);
            }
            n -= part.modes[mode].count;
        }
        0
    };
    let mut all = vec![Places::default(); ends.len() + 1];
    let mut before: Option<usize> = None;
    for part in &parts {
        for (all, part) in all.iter_mut().zip(&part.modes).filter(|(_, part)| part.count > 0) {
            if all.count == 0 {
                all.first = part.first;
            }
            (all.count, all.last, all.runs) = (all.count + part.count, part.last, all.runs + part.runs);
        }
        if let Some([first, last]) = part.ends {
            // It goes on from one part to the next.
            if before == Some(first) {
                all[first].runs -= 1;
            }
            before = Some(last);
        }
    }
    for (mode, places) in all.iter_mut().enumerate().filter(|(_, places)| places.count > 0) {
        places.quartiles = [1, 2, 3].map(|quarter| nth(mode, (places.count - 1) * quarter / 4));
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
    fn many_processors_find_what_one_does() {
        let mut random = Random::new(3);
        for n in [0, 1, 2, 100, PART, PART + 1, 5 * PART + 77] {
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
