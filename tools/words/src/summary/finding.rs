//! Habits of a program that cost time: rows among the losses, and a sentence for the largest.

use mpitrace_analysis::account::LossKind;
use mpitrace_analysis::findings::{Finding, Found};
use mpitrace_analysis::run::Run;
use mpitrace_code::{CodeOfFinding, Places};
use mpitrace_show::text;
use mpitrace_trace::calls::samples::RunSamples;

use super::code;
use super::facts::{LITTLE, LossFacts, Plain, Summary};
use super::units::{percent, seconds};
use super::words::gain;

impl Summary {
    /// Adds the findings to the losses, which overlap with the others. `labels` are the names of the communicators.
    pub(super) fn add_findings(&mut self, run: &Run, labels: &[String]) {
        let facts = |finding: &Finding| LossFacts {
            gain: finding.gain.clone(),
            found: Some(finding.found.clone()),
            ..LossFacts::new(finding.loss.clone(), &run.operations, run.account(), labels)
        };
        self.losses.extend(run.findings().iter().map(facts));
        self.losses.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        self.conclude_findings();
    }

    /// Adds the code of the findings, and leaves those out that it speaks against.
    pub(super) fn add_code_of_findings(&mut self, run: &Run, samples: &RunSamples) {
        let places = Places::new(&run.trace, samples);
        for finding in run.findings() {
            let is_it = |facts: &LossFacts| facts.found.as_ref() == Some(&finding.found);
            if !places.fits(finding) {
                self.losses.retain(|facts| !is_it(facts));
            } else if let Some(facts) = self.losses.iter_mut().find(|facts| is_it(facts)) {
                facts.place = places.code_of(finding);
            }
        }
        self.conclude_findings();
    }

    /// The sentence of the largest finding that is worth one, and the conclusion, if nothing else would gain more.
    fn conclude_findings(&mut self) {
        let Plain { sentence, gain_s } = self.plain.clone();
        self.verdict = sentence;
        let found = self.losses.iter().filter(|facts| facts.found.is_some());
        let largest = found.max_by(|one, other| one.gain.likely().total_cmp(&other.gain.likely()));
        let largest = largest.filter(|facts| facts.gain.likely() >= LITTLE * self.seconds);
        self.finding = largest.and_then(|facts| facts.finding(self.code.as_deref().unwrap_or_default()));
        self.finding_kind = largest.map(|facts| facts.loss.kind);
        let is_most = |facts: &&LossFacts| {
            // The waiting of a pipeline is in messages and in the call behind them: the larger one may be all that is
            // gained without either.
            let times = if facts.loss.kind == LossKind::Pipeline { 2.0 } else { 1.0 };
            gain_s.is_some_and(|gain_s| times * facts.gain.likely() >= gain_s)
        };
        if let Some(advice) = largest.filter(is_most).and_then(LossFacts::advice) {
            self.verdict = advice;
        }
    }
}

impl LossFacts {
    /// The finding as a sentence; `said`: the code that makes a rank late, which need not be said once more.
    fn finding(&self, said: &str) -> Option<String> {
        let function = self.function.clone().unwrap_or_default();
        Some(match self.found.as_ref()? {
            Found::ManySmall(small) => {
                let least = if small.joined_is_known { "" } else { "at least " };
                format!(
                    "{} {function}{} in {} groups of {}{}: {}; one call for each group would take {least}{}.",
                    small.calls,
                    text::of_bytes(self.bytes),
                    small.groups,
                    small.calls_per_group,
                    self.in_place(""),
                    seconds(small.calls_s),
                    seconds(small.joined_s)
                )
            }
            Found::UnequalAmounts(amounts) => {
                let who = self.loss.rank.map_or_else(|| "A rank".to_owned(), |rank| format!("Rank {rank}"));
                format!(
                    "{who} sends {:.1} x the mean of the ranks in {} {function}{}, which take {}{}.",
                    amounts.times_the_mean,
                    amounts.calls,
                    self.in_place(""),
                    seconds(amounts.calls_s),
                    gain(&self.gain)
                )
            }
            Found::Serial(serial) => format!(
                "Rank {} works alone for {} while all others wait{}; shared out over all ranks it would take {}.",
                self.loss.rank?,
                seconds(serial.alone_s),
                self.place.as_ref().filter(|place| !said.contains(&words(place))).map_or_else(String::new, |place| {
                    format!(", {} of it in {}", percent(place.share), words(place))
                }),
                seconds(serial.shared_s)
            ),
            Found::Pipeline(pipeline) => format!(
                "The ranks do equal work one after the other, from rank {} to rank {}{}: each {} behind the one \
                 before, {} times{}.",
                pipeline.first_rank,
                pipeline.last_rank,
                self.in_place(", waiting"),
                seconds(pipeline.step_s),
                pipeline.passes,
                gain(&self.gain)
            ),
        })
    }

    /// What to do about it; `None`: what is said of the rank for which the others wait.
    fn advice(&self) -> Option<String> {
        let function = self.function.as_deref().unwrap_or_default();
        match self.loss.kind {
            LossKind::ManySmall => Some(format!(
                "Make one {function} of the calls of a group, if none of them needs the result of the one before."
            )),
            LossKind::UnequalAmounts => Some(format!(
                "The amounts of {function} are far from equal: share out the data, or send it in other calls."
            )),
            LossKind::Pipeline => Some(
                "The ranks wait for each other in a chain: pass on smaller pieces, so that they work at the same time."
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// ` in sum (solver.cpp:121)`, where that is known: by samples, or as the operation's call site.
    fn in_place(&self, before: &str) -> String {
        let site = || self.call_site.as_ref().map(|site| site.resolve().to_string());
        let place = self.place.as_ref().map(words).or_else(site);
        place.map_or_else(String::new, |place| format!("{before} in {place}"))
    }
}

fn words(place: &CodeOfFinding) -> String {
    code::place(&place.function, place.file.as_deref(), place.line)
}
