//! The message size of a call, as benchmarks count it, from the arguments of its function.
//!
//! The table names one of these rules for each collective. A rule looks at the arguments that are significant on this
//! rank only: the others may be anything. It does not ask MPI: what a data type's size is, is looked up once per
//! operation.

use std::marker::PhantomData;

use mpitrace_format::layout::NO_ROOT;
use mpitrace_functions::Function;

use crate::base::width::Width;
use crate::call_sites::call_site;
use crate::handles::call::{ByPeer, Call, Declared, Key, Share, UNKNOWN_AMOUNTS};
use crate::handles::communicator::Communicator;
use crate::mpi::abi;
use crate::operation::amounts::{self, Passed};
use crate::operation::{handle, registry};
use crate::record::thread::ThreadRef;

pub struct Message<W> {
    function: &'static Function,
    thread: ThreadRef,
    /// Selects the bits of a handle that count.
    mask: usize,
    communicator: usize,
    root: i32,
    reduction: usize,
    site: call_site::Number,
    /// True if MPI may be asked about the handles after the call.
    asks: bool,
    width: PhantomData<W>,
}

impl<W: Width> Message<W> {
    #[inline(always)]
    pub fn on_communicator(function: &'static Function, thread: ThreadRef, communicator: usize) -> Self {
        let mask = abi::handle_mask();
        let communicator = communicator & mask;
        Message {
            function,
            thread,
            mask,
            communicator,
            root: NO_ROOT,
            reduction: 0,
            site: 0,
            asks: true,
            width: PhantomData,
        }
    }

    #[inline(always)]
    pub fn on_window(function: &'static Function, thread: ThreadRef, window: usize) -> Self {
        let message = Message::on_communicator(function, thread, window);
        Message { communicator: handle::of_window(message.communicator), ..message }
    }

    /// A call on a file, whose handle is as wide as an address in every library.
    #[inline(always)]
    pub fn on_file(function: &'static Function, thread: ThreadRef, file: usize) -> Self {
        Message { communicator: handle::of_file(file), ..Message::on_communicator(function, thread, 0) }
    }

    /// A call on a communicator that only it makes.
    #[inline(always)]
    pub fn on_new(function: &'static Function, thread: ThreadRef) -> Self {
        Message {
            communicator: handle::of_new(thread.index()),
            asks: false,
            ..Message::on_communicator(function, thread, 0)
        }
    }

    /// The call frees what it is on.
    #[inline(always)]
    pub fn freeing(self) -> Self {
        Message { asks: false, ..self }
    }

    #[inline(always)]
    pub fn called_at(self, site: call_site::Number) -> Self {
        Message { site, ..self }
    }

    #[inline(always)]
    pub fn root(self, root: usize) -> Self {
        Message { root: root as i32, ..self }
    }

    #[inline(always)]
    pub fn reduction(self, reduction: usize) -> Self {
        Message { reduction: reduction & self.mask, ..self }
    }

    #[inline(always)]
    pub fn nothing(self) -> Call {
        self.elements(0, 0)
    }

    #[inline(always)]
    pub fn uniform(self, count: usize, datatype: usize) -> Call {
        self.elements(W::count(count), datatype)
    }

    /// The call has so many elements on this rank; other ranks may pass other counts.
    #[inline(always)]
    pub fn on_this_rank(self, count: usize, datatype: usize) -> Call {
        self.uniform(count, datatype)
    }

    /// So many bytes (MPI_Offset, MPI_Aint) on every rank.
    #[inline(always)]
    pub fn in_bytes(self, bytes: usize) -> Call {
        self.elements(bytes as i64, abi::get().byte)
    }

    /// So many bytes on this rank; other ranks may pass other numbers.
    #[inline(always)]
    pub fn on_this_rank_in_bytes(self, bytes: usize) -> Call {
        self.in_bytes(bytes)
    }

    /// The block that the root gets from each rank. Only the root's receive arguments and the others' send arguments
    /// count; the root's send arguments do not under MPI_IN_PLACE.
    #[inline(always)]
    pub fn gathered(self, sendcount: usize, sendtype: usize, recvcount: usize, recvtype: usize) -> Call {
        match self.role() {
            Some(Role::Root) => self.elements(W::count(recvcount), recvtype),
            Some(Role::Other) => self.elements(W::count(sendcount), sendtype),
            Some(Role::Beside) => self.nothing(),
            None => self.unknown(),
        }
    }

    /// The block that each rank gets from the root.
    #[inline(always)]
    pub fn scattered(self, sendcount: usize, sendtype: usize, recvcount: usize, recvtype: usize) -> Call {
        self.gathered(recvcount, recvtype, sendcount, sendtype)
    }

