//! The columns of one operation, a value for each repetition that every rank finished and kept.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::members::{MemberColumn, MemberTimes, Rows};
use mpitrace_trace::import;

/// Run times.
#[derive(Clone, Debug)]
pub struct RunTimes<'s> {
    /// The number of each repetition, ascending.
    pub repetition: Cow<'s, [u64]>,
    /// Its run time, ns.
    pub run_time_ns: Vec<f64>,
}

/// The times of each rank. A column is made when it is asked for.
#[derive(Debug)]
pub struct Ranks<'s> {
    /// The ranks in MPI_COMM_WORLD, in order: the index of a rank in here is what the columns go by.
    pub numbers: Vec<u32>,
    pub(super) times: Times<'s>,
}

#[derive(Debug)]
pub(super) enum Times<'s> {
    Traced { rows: Arc<Rows<'s>>, members: Vec<MemberTimes<'s>> },
    Untraced(&'s [import::Member]),
}

impl Ranks<'_> {
    /// True if it is known when the ranks entered and left, in one time for all of them.
    pub fn have_stamps(&self) -> bool {
        match &self.times {
            Times::Traced { .. } => true,
            Times::Untraced(members) => !members.is_empty() && members.iter().all(|member| member.stamps.is_some()),
        }
    }

    /// s_r: when the `index`-th rank entered, ns of global time.
    pub fn enter_ns(&self, index: usize) -> Option<Vec<f64>> {
        match &self.times {
            Times::Traced { rows, members } => Some(members[index].enter_ns(rows)),
            Times::Untraced(members) => members[index].stamps.as_ref().map(|stamps| stamps.enter_ns.clone()),
        }
    }

    /// e_r: when it left, ns of global time.
    pub fn exit_ns(&self, index: usize) -> Option<Vec<f64>> {
        match &self.times {
            Times::Traced { rows, members } => Some(members[index].exit_ns(rows)),
            Times::Untraced(members) => members[index].stamps.as_ref().map(|stamps| stamps.exit_ns.clone()),
        }
    }

    /// s_r, e_r and e_r - s_r, as above, of these repetitions.
    pub fn times_of(&self, index: usize, repetitions: Range<usize>) -> Option<[Vec<f64>; 3]> {
        match &self.times {
            Times::Traced { rows, members } => Some(members[index].times_of(rows, repetitions)),
            Times::Untraced(members) => {
                let import::Member { stamps, duration_ns, .. } = &members[index];
                let stamps = stamps.as_ref()?;
                Some(
                    [&stamps.enter_ns, &stamps.exit_ns, duration_ns].map(|column| column[repetitions.clone()].to_vec()),
                )
            }
        }
    }

    /// e_r - s_r, by the rank's own clock, ns.
    pub fn duration_ns(&self, index: usize) -> Vec<f64> {
        match &self.times {
            Times::Traced { rows, members } => members[index].duration_ns(rows),
            Times::Untraced(members) => members[index].duration_ns.clone(),
        }
    }
}

/// The kind of a column of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A number of something.
    Counter,
    /// A time.
    Timer,
    /// A cost of the request of a non-blocking call: ns, and for `tests` a number.
    Request,
}

/// A metric of an operation. A column is made when it is asked for.
#[derive(Debug)]
pub struct Counter<'s> {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ValueKind,
    /// Its unit; empty where nothing tells.
    pub unit: String,
    pub(super) values: Values<'s>,
}

#[derive(Debug)]
pub(super) enum Values<'s> {
    Traced { rows: Arc<Rows<'s>>, members: Vec<Option<MemberColumn<'s>>> },
    Untraced(&'s [Option<Vec<f64>>]),
}

impl Counter<'_> {
    /// The values on the `index`-th rank, not a number where there is none; `None`: the rank has none at all.
    pub fn values(&self, index: usize) -> Option<Vec<f64>> {
        self.values_in(index, None)
    }

    /// The values in the repetitions at these places; `None` in their place: all.
    pub fn values_in(&self, index: usize, places: Option<&[u32]>) -> Option<Vec<f64>> {
        match &self.values {
            Values::Traced { rows, members } => {
                members[index].as_ref().map(|column| column.values(rows, index, places))
            }
            Values::Untraced(members) => members[index].as_ref().map(|all| match places {
                None => all.clone(),
                Some(places) => places.iter().map(|&place| all[place as usize]).collect(),
            }),
        }
    }
}
