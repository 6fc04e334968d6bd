//! The code of each loss of a rank for which others wait.

use std::collections::{BTreeMap, HashMap};

use mpitrace_analysis::account::{
    Because, LateArrival, Loss, LossKind, for_each_late_arrival, for_each_late_exchange, late_arrival_at_finalize,
};
use mpitrace_analysis::run::Run;
use mpitrace_trace::calls::samples::RunSamples;
use serde::Serialize;

use crate::asleep::{asleep, is_of};
use crate::contrast::{Contrast, Found, contrast};
use crate::frame::{Frame, name};
use crate::longest::longest;
use crate::stacks::Stacks;
use crate::windows::{Of, Unit, Windows};

const NS: f64 = 1e9;
/// The samples have to show the lateness: between this share of it and its inverse, ...
const SHOWN: f64 = 1.0 / 3.0;
/// ... and so many samples more or less.
const SLACK: f64 = 4.0;
/// A thread that is asleep waits for other threads of its rank if these run the program for this share of that time.
const BY_THREADS: f64 = 2.0 / 3.0;
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
    /// True: other threads of the ranks run it, for which that of MPI_Init waits, or it waits for them there.
    pub of_threads: bool,
    /// The probability of such a difference by sampling alone, corrected for the number of functions; `null`: the ranks
    /// are not compared with others.
    pub p: Option<f64>,
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
    let windows = [Of::Thread, Of::Asleep, Of::Others].map(|whose| (whose, Windows::new(&run.trace, samples, whose)));
    let mut arrivals: HashMap<(Place, Of), Arrivals> = HashMap::new();
    let mut known: HashMap<(Place, Of, Option<u32>), (Contrast, f64)> = HashMap::new();
    let mut of_samples = |loss: &Loss, whose: Of| {
        let Some((place, rank)) = place_of(loss) else { return Vec::new() };
        let of_kind = windows.iter().find(|(of, _)| *of == whose).map(|(_, windows)| windows).expect("all kinds");
        let at_place = arrivals.entry((place, whose)).or_insert_with(|| Arrivals::new(run, of_kind, place));
        let (found, waiting) = known.entry((place, whose, rank)).or_insert_with(|| {
            let units = at_place.of_rank(run, rank, loss);
            (contrast(&stacks, &units), at_place.waiting_ranks(run, rank))
        });
        let longer_ns = loss.ns / waiting.max(1.0);
        let slack = SLACK * units_period(&at_place.units);
        let is_shown = match whose {
            // Several may run at a time.
            Of::Others => found.longer_ns >= BY_THREADS * longer_ns,
            _ => found.longer_ns >= SHOWN * longer_ns - slack && found.longer_ns <= longer_ns / SHOWN + slack,
        };
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
                of_threads: whose == Of::Others
                    || whose == Of::Asleep
                        && one.called.is_some_and(|called| is_join(&samples.samples.frames[called as usize])),
                p: Some(one.p),
            }
        };
        if is_shown { found.found.iter().map(code).collect() } else { Vec::new() }
    };
    let all_asleep = &windows[1].1;
    let of_sleep = |loss: &Loss| {
        let found = asleep(&run.trace, &stacks, all_asleep, loss)?;
        // A loss is the sum over its ranks.
        let slack = SLACK * found.ranks.len() as f64 * all_asleep.period_ns();
        let is_shown = found.ns >= SHOWN * loss.ns - slack && found.ns <= loss.ns / SHOWN + slack;
        let text = |frame: u32| samples.samples.frames[frame as usize].as_str();
        let Frame { function, file, line, .. } = Frame::parse(text(found.frame));
        is_shown.then(|| CodeOfLoss {
            ranks: found.ranks,
            function: function.to_owned(),
            file: file.map(str::to_owned),
            line,
            caller: found.caller.map(|caller| text(caller).to_owned()),
            called: found.called.map(|called| function_of(text(called))),
            longer_seconds: loss.ns / NS,
            seconds: found.share * loss.ns / NS,
            share: found.share,
            of_threads: found.called.is_some_and(|called| is_join(text(called))),
            p: None,
        })
    };
    let of_loss = |loss: &Loss| match loss.because {
        _ if is_of(loss) => of_sleep(loss).into_iter().collect(),
        Some(Because::Asleep) => {
            let of_threads = of_samples(loss, Of::Others);
            if of_threads.is_empty() { of_samples(loss, Of::Asleep) } else { of_threads }
        }
        _ => of_samples(loss, Of::Thread),
    };
    run.losses().all.iter().map(of_loss).collect()
}

/// `flock` of `__GI_flock (libc.so.6)`.
fn function_of(frame: &str) -> String {
    let name = Frame::parse(frame).function;
    name.strip_prefix("__GI_").unwrap_or(name).trim_start_matches('_').to_owned()
}

/// True if this function of a library waits for other threads of the process to end their work.
fn is_join(frame: &str) -> bool {
    const OPENMP: [&str; 3] = ["libgomp", "libiomp", "libomp"];
    let library = Frame::parse(frame).file.unwrap_or_default();
    let function = name(&function_of(frame));
    // In the GNU C library it is `__pthread_clockjoin_ex` that sleeps.
    let is_join = function.starts_with("pthread_") && function.contains("join");
    is_join
        || ["std::thread::join", "thrd_join"].contains(&function.as_str())
        || OPENMP.iter().any(|start| library.starts_with(start))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_told_from_other_sleeps() {
        for join in [
            "std::thread::join() (libstdc++.so.6)",
            "__pthread_clockjoin_ex (libc.so.6)",
            "GOMP_parallel (libgomp.so.1)",
        ] {
            assert!(is_join(join), "{join}");
        }
        for other in ["usleep (libc.so.6)", "std::thread::detach() (libstdc++.so.6)", "join (libown.so)", "flock"] {
            assert!(!is_join(other), "{other}");
        }
    }
}
