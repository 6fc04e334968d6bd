//! The OTF2 library, found when it is needed: mpitrace is built and runs without it.
//!
//! The declarations are those of OTF2 3.0. Version 2 takes an argument less in two of the functions, and does not look
//! at it.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use anyhow::{Result, anyhow, bail};

const NAMES: [&CStr; 4] =
    [c"libotf2.so.10", c"libopen-trace-format2.so.10", c"libotf2.so", c"libopen-trace-format2.so"];

/// An object of the library.
pub type Handle = *mut c_void;
/// The result of a function: 0 is success.
pub type Code = i32;

/// Which functions are called before and after a buffer is written.
#[repr(C)]
pub struct FlushCallbacks {
    pub before: Option<unsafe extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8>,
    pub after: Option<unsafe extern "C" fn(*mut c_void, u8, u64) -> u64>,
}

/// The function that the library calls instead of printing an error. The last argument is a `va_list`, a pointer on the
/// machines that we run on, and not looked at.
type OnError =
    unsafe extern "C" fn(*mut c_void, *const c_char, u64, *const c_char, Code, *const c_char, *mut c_void) -> Code;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*) -> $result:ty;)*) => {
        /// Its functions, without the prefix `OTF2_`.
        pub struct Library {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Library {
            fn find(of: *mut c_void) -> Result<Library> {
                // SAFETY: each symbol is the function of that name, whose arguments are declared here as in OTF2's
                // headers.
                unsafe {
                    Ok(Library { $($name: std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn($($argument),*) -> $result,
                    >(symbol(of, $symbol)?),)* })
                }
            }
        }
    };
}

