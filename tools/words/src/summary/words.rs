//! The summary as lines for people: seven at most, of 100 columns.

use std::io::{self, Write};

use mpitrace_analysis::account::{Because, LossKind, RankPart, RankParts};
use mpitrace_analysis::replay::Gain;
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::text;
use mpitrace_trace::calls::whole_run::Counted;

use super::facts::{LITTLE, LossFacts, Summary};
use super::largest::MOST;
use super::processes;
use super::units::{percent, seconds};
use super::unknown_waits;
use crate::base::reason;
use crate::job::mismatches;
use crate::job::undone;

/// Lines that are shown, and their columns. The line with the next command may be longer.
const LINES: usize = 7;
const COLUMNS: usize = 100;
/// Losses that have a line, and the share of the ranks' time below which none has.
const LOSSES: usize = 3;
pub(super) const SMALL: f64 = 0.001;
const NOTICES: usize = 2;
/// Times outside of the time that shares are of are said from this share of the whole on.
const MATTERS: f64 = 0.05;
/// The function that ends a job: no record is of it.
pub(super) const FINALIZE: &str = "MPI_Finalize";
/// What the time in collective calls is called where some ranks are not traced.
const IN_CALLS: &str = "in collective calls";
const OFF: &str = "off the processor";
const OFF_OUTSIDE: &str = "off the processor outside of calls";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Plain,
    /// How the job ended.
    End,
    Defect,
    Verdict,
    /// It is copied into a shell.
    Command,
}

impl Summary {
    /// The lines: seven at most where they are as wide as they are.
    pub fn lines(&self) -> Vec<String> {
        self.weighted_lines().into_iter().map(|(_, line)| line).collect()
    }

    fn weighted_lines(&self) -> Vec<(Weight, String)> {
        let plain = |line: String| (Weight::Plain, line);
        let ended = self.ended.iter().map(|ended| (Weight::End, ended.sentence.clone()));
        let defect = self.defect().map(|line| (Weight::Defect, line));
        let mut lines: Vec<(Weight, String)> = ended.chain(defect).collect();
        lines.push(plain(self.whole()));
        // What a rank does alone is said behind the code that makes it late, with which it begins.
        let both = match self.finding_kind {
            Some(LossKind::Serial) => [&self.code, &self.finding],
            _ => [&self.finding, &self.code],
        };
        lines.extend(both.into_iter().flatten().chain(&self.counted).cloned().map(plain));
        lines.extend(self.threads.and_then(|threads| threads.sentence()).map(plain));
        lines.extend(self.without_processor.as_ref().map(|lack| plain(self.lacking(lack))));
        lines.extend(Some(self.parts()).filter(|parts| parts != ".").map(plain));
        let mut last = vec![(Weight::Verdict, self.verdict.clone())];
        last.extend(self.next.iter().map(|next| (Weight::Command, format!("Next: {next}"))));
        // The sentence about the end of a job is as long as it needs to be.
        let counted = |line: &&(Weight, String)| line.0 != Weight::End;
        let height = |lines: &[(Weight, String)]| {
            lines.iter().filter(counted).map(|line| wrapped(line, COLUMNS).len()).sum::<usize>()
        };
        let leftovers = undone::leftovers(&self.undone).into_iter().chain(self.failed());
        let leftovers: Vec<(Weight, String)> = leftovers.map(plain).collect();
        let room = LINES.saturating_sub(height(&lines) + height(&leftovers) + height(&last));
        let mut notices = self.notices();
        notices.truncate(room.min(NOTICES));
        let mut room = room - notices.len();
        lines.extend(notices.into_iter().map(plain));
        // Of a job that moved, looks alone do not say that it hung.
        let hung = self.hung.is_some_and(|hung| hung.least_s > 0.0);
        let is_known = |loss: &&LossFacts| loss.loss.kind != LossKind::Hung || hung;
        let losses = self.shown.iter().filter(|loss| loss.share >= SMALL).filter(is_known).take(LOSSES);
        lines.extend(losses.map(|loss| plain(loss.line(self.calls_timed))).take_while(|line| {
            let needs = height(std::slice::from_ref(line));
            let fits = needs <= room;
            room = room.saturating_sub(needs);
            fits
        }));
        lines.extend(leftovers);
        if height(&lines) + height(&last) < LINES {
            lines.extend(self.efficiency().map(plain));
        }
        lines.extend(last);
        lines
    }

