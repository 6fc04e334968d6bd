//! The formulas by which MPI benchmarks process their times, applied to one and the same trace.
//!
//! Hunold & Carpen-Amarie (2016, 2) list how benchmarks measure (MS1 to MS4, its table III) and what they make of
//! it (PS5 to PS8, its table IV, and the text of section 2 on MPIBlib, mpicroscope and OSU, here PS2 to PS4). The
//! outcome is what a benchmark that measures so would print for these repetitions; for what releases of today count see
//! [`crate::counted`].

use clap::ValueEnum;
use mpitrace_statistics::{Interval, Sample, median, moments, tukey_fences};

use crate::enough::mean_interval;

/// The number that is made of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// MPIBlib on local clocks: the mean over the repetitions of the longest time on any rank, with its 95 % interval;
    /// and with its standard error, as SKaMPI prints it.
    Ps2,
    /// OSU, mpicroscope: the mean of each rank; the least, the largest and the mean of these.
    Ps3,
    /// MPIBlib in global time: the mean over the repetitions of max e - min s, with its 95 % interval.
    Ps4,
    /// MPIBench: the times of all ranks and repetitions in one sample, without those above twice its 99th percentile;
    /// the least, the largest and the mean.
    Ps5,
    /// NBCBench: least, largest, mean and median of each rank; the largest of each over the ranks.
    Ps6,
    /// Intel MPI Benchmarks, Phloem: the mean time of each rank's loop; the least, the largest and the mean of these.
    Ps7,
    /// mpptest: the mean time of the root's loop; the least over several loops.
    Ps8,
}

/// How the time of a rank is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Measurement {
    /// MS1 and MS4: each call by itself; a mean is that of the calls.
    Ms1,
    /// MS2: from the entry of the first call of a loop to the exit of the last, over their number; what lies between
    /// calls counts.
    Ms2,
}

/// The values that are taken out of a sample beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Removal {
    /// Nothing.
    None,
    /// Values outside of Q1 - 1.5 IQR and Q3 + 1.5 IQR (Hunold & Carpen-Amarie 2016, 3.5).
    Tukey,
    /// Values above twice the 99th percentile (MPIBench; Hunold & Carpen-Amarie 2016, 2).
    #[value(name = "mpibench")]
    MpiBench,
}

/// The times that schemes work on, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// For each rank, for each repetition: exit - entry on its own clock.
    pub duration_ns: Vec<Vec<f64>>,
    /// For each repetition max e - min s, by global time; `None` where there is none.
    pub global_ns: Option<Vec<f64>>,
    /// For each rank the entry of each repetition and its exit, where there are time stamps.
    pub stamps_ns: Option<Vec<[Vec<f64>; 2]>>,
    /// The rank that roots the operation, by index; 0 where there is no root.
    pub root: usize,
}

/// The outcome of a scheme, ns. What a scheme does not print is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The least.
    pub minimum: Option<f64>,
    /// The largest.
    pub maximum: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// Its interval.
    pub mean_interval: Option<Interval>,
    /// The standard error of the mean, s / n^0.5.
    pub standard_error: Option<f64>,
    /// The median.
    pub median: Option<f64>,
    /// How many times went into it.
    pub used: usize,
    /// How many were left out as outliers, or as not finite.
    pub removed: usize,
}

/// Why a scheme cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// It needs time stamps, and there are run times only.
    #[error("needs time stamps, and there are run times only")]
    NoStamps,
    /// There is no repetition.
    #[error("there is no repetition to apply it to")]
    Nothing,
}

impl Removal {
    /// The lowest and the highest value that stay.
    pub fn limits(self, values: &[f64]) -> [f64; 2] {
        let limits = match self {
            Removal::None => None,
            Removal::Tukey => tukey_fences(&Sample::new(values)),
            Removal::MpiBench => Sample::new(values).quantile(0.99).map(|p99| [f64::NEG_INFINITY, 2.0 * p99]),
        };
        limits.unwrap_or([f64::NEG_INFINITY, f64::INFINITY])
    }

