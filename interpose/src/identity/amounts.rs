//! This rank's share of the sums by which ranks find out whether the amounts fit that they pass to v- and w-variants
//! ([`mpitrace_format::amounts`]): computed from the arguments of each call, without MPI.

use mpitrace_format::amounts::{among, receiver, sender};
use mpitrace_format::layout::unknown;
use mpitrace_functions::types;

use crate::base::width::Width;
use crate::identity::datatype;
use crate::mpi::abi;
use crate::record::call_cache::Share;
use crate::record::communicator::{Communicator, Neighbours};
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

/// Data: the bytes and the kind of their type, of which only equality counts; or sums of these with weights.
#[derive(Clone, Copy, Default)]
struct Data {
    bytes: u32,
    kind: u16,
    /// The type is not compared.
    any_kind: bool,
}

impl Data {
    /// So many elements. `None`: the type is not known.
    #[inline(always)]
    fn elements(thread: ThreadRef, count: i64, datatype: usize) -> Option<Data> {
        // Without elements the type may be a null handle.
        if count == 0 {
            return Some(Data::default());
        }
        let known = datatype::without_asking(thread, datatype)?;
        let kind = types::kind_of(known.types);
        let bytes = (count as u32).wrapping_mul(known.size as u32);
        Some(Data { bytes, kind: kind.unwrap_or(0), any_kind: kind.is_none() })
    }

    #[inline(always)]
    fn times(self, weight: u32) -> Data {
        let kind = self.kind.wrapping_mul(weight as u16);
        Data { bytes: self.bytes.wrapping_mul(weight), kind, ..self }
    }

    #[inline(always)]
    fn plus(self, other: Data) -> Data {
        Data {
            bytes: self.bytes.wrapping_add(other.bytes),
            kind: self.kind.wrapping_add(other.kind),
            any_kind: self.any_kind | other.any_kind,
        }
    }
}

/// The sum of the data for all ranks, with weights.
fn weighted<W: Width>(
    thread: ThreadRef,
    ranks: u32,
    counts: usize,
    types: Types,
    weight: impl Fn(u32) -> u32,
) -> Option<Data> {
    if counts == 0 || types == Types::Each(0) {
        return None;
    }
    let count = |rank: u32| W::element(counts, rank as usize);
    if let Types::One(_) = types {
        // The kind of each rank's data is the same one, where there are any.
        let add = |(sum, of_kind, any): (u32, u16, bool), rank: u32| {
            let (weight, count) = (weight(rank), count(rank));
            let has_data = count != 0;
            (
                sum.wrapping_add(weight.wrapping_mul(count as u32)),
                of_kind.wrapping_add(weight as u16 * u16::from(has_data)),
                any | has_data,
            )
        };
        let (sum, of_kind, any) = (0..ranks).fold((0, 0, false), add);
        let one = Data::elements(thread, any.into(), types.for_rank(0))?;
        return Some(Data { bytes: one.bytes.wrapping_mul(sum), kind: one.kind.wrapping_mul(of_kind), ..one });
    }
    (0..ranks).try_fold(Data::default(), |sum, rank| {
        let data = Data::elements(thread, count(rank), types.for_rank(rank as usize))?;
        Some(sum.plus(data.times(weight(rank))))
    })
}

/// The bytes of one block: this rank's own, or in place the one that an array has for it.
fn own<W: Width>(thread: ThreadRef, known: &Communicator, in_place: Option<Passed>, block: Passed) -> Option<u32> {
    let abi = abi::get();
    match in_place {
        Some(all) if all.counts == 0 => None,
        Some(all) => Data::elements(thread, W::element(all.counts, known.rank() as usize), abi.handle(all.types)),
        None => Data::elements(thread, W::count(block.counts), abi.handle(block.types)),
    }
    .map(|data| data.bytes)
}

/// Each rank sends a block to each other one.
pub fn exchanged<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    by_type: bool,
    sent: Passed,
    received: Passed,
) -> Option<Share> {
    let types = |passed: Passed| if by_type { Types::Each(passed.types) } else { Types::One(passed.types) };
    let out = weighted::<W>(thread, known.size(), sent.counts, types(sent), receiver)?;
    let into = weighted::<W>(thread, known.size(), received.counts, types(received), sender)?;
    Some(difference(known, out, into))
}

/// Each rank sends a block to each of its neighbours.
pub fn among_neighbours<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    by_type: bool,
    sent: Passed,
    received: Passed,
) -> Option<Share> {
    let Neighbours { sources, destinations } = known.neighbours()?;
    let types = |passed: Passed| if by_type { Types::Each(passed.types) } else { Types::One(passed.types) };
    let of = |weights: &[u32], passed: Passed| {
        weighted::<W>(thread, weights.len() as u32, passed.counts, types(passed), |place| weights[place as usize])
    };
    Some(difference(known, of(destinations, sent)?, of(sources, received)?))
}

/// Each rank sends the same block, or as many elements, to each of its neighbours. `by_rank`: it receives another count
/// from each.
pub fn to_neighbours<W: Width>(
    thread: ThreadRef,
    known: &Communicator,
    by_rank: bool,
    sent: Passed,
    received: Passed,
) -> Option<Share> {
    let Neighbours { sources, destinations } = known.neighbours()?;
    let of = |weights: &[u32], passed: Passed| {
        let all = weights.iter().fold(0u32, |sum, &weight| sum.wrapping_add(weight));
        Some(Data::elements(thread, W::count(passed.counts), abi::get().handle(passed.types))?.times(all))
    };
    let into = match by_rank {
        true => weighted::<W>(thread, sources.len() as u32, received.counts, Types::One(received.types), |place| {
            sources[place as usize]
        }),
        false => of(sources, received),
    };
    Some(difference(known, of(destinations, sent)?, into?))
}

/// A rank's share, of what it sends and receives with the weights of the others.
fn difference(known: &Communicator, out: Data, into: Data) -> Share {
    let rank = known.rank();
    let share = out.times(sender(rank)).plus(into.times(receiver(rank).wrapping_neg()));
    let unknown = if share.any_kind { unknown::TYPES } else { 0 };
    Share { amounts: share.bytes, types: share.kind, unknown }
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
    let into = weighted::<W>(thread, known.size(), received.counts, Types::One(received.types), sender)?.bytes;
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
    let into = weighted::<W>(thread, known.size(), received.counts, Types::One(received.types), sender)?.bytes;
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
    let out = weighted::<W>(thread, known.size(), sent.counts, Types::One(sent.types), receiver)?.bytes;
    Some(root.wrapping_mul(out).wrapping_sub(into))
}

/// All ranks pass the same counts.
pub fn the_same<W: Width>(thread: ThreadRef, known: &Communicator, passed: Passed) -> Option<u32> {
    let all = weighted::<W>(thread, known.size(), passed.counts, Types::One(passed.types), receiver)?.bytes;
    Some(among(known.rank(), known.size()).wrapping_mul(all))
}
