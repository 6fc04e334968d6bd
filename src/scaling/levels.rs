//! The efficiencies on each number of ranks, as centres compare programs by them (Wagner et al. 2017): parallel
//! efficiency = load balance x communication efficiency, communication efficiency = serialisation x transfer, global
//! efficiency = parallel efficiency x computation scaling, computation scaling = instruction scaling x IPC scaling x
//! frequency scaling. The scalings are against the smallest number of ranks.

use mpitrace_statistics::models::Estimate;
use mpitrace_statistics::student_quantile;
use serde::Serialize;

use crate::facts::RunFacts;
use crate::mode::Mode;

/// The runs on one number of ranks. Of several runs each value is the geometric mean, with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// The ranks.
    pub ranks: u32,
    /// The runs.
    pub runs: usize,
    /// From MPI_Init to MPI_Finalize, the longest rank, s.
    pub seconds: Estimate,
    /// Against the smallest number of ranks; of weak scaling the scaled one: as if the work were done on these.
    pub speedup: Estimate,
    /// Parallel efficiency x computation scaling.
    pub global_efficiency: Estimate,
    /// Load balance x communication efficiency.
    pub parallel_efficiency: Estimate,
    /// How evenly useful time is shared out.
    pub load_balance: Estimate,
    /// Serialisation x transfer.
    pub communication_efficiency: Estimate,
    /// The share of the time on an ideal network that the most useful rank is useful; `None`: not known.
    pub serialisation: Option<Estimate>,
    /// The time on an ideal network over the time; `None`: not known.
    pub transfer: Option<Estimate>,
    /// The useful time of all ranks on the smallest number of ranks over that here; of weak scaling of each rank.
    pub computation_scaling: Estimate,
    /// The scaling of instructions, likewise; `None`: not counted.
    pub instruction_scaling: Option<Estimate>,
    /// Instructions a cycle here over those on the smallest number of ranks.
    pub ipc_scaling: Option<Estimate>,
    /// Cycles a second, likewise.
    pub frequency_scaling: Option<Estimate>,
}

const CONFIDENCE: f64 = 0.975;

/// The levels of runs that are grouped by their number of ranks, ascending.
pub(crate) fn levels(groups: &[Vec<&RunFacts>], mode: Mode) -> Vec<Level> {
    groups.iter().map(|runs| level(runs, &groups[0], mode)).collect()
}

fn level(runs: &[&RunFacts], reference: &[&RunFacts], mode: Mode) -> Level {
    let p = |runs: &[&RunFacts]| f64::from(runs[0].ranks);
    // Of weak scaling the work of each rank counts.
    let shared = match mode {
        Mode::Strong => 1.0,
        Mode::Weak => p(runs) / p(reference),
    };
    let is_reference = std::ptr::eq(runs, reference);
    let against = |of: &dyn Fn(&RunFacts) -> Option<f64>, factor: f64| {
        if is_reference { Some(Estimate { value: factor, interval: None }) } else { ratio(runs, reference, of, factor) }
    };
    let of_counted = |of: fn(&crate::facts::Counted) -> Option<f64>| {
        let is_known = runs.iter().chain(reference).all(|run| run.counted.as_ref().and_then(of).is_some());
        move |run: &RunFacts| run.counted.as_ref().and_then(of).filter(|_| is_known)
    };
    let known = |estimate: Option<Estimate>| estimate.unwrap_or(Estimate { value: f64::NAN, interval: None });
    let share = |of: &dyn Fn(&RunFacts) -> Option<f64>| mean(runs, of).map(below_one);
    let scaling = known(against(&|run| Some(run.useful_s.recip()), shared));
    Level {
        ranks: runs[0].ranks,
        runs: runs.len(),
        seconds: known(mean(runs, &|run| Some(run.seconds))),
        speedup: known(against(&|run| Some(run.seconds.recip()), shared)),
        global_efficiency: if is_reference {
            known(share(&|run| Some(run.efficiency.parallel)))
        } else {
            known(global(runs, reference, shared))
        },
        parallel_efficiency: known(share(&|run| Some(run.efficiency.parallel))),
        load_balance: known(share(&|run| Some(run.efficiency.load_balance))),
        communication_efficiency: known(share(&|run| Some(run.efficiency.communication))),
        serialisation: share(&|run| Some(run.efficiency.communication / run.transfer?)),
        transfer: share(&|run| run.transfer),
        computation_scaling: scaling,
        instruction_scaling: against(&of_counted(|counted| Some(counted.instructions.recip())), shared)
            .filter(|_| runs[0].counted.is_some()),
        ipc_scaling: against(&of_counted(|counted| Some(counted.instructions / counted.cycles?)), 1.0)
            .filter(|_| runs[0].counted.is_some_and(|counted| counted.cycles.is_some())),
        frequency_scaling: against(&of_counted(|counted| Some(counted.cycles? / counted.seconds)), 1.0)
            .filter(|_| runs[0].counted.is_some_and(|counted| counted.cycles.is_some())),
    }
}

