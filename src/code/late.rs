//! The code of each loss of a rank for which others wait.

use std::collections::{BTreeMap, HashMap};

use mpitrace_analysis::account::{
    Because, LateArrival, Loss, LossKind, for_each_late_arrival, for_each_late_exchange, late_arrival_at_finalize,
};
use mpitrace_analysis::run::Run;
use mpitrace_trace::calls::samples::RunSamples;
use serde::Serialize;

use crate::contrast::{Contrast, Found, contrast};
use crate::frame::Frame;
use crate::longest::longest;
use crate::stacks::Stacks;
use crate::windows::{Unit, Windows};

const NS: f64 = 1e9;
/// The samples have to show the lateness: between this share of it and its inverse, ...
const SHOWN: f64 = 1.0 / 3.0;
/// ... and so many samples more or less.
const SLACK: f64 = 4.0;
/// A rank with a smaller share of the lateness of several is not named.
const TAKES_PART: f64 = 0.05;

/// A function of the program that late ranks run for longer than those that wait for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CodeOfLoss {
    /// The late world ranks.
    pub ranks: Vec<u32>,
    /// The function.
    pub function: String,
    /// Its source file, or its library; `null`: not known.
    pub file: Option<String>,
    /// The line with most of the time; `null`: the program has no debug data.
    pub line: Option<u32>,
    /// The function that called it there, with its line; `null`: not known.
    pub caller: Option<String>,
    /// The function of a library that it called there the most; `null`: none.
    pub called: Option<String>,
    /// How much longer the late ranks compute, or sleep, than those that wait for them, s.
    pub longer_seconds: f64,
    /// How much longer they run this function, s.
    pub seconds: f64,
    /// The share of the time by which the late ranks compute, or sleep, longer, 0 to 1.
    pub share: f64,
    /// The probability of such a difference by sampling alone, corrected for the number of functions.
    pub p: f64,
}

/// The place in which ranks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Operation(usize),
    Exchange,
    Finalize,
}

/// The late arrivals at a place.
#[derive(Default)]
struct Arrivals {
    /// The arrivals before which some rank was sampled.
    units: Vec<Unit>,
    /// By part: all lateness, and all waiting for it, ns.
    sums: BTreeMap<usize, [f64; 2]>,
}

/// The code of each of the losses of a run ([`Run::losses`]), in their order; none where the samples do not support it.
pub fn code_of_losses(run: &Run, samples: &RunSamples) -> Vec<Vec<CodeOfLoss>> {
    let stacks = Stacks::new(&samples.samples);
    let windows = [false, true].map(|asleep| Windows::new(&run.trace, samples, asleep));
    let mut arrivals: HashMap<(Place, bool), Arrivals> = HashMap::new();
    let mut known: HashMap<(Place, bool, Option<u32>), (Contrast, f64)> = HashMap::new();
    let of_loss = |loss: &Loss| {
        let Some((place, rank)) = place_of(loss) else { return Vec::new() };
        let asleep = loss.because == Some(Because::Asleep);
        let of_kind = &windows[usize::from(asleep)];
        let at_place = arrivals.entry((place, asleep)).or_insert_with(|| Arrivals::new(run, of_kind, place));
        let (found, waiting) = known.entry((place, asleep, rank)).or_insert_with(|| {
            let units = at_place.of_rank(run, rank, loss);
            (contrast(&stacks, &units), at_place.waiting_ranks(run, rank))
        });
        let longer_ns = loss.ns / waiting.max(1.0);
        let slack = SLACK * units_period(&at_place.units);
        let is_shown = found.longer_ns >= SHOWN * longer_ns - slack && found.longer_ns <= longer_ns / SHOWN + slack;
        let ranks = rank.map_or_else(|| at_place.late_ranks(run, loss), |rank| vec![rank]);
        let code = |one: &Found| {
            let Frame { function, file, line, .. } = Frame::parse(&samples.samples.frames[one.call.frame as usize]);
            CodeOfLoss {
                ranks: ranks.clone(),
                function: function.to_owned(),
                file: file.map(str::to_owned),
                line,
                caller: one.caller.map(|caller| samples.samples.frames[caller as usize].clone()),
                called: one.called.map(|called| function_of(&samples.samples.frames[called as usize])),
                longer_seconds: longer_ns / NS,
                seconds: one.share * longer_ns / NS,
                share: one.share,
                p: one.p,
            }
        };
        if is_shown { found.found.iter().map(code).collect() } else { Vec::new() }
    };
    run.losses().all.iter().map(of_loss).collect()
}

