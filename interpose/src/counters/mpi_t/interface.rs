//! The functions and the numbers of MPI's tools interface (MPI_T).
//!
//! The numbers differ between the binary interfaces. tests/programs/mock_mpi_t.c is compiled with each library's own
//! `mpi.h` and has a variable of every class and type: what stands here wrongly gives wrong values there.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use mpitrace_format::layout::abi as family;
use mpitrace_platform::mpi_t::{self, FirstValues, TYPES, Type, Value};

use crate::base::symbol::{self, Symbol};
use crate::counters::mpi_t::kinds::{CLASSES, Class};
use crate::mpi::{self, abi, functions};

functions! {
    fn init_thread = c"MPI_T_init_thread"(required, provided);
    fn finalize = c"MPI_T_finalize"();
    fn pvar_get_num = c"MPI_T_pvar_get_num"(count);
    fn pvar_get_info = c"MPI_T_pvar_get_info"(
        index, name, name_length, verbosity, class, datatype, enumeration, text, text_length, bind, read_only, continuous, atomic
    );
    fn pvar_session_create = c"MPI_T_pvar_session_create"(session);
    fn pvar_handle_alloc = c"MPI_T_pvar_handle_alloc"(session, index, object, handle, count);
    fn pvar_handle_free = c"MPI_T_pvar_handle_free"(session, handle);
    fn pvar_start = c"MPI_T_pvar_start"(session, handle);
    fn cvar_get_num = c"MPI_T_cvar_get_num"(count);
    fn cvar_get_info = c"MPI_T_cvar_get_info"(
        index, name, name_length, verbosity, datatype, enumeration, text, text_length, bind, scope
    );
    fn cvar_handle_alloc = c"MPI_T_cvar_handle_alloc"(index, object, handle, count);
    fn cvar_handle_free = c"MPI_T_cvar_handle_free"(handle);
    fn cvar_read = c"MPI_T_cvar_read"(handle, buffer);
    fn enum_get_info = c"MPI_T_enum_get_info"(enumeration, count, name, name_length);
    fn enum_get_item = c"MPI_T_enum_get_item"(enumeration, index, value, name, name_length);
}

/// `int MPI_T_pvar_read(MPI_T_pvar_session, MPI_T_pvar_handle, void *)`. A handle is a pointer in all three interfaces.
type Read = unsafe extern "C-unwind" fn(usize, usize, *mut c_void) -> c_int;

fn read_function() -> Option<Read> {
    static READ: Symbol = Symbol::new();
    // SAFETY: the function has this type.
    READ.get(c"MPI_T_pvar_read").map(|address| unsafe { std::mem::transmute::<*mut c_void, Read>(address) })
}

/// A session, within which variables are read. It is never closed.
pub struct Session {
    session: usize,
    read: Read,
}

/// A performance variable that is bound to an object, or to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// MPI_T's; 0: there is none.
    pub handle: usize,
    /// Elements, of 8 bytes at most.
    pub count: usize,
}

impl Session {
    /// The library can read variables.
    pub fn is_offered() -> bool {
        read_function().is_some()
    }

    pub fn open() -> Option<Session> {
        let read = read_function()?;
        // SAFETY: int MPI_T_pvar_session_create(MPI_T_pvar_session *), a pointer in all three interfaces.
        let session = pointer(|session| unsafe { pvar_session_create(session) })?;
        Some(Session { session, read })
    }

    /// Binds a variable to a communicator, where it belongs to one.
    pub fn allocate(&self, index: usize, communicator: Option<usize>) -> Option<Handle> {
        // A 4-byte handle lies in the word's first 4 bytes.
        let mut object = communicator.unwrap_or(0);
        let object = communicator.map_or(0, |_| (&raw mut object).expose_provenance());
        let mut count: c_int = 0;
        let elements = (&raw mut count).expose_provenance();
        // SAFETY: int MPI_T_pvar_handle_alloc(MPI_T_pvar_session, int, void *, MPI_T_pvar_handle *, int *); the session
        // is open, and the object of the kind that the variable is bound to.
        let handle = pointer(|handle| unsafe { pvar_handle_alloc(self.session, index, object, handle, elements) })?;
        Some(Handle { handle, count: count.max(0) as usize })
    }

    /// Starts a variable that does not count all the time.
    pub fn start(&self, handle: usize) -> bool {
        // SAFETY: int MPI_T_pvar_start(MPI_T_pvar_session, MPI_T_pvar_handle); the handle is of this session.
        unsafe { pvar_start(self.session, handle) }
    }

    /// Reads all elements of a started variable. False: it cannot be, or there is no room for them.
    #[inline(always)]
    pub fn read(&self, Handle { handle, count }: Handle, elements: &mut [u64]) -> bool {
        // Elements of 4 bytes lie two in a word.
        if elements.len() < count.div_ceil(2) {
            return false;
        }
        // SAFETY: the handle is of this session, started; there is room for its elements, as the plan has made it.
        unsafe { (self.read)(self.session, handle, elements.as_mut_ptr().cast()) == 0 }
    }

