//! Families of simulated programs in which one rank is delayed. `random` makes the program, `noise` its single times:
//! the same program runs again with another noise.

use crate::Random;
use crate::simulator::{Action, Program, noisy};

/// A program, and the rank that is delayed in it.
pub struct Delayed {
    /// The program.
    pub program: Program,
    /// The rank.
    pub rank: usize,
    /// It sleeps; else it computes for longer.
    pub asleep: bool,
}

/// How the ranks compute between their calls.
struct Work {
    ns: f64,
    sigma: f64,
    rank: usize,
    /// So long, in a share of the steps, with so much noise.
    delay: (f64, f64, f64),
    asleep: bool,
}

impl Work {
    /// Delays of 20 to 200 % of the computing, in all steps or in a tenth and more of them.
    fn new(random: &mut Random, ranks: usize) -> Work {
        let ns = between(random, 5e4, 2e6);
        let share = if random.uniform() < 0.5 { 1.0 } else { between(random, 0.1, 0.6) };
        Work {
            ns,
            sigma: between(random, 0.005, 0.1),
            rank: (random.uniform() * ranks as f64) as usize,
            delay: (ns * between(random, 0.2, 2.0), share, between(random, 0.0, 0.3)),
            asleep: random.uniform() < 0.4,
        }
    }

    fn action(&self, noise: &mut Random, rank: usize) -> Action {
        let ns = noisy(noise, self.ns, self.sigma);
        let (delay, share, sigma) = self.delay;
        let is_delayed = noise.uniform() < share;
        let delay = noisy(noise, delay, sigma);
        let delay = if rank == self.rank && is_delayed { delay } else { 0.0 };
        if self.asleep { Action::Sleep(ns, delay) } else { Action::Compute(ns, delay) }
    }

    fn done(self, program: Program) -> Delayed {
        Delayed { program, rank: self.rank, asleep: self.asleep }
    }
}

fn between(random: &mut Random, least: f64, most: f64) -> f64 {
    least + (most - least) * random.uniform()
}

/// All compute, and all meet in one of three calls. With a second communicator of half of the ranks in one of three
/// programs.
pub fn bulk_synchronous(random: &mut Random, noise: &mut Random) -> Delayed {
    let ranks = 2 + (random.uniform() * 7.0) as usize;
    let mut program = Program::new(ranks);
    let work = Work::new(random, ranks);
    let world: Vec<usize> = (0..ranks).collect();
    let functions = ["MPI_Allreduce", "MPI_Barrier", "MPI_Alltoall"];
    let calls = functions.map(|function| program.operation(function, None, world.clone()));
    let half = (ranks > 3 && random.uniform() < 0.34)
        .then(|| program.operation("MPI_Allreduce", None, (0..ranks / 2).collect()));
    let cost = between(random, 2e3, 1e5);
    let kinds = 1 + (random.uniform() * 3.0) as usize;
    for step in 0..100 + (random.uniform() * 300.0) as usize {
        for rank in 0..ranks {
            let action = work.action(noise, rank);
            program.ranks[rank].push(action);
        }
        if let Some(half) = half {
            program.all(half, || noisy(noise, cost, 0.1));
        }
        program.all(calls[step % kinds], || noisy(noise, cost, 0.1));
    }
    work.done(program)
}

/// How a delay differs from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying {
    /// From none at first to twice the mean at the end.
    Growing,
    /// The other way round.
    Shrinking,
    /// Exponentially distributed.
    Exponential,
    /// Anything from 0 to twice the mean.
    Uniform,
    /// A quarter of the mean or seven quarters of it.
    Bimodal,
    /// One length, of a rank that is drawn in each step.
    RandomRank,
    /// Ten times as long, in one step of ten.
    OneInTen,
}

impl Varying {
    /// Each of them.
    pub const ALL: [Varying; 7] = [
        Varying::Growing,
        Varying::Shrinking,
        Varying::Exponential,
        Varying::Uniform,
        Varying::Bimodal,
        Varying::RandomRank,
        Varying::OneInTen,
    ];

