//! How an unmodified benchmark synchronises its ranks, and how well that went.
//!
//! From outside a barrier is a call, and so are two; a window is a grid on which repetitions start whatever they took;
//! under ReproMPI's round-time synchronisation a barrier comes first, and then all ranks wait for a time that they have
//! agreed on, so that they enter closer together than they have left it. What only a trace can tell is how far apart
//! the ranks have really started, how far apart its barrier has let them go, and which repetitions the benchmark has
//! thrown away, or should have.

mod grid;
mod hint;
mod observed;
mod spread;
#[cfg(test)]
mod tests;

pub use hint::asked_for;
pub use observed::{Observed, command};
pub use spread::Spread;

use grid::Grid;
use mpitrace_statistics::median;
use spread::{ends, widths};

/// How the ranks are synchronised before a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronisation {
    /// None was seen: one repetition follows the other. There may be one that leaves no trace: messages that were not
    /// counted, windows that are over before they begin.
    None,
    /// By an MPI_Barrier.
    Barrier,
    /// By two.
    DoubleBarrier,
    /// By more.
    Barriers,
    /// By messages in log2(ranks) rounds (Hunold & Carpen-Amarie 2016, 3.2). Seen where messages were counted.
    Dissemination,
    /// By starting at times that lie on a grid.
    Window,
    /// By a barrier, and then a time that is agreed on for each repetition.
    RoundTime,
}

/// The way in which an operation was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct SynchronisationCheck {
    /// How its ranks were synchronised, for most repetitions.
    pub synchronisation: Synchronisation,
    /// The share of the repetitions, but the first, for which that is so.
    pub share: f64,
    /// The synchronisation that the benchmark was asked for, where its command line says so.
    pub asked_for: Option<Synchronisation>,
    /// True if messages between the repetitions were counted.
    pub messages_counted: bool,
    /// How far apart the ranks entered.
    pub start: Option<Spread>,
    /// How far apart the ranks entered in each repetition, ns.
    pub start_ns: Vec<f64>,
    /// How far apart they left.
    pub exit: Option<Spread>,
    /// How far apart the barrier before let them go.
    pub barrier_exit: Option<Spread>,
    /// From leaving that barrier to entering, the median over ranks and repetitions, ns.
    pub wait_ns: Option<f64>,
    /// The windows.
    pub window: Option<Window>,
    /// Repetitions whose ranks started so far apart that a benchmark which checks its start times does them again.
    pub apart: Vec<u64>,
    /// The half width of the 95 % interval of a time, ns; `None` where none is stated. No spread below it can be told
    /// from 0.
    pub error_ns: Option<f64>,
}

/// Windows in which repetitions start.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// How long one is, ns.
    pub width_ns: f64,
    /// The median distance of the first rank's entry from the begin of its window, ns.
    pub deviation_ns: f64,
    /// Repetitions that ended after their window: the benchmark sees that, and throws them away.
    pub expired: Vec<u64>,
    /// Repetitions that began while the one before was still running on some rank: it sees that too.
    pub passed: Vec<u64>,
    /// Repetitions that a rank entered late although its start time had not passed when it began to wait: this the
    /// benchmark does not see.
    pub unseen: Vec<u64>,
}

/// A start is late from this many times the usual distance on...
const LATE: f64 = 10.0;
/// ... and from so many ns: what a look at the clock, in a loop, may take.
const LOOK_NS: f64 = 500.0;

