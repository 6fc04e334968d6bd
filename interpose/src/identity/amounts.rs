//! This rank's share of the sums by which ranks find out whether the amounts fit that they pass to v- and w-variants
//! ([`mpitrace_format::amounts`]): computed from the arguments of each call, without MPI.

use mpitrace_format::amounts::{among, receiver, sender};

use crate::base::width::Width;
use crate::identity::datatype;
use crate::mpi::abi;
use crate::record::communicator::Communicator;
use crate::record::thread::ThreadRef;

/// Counts and data types as the program passes them: one of each, or arrays of them with an element for each rank.
#[derive(Clone, Copy)]
pub struct Passed {
    pub counts: usize,
    pub types: usize,
}

/// The data types for several ranks.
#[derive(Clone, Copy, PartialEq)]
enum Types {
    /// One for all.
    One(usize),
    /// An array of handles.
    Each(usize),
}

impl Types {
    fn for_rank(self, rank: usize) -> usize {
        let abi = abi::get();
        match self {
            Types::One(datatype) => abi.handle(datatype),
            Types::Each(array) => abi.read(array + rank * abi.handle_size),
        }
    }
}

/// The bytes of so many elements, of which only equality counts. `None`: the type is not known.
fn bytes(thread: ThreadRef, count: i64, datatype: usize) -> Option<u32> {
    match count {
        // Then the type may be a null handle.
        0 => Some(0),
        _ => Some((count as u32).wrapping_mul(datatype::without_asking(thread, datatype)?.size as u32)),
    }
}

/// The sum of the bytes for all ranks, with weights.
fn weighted<W: Width>(
    thread: ThreadRef,
    ranks: u32,
    counts: usize,
    types: Types,
    weight: impl Fn(u32) -> u32,
) -> Option<u32> {
    if counts == 0 || types == Types::Each(0) {
        return None;
    }
    let count = |rank: u32| W::element(counts, rank as usize);
    if let Types::One(_) = types {
        let add = |sum: u32, rank: u32| sum.wrapping_add(weight(rank).wrapping_mul(count(rank) as u32));
        let sum = (0..ranks).fold(0, add);
        return bytes(thread, sum.into(), types.for_rank(0));
    }
    (0..ranks).try_fold(0u32, |sum, rank| {
        let bytes = bytes(thread, count(rank), types.for_rank(rank as usize))?;
        Some(sum.wrapping_add(weight(rank).wrapping_mul(bytes)))
    })
}

/// The bytes of one block: this rank's own, or in place the one that an array has for it.
fn own<W: Width>(thread: ThreadRef, known: &Communicator, in_place: Option<Passed>, block: Passed) -> Option<u32> {
    let abi = abi::get();
    match in_place {
        Some(all) if all.counts == 0 => None,
        Some(all) => bytes(thread, W::element(all.counts, known.rank() as usize), abi.handle(all.types)),
        None => bytes(thread, W::count(block.counts), abi.handle(block.types)),
    }
}

/// Each rank sends a block to each other one.
pub fn exchanged<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    by_type: bool,
    sent: Passed,
    received: Passed,
) -> Option<u32> {
    let types = |passed: Passed| if by_type { Types::Each(passed.types) } else { Types::One(passed.types) };
    let out = weighted::<W>(thread, known.size(), sent.counts, types(sent), receiver)?;
    let into = weighted::<W>(thread, known.size(), received.counts, types(received), sender)?;
    let rank = known.rank();
    Some(sender(rank).wrapping_mul(out).wrapping_sub(receiver(rank).wrapping_mul(into)))
}

/// Each rank sends one block to all.
pub fn contributed<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    in_place: bool,
    sent: Passed,
    received: Passed,
) -> Option<u32> {
    let all = (0..known.size()).fold(0u32, |sum, rank| sum.wrapping_add(receiver(rank)));
    let block = own::<W>(thread, known, in_place.then_some(received), sent)?;
    let into = weighted::<W>(thread, known.size(), received.counts, Types::One(received.types), sender)?;
    let rank = known.rank();
    let out = sender(rank).wrapping_mul(all).wrapping_mul(block);
    Some(out.wrapping_sub(receiver(rank).wrapping_mul(into)))
}

/// Each rank sends one block to the root.
pub fn gathered<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    root: i32,
    in_place: bool,
    sent: Passed,
    received: Passed,
) -> Option<u32> {
    let is_root = known.rank() as i32 == root;
    let block = own::<W>(thread, known, (is_root && in_place).then_some(received), sent)?;
    let root = receiver(root as u32);
    let out = sender(known.rank()).wrapping_mul(root).wrapping_mul(block);
    if !is_root {
        return Some(out);
    }
    let into = weighted::<W>(thread, known.size(), received.counts, Types::One(received.types), sender)?;
    Some(out.wrapping_sub(root.wrapping_mul(into)))
}

/// The root sends a block to each rank.
pub fn scattered<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    root: i32,
    in_place: bool,
    sent: Passed,
    received: Passed,
) -> Option<u32> {
    let is_root = known.rank() as i32 == root;
    let block = own::<W>(thread, known, (is_root && in_place).then_some(sent), received)?;
    let root = sender(root as u32);
    let into = receiver(known.rank()).wrapping_mul(root).wrapping_mul(block);
    if !is_root {
        return Some(into.wrapping_neg());
    }
    let out = weighted::<W>(thread, known.size(), sent.counts, Types::One(sent.types), receiver)?;
    Some(root.wrapping_mul(out).wrapping_sub(into))
}

/// All ranks pass the same counts.
pub fn the_same<W: Width>(thread: ThreadRef, known: &Communicator, passed: Passed) -> Option<u32> {
    let all = weighted::<W>(thread, known.size(), passed.counts, Types::One(passed.types), receiver)?;
    Some(among(known.rank(), known.size()).wrapping_mul(all))
}
