//! SimulatedClock clocks, for tests: each a function of the true tick, which the trace keeps beside it. So the true
//! error of a global time can be told, which no real cluster can show.

use std::f64::consts::{PI, TAU};

use crate::decimal;

/// A simulated clock: offset, constant drift, a drift that swings like a sine, and one step.
///
/// ```
/// use mpitrace_format::ticks::SimulatedClock;
///
/// let clock = SimulatedClock::parse("offset_ns=500,ppm=10").expect("a clock");
/// // A counter of 1 GHz, one second after it was right.
/// assert_eq!(clock.local(1_000_000_000, 0, 1e9), 1_000_010_500);
/// assert_eq!(SimulatedClock::parse("offset=500"), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimulatedClock {
    /// Ahead of the true clock from the start, ns.
    pub offset_ns: f64,
    /// Faster than the true clock, parts in a million.
    pub ppm: f64,
    /// How far its rate swings to either side, parts in 10^9.
    pub wander_ppb: f64,
    /// How long a swing takes, s.
    pub wander_period_s: f64,
    /// Jumps ahead by this, ns...
    pub step_ns: f64,
    /// ... this long after the start, s.
    pub step_at_s: f64,
}

/// 1 - cos(2 pi x) = 2 sin(pi x)^2, within 1e-10. Of the system's mathematical library nothing else is needed here:
/// every process that the tracer is preloaded into would load it.
fn one_less_cosine(turns: f64) -> f64 {
    let angle = PI * (turns - turns.round());
    // The series of the sine: an angle of at most pi/2 needs eight terms.
    let square = angle * angle;
    let terms = [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0];
    let sine = angle * terms.iter().fold(1.0, |sum, n| 1.0 - sum * square / (n * (n - 1.0)));
    2.0 * sine * sine
}

impl SimulatedClock {
    /// The clock's reading at the true tick `tick`: a counter of `hz` ticks per second that showed the true tick, but
    /// for its offset, at `epoch`.
    pub fn local(&self, tick: u64, epoch: u64, hz: f64) -> u64 {
        let since = tick.wrapping_sub(epoch) as i64 as f64;
        let seconds = since / hz;
        let mut ahead = self.offset_ns * 1e-9 * hz + self.ppm * 1e-6 * since;
        if self.wander_period_s > 0.0 {
            // The integral of wander * sin(2 pi t / period).
            let swing = one_less_cosine(seconds / self.wander_period_s);
            ahead += self.wander_ppb * 1e-9 * self.wander_period_s / TAU * swing * hz;
        }
        if self.step_ns != 0.0 && seconds >= self.step_at_s {
            ahead += self.step_ns * 1e-9 * hz;
        }
        tick.wrapping_add_signed(ahead.round() as i64)
    }

    /// `offset_ns=1500000000,ppm=37,step_ns=40000@30`.
    pub fn parse(text: &str) -> Option<SimulatedClock> {
        let mut parsed = SimulatedClock { wander_period_s: 60.0, ..SimulatedClock::default() };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=')?;
            let number = |text: &str| decimal::parse(text.trim()).filter(|value| value.is_finite());
            match name.trim() {
                "offset_ns" => parsed.offset_ns = number(value)?,
                "ppm" => parsed.ppm = number(value)?,
                "wander_ppb" => parsed.wander_ppb = number(value)?,
                "wander_period_s" => parsed.wander_period_s = number(value).filter(|&period| period > 0.0)?,
                "step_ns" => {
                    let (step, at) = value.split_once('@')?;
                    (parsed.step_ns, parsed.step_at_s) = (number(step)?, number(at)?);
                }
                _ => return None,
            }
        }
        Some(parsed)
    }
}

/// Which ranks have which simulated clock: `1:offset_ns=1500000000,ppm=37;2-3,5:offset_ns=-2e9,ppm=-12`.
///
/// ```
/// use mpitrace_format::ticks::Groups;
///
/// let groups = Groups::parse("1:ppm=37;2-3:offset_ns=-2e9").expect("two groups");
/// assert_eq!((groups.of_rank(3), groups.of_rank(0)), ((2, "offset_ns=-2e9"), (0, "")));
/// assert_eq!(Groups::parse("1:ppm=37;1-2:ppm=5"), None, "rank 1 twice");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups(Vec<Group>);