/// Says how the repetitions were measured. `None` for fewer than two.
pub fn check(observed: &Observed) -> Option<SynchronisationCheck> {
    let count = observed.repetition.len();
    if count < 2 {
        return None;
    }
    let start_ns = widths(&observed.enter_ns);
    let (enter, exit) = (ends(&observed.enter_ns), ends(&observed.exit_ns));
    let (barriers, share) = usual_barriers(observed);
    let first: Vec<f64> = enter.iter().map(|ends| ends[0]).collect();
    let last: Vec<f64> = exit.iter().map(|ends| ends[1]).collect();
    let grid = if barriers == 0 { Grid::new(&observed.repetition, &first, &last) } else { None };
    let dissemination = dissemination(observed);
    let asked_for = observed.asked_for;
    // What was asked for decides between two that may look the same, and nothing else.
    let may_be = |one: Synchronisation| asked_for.is_none_or(|asked| asked == one);
    let is_round_time = || match asked_for {
        Some(Synchronisation::RoundTime) => true,
        Some(Synchronisation::Barrier) => false,
        _ => has_start_messages(observed).unwrap_or_else(|| agrees_on_a_time(observed)),
    };
    let (synchronisation, share) = match barriers {
        // Messages are counted exactly; a grid may come of repetitions that all take the same time.
        0 if dissemination > 0.5 => (Synchronisation::Dissemination, dissemination.min(share)),
        0 if grid.is_some() && may_be(Synchronisation::Window) => (Synchronisation::Window, share),
        0 => (Synchronisation::None, share),
        _ if is_round_time() => (Synchronisation::RoundTime, share),
        1 => (Synchronisation::Barrier, share),
        2 => (Synchronisation::DoubleBarrier, share),
        _ => (Synchronisation::Barriers, share),
    };
    let checks = synchronisation == Synchronisation::RoundTime;
    let grid = grid.filter(|_| synchronisation == Synchronisation::Window);
    Some(SynchronisationCheck {
        synchronisation,
        share,
        asked_for,
        messages_counted: observed.messages.is_some(),
        start: Spread::new(&start_ns),
        exit: Spread::new(&widths(&observed.exit_ns)),
        // The first repetition often has a barrier of the set-up before it.
        barrier_exit: Spread::new(&widths(&observed.barrier_exit_ns)).filter(|_| barriers > 0),
        wait_ns: wait(observed).filter(|_| barriers > 0),
        window: grid.map(|grid| Window::new(&grid, observed, &exit)),
        apart: if checks { apart(observed, &start_ns) } else { Vec::new() },
        start_ns,
        error_ns: observed.error_ns,
    })
}

/// How many barriers come before most repetitions, and before what share. The first one has the set-up before it.
fn usual_barriers(observed: &Observed) -> (u32, f64) {
    let later = &observed.barriers[1..];
    let share = |wanted: u32| later.iter().filter(|found| **found == [wanted; 2]).count() as f64 / later.len() as f64;
    let most = later.iter().map(|found| found[0]).max().unwrap_or(0);
    let all = (0..=most).map(|wanted| (wanted, share(wanted)));
    all.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0))
}

/// The share of the repetitions before which every rank sent as many messages as a dissemination barrier has rounds.
fn dissemination(observed: &Observed) -> f64 {
    let Some([sent, received]) = &observed.messages else { return 0.0 };
    let rounds = u64::from(usize::BITS - (sent.len().max(1) - 1).leading_zeros());
    let later = 1..observed.repetition.len();
    let count = later.len() as f64;
    // Twice as many where it is made twice.
    let is_one = |row: &usize| {
        [rounds, 2 * rounds].iter().any(|count| sent.iter().chain(received).all(|messages| messages[*row] == *count))
    };
    if rounds == 0 { 0.0 } else { later.filter(is_one).count() as f64 / count }
}

/// True if messages go to all ranks between the barrier and the repetition, as those do that bring the time at which to
/// start; `None` where messages were not counted. The barrier's own are counted with the barrier.
fn has_start_messages(observed: &Observed) -> Option<bool> {
    let [_, received] = observed.messages.as_ref()?;
    let later = 1..observed.repetition.len();
    let count = later.len();
    let brings = |row: &usize| received.iter().filter(|messages| messages[*row] > 0).count() + 1 >= received.len();
    Some(received.len() > 1 && 2 * later.filter(brings).count() > count)
}

