//! The stacks of the ranks that others wait for, or of all: taken here, and asked of the other nodes.

use std::collections::HashMap;

use clap::ValueEnum;
use mpitrace_job::stacks::Namer;
use mpitrace_live::process::Process;
use mpitrace_live::{Snapshot, Stuck};

use super::frame::Threads;
use super::other_nodes::Nodes;

/// The ranks whose stacks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// None: no rank is stopped
    None,
    /// The ranks of a verdict
    Waited,
    /// All
    Ranks,
    /// All, with all of their threads
    Threads,
}

pub struct Taken {
    which: Which,
    namer: Namer,
    /// The stacks of each rank, with the time at which they were taken or asked for, s.
    ranks: HashMap<u32, (f64, Threads)>,
}

impl Taken {
    pub fn new(which: Which) -> Taken {
        Taken { which, namer: Namer::default(), ranks: HashMap::new() }
    }

    /// Puts the stacks of the ranks that are asked for into the snapshot, which was taken at this time. `here` has the
    /// processes on this node. A rank that has not moved since is not stopped again.
    pub fn add_to(
        &mut self,
        snapshot: &mut Snapshot,
        stuck: Option<&Stuck>,
        here: &HashMap<u32, Process>,
        nodes: &mut Nodes,
        now: f64,
    ) {
        let mut to_ask = Vec::new();
        for (rank, stacks) in nodes.stacks() {
            self.ranks.entry(rank).or_insert((now, Vec::new())).1 = stacks;
        }
        for rank in snapshot.ranks.iter_mut().filter(|rank| rank.state.has_process()) {
            let is_wanted = match self.which {
                Which::None => false,
                Which::Waited => stuck.is_some_and(|stuck| stuck.ranks.contains(&rank.rank)),
                Which::Ranks | Which::Threads => true,
            };
            if !is_wanted {
                continue;
            }
            if self.ranks.get(&rank.rank).is_none_or(|(at, _)| now - rank.unmoved_s > *at) {
                let stacks = match here.get(&rank.rank) {
                    Some(process) => self.namer.of_process(process, self.which == Which::Threads),
                    None => {
                        to_ask.push(rank.rank);
                        Vec::new()
                    }
                };
                self.ranks.insert(rank.rank, (now, stacks));
            }
            rank.stacks = self.ranks[&rank.rank].1.clone();
        }
        if !to_ask.is_empty() {
            nodes.ask(&to_ask, self.which == Which::Threads);
        }
    }

    /// True if other nodes have been asked, and have not answered.
    pub fn are_asked_for(&self) -> bool {
        self.ranks.values().any(|(_, stacks)| stacks.is_empty())
    }
}
