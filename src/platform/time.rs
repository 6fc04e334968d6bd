//! Clocks and sleep without a panic: std's end the thread where the system refuses a call, as filters of system calls
//! do (seccomp(2)), and a library in the process of a program must not.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment of the monotonic clock, as `std::time::Instant` is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// The present. Where the system refuses to tell it, each call is a millisecond later than the one before: what
    /// waits for a time comes to an end.
    pub fn now() -> Instant {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let told = read(libc::CLOCK_MONOTONIC);
        Instant(told.unwrap_or_else(|| Duration::from_millis(ASKED.fetch_add(1, Ordering::Relaxed))))
    }

    /// The time since then; 0 where it is to come.
    pub fn elapsed(self) -> Duration {
        Instant::now() - self
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, later: Duration) -> Instant {
        Instant(self.0.saturating_add(later))
    }
}

/// 0 where the other moment is the later one.
impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The time of day; 1970 where the system refuses to tell it.
pub fn time_of_day() -> SystemTime {
    UNIX_EPOCH + read(libc::CLOCK_REALTIME).unwrap_or_default()
}

/// When a process was started, ns of CLOCK_MONOTONIC_RAW. `started`: the clock ticks that /proc has, since the machine
/// was booted. `None`: the system refuses to tell a clock, or the machine has slept since then.
///
/// ```
/// let stat = std::fs::read_to_string("/proc/self/stat")?;
/// // Field 22 of proc_pid_stat(5).
/// let started = stat.rsplit_once(')').and_then(|(_, fields)| fields.split_whitespace().nth(19)?.parse().ok());
/// assert!(started.and_then(mpitrace_platform::time::raw_ns_of_start).is_some_and(|ns| ns > 0));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn raw_ns_of_start(started: u64) -> Option<u64> {
    // SAFETY: it takes a number.
    let a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let started = Duration::try_from_secs_f64(started as f64 / a_second as f64).ok()?;
    let age = read(libc::CLOCK_BOOTTIME)?.saturating_sub(started);
    Some(read(libc::CLOCK_MONOTONIC_RAW)?.checked_sub(age)?.as_nanos() as u64)
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    let told = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    told.then(|| Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32))
}

/// Sleeps for so long at least. Where the system refuses that, the thread gives way to others once.
pub fn sleep(time: Duration) {
    let mut left =
        libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos() as libc::c_long };
    loop {
        let wanted = left;
        // SAFETY: both times outlive the call.
        match unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const wanted, &raw mut left) } {
            0 => return,
            libc::EINTR => {}
            _ => break,
        }
    }
    // SAFETY: takes nothing.
    unsafe { libc::sched_yield() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_takes_as_long_as_it_is_to() {
        let before = Instant::now();
        sleep(Duration::from_millis(20));
        assert!(before.elapsed() >= Duration::from_millis(20));
        assert!(before + Duration::from_secs(3600) > Instant::now());
        assert_eq!(before - Instant::now(), Duration::ZERO);
        let read = time_of_day();
        let apart = SystemTime::now().duration_since(read).unwrap();
        assert!(apart < Duration::from_secs(60), "{apart:?}");
    }
}
