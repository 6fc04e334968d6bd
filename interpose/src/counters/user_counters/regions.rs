//! Regions: repetitions that a program starts and stops by hand, since they are not one MPI call. Each is an operation
//! of its own on MPI_COMM_WORLD, with positions of its own: its k-th repetition on one rank belongs to its k-th on the
//! others.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpitrace_format::layout::{NO_ROOT, OPERATION_MASK, OperationEntry, counter_column, name_of};
use mpitrace_format::part::Column;

use crate::boundary::{abi, allocator};
use crate::identity::call_cache::Found;
use crate::identity::communicator::mix;
use crate::identity::registry;
use crate::job::output;
use crate::job::run::RUN;
use crate::record::recorder::{self, Region};
use crate::record::{mode, thread};

use super::names;

/// A region that has a name.
struct Named {
    name: String,
    /// Its operation, once it was begun.
    found: Option<Found>,
    begun: u64,
}

static REGIONS: Mutex<Vec<Named>> = Mutex::new(Vec::new());

/// The regions in progress on a thread, by their numbers.
type Open = Vec<(usize, Option<Region>)>;

thread_local! {
    /// The regions in progress on this thread, by number. It has no destructor: glibc ends the process where it has no memory
    /// to register one.
    static OPEN: RefCell<ManuallyDrop<Open>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

fn lock() -> MutexGuard<'static, Vec<Named>> {
    REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the region of this name.
pub fn number(name: &str) -> Option<usize> {
    let mut regions = lock();
    if let Some(known) = regions.iter().position(|region| region.name == name) {
        return Some(known);
    }
    if allocator::is_exhausted() || regions.try_reserve(1).is_err() {
        return None;
    }
    regions.push(Named { name: name.to_owned(), found: None, begun: 0 });
    Some(regions.len() - 1)
}

/// The upper half of the position of a region's first repetition, beyond all counted positions and those of persistent
/// collectives. Those that follow count on from there.
fn positions_from(name: &str) -> u32 {
    let words: Vec<u64> = name
        .as_bytes()
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect();
    // The same on all ranks, in whichever order they have met their regions: 22 bits of the name's hash.
    3 << 30 | ((mix(&words)[0] >> 42) as u32) << 8
}

/// Begins a repetition. One that is in progress on this thread already goes on instead. `inside` a recorded call it is
/// counted and not kept.
pub fn begin(number: usize, inside: bool) -> Option<()> {
    if with_open(|open| open.iter().any(|(region, _)| *region == number))? {
        return None;
    }
    let (found, repetition) = {
        let mut regions = lock();
        let region = regions.get_mut(number)?;
        let place = match region.found {
            Some(place) => place,
            None => *region.found.insert(operation(&region.name)?),
        };
        let repetition = region.begun;
        region.begun += 1;
        // Regions' counts are changed under the lock only.
        place.operation.set_calls(region.begun);
        (place, repetition)
    };
    // One that is not kept is in progress too, so that its end is known for its own.
    let begun = if inside { None } else { recorder::begin_region(&found, repetition) };
    with_open(|open| {
        if open.try_reserve(1).is_ok() {
            open.push((number, begun));
        }
    })
}

/// The thread ends.
pub fn forget_open() {
    with_open(|open| *open = Vec::new());
}

/// Ends the repetition in progress on this thread, if one is.
pub fn end(number: usize) {
    let region = with_open(|open| {
        let place = open.iter().rposition(|(region, _)| *region == number)?;
        open.remove(place).1
    });
    // In a child that was forked off, and after Finalize, nothing is measured.
    if let Some(Some(region)) = region
        && mode::is_on()
    {
        thread::catch_panic(|| {
            region.end();
            Some(())
        });
    }
}

/// The tracer has delayed the program: those in progress on this thread count as disturbed by it.
pub fn disturb() {
    with_open(|open| open.iter().filter_map(|(_, region)| region.as_ref()).for_each(Region::disturb));
}

/// The regions in progress on this thread; `None` where they are being changed.
fn with_open<R>(work: impl FnOnce(&mut Open) -> R) -> Option<R> {
    OPEN.with(|open| open.try_borrow_mut().ok().map(|mut open| work(&mut open)))
}

/// The operation of a region, made now.
fn operation(name: &str) -> Option<Found> {
    let mut registry = registry::lock()?;
    let world = registry.communicators.get(&abi::get().comm_world).copied()?;
    let function = registry.given_name(name)?;
    let communicator = world.number();
    let positions_from = positions_from(name);
    let entry = OperationEntry { communicator, root: NO_ROOT, function, positions_from, ..OperationEntry::default() };
    let number = registry.live.add_operation(entry)?;
    Some(Found { operation: registry.live.operation(number), communicator: world.entry(), number, open: false })
}

/// The values of a slot in the repetitions of a region that are kept.
pub fn values(number: usize, slot: usize) -> Option<Vec<u64>> {
    let operation = lock().get(number)?.found?.number;
    let name = counter_column(names::column(slot)?);
    let (content, _held) = output::content_of(RUN.get()?)?;
    let column = |name: &str| content.columns.iter().find(|column| name_of(&column.name) == name);
    let words = |column: &Column<'_>| -> Vec<u64> {
        column.slices.iter().flat_map(|slice| slice.chunks_exact(8)).map(bytemuck::pod_read_unaligned).collect()
    };
    // No rank has used a counter yet: each repetition had 0 of it.
    let values = column(&name).map(words);
    let exits = words(column("exit")?);
    let operations = column("operation")?.slices.iter().flat_map(|slice| slice.chunks_exact(4));
    let operations = operations.map(bytemuck::pod_read_unaligned::<u32>);
    let kept = operations.zip(exits).enumerate();
    let kept = kept.filter(|(_, (of, exit))| of & OPERATION_MASK == operation && *exit != 0);
    Some(kept.map(|(record, _)| values.as_ref().map_or(0, |values| values[record])).collect())
}
