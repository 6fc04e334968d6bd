//! `mpitrace benchmark models`: the models of Hockney and LogGP, fitted to messages and collective operations.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use mpitrace_analysis::messages::are_recorded;
use mpitrace_commands::exit_code;
use mpitrace_models::{self as models, FEWEST_TIMES, MessageModels, Name, Parameter, Way};
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Cell, Table, interval, number, text, time};
use mpitrace_show::text;
use mpitrace_source::Source;
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_statistics::models::{Estimate, FEWEST_SIZES, Off, OneSize, Piece, centre, pieces};
use serde::Serialize;

use super::share;
use crate::by_size::{self, Alike, GoodTimes};

/// Fit the models of Hockney and LogGP to messages and collective operations of several sizes
///
/// Hockney's T(m) = alpha + beta m goes through the medians of the sizes, with relative residuals; L, o_s, o_r, g and G
/// are found as far as recorded messages (MPITRACE_P2P=records) tell them. Intervals are of 95 %.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    rule: RuleOption,
    /// Say where a size is off the line by more than this share; a line that is may be replaced by two or three
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    off: f64,
    /// Also show each size
    #[arg(long)]
    sizes: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Shows them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    source.check(None, arguments.time.time)?;
    source.warn(arguments.time.time);
    let facts = Facts::new(&source, arguments)?;
    let is_nothing = facts.messages.is_empty() && facts.collectives.is_empty();
    ensure!(!is_nothing, "no messages and no collective operations whose size is known");
    if arguments.json {
        output::json(output, "benchmark-models", &facts)?;
    } else {
        facts.write(arguments, output)?;
    }
    Ok(exit_code(&source))
}

#[derive(Debug, Serialize)]
struct Facts {
    /// Of messages, by where their ranks are.
    messages: Vec<MessageFacts>,
    /// Why there are none.
    messages_reason: Option<&'static str>,
    /// Of blocking collective operations.
    collectives: Vec<CollectiveFacts>,
}

#[derive(Debug, Serialize)]
struct MessageFacts {
    /// `one-node`, `two-nodes` or `unknown`.
    way: &'static str,
    /// `round-trips` (halves of them) or `messages` (by global time).
    times_of: &'static str,
    pairs: usize,
    #[serde(flatten)]
    fitted: Fitted,
    loggp: Vec<ParameterFacts>,
}

#[derive(Debug, Serialize)]
struct CollectiveFacts {
    #[serde(flatten)]
    alike: Alike,
    #[serde(flatten)]
    fitted: Fitted,
}

/// Sizes, and the lines through them.
#[derive(Debug, Serialize)]
struct Fitted {
    /// One, or where that is off several: by size.
    lines: Vec<LineFacts>,
    /// Why there is none.
    reason: Option<String>,
    sizes: Vec<SizeFacts>,
    /// Where the line is off.
    off: Vec<Off>,
}

#[derive(Debug, Serialize)]
struct LineFacts {
    /// The least size, and the largest one.
    from_bytes: u64,
    to_bytes: u64,
    sizes: usize,
    alpha_ns: f64,
    alpha_interval_ns: Option<[f64; 2]>,
    beta_ns_per_byte: f64,
    beta_interval_ns_per_byte: Option<[f64; 2]>,
    bandwidth_gb_s: Option<f64>,
    bandwidth_interval_gb_s: Option<[f64; 2]>,
    /// The largest residual by its amount.
    largest_residual: f64,
}

