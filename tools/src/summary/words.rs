//! The summary as lines for people: seven at most.

use std::io::{self, Write};

use mpitrace::account::Because;

use super::facts::{LossFacts, Summary};
use super::unknown_waits;
use super::verdict::{percent, seconds};
use crate::all_calls::AllCallsFacts;
use crate::mismatches;
use crate::output::{Attribute, Style};
use crate::{reason, text};

/// Losses that have a line, and the share of the ranks' time below which none has.
const LOSSES: usize = 3;
const SMALL: f64 = 0.001;

impl Summary {
    /// The lines: seven at most.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(mismatch) = mismatches::lines(&self.mismatches, 0).into_iter().next() {
            lines.push(mismatch);
        }
        lines.extend(self.undone.first_lines());
        lines.push(self.whole());
        lines.extend(self.parts());
        let losses = self.shown.iter().filter(|loss| loss.share >= SMALL);
        lines.extend(losses.take(LOSSES.saturating_sub(lines.len().saturating_sub(2))).map(LossFacts::line));
        lines.push(self.verdict.clone());
        lines.extend(self.next.iter().map(|next| format!("Next: {next}")));
        lines
    }

    /// Writes them; what to do is set off.
    pub fn write(&self, output: &mut dyn Write, style: Style) -> io::Result<()> {
        for line in self.lines() {
            let line = text::printable(&line);
            let line = match () {
                () if line.starts_with("MISMATCH") || self.undone.first_lines().contains(&line.to_string()) => {
                    style.paint(Attribute::Red, &line)
                }
                () if line == self.verdict => style.paint(Attribute::Bold, &line),
                () => line.into_owned(),
            };
            writeln!(output, "{line}")?;
        }
        Ok(())
    }

    fn whole(&self) -> String {
        let share = self.collectives_share;
        let range = match self.ranks {
            0 | 1 => String::new(),
            _ => format!(" ({} to {} on single ranks)", percent(share.min), percent(share.max)),
        };
        let incomplete = match (self.complete, self.unknown_ends) {
            (true, _) => String::new(),
            (false, 0) => " This trace is incomplete.".to_owned(),
            (false, ranks) => format!(
                " This trace is incomplete. When {} ended is not known: the shares are of the time up to the last known \
                 event.",
                text::count(ranks as u64, "rank")
            ),
        };
        let not_kept = self.without_records();
        format!(
            "{}, {}: {} of the ranks' time is in collective calls{range}.{not_kept}{incomplete}",
            text::count(self.ranks.into(), "rank"),
            seconds(self.seconds),
            percent(share.all)
        )
    }

    /// How many calls are not kept, where some are not.
    fn without_records(&self) -> String {
        let not_kept = self.not_kept();
        if not_kept == 0 {
            return String::new();
        }
        let sum = |of: fn(&AllCallsFacts) -> u64| self.all_calls.iter().map(of).sum::<u64>();
        let untimed = match not_kept.saturating_sub(sum(|all| all.timed)) {
            0 => String::new(),
            untimed => format!(", {untimed} of them without their time"),
        };
        format!(" {not_kept} of {} calls are not kept{untimed}.", sum(|all| all.calls))
    }

    fn parts(&self) -> Option<String> {
        if self.collectives_s == 0.0 {
            return None;
        }
        let share = |part: f64| percent(part / self.collectives_s);
        let mut parts = Vec::new();
        if self.synchronised && self.ranks > 1 {
            parts.push(format!("{} waiting for other ranks", share(self.waiting_s)));
        }
        parts.push(match self.interrupted_most_s {
            Some(most) if most > 1.05 * self.interrupted_s => {
                format!("{} to {} off the processor", share(self.interrupted_s), share(most))
            }
            Some(_) => format!("{} off the processor", share(self.interrupted_s)),
            None => "time off the processor not known".to_owned(),
        });
        parts.push(format!("{} delayed by the tracer", share(self.perturbed_s)));
        parts.push(format!("{} communication", share(self.communication_s)));
        let whole = if self.not_kept() == 0 { "that" } else { "the kept calls" };
        let unknown = unknown_waits::sentence(self.unknown_waits_below_ns).unwrap_or_default();
        Some(format!("Of {whole}: {}.{unknown}", parts.join(", ")))
    }
}

impl LossFacts {
    fn line(&self) -> String {
        let lost = format!("{} ({})", percent(self.share), seconds(self.seconds));
        let place = self.place();
        let rank = self.rank.unwrap_or_default();
        match self.kind {
            "late-rank" => {
                let why = match self.reason {
                    Some(Because::Computing) => "computes for longer".to_owned(),
                    Some(Because::EarlierCall) => "was still in its call before".to_owned(),
                    Some(Because::OtherMpi) => "is in point-to-point or other MPI calls for longer".to_owned(),
                    Some(Because::OnProcessor) => "computes or is in other MPI calls for longer".to_owned(),
                    Some(off) => format!("{} before", reason::was(off, false)),
                    None => String::new(),
                };
                let (who, since) = match self.rank {
                    Some(rank) => (format!("others wait for rank {rank}"), ", which "),
                    None => ("the ranks wait for each other in turns".to_owned(), ", mainly since the late rank "),
                };
                let since = if why.is_empty() { "" } else { since };
                format!("{lost}: {who}{since}{why}; {place}.")
            }
            "interrupted" => {
                let was = reason::was(self.reason.unwrap_or(Because::OffProcessor), false);
                format!("{lost}: rank {rank} {was} in the call; {place}.")
            }
            "warmup" => format!("{lost}: the first repetitions are slower than the good ones; {place}."),
            "tracer" => format!("{lost}: the tracer itself delays calls; {place}."),
            _ => format!("{lost}: outliers are slower than the good repetitions; {place}."),
        }
    }

    fn place(&self) -> String {
        let bytes = self.bytes.filter(|&bytes| bytes > 0).map(|bytes| format!(" of {}", text::count(bytes, "byte")));
        let site = self.call_site.as_ref().map(|site| format!(", called from {site}"));
        format!(
            "operation {}, {}{} on {}, {}{}",
            self.operation,
            self.function,
            bytes.unwrap_or_default(),
            self.communicator,
            text::count(self.repetitions as u64, "repetition"),
            site.unwrap_or_default()
        )
    }
}
