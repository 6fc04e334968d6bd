//! Numbers the leaders in the order of their ranks, and finds the ones that each has messages with.
//!
//! A split of the world's communicator would do the same, at the price of a communicator: 150 ms in Open MPI where six
//! ranks share two processors, and memory for all ranks. Here all ranks of the world count the leaders before and behind
//! them in log2(ranks) rounds, then the leaders find those 2^k places away from them in log2(leaders) rounds, and keep no
//! others.

use super::meeting::children;

/// The messages of a kind between ranks of the world, which keep their order.
pub trait Ranks {
    /// Sends words to a rank, without waiting for it.
    fn send(&mut self, to: u32, words: &[u64]);
    /// Receives as many from a rank, which is known to send them. False: they did not come.
    fn receive(&mut self, from: u32, words: &mut [u64]) -> bool;
}

/// One leader, and the ranks of the world that lead others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    /// Its number.
    pub number: u32,
    /// How many leaders there are.
    pub count: u32,
    /// The ranks of those 2^k places above and below, as far as there are any.
    above: Vec<u32>,
    below: Vec<u32>,
    /// All of them, by number: on the first leader, where a method needs it.
    all: Vec<u32>,
}

/// Of the leaders among some ranks in a row: how many, and the nearest to this one.
#[derive(Clone, Copy, Default)]
struct Counted {
    count: u64,
    /// 1 more than its rank; 0: there is none.
    nearest: u64,
}

impl Counted {
    /// Together with what lies behind.
    fn with(self, further: Counted) -> Counted {
        let nearest = if self.nearest > 0 { self.nearest } else { further.nearest };
        Counted { count: self.count + further.count, nearest }
    }
}

impl Numbered {
    /// All ranks of the world come here. `messages` has two kinds of messages. `None`: a message did not come. The inner
    /// one is empty on ranks that do not lead.
    #[allow(clippy::option_option, reason = "the outer one is a failure, the inner one an answer")]
    pub fn among(
        ranks: &mut impl Ranks,
        leaders: &mut impl Ranks,
        rank: u32,
        world_size: u32,
        leads: bool,
    ) -> Option<Option<Numbered>> {
        let own = Counted { count: leads.into(), nearest: if leads { u64::from(rank) + 1 } else { 0 } };
        // Of the ranks before this one, and of those behind it: within a window that doubles.
        let mut windows = [own; 2];
        let mut others = [Counted::default(); 2];
        let mut distance = 1;
        while distance < world_size {
            let partners = [rank.checked_sub(distance), Some(rank + distance).filter(|other| *other < world_size)];
            // What lies before this rank concerns those behind it.
            for (partner, window) in partners.into_iter().rev().zip(windows) {
                if let Some(partner) = partner {
                    ranks.send(partner, &[window.count, window.nearest]);
                }
            }
            for (side, partner) in partners.into_iter().enumerate() {
                let Some(partner) = partner else { continue };
                let mut words = [0; 2];
                ranks.receive(partner, &mut words).then_some(())?;
                let further = Counted { count: words[0], nearest: words[1] };
                windows[side] = windows[side].with(further);
                others[side] = others[side].with(further);
            }
            distance *= 2;
        }
        if !leads {
            return Some(None);
        }
        let [before, behind] = others;
        let rank_of = |nearest: u64| (nearest > 0).then(|| (nearest - 1) as u32);
        let count = before.count + 1 + behind.count;
        let mut numbered = Numbered { number: before.count as u32, count: count as u32, ..Numbered::default() };
        let (mut above, mut below) = (rank_of(behind.nearest), rank_of(before.nearest));
        let mut places = 1;
        loop {
            numbered.above.extend(above);
            numbered.below.extend(below);
            places *= 2;
            if places >= count {
                return Some(Some(numbered));
            }
            // Twice as far is as far from there.
            let word = |rank: Option<u32>| [rank.map_or(0, |rank| u64::from(rank) + 1)];
            if let Some(above) = above {
                leaders.send(above, &word(below));
            }
            if let Some(below) = below {
                leaders.send(below, &word(above));
            }
            for side in [&mut above, &mut below] {
                if let Some(near) = *side {
                    let mut words = [0];
                    leaders.receive(near, &mut words).then_some(())?;
                    *side = rank_of(words[0]);
                }
            }
        }
    }

