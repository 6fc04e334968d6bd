//! Regions: repetitions that a program starts and stops by hand, since they are not one MPI call. Each is an operation
//! of its own on MPI_COMM_WORLD, with positions of its own: its k-th repetition on one rank belongs to its k-th on the
//! others.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Mutex;

use mpitrace_format::layout::{NO_ROOT, OperationEntry};

use crate::base::hash::mix;
use crate::base::lock::lock;
use crate::base::{allocator, mode, ticks};
use crate::handles::call_cache::KnownOperation;
use crate::mpi::abi;
use crate::operation::registry;
use crate::record::thread;
use crate::recorder::region::{Region, begin_region};

/// The regions by number: their names, and their operations once they were begun.
static REGIONS: Mutex<Vec<(String, Option<KnownOperation>)>> = Mutex::new(Vec::new());

thread_local! {
    /// It has no destructor: glibc ends the process where it has no memory to register one.
    static OF_THREAD: RefCell<ManuallyDrop<ThreadRegions>> =
        const { RefCell::new(ManuallyDrop::new(ThreadRegions { open: Vec::new(), known: Vec::new() })) };
}

/// The regions of a thread.
struct ThreadRegions {
    /// Regions in progress, by number.
    open: Vec<(usize, Option<Region>)>,
    /// The operations of those that it has begun, at their numbers: found without the lock.
    known: Vec<Option<KnownOperation>>,
}

pub fn number(name: &str) -> Option<usize> {
    let mut regions = lock(&REGIONS);
    if let Some(known) = regions.iter().position(|(known, _)| known == name) {
        return Some(known);
    }
    if allocator::is_exhausted() || regions.try_reserve(1).is_err() {
        return None;
    }
    regions.push((name.to_owned(), None));
    Some(regions.len() - 1)
}

/// The upper half of the position of a region's first repetition, beyond all counted positions and those of persistent
/// collectives. Those that follow count on from there.
fn positions_from(name: &str) -> u32 {
    let words: Vec<u64> = name.bytes().map(u64::from).collect();
    // The same on all ranks, in whichever order they have met their regions: 22 bits of the name's hash.
    3 << 30 | ((mix(&words)[0] >> 42) as u32) << 8
}

/// Begins a repetition. One that is in progress on this thread already goes on instead. `inside` a recorded call it is
/// counted and not kept.
pub fn begin(number: usize, inside: bool) {
    with_regions(|of_thread| {
        if of_thread.open.iter().any(|(region, _)| *region == number) || of_thread.open.try_reserve(1).is_err() {
            return;
        }
        let known = of_thread.known.get(number).copied().flatten();
        let Some(found) = known.or_else(|| thread::catch_panic(|| find(of_thread, number))) else { return };
        // Threads may begin one at once.
        let repetition = found.operation.count_start();
        // One that is not kept is in progress too, so that its end is known for its own.
        of_thread.open.push((number, if inside { None } else { begin_region(&found, repetition) }));
    });
}

/// The operation of a region that the thread begins for the first time.
#[cold]
#[inline(never)]
fn find(of_thread: &mut ThreadRegions, number: usize) -> Option<KnownOperation> {
    let mut regions = lock(&REGIONS);
    let (name, known) = regions.get_mut(number)?;
    let found = match known {
        Some(found) => *found,
        None => match operation(name) {
            Some(found) => *known.insert(found),
            None => {
                // There is no room for another name.
                let entry = thread::current()?.entry();
                entry.set_untracked(entry.untracked() + 1);
                return None;
            }
        },
    };
    thread::at_end(|| {
        with_regions(|of_thread| *of_thread = ThreadRegions { open: Vec::new(), known: Vec::new() }).unwrap_or_default()
    });
    of_thread.known.try_reserve(number + 1).ok()?;
    of_thread.known.resize(of_thread.known.len().max(number + 1), None);
    of_thread.known[number] = Some(found);
    Some(found)
}

/// Ends the repetition in progress on this thread, if one is.
pub fn end(number: usize) {
    let exit = ticks::now();
    with_regions(|of_thread| {
        let place = of_thread.open.iter().rposition(|(region, _)| *region == number)?;
        // In a child that was forked off, and after Finalize, nothing is measured.
        of_thread.open.remove(place).1.filter(|_| mode::is_on())?.end(exit);
        Some(())
    });
}

/// The tracer has delayed the program: those in progress on this thread count as perturbed by it.
pub fn disturb() {
    with_regions(|of_thread| of_thread.open.iter().filter_map(|(_, region)| region.as_ref()).for_each(Region::disturb));
}

/// Does `work` with the regions of the thread; `None` where they are being changed.
fn with_regions<R>(work: impl FnOnce(&mut ThreadRegions) -> R) -> Option<R> {
    OF_THREAD.with(|of_thread| of_thread.try_borrow_mut().ok().map(|mut of_thread| work(&mut of_thread)))
}

fn operation(name: &str) -> Option<KnownOperation> {
    let mut registry = registry::lock()?;
    let world = registry.communicators.get(&abi::get().comm_world).copied()?;
    let function = registry.given_name(name)?;
    let communicator = world.number();
    let positions_from = positions_from(name);
    let entry = OperationEntry { communicator, root: NO_ROOT, function, positions_from, ..OperationEntry::default() };
    let (number, operation) = registry.live.add(entry)?;
    Some(KnownOperation { operation, communicator: world.entry(), number, open: false })
}