#[derive(Debug, Serialize)]
struct SizeFacts {
    bytes: u64,
    times: usize,
    median_ns: f64,
    median_interval_ns: Option<[f64; 2]>,
    line_ns: Option<f64>,
    residual: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ParameterFacts {
    name: &'static str,
    unit: &'static str,
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    /// Bytes of the messages that it is from; `None`: of all sizes.
    bytes: Option<u64>,
    /// Calls, bursts or messages that tell it.
    times: usize,
    /// Why it has no value.
    reason: Option<&'static str>,
}

impl Facts {
    fn new(source: &Source, arguments: &Arguments) -> Result<Facts> {
        let (mut messages, mut messages_reason) = (Vec::new(), None);
        match source.traced().map(|traced| &traced.run) {
            None => messages_reason = Some("the files are no traces"),
            Some(run) if !are_recorded(&run.trace) => {
                messages_reason = Some("no message calls in this trace: MPITRACE_P2P=records records them");
            }
            Some(run) if !run.clock.is_synchronised() => messages_reason = Some("the clocks are not synchronised"),
            Some(run) => {
                let found = models::of_messages(&run.trace, &run.clock, run.messages(), arguments.off);
                messages.extend(found.into_iter().map(|found| MessageFacts::new(found, arguments.off)));
                if messages.is_empty() {
                    messages_reason = Some("no size has five messages whose receiver waited for them");
                }
            }
        }
        let operations = by_size::operations(source, arguments.time.time, arguments.rule.rule)?;
        let collective = |(alike, times): (Alike, GoodTimes)| CollectiveFacts {
            fitted: Fitted::of_times(&times, arguments.off),
            alike,
        };
        // Where no size has bytes, as of MPI_Barrier, there is no line to ask for.
        let have_bytes = operations.into_iter().filter(|(_, times)| times.keys().any(|&bytes| bytes > 0));
        Ok(Facts { messages, messages_reason, collectives: have_bytes.map(collective).collect() })
    }

    fn write(&self, arguments: &Arguments, output: &mut Output) -> Result<()> {
        let style = output.style;
        let mut table = Table::new(&[
            text("T(m) = alpha + beta m"),
            number("ranks").spare(2).optional(),
            number("bytes"),
            number("sizes").spare(1),
            number("alpha"),
            number("95 %"),
            number("beta, ns/byte"),
            number("95 %").spare(4),
            number("GB/s"),
            number("95 %").spare(3),
            number("largest residual"),
        ]);
        for (what, ranks, fitted) in self.all() {
            for (place, line) in fitted.lines.iter().enumerate() {
                let (what, ranks) = if place == 0 { (what.clone(), ranks) } else { (String::new(), None) };
                table.row(line.cells(what, ranks));
            }
        }
        if self.all().any(|(_, _, fitted)| !fitted.lines.is_empty()) {
            table.write(output, style)?;
        }
        for (what, _, fitted) in self.all() {
            fitted.write_off(&what, output)?;
        }
        for (what, _, fitted) in self.all() {
            if let Some(reason) = &fitted.reason {
                writeln!(output, "{what}: no line: {reason}")?;
            }
        }
        if arguments.sizes {
            for (what, _, fitted) in self.all() {
                writeln!(output, "\n{what}")?;
                fitted.write_sizes(output)?;
            }
        }
        if let Some(reason) = self.messages_reason {
            writeln!(output, "messages: {reason}")?;
        }
        for messages in &self.messages {
            writeln!(output)?;
            messages.write(output)?;
        }
        Ok(())
    }

    /// Each line: what it is of, and of how many ranks.
    fn all(&self) -> impl Iterator<Item = (String, Option<u32>, &Fitted)> {
        let messages = self.messages.iter().map(|one| (one.what(), None, &one.fitted));
        let collectives = self.collectives.iter().map(|one| (what(&one.alike), Some(one.alike.ranks), &one.fitted));
        messages.chain(collectives)
    }
}

/// `MPI_Reduce (MPI_DOUBLE, MPI_SUM, root 0), rows`.
fn what(alike: &Alike) -> String {
    let root = alike.root.map(|root| format!("root {root}"));
    let facts: Vec<&str> =
        [&alike.datatype, &alike.reduction, &root].into_iter().flatten().map(String::as_str).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    let communicator = match alike.communicator.as_str() {
        "MPI_COMM_WORLD" => String::new(),
        other => format!(", {other}"),
    };
    text::printable(&format!("{}{facts}{communicator}", alike.function)).into_owned()
}

impl Fitted {
    fn of_times(times: &GoodTimes, limit: f64) -> Fitted {
        let enough = times.iter().filter(|(_, ns)| ns.len() >= FEWEST_TIMES);
        let one = |(&bytes, ns): (&u64, &Vec<f64>)| Some(OneSize { bytes, times: ns.len(), median_ns: centre(ns)? });
        let sizes: Vec<OneSize> = enough.filter_map(one).collect();
        Fitted::new(&sizes, &pieces(&sizes, limit), limit)
    }

