//! The functions of Roth's `roth_tracing` (thesis, section 4.6.2): one value per metric and repetition in simple arrays
//! that are made in advance, filled from any part of the stack, and read back as they are. The same numbers go into the
//! trace, a repetition being a region of the name `roth_tracing`.

use std::ffi::{CString, c_char, c_int, c_long};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering};

use crate::base::log;
use crate::base::ticks;
use crate::counters::user_counters as names;
use crate::exports::user_counters;
use crate::record::thread;
use crate::recorder::named_regions;

/// The metrics and their arrays. Once made they stay: other threads may be storing.
struct Metrics {
    counters: Vec<Metric>,
    timers: Vec<Metric>,
    repetitions: usize,
    /// `counts[metric * repetitions + repetition]`.
    counts: Box<[AtomicI32]>,
    /// s, as the bits of floats, in the same order.
    seconds: Box<[AtomicU64]>,
    region: Option<usize>,
    second_per_tick: f64,
}

struct Metric {
    name: CString,
    /// Its slot in the trace.
    slot: Option<usize>,
    /// When a timer was started, ticks; 0: it is not running.
    started: AtomicU64,
}

static METRICS: OnceLock<Metrics> = OnceLock::new();
/// The repetition in progress; -1: none, and nothing is measured.
static REPETITION: AtomicI64 = AtomicI64::new(-1);

/// # Safety
/// `names` leads to `count` C strings.
unsafe fn read(names: *const *const c_char, count: c_int, timers: bool) -> Vec<Metric> {
    (0..count.max(0) as usize)
        .map(|index| {
            // SAFETY: the index is below `count`, and each place leads to a C string, as the caller promises.
            let name = unsafe { std::ffi::CStr::from_ptr(*names.add(index)) }.to_owned();
            let unit = if timers { "ns" } else { "times" };
            let slot = name.to_str().ok().and_then(|name| names::slot(name, unit, timers));
            Metric { name, slot, started: AtomicU64::new(0) }
        })
        .collect()
}

/// Makes the arrays, for so many repetitions of these metrics: `init_tracer` with the enumerations as names. The second
/// call of a run, and one without room, changes nothing.
///
/// # Safety
/// The names are as many C strings as is said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn roth_tracing_init(
    repetitions: c_long,
    counters: *const *const c_char,
    number_of_counters: c_int,
    timers: *const *const c_char,
    number_of_timers: c_int,
) {
    thread::catch_panic(|| {
        if METRICS.get().is_some() {
            return None;
        }
        // SAFETY: the C program promises as many names as it says (include/roth_tracing.h).
        let (counters, timers) =
            unsafe { (read(counters, number_of_counters, false), read(timers, number_of_timers, true)) };
        let repetitions = usize::try_from(repetitions).ok()?;
        let room = |metrics: &[Metric]| repetitions.checked_mul(metrics.len()).filter(|&values| values < 1 << 32);
        let (Some(counts), Some(seconds)) = (room(&counters), room(&timers)) else {
            log::warn("roth_tracing: no room for so many repetitions");
            return None;
        };
        let made = Metrics {
            counts: (0..counts).map(|_| AtomicI32::new(0)).collect(),
            seconds: (0..seconds).map(|_| AtomicU64::new(0)).collect(),
            counters,
            timers,
            repetitions,
            region: named_regions::number("roth_tracing"),
            second_per_tick: 1.0 / ticks::roughly_hz(),
        };
        METRICS.set(made).ok()
    });
}

/// Resets the values of this repetition, makes it the current one and starts measuring. The one in progress ends.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_start_repetition(repetition: c_long) {
    roth_tracing_stop_repetition();
    let Some(metrics) = METRICS.get() else { return };
    let Some(number) = usize::try_from(repetition).ok().filter(|&number| number < metrics.repetitions) else { return };
    for metric in 0..metrics.counters.len() {
        metrics.counts[metric * metrics.repetitions + number].store(0, Ordering::Relaxed);
    }
    for metric in 0..metrics.timers.len() {
        metrics.seconds[metric * metrics.repetitions + number].store(0, Ordering::Relaxed);
    }
    if let Some(region) = metrics.region {
        user_counters::mpitrace_region_begin(region as c_int);
    }
    REPETITION.store(number as i64, Ordering::Release);
}

