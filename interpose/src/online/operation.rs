//! Finds the operation of an online call.

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry, name_of};
use mpitrace_format::part::{Column, Content};

use crate::identity::registry::{self, Registry};
use crate::job::output;
use crate::job::run::RUN;
use crate::record::entry::Entry;
use crate::record::thread;

/// What an operation must be to be meant.
#[derive(Clone, Copy)]
pub struct Wanted<'t> {
    /// The function's name, or a region's; `None`: any.
    pub function: Option<&'t str>,
    /// The communicator's handle; `None`: any.
    pub communicator: Option<usize>,
}

/// The same in numbers of the tables.
#[derive(Clone, Copy)]
struct Numbers {
    function: Option<u32>,
    communicator: Option<u32>,
}

/// An operation of this rank.
#[derive(Clone, Copy)]
pub struct Operation {
    pub number: u32,
    pub entry: Entry<OperationEntry>,
}

/// The operation that this rank has called last of those that are meant. `None`: it has called none that was kept.
///
/// It is among the last records of the calling thread as a rule, which costs a lock and a few loads; else all records
/// are searched.
pub fn last(wanted: Wanted<'_>) -> Option<Operation> {
    let (numbers, live) = {
        let registry = registry::lock()?;
        let numbers = Numbers::of(wanted, &registry)?;
        let is_meant = |number: &u32| numbers.hold(registry.live.operation(*number));
        if let Some(number) = thread::current().and_then(|thread| thread.recent_operations().find(is_meant)) {
            return Some(Operation { number, entry: registry.live.operation(number) });
        }
        (numbers, registry.live)
    };
    let (content, _held) = output::content_of(RUN.get()?)?;
    let number = latest(&content, |number| numbers.hold(live.operation(number)))?;
    Some(Operation { number, entry: live.operation(number) })
}

impl Numbers {
    /// `None`: nothing of the kind is known.
    fn of(wanted: Wanted<'_>, registry: &Registry) -> Option<Numbers> {
        let function = match wanted.function {
            Some(name) => Some(registry.stored(name)?),
            None => None,
        };
        let communicator = match wanted.communicator {
            Some(handle) => Some(registry.communicators.get(&handle)?.number()),
            None => None,
        };
        Some(Numbers { function, communicator })
    }

    fn hold(&self, operation: Entry<OperationEntry>) -> bool {
        self.function.is_none_or(|function| operation.function() == function)
            && self.communicator.is_none_or(|communicator| operation.communicator() == communicator)
    }
}

/// Of the operations that are meant the one whose record began last. Chunks are looked at from the one that ends last,
/// each from its end, until no other can hold a later record.
fn latest(content: &Content<'_>, is_meant: impl Fn(u32) -> bool) -> Option<u32> {
    let enter = column(content, "enter")?;
    let operations = column(content, "operation")?;
    let mut chunks: Vec<(u64, usize)> =
        (0..enter.slices.len()).filter_map(|chunk| Some((words(&enter.slices[chunk]).next_back()?, chunk))).collect();
    chunks.sort_unstable_by(|a, b| b.cmp(a));
    let mut found: Option<(u64, u32)> = None;
    for (end, chunk) in chunks {
        if found.is_some_and(|(tick, _)| tick >= end) {
            break;
        }
        let numbers = halves(&operations.slices[chunk]).map(|word| word & OPERATION_MASK);
        let last = words(&enter.slices[chunk]).zip(numbers).rfind(|(_, number)| is_meant(*number));
        found = found.max(last);
    }
    found.map(|(_, number)| number)
}

/// A column by its name.
pub fn column<'c, 'a>(content: &'c Content<'a>, name: &str) -> Option<&'c Column<'a>> {
    content.columns.iter().find(|column| name_of(&column.name) == name)
}

/// The values of 8 bytes each.
pub fn words(slice: &[u8]) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
    slice.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word))
}

/// The values of 4 bytes each.
pub fn halves(slice: &[u8]) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator {
    slice.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word))
}
