//! This rank's share of the sums by which ranks find out whether the amounts fit that they pass to v- and w-variants
//! ([`mpitrace_format::amounts`]): computed from the arguments of each call, without MPI. In sums a rank has a number
//! of its own: its rank, or on an intercommunicator, for the ranks of one group, the rank and [`OTHER_GROUP`]. The
//! functions are out of line: a dozen wrappers call each, in two widths.

use mpitrace_format::amounts::{among, receiver, sender};
use mpitrace_format::layout::unknown;
use mpitrace_functions::types;

use crate::base::width::Width;
use crate::handles::call::Share;
use crate::handles::communicator::{Communicator, Group, Neighbours};
use crate::mpi::abi;
use crate::operation::datatype;

/// Counts and data types as the program passes them: one of each, or arrays of them with an element for each rank.
#[derive(Clone, Copy)]
pub struct Passed {
    pub counts: usize,
    pub types: usize,
}

impl Passed {
    /// The data type for a rank; `by_type`: each has one of its own.
    fn datatype(self, by_type: bool, rank: usize) -> usize {
        let abi = abi::get();
        if by_type { abi.read(self.types + rank * abi.handle_size) } else { abi.handle(self.types) }
    }
}

/// Added to the ranks of the group of an intercommunicator that does not have the lowest rank of the world.
const OTHER_GROUP: u32 = 1 << 30;

#[derive(Clone, Copy)]
struct Numbers<'k> {
    known: &'k Communicator,
    this_rank: u32,
    /// The first rank that it exchanges blocks with, and how many these are.
    first: u32,
    peers: u32,
    is_inter: bool,
}

