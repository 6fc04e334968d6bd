//! A run of several worlds as a whole: its ranks' time together, and the world in which most is lost.

use mpitrace_analysis::account::RankParts;
use mpitrace_show::text;
use serde::Serialize;

use super::facts::{LITTLE, LossFacts, Summary};
use super::units::{percent, seconds};
use super::words::SMALL;

const NS: f64 = 1e9;

/// So many parts of the ranks' time are said.
const PARTS: usize = 3;

/// The worlds of a run together. Times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Whole {
    /// The ranks of all worlds.
    pub ranks: u32,
    /// From the first MPI_Init to the last MPI_Finalize of any world, by the time of day.
    pub seconds: f64,
    /// When each world began and ended, from the beginning of the first one.
    pub periods: Vec<[f64; 2]>,
    /// The times of all ranks from MPI_Init to MPI_Finalize together.
    pub rank_seconds: f64,
    /// The sum of the worlds' `running_s`. The shares are of it.
    pub running_s: f64,
    /// The share of the time of all ranks that they spend in MPI.
    pub mpi_share: f64,
    /// The parts of the ranks' time.
    pub parts: RankParts,
    /// The world with the loss whose end would gain most, from 0; `null`: all gains are little of the run's time.
    pub largest: Option<usize>,
    /// That world's loss.
    pub loss: Option<LossFacts>,
    /// True if all worlds timed the calls that can wait.
    #[serde(skip)]
    calls_timed: bool,
    /// What the parts are called.
    #[serde(skip)]
    named: Vec<(f64, &'static str)>,
}

impl Whole {
    /// Of at least one world, with when each began and ended, ns of the time of day.
    pub fn new(worlds: &[Summary], periods: &[[u64; 2]]) -> Whole {
        let began = periods.iter().map(|period| period[0]).min().unwrap_or_default();
        let since = |ns: u64| ns.saturating_sub(began) as f64 / NS;
        let periods: Vec<[f64; 2]> = periods.iter().map(|period| period.map(since)).collect();
        let seconds = periods.iter().map(|period| period[1]).fold(0.0, f64::max);
        let sum = |of: fn(&Summary) -> f64| worlds.iter().map(of).sum::<f64>();
        let running_s = sum(|world| world.running_s);
        let mut parts = RankParts::default();
        worlds.iter().for_each(|world| parts += world.parts);
        let calls_timed = worlds.iter().all(|world| world.calls_timed);
        let in_mpi_s = sum(|world| world.running_s * world.mpi_share.all);
        let gain = |world: &Summary| world.shown.first().map_or(0.0, |loss| loss.gain.likely());
        let largest = (0..worlds.len())
            .max_by(|&one, &other| gain(&worlds[one]).total_cmp(&gain(&worlds[other])))
            .filter(|&world| gain(&worlds[world]) > LITTLE * seconds);
        // A part is called as in the world with most ranks.
        let main = worlds.iter().max_by_key(|world| world.ranks);
        let named = main.map_or_else(Vec::new, |world| world.by_size(&parts));
        Whole {
            ranks: worlds.iter().map(|world| world.ranks).sum(),
            seconds,
            periods,
            rank_seconds: sum(|world| world.rank_seconds),
            running_s,
            mpi_share: in_mpi_s / running_s.max(f64::MIN_POSITIVE),
            parts,
            largest,
            loss: largest.and_then(|world| worlds[world].shown.first().cloned()),
            calls_timed,
            named,
        }
    }

    /// The lines before those of each world.
    pub fn lines(&self) -> Vec<String> {
        let ranks = text::count(self.ranks.into(), "rank");
        let place = if self.calls_timed { "MPI" } else { "MPI, as far as its calls are timed" };
        let mut lines = vec![format!(
            "{} worlds with {ranks} in {}: {} of the ranks' time in {place}.",
            self.periods.len(),
            seconds(self.seconds),
            percent(self.mpi_share)
        )];
        let share = |ns: f64| ns / NS / self.running_s.max(f64::MIN_POSITIVE);
        let parts = self.named.iter().take(PARTS).filter(|(ns, _)| share(*ns) >= SMALL);
        let parts: Vec<String> = parts.map(|(ns, name)| format!("{} {name}", percent(share(*ns)))).collect();
        if !parts.is_empty() {
            lines.push(format!("{}.", parts.join(", ")));
        }
        for (place, [began, ended]) in self.periods.iter().enumerate().skip(1) {
            let period = [*began, *ended].map(seconds);
            lines.push(format!("World {} ran from {} to {} of this time.", place + 1, period[0], period[1]));
        }
        match (self.largest, &self.loss) {
            (Some(world), Some(loss)) => {
                lines.push(format!("Most is lost in world {}: {}", world + 1, loss.line(self.calls_timed)));
            }
            _ => lines.push("Little is to be gained in any of the worlds.".to_owned()),
        }
        lines
    }
}