    /// The data that this rank sends to the root; that it gets, where it only gets.
    #[inline(never)]
    pub fn gathered_by_rank(
        self,
        sendbuf: usize,
        sendcount: usize,
        sendtype: usize,
        recvcounts: usize,
        recvtype: usize,
    ) -> Call {
        let in_place = sendbuf == abi::get().in_place;
        let [sent, received] = both(sendcount, sendtype, recvcounts, recvtype);
        let amounts = self.amounts(|known| amounts::gathered::<W>(known, self.root, in_place, sent, received));
        let call = match (self.role(), self.known()) {
            (Some(Role::Root), Some(known)) if known.is_inter() => self.sum(recvcounts, recvtype, known.peers()),
            // The root's own block lies in place already.
            (Some(Role::Root), Some(known)) if in_place && recvcounts != 0 => {
                self.own_block(recvcounts, recvtype, known)
            }
            (Some(Role::Root | Role::Other), _) => self.elements(W::count(sendcount), sendtype),
            (Some(Role::Beside), _) => self.nothing(),
            (None, _) => self.unknown(),
        };
        Call { amounts, ..call }
    }

    /// The data that the root sends to all; that another rank gets.
    #[inline(never)]
    pub fn scattered_by_rank(
        self,
        sendcounts: usize,
        sendtype: usize,
        recvbuf: usize,
        recvcount: usize,
        recvtype: usize,
    ) -> Call {
        let in_place = recvbuf == abi::get().in_place;
        let [sent, received] = both(sendcounts, sendtype, recvcount, recvtype);
        let amounts = self.amounts(|known| amounts::scattered::<W>(known, self.root, in_place, sent, received));
        let call = match (self.role(), self.known()) {
            (Some(Role::Root), Some(known)) => self.sum(sendcounts, sendtype, known.peers()),
            (Some(Role::Other), _) => self.elements(W::count(recvcount), recvtype),
            (Some(Role::Beside), _) => self.nothing(),
            _ => self.unknown(),
        };
        Call { amounts, ..call }
    }

    /// This rank's contribution, which all get.
    #[inline(always)]
    pub fn contributed(
        self,
        sendbuf: usize,
        sendcount: usize,
        sendtype: usize,
        recvcounts: usize,
        recvtype: usize,
    ) -> Call {
        let in_place = sendbuf == abi::get().in_place;
        let [sent, received] = both(sendcount, sendtype, recvcounts, recvtype);
        let amounts = self.amounts(|known| amounts::contributed::<W>(known, in_place, sent, received));
        let call = match in_place {
            false => self.elements(W::count(sendcount), sendtype),
            true => self.by_communicator(|call, known| match recvcounts {
                0 => call.nothing(),
                _ => call.own_block(recvcounts, recvtype, known),
            }),
        };
        Call { amounts, ..call }
    }

    /// The data that this rank sends to all its peers.
    #[inline(always)]
    pub fn exchanged(
        self,
        sendbuf: usize,
        sendcounts: usize,
        sendtype: usize,
        recvcounts: usize,
        recvtype: usize,
    ) -> Call {
        self.sent_to_all(false, sendbuf, both(sendcounts, sendtype, recvcounts, recvtype))
    }

    /// The size of an exchange ([`Message::exchanged`]) with a data type for each peer.
    #[inline(always)]
    pub fn exchanged_by_type(
        self,
        sendbuf: usize,
        sendcounts: usize,
        sendtypes: usize,
        recvcounts: usize,
        recvtypes: usize,
    ) -> Call {
        self.sent_to_all(true, sendbuf, both(sendcounts, sendtypes, recvcounts, recvtypes))
    }

    #[inline(always)]
    fn sent_to_all(self, by_type: bool, sendbuf: usize, [sent, received]: [Passed; 2]) -> Call {
        let sent = if sendbuf == abi::get().in_place { received } else { sent };
        let amounts = self.amounts(|known| amounts::exchanged::<W>(known, by_type, sent, received));
        let call = self.by_communicator(|call, known| call.all(by_type, sent, known.peers()));
        Call { amounts, ..call }
    }

    #[inline(never)]
    pub fn block_of_neighbours(self, sendcount: usize, sendtype: usize, recvcount: usize, recvtype: usize) -> Call {
        let [sent, received] = both(sendcount, sendtype, recvcount, recvtype);
        let amounts = self.amounts(|known| amounts::to_neighbours::<W>(known, false, sent, received));
        Call { amounts, ..self.uniform(recvcount, recvtype) }
    }

    /// This rank's contribution, which all its neighbours get.
    #[inline(never)]
    pub fn contributed_to_neighbours(
        self,
        sendcount: usize,
        sendtype: usize,
        recvcounts: usize,
        recvtype: usize,
    ) -> Call {
        let [sent, received] = both(sendcount, sendtype, recvcounts, recvtype);
        let amounts = self.amounts(|known| amounts::to_neighbours::<W>(known, true, sent, received));
        Call { amounts, ..self.uniform(sendcount, sendtype) }
    }

    /// The data that this rank sends to its neighbours.
    #[inline(never)]
    pub fn sent_to_neighbours(self, sendcounts: usize, sendtype: usize, recvcounts: usize, recvtype: usize) -> Call {
        self.sent_to_each(false, both(sendcounts, sendtype, recvcounts, recvtype))
    }

