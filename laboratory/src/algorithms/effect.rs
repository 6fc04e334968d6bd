//! The effect of rules on the whole program.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use mpitrace_show::text;
use mpitrace_source::Source;
use mpitrace_statistics::comparison::{self, Alternative, Run, SIGNIFICANCE, Settings, Test, detectable};
use mpitrace_statistics::median;
use serde::Serialize;

use super::decide::PARTS_OF_LEVEL;
use super::worth::wall_ns;

/// The algorithm that a rule asks for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The plain C name of the function.
    pub function: &'a str,
    /// The message size.
    pub bytes: u64,
    /// The size of the communicator.
    pub ranks: u32,
    /// The algorithm's name, as the replay has seen it.
    pub name: &'a str,
}

/// Which is faster: the program with the rules, or without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// With them.
    Faster,
    /// Without them.
    Slower,
    /// No difference is shown.
    None,
}

/// The program with the rules, against itself without them.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// The verdict.
    pub verdict: Verdict,
    /// Runs with and without.
    pub runs: [usize; 2],
    /// The medians of the longest rank's time from MPI_Init to MPI_Finalize, ns.
    pub without_ns: f64,
    /// The median of the time with the rules, ns.
    pub with_ns: f64,
    /// How much longer it takes with the rules; less than 0: it is faster.
    pub difference: f64,
    /// The interval of that, 99.9 %.
    pub interval: Option<[f64; 2]>,
    /// The p-value of the two-sided test at the level of the rules, a thousandth: times 50.
    pub p: Option<f64>,
    /// The smallest difference that would have been found in 8 of 10 experiments.
    pub detectable: Option<f64>,
    /// The algorithms of the rules were seen in the runs with them; false: no algorithm is visible.
    pub verified: bool,
}

/// Compares the runs, after a look at whether the library took the rules.
///
/// # Errors
/// A trace that cannot be read; a rule that the library did not take.
pub fn effect(without: &[PathBuf], with: &[PathBuf], wanted: &[Wanted]) -> Result<Effect> {
    let mut walls = [Vec::new(), Vec::new()];
    let mut verified = !wanted.is_empty();
    for (side, traces) in [without, with].into_iter().enumerate() {
        for trace in traces {
            let source = Source::read(std::slice::from_ref(trace), None)?;
            let traced = source.traced().context("not a trace")?;
            walls[side].push(wall_ns(traced)[1]);
            if side == 1 {
                for wanted in wanted {
                    verified &= check(&source, wanted)?;
                }
            }
        }
    }
    let [without, with] = walls;
    Effect::new(&without, &with, verified)
}

/// True if all calls for which the rule holds ran the algorithm, false if this is not visible.
fn check(source: &Source, wanted: &Wanted) -> Result<bool> {
    let Wanted { function, bytes, ranks, name } = *wanted;
    let is_meant = |number: &usize| {
        let one = &source.operations()[*number];
        (&*one.function, one.bytes, one.ranks) == (function, Some(bytes), ranks)
    };
    // An algorithm that calls another one: which one may depend on other rules.
    let first = |name: &str| name.split(" > ").next().unwrap_or_default().to_owned();
    let mut is_visible = true;
    for number in source.wanted(None).filter(is_meant) {
        let Some(algorithms) = source.algorithms(number) else {
            is_visible = false;
            continue;
        };
        for seen in algorithms.occurring().iter().flatten() {
            let seen = seen.to_string();
            ensure!(
                first(&seen) == first(name),
                "the library has not taken the rules file: {function} of {bytes} bytes on {ranks} ranks ran {seen}, not {name}"
            );
        }
    }
    Ok(is_visible)
}

impl Effect {
    fn new(without: &[f64], with: &[f64], verified: bool) -> Result<Effect> {
        let runs = |walls: &[f64]| -> Vec<Run> {
            walls.iter().enumerate().filter_map(|(number, &wall)| Run::new(number, &[wall], &[wall])).collect()
        };
        let settings = Settings { pairs: PARTS_OF_LEVEL, ..Settings::default() };
        let compared = comparison::compare(&runs(without), &runs(with), settings);
        let compared = compared.context("no run can be compared")?;
        let relative = compared.relative.context("a run took no time")?;
        let is_found = compared.p.is_some_and(|p| p <= SIGNIFICANCE);
        let verdict = match relative.share {
            share if is_found && share < 0.0 => Verdict::Faster,
            share if is_found && share > 0.0 => Verdict::Slower,
            _ => Verdict::None,
        };
        let middle = |walls: &[f64]| median(&mut walls.to_vec()).unwrap_or(f64::NAN);
        Ok(Effect {
            verdict,
            runs: [with.len(), without.len()],
            without_ns: middle(without),
            with_ns: middle(with),
            difference: relative.share,
            interval: relative.interval,
            p: compared.p,
            detectable: detectable(without, with, Test::Permutation, Alternative::TwoSided, PARTS_OF_LEVEL),
            verified,
        })
    }

    /// `faster by 12.1 to 14.0 % (...)`.
    pub fn words(&self) -> String {
        let p = self.p.map(|p| format!(", p {}", text::number(p))).unwrap_or_default();
        let [with, without] = self.runs;
        let unseen = if self.verified { "" } else { "; whether the library took them is not visible" };
        let runs = format!("{with} runs against {without}{p}{unseen}");
        let size = |ends: [f64; 2]| format!("by {:.1} to {:.1} %", 100.0 * ends[0], 100.0 * ends[1]);
        match (self.verdict, self.interval) {
            (Verdict::Faster, Some([low, high])) => format!("faster {} ({runs})", size([-high, -low])),
            (Verdict::Slower, Some(interval)) => format!("slower {} ({runs})", size(interval)),
            (Verdict::Faster, None) => format!("faster ({runs})"),
            (Verdict::Slower, None) => format!("slower ({runs})"),
            (Verdict::None, _) => {
                let visible = self.detectable.map_or("none".into(), |share| format!("{:.1} %", 100.0 * share));
                format!("as fast as without them: no difference shown ({runs}; smallest visible difference: {visible})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn the_verdict_is_of_the_whole_program() {
        let runs = |level: f64| -> Vec<f64> { (0..10).map(|run| level * (1.0 + 0.002 * f64::from(run))).collect() };
        let verdict = |with: f64| Effect::new(&runs(1e9), &runs(with), true).unwrap();
        let faster = verdict(0.8e9);
        assert_eq!(faster.verdict, Verdict::Faster);
        assert!(
            faster.words().starts_with("faster by 1") || faster.words().starts_with("faster by 2"),
            "{}",
            faster.words()
        );
        assert!((faster.difference + 0.2).abs() < 0.01 && faster.interval.unwrap()[1] < 0.0);
        let slower = verdict(1.2e9);
        assert!(slower.verdict == Verdict::Slower && slower.words().starts_with("slower by 1"), "{}", slower.words());
        let mistakes = (0..500).filter(|&seed| {
            let mut random = Random::new(seed);
            let mut runs = || -> Vec<f64> { (0..10).map(|_| 1e9 * (0.05 * random.normal()).exp()).collect() };
            Effect::new(&runs(), &runs(), true).unwrap().verdict != Verdict::None
        });
        assert_eq!(mistakes.count(), 0, "of 500 programs against themselves");
        let same = verdict(1e9);
        assert!(same.verdict == Verdict::None && same.words().contains("no difference shown"), "{}", same.words());
    }
}
