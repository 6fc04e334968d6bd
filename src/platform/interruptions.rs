//! How a thread learns, without a system call, that the kernel has taken its processor away: a word in memory that the
//! kernel changes then.
//!
//! Two mechanisms give such a word. [`EventPage`] is the page of an event of perf that counts nothing: the kernel
//! writes to it each time the thread is scheduled in (linux/perf_event.h, `perf_event_mmap_page`). [`Sequence`] is the
//! descriptor of a restartable sequence that is never executed (rseq(2)): the kernel takes its address away when it
//! looks at it after a preemption, a migration or a signal.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::perf::{self, Attributes, MappedPage, flag};

/// Where the word lies in it: `lock`, which goes up by [`PER_SWITCH`] when the kernel has written to the page.
const LOCK: usize = 8;
const PER_SWITCH: u32 = 2;

/// The page of an event of the thread that has opened it. It is not mapped in a child that is forked off.
#[derive(Debug)]
pub struct EventPage(pub MappedPage);

impl EventPage {
    /// Opens the event for the calling thread and maps its page. The event's descriptor is closed again; the kernel
    /// goes on writing to the page.
    ///
    /// # Errors
    /// The number of errno.h of the system call that failed: perf_event_open is forbidden, or the user's processes have
    /// mapped as many pages as they may.
    pub fn open() -> Result<EventPage, c_int> {
        let flags = flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR;
        let attributes = Attributes { flags, ..Attributes::new(perf::SOFTWARE, perf::DUMMY) };
        let event = perf::open(&attributes, None, perf::CLOSE_ON_EXEC)?;
        let page = MappedPage::new(event);
        // SAFETY: the descriptor was opened above and is not used elsewhere.
        unsafe { libc::close(event) };
        page.map(EventPage)
    }

    /// The word, as long as the page is mapped.
    pub fn word(&self) -> &AtomicU32 {
        // SAFETY: the word lies within the mapping, aligned; the kernel writes to it as a whole.
        unsafe { self.0.start().add(LOCK).cast().as_ref() }
    }

    /// Context switches between two values of the word.
    pub fn switches(before: u32, after: u32) -> u32 {
        after.wrapping_sub(before) / PER_SWITCH
    }
}

/// The area that the C library has registered for the calling thread, with our descriptor in it.
#[derive(Debug)]
pub struct Sequence {
    /// `rseq_cs` of the area.
    place: NonNull<usize>,
}

/// Where `rseq_cs` lies in the area (linux/rseq.h).
const RSEQ_CS: isize = 8;

impl Sequence {
    /// Puts the descriptor into the calling thread's area. `None`: the C library has registered none (before 2.35, or
    /// `glibc.pthread.rseq=0`), the kernel has no such calls, or another user of the area is there.
    pub fn of_thread() -> Option<Sequence> {
        let area = registered_area()?;
        let sequence = Sequence { place: NonNull::new(area.wrapping_byte_offset(RSEQ_CS).cast())? };
        sequence.arm().then_some(sequence)
    }

    /// The lower half of the word, which is 0 once the kernel has taken the address away.
    pub fn word(&self) -> &AtomicU32 {
        // SAFETY: the area belongs to the thread and lasts as long; the kernel writes to it while the thread does not
        // run, and programs that run on the thread write whole words.
        unsafe { self.place.cast().as_ref() }
    }

    /// The value of the word as long as the kernel has not taken the address away.
    pub fn armed() -> u32 {
        descriptor() as u32
    }

    /// Puts the descriptor in again. False: another user of the area has put one of its own there, which stays.
    pub fn arm(&self) -> bool {
        // SAFETY: as in `word`.
        let place = self.place.as_ptr();
        // SAFETY: the place lies in the thread's area, which is aligned to 32 bytes.
        let found = unsafe { place.read_volatile() };
        if found != 0 && found != descriptor() {
            return false;
        }
        // SAFETY: the kernel accepts this descriptor: its addresses are those of code, and the signature that glibc has
        // registered stands before the one to abort to. Nothing ever runs in the sequence, so that nothing is aborted.
        unsafe { place.write_volatile(descriptor()) };
        true
    }

    /// Takes the descriptor out, where it is there.
    pub fn disarm(&self) {
        let place = self.place.as_ptr();
        // SAFETY: as in `arm`.
        if unsafe { place.read_volatile() } == descriptor() {
            // SAFETY: as in `arm`; 0 is "no sequence".
            unsafe { place.write_volatile(0) };
        }
    }
}

/// The restartable sequence that glibc has registered with the kernel for this thread.
fn registered_area() -> Option<*mut u8> {
    let symbol = |name: &std::ffi::CStr| {
        // SAFETY: the name is a C string.
        let place = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!place.is_null()).then_some(place)
    };
    // SAFETY: glibc's <sys/rseq.h> gives these two variables these types, and sets them before any code of ours runs.
    let (offset, size) =
        unsafe { (symbol(c"__rseq_offset")?.cast::<isize>().read(), symbol(c"__rseq_size")?.cast::<u32>().read()) };
    (size != 0).then(|| thread_pointer().wrapping_byte_offset(offset))
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> *mut u8 {
    let pointer;
    // SAFETY: the first word of a thread's control block is its own address (x86-64 ABI, thread-local storage).
    unsafe { core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> *mut u8 {
    let pointer;
    // SAFETY: reads a register that user space may read.
    unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags)) };
    pointer
}