    /// The delay of the step at this share of the run, of a mean of 1.
    fn of_step(self, random: &mut Random, share: f64) -> f64 {
        let drawn = random.uniform();
        match self {
            Varying::Growing => 2.0 * share,
            Varying::Shrinking => 2.0 - 2.0 * share,
            Varying::Exponential => -(1.0 - drawn).ln(),
            Varying::Uniform => 2.0 * drawn,
            Varying::Bimodal => f64::from(u8::from(drawn < 0.5)) * 1.5 + 0.25,
            Varying::RandomRank => 1.0,
            Varying::OneInTen => f64::from(u8::from(drawn < 0.1)) * 10.0,
        }
    }
}

/// All compute and meet; one rank computes for longer, by a delay that varies.
pub fn varying(how: Varying, random: &mut Random, noise: &mut Random) -> Delayed {
    let ranks = 2 + (random.uniform() * 7.0) as usize;
    let mut program = Program::new(ranks);
    let work = Work { asleep: false, ..Work::new(random, ranks) };
    let meet = program.operation("MPI_Allreduce", None, (0..ranks).collect());
    let cost = between(random, 2e3, 1e5);
    let steps = 200 + (random.uniform() * 300.0) as usize;
    for step in 0..steps {
        let delay = work.delay.0 * how.of_step(random, step as f64 / steps as f64);
        let drawn = (random.uniform() * ranks as f64) as usize;
        let late = if how == Varying::RandomRank { drawn } else { work.rank };
        for rank in 0..ranks {
            let ns = noisy(noise, work.ns, work.sigma);
            program.ranks[rank].push(Action::Compute(ns, if rank == late { delay } else { 0.0 }));
        }
        program.all(meet, || noisy(noise, cost, 0.1));
    }
    work.done(program)
}

/// All compute, exchange messages with their neighbours in a ring, and meet.
pub fn halo(random: &mut Random, noise: &mut Random) -> Delayed {
    exchanging(random, noise, 1)
}

/// All compute and exchange messages with their neighbours in a ring, two to five times before they meet.
pub fn several_halos(random: &mut Random, noise: &mut Random) -> Delayed {
    let steps = 2 + (random.uniform() * 4.0) as usize;
    exchanging(random, noise, steps)
}

fn exchanging(random: &mut Random, noise: &mut Random, steps: usize) -> Delayed {
    let ranks = 2 + (random.uniform() * 7.0) as usize;
    let mut program = Program::new(ranks);
    let work = Work::new(random, ranks);
    let meet = program.operation("MPI_Allreduce", None, (0..ranks).collect());
    let cost = between(random, 2e3, 1e5);
    for step in 0..100 + (random.uniform() * 300.0) as usize {
        for rank in 0..ranks {
            let action = work.action(noise, rank);
            let mut neighbours = vec![(rank + ranks - 1) % ranks, (rank + 1) % ranks];
            neighbours.dedup();
            let actions = &mut program.ranks[rank];
            actions.push(action);
            actions.extend(neighbours.iter().map(|&to| Action::Send(to, noisy(noise, cost, 0.1))));
            actions.extend(neighbours.iter().map(|&from| Action::Receive(from)));
        }
        if step % steps == 0 {
            program.all(meet, || noisy(noise, cost, 0.1));
        }
    }
    work.done(program)
}

/// All compute and meet; in some steps, or in all, the root broadcasts along a tree, or all reduce to it, or both.
pub fn rooted(random: &mut Random, noise: &mut Random) -> Delayed {
    let ranks = 2 + (random.uniform() * 7.0) as usize;
    let mut program = Program::new(ranks);
    let work = Work::new(random, ranks);
    let world: Vec<usize> = (0..ranks).collect();
    let root = Some((random.uniform() * ranks as f64) as i32);
    let [down, up] = ["MPI_Bcast", "MPI_Reduce"].map(|function| program.operation(function, root, world.clone()));
    let meet = program.operation("MPI_Allreduce", None, world);
    let cost = between(random, 2e3, 1e5);
    let kind = (random.uniform() * 3.0) as usize;
    let seldom = 1 + (random.uniform() * 100.0) as usize;
    for step in 0..100 + (random.uniform() * 300.0) as usize {
        for rank in 0..ranks {
            let action = work.action(noise, rank);
            program.ranks[rank].push(action);
        }
        if kind != 1 && step % seldom == 0 {
            program.broadcast(down, || noisy(noise, cost, 0.1));
        }
        if kind != 0 && step % seldom == 0 {
            program.reduce(up, || noisy(noise, cost, 0.1));
        }
        program.all(meet, || noisy(noise, cost, 0.1));
    }
    work.done(program)
}
