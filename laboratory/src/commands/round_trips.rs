//! `mpitrace benchmark round-trips`: how long a message and its answer took, for each pair of ranks.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace_analysis::messages::are_recorded;
use mpitrace_analysis::run::{Need, Run};
use mpitrace_models::{RoundTrip, round_trips};
use mpitrace_show::output::{self, DataSink, Output};
use mpitrace_show::table::{Cell, Table, interval, number, time};
use mpitrace_source::options::TraceInput;
use mpitrace_source::warn_if_incomplete;
use mpitrace_statistics::models::centre;
use mpitrace_statistics::{Sample, modes};
use serde::Serialize;

/// Show the round trips of each pair of ranks as a distribution, from recorded messages (MPITRACE_P2P=records)
///
/// A round trip is a message and the answer of as many bytes, with no other message of either rank in between: from the
/// entry of the send to the exit of the receive of the answer, on one clock.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// Only those that rank A began with rank B
    #[arg(long, value_name = "A,B", value_parser = pair)]
    pair: Option<[u32; 2]>,
    /// Only messages of this size
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,
    /// As CSV: each round trip
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Two ranks.
fn pair(text: &str) -> Result<[u32; 2], String> {
    let ranks = text.split_once(',').and_then(|(one, other)| Some([one.parse().ok()?, other.parse().ok()?]));
    ranks.ok_or_else(|| "expected two ranks separated by a comma".to_owned())
}

/// The round trips of one pair and size; ns.
#[derive(Debug, Serialize)]
struct Distribution {
    /// The rank that began.
    rank: u32,
    /// The other one.
    partner: u32,
    bytes: u64,
    round_trips: usize,
    min_ns: Option<f64>,
    p5_ns: Option<f64>,
    p25_ns: Option<f64>,
    mean_ns: Option<f64>,
    median_ns: Option<f64>,
    median_interval_ns: Option<[f64; 2]>,
    p75_ns: Option<f64>,
    p95_ns: Option<f64>,
    p99_ns: Option<f64>,
    max_ns: Option<f64>,
    /// Where the modes are.
    modes_ns: Vec<f64>,
    /// The median of the time between the other rank's receive and its answer, on its own clock.
    turnaround_ns: Option<f64>,
}

impl Distribution {
    fn new((rank, partner, bytes): (u32, u32, u64), trips: &[RoundTrip]) -> Distribution {
        let ns: Vec<f64> = trips.iter().map(|trip| trip.ns).collect();
        let turnarounds: Vec<f64> = trips.iter().map(|trip| trip.turnaround_ns).collect();
        let sample = Sample::new(&ns);
        let at = |p: f64| sample.quantile(p);
        let median = centre(&ns);
        Distribution {
            rank,
            partner,
            bytes,
            round_trips: ns.len(),
            min_ns: at(0.0),
            p5_ns: at(0.05),
            p25_ns: at(0.25),
            mean_ns: (!ns.is_empty()).then(|| ns.iter().sum::<f64>() / ns.len() as f64),
            median_ns: median.map(|median| median.value),
            median_interval_ns: median.and_then(|median| median.interval),
            p75_ns: at(0.75),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns: at(1.0),
            modes_ns: modes(&ns, &sample).iter().map(|mode| mode.peak).collect(),
            turnaround_ns: centre(&turnarounds).map(|median| median.value),
        }
    }
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let run = arguments.input.open(Need::Messages)?;
    ensure!(are_recorded(&run.trace), "no message calls in this trace: MPITRACE_P2P=records records them");
    warn_if_incomplete(&run.trace);
    let found = wanted(&run, arguments);
    ensure!(!found.is_empty(), "no such round trips: messages with an answer of as many bytes");
    let all = found.iter().map(|(&of, trips)| Distribution::new(of, trips));
    match (arguments.json, arguments.csv) {
        (true, _) => output::json_rows(output, "benchmark-round-trips", all.map(Ok))?,
        (_, true) => write_csv(&found, output.data())?,
        _ => write_table(all, output)?,
    }
    Ok(if run.trace.complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The rank that began, the other one, and the bytes.
type Of = (u32, u32, u64);

fn wanted(run: &Run, arguments: &Arguments) -> BTreeMap<Of, Vec<RoundTrip>> {
    let mut found: BTreeMap<Of, Vec<RoundTrip>> = BTreeMap::new();
    for trip in round_trips(run.messages()) {
        let [rank, partner] = trip.parts.map(|part| run.trace.parts[part].rank());
        let is_wanted = arguments.pair.is_none_or(|pair| pair == [rank, partner]);
        if is_wanted && arguments.bytes.is_none_or(|bytes| bytes == trip.bytes) {
            found.entry((rank, partner, trip.bytes)).or_default().push(trip);
        }
    }
    found
}

fn write_csv(found: &BTreeMap<Of, Vec<RoundTrip>>, output: &mut dyn Write) -> Result<()> {
    writeln!(output, "rank,partner,bytes,at_ns,round_trip_ns,turnaround_ns,both_waited")?;
    for (&(rank, partner, bytes), trips) in found {
        for RoundTrip { at_ns, ns, turnaround_ns, both_waited, .. } in trips {
            writeln!(output, "{rank},{partner},{bytes},{at_ns},{ns},{turnaround_ns},{both_waited}")?;
        }
    }
    Ok(())
}

fn write_table(all: impl Iterator<Item = Distribution>, output: &mut Output) -> Result<()> {
    let mut table = Table::new(&[
        number("rank"),
        number("partner"),
        number("bytes"),
        number("round trips"),
        number("min").spare(2),
        number("p5").spare(5),
        number("p25").spare(3),
        number("mean").spare(10),
        number("median"),
        number("95 %").spare(6),
        number("p75").spare(4),
        number("p95"),
        number("p99").spare(7),
        number("max").spare(1),
        number("modes").spare(8),
        number("turnaround").spare(9),
    ]);
    for one in all {
        let counts =
            [one.rank.to_string(), one.partner.to_string(), one.bytes.to_string(), one.round_trips.to_string()];
        let mut cells: Vec<Cell> = counts.into_iter().map(Cell::from).collect();
        cells.extend([one.min_ns, one.p5_ns, one.p25_ns, one.mean_ns, one.median_ns].map(time));
        cells.push(interval(one.median_interval_ns));
        cells.extend([one.p75_ns, one.p95_ns, one.p99_ns, one.max_ns].map(time));
        cells.push(one.modes_ns.len().to_string().into());
        cells.push(time(one.turnaround_ns));
        table.row(cells);
    }
    let style = output.style;
    Ok(table.write(output, style)?)
}
