//! Simulated programs of known law: how often the prediction and what it says of them holds.

use mpitrace_testing::Random;
use mpitrace_testing::scaled_programs::{CostLaw, ScaledProgram};

use crate::facts::{Kind, PartKey, RunFacts};
use crate::facts_tests::facts;
use crate::{Law, Mode, Refusal, Scaling};

/// Results of many programs.
#[derive(Debug, Default)]
struct Held {
    programs: usize,
    predicted: usize,
    /// The widths of the intervals over the predictions.
    widths: Vec<f64>,
    /// Programs of which one limit was named for sure, and of these the ones of which it is right.
    named: usize,
    right: usize,
}

fn simulate(programs: usize, seed: u64) -> Held {
    let mut random = Random::new(seed);
    let mut held = Held { programs, ..Held::default() };
    for _ in 0..programs {
        let first = 1 << (random.bits() % 3);
        let levels = 3 + (random.bits() % 3) as u32;
        let runs = 2 + (random.bits() % 4) as usize;
        let ranks: Vec<u32> = (0..levels).map(|level| first << level).collect();
        let largest = ranks[ranks.len() - 1];
        let program = ScaledProgram::random(&mut random, largest);
        let all = ranks.iter().flat_map(|&ranks| vec![ranks; runs]);
        let all: Vec<RunFacts> = all.map(|ranks| facts(&program.run(ranks, &mut random))).collect();
        let mode = if program.is_weak { Mode::Weak } else { Mode::Strong };
        let found = Scaling::new(&all, Some(mode), None).unwrap();
        let prediction = found.prediction.unwrap();
        let truth: Vec<RunFacts> = (0..20).map(|_| facts(&program.run(2 * largest, &mut random))).collect();
        let [low, high] = prediction.seconds.interval.unwrap();
        held.predicted += usize::from(low <= truth[0].seconds && truth[0].seconds <= high);
        held.widths.push((high - low) / prediction.seconds.value);
        let Some(limit) = prediction.limits.first().filter(|limit| limit.probability >= 0.95) else { continue };
        let excess = |key: &PartKey| {
            let mean = |runs: &[RunFacts]| {
                runs.iter().map(|run| run.parts.get(key).copied().unwrap_or(0.0)).sum::<f64>() / runs.len() as f64
            };
            let ideal = mode.ideal(f64::from(ranks[0]), f64::from(2 * largest));
            mean(&truth) - ideal * mean(&all[..runs])
        };
        let named = &found.parts[limit.part].part;
        let most = truth[0].parts.keys().max_by(|one, other| excess(one).total_cmp(&excess(other))).unwrap();
        held.named += 1;
        held.right += usize::from(named == most);
    }
    held.widths.sort_by(f64::total_cmp);
    held
}

#[test]
fn a_prediction_holds_in_95_of_100_programs_and_its_limit_is_right() {
    let held = simulate(200, 1);
    let Held { programs, predicted, widths, named, right } = &held;
    println!("{predicted} of {programs}, median width {:.3}, limits {right} of {named}", widths[programs / 2]);
    assert!(100 * predicted >= 95 * programs, "{predicted} of {programs}");
    assert!(widths[programs / 2] < 0.4, "the intervals say something: {held:?}");
    assert!(2 * named > *programs && 100 * right >= 95 * named, "{held:?}");
}

