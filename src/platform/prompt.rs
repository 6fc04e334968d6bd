//! A thread that waits for other ranks gets its processor promptly when they have come, also where others compute on
//! it.
//!
//! A thread that becomes ready to run waits behind those that compute until their slices are over: beside ten of them
//! 30 ms, for each time that ranks wait for each other. From Linux 6.12 on a thread may have a shorter slice
//! (sched(7)): it gets no more of the processor, but gets it earlier. Only the tracer's own work in MPI_Init and
//! MPI_Finalize has one.

use std::mem::MaybeUninit;

/// The kernel's `struct sched_attr`, with the fields that Linux 3.14 has.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// The slice of a thread of the usual kind, ns; 0: the usual one.
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The shortest slice that the kernel gives, ns.
const SHORTEST: u64 = 100_000;

/// A guard: while it lives, the calling thread has a short slice.
pub struct Prompt {
    before: Option<Attributes>,
}

impl Prompt {
    /// Where the kernel knows no slices, or the thread is scheduled in another way, nothing changes.
    pub fn begin() -> Prompt {
        let changed = read().filter(|found| found.policy == libc::SCHED_OTHER as u32 && found.runtime > SHORTEST);
        // With 0 the thread has the usual slice: so it shows whether the program has chosen another one.
        let before = changed.filter(|found| write(Attributes { runtime: 0, ..*found })).map(|found| {
            let usual = read().map_or(0, |found| found.runtime);
            Attributes { runtime: if found.runtime == usual { 0 } else { found.runtime }, ..found }
        });
        if let Some(before) = before {
            write(Attributes { runtime: SHORTEST, ..before });
        }
        Prompt { before }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            write(before);
        }
    }
}

/// How the calling thread is scheduled.
fn read() -> Option<Attributes> {
    let mut found = MaybeUninit::<Attributes>::zeroed();
    // SAFETY: the kernel writes at most so many bytes there.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, found.as_mut_ptr(), size_of::<Attributes>(), 0) };
    // SAFETY: numbers, for which all bits are a value.
    (done == 0).then(|| unsafe { found.assume_init() })
}

fn write(attributes: Attributes) -> bool {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    // SAFETY: the kernel reads as many bytes as the size says.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice() -> Option<u64> {
        read().map(|found| found.runtime)
    }

    #[test]
    fn a_thread_has_a_short_slice_for_a_while_and_then_what_it_had() {
        // Linux before 6.12 shows none.
        let Some(usual) = slice().filter(|usual| *usual > 0) else { return };
        let prompt = Prompt::begin();
        assert_eq!(slice(), Some(SHORTEST));
        drop(prompt);
        assert_eq!(slice(), Some(usual));
        // One that the program has chosen.
        let chosen = Attributes { runtime: 7_000_000, ..read().unwrap() };
        assert!(write(chosen));
        drop(Prompt::begin());
        assert_eq!(slice(), Some(7_000_000));
        assert!(write(Attributes { runtime: 0, ..chosen }));
    }

    #[test]
    fn a_thread_that_is_scheduled_in_another_way_stays_so() {
        std::thread::spawn(|| {
            let batch = Attributes { policy: libc::SCHED_BATCH as u32, ..read().unwrap() };
            assert!(write(batch));
            let before = slice();
            let prompt = Prompt::begin();
            assert_eq!((slice(), read().map(|found| found.policy)), (before, Some(libc::SCHED_BATCH as u32)));
            drop(prompt);
            assert_eq!(read().map(|found| found.policy), Some(libc::SCHED_BATCH as u32));
        })
        .join()
        .unwrap();
    }
}
