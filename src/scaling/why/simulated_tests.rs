//! Simulated campaigns: how often the injected factor comes first, and another one is taken for a cause.

use mpitrace_testing::Random;
use mpitrace_testing::campaigns::{CampaignRun, Injected, campaign};

use super::*;

fn factors(runs: &[CampaignRun]) -> Vec<Factor> {
    let names = |of: fn(&CampaignRun) -> &String| Values::Names(runs.iter().map(|run| of(run).clone()).collect());
    let of = |injected: Injected, values| Factor { name: injected.name().to_owned(), values };
    vec![
        of(Injected::Node, Values::Sets(runs.iter().map(|run| run.nodes.clone()).collect())),
        of(Injected::Start, Values::Times(runs.iter().map(|run| run.started).collect())),
        of(Injected::Algorithm, names(|run| &run.algorithm)),
        of(Injected::Interruptions, Values::Numbers(runs.iter().map(|run| -(1.0 - run.off).ln()).collect())),
        of(Injected::Library, names(|run| &run.library)),
        of(Injected::Arguments, names(|run| &run.arguments)),
    ]
}

fn explained(runs: &[CampaignRun]) -> Why {
    explain(&runs.iter().map(|run| run.seconds).collect::<Vec<f64>>(), &factors(runs)).unwrap()
}

#[test]
fn the_injected_factor_comes_first_and_others_do_not() {
    let mut random = Random::new(7);
    // `cargo bench --bench scaling` has 500.
    let (campaigns, mut first, mut wrong) = (60, 0, 0);
    for number in 0..campaigns {
        let injected = Injected::ALL[number % Injected::ALL.len()];
        let runs = 60 + (random.bits() % 140) as usize;
        let found = explained(&campaign(&mut random, injected, runs, 4.0));
        let is_first = found.factors[0].is_cause && found.factors[0].factor == injected.name();
        first += usize::from(is_first);
        wrong += usize::from(found.factors.iter().any(|of| of.is_cause && of.factor != injected.name()));
        if !is_first {
            println!("{injected:?}: {found:?}");
        }
    }
    println!("{first} first, {wrong} wrong, of {campaigns}");
    assert!(100 * first >= 95 * campaigns && wrong <= 1, "{first} first, {wrong} wrong");
}

#[test]
fn of_runs_that_differ_by_chance_nothing_is_said() {
    let mut random = Random::new(11);
    for _ in 0..10 {
        let found = explained(&campaign(&mut random, Injected::Nothing, 80, 0.0));
        assert!(found.factors.iter().all(|of| !of.is_cause && of.p > LEVEL), "{found:?}");
        assert!(found.explained.abs() < 1e-9 && found.deviation > 0.0);
    }
    assert_eq!(explain(&[1.0; 40], &[]), None, "they do not differ");
    assert_eq!(explain(&[1.0, 2.0, 3.0], &[]), None, "they are few");
}

#[test]
fn a_node_has_its_contrast_and_what_goes_along_is_told_apart_as_far_as_it_can_be() {
    let mut random = Random::new(13);
    let runs = campaign(&mut random, Injected::Node, 150, 6.0);
    let node = &explained(&runs).factors[0];
    let contrast = node.contrast.as_ref().unwrap();
    assert_eq!((contrast.value.as_str(), node.factor.as_str()), ("n0", "node"));
    let [low, high] = contrast.longer.interval.unwrap();
    assert!(low > 0.03 && low < contrast.longer.value && contrast.longer.value < high, "{contrast:?}");
    // The runs on that node all have an algorithm of their own.
    let both: Vec<CampaignRun> = runs
        .into_iter()
        .map(|run| {
            let algorithm = if run.nodes.contains(&"n0".to_owned()) { "linear" } else { "ring" };
            CampaignRun { algorithm: algorithm.to_owned(), ..run }
        })
        .collect();
    let found = explained(&both);
    let [first, along] = ["node", "algorithm"].map(|name| found.factors.iter().find(|of| of.factor == name).unwrap());
    let (first, along) = if first.is_cause { (first, along) } else { (along, first) };
    assert!(first.is_cause && !along.is_cause, "{found:?}");
    assert_eq!(along.goes_along.as_ref(), Some(&first.factor));
}
