//! The part of the C API for the time (`include/mpitrace.h`).

use super::{CLOCKS, Clocks, published_map};
use crate::record::ticks;

/// Global time at a reading of this rank's counter, ns.
fn nanoseconds(clocks: &Clocks, reading: u64) -> Option<i64> {
    let reference = published_map::get()?.apply(clocks.clock.shown(reading));
    let since = reference.wrapping_sub(clocks.scale.zero) as i64 as f64;
    Some((since * 1e9 / clocks.scale.hz) as i64)
}

/// Global time in ns since MPI_Init on world rank 0; -1 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_global_time_ns() -> i64 {
    let reading = ticks::now();
    CLOCKS.get().and_then(|clocks| nanoseconds(clocks, reading)).unwrap_or(-1)
}