    /// The values that stay, in their order, and how many go. Values that are not finite always go.
    pub fn apply(self, values: &[f64]) -> (Vec<f64>, usize) {
        let [lower, upper] = self.limits(values);
        let stays = |value: &f64| value.is_finite() && (lower..=upper).contains(value);
        let kept: Vec<f64> = values.iter().copied().filter(stays).collect();
        let removed = values.len() - kept.len();
        (kept, removed)
    }
}

impl Scheme {
    /// All, in order.
    pub const ALL: [Scheme; 7] =
        [Scheme::Ps2, Scheme::Ps3, Scheme::Ps4, Scheme::Ps5, Scheme::Ps6, Scheme::Ps7, Scheme::Ps8];

    /// The measurement that goes with it in its benchmark.
    pub fn measurement(self) -> Measurement {
        match self {
            Scheme::Ps7 | Scheme::Ps8 => Measurement::Ms2,
            _ => Measurement::Ms1,
        }
    }

    /// The removal that goes with it.
    pub fn removal(self) -> Removal {
        match self {
            Scheme::Ps5 => Removal::MpiBench,
            _ => Removal::None,
        }
    }

    /// Applies it. `in_loop`: how many repetitions one loop of the benchmark has, for [`Measurement::Ms2`] and PS8; a
    /// last loop that is not full is left out and counted in `removed`. `removal` is applied to what the scheme takes
    /// means or medians of: PS2 and PS4 to the run times, PS5 to all of them together, PS3 and PS6 to PS8 to those of
    /// each rank.
    ///
    /// # Errors
    /// There is no repetition; a scheme that needs time stamps, of run times that have none.
    pub fn apply(
        self,
        times: &Times,
        measurement: Measurement,
        removal: Removal,
        in_loop: Option<usize>,
    ) -> Result<Outcome, SchemeError> {
        let repetitions = times.duration_ns.first().map_or(0, Vec::len);
        if repetitions == 0 {
            return Err(SchemeError::Nothing);
        }
        match self {
            Scheme::Ps2 => of_run_times(&times.maximum(), removal),
            Scheme::Ps4 => of_run_times(times.global_ns.as_ref().ok_or(SchemeError::NoStamps)?, removal),
            Scheme::Ps5 => of_all(times, removal),
            Scheme::Ps6 => of_each_rank(times, removal),
            Scheme::Ps3 | Scheme::Ps7 => {
                let of_ranks =
                    (0..times.duration_ns.len()).map(|rank| times.loops(rank, measurement, removal, in_loop));
                let of_ranks: Vec<Loops> = of_ranks.collect::<Result<_, _>>()?;
                let means: Vec<f64> = of_ranks.iter().filter_map(|loops| Some(moments(&loops.means)?.mean)).collect();
                let mut outcome = spread(&means)?;
                outcome.used = of_ranks.iter().map(|loops| loops.used).sum();
                outcome.removed = of_ranks.iter().map(|loops| loops.removed).sum();
                Ok(outcome)
            }
            Scheme::Ps8 => {
                let loops = times.loops(times.root, measurement, removal, in_loop)?;
                let minimum = loops.means.iter().copied().min_by(f64::total_cmp);
                let minimum = Some(minimum.ok_or(SchemeError::Nothing)?);
                Ok(Outcome { minimum, used: loops.used, removed: loops.removed, ..Outcome::default() })
            }
        }
    }
}

/// The mean times of a rank's loops.
struct Loops {
    means: Vec<f64>,
    used: usize,
    removed: usize,
}

impl Times {
    /// For each repetition the longest time on any rank.
    pub fn maximum(&self) -> Vec<f64> {
        let mut longest = self.duration_ns.first().cloned().unwrap_or_default();
        for rank in self.duration_ns.iter().skip(1) {
            longest.iter_mut().zip(rank).for_each(|(longest, &time)| *longest = longest.max(time));
        }
        longest
    }

