//! The end of a job that has left records behind: `run` recovers them at once, and says which rank ended first,
//! how, and where the others were.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mpitrace_analysis::run::Need;
use mpitrace_format::file;
use mpitrace_format::layout::{NO_RANK, state};
use mpitrace_format::live::now;
use mpitrace_format::metadata::{self, Metadata};
use mpitrace_format::recover::{self, Leftover, Recovered};
use mpitrace_job::observer::{End, Observed};
use mpitrace_job::process;
use mpitrace_job::stacks::Namer;
use mpitrace_live::ProcessEnd;
use mpitrace_show::text;
use mpitrace_source::trace_files;
use mpitrace_words::info::Facts;
use mpitrace_words::mismatches;
use mpitrace_words::names::file_here;

use super::traces;
use crate::info::page;
use crate::recover::tell_losses;

/// The processes of a job may end a little later than its launcher.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);
const LISTED: usize = 12;

struct Dead {
    rank: u32,
    segment: PathBuf,
    state: u32,
}

pub struct Ending {
    recovered: Recovered,
    dead: Vec<Dead>,
}

/// Recovers what the job with this number has left in the folders, under the name that its trace would have had, with
/// how its ranks and its launcher ended. Prints why something cannot be recovered.
pub fn recover(run: u32, folders: &[PathBuf], output: Option<&Path>, observed: &Observed, code: u8) -> Vec<Ending> {
    let until = Instant::now() + PATIENCE;
    let mut left = loop {
        let mut left = recover::segments(folders, Some(process::user())).unwrap_or_default();
        left.retain(|segment| segment.run == run);
        if !left.iter().any(|segment| segment.lives) || Instant::now() > until {
            break left;
        }
        std::thread::sleep(PAUSE);
    };
    let living = left.iter().filter(|segment| segment.lives).count();
    if living > 0 {
        let (processes, folder) = (text::count(living as u64, "process"), folder_of(&left));
        eprintln!(
            "mpitrace: {processes} of the job still run; `mpitrace recover {folder} -o FILE` makes a trace when they have ended"
        );
        return Vec::new();
    }
    // The launcher has ended, and all ranks here: so have those on other nodes, of which only this is known.
    let ended = now::nanoseconds(libc::CLOCK_MONOTONIC_RAW);
    let mut namer = Namer::default();
    for segment in &mut left {
        let after = ended.saturating_sub(segment.rank.first_anchor.raw_ns);
        segment.added.push((metadata::JOB_END_NS.to_owned(), after.to_string()));
        let end = observed.ends.iter().find(|end| end.segment == segment.path);
        match end.and_then(|end| end.capture.as_ref()) {
            Some(Ok(capture)) => {
                let stacks = namer.stacks(capture, false).into_iter().flatten().map(|frames| frames.join("\n"));
                segment.added.push((metadata::STACKS.to_owned(), stacks.collect::<Vec<_>>().join("\n\n")));
            }
            Some(Err(why)) => segment.added.push((metadata::NO_STACK.to_owned(), why.text())),
            None => {}
        }
        if let Some(seen) = end.and_then(|end| end.seen) {
            segment.end = Some(seen.anchor);
            segment.added.push((metadata::END_ERROR_NS.to_owned(), seen.late.as_nanos().to_string()));
        }
        if let Some(still) = end.and_then(|end| end.still) {
            let numbers = [Some(still.least), still.most].into_iter().flatten().map(|time| time.as_nanos().to_string());
            segment.added.push((metadata::STILL_NS.to_owned(), numbers.collect::<Vec<_>>().join(" ")));
            let pause = still.longest_pause.as_nanos().to_string();
            segment.added.push((metadata::LONGEST_PAUSE_NS.to_owned(), pause));
            let polled = still.polled.map(|polled| (metadata::POLLED_NS.to_owned(), polled.as_nanos().to_string()));
            segment.added.extend(polled);
        }
        if let Some(how) = end.and_then(|end| end.how) {
            let of_job = (metadata::EXIT_CODE.to_owned(), code.to_string());
            segment.added.extend([(metadata::ENDED.to_owned(), how.to_string()), of_job]);
        }
    }
    let mut endings = Vec::new();
    for job in recover::by_job(left) {
        let path = resolved(output.unwrap_or(Path::new(traces::DEFAULT)), &job);
        let with_ranks = job.iter().filter(|left| left.rank.rank != NO_RANK);
        let dead = |left: &Leftover| Dead { rank: left.rank.rank, segment: left.path.clone(), state: left.rank.state };
        let dead = with_ranks.map(dead).collect();
        match recover::recover_job(&job, &path) {
            Ok(Some(recovered)) => endings.push(Ending { recovered, dead }),
            Ok(None) => eprintln!("mpitrace: the job ended in MPI_Init on this node: there is nothing to recover"),
            Err(error) => eprintln!("mpitrace: {error}; the records are kept in {}", folder_of(&job)),
        }
    }
    endings
}

