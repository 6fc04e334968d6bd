//! The summary as lines for people: seven at most.

use std::io::{self, Write};

use mpitrace::account::{Because, Kind, Parts};
use mpitrace::whole_run::Counted;

use super::facts::{LossFacts, Summary};
use super::unknown_waits;
use super::verdict::{percent, seconds};
use crate::mismatches;
use crate::output::{Attribute, Style};
use crate::{reason, text, undone};

/// Losses that have a line, and the share of the ranks' time below which none has.
const LOSSES: usize = 3;
const SMALL: f64 = 0.001;

/// The importance of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Plain,
    /// The program is incorrect.
    Defect,
    Verdict,
}

impl Summary {
    /// The lines: seven at most.
    pub fn lines(&self) -> Vec<String> {
        self.weighted_lines().into_iter().map(|(_, line)| line).collect()
    }

    fn weighted_lines(&self) -> Vec<(Weight, String)> {
        let defects = mismatches::lines(&self.mismatches, 0).into_iter().take(1);
        let defects = defects.chain(undone::first_lines(&self.undone)).map(|line| (Weight::Defect, line));
        let mut lines: Vec<(Weight, String)> = defects.collect();
        let plain = |line: String| (Weight::Plain, line);
        lines.push(plain(self.whole()));
        lines.extend(self.parts().map(plain));
        let losses = self.shown.iter().filter(|loss| loss.share >= SMALL);
        let room = LOSSES.saturating_sub(lines.len().saturating_sub(2));
        lines.extend(losses.take(room).map(LossFacts::line).map(plain));
        lines.push((Weight::Verdict, self.verdict.clone()));
        lines.extend(self.next.iter().map(|next| plain(format!("Next: {next}"))));
        lines
    }

    /// Writes them; what to do is set off.
    pub fn write(&self, output: &mut dyn Write, style: Style) -> io::Result<()> {
        for (weight, line) in self.weighted_lines() {
            let line = text::printable(&line);
            let line = match weight {
                Weight::Defect => style.paint(Attribute::Red, &line),
                Weight::Verdict => style.paint(Attribute::Bold, &line),
                Weight::Plain => line.into_owned(),
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
        let sum = |of: fn(&Counted) -> u64| self.all_calls.iter().map(|one| of(&one.all)).sum::<u64>();
        let untimed = match not_kept.saturating_sub(sum(|all| all.timed)) {
            0 => String::new(),
            untimed => format!(", {untimed} of them without their time"),
        };
        format!(" {not_kept} of {} calls are not kept{untimed}.", sum(|all| all.calls))
    }

    fn parts(&self) -> Option<String> {
        let Parts { run_time, waiting, interrupted, perturbed, communication, .. } = self.parts;
        if run_time == 0.0 {
            return None;
        }
        let share = |part: f64| percent(part / run_time);
        let mut parts = Vec::new();
        if self.synchronised && self.ranks > 1 {
            parts.push(format!("{} waiting for other ranks", share(waiting)));
        }
        parts.push(match self.parts.known_most() {
            Some(most) if most > 1.05 * interrupted => {
                format!("{} to {} off the processor", share(interrupted), share(most))
            }
            Some(_) => format!("{} off the processor", share(interrupted)),
            None => "time off the processor not known".to_owned(),
        });
        parts.push(format!("{} delayed by the tracer", share(perturbed)));
        parts.push(format!("{} communication", share(communication)));
        let whole = if self.not_kept() == 0 { "that" } else { "the kept calls" };
        let unknown = unknown_waits::sentence(self.unknown_waits_below_ns).unwrap_or_default();
        Some(format!("Of {whole}: {}.{unknown}", parts.join(", ")))
    }
}

impl LossFacts {
    fn line(&self) -> String {
        let lost = format!("{} ({})", percent(self.share), seconds(self.seconds));
        let place = self.place();
        let rank = self.loss.rank.unwrap_or_default();
        match self.loss.kind {
            Kind::LateRank => {
                let why = match self.loss.because {
                    Some(Because::Computing) => "computes for longer".to_owned(),
                    Some(Because::EarlierCall) => "was still in its call before".to_owned(),
                    Some(Because::OtherMpi) => "is in point-to-point or other MPI calls for longer".to_owned(),
                    Some(Because::OnProcessor) => "computes or is in other MPI calls for longer".to_owned(),
                    Some(off) => format!("{} before", reason::was(off, false)),
                    None => String::new(),
                };
                let (who, since) = match self.loss.rank {
                    Some(rank) => (format!("others wait for rank {rank}"), ", which "),
                    None => ("the ranks wait for each other in turns".to_owned(), ", mainly since the late rank "),
                };
                let since = if why.is_empty() { "" } else { since };
                format!("{lost}: {who}{since}{why}; {place}.")
            }
            Kind::Interrupted => {
                let was = reason::was(self.loss.because.unwrap_or(Because::OffProcessor), false);
                format!("{lost}: rank {rank} {was} in the call; {place}.")
            }
            Kind::Warmup => format!("{lost}: the first repetitions are slower than the good ones; {place}."),
            Kind::Tracer => format!("{lost}: the tracer itself delays calls; {place}."),
            Kind::Outliers => format!("{lost}: outliers are slower than the good repetitions; {place}."),
        }
    }

    fn place(&self) -> String {
        let bytes = self.bytes.filter(|&bytes| bytes > 0).map(|bytes| format!(" of {}", text::count(bytes, "byte")));
        let site = self.call_site.as_ref().map(|site| format!(", called from {site}"));
        format!(
            "operation {}, {}{} on {}, {}{}",
            self.loss.operation,
            self.function,
            bytes.unwrap_or_default(),
            self.communicator,
            text::count(self.loss.repetitions as u64, "repetition"),
            site.unwrap_or_default()
        )
    }
}