functions! {
    error_description = c"OTF2_Error_GetDescription" (Code) -> *const c_char;
    on_error = c"OTF2_Error_RegisterCallback" (Option<OnError>, *mut c_void) -> Option<OnError>;
    open = c"OTF2_Archive_Open" (*const c_char, *const c_char, u8, u64, u64, u8, u8) -> Handle;
    close = c"OTF2_Archive_Close" (Handle) -> Code;
    set_creator = c"OTF2_Archive_SetCreator" (Handle, *const c_char) -> Code;
    set_flush_callbacks = c"OTF2_Archive_SetFlushCallbacks" (Handle, *const FlushCallbacks, *mut c_void) -> Code;
    set_serial = c"OTF2_Archive_SetSerialCollectiveCallbacks" (Handle) -> Code;
    open_events = c"OTF2_Archive_OpenEvtFiles" (Handle) -> Code;
    close_events = c"OTF2_Archive_CloseEvtFiles" (Handle) -> Code;
    event_writer = c"OTF2_Archive_GetEvtWriter" (Handle, u64) -> Handle;
    close_event_writer = c"OTF2_Archive_CloseEvtWriter" (Handle, Handle) -> Code;
    open_local = c"OTF2_Archive_OpenDefFiles" (Handle) -> Code;
    close_local = c"OTF2_Archive_CloseDefFiles" (Handle) -> Code;
    local_writer = c"OTF2_Archive_GetDefWriter" (Handle, u64) -> Handle;
    close_local_writer = c"OTF2_Archive_CloseDefWriter" (Handle, Handle) -> Code;
    global_writer = c"OTF2_Archive_GetGlobalDefWriter" (Handle) -> Handle;
    close_global_writer = c"OTF2_Archive_CloseGlobalDefWriter" (Handle, Handle) -> Code;
    enter = c"OTF2_EvtWriter_Enter" (Handle, Handle, u64, u32) -> Code;
    leave = c"OTF2_EvtWriter_Leave" (Handle, Handle, u64, u32) -> Code;
    collective_begin = c"OTF2_EvtWriter_MpiCollectiveBegin" (Handle, Handle, u64) -> Code;
    collective_end = c"OTF2_EvtWriter_MpiCollectiveEnd" (Handle, Handle, u64, u8, u32, u32, u64, u64) -> Code;
    request = c"OTF2_EvtWriter_NonBlockingCollectiveRequest" (Handle, Handle, u64, u64) -> Code;
    complete = c"OTF2_EvtWriter_NonBlockingCollectiveComplete"
        (Handle, Handle, u64, u8, u32, u32, u64, u64, u64) -> Code;
    send = c"OTF2_EvtWriter_MpiSend" (Handle, Handle, u64, u32, u32, u32, u64) -> Code;
    receive = c"OTF2_EvtWriter_MpiRecv" (Handle, Handle, u64, u32, u32, u32, u64) -> Code;
    start_send = c"OTF2_EvtWriter_MpiIsend" (Handle, Handle, u64, u32, u32, u32, u64, u64) -> Code;
    complete_send = c"OTF2_EvtWriter_MpiIsendComplete" (Handle, Handle, u64, u64) -> Code;
    start_receive = c"OTF2_EvtWriter_MpiIrecvRequest" (Handle, Handle, u64, u64) -> Code;
    complete_receive = c"OTF2_EvtWriter_MpiIrecv" (Handle, Handle, u64, u32, u32, u32, u64, u64) -> Code;
    metric = c"OTF2_EvtWriter_Metric" (Handle, Handle, u64, u32, u8, *const u8, *const u64) -> Code;
    clock_offset = c"OTF2_DefWriter_WriteClockOffset" (Handle, u64, i64, f64) -> Code;
    clock_properties = c"OTF2_GlobalDefWriter_WriteClockProperties" (Handle, u64, u64, u64, u64) -> Code;
    string = c"OTF2_GlobalDefWriter_WriteString" (Handle, u32, *const c_char) -> Code;
    node = c"OTF2_GlobalDefWriter_WriteSystemTreeNode" (Handle, u32, u32, u32, u32) -> Code;
    location_group = c"OTF2_GlobalDefWriter_WriteLocationGroup" (Handle, u32, u32, u8, u32, u32) -> Code;
    location = c"OTF2_GlobalDefWriter_WriteLocation" (Handle, u64, u32, u8, u64, u32) -> Code;
    region = c"OTF2_GlobalDefWriter_WriteRegion" (Handle, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> Code;
    group = c"OTF2_GlobalDefWriter_WriteGroup" (Handle, u32, u32, u8, u8, u32, u32, *const u64) -> Code;
    communicator = c"OTF2_GlobalDefWriter_WriteComm" (Handle, u32, u32, u32, u32, u32) -> Code;
    metric_member = c"OTF2_GlobalDefWriter_WriteMetricMember"
        (Handle, u32, u32, u32, u8, u8, u8, u8, i64, u32) -> Code;
    metric_class = c"OTF2_GlobalDefWriter_WriteMetricClass" (Handle, u32, u8, *const u32, u8, u8) -> Code;
}

impl Library {
    /// Finds it where the system's loader looks. It stays loaded.
    pub fn load() -> Result<Library> {
        // SAFETY: the names are terminated, and libraries of these names run nothing of interest when they are loaded.
        let open = |name: &&CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let Some(handle) = NAMES.iter().map(open).find(|handle| !handle.is_null()) else {
            bail!(
                "no OTF2 library (libotf2.so.10) where the loader looks: install it (Debian: libopen-trace-format2-10, \
                 which otf2-tools brings), or name its folder in LD_LIBRARY_PATH"
            );
        };
        let library = Library::find(handle)?;
        // SAFETY: a function that takes what the library passes.
        unsafe { (library.on_error)(Some(silently), std::ptr::null_mut()) };
        Ok(library)
    }

    /// An error for what a function returned.
    pub fn check(&self, code: Code) -> Result<()> {
        let met = FIRST_ERROR.load(Ordering::Relaxed);
        match if met != 0 { met } else { code } {
            0 => Ok(()),
            code => Err(anyhow!("OTF2: {}", self.description(code))),
        }
    }

    fn description(&self, code: Code) -> String {
        // SAFETY: the function takes any number and returns a static text or null.
        let text = unsafe { (self.error_description)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

fn symbol(of: *mut c_void, name: &CStr) -> Result<*mut c_void> {
    // SAFETY: the handle is that of a loaded library, the name is terminated.
    let found = unsafe { libc::dlsym(of, name.as_ptr()) };
    if found.is_null() {
        bail!("this OTF2 library has no {}: version 2.0 or later is needed", name.to_string_lossy());
    }
    Ok(found)
}

/// The first error that the library met. Not all of its functions return what those below them met: a file that could
/// not be written whole is one that they keep to themselves.
static FIRST_ERROR: AtomicI32 = AtomicI32::new(0);

/// The caller reports errors, in one line.
unsafe extern "C" fn silently(
    _: *mut c_void,
    _: *const c_char,
    _: u64,
    _: *const c_char,
    code: Code,
    _: *const c_char,
    _: *mut c_void,
) -> Code {
    if code > 0 {
        let _ = FIRST_ERROR.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }
    code
}