/// True if the ranks wait, after the barrier, for one and the same time. Then when they enter does not depend on when
/// they have left it, and they enter closer together than they have left it: after work of any length between the two
/// they do not. What a rank has in every repetition, as an error of its clock, is left out.
fn agrees_on_a_time(observed: &Observed) -> bool {
    let ranks = observed.enter_ns.len();
    if ranks < 2 {
        return false;
    }
    let rows = observed.repetition.len();
    let mean = |times: &[Vec<f64>], row: usize| times.iter().map(|times| times[row]).sum::<f64>() / ranks as f64;
    let centred = |times: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let means: Vec<f64> = (0..rows).map(|row| mean(times, row)).collect();
        let of_rank = |own: &Vec<f64>| {
            let mut from_mean: Vec<f64> = own.iter().zip(&means).map(|(time, mean)| time - mean).collect();
            let usual = median(&mut from_mean.iter().copied().filter(|one| !one.is_nan()).collect::<Vec<f64>>());
            from_mean.iter_mut().for_each(|one| *one -= usual.unwrap_or(0.0));
            from_mean
        };
        times.iter().map(of_rank).collect()
    };
    let (left, entered) = (centred(&observed.barrier_exit_ns), centred(&observed.enter_ns));
    let apart =
        |times: &[Vec<f64>]| median(&mut widths(times).into_iter().filter(|width| !width.is_nan()).collect::<Vec<_>>());
    if apart(&entered).zip(apart(&left)).is_none_or(|(entered, left)| entered >= left) {
        return false;
    }
    let (mut slopes, mut waits, mut skews) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let squares: f64 = left.iter().map(|left| left[row].powi(2)).sum();
        let both: f64 = left.iter().zip(&entered).map(|(left, entered)| left[row] * entered[row]).sum();
        if squares > 0.0 {
            slopes.push((squares, both / squares));
            waits.push(mean(&observed.enter_ns, row) - mean(&observed.barrier_exit_ns, row));
            skews.push(left.iter().fold(f64::NAN, |most, left| most.max(left[row])));
        }
    }
    // Where the barrier let them go furthest apart it shows best: elsewhere a slope is noise over next to nothing.
    slopes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut slopes: Vec<f64> = slopes.iter().take((slopes.len() / 4).max(1)).map(|(_, slope)| *slope).collect();
    let (Some(slope), Some(wait), Some(skew)) = (median(&mut slopes), median(&mut waits), median(&mut skews)) else {
        return false;
    };
    // The wait covers what the barrier has left of the difference between the ranks.
    slope < 0.5 && wait > skew
}

fn wait(observed: &Observed) -> Option<f64> {
    let columns = observed.enter_ns.iter().zip(&observed.barrier_exit_ns);
    let waits = columns.flat_map(|(entered, left)| entered.iter().zip(left).map(|(entered, left)| entered - left));
    median(&mut waits.filter(|wait| !wait.is_nan()).collect::<Vec<f64>>())
}

fn apart(observed: &Observed, start_ns: &[f64]) -> Vec<u64> {
    let usual = median(&mut start_ns.to_vec()).unwrap_or(0.0);
    let limit = (LATE * usual).max(LOOK_NS + observed.error_ns.unwrap_or(0.0));
    let numbered = observed.repetition.iter().zip(start_ns);
    numbered.filter(|(_, width)| **width > limit).map(|(number, _)| *number).collect()
}

impl Window {
    fn new(grid: &Grid, observed: &Observed, exit: &[[f64; 2]]) -> Window {
        let limit = (LATE * grid.deviation_ns).max(LOOK_NS + observed.error_ns.unwrap_or(0.0));
        let mut window = Window {
            width_ns: grid.width_ns,
            deviation_ns: grid.deviation_ns,
            expired: Vec::new(),
            passed: Vec::new(),
            unseen: Vec::new(),
        };
        for (row, (&number, &begin)) in observed.repetition.iter().zip(&grid.begin_ns).enumerate() {
            if exit[row][1] > begin + grid.width_ns {
                window.expired.push(number);
            }
            let still_running = |exit: &Vec<f64>| row > 0 && exit[row - 1] > begin;
            let is_late = |enter: &Vec<f64>| enter[row] > begin + limit;
            let passed = observed.exit_ns.iter().any(still_running);
            let unseen = || {
                let mut ranks = observed.exit_ns.iter().zip(&observed.enter_ns);
                ranks.any(|(exit, enter)| is_late(enter) && !still_running(exit))
            };
            if passed {
                window.passed.push(number);
            } else if unseen() {
                window.unseen.push(number);
            }
        }
        window
    }
}
