//! Which line of the program makes a call (`MPITRACE_CALLSITE=1`): its return address, as a module and an offset in it;
//! of mpi4py the line of the script.
//!
//! The wrapper's frame has one size, so the return address always lies equally far from where the wrapper stands. The
//! unwinder finds out how far, once for each wrapper (some us); after that it is one load. Where the wrapper was called
//! by the MPI library itself, which is Fortran's way, the unwinder is asked each time for the first frame outside of
//! it. A place is named when it is met first, under a lock; after that it is found in a table without one.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use mpitrace_format::layout::PYTHON_SITE;
use mpitrace_platform::python::PythonPlace;

use crate::base::hash::FastMap;
use crate::base::lock::lock;
use crate::base::symbol;
use crate::call_sites::{python, unwind};

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
    pub const fn unknown() -> Distance {
        Distance(AtomicU32::new(0))
    }
}

/// A place in the program, by number from 1; 0: not known.
pub type Number = u32;

/// A mark in place of a number: the place is further out, at the caller of this one.
const WITHIN: Number = Number::MAX;
/// A mark in place of a number: an address of mpi4py, whose place is a line of the script.
const SCRIPT: Number = Number::MAX - 1;

#[derive(Default)]
struct Sites {
    /// By return address, or by the key of an instruction of Python.
    known: FastMap<u64, Number>,
    texts: Vec<String>,
}

static SITES: LazyLock<Mutex<Sites>> = LazyLock::new(Mutex::default);

/// The first of what [`Sites`] knows: to be read without its lock, which is held where one is added.
static KNOWN: [(AtomicU64, AtomicU32); 1024] = [const { (AtomicU64::new(0), AtomicU32::new(0)) }; 1024];

/// As far from its first slot a key may lie.
const REACH: usize = 8;

fn slots(key: u64) -> impl Iterator<Item = &'static (AtomicU64, AtomicU32)> {
    let first = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    (0..REACH).map(move |step| &KNOWN[(first as usize + step) % KNOWN.len()])
}

/// The number of a key; `find` gives that of one that is not known yet.
fn number_of(key: u64, find: impl FnOnce(&mut Sites) -> Number) -> Number {
    if let Some((_, number)) = slots(key).find(|(known, _)| known.load(Ordering::Acquire) == key) {
        return number.load(Ordering::Relaxed);
    }
    let mut sites = lock(&SITES);
    if let Some(&number) = sites.known.get(&key) {
        return number;
    }
    if sites.known.try_reserve(1).is_err() || sites.texts.try_reserve(1).is_err() {
        return 0;
    }
    let number = find(&mut sites);
    sites.known.insert(key, number);
    if let Some((empty, place)) = slots(key).find(|(known, _)| known.load(Ordering::Relaxed) == 0) {
        place.store(number, Ordering::Relaxed);
        empty.store(key, Ordering::Release);
    }
    number
}

/// The place from which the wrapper that stands at `here` was called.
#[cold]
#[inline(never)]
pub fn number(here: usize, distance: &Distance) -> Number {
    let far = distance.0.load(Ordering::Relaxed) as usize;
    let near = (far != 0).then(|| unwind::return_address(here + far));
    let (mut address, mut number) = near.map_or((0, WITHIN), |near| (near, of_address(near)));
    if number == WITHIN {
        let Some(Walked { above, caller, outside }) = walk(here) else { return 0 };
        if far == 0
            && let Some(place) = unwind::place_of_return(here, above, caller)
        {
            distance.0.store((place - here) as u32, Ordering::Relaxed);
        }
        (address, number) = (outside, of_address(outside));
    }
    if number == SCRIPT { of_script(address) } else { number }
}

fn of_address(address: usize) -> Number {
    number_of(address as u64, |sites| match module_of(address) {
        Some(module) if module.is_mpi() => WITHIN,
        Some(module) if module.is_mpi4py() && python::interpreter().is_some() => SCRIPT,
        module => sites.add(of_module(module, address)),
    })
}

/// The number of the line of a script whose call has come to this address of mpi4py: the innermost one outside of
/// mpi4py and of Python's own modules, else the innermost one; without any, the address.
fn of_script(address: usize) -> Number {
    let frames = || python::interpreter().into_iter().flat_map(python::Interpreter::frames);
    for frame in frames() {
        let found = number_of(frame.key, |sites| match frame.place() {
            Some(place) if !is_of_libraries(&place.file) => sites.add(of_place(&place)),
            _ => WITHIN,
        });
        if found != WITHIN {
            return found;
        }
    }
    // Other keys than above and than those of addresses.
    match frames().next() {
        Some(frame) => number_of(!frame.key, |sites| match frame.place() {
            Some(place) => sites.add(of_place(&place)),
            None => 0,
        }),
        None => number_of(!(address as u64), |sites| sites.add(of_module(module_of(address), address))),
    }
}

