//! The leaders agree whether to synchronise now, and when to meet next, while the program runs.
//!
//! They come here after the same call of MPI_COMM_WORLD, as each counts them. A leader may be late, or never come: its
//! rank was switched off, has left a call by longjmp, or computes. So a meeting begins with a step in which no leader
//! waits without an end: word that a leader has come goes up a binomial tree, and a parent waits a while for its
//! children; the answer goes down to all children, whether they have come or not. A leader that comes too late finds
//! the answer there, and one that has waited too long for it goes on.
//!
//! So what the first leader has heard may be of a leader that has gone on since. Therefore those that are told that all
//! have come say once more that they are there, and wait for the answer to that: the first leader is there now. Either
//! all leaders follow its plan, or all follow the one that each of them knows by itself. O(log leaders) messages each.

use std::time::Duration;

use mpitrace_platform::time::Instant;

use super::schedule::Plan;

/// How long a leader waits for a message of another that is known to be there: longer than any leader is kept busy by
/// the others, and still not without an end.
pub const LONG: Duration = Duration::from_secs(60);

/// So long the first leader waits for all others; a parent further down for the same part of it as its tree is of the
/// whole tree's height. For the answer a leader waits twice as long: the first leader may come later.
const PATIENCE: Duration = Duration::from_millis(150);
/// At least so long a message is looked for.
const LOOK: Duration = Duration::from_millis(1);

pub trait Messages {
    fn rank(&self) -> usize;
    fn size(&self) -> usize;
    /// The messages that follow are of the next step of the meeting.
    fn next_step(&mut self);
    /// Sends words to another, without waiting for it.
    fn send(&mut self, to: usize, words: [u64; 3]);
    /// Receives from another; `None`: nothing came in time.
    fn receive(&mut self, from: usize, patience: Duration) -> Option<[u64; 3]>;
}

/// Meets the other leaders: the first leader's plan, which holds on all; `None`: not all have come in time, on all
/// leaders alike.
pub fn meet(messages: &mut impl Messages, plan: Plan) -> Option<Plan> {
    let first = step(messages, true, plan, PATIENCE, 2 * PATIENCE);
    messages.next_step();
    // None that has not heard that all have come takes part, so the first leader hears of each that does not.
    first.and_then(|plan| step(messages, true, plan, PATIENCE, LONG))
}

/// True if it went well on all leaders, which are known to be there.
pub fn went_well(messages: &mut impl Messages, here: bool) -> bool {
    messages.next_step();
    step(messages, here, Plan::default(), LONG, LONG).is_some()
}

/// One way up the tree and down again. `well` is what this leader has to say. The first leader's plan where all leaders
/// have come and are well; `None`: not all, or no answer came.
///
/// The first leader waits so long for all others, and each of these as long for the `answer` as that says.
fn step(messages: &mut impl Messages, well: bool, plan: Plan, patience: Duration, answer: Duration) -> Option<Plan> {
    let (rank, size) = (messages.rank(), messages.size());
    let height = |rank: usize| children(rank, size).count() as u32;
    let until = Instant::now() + patience * height(rank) / height(0).max(1);
    let mut every = well;
    for child in children(rank, size) {
        let left = (until - Instant::now()).max(LOOK);
        every &= messages.receive(child, left).is_some_and(|words| words[0] == 1);
    }
    let words = if rank == 0 {
        [every.into(), plan.next, plan.now.into()]
    } else {
        let parent = rank & (rank - 1);
        messages.send(parent, [every.into(), 0, 0]);
        messages.receive(parent, answer)?
    };
    for child in children(rank, size) {
        messages.send(child, words);
    }
    let [every, next, now] = words;
    (every == 1).then_some(Plan { next, now: now != 0 })
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

    const PLAN: Plan = Plan { next: 100, now: true };

    /// From, to, step, words.
    type Letter = (usize, usize, usize, [u64; 3]);
    type Mail = (Mutex<VecDeque<Letter>>, Condvar);

    struct Threads {
        rank: usize,
        size: usize,
        step: usize,
        mail: Arc<Mail>,
    }

    impl Messages for Threads {
        fn rank(&self) -> usize {
            self.rank
        }
        fn size(&self) -> usize {
            self.size
        }
        fn next_step(&mut self) {
            self.step += 1;
        }
        fn send(&mut self, to: usize, words: [u64; 3]) {
            self.mail.0.lock().unwrap().push_back((self.rank, to, self.step, words));
            self.mail.1.notify_all();
        }
        fn receive(&mut self, from: usize, _: Duration) -> Option<[u64; 3]> {
            let wanted = (from, self.rank, self.step);
            let is_it = |one: &Letter| (one.0, one.1, one.2) == wanted;
            let mail = self.mail.0.lock().unwrap();
            // Long enough for those that are there, also on a busy machine.
            let patience = Duration::from_secs(1);
            let waited = self.mail.1.wait_timeout_while(mail, patience, |mail| !mail.iter().any(is_it));
            let (mut mail, _) = waited.unwrap();
            let place = mail.iter().position(is_it)?;
            mail.remove(place).map(|(_, _, _, words)| words)
        }
    }

    /// A meeting of so many leaders; those in `absent` come when the others have gone. Only the first has the plan.
    fn met(size: usize, absent: &[usize]) -> Vec<Option<Plan>> {
        let mail = Arc::new(Mail::default());
        let leader = |rank: usize| Threads { rank, size, step: 0, mail: Arc::clone(&mail) };
        let come = |rank: usize| meet(&mut leader(rank), if rank == 0 { PLAN } else { Plan::default() });
        let mut found = vec![None; size];
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
    fn leaders_that_all_come_follow_the_first_one_s_plan() {
        for size in [1, 2, 3, 5, 8, 13] {
            assert_eq!(met(size, &[]), vec![Some(PLAN); size]);
        }
    }

    /// Also the first leader, to which the others have said that they had come.
    #[test]
    fn without_one_all_go_on_alike_and_it_too() {
        for (size, absent) in [(2, 0), (2, 1), (4, 2), (5, 4)] {
            assert_eq!(met(size, &[absent]), vec![None; size], "{absent} of {size}");
        }
    }

    #[test]
    fn one_where_it_did_not_go_well_is_heard_by_all() {
        let mail = Arc::new(Mail::default());
        let said: Vec<bool> = std::thread::scope(|scope| {
            let say = |rank: usize| {
                let mut leader = Threads { rank, size: 4, step: 0, mail: Arc::clone(&mail) };
                move || went_well(&mut leader, rank != 2)
            };
            let said: Vec<_> = (0..4).map(|rank| scope.spawn(say(rank))).collect();
            said.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(said, [false; 4]);
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
