//! The worlds of a run: ranks that MPI_Comm_spawn starts have an MPI_COMM_WORLD of their own, and leave a trace of
//! their own.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use mpitrace_format::layout::communicator_flags as flags;
use mpitrace_show::output::{self, Output, Style};
use mpitrace_show::progress;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use crate::{open_trace, trace_files};

/// The files of each world in the order in which these began, if the named ones are of several worlds of one run: each
/// has a communicator with ranks of another world, and runs beside an earlier one. `None`: they are of one world, or of
/// runs that do not belong together, which is for the reader to say.
///
/// # Errors
/// A file that is no trace or cannot be read.
pub fn worlds(named: &[PathBuf]) -> Result<Option<Vec<Vec<PathBuf>>>> {
    if named.len() < 2 {
        return Ok(None);
    }
    let groups = trace_files::by_run(trace_files::named(named)?);
    if groups.len() < 2 {
        return Ok(None);
    }
    let mut worlds: Vec<(World, Vec<PathBuf>)> = Vec::new();
    for files in groups {
        let Some(world) = World::of_trace(&open_trace(&files)?) else { return Ok(None) };
        worlds.push((world, files));
    }
    worlds.sort_by_key(|(world, _)| world.began_ns);
    let belongs = |place: usize| {
        let (world, _) = &worlds[place];
        worlds[..place].iter().any(|(earlier, _)| world.began_ns <= earlier.ended_ns && world.job != earlier.job)
    };
    let all = (1..worlds.len()).all(belongs);
    Ok(all.then(|| worlds.into_iter().map(|(_, files)| files).collect()))
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
    /// Writes its page.
    pub write: fn(&T, &mut dyn Write, Style) -> io::Result<()>,
}

impl<T: Serialize> Shown<T> {
    /// Shows each world of a run; true if none has a finding.
    ///
    /// # Errors
    /// A world cannot be read, or the output not be written.
    pub fn show(&self, worlds: &[Vec<PathBuf>], as_json: bool, output: &mut Output) -> Result<bool> {
        let read = || worlds.iter().map(|files| (self.read)(files)).collect::<Result<Vec<T>>>();
        let all = progress::during("reading", read)?;
        if as_json {
            output::json_rows(output, self.form, all.iter().map(Ok))?;
        } else {
            let style = output.style;
            for (place, (shown, files)) in all.iter().zip(worlds).enumerate() {
                let title = title(place, worlds.len(), (self.ranks)(shown), files);
                writeln!(output, "{}{title}", if place > 0 { "\n" } else { "" })?;
                (self.write)(shown, output, style)?;
            }
        }
        Ok(all.iter().all(self.is_well))
    }
}

/// The first line of a world: `World 2 of 2: 4 ranks, app.2.mpitrace`.
fn title(place: usize, worlds: usize, ranks: u32, files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file: &PathBuf| shown(file)).collect();
    let ranks = mpitrace_show::text::count(ranks.into(), "rank");
    format!("World {} of {worlds}: {ranks}, {}", place + 1, names.join(", "))
}

fn shown(file: &Path) -> String {
    mpitrace_show::text::printable(&file.to_string_lossy()).into_owned()
}

/// When a world's ranks began and ended, of the time of day, ns.
struct World {
    job: [u8; 16],
    began_ns: u64,
    ended_ns: u64,
}

impl World {
    /// `None`: no rank of it knows ranks of another world.
    fn of_trace(trace: &Trace) -> Option<World> {
        let meets = trace.parts.iter().any(|part| part.communicators().iter().any(|one| one.flags & flags::INTER != 0));
        let ranks = || trace.parts.iter().map(|part| part.info());
        let began_ns = ranks().map(|rank| rank.first_anchor.realtime_ns).min()?;
        let ended_ns = ranks().map(|rank| rank.last_anchor.realtime_ns).max()?;
        meets.then_some(World { job: trace.parts[0].info().job, began_ns, ended_ns })
    }
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
        assert_eq!(
            of(&["a.2.mpitrace", "a.mpitrace"]),
            Some(vec![vec![path("a.mpitrace")], vec![path("a.2.mpitrace")]])
        );
        assert_eq!(of(&["a.mpitrace"]), None);
        for other in ["later.mpitrace", "alone.mpitrace", "a.mpitrace"] {
            assert_eq!(of(&["a.mpitrace", other]), None, "{other}");
        }
        assert_eq!(title(1, 2, 1, &[PathBuf::from("a.2.mpitrace")]), "World 2 of 2: 1 rank, a.2.mpitrace");
    }
}