fn folder_of(left: &[Leftover]) -> String {
    let folder = left.first().and_then(|left| left.path.parent());
    folder.unwrap_or(Path::new(".")).display().to_string()
}

impl Ending {
    pub fn path(&self) -> &Path {
        &self.recovered.path
    }

    /// True if the ranks that have left records were all in MPI_Finalize.
    pub fn is_in_finalize(&self) -> bool {
        self.dead.iter().all(|dead| dead.state == state::FINALIZING)
    }

    /// Says how the job ended, what was recovered, and where the ranks were.
    pub fn say(&self, observed: &Observed) {
        let facts = mpitrace_source::open(&[self.path()], Need::Messages).ok().map(|run| Facts::new(&run));
        let ended = facts.as_ref().and_then(|facts| facts.ended.as_ref());
        if let Some(ended) = ended {
            eprintln!("mpitrace: {}", text::printable(&ended.sentence));
        }
        self.say_recovered();
        if let Some(facts) = &facts {
            self.say_where(facts);
        }
        // The order in which a launcher killed the ranks says nothing.
        let is_said = ended.is_some_and(|ended| ended.first.is_some() || ended.is_cause);
        let by_launcher = facts.as_ref().is_some_and(|facts| facts.ended_by_launcher);
        if let Some(line) = self.first(observed).filter(|_| !is_said && !by_launcher) {
            eprintln!("mpitrace: {line}");
        }
    }

    fn say_recovered(&self) {
        tell_losses(&self.recovered);
        let Recovered { path, ranks, ranks_in_trace, world_size, records, .. } = &self.recovered;
        let (calls, ranks) = (text::count(*records, "call"), text::count((*ranks).into(), "rank"));
        let beside = trace_files::named(std::slice::from_ref(path)).unwrap_or_default();
        let missing = match world_size.saturating_sub(*ranks_in_trace) {
            0 => String::new(),
            _ if beside.len() > 1 => format!(" of {world_size}"),
            _ => format!(" of {world_size} (on other nodes: `mpitrace recover -o {}`)", file_here(path)),
        };
        let others = match beside.get(1) {
            None => String::new(),
            Some(first) => {
                let files = text::count(beside.len() as u64 - 1, "file");
                let more = if beside.len() > 2 { ", ..." } else { "" };
                let first = file_here(first);
                format!("; it is read together with {files} that ranks in MPI_Finalize wrote ({first}{more})")
            }
        };
        eprintln!("mpitrace: {calls} of {ranks}{missing} recovered into {}{others}", file_here(path));
    }

    fn say_where(&self, facts: &Facts) {
        let mut lines = mismatches::lines(&facts.mismatches, facts.mismatched);
        lines.extend(page::problems(facts, page::Verdict::IsSaid));
        lines.iter().take(LISTED).for_each(|line| eprintln!("mpitrace: {line}"));
        if lines.len() > LISTED {
            eprintln!("mpitrace: ... `mpitrace info {}` shows the rest", file_here(self.path()));
        }
    }