    fn new(sizes: &[OneSize], pieces: &[Piece], limit: f64) -> Fitted {
        let reason = match pieces {
            [_, ..] => None,
            [] if sizes.len() < FEWEST_SIZES => Some(format!(
                "{} with {FEWEST_TIMES} times or more, and it needs {FEWEST_SIZES}",
                text::count(sizes.len() as u64, "size")
            )),
            [] => Some("a size has a median of 0".to_owned()),
        };
        let residuals = || pieces.iter().flat_map(|piece| piece.line.residuals.iter().copied()).map(Some);
        let size = |(size, residual): (&OneSize, Option<f64>)| SizeFacts {
            bytes: size.bytes,
            times: size.times,
            median_ns: size.median_ns.value,
            median_interval_ns: size.median_ns.interval,
            line_ns: residual.map(|residual| size.median_ns.value / (1.0 + residual)),
            residual,
        };
        let line = |piece: &Piece| LineFacts::new(piece, &sizes[piece.sizes.clone()]);
        let off = |piece: &Piece| piece.line.off(&sizes[piece.sizes.clone()], limit);
        Fitted {
            lines: pieces.iter().map(line).collect(),
            reason,
            off: pieces.iter().flat_map(off).collect(),
            sizes: sizes.iter().zip(residuals().chain(std::iter::repeat(None))).map(size).collect(),
        }
    }

    fn write_off(&self, what: &str, output: &mut dyn Write) -> Result<()> {
        let one = |Off { from_bytes, to_bytes, residual }: &Off| {
            let range = if from_bytes == to_bytes { String::new() } else { format!("{from_bytes} to ") };
            let (most, side) = (100.0 * residual.abs(), if *residual > 0.0 { "above" } else { "below" });
            format!("{range}{} {most:.0} % {side}", text::count(*to_bytes, "byte"))
        };
        if !self.off.is_empty() {
            let ranges: Vec<String> = self.off.iter().map(one).collect();
            writeln!(output, "off the line, {what}: {}", ranges.join(", "))?;
        }
        Ok(())
    }

    fn write_sizes(&self, output: &mut Output) -> Result<()> {
        let mut table = Table::new(&[
            number("bytes"),
            number("times"),
            number("median"),
            number("95 %"),
            number("line"),
            number("residual"),
        ]);
        for size in &self.sizes {
            table.row(vec![
                Cell::from(size.bytes.to_string()),
                size.times.to_string().into(),
                text::time(size.median_ns).into(),
                size.median_interval_ns.map(|ends| ends.map(text::time).join(" to ")).unwrap_or_default().into(),
                size.line_ns.map(text::time).unwrap_or_default().into(),
                size.residual.map(percent).unwrap_or_default().into(),
            ]);
        }
        let style = output.style;
        Ok(table.write(output, style)?)
    }
}

/// A share with its sign.
fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

fn ends(interval: Option<[f64; 2]>) -> Cell {
    interval.map(|ends| ends.map(text::number).join(" to ")).unwrap_or_default().into()
}

impl LineFacts {
    fn new(Piece { line, .. }: &Piece, sizes: &[OneSize]) -> LineFacts {
        let bandwidth = line.bandwidth_gb_s();
        let largest = line.residuals.iter().copied().max_by(|one, other| one.abs().total_cmp(&other.abs()));
        let bytes = |size: Option<&OneSize>| size.map_or(0, |size| size.bytes);
        LineFacts {
            from_bytes: bytes(sizes.first()),
            to_bytes: bytes(sizes.last()),
            sizes: sizes.len(),
            alpha_ns: line.alpha_ns.value,
            alpha_interval_ns: line.alpha_ns.interval,
            beta_ns_per_byte: line.beta_ns_per_byte.value,
            beta_interval_ns_per_byte: line.beta_ns_per_byte.interval,
            bandwidth_gb_s: bandwidth.map(|bandwidth| bandwidth.value),
            bandwidth_interval_gb_s: bandwidth.and_then(|bandwidth| bandwidth.interval),
            largest_residual: largest.unwrap_or_default(),
        }
    }

