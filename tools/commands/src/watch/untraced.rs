//! A job that was started without the tracer: where its ranks on this node are, by their stacks alone.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, ensure};
use mpitrace_job::stacks::{Namer, threads_of};
use mpitrace_live::process::Process;
use mpitrace_live::{Job, Starting};
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use mpitrace_words::stack::Stack;
use serde::Serialize;

use super::choice;

/// A look, by the keys of JSON.
#[derive(Debug, PartialEq, Serialize)]
struct Facts {
    /// The size of MPI_COMM_WORLD, as the launcher has set it.
    ranks: u32,
    /// The ranks on this node, in their order.
    #[serde(rename = "where")]
    places: Vec<Place>,
    /// The MPI function that more than half of the ranks on this node are in; null: there is none.
    most: Option<String>,
    /// The ranks that are not in it; empty: there is none.
    others: Vec<u32>,
    stacks: Vec<Stack>,
}

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Place {
    rank: u32,
    process: u32,
    /// The MPI function in its stack; null: none, or the stack cannot be read.
    function: Option<String>,
    /// True if its stack could be read.
    is_known: bool,
}

/// The ranks of the job that the process with this number belongs to, if it is no job that is traced.
pub fn ranks(jobs: &[Job], wanted: &str) -> Option<Vec<Starting>> {
    let pid: u32 = wanted.parse().ok()?;
    let is_traced = jobs.iter().any(|job| choice::fits(job, wanted));
    Some(Starting::of_job(pid)).filter(|ranks| !is_traced && !ranks.is_empty())
}

pub fn show(ranks: Vec<Starting>, as_json: bool, output: &mut Output) -> Result<()> {
    let mut namer = Namer::default();
    let looks = ranks.iter().filter_map(|of| {
        let (rank, size) = of.place?;
        let pid = of.process.pid;
        let process = Process::read(pid, &threads_of(pid))?;
        Some((rank, size, pid, namer.of_process(&process, false)))
    });
    let looks: Vec<(u32, u32, u32, Vec<Result<Vec<String>, String>>)> = looks.collect();
    ensure!(!looks.is_empty(), "the job has ended");
    let facts = Facts::new(looks);
    if as_json {
        return output::json(output, "watch-untraced", &facts);
    }
    for line in facts.lines() {
        writeln!(output, "{}", text::printable(&line))?;
    }
    Ok(())
}

impl Facts {
    /// `looks`: rank, size of the world, process and stacks.
    fn new(looks: Vec<(u32, u32, u32, Vec<Result<Vec<String>, String>>)>) -> Facts {
        let place = |(rank, _, process, stacks): &(u32, u32, u32, Vec<Result<Vec<String>, String>>)| Place {
            rank: *rank,
            process: *process,
            function: stacks.iter().flatten().find_map(|frames| in_mpi(frames)),
            is_known: stacks.iter().any(Result::is_ok),
        };
        let places: Vec<Place> = looks.iter().map(place).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        places.iter().filter_map(|of| of.function.as_deref()).for_each(|of| *counts.entry(of).or_default() += 1);
        let most = counts.into_iter().find(|(_, ranks)| 2 * ranks > places.len()).map(|(name, _)| name.to_owned());
        let is_other = |of: &&Place| most.is_some() && of.is_known && of.function != most;
        let others = places.iter().filter(is_other).map(|of| of.rank).collect();
        let ranks = looks.first().map_or(0, |(_, size, ..)| *size);
        let all = looks.iter().flat_map(|(rank, .., stacks)| stacks.iter().map(|stack| (*rank, stack)));
        Facts { ranks, stacks: Stack::folded(all), most, others, places }
    }

    fn lines(&self) -> Vec<String> {
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

    #[test]
    fn ranks_that_are_elsewhere_than_most_are_named() {
        let waits = || frames("main (x.c:9) > MPI_Allreduce");
        let looks = vec![
            (0, 5, 100, vec![waits()]),
            (1, 5, 101, vec![frames("main (x.c:7) > refine (x.c:3)")]),
            (2, 5, 102, vec![waits(), frames("... > progress (x.c:60) > MPI_Recv")]),
            (3, 5, 103, vec![Err("process 7 debugs it".to_owned())]),
            (4, 5, 104, vec![waits()]),
        ];
        let facts = Facts::new(looks);
        assert_eq!((facts.most.as_deref(), &facts.others[..]), (Some("MPI_Allreduce"), &[1][..]));
        let lines = facts.lines();
        let expected = [
            "ranks 0, 2, 4: in MPI_Allreduce",
            "rank 1: not in MPI",
            "rank 3: not known",
            "rank 1 is elsewhere than 3 of the 5 ranks, which are in MPI_Allreduce.",
            "ranks 0, 2, 4: main (x.c:9) > MPI_Allreduce",
            "rank 1: main (x.c:7) > refine (x.c:3)",
            "rank 2: ... > progress (x.c:60) > MPI_Recv",
            "rank 3: no stack: process 7 debugs it",
        ];
        assert_eq!(lines[1..], expected);
        assert!(lines[0].starts_with("5 ranks on this node, without the tracer: "), "{}", lines[0]);
        let half = vec![(0, 4, 1, vec![waits()]), (1, 4, 2, vec![frames("main (x.c:8) > MPI_Recv")])];
        let half = Facts::new(half);
        assert_eq!((&half.most, &half.others[..]), (&None, &[][..]), "neither is most");
        assert!(half.lines()[0].starts_with("2 of 4 ranks on this node"), "{:?}", half.lines());
    }
}