// The descriptor (struct rseq_cs: version, flags, start, length, where to abort to), and the code that it names. The
// signature before the address to abort to is the one of linux/rseq.h for the architecture.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.mpitrace_sequence,\"ax\",@progbits",
    ".p2align 4",
    ".hidden mpitrace_sequence_start",
    "mpitrace_sequence_start:",
    "ud2",
    "ud2",
    ".long 0x53053053",
    "mpitrace_sequence_abort:",
    "ud2",
    ".popsection",
    ".pushsection .data.rel.ro.mpitrace_sequence,\"aw\",@progbits",
    ".p2align 5",
    ".globl mpitrace_sequence",
    ".hidden mpitrace_sequence",
    ".type mpitrace_sequence, @object",
    "mpitrace_sequence:",
    ".long 0, 0",
    ".quad mpitrace_sequence_start, 2, mpitrace_sequence_abort",
    ".size mpitrace_sequence, 32",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.mpitrace_sequence,\"ax\",@progbits",
    ".p2align 4",
    "mpitrace_sequence_start:",
    "udf #0",
    "udf #0",
    ".inst 0xd428bc00",
    "mpitrace_sequence_abort:",
    "udf #0",
    ".popsection",
    ".pushsection .data.rel.ro.mpitrace_sequence,\"aw\",@progbits",
    ".p2align 5",
    ".globl mpitrace_sequence",
    ".hidden mpitrace_sequence",
    ".type mpitrace_sequence, @object",
    "mpitrace_sequence:",
    ".long 0, 0",
    ".quad mpitrace_sequence_start, 4, mpitrace_sequence_abort",
    ".size mpitrace_sequence, 32",
    ".popsection",
);

/// The address of the descriptor.
fn descriptor() -> usize {
    unsafe extern "C" {
        static mpitrace_sequence: u8;
    }
    (&raw const mpitrace_sequence).addr()
}

/// True if the kernel changes the word when this thread sleeps for a moment.
pub fn sees_sleep(word: &AtomicU32) -> bool {
    let before = word.load(Ordering::Relaxed);
    crate::time::sleep(std::time::Duration::from_nanos(1));
    word.load(Ordering::Relaxed) != before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Context switches of this thread as the kernel counts them.
    fn switches() -> i64 {
        // SAFETY: a rusage is made of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` outlives the call.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        usage.ru_nvcsw + usage.ru_nivcsw
    }

    #[test]
    fn the_page_counts_the_context_switches() {
        let Ok(page) = EventPage::open() else { return };
        let (kernel, word) = (switches(), page.word().load(Ordering::Relaxed));
        (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(50)));
        let seen = EventPage::switches(word, page.word().load(Ordering::Relaxed));
        let counted = switches() - kernel;
        // One may fall between the readings of the two, at both ends.
        assert!(counted >= 20 && (i64::from(seen) - counted).abs() <= 2, "{seen} seen, {counted} counted");
    }

    #[test]
    fn the_sequence_is_taken_away_by_a_switch_and_by_nothing_else() {
        let Some(sequence) = Sequence::of_thread() else { return };
        let mut quiet = 0;
        let mut missed = 0;
        for _ in 0..200 {
            assert!(sequence.arm());
            let before = switches();
            (0..1000).for_each(|number| {
                std::hint::black_box(number);
            });
            let seen = sequence.word().load(Ordering::Relaxed) != Sequence::armed();
            match switches() - before {
                // A signal, or a switch between the look and the count.
                0 if seen => {}
                0 => quiet += 1,
                _ if !seen => missed += 1,
                _ => {}
            }
        }
        assert!(quiet > 0, "it is never left in place");
        assert!(missed <= 2, "{missed} switches not seen");
        sequence.disarm();
        assert_eq!(sequence.word().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn another_user_s_sequence_stays() {
        let Some(sequence) = Sequence::of_thread() else { return };
        let place = sequence.place.as_ptr();
        // SAFETY: the area is this thread's. A copy of the descriptor is as good a one, while it is there.
        let copy = unsafe {
            #[repr(align(32))]
            struct Copy([u8; 32]);
            Box::new(Copy(std::ptr::with_exposed_provenance::<[u8; 32]>(descriptor()).read()))
        };
        // SAFETY: as above.
        unsafe { place.write_volatile((&raw const copy.0).addr()) };
        let armed = sequence.arm();
        sequence.disarm();
        // SAFETY: as above.
        let found = unsafe { place.read_volatile() };
        // SAFETY: as above; the copy is gone after this.
        unsafe { place.write_volatile(0) };
        // The kernel may have cleared it.
        assert!(!armed && found == (&raw const copy.0).addr() || found == 0, "{armed} {found:#x}");
    }
}
