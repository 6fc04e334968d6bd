//! Where the ranks of a job are that runs without the tracer: what their stacks show.

use std::collections::BTreeMap;

use mpitrace_show::text;
use serde::Serialize;

use crate::job::stack::{Stack, is_cut};

/// A look at a rank.
#[derive(Clone, Debug)]
pub struct Look {
    /// World rank.
    pub rank: u32,
    /// The size of MPI_COMM_WORLD.
    pub size: u32,
    /// The number of its process.
    pub process: u32,
    /// Of each of its threads in MPI, else of the first one, the frames, the outermost first, or why there are none.
    pub stacks: Vec<Result<Vec<String>, String>>,
}

/// Where the ranks are, by the keys of JSON.
#[derive(Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The size of MPI_COMM_WORLD, as the launcher has set it.
    pub ranks: u32,
    /// The ranks on this node, in their order.
    #[serde(rename = "where")]
    pub places: Vec<Place>,
    /// The MPI function that more than half of the ranks on this node are in; null: there is none.
    pub most: Option<String>,
    /// The ranks that are not in it; empty: there is none.
    pub others: Vec<u32>,
    /// The stacks, equal ones together.
    pub stacks: Vec<Stack>,
}

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// World rank.
    pub rank: u32,
    /// The number of its process.
    pub process: u32,
    /// The MPI function in its stack; null: none, or the stack cannot be read.
    pub function: Option<String>,
    /// True if its stack could be read, from the beginning of the program on or as far as to a function of MPI.
    pub is_known: bool,
}

impl Facts {
    /// The facts of looks in the order of the ranks.
    pub fn new(looks: &[Look]) -> Facts {
        let place = |look: &Look| Place {
            rank: look.rank,
            process: look.process,
            function: look.stacks.iter().flatten().find_map(|frames| in_mpi(frames)),
            is_known: look.stacks.iter().flatten().any(|frames| in_mpi(frames).is_some() || !is_cut(frames)),
        };
        let places: Vec<Place> = looks.iter().map(place).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        places.iter().filter_map(|of| of.function.as_deref()).for_each(|of| *counts.entry(of).or_default() += 1);
        let most = counts.into_iter().find(|(_, ranks)| 2 * ranks > places.len()).map(|(name, _)| name.to_owned());
        let is_other = |of: &&Place| most.is_some() && of.is_known && of.function != most;
        let others = places.iter().filter(is_other).map(|of| of.rank).collect();
        let ranks = looks.first().map_or(0, |look| look.size);
        let all = looks.iter().flat_map(|look| look.stacks.iter().map(|stack| (look.rank, stack)));
        Facts { ranks, stacks: Stack::folded(all), most, others, places }
    }

    /// Lines for people.
    pub fn lines(&self) -> Vec<String> {
        let here = self.places.len();
        let of_all = if here as u32 == self.ranks { String::new() } else { format!(" of {}", self.ranks) };
        let mut lines = vec![format!(
            "{here}{of_all} {} on this node, without the tracer: what their stacks show, in one look. Whether they \
             move is not known.",
            if here == 1 { "rank" } else { "ranks" }
        )];
        let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for of in &self.places {
            let place = match (&of.function, of.is_known) {
                (Some(function), _) => format!("in {function}"),
                (None, true) => "not in MPI".to_owned(),
                (None, false) => "not known".to_owned(),
            };
            groups.entry(place).or_default().push(of.rank);
        }
        let mut groups: Vec<(String, Vec<u32>)> = groups.into_iter().collect();
        groups.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
        lines.extend(groups.iter().map(|(place, ranks)| format!("{}: {place}", text::named_ranks(ranks))));
        if let Some(most) = self.most.as_ref().filter(|_| !self.others.is_empty()) {
            let number = self.places.iter().filter(|of| of.function.as_ref() == Some(most)).count();
            let verb = if self.others.len() == 1 { "is" } else { "are" };
            let named = text::named_ranks(&self.others);
            lines.push(format!("{named} {verb} elsewhere than {number} of the {here} ranks, which are in {most}."));
        }
        lines.extend(self.stacks.iter().map(Stack::line));
        lines
    }
}

/// The function of MPI that a stack ends in.
fn in_mpi(frames: &[String]) -> Option<String> {
    frames.iter().rev().find(|frame| frame.starts_with("MPI")).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(of: &str) -> Result<Vec<String>, String> {
        Ok(of.split(" > ").map(str::to_owned).collect())
    }

    fn look(rank: u32, size: u32, process: u32, stacks: Vec<Result<Vec<String>, String>>) -> Look {
        Look { rank, size, process, stacks }
    }

    #[test]
    fn ranks_that_are_elsewhere_than_most_are_named() {
        let waits = || frames("main (x.c:9) > MPI_Allreduce");
        let looks = vec![
            look(0, 7, 100, vec![waits()]),
            look(1, 7, 101, vec![frames("main (x.c:7) > refine (x.c:3)")]),
            look(2, 7, 102, vec![waits(), frames("... > progress (x.c:60) > MPI_Recv")]),
            look(3, 7, 103, vec![Err("process 7 debugs it".to_owned())]),
            look(4, 7, 104, vec![waits()]),
            look(5, 7, 105, vec![frames("... > wait_for_event > epoll_wait")]),
            look(6, 7, 106, vec![waits()]),
        ];
        let facts = Facts::new(&looks);
        assert_eq!((facts.most.as_deref(), &facts.others[..]), (Some("MPI_Allreduce"), &[1][..]));
        let lines = facts.lines();
        let expected = [
            "ranks 0, 2, 4, 6: in MPI_Allreduce",
            "ranks 3, 5: not known",
            "rank 1: not in MPI",
            "rank 1 is elsewhere than 4 of the 7 ranks, which are in MPI_Allreduce.",
            "ranks 0, 2, 4, 6: main (x.c:9) > MPI_Allreduce",
            "rank 1: main (x.c:7) > refine (x.c:3)",
            "rank 2: ... > progress (x.c:60) > MPI_Recv",
            "rank 3: no stack: process 7 debugs it",
            "rank 5: ... > wait_for_event > epoll_wait",
        ];
        assert_eq!(lines[1..], expected);
        assert!(lines[0].starts_with("7 ranks on this node, without the tracer: "), "{}", lines[0]);
        let half = vec![look(0, 4, 1, vec![waits()]), look(1, 4, 2, vec![frames("main (x.c:8) > MPI_Recv")])];
        let half = Facts::new(&half);
        assert_eq!((&half.most, &half.others[..]), (&None, &[][..]), "neither is most");
        assert!(half.lines()[0].starts_with("2 of 4 ranks on this node"), "{:?}", half.lines());
    }
}