#[derive(Clone, Debug, PartialEq)]
struct Group {
    /// The first and the last of each range.
    ranks: Vec<(u32, u32)>,
    text: String,
}

impl Groups {
    /// `None` where the text makes no sense, or names a rank twice.
    pub fn parse(text: &str) -> Option<Groups> {
        let mut groups: Vec<Group> = Vec::new();
        for group in text.split(';').map(str::trim).filter(|group| !group.is_empty()) {
            let (ranks, clock) = group.split_once(':')?;
            SimulatedClock::parse(clock)?;
            groups.push(Group { ranks: Vec::new(), text: clock.trim().to_owned() });
            for range in ranks.split(',') {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                let mut named = groups.iter().flat_map(|group| &group.ranks);
                if first > last || named.any(|&(from, to)| first <= to && from <= last) {
                    return None;
                }
                groups.last_mut()?.ranks.push((first, last));
            }
        }
        Some(Groups(groups))
    }

    /// Number of the rank's group, from 1, and its clock as text; 0 for the true clock.
    pub fn of_rank(&self, rank: u32) -> (u32, &str) {
        let has = |group: &Group| group.ranks.iter().any(|&(first, last)| (first..=last).contains(&rank));
        let group = (1..).zip(&self.0).find(|(_, group)| has(group));
        group.map_or((0, ""), |(number, group)| (number, group.text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_swing_is_that_of_the_cosine() {
        for step in -2000..2000 {
            let turns = f64::from(step) / 700.0;
            assert!((one_less_cosine(turns) - (1.0 - (TAU * turns).cos())).abs() < 1e-9, "{turns}");
        }
    }

    #[test]
    fn a_simulated_clock_follows_its_description() {
        let clock =
            SimulatedClock::parse("offset_ns=1000,ppm=50,wander_ppb=500,wander_period_s=60,step_ns=40000@30").unwrap();
        let at = |seconds: f64| clock.local((seconds * 1e9) as u64 + 5, 5, 1e9) as f64 - 5.0 - seconds * 1e9;
        assert_eq!(at(0.0), 1000.0);
        // 50 ppm of a second is 50 us.
        assert!((at(1.0) - 51_000.0).abs() < 30.0, "{}", at(1.0));
        // Half a swing: the integral of the sine is period / pi.
        let wandered = 500e-9 * 60.0 / std::f64::consts::PI * 1e9;
        assert!((at(29.999_999_999) - (1000.0 + 1.5e6 + wandered)).abs() < 1.5, "{}", at(29.999_999_999));
        assert!((at(30.0) - at(29.999_999_999) - 40_000.0).abs() < 2.0);
    }

    #[test]
    fn groups_are_told_by_rank_and_nonsense_is_refused() {
        let groups = Groups::parse("1:offset_ns=1500000000,ppm=37;2-3:offset_ns=-2e9,ppm=-12").unwrap();
        assert_eq!(groups.of_rank(0), (0, ""));
        assert_eq!(groups.of_rank(3), (2, "offset_ns=-2e9,ppm=-12"));
        let groups = Groups::parse("1,3-4:ppm=37;2:ppm=-12").unwrap();
        assert_eq!([0, 1, 2, 3, 4, 5].map(|rank| groups.of_rank(rank).0), [0, 1, 2, 1, 1, 0]);
        for wrong in [
            "1",
            "a:ppm=1",
            "3-2:ppm=1",
            "1,:ppm=1",
            "1,3,1-2:ppm=1",
            "1:ppm=x",
            "1:colour=2",
            "1-3:ppm=1;2:ppm=2",
            "1:step_ns=5",
            "1:wander_period_s=0",
        ] {
            assert_eq!(Groups::parse(wrong), None, "{wrong}");
        }
    }
}
