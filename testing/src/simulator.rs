//! Programs that run in a model of a machine: ranks that compute, call collectives and send messages, and delays that
//! can be taken out. What a delay costs the job is the difference of two runs, so that it is known without any
//! analysis.

use std::collections::{BTreeMap, HashMap, VecDeque};

use mpitrace_format::layout::{InterruptionEntry, interruption_flags};

use crate::Random;
use crate::synthetic::SyntheticRank;

/// The next action of a rank. Times in ns.
#[derive(Clone, Debug)]
pub enum Action {
    /// It computes for so long, and is delayed for so long, which can be taken out.
    Compute(f64, f64),
    /// It computes for so long, and is off its processor for so long, which can be taken out.
    Sleep(f64, f64),
    /// It enters a call of this operation (index into [`Program::operations`]).
    Enter(usize),
    /// It goes on so long after all these ranks have come here.
    Meet(Vec<usize>, f64),
    /// It sends a message to a rank, which is there so long after; the sender goes on at once.
    Send(usize, f64),
    /// It waits for the next message of a rank.
    Receive(usize),
    /// It leaves its call.
    Leave,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Function, root, bytes, and the members of the communicator; world has all ranks.
    pub operations: Vec<(&'static str, Option<i32>, u64, Vec<usize>)>,
    /// By rank.
    pub ranks: Vec<Vec<Action>>,
}

/// The result of a program.
#[derive(Debug)]
pub struct Run {
    /// When the last rank ended, ns.
    pub end: f64,
    /// As the preloaded library would have recorded it.
    pub ranks: Vec<SyntheticRank>,
}

/// A rank that runs.
struct Running {
    now: f64,
    /// The next action.
    next: usize,
    /// The call that it is in: operation and time.
    entered: Option<(usize, f64)>,
    /// Off its processor since it left a call, ns.
    off: f64,
    /// In receives outside of calls since then, by rank: ns, and how many.
    received: BTreeMap<usize, (f64, u64)>,
    met: usize,
}

impl Program {
    /// Of so many ranks.
    pub fn new(ranks: usize) -> Program {
        Program { operations: Vec::new(), ranks: vec![Vec::new(); ranks] }
    }

    /// Adds an operation on a communicator of these ranks, in order.
    pub fn operation(&mut self, function: &'static str, root: Option<i32>, members: Vec<usize>) -> usize {
        self.operations.push((function, root, 8 * self.operations.len() as u64 + 8, members));
        self.operations.len() - 1
    }

    /// All members call an operation in which no rank leaves before all have entered; `cost` of each of them.
    pub fn all(&mut self, operation: usize, mut cost: impl FnMut() -> f64) {
        let members = self.operations[operation].3.clone();
        for &rank in &members {
            self.ranks[rank].extend([Action::Enter(operation), Action::Meet(members.clone(), cost()), Action::Leave]);
        }
    }

    /// A broadcast along a binomial tree; `cost` of each message.
    pub fn broadcast(&mut self, operation: usize, cost: impl FnMut() -> f64) {
        self.tree(operation, cost, false);
    }

    /// A reduction along the same tree.
    pub fn reduce(&mut self, operation: usize, cost: impl FnMut() -> f64) {
        self.tree(operation, cost, true);
    }

    fn tree(&mut self, operation: usize, mut cost: impl FnMut() -> f64, up: bool) {
        let (_, root, _, members) = self.operations[operation].clone();
        let (count, root) = (members.len(), root.unwrap_or(0) as usize);
        for place in 0..count {
            let rank = members[(place + root) % count];
            let other = |place: usize| members[(place + root) % count];
            let lowest = if place == 0 { count.next_power_of_two() } else { 1 << place.trailing_zeros() };
            let children = (0..).map(|bit| 1usize << bit).take_while(|bit| *bit < lowest);
            let children: Vec<usize> =
                children.map(|bit| place + bit).filter(|child| *child < count).map(other).collect();
            let parent = (place > 0).then(|| other(place - lowest));
            let actions = &mut self.ranks[rank];
            actions.push(Action::Enter(operation));
            if up {
                actions.extend(children.into_iter().map(Action::Receive));
                actions.extend(parent.map(|parent| Action::Send(parent, cost())));
            } else {
                actions.extend(parent.map(Action::Receive));
                actions.extend(children.into_iter().rev().map(|child| Action::Send(child, cost())));
            }
            actions.push(Action::Compute(cost(), 0.0));
            actions.push(Action::Leave);
        }
    }