    fn loops(
        &self,
        rank: usize,
        measurement: Measurement,
        removal: Removal,
        in_loop: Option<usize>,
    ) -> Result<Loops, SchemeError> {
        let durations = &self.duration_ns[rank];
        let size = in_loop.unwrap_or(durations.len()).clamp(1, durations.len());
        let mut found = Loops { means: Vec::new(), used: 0, removed: durations.len() % size };
        match measurement {
            Measurement::Ms1 => {
                for calls in durations.chunks_exact(size) {
                    let (kept, removed) = removal.apply(calls);
                    found.removed += removed;
                    found.used += kept.len();
                    found.means.extend(moments(&kept).map(|moments| moments.mean));
                }
            }
            Measurement::Ms2 => {
                let [enter, exit] = &self.stamps_ns.as_ref().ok_or(SchemeError::NoStamps)?[rank];
                let whole = enter.chunks_exact(size).zip(exit.chunks_exact(size));
                let means: Vec<f64> = whole.map(|(enter, exit)| (exit[size - 1] - enter[0]) / size as f64).collect();
                let (kept, removed) = removal.apply(&means);
                found.removed += removed * size;
                found.used = kept.len() * size;
                found.means = kept;
            }
        }
        Ok(found)
    }
}

fn of_run_times(run_times: &[f64], removal: Removal) -> Result<Outcome, SchemeError> {
    let (kept, removed) = removal.apply(run_times);
    let mut outcome = spread(&kept)?;
    // As MPIBlib and SKaMPI take them: the repetitions as independent ones.
    outcome.mean_interval = mean_interval(&kept, kept.len() as f64, 0.95);
    let deviation = moments(&kept).and_then(|moments| moments.standard_deviation);
    outcome.standard_error = deviation.map(|deviation| deviation / (kept.len() as f64).sqrt());
    outcome.removed = removed;
    Ok(outcome)
}

fn of_all(times: &Times, removal: Removal) -> Result<Outcome, SchemeError> {
    let (kept, removed) = removal.apply(&times.duration_ns.concat());
    Ok(Outcome { removed, ..spread(&kept)? })
}

fn of_each_rank(times: &Times, removal: Removal) -> Result<Outcome, SchemeError> {
    let mut outcome = Outcome::default();
    let largest = |known: Option<f64>, of_rank: Option<f64>| known.into_iter().chain(of_rank).max_by(f64::total_cmp);
    for durations in &times.duration_ns {
        let (mut kept, removed) = removal.apply(durations);
        let of_rank = spread(&kept)?;
        outcome.minimum = largest(outcome.minimum, of_rank.minimum);
        outcome.maximum = largest(outcome.maximum, of_rank.maximum);
        outcome.mean = largest(outcome.mean, of_rank.mean);
        outcome.used += kept.len();
        outcome.removed += removed;
        outcome.median = largest(outcome.median, median(&mut kept));
    }
    Ok(outcome)
}

