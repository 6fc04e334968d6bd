//! An archive in the making: OTF2's handles, which end with what they belong to.

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use anyhow::{Result, ensure};

use super::collective::Collective;
use super::library::{Code, FlushCallbacks, Handle, Library};

/// Bytes that a location's events take in memory before they are written; the most definitions of one chunk.
const EVENT_CHUNK: u64 = 1 << 20;
const DEFINITION_CHUNK: u64 = 4 << 20;

// Values of OTF2's enumerations.
const MODE_WRITE: u8 = 0;
const SUBSTRATE_POSIX: u8 = 1;
const COMPRESSION_NONE: u8 = 1;
const FLUSH: u8 = 1;
const TYPE_UINT64: u8 = 4;

/// Both are looked at whenever a buffer is full.
static CALLBACKS: FlushCallbacks = FlushCallbacks { before: Some(always), after: None };

unsafe extern "C" fn always(_: *mut c_void, _: u8, _: u64, _: *mut c_void, _: bool) -> u8 {
    FLUSH
}

pub struct Archive<'l> {
    pub library: &'l Library,
    handle: Handle,
}

pub struct Events<'a> {
    archive: &'a Archive<'a>,
    handle: Handle,
    /// How many there are.
    pub count: u64,
    /// The last one's time.
    last: u64,
}

/// The data of the end of a collective.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub collective: Collective,
    pub communicator: u32,
    pub root: u32,
    pub sent: u64,
    pub received: u64,
}

/// The information in a message call about a message.
#[derive(Clone, Copy, Debug)]
pub struct MessageEnd {
    pub is_send: bool,
    /// It finds a request complete.
    pub is_end: bool,
    pub request: Option<u64>,
    /// In the communicator.
    pub partner: u32,
    pub communicator: u32,
    pub tag: u32,
    pub bytes: u64,
}

impl<'l> Archive<'l> {
    pub fn create(library: &'l Library, folder: &Path) -> Result<Archive<'l>> {
        let path = CString::new(folder.as_os_str().as_bytes())?;
        let open = library.open;
        // SAFETY: both texts are terminated and copied.
        let handle = unsafe {
            open(
                path.as_ptr(),
                c"traces".as_ptr(),
                MODE_WRITE,
                EVENT_CHUNK,
                DEFINITION_CHUNK,
                SUBSTRATE_POSIX,
                COMPRESSION_NONE,
            )
        };
        ensure!(!handle.is_null(), "OTF2 cannot make an archive in {}", folder.display());
        let archive = Archive { library, handle };
        let creator = CString::new(concat!("mpitrace ", env!("CARGO_PKG_VERSION")))?;
        // SAFETY: the handle is that of the archive; the callbacks are static, the text is copied.
        let codes = unsafe {
            [
                (library.set_flush_callbacks)(handle, &CALLBACKS, null_mut()),
                (library.set_serial)(handle),
                (library.set_creator)(handle, creator.as_ptr()),
                (library.open_events)(handle),
            ]
        };
        codes.into_iter().try_for_each(|code| library.check(code))?;
        Ok(archive)
    }

    /// The events of a location.
    pub fn events(&self, location: u64) -> Result<Events<'_>> {
        // SAFETY: the handle is that of the archive.
        let handle = unsafe { (self.library.event_writer)(self.handle, location) };
        ensure!(!handle.is_null(), "OTF2 has no memory for the events of a location");
        Ok(Events { archive: self, handle, count: 0, last: 0 })
    }

    /// After the events of all locations: what each location states of its clock, (time, standard deviation) in ns.
    pub fn clocks(&self, locations: impl Iterator<Item = (u64, Vec<(u64, f64)>)>) -> Result<()> {
        let library = self.library;
        // SAFETY: the handle is that of the archive, in all of this function; a writer's is used until it is closed.
        unsafe {
            library.check((library.close_events)(self.handle))?;
            library.check((library.open_local)(self.handle))?;
            for (location, offsets) in locations {
                let writer = (library.local_writer)(self.handle, location);
                ensure!(!writer.is_null(), "OTF2 has no memory for the definitions of a location");
                for (time, deviation) in offsets {
                    library.check((library.clock_offset)(writer, time, 0, deviation))?;
                }
                library.check((library.close_local_writer)(self.handle, writer))?;
            }
            library.check((library.close_local)(self.handle))
        }
    }

