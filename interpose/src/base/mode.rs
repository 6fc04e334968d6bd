//! The mode of recording.

use std::sync::atomic::{AtomicU8, Ordering};

static MODE: AtomicU8 = AtomicU8::new(OFF);

/// Before Init, after Finalize, disabled: calls are only forwarded.
pub const OFF: u8 = 0;
/// Calls are counted and matched, not kept (`MPI_Pcontrol(0)`).
pub const PAUSED: u8 = 1;
/// Calls are recorded, with all that was asked for.
pub const RECORDING: u8 = 2;
/// Calls are recorded, and nothing was asked for that changes how: ticks are the processor's, and the place of a call
/// is not part of its operation.
pub const PLAIN: u8 = 3;

/// How calls are recorded when they are: one of the last two.
static RECORDED: AtomicU8 = AtomicU8::new(RECORDING);

#[inline(always)]
pub fn get() -> u8 {
    MODE.load(Ordering::Relaxed)
}

#[inline(always)]
pub fn is_plain() -> bool {
    get() == PLAIN
}

/// Starts recording, at the end of Init; `plain`: nothing was asked for that changes how.
pub fn start(plain: bool) {
    RECORDED.store(if plain { PLAIN } else { RECORDING }, Ordering::Relaxed);
    MODE.store(RECORDED.load(Ordering::Relaxed), Ordering::Release);
}

/// Ends recording. Calls that other threads are in still store their exits.
pub fn stop() {
    MODE.store(OFF, Ordering::Release);
}

pub fn pause(paused: bool) {
    let recorded = RECORDED.load(Ordering::Relaxed);
    let (from, to) = if paused { (recorded, PAUSED) } else { (PAUSED, recorded) };
    let _ = MODE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
}

#[inline(always)]
pub fn is_on() -> bool {
    get() != OFF
}
