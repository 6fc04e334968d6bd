//! Random numbers, and how long messages take.

use std::f64::consts::TAU;

use super::READING_NS;

/// Above so many expected events their sum is as good as normal.
const MANY: f64 = 50.0;

/// SplitMix64: good enough for errors, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0, up to 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Between -1 and 1.
    pub fn either_way(&mut self) -> f64 {
        2.0 * self.uniform() - 1.0
    }

    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (TAU * self.uniform()).cos()
    }
}

/// How long a message takes, ns.
pub struct Delays {
    pub base: f64,
    pub jitter: f64,
    pub tail_share: f64,
    pub tail: f64,
}

impl Delays {
    /// By how much the quickest of so many messages takes longer than the least. The least of n exponentials is an
    /// exponential of an n-th of the mean, and those in the tail are never it.
    pub fn least_excess(&self, random: &mut Random, count: f64) -> f64 {
        random.exponential() * self.jitter / (count * (1.0 - self.tail_share))
    }

    /// How long so many messages take, one after the other, s. The sum of many exponentials is as good as normal; those
    /// in the tail are few and long, so they are drawn one by one unless they are many, too.
    pub fn total(&self, random: &mut Random, count: u32) -> f64 {
        let count = f64::from(count);
        let jitter = (count + count.sqrt() * random.normal()).max(0.0) * self.jitter;
        let expected = count * self.tail_share;
        let mut tails = 0.0;
        if expected > MANY {
            tails = (expected + (2.0 * expected).sqrt() * random.normal()).max(0.0);
        } else {
            let mut passed = random.exponential();
            while passed < expected {
                tails += random.exponential();
                passed += random.exponential();
            }
        }
        (count * self.base + jitter + tails * self.tail) * 1e-9
    }
}

/// The error of the offset between two nodes.
#[derive(Clone, Copy, PartialEq)]
pub enum EdgeError {
    /// Normal, with this standard deviation, ns.
    Normal(f64),
    /// As the delays have it.
    Delays,
}

impl EdgeError {
    /// The middle of the tightest bounds of so many exchanges.
    pub fn draw(self, random: &mut Random, delays: &Delays, exchanges: f64) -> f64 {
        match self {
            EdgeError::Normal(deviation) => deviation * random.normal(),
            EdgeError::Delays => {
                (delays.least_excess(random, exchanges) - delays.least_excess(random, exchanges)) / 2.0
            }
        }
    }

    /// Its variance as the joint method would take it.
    pub fn variance(self, delays: &Delays, exchanges: f64) -> f64 {
        match self {
            EdgeError::Normal(deviation) => deviation * deviation,
            EdgeError::Delays => READING_NS.powi(2) + (delays.jitter / exchanges).powi(2),
        }
    }
}