/// `flock` of `__GI_flock (libc.so.6)`.
fn function_of(frame: &str) -> String {
    let name = Frame::parse(frame).function;
    name.strip_prefix("__GI_").unwrap_or(name).trim_start_matches('_').to_owned()
}

/// Where others wait because a rank computes, or sleeps, for longer, and which; `None` within: several in turns.
fn place_of(loss: &Loss) -> Option<(Place, Option<u32>)> {
    let has_code = matches!(loss.because, Some(Because::Computing | Because::OnProcessor | Because::Asleep));
    match (loss.kind, loss.operation) {
        _ if !has_code || loss.message.is_some() => None,
        (LossKind::LateRank, Some(operation)) => Some((Place::Operation(operation), loss.rank)),
        (LossKind::LateRank, None) if loss.at_finalize => Some((Place::Finalize, loss.rank)),
        (LossKind::PointToPoint, _) => loss.late().map(|late| (Place::Exchange, Some(late))),
        _ => None,
    }
}

/// The processor time that a sample stands for, ns.
fn units_period(units: &[Unit]) -> f64 {
    units.iter().flat_map(|unit| unit.own.iter().chain(&unit.of_others)).map(|(_, ns)| *ns).fold(0.0, f64::max)
}

impl Arrivals {
    fn new(run: &Run, windows: &Windows, place: Place) -> Arrivals {
        let mut all = Arrivals::default();
        let Run { trace, clock, operations, .. } = run;
        match place {
            Place::Operation(number) => {
                let operation = &operations.operations[number];
                let rows = windows.sampled_rows(trace, operation);
                for_each_late_arrival(trace, clock, operation, rows.into_iter(), |late| all.add(windows, &late));
            }
            Place::Exchange => {
                // One by one, with each rank that waits; those of one call are together.
                let mut pending: Vec<LateArrival> = Vec::new();
                for_each_late_exchange(trace, clock, operations, run.account(), |next| {
                    match pending.iter_mut().find(|one| one.late == next.late) {
                        Some(one) => one.others.extend(next.others),
                        None => {
                            if pending.len() > trace.parts.len() {
                                pending.drain(..).for_each(|late| all.add(windows, &late));
                            }
                            pending.push(next);
                        }
                    }
                });
                pending.iter().for_each(|late| all.add(windows, late));
            }
            Place::Finalize => {
                late_arrival_at_finalize(trace, run.account()).iter().for_each(|late| all.add(windows, late));
            }
        }
        all
    }

    fn add(&mut self, windows: &Windows, arrival: &LateArrival) {
        let [late_ns, waiting_ns] = self.sums.entry(arrival.late.part).or_default();
        *late_ns += arrival.late_ns();
        *waiting_ns += arrival.waiting_ns();
        self.units.extend(windows.unit(arrival));
    }

    /// The arrivals that make most of the lateness of a rank, or of all that have a part in the loss.
    fn of_rank(&self, run: &Run, rank: Option<u32>, loss: &Loss) -> Vec<&Unit> {
        let is_meant = |unit: &&Unit| {
            let of = run.trace.parts[unit.part].rank();
            rank.map_or_else(|| !loss.except.contains(&of), |rank| rank == of)
        };
        longest(self.units.iter().filter(is_meant).collect(), |unit| unit.late_ns)
    }

    /// How many ranks wait for a late one, in the mean of the time.
    fn waiting_ranks(&self, run: &Run, rank: Option<u32>) -> f64 {
        let of_rank =
            self.sums.iter().filter(|(part, _)| rank.is_none_or(|rank| run.trace.parts[**part].rank() == rank));
        let sum = of_rank.fold([0.0; 2], |sum, (_, of)| [sum[0] + of[0], sum[1] + of[1]]);
        if sum[0] > 0.0 { sum[1] / sum[0] } else { 1.0 }
    }

    /// The ranks that have a part in a loss of several.
    fn late_ranks(&self, run: &Run, loss: &Loss) -> Vec<u32> {
        let all: f64 = self.sums.values().map(|[late_ns, _]| late_ns).sum();
        let named = self.sums.iter().filter(|(_, [late_ns, _])| *late_ns >= TAKES_PART * all);
        let mut ranks: Vec<u32> = named.map(|(part, _)| run.trace.parts[*part].rank()).collect();
        ranks.retain(|rank| !loss.except.contains(rank));
        ranks.sort_unstable();
        ranks
    }
}