#[test]
fn the_law_of_a_part_and_its_exponent_are_found() {
    let call = |function, seconds, power, logarithms| CostLaw { function, seconds, power, logarithms };
    let calls = vec![call("MPI_Alltoall", 0.02, 1.0, 0), call("MPI_Allreduce", 0.1, 0.0, 1)];
    let program = ScaledProgram {
        is_weak: false,
        work_s: 40.0,
        serial_s: 0.0,
        imbalance: 0.0,
        calls,
        speed_noise: 0.005,
        call_noise: 0.01,
    };
    let mut random = Random::new(5);
    let runs = [1u32, 2, 4, 8, 16, 32].iter().flat_map(|&ranks| [ranks; 5]);
    let runs: Vec<RunFacts> = runs.map(|ranks| facts(&program.run(ranks, &mut random))).collect();
    let found = Scaling::new(&runs, None, Some(128)).unwrap();
    assert_eq!((found.mode.mode, found.mode.is_given), (Mode::Strong, false));
    let part = |kind: Kind, function: Option<&str>| {
        found.parts.iter().find(|part| part.part.kind == kind && part.part.function.as_deref() == function).unwrap()
    };
    for (part, law, power) in [
        (part(Kind::Computing, None), Law::Inverse, -1.0),
        (part(Kind::Calls, Some("MPI_Alltoall")), Law::Linear, 1.0),
        (part(Kind::Calls, Some("MPI_Allreduce")), Law::Logarithm, 0.5),
    ] {
        assert_eq!(part.growth.laws[0].law, law, "{part:?}");
        let exponent = part.growth.exponent.unwrap();
        let [low, high] = exponent.interval.unwrap();
        assert!(low < exponent.value && exponent.value < high && high - low < 0.3, "{part:?}");
        // log2 p is no power of p: near 0.5 between 2 and 32.
        assert!((exponent.value - power).abs() < if law == Law::Logarithm { 0.2 } else { 0.02 }, "{part:?}");
    }
    let prediction = found.prediction.as_ref().unwrap();
    assert_eq!((prediction.ranks, prediction.seconds.interval.is_some()), (128, true));
    assert_eq!(found.parts[prediction.limits[0].part].part.function.as_deref(), Some("MPI_Alltoall"));
    let seconds = 40.0 / 128.0 + 0.02 * 128.0 + 0.1 * 7.0;
    assert!((prediction.seconds.value / seconds - 1.0).abs() < 0.05, "{prediction:?}");
    // What it takes on one rank over what it takes there.
    assert!((prediction.speedup.value / (40.0 / seconds) - 1.0).abs() < 0.05, "{prediction:?}");
    assert!((prediction.efficiency.value / (40.0 / seconds / 128.0) - 1.0).abs() < 0.05, "{prediction:?}");
}

#[test]
fn single_runs_say_less_and_one_number_of_ranks_nothing() {
    let mut random = Random::new(9);
    let program = ScaledProgram::random(&mut random, 8);
    let mode = Some(if program.is_weak { Mode::Weak } else { Mode::Strong });
    let mut of = |ranks: &[u32]| ranks.iter().map(|&ranks| facts(&program.run(ranks, &mut random))).collect::<Vec<_>>();
    assert_eq!(Scaling::new(&of(&[4, 4, 4]), mode, None).err(), Some(Refusal::OneNumber(4)));
    let two = Scaling::new(&of(&[2, 4]), mode, None).unwrap();
    assert!(two.prediction.is_none() && two.prediction_unknown.is_some());
    assert!(two.levels.iter().all(|level| level.seconds.interval.is_none()));
    assert!(two.parts.iter().all(|part| part.predicted_s.is_none() && part.excess_s.interval.is_none()));
    let three = Scaling::new(&of(&[2, 4, 8]), mode, None).unwrap();
    assert!(three.prediction.is_some_and(|found| found.seconds.interval.is_some() && found.ranks == 16));
    // Twice on two numbers of ranks: the laws differ, so the interval is wide.
    let repeated = Scaling::new(&of(&[2, 2, 2, 4, 4, 4]), mode, None).unwrap();
    assert!(repeated.prediction.is_some_and(|found| found.seconds.interval.is_some()));
}

#[test]
fn the_efficiencies_are_those_of_the_runs_with_intervals_from_their_repetition() {
    let mut random = Random::new(3);
    let program = ScaledProgram::random(&mut random, 8);
    let mode = if program.is_weak { Mode::Weak } else { Mode::Strong };
    let runs: Vec<RunFacts> =
        [1u32, 1, 1, 8, 8, 8].iter().map(|&ranks| facts(&program.run(ranks, &mut random))).collect();
    let found = Scaling::new(&runs, Some(mode), None).unwrap();
    let [first, last] = &found.levels[..] else { panic!("{found:?}") };
    assert_eq!((first.ranks, first.runs, last.ranks, last.runs), (1, 3, 8, 3));
    assert_eq!((first.speedup.value, first.computation_scaling.value), (1.0, 1.0));
    let [one, other] = [last.load_balance, last.communication_efficiency];
    assert!((one.value * other.value / last.parallel_efficiency.value - 1.0).abs() < 1e-12);
    let product = last.parallel_efficiency.value * last.computation_scaling.value;
    assert!((product / last.global_efficiency.value - 1.0).abs() < 1e-12, "{last:?}");
    for estimate in [last.seconds, last.speedup, last.global_efficiency, last.load_balance] {
        let [low, high] = estimate.interval.unwrap();
        assert!(low < estimate.value && estimate.value < high, "{last:?}");
    }
    assert_eq!((last.transfer, last.instruction_scaling), (None, None));
}
