//! How many repetitions took how long, by category.

use serde::{Serialize, Serializer};

/// A range that spans more than this factor is divided logarithmically.
const FAR: f64 = 10.0;

/// Counts over equal bins of the run time or of its logarithm.
#[derive(Debug, Default, Serialize)]
pub struct Histogram {
    /// True if the bins are equally wide in the logarithm.
    pub logarithmic: bool,
    /// The lower edge of the first bin, ns.
    pub from_ns: f64,
    /// The upper edge of the last, ns.
    pub to_ns: f64,
    /// How many bins there are, the empty ones included.
    pub bins: usize,
    /// For each bin that is not empty: its number, and how many of each category.
    #[serde(serialize_with = "filled")]
    pub counts: Vec<[u64; 4]>,
}

impl Histogram {
    /// The histogram of run times (ns), ascending, of each of
    /// [`Category::ALL`](mpitrace_statistics::categories::Category::ALL); in so many bins.
    pub fn new(sorted: [&[f64]; 4], bins: usize) -> Histogram {
        let least = sorted.iter().filter_map(|values| values.first()).copied().reduce(f64::min);
        let most = sorted.iter().filter_map(|values| values.last()).copied().reduce(f64::max);
        let Some((least, most)) = least.zip(most) else { return Histogram::default() };
        let logarithmic = least > 0.0 && most / least > FAR;
        // Equal values still need a bin with a width.
        let to = if most > least { most } else { least + least.abs().max(1.0) * 1e-3 };
        let mut histogram = Histogram { logarithmic, from_ns: least, to_ns: to, bins, counts: vec![[0; 4]; bins] };
        let position = |x: f64| if logarithmic { x.ln() } else { x };
        let (start, per_bin) = (position(least), (position(to) - position(least)) / bins as f64);
        let bin = |x: f64| (((position(x) - start) / per_bin) as usize).min(bins - 1);
        for (place, values) in sorted.into_iter().enumerate() {
            let mut left = values;
            while let Some(&x) = left.first() {
                let number = bin(x);
                let count = left.partition_point(|&x| bin(x) <= number);
                histogram.counts[number][place] = count as u64;
                left = &left[count..];
            }
        }
        histogram
    }

    /// The edges (ns) and the counts of each bin.
    pub fn edges_and_counts(&self) -> Vec<(f64, f64, [u64; 4])> {
        let each = self.counts.iter().enumerate();
        each.map(|(bin, &counts)| (self.edge(bin), self.edge(bin + 1), counts)).collect()
    }

    /// The lower edge of a bin, ns.
    fn edge(&self, bin: usize) -> f64 {
        let share = bin as f64 / self.bins as f64;
        match self.logarithmic {
            true => self.from_ns * (self.to_ns / self.from_ns).powf(share),
            false => self.from_ns + (self.to_ns - self.from_ns) * share,
        }
    }
}

fn filled<S: Serializer>(counts: &[[u64; 4]], serializer: S) -> Result<S::Ok, S::Error> {
    let filled = counts.iter().enumerate().filter(|(_, count)| count.iter().any(|&count| count > 0));
    serializer.collect_seq(filled.map(|(bin, count)| [bin as u64, count[0], count[1], count[2], count[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repetition_is_in_one_bin() {
        let x: Vec<f64> = (0..1000).map(|i| 20.0 + f64::from(i % 37)).collect();
        let mut sorted = x.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let histogram = Histogram::new([&[], &[], &[], &sorted], 480);
        assert!(!histogram.logarithmic);
        assert_eq!(histogram.edges_and_counts().iter().map(|(_, _, counts)| counts[3]).sum::<u64>(), 1000);
        assert_eq!(
            (histogram.edges_and_counts()[0].0, histogram.edges_and_counts().last().map(|bin| bin.1)),
            (20.0, Some(56.0))
        );
        assert_eq!(histogram.edges_and_counts()[0].2, [0, 0, 0, 28]);
    }

    #[test]
    fn what_reaches_far_is_divided_by_the_logarithm() {
        let histogram = Histogram::new([&[], &[], &[10_000.0], &[1.0, 10.0, 100.0]], 480);
        assert!(histogram.logarithmic);
        let filled: Vec<usize> = (0..480).filter(|&bin| histogram.counts[bin] != [0; 4]).collect();
        assert_eq!(filled, [0, 120, 240, 479]);
    }

    #[test]
    fn equal_values_and_none_have_a_histogram_too() {
        assert_eq!(Histogram::new([&[], &[], &[], &[7.0; 5]], 480).counts[0], [0, 0, 0, 5]);
        assert!(Histogram::new([&[]; 4], 480).counts.is_empty());
    }
}
