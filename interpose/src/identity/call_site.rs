//! Which line of the program makes a call (`MPITRACE_CALLSITE=1`): its return address, as a module and an offset in it.
//!
//! The wrapper's frame has one size, so the return address always lies equally far from where the wrapper stands. How far, the
//! unwinder tells once for each wrapper (some us); after that it is one load. Where the wrapper was called by the MPI library itself,
//! which is Fortran's way, the unwinder is asked each time for the first frame outside of it.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::boundary::symbol;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the call site is part of what makes an operation.
pub fn start() {
    ASKED.store(true, Ordering::Release);
}

/// Whether it is.
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

fn lock() -> MutexGuard<'static, Option<Sites>> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place from which the wrapper that stands at `here` was called.
#[cold]
#[inline(never)]
pub fn number(here: usize, distance: &Distance) -> Number {
    let far = distance.0.load(Ordering::Relaxed) as usize;
    let mut sites = lock();
    let sites = sites.get_or_insert_with(|| Sites { known: HashMap::new(), within: Vec::new(), texts: Vec::new() });
    if far != 0 {
        // SAFETY: the wrapper's return address lies there: its frame has one size.
        let address = unsafe { std::ptr::with_exposed_provenance::<usize>(here + far).read() };
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
    let Some(Walked { slot, caller, outside }) = walk(here) else { return 0 };
    if far == 0 && slot > here {
        // SAFETY: the unwinder has just found this frame on the stack.
        let address = unsafe { std::ptr::with_exposed_provenance::<usize>(slot).read() };
        if address == caller {
            distance.0.store((slot - here) as u32, Ordering::Relaxed);
        }
    }
    if caller != outside && !sites.within.contains(&caller) {
        sites.within.push(caller);
    }
    sites.add(outside)
}

/// What a place is called in the trace: module, build id, offset.
pub fn text(number: Number) -> Option<String> {
    lock().as_ref()?.texts.get(number.checked_sub(1)? as usize).cloned()
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
        let text = match module_of(address) {
            Some(module) => {
                format!("{} {} {:x}", module.path.to_string_lossy(), module.build_id, address - module.base)
            }
            None => format!("?  {address:x}"),
        };
        // Two addresses of one text do not exist; the same text twice does where a library was unloaded and loaded again.
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

/// What the unwinder has found.
struct Walked {
    /// Where the wrapper's return address lies.
    slot: usize,
    /// That address.
    caller: usize,
    /// The first one outside of the MPI library.
    outside: usize,
}

#[repr(C)]
struct Context(c_void);

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
}

/// How many frames are looked at: Fortran's way in has two or three of the library's.
const DEEPEST: usize = 32;

fn walk(here: usize) -> Option<Walked> {
    struct Walk {
        here: usize,
        own: Option<usize>,
        frames: usize,
        found: Option<Walked>,
    }
    unsafe extern "C" fn step(context: *mut Context, argument: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        const STOP: c_int = 4;
        // SAFETY: `argument` is the walk below, which outlives the unwinding.
        let walk = unsafe { &mut *argument.cast::<Walk>() };
        // SAFETY: the unwinder's own context. Its frame address is where the stack stood when this frame made its call.
        let (address, stack) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
        walk.frames += 1;
        if walk.frames > DEEPEST || address == 0 {
            return STOP;
        }
        if stack <= walk.here || symbol::object_of(address) == walk.own {
            return GO_ON;
        }
        let found = walk.found.get_or_insert(Walked { slot: stack - size_of::<usize>(), caller: address, outside: 0 });
        if module_of(address).is_some_and(|module| module.is_mpi()) {
            return GO_ON;
        }
        found.outside = address;
        STOP
    }
    static HERE: u8 = 0;
    let own = symbol::object_of((&raw const HERE).addr());
    let mut walk = Walk { here, own, frames: 0, found: None };
    // SAFETY: `step` is as the unwinder wants it and unwinds nothing.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.found.filter(|found| found.outside != 0)
}

/// A module that the loader has mapped.
struct Module {
    path: CString,
    /// What is added to its addresses.
    base: usize,
    /// In hexadecimal; empty: it has none.
    build_id: String,
}

impl Module {
    /// Whether it is a part of the MPI library: libmpi.so, libmpifort.so, libmpi_usempif08.so and their like.
    fn is_mpi(&self) -> bool {
        let path = self.path.to_bytes();
        let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        file.starts_with(b"libmpi") || file.starts_with(b"libpmpi")
    }
}

fn module_of(address: usize) -> Option<Module> {
    struct Wanted {
        address: usize,
        found: Option<Module>,
    }
    unsafe extern "C" fn step(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> c_int {
        // SAFETY: `wanted` is the one below, and the loader hands over a valid entry with its headers.
        let (wanted, info) = unsafe { (&mut *wanted.cast::<Wanted>(), &*info) };
        let base = info.dlpi_addr as usize;
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let place = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
        let holds = |header: &&libc::Elf64_Phdr| {
            header.p_type == libc::PT_LOAD
                && (place(header)..place(header) + header.p_memsz as usize).contains(&wanted.address)
        };
        if !headers.iter().any(|header| holds(&header)) {
            return 0;
        }
        let notes = headers.iter().filter(|header| header.p_type == libc::PT_NOTE).map(|header| {
            let start = std::ptr::with_exposed_provenance::<u8>(place(header));
            // SAFETY: a note segment is mapped with the module.
            unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) }
        });
        let build_id = notes.filter_map(build_id).next().unwrap_or_default();
        // SAFETY: the loader's names are C strings; the program's own is empty.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        let path = if name.is_empty() { program() } else { name.to_owned() };
        wanted.found = Some(Module { path, base, build_id });
        1
    }
    let mut wanted = Wanted { address, found: None };
    // SAFETY: `step` is as dl_iterate_phdr wants it.
    unsafe { libc::dl_iterate_phdr(Some(step), (&raw mut wanted).cast()) };
    wanted.found
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
