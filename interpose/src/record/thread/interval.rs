//! The partners of a thread's calls that can wait, between two of its recorded calls.

use mpitrace_format::layout::partner;

/// As many partners are told apart; those of a stencil in three dimensions are 6 or 26, of which the last ones count
/// together.
const KEPT: usize = 8;

/// Ticks by partner since the thread's recorded call before.
pub struct Interval {
    ticks: [(u64, u64); KEPT],
    used: usize,
    rest: u64,
}

impl Interval {
    pub const NEW: Interval = Interval { ticks: [(0, 0); KEPT], used: 0, rest: 0 };

    #[inline(always)]
    pub fn add(&mut self, partner: u64, ticks: u64) {
        let known = &mut self.ticks[..self.used];
        if let Some((_, sum)) = known.iter_mut().find(|(other, _)| *other == partner) {
            *sum += ticks;
        } else if let Some(free) = self.ticks.get_mut(self.used) {
            *free = (partner, ticks);
            self.used += 1;
        } else {
            self.rest += ticks;
        }
    }

    /// The partner with the most ticks since this was asked last: one with which no other can have more, whoever those
    /// are of which that is not known.
    pub fn take(&mut self) -> u64 {
        let known = &self.ticks[..self.used];
        let of = |wanted| known.iter().find(|(partner, _)| *partner == wanted).map_or(0, |(_, ticks)| *ticks);
        let (several, unknown) = (of(partner::SEVERAL) + self.rest, of(partner::UNKNOWN));
        let single = |&&(partner, _): &&(u64, u64)| partner::place(partner).is_some();
        let (mut most, mut next) = ((partner::NONE, 0), 0);
        for &(partner, ticks) in known.iter().filter(single) {
            next = next.max(ticks.min(most.1));
            if ticks >= most.1 {
                most = (partner, ticks);
            }
        }
        let stated = match most {
            (partner, ticks) if ticks > next + several + unknown => partner,
            (_, 0) if several + unknown == 0 => partner::NONE,
            _ if unknown > several => partner::UNKNOWN,
            _ => partner::SEVERAL,
        };
        *self = Interval::NEW;
        stated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(calls: &[(u64, u64)]) -> u64 {
        let mut interval = Interval::NEW;
        calls.iter().for_each(|&(partner, ticks)| interval.add(partner, ticks));
        let longest = interval.take();
        assert_eq!(interval.take(), partner::NONE, "it begins again");
        longest
    }

    #[test]
    fn a_partner_is_stated_where_no_other_can_have_more() {
        let [one, two] = [1, 2].map(|rank| partner::known(0, rank));
        assert_eq!(longest(&[]), partner::NONE);
        assert_eq!(longest(&[(partner::NONE, 9)]), partner::NONE);
        assert_eq!(longest(&[(one, 5), (two, 7), (one, 3)]), one);
        assert_eq!(longest(&[(two, 7), (one, 7)]), partner::SEVERAL, "as much");
        assert_eq!(longest(&[(two, 8), (one, 4), (partner::SEVERAL, 3), (partner::NONE, 50)]), two);
        assert_eq!(longest(&[(two, 7), (one, 5), (partner::SEVERAL, 3)]), partner::SEVERAL, "one may have 8");
        assert_eq!(longest(&[(two, 7), (partner::UNKNOWN, 8)]), partner::UNKNOWN);
        assert_eq!(longest(&[(partner::UNKNOWN, 8), (partner::SEVERAL, 9)]), partner::SEVERAL);
        assert_eq!(longest(&[(one, 0)]), partner::NONE, "no time");
    }

    #[test]
    fn beyond_those_that_are_told_apart_one_may_be_among_the_rest() {
        let many = |count: u32| (1..=count).map(|rank| (partner::known(0, rank), 10));
        let first = partner::known(0, 1);
        let most = |count, more| longest(&many(count).chain([(first, more)]).collect::<Vec<_>>());
        assert_eq!(most(8, 1), first);
        assert_eq!(most(10, 21), first, "31 of it, 10 of the next, and 20 of the rest");
        assert_eq!(most(10, 20), partner::SEVERAL);
        assert_eq!(most(8, 0), partner::SEVERAL, "all have as much");
    }
}