/// Ends the repetition in progress: nothing is measured until the next one.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_stop_repetition() {
    if REPETITION.swap(-1, Ordering::AcqRel) >= 0
        && let Some(region) = METRICS.get().and_then(|metrics| metrics.region)
    {
        user_counters::mpitrace_region_end(region as c_int);
    }
}

/// The metrics and the repetition in progress, where there is one.
#[inline(always)]
fn measuring() -> Option<(&'static Metrics, usize)> {
    let repetition = REPETITION.load(Ordering::Relaxed);
    Some((METRICS.get()?, usize::try_from(repetition).ok()?))
}

/// Adds one to a counter.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_increment_counter(metric: c_int) {
    let Some((metrics, repetition)) = measuring() else { return };
    let Some(counter) = metrics.counters.get(metric as usize) else { return };
    metrics.counts[metric as usize * metrics.repetitions + repetition].fetch_add(1, Ordering::Relaxed);
    if let Some(slot) = counter.slot {
        user_counters::mpitrace_add(slot as c_int, 1);
    }
}

/// Starts a timer.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_start_timer(metric: c_int) {
    let Some((metrics, _)) = measuring() else { return };
    let Some(timer) = metrics.timers.get(metric as usize) else { return };
    timer.started.store(ticks::now(), Ordering::Relaxed);
}

/// Stops a timer: what has passed since it was started is added to the repetition.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_stop_timer(metric: c_int) {
    let now = ticks::now();
    let Some((metrics, repetition)) = measuring() else { return };
    let Some(timer) = metrics.timers.get(metric as usize) else { return };
    let started = timer.started.swap(0, Ordering::Relaxed);
    if started == 0 {
        return;
    }
    let passed = now.wrapping_sub(started);
    let place = &metrics.seconds[metric as usize * metrics.repetitions + repetition];
    let add = |bits: u64| Some((f64::from_bits(bits) + passed as f64 * metrics.second_per_tick).to_bits());
    let _ = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    if let Some(slot) = timer.slot {
        // Ticks, as the sums of timers are kept.
        user_counters::mpitrace_add(slot as c_int, passed);
    }
}

/// The counts, `[metric * repetitions + repetition]`; null before the arrays are made.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_get_counter_data() -> *mut c_int {
    METRICS.get().map_or(std::ptr::null_mut(), |metrics| metrics.counts.as_ptr().cast_mut().cast())
}

/// The times in s, in the same order.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_get_time_data() -> *mut f64 {
    METRICS.get().map_or(std::ptr::null_mut(), |metrics| metrics.seconds.as_ptr().cast_mut().cast())
}

/// How many counters there are.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_number_of_counter_metrics() -> c_int {
    METRICS.get().map_or(0, |metrics| metrics.counters.len() as c_int)
}

/// How many timers there are.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_number_of_time_metrics() -> c_int {
    METRICS.get().map_or(0, |metrics| metrics.timers.len() as c_int)
}

fn name_of(of: impl Fn(&'static Metrics) -> &'static [Metric], metric: c_int) -> *const c_char {
    let named = METRICS.get().and_then(|metrics| of(metrics).get(metric as usize));
    named.map_or(std::ptr::null(), |metric| metric.name.as_ptr())
}

/// The name of a counter; null: there is none of this number.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_counter_metric_name(metric: c_int) -> *const c_char {
    name_of(|metrics| &metrics.counters, metric)
}

/// The name of a timer; null: there is none of this number.
#[unsafe(no_mangle)]
pub extern "C" fn roth_tracing_time_metric_name(metric: c_int) -> *const c_char {
    name_of(|metrics| &metrics.timers, metric)
}