    /// Writes them; what to do is set off.
    pub fn write(&self, output: &mut dyn Write, style: Style) -> io::Result<()> {
        for line in self.weighted_lines() {
            for text in wrapped(&line, style.width.min(COLUMNS)) {
                let text = match line.0 {
                    Weight::Defect | Weight::End => style.paint(Attribute::Red, &text),
                    Weight::Verdict => style.paint(Attribute::Bold, &text),
                    Weight::Plain | Weight::Command => text,
                };
                writeln!(output, "{text}")?;
            }
        }
        Ok(())
    }

    /// The first call that does not belong to the others' or was left out, and the number of all others.
    fn defect(&self) -> Option<String> {
        let (undone, more) = undone::first_defects(&self.undone);
        let others = (self.mismatched + (undone.len() + more) as u64).saturating_sub(1);
        let first = mismatches::first_line(&self.mismatches).or_else(|| undone.into_iter().next())?;
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        Some(first + &more)
    }

    fn whole(&self) -> String {
        let (share, place) = match self.calls_timed {
            true => (self.mpi_share, "MPI"),
            false => (self.collectives_share, "collective calls"),
        };
        let [least, most] = [share.min, share.max].map(percent);
        let range = if least == most { String::new() } else { format!(" ({least} to {most} by rank)") };
        format!(
            "{}, {}{}: {} in {place} between Init and Finalize{range}.",
            text::count(self.ranks.into(), "rank"),
            if self.unknown_ends > 0 { "at least " } else { "" },
            seconds(self.seconds),
            percent(share.all)
        )
    }

    fn failed(&self) -> Option<String> {
        let calls = text::count(self.failed_calls, "call");
        (self.failed_calls > 0).then(|| format!("{calls} of the ranks together returned an error."))
    }

    /// The efficiency of several ranks.
    fn efficiency(&self) -> Option<String> {
        let efficiency =
            self.efficiency.as_ref().filter(|_| self.ranks > 1 && self.untraced == 0 && !self.is_with_others())?.run;
        Some(format!(
            "Parallel efficiency {} = load balance {} x communication efficiency {}.",
            percent(efficiency.parallel),
            percent(efficiency.load_balance),
            percent(efficiency.communication)
        ))
    }

    /// The facts to be known of the numbers, the most important first.
    fn notices(&self) -> Vec<String> {
        let not_kept = self.not_kept();
        let sum = |of: fn(&Counted) -> u64| self.all_calls.iter().map(|one| of(&one.all)).sum::<u64>();
        let untimed = match not_kept.saturating_sub(sum(|all| all.timed)) {
            0 => String::new(),
            untimed => format!(", {untimed} of them without their time"),
        };
        let incomplete = match self.unknown_ends {
            0 => "This trace is incomplete: some ranks or records are missing.".to_owned(),
            ranks => {
                let longest = self.unknown_s.map(seconds);
                let later = longest.map_or_else(String::new, |time| format!(", at most {time} before the end"));
                let ranks = text::count(ranks as u64, "rank");
                format!("This trace is incomplete: the time of {ranks} is up to the last time stamp{later}.")
            }
        };
        let notices = [
            (!self.complete && (self.ended.is_none() || self.unknown_ends > 0)).then_some(incomplete),
            (self.untraced > 0).then(|| {
                let ranks = text::count(self.untraced.into(), "rank");
                format!("{ranks} of {} left no trace: waiting for them is not known.", self.ranks)
            }),
            self.is_with_others().then(|| {
                let time = seconds(self.with_other_worlds_s);
                format!("The ranks are in calls with another world for {time}: how long they wait for it is not known.")
            }),
            self.processes.as_deref().filter(|_| !self.names_taker()).and_then(processes::taker),
            self.sample.as_ref().map(|sample| {
                let [least, most] =
                    [sample.waiting_least_s, sample.waiting_most_s].map(|seconds| percent(self.share(1e9 * seconds)));
                format!(
                    "A sample of {} of {} repetitions: {least} to {most} of the time is waiting, losses are estimates.",
                    sample.repetitions, sample.of
                )
            }),
            (not_kept > 0 && self.sample.is_none()).then(|| {
                format!("{not_kept} of {} calls are not kept{untimed}: losses are of the others.", self.calls_made)
            }),
            (!self.synchronised)
                .then(|| "Waiting is not known: the clocks of the nodes are not synchronised.".to_owned()),
            unknown_waits::sentence(self.unknown_waits_below_ns),
        ];
        notices.into_iter().flatten().collect()
    }

