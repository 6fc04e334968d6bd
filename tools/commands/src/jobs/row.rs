//! The row of a run: the numbers that stay of its trace.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use mpitrace_analysis::account::{Account, HowEnded, LossKind, RankPart};
use mpitrace_analysis::run::{Need, Run};
use mpitrace_format::layout::state;
use mpitrace_format::metadata::{self, UNKNOWN};
use mpitrace_live::ProcessEnd;
use mpitrace_show::date;
use mpitrace_trace::reader::Trace;
use mpitrace_words::names::{program, user_name, value_of};
use mpitrace_words::summary::Summary;
use mpitrace_words::summary::facts::LossFacts;
use serde::{Deserialize, Serialize};

const NS: f64 = 1e9;

/// A run, by the keys of the JSON. Times in seconds; waiting and the like are summed over ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    pub file: String,
    /// The number that the batch system gave it.
    pub job: Option<String>,
    pub user: Option<String>,
    pub program: Option<String>,
    pub nodes: usize,
    pub ranks: u32,
    pub started: Option<String>,
    /// The longest time of any rank from MPI_Init to MPI_Finalize.
    pub seconds: f64,
    /// The end of some rank is not known: it ended later.
    #[serde(default)]
    pub seconds_is_bound: bool,
    pub rank_seconds: f64,
    /// That time in hours.
    pub rank_hours: f64,
    /// Between MPI_Init and MPI_Finalize and outside of MPI calls, the mean of all ranks.
    pub useful_s: f64,
    /// That time on the processors: without the time in which something else ran there, or a quota held the rank.
    #[serde(default)]
    pub computing_s: Option<f64>,
    /// The MPI library, its first words.
    pub library: Option<String>,
    /// The program's build id.
    pub build_id: Option<String>,
    /// A number of the command line behind the program: runs with other arguments are not compared.
    pub arguments_hash: Option<String>,
    /// Since the last movement of any rank until the job was ended, summed over ranks.
    #[serde(default)]
    pub hung_s: f64,
    pub mpi_share: f64,
    pub waiting_s: f64,
    pub off_processor_s: f64,
    /// The parallel efficiency; `null`: no rank was outside of MPI.
    pub efficiency: Option<f64>,
    pub largest_loss: Option<LargestLoss>,
    pub ended: String,
    /// In the order of their lowest ranks.
    pub hosts: Vec<Host>,
    /// The number of the run of a file that lacks ranks; other files may have it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LargestLoss {
    pub kind: String,
    pub rank: Option<u32>,
    pub because: Option<String>,
    pub function: Option<String>,
    pub seconds: f64,
    pub share: f64,
    pub gain_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub host: String,
    pub ranks: u32,
    pub first_rank: u32,
    /// Between MPI_Init and MPI_Finalize and outside of MPI calls, the mean of its ranks.
    pub useful_s: f64,
}

impl RunRow {
    /// What it lost most, s over all ranks: that it hung where this is more than the largest of what can be gained.
    pub fn lost_s(&self) -> f64 {
        self.largest_loss.as_ref().map_or(0.0, |loss| loss.seconds).max(self.hung_s)
    }

    /// The row of a trace of one file, or of the files of one run.
    ///
    /// # Errors
    /// A file that is no trace or cannot be read.
    pub fn of_traces<P: AsRef<Path>>(paths: &[P]) -> Result<RunRow> {
        let run = mpitrace_source::open(paths, Need::Losses)?;
        Ok(RunRow::new(paths[0].as_ref(), &run, &Summary::new(&run, "")))
    }

    /// The row of a run whose summary is known.
    pub fn new(path: &Path, run: &Run, summary: &Summary) -> RunRow {
        let (trace, account) = (&run.trace, run.account());
        let known = trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
        // Of a job whose first rank was lost with its node, any rank has the job's number.
        let value = |name: &str| {
            let of_any = || trace.parts.iter().find_map(|part| value_of(&part.metadata(), name));
            value_of(&known, name).or_else(of_any)
        };
        // The tasks of an array have numbers of their own in Slurm.
        let index = value("job_array_index").filter(|_| value("batch_system").as_deref() != Some("Slurm"));
        let job = value("job").map(|job| [Some(job), index].into_iter().flatten().collect::<Vec<_>>());
        let hosts = hosts(trace, account);
        let useful: f64 = hosts.iter().map(|host| f64::from(host.ranks) * host.useful_s).sum();
        let library = value("library").map(|library| name_of_library(&library));
        RunRow {
            file: path.to_string_lossy().into_owned(),
            job: job.map(|words| words.join("_")),
            user: path.metadata().ok().map(|metadata| user_name(metadata.uid())),
            program: value("command").and_then(|command| program(&command)),
            nodes: hosts.len(),
            ranks: trace.world_size,
            started: value_of(&known, "start_time").and_then(|time| date::seconds(&time)).map(date::text),
            seconds: summary.seconds,
            seconds_is_bound: account.ranks.iter().any(|rank| rank.end.how == HowEnded::LastStamp),
            rank_seconds: summary.rank_seconds,
            rank_hours: summary.rank_seconds / 3600.0,
            useful_s: useful / (account.ranks.len().max(1) as f64),
            computing_s: Some((useful - kept_off(account)).max(0.0) / (account.ranks.len().max(1) as f64)),
            library,
            build_id: value("program_build_id").filter(|id| id != UNKNOWN),
            arguments_hash: value("command").and_then(|command| hash_of_arguments(&command)),
            hung_s: summary.parts[RankPart::Hung] / NS,
            // Of the whole time of the job, as the other columns.
            mpi_share: summary.parts.sum_of(&RankPart::MPI) / NS / summary.rank_seconds.max(f64::MIN_POSITIVE),
            waiting_s: summary.calls.waiting / NS,
            // The least where the sum is not known.
            off_processor_s: summary.off_processor_s.unwrap_or(account.rank_parts().sum_of(&RankPart::OFF) / NS),
            efficiency: summary.efficiency.as_ref().map(|efficiency| efficiency.run.parallel),
            largest_loss: summary.losses.iter().find(|loss| loss.found.is_none()).map(LargestLoss::new),
            ended: ended(trace),
            hosts,
            lacking: trace
                .parts
                .first()
                .filter(|_| !trace.missing.is_empty())
                .map(|part| hexadecimal(&part.info().job)),
        }
    }
}

