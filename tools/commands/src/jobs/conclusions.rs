//! The conclusions from many runs: nodes that are slow, and programs that became slower.

use std::collections::BTreeMap;

use mpitrace_analysis::jobs::{self, NodeOfJob, SlowNode, Slowdown};
use mpitrace_show::text::{count, printable};
use mpitrace_words::summary::percent;

use super::date;
use super::row::RunRow;
use serde::Serialize;

/// A program that became slower, on so many nodes and ranks.
pub struct SlowerProgram {
    pub program: String,
    pub nodes: usize,
    pub ranks: u32,
    pub slower: Slower,
}

/// How a program became slower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slower {
    #[serde(flatten)]
    pub slowdown: Slowdown,
    /// `computing`: its time outside of MPI, the mean of its ranks; `time`: that of the job alone.
    pub of: &'static str,
    /// The build id of the last run before and of the first one since; `null`: the same, or not known.
    pub builds: Option<[String; 2]>,
}

/// Runs are alike if the program, its arguments, the number of ranks and how these are shared out, and the MPI library
/// agree.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Alike<'r> {
    program: &'r str,
    ranks: u32,
    layout: Vec<(u32, u32)>,
    arguments: Option<&'r str>,
    library: Option<&'r str>,
}

fn alike(rows: &[RunRow]) -> BTreeMap<Alike<'_>, Vec<&RunRow>> {
    let mut groups: BTreeMap<Alike, Vec<&RunRow>> = BTreeMap::new();
    // What did not finish took another time and computed something else.
    for row in rows.iter().filter(|row| row.ended == "finished") {
        let of = Alike {
            program: row.program.as_deref().unwrap_or_default(),
            ranks: row.ranks,
            layout: row.hosts.iter().map(|host| (host.first_rank, host.ranks)).collect(),
            arguments: row.arguments_hash.as_deref(),
            library: row.library.as_deref(),
        };
        groups.entry(of).or_default().push(row);
    }
    groups
}

/// The nodes that are slow, the slowest first.
pub fn slow_nodes(rows: &[RunRow]) -> Vec<(String, SlowNode)> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut observed: Vec<Vec<NodeOfJob>> = Vec::new();
    let mut positions = 0;
    for (Alike { layout, .. }, rows) in alike(rows) {
        for row in rows {
            let mut nodes = Vec::new();
            for (place, host) in row.hosts.iter().enumerate() {
                let node = *numbers.entry(&host.host).or_insert(names.len());
                if node == names.len() {
                    names.push(&host.host);
                }
                nodes.push(NodeOfJob { node, position: positions + place, seconds: host.useful_s });
            }
            observed.push(nodes);
        }
        positions += layout.len();
    }
    jobs::slow_nodes(&observed).into_iter().map(|slow| (names[slow.node].to_owned(), slow)).collect()
}

/// The programs that compute for longer, or else take longer.
pub fn slower_programs(rows: &[RunRow]) -> Vec<SlowerProgram> {
    let groups = alike(rows);
    // Of each two are asked.
    let questions = 2 * groups.len();
    let mut found = Vec::new();
    for (Alike { program, ranks, layout, .. }, rows) in groups {
        let series = |of: fn(&RunRow) -> f64| -> Vec<(i64, f64)> {
            let began = |row: &&RunRow| Some((date::seconds(row.started.as_deref()?)?, of(row)));
            rows.iter().filter_map(began).filter(|(_, seconds)| *seconds > 0.0).collect()
        };
        let of_kind = |of: &'static str, series: Vec<(i64, f64)>| {
            let slowdown = jobs::slowdown(&series, questions)?;
            let builds = builds(&rows, slowdown.since);
            Some(Slower { slowdown, of, builds })
        };
        let slower =
            of_kind("computing", series(|row| row.useful_s)).or_else(|| of_kind("time", series(|row| row.seconds)));
        found.extend(slower.map(|slower| SlowerProgram {
            program: program.to_owned(),
            nodes: layout.len(),
            ranks,
            slower,
        }));
    }
    found
}

/// How much longer the program of a run takes or computes than before, if the run began since it does; `None`: it does
/// not.
#[cfg(feature = "columns")]
pub fn slower_by(slower: &[SlowerProgram], row: &RunRow) -> Option<f64> {
    let began = row.started.as_deref().and_then(date::seconds)?;
    let is_of = |found: &&SlowerProgram| {
        Some(&found.program) == row.program.as_ref()
            && (found.ranks, found.nodes) == (row.ranks, row.hosts.len())
            && began >= found.slower.slowdown.since
    };
    slower.iter().find(is_of).map(|found| found.slower.slowdown.share)
}

/// The builds of the last run before this time and of the first one since, if they are known and differ.
fn builds(rows: &[&RunRow], since: i64) -> Option<[String; 2]> {
    let began = |row: &&&RunRow| row.started.as_deref().and_then(date::seconds);
    let before = rows.iter().filter(|row| began(row).is_some_and(|began| began < since)).max_by_key(began)?;
    let first = rows.iter().filter(|row| began(row).is_some_and(|began| began >= since)).min_by_key(began)?;
    let [before, first] = [before.build_id.clone()?, first.build_id.clone()?];
    (before != first).then_some([before, first])
}

/// How many programs, by number of ranks and layout, have enough runs to be compared.
fn compared(rows: &[RunRow]) -> usize {
    alike(rows).values().filter(|rows| rows.len() >= jobs::LEAST_RUNS).count()
}

/// Both in words, a line each.
pub fn lines(rows: &[RunRow]) -> Vec<String> {
    let node = |(name, slow): (String, SlowNode)| {
        let jobs = count(slow.jobs as u64, "job");
        let name = printable(&name).into_owned();
        format!("Node {name} is slow: its ranks compute {} longer, in {jobs}.", share(slow.share, slow.interval))
    };
    let program = |found: SlowerProgram| {
        let SlowerProgram { program, nodes, ranks, slower: Slower { slowdown, of, builds } } = found;
        let Slowdown { since, share, runs: [before, after], .. } = slowdown;
        let (name, since, share) = (printable(&program).into_owned(), date::text(since), percent(share));
        let size = format!("{} on {}", count(ranks.into(), "rank"), count(nodes as u64, "node"));
        let takes = if of == "computing" { "computes" } else { "takes" };
        let short = |id: &str| id.chars().take(8).collect::<String>();
        let builds = builds.map_or_else(String::new, |[before, since]| {
            format!(", when its build changed from {} to {}", short(&before), short(&since))
        });
        format!(
            "{name} with {size} {takes} {share} longer since {since} ({before} runs before, {after} since){builds}."
        )
    };
    let (slow, slower) = rayon::join(|| slow_nodes(rows), || slower_programs(rows));
    let many = (slower.len() > 1 && 2 * slower.len() > compared(rows))
        .then(|| "Most programs take longer: look at the machine and its load first.".to_owned());
    let nodes = slow.into_iter().map(node);
    nodes.chain(slower.into_iter().map(program)).chain(many).collect()
}

/// `5.1 % (4.2 % to 6.0 %)`.
pub fn share(share: f64, [low, high]: [f64; 2]) -> String {
    format!("{} ({} to {})", percent(share), percent(low), percent(high))
}
