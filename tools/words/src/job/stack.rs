//! The stacks of ranks, equal ones together.

use mpitrace_live::Snapshot;
use mpitrace_show::text;
use serde::Serialize;

/// In place of the frames of a stack that could not be unwound to its beginning.
pub const CUT: &str = "...";

/// True if the frames do not reach to the beginning of the program.
pub fn is_cut(frames: &[String]) -> bool {
    frames.first().is_none_or(|first| first == CUT)
}

/// The stack of some ranks, by the keys of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// The ranks that have it.
    pub ranks: Vec<u32>,
    /// Its frames, the outermost first: functions with their lines.
    pub frames: Vec<String>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

impl Stack {
    /// The stacks that are known of the ranks of a snapshot.
    pub fn all(snapshot: &Snapshot) -> Vec<Stack> {
        Stack::folded(snapshot.ranks.iter().flat_map(|rank| rank.stacks.iter().map(|stack| (rank.rank, stack))))
    }

    /// The stacks of ranks, equal ones together.
    pub fn folded<'a>(stacks: impl Iterator<Item = (u32, &'a Result<Vec<String>, String>)>) -> Vec<Stack> {
        let mut all: Vec<Stack> = Vec::new();
        for (rank, stack) in stacks {
            let (frames, why_not) = match stack {
                Ok(frames) => (frames.clone(), None),
                Err(why) => (Vec::new(), Some(why.clone())),
            };
            match all.iter_mut().find(|known| known.frames == frames && known.why_not == why_not) {
                Some(known) if known.ranks.last() == Some(&rank) => {}
                Some(known) => known.ranks.push(rank),
                None => all.push(Stack { ranks: vec![rank], frames, why_not }),
            }
        }
        all
    }

    /// `ranks 1, 5-7: main (solver.c:12) > exchange (halo.c:30) > MPI_Recv`.
    pub fn line(&self) -> String {
        let ranks = text::named_ranks(&self.ranks);
        match &self.why_not {
            Some(why) => format!("{ranks}: no stack: {why}"),
            None => format!("{ranks}: {}", text::printable(&self.frames.join(" > "))),
        }
    }
}