/// `MPICH 5.0.2` of `MPICH Version:      5.0.2` and what follows.
fn name_of_library(text: &str) -> String {
    let first = text.split([',', '\n']).next().unwrap_or_default();
    first.split_whitespace().filter(|word| *word != "Version:").collect::<Vec<_>>().join(" ")
}

/// The time outside of MPI calls in which ranks were kept from their processors, s.
fn kept_off(account: &Account) -> f64 {
    account.rank_parts().sum_of(&[RankPart::Preempted, RankPart::Throttled]) / NS
}

/// FNV-1a of the words behind the program, which stays the same in all versions; `None`: the command line was not
/// recorded.
fn hash_of_arguments(command: &str) -> Option<String> {
    let name = program(command)?;
    let arguments = command.split_once(name.as_str()).map_or("", |(_, behind)| behind);
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    Some(format!("{:016x}", arguments.trim().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix)))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl LargestLoss {
    fn new(facts: &LossFacts) -> LargestLoss {
        LargestLoss {
            kind: facts.loss.kind.name().to_owned(),
            rank: facts.loss.rank,
            because: facts.loss.because.and_then(|because| because.name().map(str::to_owned)),
            function: facts.function.clone(),
            seconds: facts.seconds,
            share: facts.share,
            gain_s: facts.gain.seconds,
        }
    }

    /// The reason: `rank 3 late (preempted)`.
    pub fn reason(&self) -> String {
        let rank = self.rank.map_or_else(String::new, |rank| format!("rank {rank} "));
        let kind = if self.kind == LossKind::LateRank.name() { "late" } else { &self.kind };
        // Keys of JSON are no words.
        let because = self.because.as_ref().map(|because| because.replace(['_', '-'], " "));
        format!("{rank}{}{}", kind.replace(['_', '-'], " "), mpitrace_show::text::in_brackets(because.as_ref()))
    }
}

fn hosts(trace: &Trace, account: &Account) -> Vec<Host> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut hosts: Vec<Host> = Vec::new();
    for (part, rank) in trace.parts.iter().zip(&account.ranks) {
        let name = value_of(&part.metadata(), "host").unwrap_or_else(|| UNKNOWN.to_owned());
        let place = *places.entry(name.clone()).or_insert(hosts.len());
        if place == hosts.len() {
            hosts.push(Host { host: name, ranks: 0, first_rank: rank.rank, useful_s: 0.0 });
        }
        hosts[place].ranks += 1;
        hosts[place].useful_s += rank.useful_ns().max(0.0) / NS;
    }
    hosts.iter_mut().for_each(|host| host.useful_s /= f64::from(host.ranks));
    hosts
}

/// How the run ended: `finished`, `aborted`, how the first rank that was seen to end did so, `killed`, or `incomplete`
/// where only records are missing.
fn ended(trace: &Trace) -> String {
    if trace.complete {
        return "finished".to_owned();
    }
    let in_state =
        |states: &[u32]| trace.parts.iter().any(|part| part.incomplete() && states.contains(&part.info().state));
    if in_state(&[state::ABORTED]) {
        return "aborted".to_owned();
    }
    let ends = trace.parts.iter().filter_map(|part| value_of(&part.metadata(), metadata::ENDED));
    let ends: Vec<String> = ends.collect();
    // Of the others the launcher has killed most.
    let own = ends.iter().find(|end| end.parse::<ProcessEnd>().is_ok_and(|end| !end.is_sent()));
    let running = [state::STARTING, state::RUNNING, state::SESSION, state::FINALIZING];
    match own.or(ends.first()) {
        Some(end) => end.clone(),
        None if in_state(&running) => "killed".to_owned(),
        None => "incomplete".to_owned(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn arguments_are_compared_and_the_folder_of_the_program_is_not() {
        let of = |command: &str| hash_of_arguments(command).unwrap_or_default();
        assert_eq!(of("/home/a/solver -n 3"), of("./solver -n 3"));
        assert_ne!(of("./solver -n 3"), of("./solver -n 4"));
        assert_eq!(hash_of_arguments(""), None);
    }

    pub fn row() -> RunRow {
        RunRow {
            file: "a.mpitrace".into(),
            job: Some("4711".into()),
            user: Some("alice".into()),
            program: Some("solver".into()),
            nodes: 1,
            ranks: 4,
            started: Some("2026-11-22T08:30:00Z".into()),
            seconds: 10.0,
            seconds_is_bound: false,
            rank_seconds: 40.0,
            rank_hours: 40.0 / 3600.0,
            useful_s: 7.5,
            computing_s: None,
            library: Some("Open MPI v4.1.4".into()),
            build_id: None,
            arguments_hash: None,
            hung_s: 0.0,
            mpi_share: 0.25,
            waiting_s: 4.0,
            off_processor_s: 2.0,
            efficiency: Some(0.75),
            largest_loss: None,
            ended: "finished".into(),
            hosts: vec![Host { host: "n1".into(), ranks: 4, first_rank: 0, useful_s: 7.5 }],
            lacking: None,
        }
    }
}