    /// Tells the first leader the ranks of all. All leaders come here. False: a message did not come.
    pub fn gather(&mut self, leaders: &mut impl Ranks, rank: u32) -> bool {
        let mut subtree = vec![u64::from(rank)];
        for child in children(self.number as usize, self.count as usize) {
            let ranks = (child & child.wrapping_neg()).min(self.count as usize - child);
            let start = subtree.len();
            subtree.resize(start + ranks, 0);
            if !self.rank_of(child).is_some_and(|child| leaders.receive(child, &mut subtree[start..])) {
                return false;
            }
        }
        if self.number == 0 {
            self.all = subtree.into_iter().map(|rank| rank as u32).collect();
            return true;
        }
        let parent = self.rank_of((self.number & (self.number - 1)) as usize);
        parent.inspect(|parent| leaders.send(*parent, &subtree)).is_some()
    }

    /// The rank of a leader: of the first, of those a power of two away, and of all where they were gathered.
    pub fn rank_of(&self, number: usize) -> Option<u32> {
        let own = self.number as usize;
        let of = |ranks: &[u32], places: usize| {
            places.is_power_of_two().then(|| ranks.get(places.trailing_zeros() as usize).copied()).flatten()
        };
        match (self.all.get(number), number.cmp(&own)) {
            (Some(rank), _) => Some(*rank),
            // World rank 0 leads its domain.
            (None, _) if number == 0 => Some(0),
            (None, std::cmp::Ordering::Greater) => of(&self.above, number - own),
            (None, std::cmp::Ordering::Less) => of(&self.below, own - number),
            (None, std::cmp::Ordering::Equal) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::{Condvar, Mutex};

    /// From, to, kind, words.
    type Letter = (u32, u32, usize, Vec<u64>);

    #[derive(Default)]
    struct Mail {
        letters: Mutex<VecDeque<Letter>>,
        came: Condvar,
    }

    struct Threads<'m> {
        rank: u32,
        kind: usize,
        mail: &'m Mail,
    }

    impl Ranks for Threads<'_> {
        fn send(&mut self, to: u32, words: &[u64]) {
            self.mail.letters.lock().unwrap().push_back((self.rank, to, self.kind, words.to_vec()));
            self.mail.came.notify_all();
        }

        fn receive(&mut self, from: u32, words: &mut [u64]) -> bool {
            let wanted = (from, self.rank, self.kind);
            let place = |letters: &VecDeque<Letter>| {
                letters.iter().position(|(from, to, kind, _)| (*from, *to, *kind) == wanted)
            };
            let letters = self.mail.letters.lock().unwrap();
            let mut letters = self.mail.came.wait_while(letters, |letters| place(letters).is_none()).unwrap();
            let (_, _, _, letter) = place(&letters).and_then(|place| letters.remove(place)).unwrap();
            words.copy_from_slice(&letter);
            true
        }
    }

    /// What each rank finds, where these lead; the leaders gather all of them.
    fn numbered(world_size: u32, leading: &[u32]) -> Vec<Option<Numbered>> {
        let mail = Mail::default();
        let found = std::thread::scope(|scope| {
            let come = |rank: u32| {
                let mut messages = [1, 2].map(|kind| Threads { rank, kind, mail: &mail });
                let [ranks, leaders] = &mut messages;
                let found = Numbered::among(ranks, leaders, rank, world_size, leading.contains(&rank)).unwrap();
                found.map(|mut numbered| {
                    assert!(numbered.gather(leaders, rank));
                    numbered
                })
            };
            let threads: Vec<_> = (0..world_size).map(|rank| scope.spawn(move || come(rank))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(mail.letters.lock().unwrap().is_empty(), "each message was received");
        found
    }

    #[test]
    fn leaders_have_numbers_in_the_order_of_their_ranks_and_find_each_other() {
        let every = |step: usize, size: u32| (0..size).step_by(step).collect::<Vec<u32>>();
        let cases = [
            (1, vec![0]),
            (2, vec![0, 1]),
            (6, every(2, 6)),
            (7, vec![0, 6]),
            (9, vec![0]),
            (13, vec![0, 1, 5, 7, 8, 9, 12]),
            (20, every(1, 20)),
            (33, every(4, 33)),
        ];
        for (world_size, leading) in cases {
            let found = numbered(world_size, &leading);
            for (rank, found) in found.into_iter().enumerate() {
                let number = leading.iter().position(|leader| *leader as usize == rank);
                assert_eq!(found.as_ref().map(|found| found.number as usize), number, "{rank} of {world_size}");
                let Some((found, number)) = found.zip(number) else { continue };
                assert_eq!(found.count as usize, leading.len());
                for (other, leader) in leading.iter().enumerate() {
                    let near = other == 0 || other.abs_diff(number).is_power_of_two();
                    let expected = (near || number == 0).then_some(*leader);
                    assert_eq!(found.rank_of(other), expected, "{other} on {number} of {leading:?}");
                }
                // What each of them keeps does not grow with their number, but for the first.
                assert!(found.above.len() + found.below.len() <= 2 * 6);
            }
        }
    }
}