    /// Runs it; `delayed`: with the delays.
    ///
    /// # Panics
    /// The program does not come to its end.
    pub fn run(&self, delayed: bool) -> Run {
        let mut ranks: Vec<Running> = self
            .ranks
            .iter()
            .map(|_| Running { now: 1e6, next: 0, entered: None, off: 0.0, received: BTreeMap::new(), met: 0 })
            .collect();
        let mut traces: Vec<SyntheticRank> = (0..)
            .zip(&self.ranks)
            .map(|(rank, _)| SyntheticRank::new(rank, self.ranks.len() as u32).stamped())
            .collect();
        let numbers: Vec<Vec<u32>> = (0..).zip(&mut traces).map(|(rank, trace)| self.describe(rank, trace)).collect();
        let mut messages: HashMap<(usize, usize), VecDeque<f64>> = HashMap::new();
        // Who has come to its n-th meeting of these ranks, and when the last one did.
        let mut meetings: HashMap<(Vec<usize>, usize), (usize, f64)> = HashMap::new();
        let mut counts: HashMap<(Vec<usize>, usize), usize> = HashMap::new();
        loop {
            let mut moved = false;
            for rank in 0..self.ranks.len() {
                while let Some(action) = self.ranks[rank].get(ranks[rank].next) {
                    let own = &mut ranks[rank];
                    match action {
                        Action::Compute(ns, delay) => own.now += ns + if delayed { *delay } else { 0.0 },
                        Action::Sleep(ns, delay) => {
                            let delay = if delayed { *delay } else { 0.0 };
                            own.now += ns + delay;
                            own.off += delay;
                        }
                        Action::Enter(operation) => own.entered = Some((*operation, own.now)),
                        Action::Meet(members, cost) => {
                            let count = counts.entry((members.clone(), rank)).or_default();
                            let (came, last) = meetings.entry((members.clone(), *count)).or_insert((0, 0.0));
                            if own.met == 0 {
                                (*came, *last, own.met) = (*came + 1, last.max(own.now), 1);
                            }
                            if *came < members.len() {
                                break;
                            }
                            (own.now, own.met) = (*last + cost, 0);
                            *count += 1;
                        }
                        Action::Send(to, cost) => {
                            messages.entry((rank, *to)).or_default().push_back(own.now + cost);
                        }
                        Action::Receive(from) => {
                            let Some(there) = messages.get_mut(&(*from, rank)).and_then(VecDeque::pop_front) else {
                                break;
                            };
                            if own.entered.is_none() {
                                let (ns, calls) = own.received.entry(*from).or_default();
                                (*ns, *calls) = (*ns + (there - own.now).max(0.0), *calls + 1);
                            }
                            own.now = own.now.max(there);
                        }
                        Action::Leave => {
                            if let Some((operation, enter)) = own.entered.take() {
                                let trace = &mut traces[rank];
                                trace.call(numbers[rank][operation], enter.round() as u64, own.now.round() as u64);
                                if own.off > 0.0 {
                                    let flags = interruption_flags::BETWEEN
                                        | interruption_flags::TIMED
                                        | interruption_flags::REASON;
                                    let off_ns = own.off.round() as u64;
                                    trace.interrupt(InterruptionEntry {
                                        off_ns,
                                        switches: 1,
                                        voluntary: 1,
                                        flags,
                                        ..InterruptionEntry::default()
                                    });
                                }
                                own.off = 0.0;
                                for (from, (ns, calls)) in std::mem::take(&mut own.received) {
                                    trace.exchanged(from as u32, ns.round() as u64, calls);
                                }
                            }
                        }
                    }
                    own.next += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        assert!(ranks.iter().zip(&self.ranks).all(|(own, all)| own.next == all.len()), "the program does not end");
        let end = ranks.iter().map(|own| own.now).fold(0.0, f64::max);
        for (own, trace) in ranks.iter().zip(&mut traces) {
            let anchors = &mut trace.header;
            (anchors.first_anchor.tick, anchors.first_anchor.raw_ns) = (1_000_000, 1_000_000);
            (anchors.last_anchor.tick, anchors.last_anchor.raw_ns) = (own.now.round() as u64, own.now.round() as u64);
        }
        Run { end, ranks: traces }
    }

    /// The operations as a rank knows them: its number of each.
    fn describe(&self, rank: usize, trace: &mut SyntheticRank) -> Vec<u32> {
        let mut communicators: HashMap<Vec<usize>, u32> = HashMap::new();
        let describe = |(function, root, bytes, members): &(&'static str, Option<i32>, u64, Vec<usize>)| {
            let place = members.iter().position(|member| *member == rank)?;
            let world = members.len() == self.ranks.len();
            let known = communicators.get(members).copied().or(world.then_some(0));
            let communicator = known.unwrap_or_else(|| {
                let key = members.iter().fold(7, |key: u64, member| key * 31 + *member as u64 + 1);
                trace.communicator(key, members.len() as u32, place as u32, None)
            });
            communicators.insert(members.clone(), communicator);
            let number = trace.operation(function, communicator, *bytes);
            trace.describe(number, *root, "MPI_DOUBLE", None);
            Some(number)
        };
        self.operations.iter().map(describe).map(|number| number.unwrap_or(u32::MAX)).collect()
    }
}

/// A time with noise: lognormal around `ns`.
pub fn noisy(random: &mut Random, ns: f64, sigma: f64) -> f64 {
    ns * (sigma * random.normal()).exp()
}