    /// Which rank has ended first, and how. Of a job that was aborted the launcher may end the others first: a rank
    /// that ended by itself is named before those that were killed.
    fn first(&self, observed: &Observed) -> Option<String> {
        let aborted = self.dead.iter().filter(|dead| dead.state == state::ABORTED).map(|dead| dead.rank);
        let aborted: Vec<u32> = aborted.collect();
        if !aborted.is_empty() {
            return Some(format!("the job was ended by MPI_Abort on {}", text::named_ranks(&aborted)));
        }
        let of = |end: &End| self.dead.iter().find(|dead| dead.segment == end.segment);
        let ends: Vec<(&Dead, &End)> = observed.ends.iter().filter_map(|end| Some((of(end)?, end))).collect();
        let &(dead, first) = ends.first()?;
        if let Some(line) = by_itself(&ends) {
            return Some(line);
        }
        let here = if self.dead.len() < self.recovered.world_size as usize { " on this node" } else { "" };
        let not_ordered = |end: &End| end.at == first.at && (end.place.is_none() || first.place.is_none());
        let together = 1 + ends[1..].iter().take_while(|(_, end)| not_ordered(end)).count();
        if together > 1 {
            let mut ranks: Vec<u32> = ends[..together].iter().map(|(dead, _)| dead.rank).collect();
            ranks.sort_unstable();
            let mut how: Vec<String> =
                ends[..together].iter().filter_map(|(_, end)| Some(end.how?.to_string())).collect();
            how.sort();
            how.dedup();
            let how = if how.is_empty() { String::new() } else { format!(", {}", how.join(" and ")) };
            let named = text::named_ranks(&ranks);
            return Some(format!("{named} ended first{here}{how}; their order is not known"));
        }
        let how = first.how.map(|how| format!(", {how}")).unwrap_or_default();
        let before = ends.get(1).filter(|(_, next)| next.at > first.at).map(|(_, next)| {
            let earlier = next.at.duration_since(first.at);
            format!("; the next rank ended {} later", text::time(earlier.as_nanos() as f64))
        });
        Some(format!("rank {} ended first{here}{how}{}", dead.rank, before.unwrap_or_default()))
    }
}

/// The first rank that ended by itself, where a rank that was killed is not known to have ended after it.
fn by_itself(ends: &[(&Dead, &End)]) -> Option<String> {
    let own = ends.iter().position(|(_, end)| end.how.is_some_and(|how| !how.is_sent()))?;
    let ((dead, end), (killed, before)) =
        (ends[own], ends.first().filter(|(_, end)| end.how.is_some_and(ProcessEnd::is_sent))?);
    let earlier = end.at.duration_since(before.at);
    let earlier = match earlier.is_zero() {
        true => String::new(),
        false => format!(" {} before it", text::time(earlier.as_nanos() as f64)),
    };
    let [how, killed_how] = [end.how, before.how].map(|how| how.map(|end| end.to_string()).unwrap_or_default());
    Some(format!("rank {} ended by itself, {how}; rank {} was killed{earlier}, {killed_how}", dead.rank, killed.rank))
}

/// The name that the trace of a job would have had: its patterns filled in as the job's lowest rank knows them.
fn resolved(pattern: &Path, job: &[Leftover]) -> PathBuf {
    let lowest = job.iter().filter(|left| left.rank.rank != NO_RANK).min_by_key(|left| left.rank.rank);
    let known: Metadata =
        lowest.and_then(|lowest| metadata::decode(lowest.content().ok()?.metadata)).unwrap_or_default();
    let pid = lowest.map_or(0, |lowest| lowest.rank.pid).to_string();
    file::filled(pattern.as_os_str(), |sign| {
        let value = |name| metadata::get(&known, name).filter(|value| *value != metadata::UNKNOWN).map(str::to_owned);
        let or_0 = |name| Some(value(name).unwrap_or_else(|| "0".to_owned()));
        match sign {
            b'h' => value("host"),
            b'p' => Some(pid.clone()),
            b'j' => Some(value("job").unwrap_or_else(|| pid.clone())),
            b's' => or_0("job_step"),
            b'a' => or_0("job_array_index"),
            b'r' => or_0("job_restarts"),
            // 2026-11-22T09:30:00+0000
            b't' => value("start_time").map(|time| {
                let digits: String = time.chars().filter(char::is_ascii_digit).collect();
                format!("{}-{}", digits.get(..8).unwrap_or_default(), digits.get(8..14).unwrap_or_default())
            }),
            b'd' => value("start_time").map(|time| time.chars().filter(char::is_ascii_digit).take(8).collect()),
            b'u' => Some(user()),
            b'x' => {
                let command = value("command")?;
                Some(Path::new(command.split(' ').next()?).file_name()?.to_string_lossy().into_owned())
            }
            b'%' => Some("%".to_owned()),
            _ => None,
        }
    })
}