    /// The parts of the ranks' time but that off the processor, with what they are called.
    pub(super) fn on_processor(&self, parts: &RankParts) -> Vec<(f64, &'static str)> {
        let ns = |some: &[RankPart]| parts.sum_of(some);
        let rest = if self.divided { "for unknown reasons" } else { "computing or in other calls" };
        let is_known = self.untraced == 0 && 1e9 * self.with_other_worlds_s <= MOST * ns(&[RankPart::Communication]);
        vec![
            (ns(&[RankPart::Computing]), "computing"),
            (ns(&[RankPart::Waiting]), "waiting for others"),
            (ns(&[RankPart::Communication]), if is_known { "communicating" } else { IN_CALLS }),
            (ns(&[RankPart::PointToPoint]), "in point-to-point calls"),
            (ns(&[RankPart::OneSided]), "in one-sided calls"),
            (ns(&[RankPart::Io]), "in file calls"),
            (ns(&[RankPart::OtherMpi]), "in other MPI calls"),
            (ns(&[RankPart::WaitingFinalize]), "waiting in MPI_Finalize"),
            (ns(&[RankPart::Hung]), "since the last movement"),
            (ns(&[RankPart::Perturbed]), "delayed by the tracer"),
            (ns(&[RankPart::Other]), rest),
        ]
    }

    /// All parts of the ranks' time with what they are called, the largest first.
    pub(super) fn by_size(&self, parts: &RankParts) -> Vec<(f64, &'static str)> {
        let mut named = self.on_processor(parts);
        named.push((parts.sum_of(&RankPart::OFF), OFF));
        named.sort_by(|one, other| other.0.total_cmp(&one.0));
        named
    }

    /// True if calls with ranks of another world take more than is little.
    pub(super) fn is_with_others(&self) -> bool {
        self.share(1e9 * self.with_other_worlds_s) >= LITTLE
    }

    /// The largest part of the ranks' time, with its share.
    pub(super) fn largest_part(&self) -> (&'static str, f64) {
        let parts = self.by_size(&self.parts);
        parts.first().map_or((OFF, 0.0), |&(ns, name)| (name, self.share(ns)))
    }

    /// The parts of the ranks' time, the largest first, as far as there is room.
    fn parts(&self) -> String {
        let ns = |parts: &[RankPart]| self.parts.sum_of(parts);
        let off = ns(&RankPart::OFF);
        // While a rank waits in a call it may yield its processor.
        let is_least = self.calls.known_most().is_none_or(|most| most - self.calls.interrupted > 0.05 * off);
        let mut parts = self.on_processor(&self.parts);
        // Where the sum is known it is stated, and here the part outside of calls.
        match self.off_processor_s {
            Some(_) if is_least => parts.push((off - ns(&[RankPart::Interrupted]), OFF_OUTSIDE)),
            _ => parts.push((off, OFF)),
        }
        parts.retain(|(ns, _)| self.share(*ns) >= SMALL);
        parts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let unknown = match self.calls.known_most() {
            None if off == 0.0 => ", time off the processor not known",
            _ => "",
        };
        let end = format!("{unknown}{}.", self.beside());
        let mut line = String::new();
        for (ns, name) in parts {
            let least = if is_least && name == OFF { "at least " } else { "" };
            let comma = if line.is_empty() { "" } else { ", " };
            let next = format!("{comma}{least}{} {name}", percent(self.share(ns)));
            // The largest part always stands, and no smaller one where a larger one has no room.
            if !line.is_empty() && line.len() + next.len() + end.len() > COLUMNS {
                break;
            }
            line.push_str(&next);
        }
        match line.is_empty() {
            true => end.trim_start_matches([',', ';', ' ']).to_owned(),
            false => line + &end,
        }
    }

