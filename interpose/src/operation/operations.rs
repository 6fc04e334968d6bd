//! Which operation a call belongs to: [`crate::handles::call_cache`] where its thread made it lately, else what the
//! rank knows of its handles, and what MPI says of those that are new.

use mpitrace_format::layout::{BESIDE_ROOT, NO_ROOT, OperationEntry, THIS_IS_ROOT, UNKNOWN_BYTES};

use mpitrace_functions::types;

use crate::base::width::{Int, Large, Width};
use crate::call_sites::call_site;
use crate::handles::call::{ByPeer, Call, Key, Share};
use crate::handles::call_cache::{KnownOperation, Lasts};
use crate::handles::communicator::Communicator;
use crate::handles::generation;
use crate::handles::type_table::{self, flags};
use crate::mpi::abi;
use crate::operation::registry::{self, Description, Registry};
use crate::operation::{communicator_table, datatype};
use crate::record::thread::{self, ThreadRef};

/// The operation of a call; good until the thread makes another call. `None`: the tables cannot hold it.
#[inline(always)]
pub fn find<'c>(thread: ThreadRef, call: &Call) -> Option<&'c KnownOperation> {
    if call.known
        && let Some(found) = thread.cached(&call.key)
    {
        return Some(found);
    }
    find_uncached(thread, call)
}

#[cold]
#[inline(never)]
fn find_uncached<'c>(thread: ThreadRef, call: &Call) -> Option<&'c KnownOperation> {
    let generation = generation::present();
    if call.known
        && let Some(key) = meant(&call.key)
        && let Some(&found) = thread.cached(&key)
    {
        if call.key.datatype == 0 || datatype::may_be_kept(call.key.datatype) {
            thread.with_cache(|cache| cache.keep(&call.key, found, Lasts::WithItsHandles, generation));
        }
        return thread.keep_last(Some(found));
    }
    thread.keep_last(thread::catch_panic(|| find_slowly(thread, call)))
}

/// In a key, in place of the handle of what the program made: what the operation has of it.
const MEANT: usize = 1 << 63;

/// The key of a call of a type or an operator that the program made, with what they mean: it is that of all calls which
/// belong to one operation, also when what they are of was freed.
fn meant(key: &Key) -> Option<Key> {
    let reduction = match key.reduction {
        0 => 0,
        handle if abi::get().predefined_reduction(handle).is_some() => handle,
        _ => MEANT,
    };
    let known = match key.datatype {
        0 => None,
        handle => Some(datatype::looked_up(handle)?).filter(|known| !known.is(flags::PREDEFINED)),
    };
    let (datatype, count) = match known {
        Some(known) => (MEANT | known.name as usize, known.size.wrapping_mul(key.count)),
        None => (key.datatype, key.count),
    };
    let meant = Key { reduction, datatype, count, ..*key };
    (meant != *key).then_some(meant)
}

/// The operation of a call that its thread's cache does not hold. `None`: the tables are full.
fn find_slowly(thread: ThreadRef, call: &Call) -> Option<KnownOperation> {
    let generation = generation::present();
    let mut registry = registry::lock()?;
    let known = registry.communicators.get(&call.key.communicator).copied();
    if let Some(known) = known {
        registry.list_if_used_often(known, call.key.communicator);
    }
    let identified = known.is_some_and(Communicator::is_identified);
    if identified
        && call.known
        && let Some(size) = registry.size(call, false)
    {
        let number = registry.operation(known?, call, size)?;
        let found = registry.found(known?, number, false);
        let lasts = match call.by_peer {
            Some(_) => Lasts::ThisGeneration,
            None if known?.is_predefined() => Lasts::Always,
            None => Lasts::WithItsHandles,
        };
        // A call on a folded communicator may be the one with which it gets an entry.
        if !known?.is_folded() {
            let key = meant(&call.key).unwrap_or(call.key);
            thread.with_cache(|cache| cache.keep(&key, found, lasts, generation));
        }
        return Some(found);
    }
    // An unknown handle may be a wrong one: MPI is asked about it when the call has returned well.
    let known = communicator_table::known_or_provisional(&mut registry, call.key.communicator)?;
    let number = registry.operation(known, call, (UNKNOWN_BYTES, 0))?;
    Some(registry.found(known, number, call.asks))
}

/// After a call of an open operation has returned well: asks MPI about its handles and gives the call its true
/// operation. `call` is made again now that the communicator is known; returns the operation and the repetition.
#[cold]
pub fn settle(open: &KnownOperation, first: &Key, call: &dyn Fn() -> Call) -> Option<(u32, u64)> {
    let (settled, _) = asked(first.communicator, call)?;
    open.operation.set_calls(open.operation.calls() - 1);
    let repetition = settled.operation.calls();
    settled.operation.set_calls(repetition + 1);
    Some((settled.number, repetition))
}