/// True of mpi4py's files and of those that come with Python.
fn is_of_libraries(file: &str) -> bool {
    let comes_with_python = file.contains("/lib") && file.contains("/python3.") && !file.contains("-packages/");
    file.contains("/mpi4py/") || file.starts_with("<frozen") || comes_with_python
}

/// The name of an address in the trace: module, build id, offset.
fn of_module(module: Option<Module>, address: usize) -> String {
    match module {
        Some(module) => format!("{} {} {:x}", module.path.to_string_lossy(), module.build_id, address - module.base),
        None => format!("?  {address:x}"),
    }
}

/// The name of a line of Python: file, function, line.
fn of_place(place: &PythonPlace) -> String {
    let name = place.name.replace(' ', "_");
    format!("{} {PYTHON_SITE}{name} {:x}", place.file, place.line.unwrap_or(0).max(0))
}

pub fn text(number: Number) -> Option<String> {
    lock(&SITES).texts.get(number.checked_sub(1)? as usize).cloned()
}

impl Sites {
    fn add(&mut self, text: String) -> Number {
        // Two addresses may have one name: where a library was unloaded and loaded again, and in a line of Python.
        let place = self.texts.iter().position(|known| *known == text);
        let number = place.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        number as Number + 1
    }
}

struct Walked {
    /// Where the stack stood when the wrapper was called.
    above: usize,
    caller: usize,
    /// The first one outside of the MPI library.
    outside: usize,
}

/// How many frames are looked at: Fortran's way in has two or three of the library's.
const DEEPEST: usize = 32;

fn walk(here: usize) -> Option<Walked> {
    static HERE: u8 = 0;
    let this_library = symbol::object_of((&raw const HERE).addr());
    let (mut frames, mut found) = (0, None);
    unwind::frames(&mut |address, stack| {
        frames += 1;
        if frames > DEEPEST || address == 0 {
            return false;
        }
        if stack <= here || symbol::object_of(address) == this_library {
            return true;
        }
        let found = found.get_or_insert(Walked { above: stack, caller: address, outside: 0 });
        if of_address(address) == WITHIN {
            return true;
        }
        found.outside = address;
        false
    });
    found.filter(|found| found.outside != 0)
}

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

    /// True of mpi4py's module `mpi4py/MPI.*.so`, which makes its calls.
    fn is_mpi4py(&self) -> bool {
        let mut parts = self.path.to_bytes().rsplit(|&byte| byte == b'/');
        parts.next().is_some_and(|file| file.starts_with(b"MPI.")) && parts.next() == Some(b"mpi4py")
    }
}

fn module_of(address: usize) -> Option<Module> {
    let (object, notes) = symbol::object_with_notes(address)?;
    // The program's own name is empty.
    let path = if object.path.is_empty() { program() } else { object.path };
    let build_id = notes.iter().find_map(|notes| build_id(notes)).unwrap_or_default();
    Some(Module { path, base: object.base, build_id })
}

/// The file that holds this address, and its build id; empty: it has none.
pub fn file_of(address: usize) -> Option<(String, String)> {
    let module = module_of(address)?;
    Some((module.path.to_string_lossy().into_owned(), module.build_id))
}

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
    fn what_a_script_calls_is_not_the_script() {
        let libraries = [
            "/opt/venv/lib/python3.11/site-packages/mpi4py/futures/_core.py",
            "/usr/lib64/python3.9/threading.py",
            "<frozen runpy>",
        ];
        assert!(libraries.into_iter().all(is_of_libraries));
        let own = ["solver.py", "/home/a/solver.py", "/usr/lib/python3/dist-packages/b.py", "<string>", "<stdin>"];
        assert!(!own.into_iter().any(is_of_libraries));
    }

    #[test]
    fn a_place_is_named_once() {
        let numbers = || (1..5000u64).map(|key| number_of(key << 48, |sites| sites.add(format!("named {key}"))));
        let first: Vec<Number> = numbers().collect();
        let again: Vec<Number> = (1..5000u64).map(|key| number_of(key << 48, |_| panic!("{key} is known"))).collect();
        assert_eq!(first, again);
        assert_eq!(text(first[4998]).as_deref(), Some("named 4999"));
    }

    #[test]
    fn an_address_of_this_program_is_in_its_file() {
        let module = module_of(build_id as *const () as usize).expect("a module");
        assert_eq!(module.path, program());
    }
}
