//! The conclusions from many runs: nodes that are slow, and programs that became slower.

use std::collections::BTreeMap;

use mpitrace_analysis::jobs::{self, NodeOfJob, SlowNode, Slowdown};
use mpitrace_show::text::{count, printable};
use mpitrace_words::summary::percent;

use super::date;
use super::row::RunRow;

/// A program that became slower, on so many nodes and ranks.
pub struct SlowerProgram {
    pub program: String,
    pub nodes: usize,
    pub ranks: u32,
    pub slowdown: Slowdown,
}

/// Runs of one program on as many ranks and nodes can be compared, if the ranks are shared out in the same way.
type Size<'r> = (&'r str, u32, Vec<(u32, u32)>);

fn by_size(rows: &[RunRow]) -> BTreeMap<Size<'_>, Vec<&RunRow>> {
    let mut groups: BTreeMap<Size, Vec<&RunRow>> = BTreeMap::new();
    // What did not finish took another time and computed something else.
    for row in rows.iter().filter(|row| row.ended == "finished") {
        let layout = row.hosts.iter().map(|host| (host.first_rank, host.ranks)).collect();
        groups.entry((row.program.as_deref().unwrap_or_default(), row.ranks, layout)).or_default().push(row);
    }
    groups
}

/// The nodes that are slow, the slowest first.
pub fn slow_nodes(rows: &[RunRow]) -> Vec<(String, SlowNode)> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut observed: Vec<Vec<NodeOfJob>> = Vec::new();
    let mut positions = 0;
    for ((.., layout), rows) in by_size(rows) {
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

pub fn slower_programs(rows: &[RunRow]) -> Vec<SlowerProgram> {
    let sizes = by_size(rows);
    let questions = sizes.len();
    let mut found = Vec::new();
    for ((program, ranks, layout), rows) in sizes {
        let began = |row: &&RunRow| Some((date::seconds(row.started.as_deref()?)?, row.seconds));
        let runs: Vec<(i64, f64)> = rows.iter().filter_map(began).collect();
        let of = |slowdown| SlowerProgram { program: program.to_owned(), nodes: layout.len(), ranks, slowdown };
        found.extend(jobs::slowdown(&runs, questions).map(of));
    }
    found
}

/// How many programs, by number of ranks and layout, have enough runs to be compared.
fn compared(rows: &[RunRow]) -> usize {
    by_size(rows).values().filter(|rows| rows.len() >= jobs::LEAST_RUNS).count()
}

/// Both in words, a line each.
pub fn lines(rows: &[RunRow]) -> Vec<String> {
    let node = |(name, slow): (String, SlowNode)| {
        let jobs = count(slow.jobs as u64, "job");
        let name = printable(&name).into_owned();
        format!("Node {name} is slow: its ranks compute {} longer, in {jobs}.", share(slow.share, slow.interval))
    };
    let program = |found: SlowerProgram| {
        let SlowerProgram { program, nodes, ranks, slowdown: Slowdown { since, share, runs: [before, after], .. } } =
            found;
        let (name, since, share) = (printable(&program).into_owned(), date::text(since), percent(share));
        let size = format!("{} on {}", count(ranks.into(), "rank"), count(nodes as u64, "node"));
        format!("{name} with {size} takes {share} longer since {since} ({before} runs before, {after} since).")
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
