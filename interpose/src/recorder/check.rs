//! `MPITRACE_CHECK=1`: each collective is compared, before it is entered, with that of the first rank of its node that
//! came to this place of the communicator. So the last rank that comes says what does not fit before the job hangs.
//!
//! Each place has a line of the page that the ranks of a node share, by a hash of the communicator's key and the
//! sequence number. Whoever finds another call's there takes it: then later ones of that call are not compared. No rank
//! waits for another: what a rank is storing at this moment is not compared either. A check word says if a line is
//! whole.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{NO_ROOT, PYTHON_SITE, UNKNOWN_BYTES, communicator_flags as flags};
use mpitrace_functions::Function;
use mpitrace_functions::types::{self, Basic};

use crate::base::hash::mix;
use crate::base::log;
use crate::base::memory::Line;
use crate::call_sites::call_site;
use crate::clocks::{self, DomainPage};
use crate::handles::call::Call;
use crate::handles::call_cache::KnownOperation;
use crate::handles::type_table;
use crate::mpi::abi;
use crate::operation::registry;
use crate::record::thread::{self, ThreadRef};

static PAGE: OnceLock<&'static DomainPage> = OnceLock::new();

/// Compares from now on. False: this rank shares no memory with another one.
pub fn start() -> bool {
    clocks::shared_page().is_some_and(|page| PAGE.set(page).is_ok() || PAGE.get().is_some())
}

#[inline(always)]
pub fn is_on() -> bool {
    PAGE.get().is_some()
}

/// The properties of a call that are compared: its rank and function, root and data type, bytes, reduction operator.
type Signature = [u64; 4];

/// Looks so often whether the other rank has stored all of its line.
const LOOKS: u32 = 16;
/// Differences that a rank says.
const MOST_SAID: u32 = 5;

/// Compares a call, which is the next one of its communicator.
#[cold]
#[inline(never)]
pub fn compare(thread: ThreadRef, call: &Call, found: &KnownOperation, sequence: u64) {
    let known = found.communicator.flags() & (flags::IDENTIFIED | flags::FOLDED) == flags::IDENTIFIED;
    let (Some(page), true) = (PAGE.get(), known) else { return };
    let Some(this_call) = signature(call, found) else { return };
    let [low, high] = found.communicator.key();
    let tag = mix(&[low, high, sequence])[0] | 1;
    let line = page.call(tag >> 8);
    if store(line, tag, &this_call) {
        return;
    }
    let Some(other) = (0..LOOKS).find_map(|_| stored(line, tag)) else { return };
    if let Some(what) = difference(&this_call, &other) {
        thread.as_tracer(|| thread::catch_panic(|| say(what, (call, found), sequence, &this_call, &other)));
    }
}

/// The words of a line: its tag, what is stored, and a check word.
fn checked(tag: u64, stored: &Signature) -> u64 {
    mix(&[tag, stored[0], stored[1], stored[2], stored[3]])[0]
}

