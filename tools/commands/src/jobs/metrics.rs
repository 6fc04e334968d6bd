//! The rows as OpenMetrics text, for the folder of node_exporter's textfile collector: sums by program and user in base
//! units, since Prometheus computes rates of sums itself and a label for each job would fill its memory.

use mpitrace_show::openmetrics::{head, label};

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::conclusions;
use super::row::RunRow;

/// A metric: its name without `mpitrace_`, its unit, its help, and its value of a run.
type Metric = (&'static str, &'static str, &'static str, fn(&RunRow) -> f64);

/// Counters: each grows with every run.
const COUNTERS: [Metric; 7] = [
    ("jobs", "", "Traced runs", |_| 1.0),
    ("jobs_unfinished", "", "Traced runs that did not finish", |row| f64::from(u8::from(row.ended != "finished"))),
    ("rank_seconds", "seconds", "Traced time, over all ranks", |row| row.rank_seconds),
    ("mpi_seconds", "seconds", "Time in MPI calls, over all ranks", |row| row.mpi_share * row.rank_seconds),
    ("waiting_seconds", "seconds", "Waiting for other ranks in collective calls, over all ranks", |row| row.waiting_s),
    ("off_processor_seconds", "seconds", "Time off the processor, over all ranks", |row| row.off_processor_s),
    ("loss_seconds", "seconds", "The largest loss of each run, over all ranks", |row| {
        row.largest_loss.as_ref().map_or(0.0, |loss| loss.seconds)
    }),
];

/// Counters of a node: of each run its ranks' share.
const OF_NODES: [Metric; 2] = [
    ("node_jobs", "", "Traced runs with ranks on the node", |_| 1.0),
    ("node_rank_seconds", "seconds", "Traced time of the ranks on the node", |row| row.rank_seconds),
];

pub fn write(rows: &[RunRow], output: &mut dyn Write) -> io::Result<()> {
    let mut groups: BTreeMap<[&str; 3], Vec<&RunRow>> = BTreeMap::new();
    let mut nodes: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for row in rows {
        let key = [&row.program, &row.user, &row.library].map(|text| text.as_deref().unwrap_or_default());
        groups.entry(key).or_default().push(row);
        for host in &row.hosts {
            let [jobs, seconds] = nodes.entry(&host.host).or_default();
            *jobs += OF_NODES[0].3(row);
            *seconds += OF_NODES[1].3(row) * f64::from(host.ranks) / f64::from(row.ranks.max(1));
        }
    }
    for (name, unit, help, of) in COUNTERS {
        head(output, name, "counter", unit, help)?;
        for ([program, user, library], rows) in &groups {
            let sum: f64 = rows.iter().map(|row| of(row)).sum();
            let labels = [label("program", program), label("user", user), label("library", library)].join(",");
            writeln!(output, "mpitrace_{name}_total{{{labels}}} {sum}")?;
        }
    }
    for (place, (name, unit, help, _)) in OF_NODES.into_iter().enumerate() {
        head(output, name, "counter", unit, help)?;
        for (host, sums) in &nodes {
            writeln!(output, "mpitrace_{name}_total{{{}}} {}", label("host", host), sums[place])?;
        }
    }
    head(output, "node_slow_share", "gauge", "", "How much longer the ranks of a slow node compute")?;
    for (node, slow) in conclusions::slow_nodes(rows) {
        writeln!(output, "mpitrace_node_slow_share{{{}}} {}", label("host", &node), slow.share)?;
    }
    let help = "How much longer a program that became slower takes or computes";
    head(output, "program_slower_share", "gauge", "", help)?;
    for (labels, share) in slower(rows) {
        writeln!(output, "mpitrace_program_slower_share{{{labels}}} {share}")?;
    }
    writeln!(output, "# EOF")
}

/// The programs that became slower, by their labels: of those that differ in the layout of their ranks alone the one
/// that became slowest, since no two samples may have the same labels.
fn slower(rows: &[RunRow]) -> BTreeMap<String, f64> {
    let mut samples: BTreeMap<String, f64> = BTreeMap::new();
    for found in conclusions::slower_programs(rows) {
        let [before, since] = found.slower.builds.unwrap_or_default();
        let texts = [
            ("program", found.program.as_str()),
            ("library", found.library.as_deref().unwrap_or_default()),
            ("ranks", &found.ranks.to_string()),
            ("nodes", &found.nodes.to_string()),
            ("arguments", found.arguments.as_deref().unwrap_or_default()),
            ("of", found.slower.of),
            ("build_before", &before),
            ("build", &since),
        ]
        .map(|(name, value)| label(name, value));
        let share = samples.entry(texts.join(",")).or_insert(found.slower.slowdown.share);
        *share = share.max(found.slower.slowdown.share);
    }
    samples
}
