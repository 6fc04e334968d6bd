//! The clocks of the nodes, and the settings that they follow from.

use std::f64::consts::TAU;

use super::random::{Delays, Random};

/// A clock against that of node 0.
#[derive(Clone, Copy, Default)]
pub struct NodeClock {
    /// ns per s.
    pub drift: f64,
    /// By which its rate swings, ns per s.
    pub wander: f64,
    /// Radians per s.
    pub turning: f64,
    pub turned: f64,
    /// By how much it sends more slowly than it receives, ns.
    pub asymmetry: f64,
}

impl NodeClock {
    /// By how much it is ahead of what it was when it was set, ns.
    pub fn ahead(&self, at: f64) -> f64 {
        self.drift * at - self.wander / self.turning.max(f64::MIN_POSITIVE) * (self.turning * at + self.turned).cos()
    }

    pub fn rate(&self, at: f64) -> f64 {
        self.drift + self.wander * (self.turning * at + self.turned).sin()
    }
}

pub struct Settings {
    pub delays: Delays,
    pub drift_ppm: f64,
    pub wander_ppb: f64,
    pub period_s: f64,
    pub interval_s: f64,
    pub seconds: f64,
    pub seed: u64,
    pub verbose: bool,
}

impl Settings {
    pub fn clocks(&self, nodes: usize, asymmetry: f64) -> Vec<NodeClock> {
        let mut random = Random(self.seed);
        let mut clocks: Vec<NodeClock> = (0..nodes)
            .map(|_| NodeClock {
                drift: self.drift_ppm * 1e3 * random.either_way(),
                wander: self.wander_ppb,
                turning: TAU / self.period_s,
                turned: TAU * random.uniform(),
                asymmetry: asymmetry * random.either_way(),
            })
            .collect();
        clocks[0] = NodeClock { asymmetry: clocks[0].asymmetry, ..NodeClock::default() };
        clocks
    }
}