    /// The definitions that all locations share: `write` does it with the writer's handle.
    pub fn global(&self, write: impl FnOnce(Handle) -> Result<()>) -> Result<()> {
        // SAFETY: the handle is that of the archive.
        let writer = unsafe { (self.library.global_writer)(self.handle) };
        ensure!(!writer.is_null(), "OTF2 has no memory for its definitions");
        write(writer)?;
        // SAFETY: as above; the writer is not used any more.
        self.library.check(unsafe { (self.library.close_global_writer)(self.handle, writer) })
    }

    /// Writes what is left.
    pub fn close(self) -> Result<()> {
        // SAFETY: the handle is that of the archive and not used any more.
        self.library.check(unsafe { (self.library.close)(self.handle) })
    }
}

impl Events<'_> {
    pub fn enter(&mut self, time: u64, region: u32) -> Result<()> {
        let library = self.archive.library;
        // SAFETY: the handle is that of this location's writer; the same in all functions below.
        self.event(time, |events, time| unsafe { (library.enter)(events, null_mut(), time, region) })
    }

    pub fn leave(&mut self, time: u64, region: u32) -> Result<()> {
        let library = self.archive.library;
        // SAFETY: as in `enter`.
        self.event(time, |events, time| unsafe { (library.leave)(events, null_mut(), time, region) })
    }

    pub fn begin(&mut self, time: u64) -> Result<()> {
        let library = self.archive.library;
        // SAFETY: as in `enter`.
        self.event(time, |events, time| unsafe { (library.collective_begin)(events, null_mut(), time) })
    }

    pub fn end(&mut self, time: u64, end: End) -> Result<()> {
        let library = self.archive.library;
        let End { collective, communicator, root, sent, received } = end;
        let number = collective.number;
        // SAFETY: as in `enter`.
        self.event(time, |events, time| unsafe {
            (library.collective_end)(events, null_mut(), time, number, communicator, root, sent, received)
        })
    }

    /// NON_BLOCKING_COLLECTIVE_REQUEST.
    pub fn request(&mut self, time: u64, request: u64) -> Result<()> {
        let library = self.archive.library;
        // SAFETY: as in `enter`.
        self.event(time, |events, time| unsafe { (library.request)(events, null_mut(), time, request) })
    }

    /// NON_BLOCKING_COLLECTIVE_COMPLETE.
    pub fn complete(&mut self, time: u64, end: End, request: u64) -> Result<()> {
        let library = self.archive.library;
        let End { collective, communicator, root, sent, received } = end;
        let number = collective.number;
        // SAFETY: as in `enter`.
        self.event(time, |events, time| unsafe {
            (library.complete)(events, null_mut(), time, number, communicator, root, sent, received, request)
        })
    }

    /// MPI_SEND, MPI_ISEND or what ends that, and the same of receives. Without a request the call blocks.
    pub fn message(&mut self, time: u64, end: MessageEnd) -> Result<()> {
        let library = self.archive.library;
        let MessageEnd { is_send, is_end, request, partner, communicator, tag, bytes } = end;
        // SAFETY: as in `enter`.
        self.event(time, |events, time| unsafe {
            let none = null_mut();
            match (is_send, request, is_end) {
                (true, None, _) => (library.send)(events, none, time, partner, communicator, tag, bytes),
                (false, None, _) => (library.receive)(events, none, time, partner, communicator, tag, bytes),
                (true, Some(request), false) => {
                    (library.start_send)(events, none, time, partner, communicator, tag, bytes, request)
                }
                (true, Some(request), true) => (library.complete_send)(events, none, time, request),
                (false, Some(request), false) => (library.start_receive)(events, none, time, request),
                (false, Some(request), true) => {
                    (library.complete_receive)(events, none, time, partner, communicator, tag, bytes, request)
                }
            }
        })
    }

    /// METRIC: the value of a counter.
    pub fn metric(&mut self, time: u64, metric: u32, value: u64) -> Result<()> {
        let library = self.archive.library;
        // SAFETY: as in `enter`; one type and one value, as the count says.
        self.event(time, |events, time| unsafe {
            (library.metric)(events, null_mut(), time, metric, 1, &TYPE_UINT64, &value)
        })
    }

    /// Writes what is left of them, and tells how many there were.
    pub fn close(self) -> Result<u64> {
        let library = self.archive.library;
        // SAFETY: the handle is not used any more.
        library.check(unsafe { (library.close_event_writer)(self.archive.handle, self.handle) })?;
        Ok(self.count)
    }

    /// Events of a location are in order. Where a clock was set back, the later ones wait.
    fn event(&mut self, time: u64, write: impl FnOnce(Handle, u64) -> Code) -> Result<()> {
        self.last = self.last.max(time);
        self.count += 1;
        self.archive.library.check(write(self.handle, self.last))
    }
}
