//! The worlds of a run: ranks that MPI_Comm_spawn starts have an MPI_COMM_WORLD of their own, and leave a trace of
//! their own.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use mpitrace_format::layout::communicator_flags as flags;
use mpitrace_show::output::{self, Output, Style};
use mpitrace_show::{progress, text};
use mpitrace_trace::reader::Trace;
use mpitrace_words::summary::Whole;
use serde::Serialize;

use crate::{open_trace, trace_files};

/// A world of a run.
#[derive(Debug, PartialEq)]
pub struct World {
    /// Its trace.
    pub files: Vec<PathBuf>,
    /// When its ranks began and ended, ns of the time of day.
    pub period: [u64; 2],
}

/// The worlds in the order in which they began, if the named files are of several worlds of one run: each has a
/// communicator with ranks of another world, and runs beside an earlier one. `None`: they are of one world, or of runs
/// that do not belong together, which is for the reader to say.
///
/// # Errors
/// A file that is no trace or cannot be read.
pub fn worlds(named: &[PathBuf]) -> Result<Option<Vec<World>>> {
    if named.len() < 2 {
        return Ok(None);
    }
    let groups = trace_files::by_run(trace_files::named(named)?);
    if groups.len() < 2 {
        return Ok(None);
    }
    let mut worlds: Vec<([u8; 16], World)> = Vec::new();
    for files in groups {
        let trace = open_trace(&files)?;
        let Some(period) = period(&trace) else { return Ok(None) };
        worlds.push((trace.parts[0].info().job, World { files, period }));
    }
    worlds.sort_by_key(|(_, world)| world.period[0]);
    let belongs = |place: usize| {
        let (job, world) = &worlds[place];
        worlds[..place].iter().any(|(earlier, beside)| world.period[0] <= beside.period[1] && job != earlier)
    };
    let all = (1..worlds.len()).all(belongs);
    Ok(all.then(|| worlds.into_iter().map(|(_, world)| world).collect()))
}

/// When the ranks of a world began and ended, ns of the time of day. `None`: no rank of it knows ranks of another
/// world.
fn period(trace: &Trace) -> Option<[u64; 2]> {
    let meets = trace.parts.iter().any(|part| part.communicators().iter().any(|one| one.flags & flags::INTER != 0));
    let ranks = || trace.parts.iter().map(|part| part.info());
    let began = ranks().map(|rank| rank.first_anchor.realtime_ns).min()?;
    let ended = ranks().map(|rank| rank.last_anchor.realtime_ns).max()?;
    meets.then_some([began, ended])
}

/// How a command shows a run.
pub struct Shown<T> {
    /// The form of JSON with one of them for each world.
    pub form: &'static str,
    /// Reads the run in these files.
    pub read: fn(&[PathBuf]) -> Result<T>,
    /// The ranks of its world.
    pub ranks: fn(&T) -> u32,
    /// True if there is no finding that the exit code has to say.
    pub is_well: fn(&T) -> bool,
    /// The run as a whole, from its worlds and their periods; `None`: the command says nothing of it.
    pub whole: fn(&[T], &[[u64; 2]]) -> Option<Whole>,
    /// Writes its page.
    pub write: fn(&T, &mut dyn Write, Style) -> io::Result<()>,
}

/// The JSON of the worlds of a run.
#[derive(Serialize)]
struct Rows<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<Whole>,
    rows: &'a [T],
}

impl<T: Serialize> Shown<T> {
    /// Shows the run as a whole and each world of it; true if none has a finding.
    ///
    /// # Errors
    /// A world cannot be read, or the output not be written.
    pub fn show(&self, worlds: &[World], as_json: bool, output: &mut Output) -> Result<bool> {
        let read = || worlds.iter().map(|world| (self.read)(&world.files)).collect::<Result<Vec<T>>>();
        let all = progress::during("reading", read)?;
        let periods: Vec<[u64; 2]> = worlds.iter().map(|world| world.period).collect();
        let whole = (self.whole)(&all, &periods);
        if as_json {
            output::json(output, self.form, &Rows { whole, rows: &all })?;
        } else {
            let style = output.style;
            let lines = whole.map_or_else(Vec::new, |whole| whole.lines());
            for line in lines.iter().flat_map(|line| text::wrapped(line, style.width)) {
                writeln!(output, "{line}")?;
            }
            for (place, (shown, world)) in all.iter().zip(worlds).enumerate() {
                let title = title(place, worlds.len(), (self.ranks)(shown), &world.files);
                writeln!(output, "{}{title}", if place > 0 || !lines.is_empty() { "\n" } else { "" })?;
                (self.write)(shown, output, style)?;
            }
        }
        Ok(all.iter().all(self.is_well))
    }
}

/// The first line of a world: `World 2 of 2: 4 ranks, app.2.mpitrace`.
fn title(place: usize, worlds: usize, ranks: u32, files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file: &PathBuf| shown(file)).collect();
    let ranks = text::count(ranks.into(), "rank");
    format!("World {} of {worlds}: {ranks}, {}", place + 1, names.join(", "))
}

fn shown(file: &Path) -> String {
    text::printable(&file.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    use super::*;

    /// A world of two ranks that ran in these seconds.
    fn world(path: &Path, job: u8, [began, ended]: [u64; 2], meets: bool) {
        let rank = |number| {
            let mut rank = SyntheticRank::new(number, 2);
            rank.header.job = [job; 16];
            rank.header.first_anchor.realtime_ns = 1_000_000_000 * began;
            rank.header.last_anchor.realtime_ns = 1_000_000_000 * ended;
            if meets {
                let parent = rank.communicator(7, 2, number, None);
                rank.flag_communicator(parent, flags::INTER);
            }
            rank
        };
        synthetic::write(path, &[rank(0), rank(1)]).unwrap();
    }

    #[test]
    fn a_spawned_world_belongs_to_the_one_beside_which_it_ran() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        world(&path("a.2.mpitrace"), 1, [10, 90], true);
        world(&path("a.mpitrace"), 2, [3, 100], true);
        world(&path("later.mpitrace"), 3, [101, 150], true);
        world(&path("alone.mpitrace"), 4, [3, 100], false);
        let of = |names: &[&str]| worlds(&names.iter().map(|name| path(name)).collect::<Vec<_>>()).unwrap();
        let world = |name: &str, seconds: [u64; 2]| World {
            files: vec![path(name)],
            period: seconds.map(|second| 1_000_000_000 * second),
        };
        let both = vec![world("a.mpitrace", [3, 100]), world("a.2.mpitrace", [10, 90])];
        assert_eq!(of(&["a.2.mpitrace", "a.mpitrace"]), Some(both));
        assert_eq!(of(&["a.mpitrace"]), None);
        for other in ["later.mpitrace", "alone.mpitrace", "a.mpitrace"] {
            assert_eq!(of(&["a.mpitrace", other]), None, "{other}");
        }
        assert_eq!(title(1, 2, 1, &[PathBuf::from("a.2.mpitrace")]), "World 2 of 2: 1 rank, a.2.mpitrace");
    }
}
