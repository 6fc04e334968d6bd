//! Campaigns: many runs of one program of which it is known what makes them slower, and what does not.

use crate::Random;

/// The reason why runs of a campaign differ, beside noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// One node is slower.
    Node,
    /// All is slower since a day, slower from day to day, or slower by day than by night.
    Start,
    /// One of the algorithms is slower.
    Algorithm,
    /// Ranks are off their processors for a share of the time.
    Interruptions,
    /// One of the builds of the library is slower.
    Library,
    /// One of the inputs takes longer.
    Arguments,
    /// Nothing does.
    Nothing,
}

impl Injected {
    /// All of them that are something.
    pub const ALL: [Injected; 6] = [
        Injected::Node,
        Injected::Start,
        Injected::Algorithm,
        Injected::Interruptions,
        Injected::Library,
        Injected::Arguments,
    ];

    /// The name of the factor.
    pub fn name(self) -> &'static str {
        match self {
            Injected::Node => "node",
            Injected::Start => "start time",
            Injected::Algorithm => "algorithm",
            Injected::Interruptions => "interruptions",
            Injected::Library => "library",
            Injected::Arguments => "arguments",
            Injected::Nothing => "nothing",
        }
    }
}

/// A run.
#[derive(Clone, Debug)]
pub struct CampaignRun {
    /// Its time, s.
    pub seconds: f64,
    /// Its nodes.
    pub nodes: Vec<String>,
    /// When it began, s since 1970.
    pub started: i64,
    /// The algorithm that the library took.
    pub algorithm: String,
    /// The share of the time off the processor, 0 to 1.
    pub off: f64,
    /// The build of the library.
    pub library: String,
    /// The arguments.
    pub arguments: String,
}

/// A campaign of so many runs on 1 to 4 of 16 nodes, in four weeks. Times scatter as Student's t of 3 degrees with a
/// standard deviation of 1 to 4 %; what is injected makes some of the runs `effect` such deviations slower.
pub fn campaign(random: &mut Random, injected: Injected, runs: usize, effect: f64) -> Vec<CampaignRun> {
    const NODES: u64 = 16;
    const WEEKS_S: f64 = 28.0 * 86_400.0;
    let deviation = 0.01 + 0.03 * random.uniform();
    let slower = effect * deviation;
    let on_each = 1 + random.bits() % 4;
    let kind = random.bits() % 3;
    // A library is replaced on a day, or chosen by whoever runs.
    let (is_replaced, replaced) = (random.bits().is_multiple_of(2), 0.3 + 0.4 * random.uniform());
    let since = 0.25 + 0.5 * random.uniform();
    let runs = (0..runs).map(|_| {
        let mut pick = |below: u64| random.bits() % below;
        let mut nodes: Vec<u64> = Vec::new();
        while (nodes.len() as u64) < on_each {
            let node = pick(NODES);
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        let (algorithm, library, arguments) = (pick(2), pick(2), pick(3));
        let at = random.uniform();
        let library = if is_replaced { u64::from(at > replaced) } else { library };
        // Some of the runs share their node.
        let is_shared = random.uniform() < 0.3;
        let mut off = 0.001 * random.gamma(1.0);
        if injected == Injected::Interruptions && is_shared {
            off += 2.0 * slower * random.uniform();
        }
        let started = (1_790_000_000.0 + at * WEEKS_S) as i64;
        let hour = started.rem_euclid(86_400) as f64 / 3600.0;
        let is_slow = match injected {
            Injected::Node => f64::from(u8::from(nodes.contains(&0))),
            Injected::Start => match kind {
                0 => f64::from(u8::from(at > since)),
                1 => 2.0 * at,
                _ => 1.0 + (std::f64::consts::TAU * hour / 24.0).sin(),
            },
            Injected::Algorithm => algorithm as f64,
            Injected::Library => library as f64,
            Injected::Arguments => f64::from(u8::from(arguments == 1)),
            Injected::Interruptions | Injected::Nothing => 0.0,
        };
        let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
        let noise = random.normal() / (squares / 3.0).sqrt() * deviation / 3f64.sqrt();
        CampaignRun {
            seconds: 100.0 * (noise + slower * is_slow).exp() / (1.0 - off),
            nodes: nodes.iter().map(|node| format!("n{node}")).collect(),
            started,
            algorithm: ["ring", "recursive_doubling"][algorithm as usize].to_owned(),
            off,
            library: ["5.0.6", "5.0.7"][library as usize].to_owned(),
            arguments: ["-n 10", "-n 20", "-n 30"][arguments as usize].to_owned(),
        }
    });
    runs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_the_injected_value_are_slower_and_others_are_not() {
        let mut random = Random::new(3);
        let mean = |runs: &[CampaignRun], is: &dyn Fn(&CampaignRun) -> bool| {
            let of: Vec<f64> = runs.iter().filter(|run| is(run)).map(|run| run.seconds.ln()).collect();
            of.iter().sum::<f64>() / of.len() as f64
        };
        let runs = campaign(&mut random, Injected::Algorithm, 400, 3.0);
        let by = |is: &dyn Fn(&CampaignRun) -> bool| mean(&runs, is) - mean(&runs, &|run| !is(run));
        assert!(by(&|run| run.algorithm != "ring") > 0.025);
        assert!(by(&|run| run.nodes.contains(&"n0".to_owned())).abs() < 0.03);
        let quiet = campaign(&mut random, Injected::Nothing, 400, 3.0);
        let difference = mean(&quiet, &|run| run.algorithm == "ring") - mean(&quiet, &|run| run.algorithm != "ring");
        assert!(difference.abs() < 0.01, "{difference}");
    }
}