    /// The mean times of a rank in MPI_Init, in MPI_Finalize and in the tracer, and of its process before and after
    /// MPI, if they are large. No share is of these times.
    fn beside(&self) -> String {
        let mean = |parts: &[RankPart]| self.parts.sum_of(parts) / f64::from(self.ranks.max(1));
        let whole = 1e9 * self.rank_seconds / f64::from(self.ranks.max(1));
        let around = |seconds: Option<f64>| 1e9 * seconds.unwrap_or(0.0);
        let parts = [
            (around(self.around.before_init_s), "before MPI_Init"),
            (mean(&[RankPart::Init, RankPart::WaitingInit]), "MPI_Init"),
            (mean(&[RankPart::Finalize]), FINALIZE),
            (around(self.around.after_finalize_s), "after MPI_Finalize"),
            (mean(&[RankPart::Tracer]), "the tracer"),
        ];
        let parts = parts.into_iter().filter(|(ns, _)| *ns >= MATTERS * whole);
        let parts: Vec<String> = parts.map(|(ns, name)| format!("{name} {}", text::time(ns))).collect();
        if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
    }
}

fn wrapped((weight, line): &(Weight, String), width: usize) -> Vec<String> {
    let line = text::printable(line);
    match weight {
        Weight::Plain | Weight::Verdict | Weight::End => text::wrapped(&line, width),
        Weight::Defect | Weight::Command => vec![line.into_owned()],
    }
}

/// Ends of a gain that differ by more than this share of the larger one are both said.
const WIDE: f64 = 0.2;

/// By how much the job would be shorter without a loss, as far as that is known.
pub(super) fn gain(gain: &Gain) -> String {
    match (gain.seconds, gain.least.zip(gain.most)) {
        (None, None) => String::new(),
        (None, Some((least, most))) if least <= 0.0 => format!(", gain at most {}", seconds(most)),
        (None, Some((least, most))) => interval(least, most),
        (Some(_), Some((least, most))) if most - least > WIDE * most => interval(least, most),
        (Some(known), _) => format!(", gain {}", seconds(known)),
    }
}

fn interval(least: f64, most: f64) -> String {
    let unit = text::Unit::for_time(1e9 * most);
    format!(", gain {} to {} {}", unit.number(1e9 * least), unit.number(1e9 * most), unit.name)
}