impl<'k> Numbers<'k> {
    /// On this communicator. `None`: there are ranks of other worlds.
    #[inline(always)]
    fn on(known: &'k Communicator) -> Option<Numbers<'k>> {
        match known.is_inter() {
            true => Numbers::on_both_groups(known),
            false => Some(Numbers { known, this_rank: known.rank(), first: 0, peers: known.size(), is_inter: false }),
        }
    }

    #[cold]
    #[inline(never)]
    fn on_both_groups(known: &'k Communicator) -> Option<Numbers<'k>> {
        let Group { rank, remote, is_first, .. } = known.group();
        let [this_rank, first] = if is_first { [0, OTHER_GROUP] } else { [OTHER_GROUP, 0] };
        known.is_all_here().then_some(Numbers {
            known,
            this_rank: this_rank + rank,
            first,
            peers: remote,
            is_inter: true,
        })
    }

    /// The root's number, and true if it is this rank. `None`: this rank exchanges nothing with it.
    #[inline(always)]
    fn root(&self, root: i32) -> Option<(u32, bool)> {
        let abi = abi::get();
        match self.is_inter {
            false => Some((root as u32, root == self.this_rank as i32)),
            true if root == abi.proc_null => None,
            true if root == abi.root => Some((self.this_rank, true)),
            true => Some((self.first.wrapping_add(root as u32), false)),
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
    fn elements(count: i64, datatype: usize) -> Option<Data> {
        // Without elements the type may be a null handle.
        if count == 0 {
            return Some(Data::default());
        }
        let known = datatype::without_asking(datatype)?;
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

fn weighted<W: Width>(ranks: u32, passed: Passed, by_type: bool, weight: impl Fn(u32) -> u32) -> Option<Data> {
    if passed.counts == 0 || by_type && passed.types == 0 {
        return None;
    }
    let count = |rank: u32| W::element(passed.counts, rank as usize);
    if !by_type {
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
        let one = Data::elements(any.into(), passed.datatype(false, 0))?;
        return Some(Data { bytes: one.bytes.wrapping_mul(sum), kind: one.kind.wrapping_mul(of_kind), ..one });
    }
    (0..ranks).try_fold(Data::default(), |sum, rank| {
        let data = Data::elements(count(rank), passed.datatype(true, rank as usize))?;
        Some(sum.plus(data.times(weight(rank))))
    })
}

/// The bytes of one block: this rank's own, or in place the one that an array has for it.
fn own_block<W: Width>(of: &Numbers, in_place: Option<Passed>, block: Passed) -> Option<u32> {
    let abi = abi::get();
    match in_place {
        Some(all) if all.counts == 0 => None,
        Some(all) => Data::elements(W::element(all.counts, of.known.rank() as usize), abi.handle(all.types)),
        None => Data::elements(W::count(block.counts), abi.handle(block.types)),
    }
    .map(|data| data.bytes)
}

fn of_peers<W: Width>(of: &Numbers, passed: Passed, by_type: bool, weight: impl Fn(u32) -> u32) -> Option<Data> {
    weighted::<W>(of.peers, passed, by_type, |peer| weight(of.first.wrapping_add(peer)))
}

fn of_neighbours<W: Width>(weights: &[u32], passed: Passed, by_type: bool) -> Option<Data> {
    weighted::<W>(weights.len() as u32, passed, by_type, |place| weights[place as usize])
}

/// Each rank sends a block to each other one.
#[inline(never)]
pub fn exchanged<W: Width>(known: &Communicator, by_type: bool, sent: Passed, received: Passed) -> Option<Share> {
    let of = Numbers::on(known)?;
    let out = of_peers::<W>(&of, sent, by_type, receiver)?;
    Some(difference(&of, out, of_peers::<W>(&of, received, by_type, sender)?))
}

/// Each rank sends a block to each of its neighbours.
#[inline(never)]
pub fn among_neighbours<W: Width>(
    known: &Communicator,
    by_type: bool,
    sent: Passed,
    received: Passed,
) -> Option<Share> {
    let of = Numbers::on(known)?;
    let Neighbours { sources, destinations } = of.known.neighbours()?;
    let out = of_neighbours::<W>(destinations, sent, by_type)?;
    Some(difference(&of, out, of_neighbours::<W>(sources, received, by_type)?))
}

/// Each rank sends the same block, or as many elements, to each of its neighbours. `by_rank`: it receives another count
/// from each.
#[inline(never)]
pub fn to_neighbours<W: Width>(known: &Communicator, by_rank: bool, sent: Passed, received: Passed) -> Option<Share> {
    let of = Numbers::on(known)?;
    let Neighbours { sources, destinations } = of.known.neighbours()?;
    let all = |weights: &[u32], passed: Passed| {
        let sum = weights.iter().fold(0u32, |sum, &weight| sum.wrapping_add(weight));
        Some(Data::elements(W::count(passed.counts), abi::get().handle(passed.types))?.times(sum))
    };
    let into = match by_rank {
        true => of_neighbours::<W>(sources, received, false),
        false => all(sources, received),
    };
    Some(difference(&of, all(destinations, sent)?, into?))
}

/// A rank's share, of what it sends and receives with the weights of the others.
fn difference(of: &Numbers, out: Data, into: Data) -> Share {
    let share = out.times(sender(of.this_rank)).plus(into.times(receiver(of.this_rank).wrapping_neg()));
    let unknown = if share.any_kind { unknown::TYPES } else { 0 };
    Share { amounts: share.bytes, types: share.kind, unknown }
}

/// Each rank sends one block to all.
#[inline(never)]
pub fn contributed<W: Width>(known: &Communicator, in_place: bool, sent: Passed, received: Passed) -> Option<u32> {
    let of = Numbers::on(known)?;
    let all = (0..of.peers).fold(0u32, |sum, peer| sum.wrapping_add(receiver(of.first.wrapping_add(peer))));
    let block = own_block::<W>(&of, in_place.then_some(received), sent)?;
    let into = of_peers::<W>(&of, received, false, sender)?.bytes;
    let out = sender(of.this_rank).wrapping_mul(all).wrapping_mul(block);
    Some(out.wrapping_sub(receiver(of.this_rank).wrapping_mul(into)))
}

/// Each rank sends one block to the root: also the root itself, but on an intercommunicator.
pub fn gathered<W: Width>(
    known: &Communicator,
    root: i32,
    in_place: bool,
    sent: Passed,
    received: Passed,
) -> Option<u32> {
    with_root::<W>(known, root, in_place.then_some(received), [sent, received], [sender, receiver])
}

/// The root sends a block to each rank: also to itself, but on an intercommunicator.
pub fn scattered<W: Width>(
    known: &Communicator,
    root: i32,
    in_place: bool,
    sent: Passed,
    received: Passed,
) -> Option<u32> {
    let share = with_root::<W>(known, root, in_place.then_some(sent), [received, sent], [receiver, sender])?;
    Some(share.wrapping_neg())
}

/// The share of a rank that exchanges one block with the root, less that of the root, which has one for each rank;
/// `in_place`: those of the root, where its own block is among them.
#[inline(never)]
fn with_root<W: Width>(
    known: &Communicator,
    root: i32,
    in_place: Option<Passed>,
    [one, all]: [Passed; 2],
    [of_rank, of_root]: [fn(u32) -> u32; 2],
) -> Option<u32> {
    let of = Numbers::on(known)?;
    let Some((root, is_root)) = of.root(root) else { return Some(0) };
    let block = match is_root && of.is_inter {
        true => 0,
        false => own_block::<W>(&of, in_place.filter(|_| is_root), one)?,
    };
    let root = of_root(root);
    let share = of_rank(of.this_rank).wrapping_mul(root).wrapping_mul(block);
    if !is_root {
        return Some(share);
    }
    let all = of_peers::<W>(&of, all, false, of_rank)?.bytes;
    Some(share.wrapping_sub(root.wrapping_mul(all)))
}

/// All ranks of a group pass the same counts.
#[inline(never)]
pub fn the_same<W: Width>(known: &Communicator, passed: Passed) -> Option<u32> {
    let of = Numbers::on(known)?;
    let size = of.known.size();
    let all = weighted::<W>(size, passed, false, receiver)?.bytes;
    Some(among(of.known.rank(), size).wrapping_mul(all))
}
