//! `errno` of the calling thread, which the program may read after an MPI call as it could without the tracer.

use std::ffi::c_int;

/// Does something that leaves `errno` as it was.
pub fn kept<R>(work: impl FnOnce() -> R) -> R {
    let _kept = Kept(get());
    work()
}

struct Kept(c_int);

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the C library's own word of this thread.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

fn get() -> c_int {
    // SAFETY: the C library's own word of this thread.
    unsafe { *libc::__errno_location() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failing_call_sets_is_taken_back() {
        let set = Kept(4321);
        drop(set);
        let result = kept(|| {
            // SAFETY: takes a number; there is no such descriptor.
            let failed = unsafe { libc::close(-1) };
            (failed, get())
        });
        assert_eq!((result, get()), ((-1, libc::EBADF), 4321));
    }
}
