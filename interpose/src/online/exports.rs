//! The C functions.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_series::stopping::{Answer, Decision, Rule};

use super::operation::{self, Wanted};
use super::{answers, run_times};
use crate::boundary::abi;
use crate::boundary::mpi::Comm;
use crate::job::log;
use crate::record::{mode, thread};

/// `struct mpitrace_rule`: a 0 is the default.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CRule {
    minimum: i64,
    maximum: i64,
    error: f64,
    confidence: f64,
    first: i64,
}

/// `struct mpitrace_answer`.
#[repr(C)]
pub struct CAnswer {
    decision: c_int,
    warmup_over: c_int,
    repetitions: i64,
    looked_at: i64,
    warmup_end: i64,
    median_ns: f64,
    lower_ns: f64,
    upper_ns: f64,
    error: f64,
}

/// `MPITRACE_UNKNOWN`, and whatever else is not known.
const UNKNOWN: c_int = -1;

/// # Safety
/// A C string, or null.
unsafe fn text<'t>(place: *const c_char) -> Option<&'t str> {
    if place.is_null() {
        return None;
    }
    // SAFETY: not null, and a C string as the caller promises.
    unsafe { CStr::from_ptr(place) }.to_str().ok().filter(|text| !text.is_empty())
}

/// # Safety
/// Leads to a rule, or is null.
unsafe fn rule(place: *const CRule) -> Option<(Rule, u64)> {
    // SAFETY: as the caller promises.
    let given = unsafe { place.as_ref() }.copied().unwrap_or_default();
    let usual = Rule::default();
    let number = |given: i64, usual: u64| if given == 0 { usual } else { u64::try_from(given).unwrap_or(0) };
    let share = |given: f64, usual: f64| if given == 0.0 { usual } else { given };
    let maximum = number(given.maximum, usual.maximum);
    let rule = Rule {
        minimum: number(given.minimum, usual.minimum.min(maximum)),
        maximum,
        error: share(given.error, usual.error),
        confidence: share(given.confidence, usual.confidence),
    };
    match rule.check() {
        Ok(rule) => Some((rule, given.first.max(0) as u64)),
        Err(why) => {
            static WARNED: AtomicBool = AtomicBool::new(false);
            if !WARNED.swap(true, Ordering::Relaxed) {
                log::warn(&format!("invalid stopping rule: {why}"));
            }
            None
        }
    }
}

impl CAnswer {
    fn new(answer: Option<Answer>, repetitions: Option<u64>) -> CAnswer {
        let nanoseconds = |value: Option<f64>| value.unwrap_or(f64::from(UNKNOWN));
        let number = |value: Option<u64>| value.map_or(i64::from(UNKNOWN), |value| value as i64);
        let known = answer.unwrap_or(Answer::NONE);
        CAnswer {
            decision: match answer.map(|answer| answer.decision) {
                None => UNKNOWN,
                Some(Decision::Continue) => 0,
                Some(Decision::Enough) => 1,
                Some(Decision::Maximum) => 2,
            },
            warmup_over: known.warmup_is_over().map_or(UNKNOWN, c_int::from),
            repetitions: number(repetitions),
            looked_at: number(Some(known.looked_at as u64)),
            warmup_end: number(known.warmup_end),
            median_ns: nanoseconds(known.median_ns),
            lower_ns: nanoseconds(known.interval.map(|interval| interval.lower)),
            upper_ns: nanoseconds(known.interval.map(|interval| interval.upper)),
            error: nanoseconds(known.error),
        }
    }

    /// Stores it where there is a place, and gives the decision.
    ///
    /// # Safety
    /// The place has room for an answer, or is null.
    unsafe fn give(self, place: *mut CAnswer) -> c_int {
        let decision = self.decision;
        if !place.is_null() {
            // SAFETY: not null, with room as the caller promises.
            unsafe { place.write(self) };
        }
        decision
    }
}

/// The operation that is meant, where calls are recorded.
fn find(function: Option<&str>, communicator: Option<usize>) -> Option<operation::Operation> {
    operation::last(Wanted { function, communicator }).filter(|_| mode::is_on())
}

fn ask(function: Option<&str>, communicator: Option<usize>, rule: Option<(Rule, u64)>) -> CAnswer {
    let answer = || {
        let (rule, first) = rule?;
        let operation = find(function, communicator)?;
        let repetitions = operation.entry.calls().saturating_sub(first);
        Some((answers::of(operation, first, repetitions, rule), repetitions))
    };
    let (answer, repetitions) = thread::catch_panic(answer).unzip();
    CAnswer::new(answer, repetitions)
}

