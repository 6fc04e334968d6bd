//! How often what `mpitrace scale` and `jobs --why` say holds: `cargo bench --bench scaling`.
//!
//! `PROGRAMS` (1000) simulated programs of known law run 2 to 5 times on 3 to 5 numbers of ranks, each twice the one
//! before; the time on twice the most is predicted, and one run on as many is made. `CAMPAIGNS` (500) of 60 to 200 runs
//! have one injected factor each, in turns, which makes some of the runs `EFFECT` (4) standard deviations of the noise
//! slower; as many have none.

use std::collections::BTreeMap;

use mpitrace_scaling::facts::{PartKey, RunFacts};
use mpitrace_scaling::why::{Factor, Values, Why, explain};
use mpitrace_scaling::{Mode, Scaling};
use mpitrace_testing::Random;
use mpitrace_testing::campaigns::{CampaignRun, Injected, campaign};
use mpitrace_testing::scaled_programs::ScaledProgram;

#[path = "../src/scaling/facts_tests.rs"]
mod facts_tests;
use facts_tests::facts;

fn predictions(programs: usize) {
    // By the numbers of ranks that there were: programs, predictions that held, and widths.
    let mut by_levels: BTreeMap<u32, (usize, usize, Vec<f64>)> = BTreeMap::new();
    let (mut told, mut right, mut named, mut limits) = (0, 0, 0, 0);
    let mut random = Random::new(2);
    for _ in 0..programs {
        let (first, levels) = (1u32 << (random.bits() % 3), 3 + (random.bits() % 3) as u32);
        let runs = 2 + (random.bits() % 4) as usize;
        let largest = first << (levels - 1);
        let program = ScaledProgram::random(&mut random, largest);
        let all = (0..levels).flat_map(|level| vec![first << level; runs]);
        let all: Vec<RunFacts> = all.map(|ranks| facts(&program.run(ranks, &mut random))).collect();
        let mode = if program.is_weak { Mode::Weak } else { Mode::Strong };
        if let Ok(found) = Scaling::new(&all, None, None) {
            told += 1;
            right += usize::from(found.mode.mode == mode);
        }
        let found = Scaling::new(&all, Some(mode), None).expect("several numbers of ranks");
        let prediction = found.prediction.expect("repeated runs");
        let truth: Vec<RunFacts> = (0..20).map(|_| facts(&program.run(2 * largest, &mut random))).collect();
        let [low, high] = prediction.seconds.interval.expect("an interval");
        let (count, held, widths) = by_levels.entry(levels).or_default();
        *count += 1;
        *held += usize::from((low..=high).contains(&truth[0].seconds));
        widths.push((high - low) / prediction.seconds.value);
        let Some(limit) = prediction.limits.first().filter(|limit| limit.probability >= 0.95) else { continue };
        let excess = |key: &PartKey| {
            let mean = |runs: &[RunFacts]| {
                runs.iter().map(|run| run.parts.get(key).copied().unwrap_or(0.0)).sum::<f64>() / runs.len() as f64
            };
            mean(&truth) - mode.ideal(f64::from(first), f64::from(2 * largest)) * mean(&all[..runs])
        };
        let most = truth[0].parts.keys().max_by(|one, other| excess(one).total_cmp(&excess(other)));
        named += 1;
        limits += usize::from(most == Some(&found.parts[limit.part].part));
    }
    println!("{programs} programs of known law, predicted on twice the most ranks");
    for (levels, (count, held, mut widths)) in by_levels {
        widths.sort_by(f64::total_cmp);
        let share = 100.0 * held as f64 / count as f64;
        let [median, most] = [widths.len() / 2, widths.len() * 9 / 10].map(|place| 100.0 * widths[place]);
        print!("  {levels} numbers of ranks: held in {held} of {count}, {share:.1} %; ");
        println!("width {median:.0} % in the median, {most:.0} % in nine of ten at most");
    }
    println!("  limits named for sure: {named}, right {limits}");
    println!("  strong or weak told of {told}, right of {right}");
}

fn explained(runs: &[CampaignRun]) -> Why {
    let names = |of: fn(&CampaignRun) -> &String| Values::Names(runs.iter().map(|run| of(run).clone()).collect());
    let factor = |injected: Injected, values| Factor { name: injected.name().to_owned(), values };
    let factors = [
        factor(Injected::Node, Values::Sets(runs.iter().map(|run| run.nodes.clone()).collect())),
        factor(Injected::Start, Values::Times(runs.iter().map(|run| run.started).collect())),
        factor(Injected::Algorithm, names(|run| &run.algorithm)),
        factor(Injected::Interruptions, Values::Numbers(runs.iter().map(|run| -(1.0 - run.off).ln()).collect())),
        factor(Injected::Library, names(|run| &run.library)),
        factor(Injected::Arguments, names(|run| &run.arguments)),
    ];
    explain(&runs.iter().map(|run| run.seconds).collect::<Vec<f64>>(), &factors).expect("runs that differ")
}

fn campaigns(campaigns: usize, effect: f64) {
    let mut random = Random::new(3);
    let mut firsts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let (mut wrong, mut of_nothing) = (0, 0);
    for number in 0..campaigns {
        let injected = Injected::ALL[number % Injected::ALL.len()];
        let runs = 60 + (random.bits() % 141) as usize;
        let found = explained(&campaign(&mut random, injected, runs, effect));
        let first = &found.factors[0];
        let [count, right] = firsts.entry(injected.name()).or_default();
        (*count, *right) = (*count + 1, *right + usize::from(first.is_cause && first.factor == injected.name()));
        wrong += usize::from(found.factors.iter().any(|of| of.is_cause && of.factor != injected.name()));
        let quiet = explained(&campaign(&mut random, Injected::Nothing, runs, effect));
        of_nothing += usize::from(quiet.factors.iter().any(|of| of.is_cause));
    }
    println!(
        "{campaigns} campaigns, the injected factor makes runs slower by {effect} standard deviations of the noise"
    );
    for (name, [count, right]) in &firsts {
        println!("  {name}: first in {right} of {count}");
    }
    let right: usize = firsts.values().map(|[_, right]| right).sum();
    println!("  in all first in {right} of {campaigns}; another one named in {wrong}");
    println!("  without any: one named in {of_nothing} of {campaigns}");
}

fn main() {
    let variable = |name: &str, default: f64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    predictions(variable("PROGRAMS", 1000.0) as usize);
    campaigns(variable("CAMPAIGNS", 500.0) as usize, variable("EFFECT", 4.0));
}
