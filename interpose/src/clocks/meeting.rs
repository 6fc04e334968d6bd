//! The leaders agree whether to synchronise now, and when to meet next, while the program runs.
//!
//! They come here after the same call of MPI_COMM_WORLD, as each counts them. A leader may be late, or never come: its
//! rank was switched off, has left a call by longjmp, or computes. So nothing here waits without an end: word that a
//! leader has come goes up a binomial tree, and a parent waits a while for each child; the answer goes down to all
//! children, whether they have come or not. A leader that comes too late finds the answer there. O(log leaders)
//! messages each.

use std::time::Duration;

use super::schedule::Plan;

/// How long a parent waits for each child; that long the program may stand still for a leader that does not come.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// What a meeting needs of the other leaders.
pub trait Messages {
    /// This leader's number.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Sends words to another, without waiting for it.
    fn send(&mut self, to: usize, words: [u64; 3]);
    /// Receives from another; `None`: nothing came in time.
    fn receive(&mut self, from: usize, patience: Duration) -> Option<[u64; 3]>;
}

/// What became of a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// All leaders have come, and each says that it is well: the first leader's plan.
    All(Plan),
    /// Some leader has not come in time, or is not well: the first leader's other plan.
    Some(Plan),
    /// No answer came: this leader does not know the plan.
    Lost,
}

/// Meets the other leaders. `well` is what this one has to say; of the first leader's plans, `all` holds where all have
/// come and are well, else `some`.
pub fn meet(messages: &mut impl Messages, well: bool, all: Plan, some: Plan, answer: Duration) -> Met {
    let (rank, size) = (messages.rank(), messages.size());
    let mut every = well;
    for child in children(rank, size) {
        every &= messages.receive(child, PATIENCE).is_some_and(|words| words[0] == 1);
    }
    let plan = if rank == 0 {
        if every { [1, all.next, all.now.into()] } else { [0, some.next, some.now.into()] }
    } else {
        let parent = rank & (rank - 1);
        messages.send(parent, [every.into(), 0, 0]);
        let Some(plan) = messages.receive(parent, answer) else {
            return Met::Lost;
        };
        plan
    };
    for child in children(rank, size) {
        messages.send(child, plan);
    }
    let [every, next, now] = plan;
    let plan = Plan { next, now: now != 0 };
    if every == 1 { Met::All(plan) } else { Met::Some(plan) }
}

/// How long a leader waits for the answer: its parent may be waiting for each of its other children, and so may those
/// above it.
pub fn patience_for_answer(size: usize) -> Duration {
    let rounds = size.next_power_of_two().trailing_zeros() + 1;
    PATIENCE * rounds * rounds
}

/// The children of a rank in a binomial tree whose root is 0.
pub fn children(rank: usize, size: usize) -> impl Iterator<Item = usize> {
    let below = if rank == 0 { usize::BITS } else { rank.trailing_zeros() };
    (0..below).map(move |bit| rank | 1 << bit).take_while(move |&child| child < size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::{Arc, Condvar, Mutex};

    const ALL: Plan = Plan { next: 100, now: true };
    const SOME: Plan = Plan { next: 200, now: false };

    type Mail = (Mutex<VecDeque<(usize, usize, [u64; 3])>>, Condvar);

    struct Threads {
        rank: usize,
        size: usize,
        mail: Arc<Mail>,
    }

    impl Messages for Threads {
        fn rank(&self) -> usize {
            self.rank
        }
        fn size(&self) -> usize {
            self.size
        }
        fn send(&mut self, to: usize, words: [u64; 3]) {
            self.mail.0.lock().unwrap().push_back((self.rank, to, words));
            self.mail.1.notify_all();
        }
        fn receive(&mut self, from: usize, patience: Duration) -> Option<[u64; 3]> {
            let rank = self.rank;
            let mail = self.mail.0.lock().unwrap();
            let is_it = |one: &(usize, usize, [u64; 3])| (one.0, one.1) == (from, rank);
            let waited = self.mail.1.wait_timeout_while(mail, patience, |mail| !mail.iter().any(is_it));
            let (mut mail, _) = waited.unwrap();
            let place = mail.iter().position(is_it)?;
            mail.remove(place).map(|(_, _, words)| words)
        }
    }

    /// A meeting of so many leaders; those in `absent` come when the others have gone.
    fn met(size: usize, absent: &[usize], unwell: Option<usize>) -> Vec<Met> {
        let mail = Arc::new(Mail::default());
        let leader = |rank: usize| Threads { rank, size, mail: Arc::clone(&mail) };
        let come = |rank: usize| meet(&mut leader(rank), unwell != Some(rank), ALL, SOME, patience_for_answer(size));
        let mut found: Vec<_> = vec![Met::Lost; size];
        std::thread::scope(|scope| {
            let there: Vec<_> = (0..size).filter(|rank| !absent.contains(rank)).collect();
            let there: Vec<_> = there.into_iter().map(|rank| (rank, scope.spawn(move || come(rank)))).collect();
            there.into_iter().for_each(|(rank, thread)| found[rank] = thread.join().unwrap());
        });
        for &rank in absent {
            found[rank] = come(rank);
        }
        found
    }

    #[test]
    fn leaders_that_all_come_agree() {
        for size in [1, 2, 3, 5, 8, 13] {
            assert_eq!(met(size, &[], None), vec![Met::All(ALL); size]);
        }
    }

    #[test]
    fn a_leader_that_comes_late_finds_the_answer_of_the_others() {
        assert_eq!(met(2, &[1], None), [Met::Some(SOME); 2]);
        assert_eq!(met(6, &[3], None), [Met::Some(SOME); 6]);
    }

    #[test]
    fn one_that_is_not_well_is_heard_by_all() {
        assert_eq!(met(4, &[], Some(2)), [Met::Some(SOME); 4]);
    }

    #[test]
    fn without_the_first_leader_the_others_go_on_and_it_comes_to_its_own_answer() {
        let found = met(2, &[0], None);
        assert_eq!(found[1], Met::Lost);
        assert_eq!(found[0], Met::All(ALL), "the other had come");
    }

    #[test]
    fn each_rank_but_the_first_is_one_rank_s_child() {
        for size in 1..40 {
            let mut all: Vec<_> = (0..size).flat_map(|rank| children(rank, size)).collect();
            all.sort_unstable();
            assert_eq!(all, (1..size).collect::<Vec<_>>());
            assert!((0..size).all(|rank| children(rank, size).all(|child| child & (child - 1) == rank)));
        }
    }
}