    /// The size of an exchange with neighbours ([`Message::sent_to_neighbours`]) with a data type for each.
    #[inline(never)]
    pub fn sent_to_neighbours_by_type(
        self,
        sendcounts: usize,
        sendtypes: usize,
        recvcounts: usize,
        recvtypes: usize,
    ) -> Call {
        self.sent_to_each(true, both(sendcounts, sendtypes, recvcounts, recvtypes))
    }

    #[inline(always)]
    fn sent_to_each(self, by_type: bool, [sent, received]: [Passed; 2]) -> Call {
        let amounts = self.amounts(|known| amounts::among_neighbours::<W>(known, by_type, sent, received));
        let call = self.by_communicator(|call, known| call.all(by_type, sent, known.destinations()));
        Call { amounts, ..call }
    }

    #[inline(always)]
    pub fn summed(self, recvcounts: usize, datatype: usize) -> Call {
        let passed = Passed { counts: recvcounts, types: datatype };
        let amounts = self.amounts(|known| amounts::the_same::<W>(known, passed));
        let call = self.by_communicator(|call, known| call.sum(recvcounts, datatype, known.size() as usize));
        Call { amounts, ..call }
    }

    #[inline(always)]
    fn amounts<S: Into<Share>>(&self, share: impl FnOnce(&Communicator) -> Option<S>) -> Share {
        self.known().and_then(share).map_or(UNKNOWN_AMOUNTS, Into::into)
    }

    /// The call by what is known of its communicator; nothing may be.
    #[inline(always)]
    fn by_communicator(self, size: impl FnOnce(Self, &'static Communicator) -> Call) -> Call {
        match self.known() {
            Some(known) => size(self, known),
            None => self.unknown(),
        }
    }

    /// This rank's block, by an array that has one count for each rank.
    #[inline(always)]
    fn own_block(self, counts: usize, datatype: usize, known: &Communicator) -> Call {
        self.elements(W::element(counts, known.rank() as usize), datatype)
    }

    #[inline(always)]
    fn known(&self) -> Option<&'static Communicator> {
        registry::kept_communicator(self.thread, self.communicator)
    }

    #[inline(always)]
    fn role(&self) -> Option<Role> {
        let known = self.known()?;
        let abi = abi::get();
        Some(match (known.is_inter(), self.root) {
            (true, root) if root == abi.root => Role::Root,
            (true, root) if root == abi.proc_null => Role::Beside,
            (false, root) if root == known.rank() as i32 => Role::Root,
            _ => Role::Other,
        })
    }

    /// The data for so many peers.
    #[inline(always)]
    fn all(self, by_type: bool, Passed { counts, types }: Passed, peers: usize) -> Call {
        if by_type { self.by_peer(counts, types, peers) } else { self.sum(counts, types, peers) }
    }

    #[inline(always)]
    fn sum(self, counts: usize, datatype: usize, peers: usize) -> Call {
        if counts == 0 {
            // The library will say what it thinks of that.
            return self.nothing();
        }
        // The array has one count for each peer and is significant on this rank.
        let sum = (0..peers).fold(0i64, |sum, peer| sum.wrapping_add(W::element(counts, peer)));
        self.elements(sum, datatype)
    }

    #[inline(always)]
    fn by_peer(self, counts: usize, datatypes: usize, peers: usize) -> Call {
        let abi = abi::get();
        if counts == 0 || datatypes == 0 {
            return self.nothing();
        }
        let mut hash = 0u64;
        for peer in 0..peers {
            // Both arrays have one element for each peer and are significant on this rank.
            let (count, datatype) = (W::element(counts, peer), abi.read(datatypes + peer * abi.handle_size) as u64);
            // splitmix64's multipliers: neighbouring values end far apart.
            hash = (hash ^ count as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ hash >> 29 ^ datatype).wrapping_mul(0x94d0_49bb_1331_11eb);
        }
        let by_peer = Some(ByPeer { counts, datatypes, peers, large: W::LARGE });
        Call { by_peer, ..self.elements(hash as i64, 0) }
    }

    #[inline(always)]
    fn elements(self, count: i64, datatype: usize) -> Call {
        let key = Key {
            function: Declared(self.function),
            communicator: self.communicator,
            datatype: datatype & self.mask,
            reduction: self.reduction,
            count: count as u64,
            root: self.root,
            site: self.site,
        };
        Call { key, known: true, asks: self.asks, by_peer: None, amounts: Share::default() }
    }

    /// A call whose size is unknown before the communicator is.
    #[inline(always)]
    fn unknown(self) -> Call {
        Call { known: false, amounts: UNKNOWN_AMOUNTS, ..self.nothing() }
    }
}

#[inline(always)]
fn both(sendcounts: usize, sendtypes: usize, recvcounts: usize, recvtypes: usize) -> [Passed; 2] {
    [Passed { counts: sendcounts, types: sendtypes }, Passed { counts: recvcounts, types: recvtypes }]
}

enum Role {
    Root,
    Other,
    /// In the root's group of an intercommunicator, but not the root.
    Beside,
}