/// Takes the line for a call. False: it has it already, or another thread takes the line.
fn store(line: &Line, tag: u64, signature: &Signature) -> bool {
    let [owner, words @ .., check, _, _] = line;
    let before = owner.load(Ordering::Relaxed);
    if before == tag || owner.compare_exchange(before, tag, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    words.iter().zip(signature).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
    check.store(checked(tag, signature), Ordering::Release);
    true
}

/// The signature that is stored for a call, if all of it is.
fn stored(line: &Line, tag: u64) -> Option<Signature> {
    let [owner, words @ .., check, _, _] = line;
    let check = check.load(Ordering::Acquire);
    let found = [0, 1, 2, 3].map(|word: usize| words[word].load(Ordering::Relaxed));
    (owner.load(Ordering::Relaxed) == tag && check == checked(tag, &found)).then_some(found)
}

/// Signatures of this rank's operations, by their numbers: names are looked up once.
static KNOWN: [Line; 256] = [const { [const { AtomicU64::new(0) }; 8] }; 256];

fn signature(call: &Call, found: &KnownOperation) -> Option<Signature> {
    let line = &KNOWN[found.number as usize % KNOWN.len()];
    // Bytes of an operation may become known.
    let tag = mix(&[found.number.into(), found.operation.bytes()])[0];
    if let Some(known) = stored(line, tag) {
        return Some(known);
    }
    let new = thread::catch_panic(|| describe(call, found))?;
    let _ = store(line, tag, &new);
    Some(new)
}

/// The rules are those of the companion for mismatches. What is not compared is 0, or [`UNKNOWN_BYTES`].
#[cold]
fn describe(call: &Call, found: &KnownOperation) -> Option<Signature> {
    let rank = registry::world()?.rank;
    let name = call.key.function.0.name;
    let function = Function::all().position(|function| function.name == name)? as u64;
    let flags = found.communicator.flags();
    let mut signature = [u64::from(rank) << 32 | function, 0, UNKNOWN_BYTES, 0];
    if flags & flags::INTER != 0 {
        return Some(signature);
    }
    let abi = abi::get();
    let of = call.key.function.0;
    let bytes = found.operation.bytes();
    if call.key.root != NO_ROOT {
        signature[1] = 1 << 32 | u64::from(call.key.root as u32);
    }
    let has_data = !matches!(bytes, 0 | UNKNOWN_BYTES) && flags & (flags::WINDOW | flags::FILE) == 0;
    if has_data && of.types_agree() {
        let known = type_table::find(call.key.datatype).map_or(0, |known| known.code);
        signature[1] |= u64::from(known) << 40;
    }
    if of.amounts_agree() {
        signature[2] = bytes;
    }
    if call.key.reduction != 0 {
        signature[3] = operator(abi.predefined_reduction(call.key.reduction)?);
    }
    Some(signature)
}

/// A number for the name of an operator.
fn operator(name: &str) -> u64 {
    let words: Vec<u64> = name.bytes().map(u64::from).collect();
    mix(&words)[0]
}

/// The property that differs between two calls at one place.
fn difference(this_call: &Signature, other: &Signature) -> Option<&'static str> {
    let differ =
        |word: usize, none: u64| this_call[word] != other[word] && this_call[word] != none && other[word] != none;
    let [(own_root, own_type), (root, datatype)] =
        [this_call[1], other[1]].map(|word| (word & ((1 << 40) - 1), (word >> 40) as u32));
    if this_call[0] as u32 != other[0] as u32 {
        Some("function")
    } else if own_root != root {
        Some("root")
    } else if differ(3, 0) {
        Some("operator")
    } else if differ(2, UNKNOWN_BYTES) {
        Some("size")
    } else {
        Basic::codes_differ(own_type, datatype).then_some("datatype")
    }
}

#[cold]
fn say(
    what: &str,
    (call, found): (&Call, &KnownOperation),
    sequence: u64,
    this_call: &Signature,
    other: &Signature,
) -> Option<()> {
    static SAID: AtomicU32 = AtomicU32::new(0);
    if SAID.fetch_add(1, Ordering::Relaxed) >= MOST_SAID {
        return None;
    }
    let communicator = match found.communicator.flags() {
        all if all & flags::WORLD != 0 => "MPI_COMM_WORLD".to_owned(),
        all if all & flags::WINDOW != 0 => "a window".to_owned(),
        all if all & flags::FILE != 0 => "a file".to_owned(),
        _ => format!("a communicator of {} ranks", found.communicator.size()),
    };
    log::line(&format!(
        "MISMATCH ({what}) at call {sequence} of {communicator}: {}{}, which it is about to enter; {}",
        text(this_call)?,
        site(call.key.site),
        text(other)?
    ));
    Some(())
}

/// Where the program makes the call, if call sites are asked for: ` at solver.py:12`, ` at solver+0x1234`.
fn site(number: call_site::Number) -> String {
    let place = call_site::text(number).and_then(|text| {
        let mut words = text.rsplitn(3, ' ');
        let (offset, origin, file) = (words.next()?.to_owned(), words.next()?, words.next()?);
        Some(match origin.strip_prefix(PYTHON_SITE) {
            Some(_) => format!("{file}:{}", u64::from_str_radix(&offset, 16).ok()?),
            None => format!("{file}+0x{offset}"),
        })
    });
    place.map(|place| format!(" at {place}")).unwrap_or_default()
}

