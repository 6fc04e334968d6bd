//! The rows of runs, summed by node, program, user or week.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::ValueEnum;
use mpitrace_show::date;
use mpitrace_show::output::Output;
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_statistics::jobs::SlowNode;
use mpitrace_words::summary::percent;
use serde::Serialize;

use super::conclusions::{self, Slower};
use super::row::RunRow;

/// The subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Node,
    Program,
    User,
    /// From Monday on
    Week,
}

/// The runs of a node, a program, a user or a week. Times summed over ranks; of a node its ranks' share of each run's.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Group {
    pub name: String,
    pub jobs: u64,
    pub unfinished: u64,
    pub rank_seconds: f64,
    pub mpi_share: f64,
    pub waiting_s: f64,
    pub off_processor_s: f64,
    /// The mean by ranks' time.
    pub efficiency: Option<f64>,
    /// Their largest losses together.
    pub losses_s: f64,
    /// The node's ranks compute for longer than the same ranks on other nodes, beyond chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow: Option<SlowNode>,
    /// The program became slower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower: Option<Slower>,
    /// The ranks' time of the runs whose efficiency is known.
    #[serde(skip)]
    known_s: f64,
}

impl Group {
    fn add(&mut self, row: &RunRow, weight: f64) {
        let time = weight * row.rank_seconds;
        self.jobs += 1;
        self.unfinished += u64::from(row.ended != "finished");
        self.rank_seconds += time;
        // Of all runs together, until the sums are known.
        self.mpi_share += time * row.mpi_share;
        self.waiting_s += weight * row.waiting_s;
        self.off_processor_s += weight * row.off_processor_s;
        if let Some(efficiency) = row.efficiency {
            *self.efficiency.get_or_insert(0.0) += time * efficiency;
            self.known_s += time;
        }
        self.losses_s += weight * row.largest_loss.as_ref().map_or(0.0, |loss| loss.seconds);
    }
}

pub fn groups(rows: &[RunRow], by: By) -> Vec<Group> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let unknown = || "unknown".to_owned();
    for row in rows {
        let name = match by {
            By::Node => {
                for host in &row.hosts {
                    let weight = f64::from(host.ranks) / f64::from(row.ranks.max(1));
                    groups.entry(host.host.clone()).or_default().add(row, weight);
                }
                continue;
            }
            By::Program => row.program.clone(),
            By::User => row.user.clone(),
            By::Week => row.started.as_deref().and_then(date::seconds).map(date::monday),
        };
        groups.entry(name.unwrap_or_else(unknown)).or_default().add(row, 1.0);
    }
    for (name, group) in &mut groups {
        group.name.clone_from(name);
        group.mpi_share /= group.rank_seconds.max(f64::MIN_POSITIVE);
        group.efficiency = group.efficiency.map(|sum| sum / group.known_s.max(f64::MIN_POSITIVE));
    }
    let nodes = if by == By::Node { conclusions::slow_nodes(rows) } else { Vec::new() };
    for (name, slow) in nodes {
        groups.entry(name).or_default().slow = Some(slow);
    }
    let programs = if by == By::Program { conclusions::slower_programs(rows) } else { Vec::new() };
    for found in programs {
        let slower = &mut groups.entry(found.program).or_default().slower;
        // Of several sizes the one that is the surest.
        if slower.as_ref().is_none_or(|other| found.slower.slowdown.p < other.slowdown.p) {
            *slower = Some(found.slower);
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    // Weeks by date; of others the ones that cost most come last.
    if by != By::Week {
        groups.sort_by(|one, other| one.rank_seconds.total_cmp(&other.rank_seconds));
    }
    groups
}

pub fn write(groups: &[Group], by: By, output: &mut Output) -> Result<()> {
    let name = match by {
        By::Node => "node",
        By::Program => "program",
        By::User => "user",
        By::Week => "week of",
    };
    let titles =
        ["jobs", "unfinished", "rank hours", "in MPI", "waiting", "off processor", "efficiency", "largest losses"];
    let columns = [text(name)].into_iter().chain(titles.map(number)).chain([text("slower").optional()]);
    let mut table = Table::new(&columns.collect::<Vec<_>>());
    for group in groups {
        let share = |part: f64| percent(part / group.rank_seconds.max(f64::MIN_POSITIVE));
        let slower = match (&group.slow, &group.slower) {
            (Some(slow), _) => format!("by {}", conclusions::share(slow.share, slow.interval)),
            (_, Some(slower)) => {
                format!("by {} since {}", percent(slower.slowdown.share), date::text(slower.slowdown.since))
            }
            _ => String::new(),
        };
        table.row(vec![
            text::printable(&group.name).into_owned(),
            group.jobs.to_string(),
            group.unfinished.to_string(),
            text::number(group.rank_seconds / 3600.0),
            percent(group.mpi_share),
            share(group.waiting_s),
            share(group.off_processor_s),
            group.efficiency.map_or_else(String::new, percent),
            share(group.losses_s),
            slower,
        ]);
    }
    let style = output.style;
    Ok(table.write(output, style)?)
}