    fn cells(&self, what: String, ranks: Option<u32>) -> Vec<Cell> {
        vec![
            what.into(),
            text::optional(ranks).into(),
            format!("{} to {}", self.from_bytes, self.to_bytes).into(),
            self.sizes.to_string().into(),
            time(self.alpha_ns),
            interval(self.alpha_interval_ns),
            text::number(self.beta_ns_per_byte).into(),
            ends(self.beta_interval_ns_per_byte),
            self.bandwidth_gb_s.map(text::number).unwrap_or_default().into(),
            ends(self.bandwidth_interval_gb_s),
            percent(self.largest_residual).into(),
        ]
    }
}

impl MessageFacts {
    fn new(found: MessageModels, limit: f64) -> MessageFacts {
        MessageFacts {
            way: match found.way {
                Way::OneNode => "one-node",
                Way::TwoNodes => "two-nodes",
                Way::Unknown => "unknown",
            },
            times_of: if found.is_of_round_trips { "round-trips" } else { "messages" },
            pairs: found.pairs,
            fitted: Fitted::new(&found.sizes, &found.pieces, limit),
            loggp: found.parameters.iter().map(ParameterFacts::new).collect(),
        }
    }

    fn what(&self) -> String {
        let way = match self.way {
            "one-node" => " on one node",
            "two-nodes" => " between nodes",
            _ => "",
        };
        format!("messages{way}")
    }

    fn write(&self, output: &mut Output) -> Result<()> {
        let how = match self.times_of {
            "round-trips" => "halves of round trips",
            _ => "single messages, by global time",
        };
        writeln!(output, "LogGP, {} ({how}, {} of ranks)", self.what(), text::count(self.pairs as u64, "pair"))?;
        let mut table =
            Table::new(&[text("parameter"), number("value"), number("95 %"), number("bytes"), number("from")]);
        for one in &self.loggp {
            let Some(value) = one.value else { continue };
            table.row(vec![
                one.name.to_owned(),
                format!("{} {}", text::number(value), one.unit),
                one.interval.map(|ends| ends.map(text::number).join(" to ")).unwrap_or_default(),
                text::optional(one.bytes),
                one.times.to_string(),
            ]);
        }
        if self.loggp.iter().any(|one| one.value.is_some()) {
            let style = output.style;
            table.write(output, style)?;
        }
        for one in &self.loggp {
            if let Some(reason) = one.reason {
                writeln!(output, "{}: not known: {reason}", one.name)?;
            }
        }
        Ok(())
    }
}

impl ParameterFacts {
    fn new(parameter: &Parameter) -> ParameterFacts {
        let value: Option<&Estimate> = parameter.value.as_ref().ok();
        let (name, unit) = match parameter.name {
            Name::Latency => ("L", "ns"),
            Name::SendOverhead => ("o_s", "ns"),
            Name::ReceiveOverhead => ("o_r", "ns"),
            Name::Gap => ("g", "ns"),
            Name::GapPerByte => ("G", "ns/byte"),
        };
        ParameterFacts {
            name,
            unit,
            value: value.map(|estimate| estimate.value),
            interval: value.and_then(|estimate| estimate.interval),
            bytes: parameter.bytes,
            times: parameter.times,
            reason: parameter.value.as_ref().err().copied(),
        }
    }
}
