//! The conclusions from many runs: nodes that are slow, and programs that became slower.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_show::date;
use mpitrace_show::text::{count, printable};
use mpitrace_statistics::jobs::{self, NodeOfJob, SlowNode, Slowdown};
use mpitrace_words::summary::percent;

use super::row::RunRow;
use serde::Serialize;

/// A program that became slower: in runs that are alike.
pub struct SlowerProgram {
    pub program: String,
    pub nodes: usize,
    pub ranks: u32,
    pub library: Option<String>,
    pub arguments: Option<String>,
    pub slower: Slower,
}

/// How a program became slower.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slower {
    #[serde(flatten)]
    pub slowdown: Slowdown,
    /// `computing`: its time on the processors outside of MPI, the mean of its ranks; `time`: that of the job alone.
    pub of: &'static str,
    /// The build ids of most runs before and since; `null`: the same, or not known.
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
    for (alike, rows) in groups {
        let Alike { program, ranks, layout, library, .. } = &alike;
        let series = |of: fn(&RunRow) -> f64| -> Vec<(i64, f64)> {
            let began = |row: &&RunRow| Some((date::seconds(row.started.as_deref()?)?, of(row)));
            rows.iter().filter_map(began).filter(|(_, seconds)| *seconds > 0.0).collect()
        };
        let of_kind = |of: &'static str, series: Vec<(i64, f64)>| {
            let slowdown = jobs::slowdown(&series, questions)?;
            let builds = builds(&rows, slowdown.since);
            Some(Slower { slowdown, of, builds })
        };
        let computing = series(|row| row.computing_s.unwrap_or(row.useful_s));
        let slower = of_kind("computing", computing).or_else(|| of_kind("time", series(|row| row.seconds)));
        found.extend(slower.map(|slower| SlowerProgram {
            program: (*program).to_owned(),
            nodes: layout.len(),
            ranks: *ranks,
            library: library.map(str::to_owned),
            arguments: alike.arguments.map(str::to_owned),
            slower,
        }));
    }
    found
}

/// How much longer the program of a run takes or computes than before, if the run began since it does; `None`: it does
/// not.
pub fn slower_by(slower: &[SlowerProgram], row: &RunRow) -> Option<f64> {
    let began = row.started.as_deref().and_then(date::seconds)?;
    let is_of = |found: &&SlowerProgram| {
        Some(&found.program) == row.program.as_ref()
            && (found.ranks, found.nodes) == (row.ranks, row.hosts.len())
            && (&found.library, &found.arguments) == (&row.library, &row.arguments_hash)
            && began >= found.slower.slowdown.since
    };
    slower.iter().find(is_of).map(|found| found.slower.slowdown.share)
}

/// The builds of most runs before this time and of most since, if they are known and differ: the time is that of a run
/// close to the change.
fn builds(rows: &[&RunRow], since: i64) -> Option<[String; 2]> {
    let of_most = |is_since: bool| {
        let began = |row: &RunRow| row.started.as_deref().and_then(date::seconds);
        let side = rows.iter().filter(|row| began(row).is_some_and(|began| (began >= since) == is_since));
        let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
        side.filter_map(|row| row.build_id.as_deref()).for_each(|build| *runs.entry(build).or_default() += 1);
        runs.into_iter().max_by_key(|(_, runs)| *runs).map(|(build, _)| build.to_owned())
    };
    let [before, first] = [of_most(false)?, of_most(true)?];
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
    let libraries = |program: &str| {
        let of_program = rows.iter().filter(|row| row.program.as_deref() == Some(program));
        of_program.filter_map(|row| row.library.as_deref()).collect::<BTreeSet<&str>>().len()
    };
    let program = |found: SlowerProgram| {
        let SlowerProgram { program, nodes, ranks, library, slower: Slower { slowdown, of, builds }, .. } = found;
        let Slowdown { since, share, runs: [before, after], .. } = slowdown;
        let library = library.filter(|_| libraries(&program) > 1);
        let (name, since, share) = (printable(&program).into_owned(), date::text(since), percent(share));
        let library = library.map_or_else(String::new, |library| format!(" and {}", printable(&library)));
        let size = format!("{} on {}{library}", count(ranks.into(), "rank"), count(nodes as u64, "node"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::row::tests::row;

    #[test]
    fn the_builds_of_most_runs_are_named_and_other_runs_are_not_slower() {
        // The division falls one run before the change.
        let run = |number: usize| RunRow {
            started: Some(date::text(1000 * number as i64)),
            build_id: Some(if number < 6 { "old" } else { "new" }.to_owned()),
            ..row()
        };
        let rows: Vec<RunRow> = (0..12).map(run).collect();
        let rows: Vec<&RunRow> = rows.iter().collect();
        let expected = ["old", "new"].map(str::to_owned);
        assert_eq!((builds(&rows, 5000), builds(&rows, 7000)), (Some(expected.clone()), Some(expected)));
        assert_eq!((builds(&rows[..6], 3000), builds(&rows, 0)), (None, None));
    }

    /// On a busy machine ranks are kept from their processors for half of the time, by chance.
    #[test]
    fn time_in_which_something_else_ran_is_none_of_the_program() {
        let mut random = mpitrace_testing::Random::new(3);
        let mut run = |number: usize, library: &str, since: f64| {
            let computing = if number < 20 { 1.0 } else { since };
            let kept = 1.0 + (random.bits() % 1000) as f64 / 500.0;
            RunRow {
                started: Some(date::text(1000 * number as i64)),
                library: Some(library.to_owned()),
                computing_s: Some(computing),
                useful_s: computing * kept,
                seconds: 2.0 * kept,
                ..row()
            }
        };
        let rows: Vec<RunRow> = (0..40).flat_map(|of| [run(of, "A 1", 1.0), run(of, "B 2", 1.2)]).collect();
        let found: Vec<String> = lines(&rows).into_iter().filter(|line| line.contains("longer")).collect();
        let expected = "solver with 4 ranks on 1 node and B 2 computes 20.0 % longer since 1970-01-01T05:33:20Z (20 runs \
                        before, 20 since).";
        assert_eq!(found, [expected]);
    }
}
