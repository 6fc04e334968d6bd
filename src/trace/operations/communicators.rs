//! The communicators of a trace: which entries of different ranks are one and the same.

use std::collections::HashMap;

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags as flags};
use serde::{Deserialize, Serialize};

use crate::reader::Trace;

/// A communicator of the traced program, or one of its windows or files, whose calls have sequence numbers of their
/// own.
#[derive(Debug, Default)]
pub struct Communicator {
    /// Its number within the trace.
    pub id: usize,
    /// `MPI_COMM_WORLD`, `MPI_COMM_SELF`, the name that the program gave it, `comm-N`, or `folded`. Of a window `window
    /// of X`, where X is the communicator that it was made of, of a file the name with which it was opened.
    pub name: String,
    /// Not one communicator: the calls of all ranks on those that have no entry of their own, beyond a bound. Calls in
    /// one repetition need not belong together, and no repetition is complete.
    pub folded: bool,
    /// Its ranks, both groups of an intercommunicator.
    pub size: u32,
    /// Positions at which the calls of its ranks may not belong together.
    pub mismatches: u64,
    /// The parts whose ranks are in it, with the index that it has there, in the order of their ranks.
    pub members: Vec<(usize, usize)>,
    /// The parts of its name.
    pub origin: Origin,
}

/// The facts that give a communicator its name and its place among the others.
///
/// ```
/// use mpitrace_format::layout::communicator_flags;
/// use mpitrace_trace::operations::Origin;
///
/// let world = Origin { flags: communicator_flags::WORLD, ..Origin::default() };
/// let rows = Origin { given: Some("rows".to_owned()), ..Origin::default() };
/// let window = Origin { flags: communicator_flags::WINDOW, made_of: Some(1), ..Origin::default() };
/// assert_eq!((world.class(), rows.class()), (0, 1));
/// let names = Origin::names([&world, &rows, &window].into_iter());
/// assert_eq!(names, ["MPI_COMM_WORLD", "rows", "window of rows"]);
/// ```
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Origin {
    /// The name that the program gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// Bits of [`flags`].
    pub flags: u32,
    /// The number of the communicator that a window or a file was made of, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_of: Option<usize>,
}

impl Origin {
    /// Communicators are in the order of these, and of the lowest world rank in them.
    pub fn class(&self) -> u8 {
        match self.flags {
            bits if bits & flags::WORLD != 0 => 0,
            bits if bits & flags::SELF != 0 => 2,
            bits if bits & flags::FOLDED != 0 => 3,
            _ => 1,
        }
    }

    fn own_name(&self, id: usize) -> String {
        self.given.clone().unwrap_or_else(|| match self.flags {
            bits if bits & flags::WORLD != 0 => "MPI_COMM_WORLD".to_owned(),
            bits if bits & flags::SELF != 0 => "MPI_COMM_SELF".to_owned(),
            bits if bits & flags::FOLDED != 0 => "folded".to_owned(),
            _ => format!("comm-{id}"),
        })
    }

    /// The names of communicators, by their numbers.
    pub fn names<'a>(all: impl Iterator<Item = &'a Origin>) -> Vec<String> {
        let all: Vec<&Origin> = all.collect();
        let mut names: Vec<String> = all.iter().enumerate().map(|(id, origin)| origin.own_name(id)).collect();
        for (id, origin) in all.iter().enumerate() {
            if origin.given.is_none() && origin.flags & (flags::WINDOW | flags::FILE) != 0 {
                let kind = if origin.flags & flags::WINDOW != 0 { "window" } else { "file" };
                names[id] = match origin.made_of.filter(|&made_of| made_of != id) {
                    Some(made_of) => format!("{kind} of {}", names[made_of]),
                    None => format!("{kind}-{id}"),
                };
            }
        }
        names
    }
}

/// The communicators by number, and for each part the number of each of its entries.
///
/// MPI_COMM_WORLD is 0; then those that the program made, by the lowest world rank in them and the order in which that
/// rank made them; then each rank's MPI_COMM_SELF; then the folded one of all ranks.
pub(super) fn number(trace: &Trace) -> (Vec<Communicator>, Vec<Vec<usize>>) {
    let mut by_key: HashMap<[u64; 2], usize> = HashMap::new();
    let mut found: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut folded = None;
    for (part, content) in trace.parts.iter().enumerate() {
        for (index, entry) in content.communicators().iter().enumerate() {
            let group = match entry.flags & (flags::IDENTIFIED | flags::FOLDED) {
                // One that was never identified (killed within its first call) is the same as no other.
                0 => found.len(),
                flags::IDENTIFIED => *by_key.entry(entry.key).or_insert(found.len()),
                _ => *folded.get_or_insert(found.len()),
            };
            if group == found.len() {
                found.push(Vec::new());
            }
            found[group].push((part, index));
        }
    }

    let entry = |&(part, index): &(usize, usize)| -> &CommunicatorEntry { &trace.parts[part].communicators()[index] };
    // Parts were visited in the order of their ranks, so a group's first member is of its lowest rank.
    found.sort_by_key(|members| {
        let origin = Origin { flags: entry(&members[0]).flags, ..Origin::default() };
        (origin.class(), members[0])
    });

    let mut numbers: Vec<Vec<usize>> = trace.parts.iter().map(|part| vec![0; part.communicators().len()]).collect();
    for (id, members) in found.iter().enumerate() {
        members.iter().for_each(|&(part, index)| numbers[part][index] = id);
    }
    // Without a part of any rank that knew MPI_COMM_WORLD there is no number 0.
    let communicator = |(id, members): (usize, Vec<(usize, usize)>)| {
        let (part, first) = (members[0].0, entry(&members[0]));
        let folded = first.flags & flags::FOLDED != 0;
        let size = match folded {
            true => members.len() as u32,
            false => members.iter().map(|member| entry(member).size).max().unwrap_or(0),
        };
        // What it was made of is an entry of the same rank; one that a damaged file names may be missing.
        let made_of = first.made_of.checked_sub(1).and_then(|index| numbers[part].get(index as usize)).copied();
        let given = members.iter().find_map(|member| trace.parts[member.0].text(entry(member).name));
        let origin = Origin { given, flags: first.flags, made_of };
        Communicator { id, name: String::new(), folded, size, mismatches: 0, members, origin }
    };
    let mut communicators: Vec<Communicator> = found.into_iter().enumerate().map(communicator).collect();
    let names = Origin::names(communicators.iter().map(|communicator| &communicator.origin));
    communicators.iter_mut().zip(names).for_each(|(communicator, name)| communicator.name = name);
    (communicators, numbers)
}
