//! The code in which ranks are asleep outside of MPI calls, whether others wait for them or not.

use std::collections::HashMap;

use mpitrace_analysis::account::{Because, Loss, LossKind};
use mpitrace_trace::reader::Trace;

use crate::stacks::{Chain, Stacks};
use crate::windows::{Taken, Windows};

/// A function is named with so many samples, ...
const FEWEST: usize = 5;
/// ... and with this share of the time.
const MOST: f64 = 0.5;

/// Times of a line by its caller and by what it called, ns.
type Ways = HashMap<(Option<u32>, Option<u32>), f64>;

/// The function in which ranks are asleep the most.
#[derive(Debug, PartialEq)]
pub struct Asleep {
    /// The ranks that are.
    pub ranks: Vec<u32>,
    /// The frame of the line with most of the time, that of its caller, and the library's function that it called.
    pub frame: u32,
    pub caller: Option<u32>,
    pub called: Option<u32>,
    /// The share of the time, 0 to 1.
    pub share: f64,
    /// The time in all functions, ns.
    pub ns: f64,
}

/// True if ranks were asleep between calls, whoever waited for that.
pub fn is_of(loss: &Loss) -> bool {
    loss.kind == LossKind::Interrupted && loss.because == Some(Because::Asleep) && loss.operation.is_none()
}

/// The function in which the ranks of such a loss were asleep for most of the time between MPI_Init and MPI_Finalize;
/// `None`: the samples show none. `asleep`: the samples of threads that were.
pub fn asleep(trace: &Trace, stacks: &Stacks, asleep: &Windows, loss: &Loss) -> Option<Asleep> {
    let mut of_line: HashMap<(usize, u32), Ways> = HashMap::new();
    let (mut ranks, mut count, mut all) = (Vec::new(), 0, 0.0);
    let is_meant = |rank: u32| loss.rank.is_none_or(|of| of == rank) && !loss.except.contains(&rank);
    for (index, part) in trace.parts.iter().enumerate().filter(|(_, part)| is_meant(part.rank())) {
        let begin = part.init_thread().map_or(0, |(_, times)| times.processor[0].tick);
        let end = part.finalize_enter().unwrap_or(u64::MAX);
        let between = asleep.of_part(index).iter().filter(|taken| (begin..end).contains(&taken.tick));
        let own: Vec<(&Chain, &Taken)> = between
            .map(|taken| (stacks.chain(taken.stack), taken))
            .filter(|(chain, _)| !chain.in_mpi && !chain.calls.is_empty())
            .collect();
        for (chain, taken) in &own {
            let Some(last) = chain.calls.last() else { continue };
            let caller = chain.calls.iter().rfind(|call| call.function != last.function).map(|call| call.frame);
            let by_way = of_line.entry((last.function, last.frame)).or_default();
            *by_way.entry((caller, chain.called)).or_default() += taken.ns;
            all += taken.ns;
        }
        count += own.len();
        ranks.extend((!own.is_empty()).then_some(part.rank()));
    }
    let mut of_function: HashMap<usize, f64> = HashMap::new();
    for ((function, _), by_way) in &of_line {
        *of_function.entry(*function).or_default() += by_way.values().sum::<f64>();
    }
    let (function, ns) =
        of_function.into_iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
    let lines = of_line.into_iter().filter(|((of, _), _)| *of == function);
    let sum = |by_way: &Ways| by_way.values().sum::<f64>();
    let ((_, frame), by_way) =
        lines.max_by(|one, other| sum(&one.1).total_cmp(&sum(&other.1)).then(other.0.cmp(&one.0)))?;
    let ((caller, called), _) =
        by_way.into_iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
    ranks.sort_unstable();
    let found = Asleep { ranks, frame, caller, called, share: ns / all, ns: all };
    (count >= FEWEST && found.share >= MOST).then_some(found)
}
