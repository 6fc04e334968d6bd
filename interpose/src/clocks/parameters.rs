//! Rank 0's parameters of the synchronisation of the clocks, as it goes to the other ranks.

use mpitrace_synchronise::{Method, Synchronisation};

use crate::base::ticks;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    pub how: Synchronisation,
    /// Seconds between two synchronisations while the program runs; 0: none.
    pub resync_seconds: f64,
    /// The tick at which global time, and simulated clocks, begin.
    pub epoch: u64,
    pub hz: f64,
}

impl Parameters {
    pub const WORDS: usize = 8;

    pub fn new(how: Synchronisation, resync_seconds: f64) -> Parameters {
        Parameters { how, resync_seconds, epoch: ticks::now(), hz: ticks::roughly_hz() }
    }

    pub fn to_words(self) -> [u64; Parameters::WORDS] {
        [
            self.how.method.number().into(),
            self.how.fit_points.into(),
            self.how.exchanges.into(),
            self.how.max_ppm.to_bits().into(),
            self.how.wander_ppb.to_bits().into(),
            self.resync_seconds.to_bits(),
            self.epoch,
            self.hz.to_bits(),
        ]
    }

    /// `None`: no method has this number.
    pub fn of_words(words: &[u64; Parameters::WORDS]) -> Option<Parameters> {
        let [method, fit_points, exchanges, max_ppm, wander_ppb, resync, epoch, hz] = *words;
        let how = Synchronisation {
            method: Method::numbered(method as u32)?,
            fit_points: fit_points as u32,
            exchanges: exchanges as u32,
            max_ppm: f32::from_bits(max_ppm as u32),
            wander_ppb: f32::from_bits(wander_ppb as u32),
        };
        Some(Parameters { how, resync_seconds: f64::from_bits(resync), epoch, hz: f64::from_bits(hz) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_survive_the_message() {
        let how = Synchronisation { max_ppm: 101.0, wander_ppb: 0.1, ..Synchronisation::new(Method::Hca3) };
        let said = Parameters { how, resync_seconds: -1.0, epoch: u64::MAX - 5, hz: 2.5e9 };
        assert_eq!(Parameters::of_words(&said.to_words()), Some(said));
        assert_eq!(Parameters::of_words(&[99, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
