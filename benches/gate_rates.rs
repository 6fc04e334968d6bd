//! How often a gate is red where nothing has changed, and how often it finds a program that takes 5 % longer, by gates
//! made of recorded runs: `RUNS=FILE cargo bench --bench gate_rates`. FILE has the time of a run on each line, in the
//! order in which they were made.
//!
//! A gate takes twice `SIDE` (10) runs that follow each other and shares them out at random, as `mpitrace gate` does.
//! `GATES` (10000). `SHRINK` (1): the logarithms of the runs are moved towards their median by this divisor, for runs
//! that scatter as a quieter machine's would, with the same tails.

use mpitrace_statistics::comparison::{Decision, gate};
use mpitrace_statistics::median;
use mpitrace_testing::Random;

fn main() {
    let variable = |name: &str, default: usize| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let (gates, side) = (variable("GATES", 10_000), variable("SIDE", 10));
    let file = mpitrace_testing::root().join(std::env::var("RUNS").expect("RUNS names a file"));
    let text = std::fs::read_to_string(&file).expect("the recorded runs");
    let mut runs: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let middle = median(&mut runs.clone()).expect("a run");
    runs.iter_mut().for_each(|run| *run = middle * (*run / middle).powf(1.0 / variable("SHRINK", 1) as f64));
    assert!(runs.len() >= 2 * side, "{} runs in {}", runs.len(), file.display());
    for slower in [1.0, 1.05] {
        let mut random = Random::new(1);
        // By decision; and of those that state that 5 % can be seen, how many there are and how many are red.
        let (mut counts, mut stated, mut red) = ([0usize; 3], 0, 0);
        for _ in 0..gates {
            let first = (random.bits() % (runs.len() - 2 * side + 1) as u64) as usize;
            let mut shuffled = runs[first..first + 2 * side].to_vec();
            (1..shuffled.len())
                .rev()
                .for_each(|last| shuffled.swap(last, (random.bits() % (last as u64 + 1)) as usize));
            let (baseline, now) = shuffled.split_at_mut(side);
            now.iter_mut().for_each(|run| *run *= slower);
            let found = gate(baseline, now);
            counts[found.decision as usize] += 1;
            if found.visible.is_some_and(|visible| visible <= 0.05) {
                stated += 1;
                red += usize::from(found.decision == Decision::Slower);
            }
        }
        let [passed, slower_ones, not_decided] = counts;
        println!("{gates} gates of {side} and {side} runs, the second {:.0} % slower:", 100.0 * (slower - 1.0));
        println!("  passed {passed}, slower {slower_ones}, not-decided {not_decided}");
        println!(
            "  of {stated} that state that 5 % are seen: {red} slower, {:.2} %",
            100.0 * red as f64 / stated.max(1) as f64
        );
    }
}
