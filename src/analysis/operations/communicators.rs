//! The communicators of a trace: which entries of different ranks are one and the same.

use std::collections::HashMap;

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags as flags};

use crate::reader::Trace;

/// A communicator of the traced program, or one of its windows or files, whose calls have sequence numbers of their own.
#[derive(Debug)]
pub struct Communicator {
    /// Its number within the trace.
    pub id: usize,
    /// `MPI_COMM_WORLD`, `MPI_COMM_SELF`, the name that the program gave it, `comm-N`, or `folded`. Of a window `window of
    /// X`, where X is the communicator that it was made of, of a file the name with which it was opened.
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
        let flags = entry(&members[0]).flags;
        let class = match flags {
            bits if bits & flags::WORLD != 0 => 0,
            bits if bits & flags::SELF != 0 => 2,
            bits if bits & flags::FOLDED != 0 => 3,
            _ => 1,
        };
        (class, members[0])
    });

    let mut numbers: Vec<Vec<usize>> = trace.parts.iter().map(|part| vec![0; part.communicators().len()]).collect();
    let mut communicators: Vec<Communicator> = Vec::with_capacity(found.len());
    let mut unnamed = Vec::new();
    // Without a part of any rank that knew MPI_COMM_WORLD there is no number 0.
    for (id, members) in found.into_iter().enumerate() {
        for &(part, index) in &members {
            numbers[part][index] = id;
        }
        let given = members.iter().find_map(|member| trace.parts[member.0].text(entry(member).name));
        let first = entry(&members[0]);
        let name = given.clone().unwrap_or_else(|| match first.flags {
            bits if bits & flags::WORLD != 0 => "MPI_COMM_WORLD".to_owned(),
            bits if bits & flags::SELF != 0 => "MPI_COMM_SELF".to_owned(),
            bits if bits & flags::FOLDED != 0 => "folded".to_owned(),
            _ => format!("comm-{id}"),
        });
        if given.is_none() && first.flags & (flags::WINDOW | flags::FILE) != 0 {
            unnamed.push((id, members[0], first));
        }
        let folded = first.flags & flags::FOLDED != 0;
        let size = match folded {
            true => members.len() as u32,
            false => members.iter().map(|member| entry(member).size).max().unwrap_or(0),
        };
        communicators.push(Communicator { id, name, folded, size, mismatches: 0, members });
    }
    for (id, (part, _), entry) in unnamed {
        let kind = if entry.flags & flags::WINDOW != 0 { "window" } else { "file" };
        // What it was made of is an entry of the same rank; one that a damaged file names may be missing.
        let made_of = entry.made_of.checked_sub(1).and_then(|index| numbers[part].get(index as usize));
        communicators[id].name = match made_of {
            Some(&made_of) if made_of != id => format!("{kind} of {}", communicators[made_of].name),
            _ => format!("{kind}-{id}"),
        };
    }
    (communicators, numbers)
}