fn text(signature: &Signature) -> Option<String> {
    let [caller, root_and_type, bytes, reduction] = *signature;
    let function = Function::all().nth(caller as u32 as usize)?.name;
    let bytes = Some(bytes).filter(|bytes| !matches!(*bytes, 0 | UNKNOWN_BYTES));
    let bytes = bytes.map(|bytes| format!(" of {bytes} bytes")).unwrap_or_default();
    let datatype = types::names(types::class((root_and_type >> 40) as u32)).next();
    let datatype = datatype.map(|name| format!(" as {name}")).unwrap_or_default();
    let reduction = abi::operators().find(|name| operator(name) == reduction);
    let reduction = reduction.map(|name| format!(" with {name}")).unwrap_or_default();
    let root = (root_and_type >> 32 & 1 != 0).then(|| format!(" with root {}", root_and_type as u32 as i32));
    Some(format!("rank {} {function}{bytes}{datatype}{reduction}{}", caller >> 32, root.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use mpitrace_functions::types;

    use super::*;

    fn line() -> Line {
        [const { AtomicU64::new(0) }; 8]
    }

    #[test]
    fn a_line_has_the_call_that_was_stored_first_until_another_call_takes_it() {
        let line = line();
        assert_eq!(stored(&line, 7), None);
        assert!(store(&line, 7, &[1, 2, 3, 4]));
        assert!(!store(&line, 7, &[5, 6, 7, 8]), "it is there");
        assert_eq!((stored(&line, 7), stored(&line, 9)), (Some([1, 2, 3, 4]), None));
        assert!(store(&line, 9, &[5, 6, 7, 8]));
        assert_eq!((stored(&line, 7), stored(&line, 9)), (None, Some([5, 6, 7, 8])));
        // Half stored.
        line[3].store(0, Ordering::Relaxed);
        assert_eq!(stored(&line, 9), None);
    }

    /// Threads in place of ranks store and read lines of different calls at once: what is read is what was stored.
    #[test]
    fn a_line_that_two_calls_take_at_once_is_not_read() {
        let line = line();
        let of = |tag: u64| [tag, tag + 1, tag + 2, tag + 3];
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let line = &line;
                scope.spawn(move || {
                    for turn in 0..100_000 {
                        let tag = 1 + (turn + thread) % 3;
                        store(line, tag, &of(tag));
                        assert!(stored(line, tag).is_none_or(|found| found == of(tag)));
                    }
                });
            }
        });
    }

    #[test]
    fn a_call_is_told_by_what_is_compared() {
        let allreduce = Function::all().position(|function| function.name == "MPI_Allreduce").unwrap() as u64;
        let int = u64::from(types::basic("MPI_INT").unwrap().code()) << 40;
        let told = |root_and_type, reduction| text(&[1 << 32 | allreduce, root_and_type, 8, reduction]).unwrap();
        assert_eq!(told(int, operator("MPI_MAX")), "rank 1 MPI_Allreduce of 8 bytes as MPI_INT with MPI_MAX");
        assert_eq!(told(1 << 32 | 2, 0), "rank 1 MPI_Allreduce of 8 bytes with root 2");
        assert_eq!(told(0, operator("MPI_OF_THE_PROGRAM")), "rank 1 MPI_Allreduce of 8 bytes");
    }

    #[test]
    fn a_value_that_is_not_known_differs_from_none() {
        let int = u64::from(types::basic("MPI_INT").unwrap().code()) << 40;
        let float = u64::from(types::basic("MPI_FLOAT").unwrap().code()) << 40;
        let this_call = [1 << 32 | 5, 1 << 32 | int, 8, 77];
        let cases = [
            ([2 << 32 | 5, 1 << 32 | int, 8, 77], None),
            ([2 << 32 | 6, 1 << 32 | int, 8, 77], Some("function")),
            ([5, 1 << 32 | 1 | int, 8, 77], Some("root")),
            ([5, 1 << 32 | int, 8, 78], Some("operator")),
            ([5, 1 << 32 | int, 16, 77], Some("size")),
            ([5, 1 << 32 | float, 8, 77], Some("datatype")),
            ([5, 1 << 32, UNKNOWN_BYTES, 0], None),
        ];
        for (other, expected) in cases {
            assert_eq!(
                (difference(&this_call, &other), difference(&other, &this_call)),
                (expected, expected),
                "{other:?}"
            );
        }
    }
}
