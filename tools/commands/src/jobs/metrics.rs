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

pub fn write(rows: &[RunRow], output: &mut dyn Write) -> io::Result<()> {
    let mut groups: BTreeMap<[&str; 3], Vec<&RunRow>> = BTreeMap::new();
    for row in rows {
        let key = [&row.program, &row.user, &row.library].map(|text| text.as_deref().unwrap_or_default());
        groups.entry(key).or_default().push(row);
    }
    for (name, unit, help, of) in COUNTERS {
        head(output, name, "counter", unit, help)?;
        for ([program, user, library], rows) in &groups {
            let sum: f64 = rows.iter().map(|row| of(row)).sum();
            let labels = [label("program", program), label("user", user), label("library", library)].join(",");
            writeln!(output, "mpitrace_{name}_total{{{labels}}} {sum}")?;
        }
    }
    head(output, "node_slow_share", "gauge", "", "How much longer the ranks of a slow node compute")?;
    for (node, slow) in conclusions::slow_nodes(rows) {
        writeln!(output, "mpitrace_node_slow_share{{{}}} {}", label("host", &node), slow.share)?;
    }
    head(
        output,
        "program_slower_share",
        "gauge",
        "",
        "How much longer a program that became slower takes or computes",
    )?;
    for found in conclusions::slower_programs(rows) {
        let (program, ranks) = (label("program", &found.program), label("ranks", &found.ranks.to_string()));
        let of = label("of", found.slower.of);
        writeln!(output, "mpitrace_program_slower_share{{{program},{ranks},{of}}} {}", found.slower.slowdown.share)?;
    }
    writeln!(output, "# EOF")
}