/// A share is no more than 1.
fn below_one(estimate: Estimate) -> Estimate {
    Estimate { interval: estimate.interval.map(|ends| ends.map(|end| end.min(1.0))), ..estimate }
}

/// The mean of logarithms and the variance of this mean.
struct Logarithms {
    count: f64,
    mean: f64,
    variance: Option<f64>,
}

impl Logarithms {
    /// `None`: of one run it is not known, or not above 0.
    fn new(runs: &[&RunFacts], of: &dyn Fn(&RunFacts) -> Option<f64>) -> Option<Logarithms> {
        let values: Vec<f64> =
            runs.iter().map(|run| of(run).filter(|value| *value > 0.0).map(f64::ln)).collect::<Option<_>>()?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = (values.len() > 1).then(|| squares / (count - 1.0) / count);
        Some(Logarithms { count, mean, variance })
    }

    fn estimate(&self, factor: f64, variance: Option<f64>, freedom: f64) -> Estimate {
        let interval = variance.zip(student_quantile(freedom, CONFIDENCE)).map(|(variance, t)| {
            let half = t * variance.sqrt();
            [-half, half].map(|half| factor * (self.mean + half).exp())
        });
        Estimate { value: factor * self.mean.exp(), interval }
    }

    /// Over others, times a factor; the interval is Welch's.
    fn over(&self, other: &Logarithms, factor: f64) -> Estimate {
        let both = self.variance.zip(other.variance);
        let freedom = both.map_or(0.0, |(here, there)| {
            let below = here * here / (self.count - 1.0) + there * there / (other.count - 1.0);
            if below > 0.0 { (here + there).powi(2) / below } else { self.count + other.count - 2.0 }
        });
        let mean = self.mean - other.mean;
        Logarithms { mean, ..*self }.estimate(factor, both.map(|(here, there)| here + there), freedom)
    }
}

/// The geometric mean of runs.
fn mean(runs: &[&RunFacts], of: &dyn Fn(&RunFacts) -> Option<f64>) -> Option<Estimate> {
    let logarithms = Logarithms::new(runs, of)?;
    Some(logarithms.estimate(1.0, logarithms.variance, logarithms.count - 1.0))
}

/// The geometric mean of runs over that of the reference's, times a factor.
fn ratio(
    runs: &[&RunFacts],
    reference: &[&RunFacts],
    of: &dyn Fn(&RunFacts) -> Option<f64>,
    factor: f64,
) -> Option<Estimate> {
    Some(Logarithms::new(runs, of)?.over(&Logarithms::new(reference, of)?, factor))
}

/// The parallel efficiency here by the useful time against that of the reference, of which all counts.
fn global(runs: &[&RunFacts], reference: &[&RunFacts], shared: f64) -> Option<Estimate> {
    let here = Logarithms::new(runs, &|run| Some(run.efficiency.parallel / run.useful_s))?;
    Some(here.over(&Logarithms::new(reference, &|run| Some(run.useful_s.recip()))?, shared))
}