/// The user, who is that of the ranks too: as their library has it.
fn user() -> String {
    let set = ["LOGNAME", "USER"].into_iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    set.filter(|name| !name.starts_with('.')).unwrap_or_else(|| process::user().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::ffi::c_int;

    #[test]
    fn the_first_rank_to_end_is_named_with_how_and_how_long_before_the_next() {
        let (first, at) = (PathBuf::from("b"), Instant::now());
        let ending = |world_size, state| Ending {
            recovered: Recovered {
                path: "x".into(),
                ranks: 2,
                ranks_in_trace: 2,
                world_size,
                records: 0,
                damaged: Vec::new(),
                missing: Vec::new(),
            },
            dead: vec![
                Dead { rank: 0, segment: "a".into(), state: state::RUNNING },
                Dead { rank: 1, segment: first.clone(), state },
            ],
        };
        let end = |segment: &str, after: u64, how| End {
            segment: segment.into(),
            at: at + Duration::from_millis(after),
            place: None,
            how,
            seen: None,
            still: None,
            capture: None,
        };
        let observed = |ends| Observed { began: true, ends, sampling: None };
        let ends = || vec![end("other", 0, None), end("b", 1, Some(ProcessEnd::Signal(9))), end("a", 251, None)];
        let said = ending(2, state::RUNNING).first(&observed(ends()));
        assert_eq!(said.unwrap(), "rank 1 ended first, signal 9 (SIGKILL); the next rank ended 250 ms later");
        // Seen at one moment: a busy machine may have kept the observer from its processor.
        let together = |[one, other]: [c_int; 2]| {
            let ends = vec![end("a", 1, Some(ProcessEnd::Signal(one))), end("b", 1, Some(ProcessEnd::Signal(other)))];
            ending(2, state::RUNNING).first(&observed(ends)).unwrap()
        };
        assert_eq!(
            together([9, 15]),
            "ranks 0-1 ended first, signal 15 (SIGTERM) and signal 9 (SIGKILL); their order is not known"
        );
        assert_eq!(
            together([9, 11]),
            "rank 1 ended by itself, signal 11 (SIGSEGV); rank 0 was killed, signal 9 (SIGKILL)"
        );
        // The launcher has killed the others before the one that aborts the job has ended.
        let aborts = vec![end("a", 1, Some(ProcessEnd::Signal(9))), end("b", 5, Some(ProcessEnd::Code(15)))];
        let said = ending(2, state::RUNNING).first(&observed(aborts)).unwrap();
        assert_eq!(
            said,
            "rank 1 ended by itself, exit code 15; rank 0 was killed 4.00 ms before it, signal 9 (SIGKILL)"
        );
        // The launcher kills the others after the rank has ended.
        let ends = vec![end("b", 1, Some(ProcessEnd::Code(15))), end("a", 5, Some(ProcessEnd::Signal(9)))];
        let said = ending(2, state::RUNNING).first(&observed(ends)).unwrap();
        assert_eq!(said, "rank 1 ended first, exit code 15; the next rank ended 4.00 ms later");
        // Seen at one moment, in the order in which their segments were closed.
        let placed = |segment: &str, place| End { place: Some(place), ..end(segment, 1, Some(ProcessEnd::Signal(9))) };
        let said = ending(2, state::RUNNING).first(&observed(vec![placed("b", 4), placed("a", 5)]));
        assert_eq!(said.unwrap(), "rank 1 ended first, signal 9 (SIGKILL)");
        let said = ending(3, state::ABORTED).first(&observed(vec![end("b", 0, None)]));
        assert_eq!(said.unwrap(), "the job was ended by MPI_Abort on rank 1");
        let said = ending(3, state::RUNNING).first(&observed(vec![end("b", 0, None)]));
        assert_eq!(said.unwrap(), "rank 1 ended first on this node");
        assert_eq!(ending(2, state::RUNNING).first(&observed(Vec::new())), None);
    }
}