    /// Gives a handle back, which is not read any more.
    pub fn free(&self, mut handle: usize) {
        if handle != 0 {
            // SAFETY: int MPI_T_pvar_handle_free(MPI_T_pvar_session, MPI_T_pvar_handle *); the handle is of this
            // session.
            unsafe { pvar_handle_free(self.session, (&raw mut handle).expose_provenance()) };
        }
    }
}

/// Calls `function` with the address of a pointer; the pointer, if that went well and it is none to nothing.
fn pointer(function: impl FnOnce(usize) -> bool) -> Option<usize> {
    mpi::word(function).filter(|&pointer| pointer != 0)
}

/// Begins the use of the interface.
pub fn begin() -> bool {
    // The level in force: Open MPI would raise the program's own to the one that is asked for here.
    let required = mpi::thread_level().unwrap_or_default() as usize;
    // SAFETY: int MPI_T_init_thread(int, int *).
    let begun = mpi::int(|provided| unsafe { init_thread(required, provided) }).is_some();
    HELD.fetch_add(u32::from(begun), Ordering::AcqRel);
    begun
}

/// The uses that the tracer has begun and not ended.
static HELD: AtomicU32 = AtomicU32::new(0);

/// True from [`begin`] to [`end`].
pub fn is_held() -> bool {
    HELD.load(Ordering::Acquire) > 0
}

/// Ends the use of the interface before MPI_Finalize, where the library keeps parts open for it: Open MPI, which may
/// not be left with that until after MPI_Finalize (versions 4.1.4 and 5 remove their shared memory a second time then).
/// In MPICH, which keeps nothing open, MPI_T_finalize before MPI_Finalize crashes some versions.
pub fn end() {
    if abi::get().family == family::OPENMPI {
        // SAFETY: int MPI_T_finalize(void).
        unsafe { finalize() };
        HELD.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The object that a variable belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Process,
    Communicator,
    /// Another kind of MPI object, which a call does not state.
    Other,
}

/// The object of MPI_T_BIND_NO_OBJECT and what follows it, in all three interfaces in this order.
fn object(bind: c_int) -> Object {
    match bind - first_values().bind {
        0 => Object::Process,
        1 => Object::Communicator,
        _ => Object::Other,
    }
}

/// The type of values behind a handle; bytes are text in any type that variables may not have.
fn value_of(datatype: usize) -> Value {
    let datatype = abi::get().handle(datatype);
    let same = |kind: &&Type| match abi::get().family {
        family::OPENMPI => datatype == symbol::data(kind.openmpi).addr(),
        family::STANDARD => datatype == kind.standard,
        _ => datatype == kind.mpich,
    };
    TYPES.iter().find(same).map_or(Value::Text, |kind| kind.value)
}

/// Where the enumerations of the library in the process begin.
fn first_values() -> FirstValues {
    match abi::get().family {
        family::OPENMPI => mpi_t::OPENMPI,
        family::STANDARD => mpi_t::STANDARD,
        _ => mpi_t::MPICH,
    }
}

/// The places that the library fills with the description of a variable.
struct Description {
    name: Text,
    text: Text,
    numbers: [c_int; 6],
    handles: [usize; 2],
}

impl Description {
    fn new() -> Description {
        Description { name: Text::new(), text: Text::new(), numbers: [0; 6], handles: [0; 2] }
    }

    /// The addresses of name and text, each with that of its length.
    fn texts(&mut self) -> [usize; 4] {
        [self.name.place(), self.name.length(), self.text.place(), self.text.length()]
    }

    fn numbers<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|index| (&raw mut self.numbers[index]).expose_provenance())
    }

    fn handles(&mut self) -> [usize; 2] {
        std::array::from_fn(|index| (&raw mut self.handles[index]).expose_provenance())
    }
}

/// A performance variable as the library describes it.
#[derive(Clone, Debug)]
pub struct Performance {
    pub index: usize,
    pub name: String,
    /// `None`: one of the library's own, whose values mean nothing to others.
    pub class: Option<&'static Class>,
    pub value: Value,
    pub object: Object,
    /// It counts all the time, and need not be started.
    pub continuous: bool,
}

/// All performance variables that can be read now. Open MPI leaves gaps for those of components that it has unloaded.
pub fn performance_variables() -> Vec<Performance> {
    // SAFETY: int MPI_T_pvar_get_num(int *).
    let count = mpi::int(|count| unsafe { pvar_get_num(count) }).unwrap_or(0).max(0) as usize;
    (0..count).filter_map(performance_variable).collect()
}