impl LossFacts {
    /// `calls_timed`: calls that can wait were timed.
    pub(super) fn line(&self, calls_timed: bool) -> String {
        let lost = format!("{} ({}{})", percent(self.share), seconds(self.seconds), gain(&self.gain));
        let rank = self.loss.rank.map_or_else(|| "ranks".to_owned(), |rank| format!("rank {rank}"));
        let was = reason::was(self.loss.because.unwrap_or(Because::OffProcessor), self.loss.rank.is_none());
        let late = |because| match self.waits_for_threads() && because == Some(Because::Asleep) {
            true => Some(reason::FOR_THREADS[0]),
            false => reason::late(because),
        };
        let line = |place: &str| match self.loss.kind {
            LossKind::LateRank => {
                let is_passed_on = matches!(self.loss.because, Some(Because::PointToPoint | Because::EarlierCall));
                let begins = self.begins_with().filter(|_| is_passed_on);
                let why = match begins.filter(|_| self.loss.because == Some(Because::PointToPoint)) {
                    Some((rank, _)) => format!("waits itself for rank {rank}"),
                    None => {
                        late(begins.map_or(self.loss.because, |(_, because)| because)).unwrap_or_default().to_owned()
                    }
                };
                let (who, which) = match self.loss.rank {
                    Some(rank) if self.loss.because == Some(Because::EarlierCall) => {
                        let begins = begins.map_or(rank, |(begins, _)| begins);
                        let way = if begins == rank { String::new() } else { format!(" by way of rank {rank}") };
                        (format!("others wait in {place}{way} for rank {begins}"), ", which")
                    }
                    Some(rank) => (format!("others wait in {place} for rank {rank}"), ", which"),
                    None => (format!("ranks wait in turns in {place}"), ": one"),
                };
                let turns = self
                    .moves
                    .as_ref()
                    .map_or_else(String::new, |moves| format!(", in turns of {} repetitions", moves.repetitions));
                if why.is_empty() { format!("{lost}: {who}.") } else { format!("{lost}: {who}{which} {why}{turns}.") }
            }
            LossKind::Interrupted if self.loss.operation.is_some() => format!("{lost}: {rank} {was} in {place}."),
            LossKind::Interrupted if calls_timed => format!("{lost}: {rank} {was} outside of MPI calls."),
            LossKind::Interrupted => format!("{lost}: {rank} {was} outside of collective calls."),
            LossKind::PointToPoint => match (self.loss.late(), self.loss.because) {
                (Some(partner), Some(because)) => {
                    let why = late(Some(because)).filter(|_| because.is_off()).unwrap_or("computes longer");
                    format!("{lost}: {rank} in point-to-point calls for rank {partner}, which {why}.")
                }
                _ => format!("{lost}: {rank} in point-to-point calls that can wait{}.", self.partner()),
            },
            LossKind::OneSided => format!("{lost}: {rank} in one-sided calls that can wait."),
            LossKind::Warmup => format!("{lost}: the first repetitions are slower in {place}."),
            LossKind::Hung => match self.loss.rank {
                Some(rank) => format!("{lost}: rank {rank} hung until it was ended."),
                None => format!("{lost}: the ranks hung until they were ended."),
            },
            // These have a line of their own.
            LossKind::ManySmall | LossKind::UnequalAmounts | LossKind::Serial | LossKind::Pipeline => String::new(),
            LossKind::Tracer => format!("{lost}: the tracer itself delays calls in {place}."),
            LossKind::Outliers => {
                let outliers = text::count(self.loss.repetitions as u64, "outlier");
                format!("{lost}: {outliers} slower than the good repetitions in {place}.")
            }
        };
        let lines: Vec<String> = self.places().iter().map(|place| line(place)).collect();
        let fits = lines.iter().find(|line| line.chars().count() <= COLUMNS).or(lines.last());
        fits.cloned().unwrap_or_default()
    }

    /// With which rank the delay begins, where that is another call or another rank, and why that one was late.
    pub(super) fn begins_with(&self) -> Option<(u32, Option<Because>)> {
        let last = self.origin.last().filter(|_| self.origin.len() > 1)?;
        Some((last.rank?, last.because))
    }

    /// The names of the operation with its line in the program, the longest first.
    pub(super) fn places(&self) -> Vec<String> {
        let Some(function) = &self.function else { return vec![String::new()] };
        let bytes = text::of_bytes(self.bytes);
        let site = self.call_site.as_ref().map(|site| site.resolve());
        let long = site.as_ref().map_or_else(String::new, |site| format!(" in {site}"));
        let short = site.as_ref().map_or_else(String::new, |site| format!(" at {}", site.line_of_file()));
        let communicator = self.label.iter().map(|name| format!(" on {name}")).collect::<String>();
        let number = self.loss.operation.map_or_else(String::new, |operation| format!(" (operation {operation})"));
        vec![
            format!("{function}{bytes}{communicator}{number}{long}"),
            format!("{function}{bytes}{number}{long}"),
            format!("{function}{bytes}{number}{short}"),
            format!("{function}{number}{short}"),
            format!("{function}{short}"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_that_is_known_in_part_is_an_interval() {
        let of = |least: f64, known: Option<f64>, most: f64| {
            gain(&Gain { seconds: known, least: Some(least), most: Some(most), ..Gain::default() })
        };
        assert_eq!(of(0.2, Some(0.9), 1.1), ", gain 0.200 to 1.10 s");
        assert_eq!(of(0.0, Some(0.004), 0.005), ", gain 0 to 5.00 ms");
        assert_eq!(of(1.0, Some(1.1), 1.2), ", gain 1.10 s", "ends a sixth apart");
        assert_eq!(of(0.0, Some(0.0), 0.0), ", gain 0 ns");
        assert_eq!(of(0.1, None, 0.2), ", gain 100 to 200 ms");
        assert_eq!(of(0.0, None, 0.2), ", gain at most 200 ms");
        assert_eq!(gain(&Gain { seconds: Some(0.5), ..Gain::default() }), ", gain 500 ms");
    }
}