/// The operation of a persistent collective that was made just now, well, so that MPI may be asked about its handles;
/// and its creation index on the communicator. `call` is asked when the communicator is known.
#[cold]
pub fn prepare(communicator: usize, call: &dyn Fn() -> Call) -> Option<(KnownOperation, u64)> {
    let (found, known) = asked(communicator, call)?;
    Some((found, known.next_persistent()))
}

/// The operation of a call that has returned well on this communicator: MPI is asked about its handles.
fn asked(communicator: usize, call: &dyn Fn() -> Call) -> Option<(KnownOperation, &'static Communicator)> {
    communicator_table::identified(communicator)?;
    let call = call();
    let mut registry = registry::lock()?;
    let known = registry.communicators.get(&call.key.communicator).copied()?;
    let size = registry.size(&call, true)?;
    let number = registry.operation(known, &call, size)?;
    Some((registry.found(known, number, false), known))
}

/// A call that only the ranks of a new communicator make has returned well, and that communicator is known now: the
/// call is the first one on it. Its operation, repetition and sequence number.
#[cold]
pub fn begin_on_new(key: &Key, made: &'static Communicator) -> Option<(u32, u64, u64)> {
    let mut registry = registry::lock()?;
    let call = Call { key: *key, known: true, asks: false, by_peer: None, amounts: Share::default() };
    let pending = registry.communicators.get(&key.communicator).copied()?;
    let begun = registry.operation(pending, &call, (UNKNOWN_BYTES, 0))?;
    let begun = registry.live.operation(begun);
    begun.set_calls(begun.calls().saturating_sub(1));
    let number = registry.operation(made, &call, (0, 0))?;
    let (operation, entry) = (registry.live.operation(number), made.entry());
    let (repetition, position) = (operation.calls(), entry.calls());
    operation.set_calls(repetition + 1);
    entry.set_calls(position + 1);
    Some((number, repetition, position))
}

impl Registry {
    fn found(&self, known: &'static Communicator, number: u32, open: bool) -> KnownOperation {
        KnownOperation { operation: self.live.operation(number), communicator: known.entry(), number, open }
    }

    /// The message size and the name of the data type (0: none); `None` where a data type is not known and may not be
    /// asked about.
    fn size(&mut self, call: &Call, may_ask: bool) -> Option<(u64, u32)> {
        if let Some(by_peer) = call.by_peer {
            return self.size_by_peer(&by_peer, may_ask);
        }
        if call.key.datatype == 0 {
            return Some((0, 0));
        }
        let datatype = datatype::find(self, call.key.datatype, may_ask)?;
        Some((datatype.size.wrapping_mul(call.key.count), datatype.name))
    }

    fn size_by_peer(&mut self, by_peer: &ByPeer, may_ask: bool) -> Option<(u64, u32)> {
        let abi = abi::get();
        let mut sum = 0u64;
        let mut name = None;
        for peer in 0..by_peer.peers {
            // They are arguments of a call that has not returned to the program yet.
            let count =
                if by_peer.large { Large::element(by_peer.counts, peer) } else { Int::element(by_peer.counts, peer) };
            let handle = abi.read(by_peer.datatypes + peer * abi.handle_size);
            if count == 0 {
                // Then the type may be a null handle.
                continue;
            }
            let datatype = datatype::find(self, handle, may_ask)?;
            // What is kept of the call is outdated with it.
            type_table::mark(handle, flags::KEPT);
            sum = sum.wrapping_add(datatype.size.wrapping_mul(count as u64));
            name = match name {
                None => Some(datatype.name),
                Some(other) if other == datatype.name => name,
                Some(_) => Some(self.string(types::DERIVED)),
            };
        }
        Some((sum, name.unwrap_or(0)))
    }

    fn reduction(&mut self, handle: usize) -> u32 {
        if handle == 0 {
            return 0;
        }
        // An operator that the program made counts as `user` whatever its handle: nothing to forget when it is freed.
        self.string(abi::get().predefined_reduction(handle).unwrap_or("user"))
    }

    pub fn describe(&mut self, known: &Communicator, call: &Call, (bytes, datatype): (u64, u32)) -> Description {
        let abi = abi::get();
        Description {
            function: call.key.function,
            communicator: known.number(),
            bytes,
            root: match call.key.root {
                NO_ROOT => NO_ROOT,
                root if known.is_inter() && root == abi.root => THIS_IS_ROOT,
                root if known.is_inter() && root == abi.proc_null => BESIDE_ROOT,
                root => root,
            },
            datatype,
            reduction: self.reduction(call.key.reduction),
            site: call.key.site,
        }
    }

    pub fn add_operation(&mut self, description: &Description) -> Option<u32> {
        let function = self.string(description.function.0.name);
        let call_site = call_site::text(description.site).map_or(0, |text| self.string(&text));
        let entry = OperationEntry {
            calls: 0,
            bytes: description.bytes,
            communicator: description.communicator,
            root: description.root,
            function,
            datatype: description.datatype,
            reduction: description.reduction,
            call_site,
            ..OperationEntry::default()
        };
        self.live.add(entry).map(|(number, _)| number)
    }
}
