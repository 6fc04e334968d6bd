//! Programs that run on any number of ranks by laws that are known: what a run takes is drawn from these, rank by rank,
//! so that the time on a number of ranks that was not looked at is known without any analysis.

use crate::Random;

/// The cost of the calls of a function on p ranks: seconds x p^power x (log2 p)^logarithms; on one rank nothing.
#[derive(Clone, Copy, Debug)]
pub struct CostLaw {
    /// The function.
    pub function: &'static str,
    /// The factor, s.
    pub seconds: f64,
    /// The power of p.
    pub power: f64,
    /// The power of log2 p.
    pub logarithms: i32,
}

impl CostLaw {
    /// The cost on so many ranks, s.
    pub fn cost(&self, ranks: u32) -> f64 {
        let p = f64::from(ranks);
        if ranks < 2 { 0.0 } else { self.seconds * p.powf(self.power) * p.log2().powi(self.logarithms) }
    }
}

/// A program.
#[derive(Clone, Debug)]
pub struct ScaledProgram {
    /// True: each rank has the work below, else all together.
    pub is_weak: bool,
    /// Work, s.
    pub work_s: f64,
    /// The work that each rank does again, s.
    pub serial_s: f64,
    /// The standard deviation of a rank's work, as a share; ranks meet in the first function.
    pub imbalance: f64,
    /// The functions that it calls.
    pub calls: Vec<CostLaw>,
    /// The standard deviation of the speed of a run, as a share, ...
    pub speed_noise: f64,
    /// ... and of the cost of each function in a run.
    pub call_noise: f64,
}

/// A run of a program; times in s.
#[derive(Clone, Debug)]
pub struct ScaledRun {
    /// The ranks.
    pub ranks: u32,
    /// From the beginning to the end.
    pub seconds: f64,
    /// For how long each rank computes.
    pub computing_s: Vec<f64>,
    /// Waiting for the slowest rank, in the mean, in calls of the first function.
    pub waiting_s: f64,
    /// The cost of each function.
    pub calls_s: Vec<(&'static str, f64)>,
}

impl ScaledProgram {
    /// A random program, whose costs on `ranks` ranks are between some per cent of the work and as much.
    pub fn random(random: &mut Random, ranks: u32) -> ScaledProgram {
        let between = |random: &mut Random, low: f64, high: f64| low + (high - low) * random.uniform();
        let is_weak = random.uniform() < 0.4;
        let work_s = between(random, 5.0, 50.0);
        let of_rank = if is_weak { work_s } else { work_s / f64::from(ranks) };
        let laws = [(0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1), (0.5, 0), (2.0 / 3.0, 0), (0.0, 2)];
        let functions = ["MPI_Allreduce", "MPI_Alltoall", "MPI_Bcast"];
        let count = 1 + (random.bits() % 3) as usize;
        let calls = functions[..count].iter().map(|&function| {
            // One in five grows by a power that is no usual one.
            let (power, logarithms) = match random.bits() % 5 {
                0 => (1.2 * random.uniform(), 0),
                _ => laws[(random.bits() % laws.len() as u64) as usize],
            };
            let law = CostLaw { function, seconds: 1.0, power, logarithms };
            // From 1 % to as much as the work, evenly in logarithms.
            let share = 10f64.powf(between(random, -2.0, 0.0));
            CostLaw { seconds: share * of_rank / law.cost(ranks), ..law }
        });
        let calls = calls.collect();
        ScaledProgram {
            is_weak,
            work_s,
            serial_s: if random.uniform() < 0.5 { 0.0 } else { between(random, 0.0, 0.3) * of_rank },
            imbalance: between(random, 0.0, 0.05),
            calls,
            speed_noise: 10f64.powf(between(random, -2.5, -1.5)),
            call_noise: 10f64.powf(between(random, -2.0, -1.0)),
        }
    }

    /// A run on so many ranks.
    pub fn run(&self, ranks: u32, random: &mut Random) -> ScaledRun {
        let p = f64::from(ranks);
        let of_rank = self.serial_s + if self.is_weak { self.work_s } else { self.work_s / p };
        let speed = (self.speed_noise * random.normal()).exp();
        let computing_s: Vec<f64> =
            (0..ranks).map(|_| of_rank * speed * (1.0 + self.imbalance * random.normal()).max(0.1)).collect();
        let slowest = computing_s.iter().copied().fold(0.0, f64::max);
        let waiting_s = slowest - computing_s.iter().sum::<f64>() / p;
        let cost = |law: &CostLaw| (law.function, law.cost(ranks) * (self.call_noise * random.normal()).exp());
        let calls_s: Vec<(&'static str, f64)> = self.calls.iter().map(cost).collect();
        let seconds = slowest + calls_s.iter().map(|(_, seconds)| seconds).sum::<f64>();
        ScaledRun { ranks, seconds, computing_s, waiting_s, calls_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_what_the_laws_say() {
        let calls = vec![CostLaw { function: "MPI_Bcast", seconds: 0.5, power: 1.0, logarithms: 1 }];
        let exact = ScaledProgram {
            is_weak: false,
            work_s: 16.0,
            serial_s: 1.0,
            imbalance: 0.0,
            calls,
            speed_noise: 0.0,
            call_noise: 0.0,
        };
        let mut random = Random::new(1);
        let times = [1, 2, 8].map(|ranks| exact.run(ranks, &mut random).seconds);
        assert_eq!(times, [17.0, 1.0 + 8.0 + 1.0, 1.0 + 2.0 + 12.0]);
        assert_eq!(ScaledProgram { is_weak: true, ..exact }.run(8, &mut random).seconds, 17.0 + 12.0);
    }
}