fn performance_variable(index: usize) -> Option<Performance> {
    let mut found = Description::new();
    let [name, name_length, text, text_length] = found.texts();
    let [verbosity, class, bind, read_only, continuous, atomic] = found.numbers();
    let [datatype, enumeration] = found.handles();
    // SAFETY: the texts are as long as they say; all places outlive the call.
    let known = unsafe {
        pvar_get_info(
            index,
            name,
            name_length,
            verbosity,
            class,
            datatype,
            enumeration,
            text,
            text_length,
            bind,
            read_only,
            continuous,
            atomic,
        )
    };
    let [_, class, bind, _, continuous, _] = found.numbers;
    known.then(|| Performance {
        index,
        name: found.name.get(),
        // All three interfaces have the standard's order.
        class: usize::try_from(class - first_values().class).ok().and_then(|class| CLASSES.get(class)),
        value: value_of(found.handles[0]),
        object: object(bind),
        continuous: continuous != 0,
    })
}

pub struct Control {
    pub index: usize,
    pub name: String,
    /// How its value is read.
    pub value: Value,
    /// The handle of its enumeration; 0: it has none.
    enumeration: usize,
}

/// The control variables of the process as a whole whose name is wanted.
pub fn control_variables(wanted: impl Fn(&str) -> bool) -> Vec<Control> {
    // SAFETY: int MPI_T_cvar_get_num(int *).
    let count = mpi::int(|count| unsafe { cvar_get_num(count) }).unwrap_or(0).max(0) as usize;
    let variable = |index| {
        let mut found = Description::new();
        let [name, name_length, text, text_length] = found.texts();
        let [verbosity, bind, scope] = found.numbers();
        let [datatype, enumeration] = found.handles();
        // SAFETY: the texts are as long as they say; all places outlive the call.
        let known = unsafe {
            cvar_get_info(index, name, name_length, verbosity, datatype, enumeration, text, text_length, bind, scope)
        };
        let (name, [datatype, enumeration]) = (found.name.get(), found.handles);
        let is_meant = known && wanted(&name) && object(found.numbers[1]) == Object::Process;
        is_meant.then(|| Control { index, name, value: value_of(datatype), enumeration })
    };
    (0..count).filter_map(variable).collect()
}

impl Control {
    /// Its value: as many words as it has elements. `None`: it cannot be read.
    pub fn read(&self) -> Option<Vec<u64>> {
        let (mut handle, mut count): (usize, c_int) = (0, 0);
        let [place, elements] = [(&raw mut handle).expose_provenance(), (&raw mut count).expose_provenance()];
        // SAFETY: int MPI_T_cvar_handle_alloc(int, void *, MPI_T_cvar_handle *, int *); the variable is bound to
        // nothing, and both places outlive the call.
        if !unsafe { cvar_handle_alloc(self.index, 0, place, elements) } {
            return None;
        }
        let mut words = vec![0u64; usize::try_from(count).unwrap_or(0).max(1)];
        // SAFETY: int MPI_T_cvar_read(MPI_T_cvar_handle, void *); the buffer has 8 bytes for each element.
        let read = unsafe { cvar_read(handle, words.as_mut_ptr().expose_provenance()) };
        // SAFETY: int MPI_T_cvar_handle_free(MPI_T_cvar_handle *), of the handle that was made just now.
        unsafe { cvar_handle_free(place) };
        read.then_some(words)
    }

    /// The name of a value in its enumeration; `None` where it has none.
    pub fn label(&self, value: i64) -> Option<String> {
        let enumeration = Some(self.enumeration).filter(|&enumeration| enumeration != 0)?;
        let mut name = Text::new();
        // SAFETY: int MPI_T_enum_get_info(MPI_T_enum, int *, char *, int *); the text is as long as it says.
        let count = mpi::int(|count| unsafe { enum_get_info(enumeration, count, name.place(), name.length()) })?;
        (0..count.max(0) as usize).find_map(|index| {
            let mut name = Text::new();
            // SAFETY: int MPI_T_enum_get_item(MPI_T_enum, int, int *, char *, int *); the text is as long as it says.
            let item =
                mpi::int(|item| unsafe { enum_get_item(enumeration, index, item, name.place(), name.length()) })?;
            (i64::from(item) == value).then(|| name.get())
        })
    }
}

struct Text {
    bytes: [u8; Text::LONGEST],
    length: c_int,
}

impl Text {
    /// Names are shorter; what is longer is cut off by the library.
    const LONGEST: usize = 512;

    fn new() -> Text {
        Text { bytes: [0; Text::LONGEST], length: Text::LONGEST as c_int }
    }

    fn place(&mut self) -> usize {
        self.bytes.as_mut_ptr().expose_provenance()
    }

    fn length(&mut self) -> usize {
        (&raw mut self.length).expose_provenance()
    }

    fn get(&self) -> String {
        until_zero(&self.bytes)
    }
}

pub fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
