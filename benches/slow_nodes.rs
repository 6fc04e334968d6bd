//! How often a slow node is named among the nodes of simulated jobs, after how many of its jobs, and how often another
//! one is: `cargo bench --bench slow_nodes`.
//!
//! Jobs of twelve programs, each on 4 to 16 random nodes of 64. The time for which a node computes in a job is a
//! product: of the imbalance of the node's ranks in the program (10 %), of the job (5 %, Student's t of 3 degrees), of
//! the node (1 %), and of the node in this job (`NOISE`, 2 %, of the same distribution). One node is 5 % slower than
//! the middle of all. The nodes are looked at after each job.
//!
//! `SIMULATIONS` (100) of `JOBS` (500) jobs; `SLOW` (0.05); `NOISE` (0.02); `PROGRAMS` (12), each with one number of
//! nodes and, with `SIZES` more than 1, with so many, of which each has an imbalance of its own.

use std::collections::{BTreeSet, HashMap};

use mpitrace_statistics::jobs::{NodeOfJob, slow_nodes};
use mpitrace_testing::Random;

const NODES: usize = 64;
const LARGEST: usize = 16;

/// Heavy tails: Student's t of 3 degrees, of this standard deviation.
fn heavy(random: &mut Random, deviation: f64) -> f64 {
    let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
    random.normal() / (squares / 3.0).sqrt() * deviation / 3.0f64.sqrt()
}

/// The result of a simulation.
struct Outcome {
    /// The jobs of the slow node until it was named.
    named_after: Option<usize>,
    false_names: usize,
}

/// The numbers of a simulation.
#[derive(Clone, Copy)]
struct Setting {
    jobs: usize,
    slow: f64,
    noise: f64,
    programs: usize,
    sizes: usize,
}

fn simulate(seed: u64, Setting { jobs, slow, noise, programs, sizes }: Setting) -> Outcome {
    let mut random = Random::new(seed);
    let random = &mut random;
    let below = |random: &mut Random, limit: usize| (random.bits() % limit as u64) as usize;
    let mut nodes: Vec<f64> = (0..NODES).map(|_| 0.01 * random.normal()).collect();
    nodes[0] = f64::ln_1p(slow);
    // Sizes and programs together are a group of jobs that can be compared.
    let groups: Vec<usize> = (0..programs * sizes).map(|_| 4 + below(random, LARGEST - 3)).collect();
    let mut imbalance: HashMap<usize, f64> = HashMap::new();
    let mut observed: Vec<Vec<NodeOfJob>> = Vec::new();
    let (mut of_slow, mut named_after, mut false_names) = (0, None, BTreeSet::new());
    for _ in 0..jobs {
        let group = below(random, groups.len());
        let mut all: Vec<usize> = (0..NODES).collect();
        let of_job = heavy(random, 0.05);
        let job = (0..groups[group]).map(|place| {
            all.swap(place, place + below(random, NODES - place));
            let position = group * LARGEST + place;
            let own = *imbalance.entry(position).or_insert_with(|| 0.1 * random.normal());
            let logarithm = of_job + own + nodes[all[place]] + heavy(random, noise);
            NodeOfJob { node: all[place], position, seconds: 100.0 * logarithm.exp() }
        });
        let job: Vec<NodeOfJob> = job.collect();
        of_slow += usize::from(job.iter().any(|of| of.node == 0));
        observed.push(job);
        for found in slow_nodes(&observed) {
            match found.node {
                0 if slow > 0.0 => named_after = named_after.or(Some(of_slow)),
                other => drop(false_names.insert(other)),
            }
        }
    }
    Outcome { named_after, false_names: false_names.len() }
}

fn main() {
    let variable = |name: &str, default: f64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let simulations = variable("SIMULATIONS", 100.0) as u64;
    let setting = Setting {
        jobs: variable("JOBS", 500.0) as usize,
        slow: variable("SLOW", 0.05),
        noise: variable("NOISE", 0.02),
        programs: variable("PROGRAMS", 12.0) as usize,
        sizes: variable("SIZES", 1.0) as usize,
    };
    let Setting { jobs, slow, noise, programs, sizes } = setting;
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let of = |thread: u64| {
            scope.spawn(move || -> Vec<Outcome> {
                (thread..simulations).step_by(2).map(|seed| simulate(seed, setting)).collect()
            })
        };
        let threads = [0, 1].map(of);
        threads.into_iter().flat_map(|thread| thread.join().expect("a simulation")).collect()
    });
    let [slow, noise] = [100.0 * slow, 100.0 * noise];
    println!("{simulations} simulations of {jobs} jobs of {programs} programs of {sizes} sizes each");
    println!("one node {slow:.1} % slow, noise {noise:.1} %");
    let within = |most: usize| outcomes.iter().filter(|one| one.named_after.is_some_and(|after| after <= most)).count();
    for most in [10, 15, 20, 30, usize::MAX] {
        let text = if most == usize::MAX { "all".to_owned() } else { most.to_string() };
        println!("named after at most {text:>3} of its jobs: {:4}", within(most));
    }
    let false_names: usize = outcomes.iter().map(|one| one.false_names).sum();
    println!("other nodes named: {false_names} in {} jobs", simulations * jobs as u64);
}