fn spread(values: &[f64]) -> Result<Outcome, SchemeError> {
    Ok(Outcome {
        minimum: values.iter().copied().min_by(f64::total_cmp),
        maximum: values.iter().copied().max_by(f64::total_cmp),
        mean: Some(moments(values).ok_or(SchemeError::Nothing)?.mean),
        used: values.len(),
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks, four repetitions 100 ns apart; the last of rank 1 is late.
    fn times() -> Times {
        let enter = vec![0.0, 100.0, 200.0, 300.0];
        let exits = [vec![10.0, 120.0, 210.0, 310.0], vec![12.0, 114.0, 216.0, 3300.0]];
        let duration = |exit: &Vec<f64>| exit.iter().zip(&enter).map(|(exit, enter)| exit - enter).collect();
        Times {
            duration_ns: exits.iter().map(duration).collect(),
            global_ns: Some(vec![12.0, 20.0, 16.0, 3000.0]),
            stamps_ns: Some(exits.iter().map(|exit| [enter.clone(), exit.clone()]).collect()),
            root: 0,
        }
    }

    fn apply(scheme: Scheme, in_loop: Option<usize>) -> Outcome {
        scheme.apply(&times(), scheme.measurement(), scheme.removal(), in_loop).unwrap()
    }

    #[test]
    fn each_scheme_prints_its_own_number() {
        assert_eq!(apply(Scheme::Ps2, None).mean, Some(762.0));
        assert_eq!(apply(Scheme::Ps4, None).mean, Some(762.0));
        let osu = apply(Scheme::Ps3, None);
        assert_eq!((osu.minimum, osu.maximum, osu.mean), (Some(12.5), Some(760.5), Some(386.5)));
        let nbc = apply(Scheme::Ps6, None);
        // The largest over the ranks: of 10 and 12, of 20 and 3000, of 10 and 15.
        assert_eq!((nbc.minimum, nbc.maximum, nbc.median), (Some(12.0), Some(3000.0), Some(15.0)));
        // (310 - 0) / 4 and (3300 - 0) / 4.
        let intel = apply(Scheme::Ps7, None);
        assert_eq!((intel.minimum, intel.maximum), (Some(77.5), Some(825.0)));
        // Loops of two on the root: 120 / 2 and 110 / 2.
        assert_eq!(apply(Scheme::Ps8, Some(2)).minimum, Some(55.0));
        let cut = apply(Scheme::Ps8, Some(3));
        assert_eq!((cut.minimum, cut.used, cut.removed), (Some(70.0), 3, 1));
    }

    /// MPIBlib's own formula (3) of Lastovetsky et al. 2008, also where it reaches below 0; SKaMPI prints the standard
    /// error.
    #[test]
    fn the_interval_of_mpiblib_is_that_of_student_and_the_error_of_skampi_is_stated() {
        let found = apply(Scheme::Ps2, None);
        // 12, 20, 16 and 3000: s = 1492.003_575, t(3) = 3.182_446.
        let error = found.standard_error.unwrap();
        assert!((error - 1_492.003_574_6 / 2.0).abs() < 1e-3, "{error}");
        let interval = found.mean_interval.unwrap();
        let half = 3.182_446_305 * error;
        assert!((interval.lower - (762.0 - half)).abs() < 1e-3 && (interval.upper - (762.0 + half)).abs() < 1e-3);
        assert_eq!(apply(Scheme::Ps3, None).standard_error, None);
    }

    #[test]
    fn mpibench_leaves_out_what_is_above_twice_the_99th_percentile() {
        let mut times = times();
        times.duration_ns = vec![vec![10.0; 500], vec![10.0; 500]];
        times.duration_ns[1][7] = 21.0;
        times.duration_ns[0][7] = 20.0;
        let found = Scheme::Ps5.apply(&times, Measurement::Ms1, Removal::MpiBench, None).unwrap();
        assert_eq!((found.maximum, found.used, found.removed), (Some(20.0), 999, 1));
        let all = Scheme::Ps5.apply(&times, Measurement::Ms1, Removal::None, None).unwrap();
        assert_eq!((all.maximum, all.removed), (Some(21.0), 0));
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let bare = Times { global_ns: None, stamps_ns: None, ..times() };
        let apply = |scheme: Scheme, times: &Times| scheme.apply(times, scheme.measurement(), Removal::None, None);
        assert_eq!(apply(Scheme::Ps4, &bare), Err(SchemeError::NoStamps));
        assert_eq!(apply(Scheme::Ps7, &bare), Err(SchemeError::NoStamps));
        assert!(apply(Scheme::Ps3, &bare).is_ok());
        for scheme in Scheme::ALL {
            assert_eq!(apply(scheme, &Times::default()), Err(SchemeError::Nothing));
            let empty = Times { duration_ns: vec![vec![], vec![]], ..Times::default() };
            assert_eq!(apply(scheme, &empty), Err(SchemeError::Nothing));
        }
        let odd = Times { duration_ns: vec![vec![f64::NAN, f64::INFINITY]], ..Times::default() };
        assert_eq!(apply(Scheme::Ps2, &odd), Err(SchemeError::Nothing));
    }
}