/// The communicator of a C handle; 0: any.
fn handle(register: usize) -> Option<usize> {
    (register != 0).then(|| abi::get().handle(register))
}

/// The communicator of a handle in Fortran, the least of all integers meaning any; `None` where it cannot be found.
fn of_fortran(handle: c_int) -> Option<Option<usize>> {
    if handle == c_int::MIN { Some(None) } else { Comm::of_fortran(handle).map(Some) }
}

/// What the rule says of the operation called last of this function and on this communicator.
///
/// # Safety
/// `function` is a C string, `rule` leads to a rule and `answer` to room for an answer; each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_online(
    function: *const c_char,
    communicator: usize,
    given: *const CRule,
    answer: *mut CAnswer,
) -> c_int {
    // SAFETY: the C program promises as much (include/mpitrace.h).
    unsafe { ask(text(function), handle(communicator), rule(given)).give(answer) }
}

/// The same for a communicator of Fortran; the least of all integers: any.
///
/// # Safety
/// As [`mpitrace_online`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_online_fortran(
    function: *const c_char,
    communicator: c_int,
    given: *const CRule,
    answer: *mut CAnswer,
) -> c_int {
    // SAFETY: the program promises as much (include/mpitrace.f90).
    unsafe {
        match of_fortran(communicator) {
            Some(communicator) => ask(text(function), communicator, rule(given)).give(answer),
            None => CAnswer::new(None, None).give(answer),
        }
    }
}

/// The run times of the operation called last of this function and on this communicator: of the repetitions from
/// `first` on that this rank has kept, up to the first that it has not; ns. Returns how many there are, of which the
/// first `capacity` are stored.
///
/// # Safety
/// `function` is a C string or null; `run_time_ns` has room for `capacity` values, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_run_times(
    function: *const c_char,
    communicator: usize,
    first: i64,
    run_time_ns: *mut f64,
    capacity: usize,
) -> usize {
    // SAFETY: the C program promises as much (include/mpitrace.h).
    unsafe { store(&run_times_of(text(function), handle(communicator), first), run_time_ns, capacity) }
}

/// The same for a communicator of Fortran; the least of all integers: any.
///
/// # Safety
/// As [`mpitrace_run_times`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_run_times_fortran(
    function: *const c_char,
    communicator: c_int,
    first: i64,
    run_time_ns: *mut f64,
    capacity: usize,
) -> usize {
    let Some(communicator) = of_fortran(communicator) else { return 0 };
    // SAFETY: the program promises as much (include/mpitrace.f90).
    unsafe { store(&run_times_of(text(function), communicator, first), run_time_ns, capacity) }
}

fn run_times_of(function: Option<&str>, communicator: Option<usize>, first: i64) -> Vec<f64> {
    let found = thread::catch_panic(|| {
        let first = u64::try_from(first).ok()?;
        let operation = find(function, communicator)?;
        let mut found = run_times::of(operation, first..operation.entry.calls().max(first))?;
        let follow = (first..).zip(&found.repetition).take_while(|(expected, number)| expected == *number).count();
        found.run_time_ns.truncate(follow);
        Some(found.run_time_ns)
    });
    found.unwrap_or_default()
}

/// Stores as many as there is room for; how many there are.
///
/// # Safety
/// `place` has room for `capacity` values, or is null.
unsafe fn store(values: &[f64], place: *mut f64, capacity: usize) -> usize {
    if !place.is_null() {
        for (index, value) in values.iter().take(capacity).enumerate() {
            // SAFETY: the caller promises room for `capacity` values, and the index is below.
            unsafe { place.add(index).write(*value) };
        }
    }
    values.len()
}

/// What the rule says of these run times, of the repetitions from 0 on. The same numbers have the same answer on every
/// rank.
///
/// # Safety
/// `run_time_ns` leads to `count` values, `rule` to a rule and `answer` to room for an answer; each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_judge(
    run_time_ns: *const f64,
    count: usize,
    given: *const CRule,
    answer: *mut CAnswer,
) -> c_int {
    // SAFETY: the C program promises as much (include/mpitrace.h).
    let rule = unsafe { rule(given) };
    let values = match run_time_ns.is_null() {
        true => &[],
        // SAFETY: not null, and so many values as the C program promises (include/mpitrace.h).
        false => unsafe { std::slice::from_raw_parts(run_time_ns, count) },
    };
    let found = thread::catch_panic(|| Some(rule?.0.judge_all(&run_times::with_equal_ticks(values))));
    // SAFETY: the C program promises room for an answer, or null.
    unsafe { CAnswer::new(found, Some(values.len() as u64)).give(answer) }
}
