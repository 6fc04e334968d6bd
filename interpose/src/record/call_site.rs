//! Which line of the program makes a call (`MPITRACE_CALLSITE=1`): its return address, as a module and an offset in it.
//!
//! The wrapper's frame has one size, so the return address always lies equally far from where the wrapper stands. How
//! far, the unwinder tells once for each wrapper (some us); after that it is one load. Where the wrapper was called by
//! the MPI library itself, which is Fortran's way, the unwinder is asked each time for the first frame outside of it.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::base::lock::lock;
use crate::base::{symbol, unwind};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the call site is part of what makes an operation.
pub fn start() {
    ASKED.store(true, Ordering::Release);
}

/// True if the call site is part of what makes an operation.
#[inline(always)]
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// How far a wrapper's return address lies from where it stands, bytes; 0: not known yet.
pub struct Distance(AtomicU32);

impl Distance {
    /// Not known yet.
    pub const fn unknown() -> Distance {
        Distance(AtomicU32::new(0))
    }
}

/// A place in the program, by number from 1; 0: not known.
pub type Number = u32;

struct Sites {
    /// Return addresses outside of the MPI library.
    known: HashMap<usize, Number>,
    /// Return addresses within it: the program's is further out.
    within: Vec<usize>,
    texts: Vec<String>,
}

static SITES: Mutex<Option<Sites>> = Mutex::new(None);

/// The place from which the wrapper that stands at `here` was called.
#[cold]
#[inline(never)]
pub fn number(here: usize, distance: &Distance) -> Number {
    let far = distance.0.load(Ordering::Relaxed) as usize;
    let mut sites = lock(&SITES);
    let sites = sites.get_or_insert_with(|| Sites { known: HashMap::new(), within: Vec::new(), texts: Vec::new() });
    if far != 0 {
        let address = unwind::return_address(here + far);
        if let Some(&number) = sites.known.get(&address) {
            return number;
        }
        if !sites.within.contains(&address) {
            // One more place in the program, unless it is the first one within the MPI library.
            if let Some(number) = sites.add_program(address) {
                return number;
            }
            sites.within.push(address);
        }
    }
    let Some(Walked { above, caller, outside }) = walk(here) else { return 0 };
    if far == 0
        && let Some(place) = unwind::place_of_return(here, above, caller)
    {
        distance.0.store((place - here) as u32, Ordering::Relaxed);
    }
    if caller != outside && !sites.within.contains(&caller) {
        sites.within.push(caller);
    }
    sites.add(outside)
}

/// The name of a place in the trace: module, build id, offset.
pub fn text(number: Number) -> Option<String> {
    lock(&SITES).as_ref()?.texts.get(number.checked_sub(1)? as usize).cloned()
}

impl Sites {
    /// The number of a return address in the program; `None`: it lies in the MPI library.
    fn add_program(&mut self, address: usize) -> Option<Number> {
        let module = module_of(address)?;
        if module.is_mpi() {
            return None;
        }
        Some(self.add(address))
    }

    fn add(&mut self, address: usize) -> Number {
        if let Some(&known) = self.known.get(&address) {
            return known;
        }
        if self.known.try_reserve(1).is_err() || self.texts.try_reserve(1).is_err() {
            return 0;
        }
        let text = match module_of(address) {
            Some(module) => {
                format!("{} {} {:x}", module.path.to_string_lossy(), module.build_id, address - module.base)
            }
            None => format!("?  {address:x}"),
        };
        // Two addresses of one text do not exist; the same text twice does where a library was unloaded and loaded
        // again.
        let place = self.texts.iter().position(|known| *known == text);
        let number = place.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        }) as Number
            + 1;
        self.known.insert(address, number);
        number
    }
}

/// The addresses that the unwinder has found.
struct Walked {
    /// Where the stack stood when the wrapper was called.
    above: usize,
    /// The wrapper's return address.
    caller: usize,
    /// The first one outside of the MPI library.
    outside: usize,
}

/// How many frames are looked at: Fortran's way in has two or three of the library's.
const DEEPEST: usize = 32;

fn walk(here: usize) -> Option<Walked> {
    static HERE: u8 = 0;
    let own = symbol::object_of((&raw const HERE).addr());
    let (mut frames, mut found) = (0, None);
    unwind::frames(&mut |address, stack| {
        frames += 1;
        if frames > DEEPEST || address == 0 {
            return false;
        }
        if stack <= here || symbol::object_of(address) == own {
            return true;
        }
        let found = found.get_or_insert(Walked { above: stack, caller: address, outside: 0 });
        if module_of(address).is_some_and(|module| module.is_mpi()) {
            return true;
        }
        found.outside = address;
        false
    });
    found.filter(|found| found.outside != 0)
}

/// A module that the loader has mapped.
struct Module {
    path: CString,
    /// The offset that is added to its addresses.
    base: usize,
    /// In hexadecimal; empty: it has none.
    build_id: String,
}

impl Module {
    /// True if it is a part of the MPI library: libmpi.so, libmpifort.so, libmpi_usempif08.so and their like.
    fn is_mpi(&self) -> bool {
        let path = self.path.to_bytes();
        let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        file.starts_with(b"libmpi") || file.starts_with(b"libpmpi")
    }
}

fn module_of(address: usize) -> Option<Module> {
    let (object, notes) = symbol::object_with_notes(address)?;
    // The program's own name is empty.
    let path = if object.path.is_empty() { program() } else { object.path };
    let build_id = notes.iter().find_map(|notes| build_id(notes)).unwrap_or_default();
    Some(Module { path, base: object.base, build_id })
}

/// The file of the program.
fn program() -> CString {
    use std::os::unix::ffi::OsStringExt;
    let path = std::env::current_exe().unwrap_or_default();
    CString::new(path.into_os_string().into_vec()).unwrap_or_default()
}

/// The build id among the notes of a module: name `GNU`, type 3 (NT_GNU_BUILD_ID).
fn build_id(mut notes: &[u8]) -> Option<String> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    loop {
        let (name, description, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let start = 12 + name.next_multiple_of(4);
        let content = notes.get(start..start.checked_add(description)?)?;
        if kind == 3 && notes.get(12..16) == Some(b"GNU\0") {
            return Some(content.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = notes.get(start + description.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let note = |kind: u32, name: &[u8; 4], content: &[u8]| {
            let words = [4u32, content.len() as u32, kind].map(u32::to_ne_bytes);
            let mut bytes = words.concat();
            bytes.extend(name);
            bytes.extend(content);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let notes = [note(1, b"GNU\0", &[1, 2, 3]), note(3, b"GNU\0", &[0xab, 0xcd, 0x01, 0x02])].concat();
        assert_eq!(build_id(&notes).as_deref(), Some("abcd0102"));
        assert_eq!(build_id(&notes[..20]), None);
        assert_eq!(build_id(&[]), None);
    }

    #[test]
    fn an_address_of_this_program_is_in_its_file() {
        let module = module_of(build_id as *const () as usize).expect("a module");
        assert_eq!(module.path, program());
    }
}
