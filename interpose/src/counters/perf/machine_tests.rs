//! The counters of the machine that the tests run on: the kernel's on every one, the processor's where there is a PMU.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::event_page::{self, Instructions, Page, capability};
use crate::base::processor;
use crate::counters::perf::group::{Group, Processor};
use crate::counters::perf::system;
use crate::counters::perf::{Counters, Event, Note, Quality};
use mpitrace_platform::event_names::parse;

/// How long the hardware group was to count and how long it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    /// ns.
    enabled_ns: u64,
    /// ns; 0: its values mean nothing. Less than `enabled_ns`: others shared the counters, and values are scaled.
    running_ns: u64,
}

impl Counters {
    /// Nothing is counted.
    fn is_empty(&self) -> bool {
        self.words() == 0
    }

    /// How many system calls a reading after a call takes, unless the hardware group shares its counters with others
    /// and the processor's clock is not the kernel's: then one more.
    fn system_calls(&self) -> usize {
        let hardware = self.hardware.words() != 0 && !self.hardware.is_read_by_pages();
        usize::from(hardware) + usize::from(self.software.words() != 0)
    }

    /// How long the hardware events were to count and did, with a system call; `None` where there are none.
    fn hardware_times(&self) -> Option<Times> {
        self.hardware.times().map(|(enabled_ns, running_ns)| Times { enabled_ns, running_ns })
    }
}

impl Group {
    /// It is read without a system call.
    fn is_read_by_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// The number of the processor's counter that the leader is on; `None`: it is on none, or there is no page.
    fn counter_of_leader(&self) -> Option<u32> {
        let index = event_page::fields(self.pages.first()?).index.load(Ordering::Relaxed);
        index.checked_sub(1)
    }

    /// How long it was to count and how long it counted since it was opened, ns; `None` where nothing is open.
    fn times(&self) -> Option<(u64, u64)> {
        let reading = system::read(*self.descriptors.first()?, None)?;
        Some((reading.enabled, reading.running))
    }
}

/// One test at a time: what a process has open is looked at.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn events(names: &[&str]) -> Vec<Event> {
    names.iter().map(|name| parse(name).expect(name)).collect()
}

/// The counts of the events while `work` runs; `None`, and why: one of them cannot be counted here.
fn counted(names: &[&str], work: impl FnOnce()) -> Option<Vec<u64>> {
    let (counters, notes) = Counters::open(&events(names));
    if counters.counted().count() < names.len() {
        eprintln!("skipped: {}", said(&notes));
        return None;
    }
    let (mut before, mut after, mut values) =
        (vec![0; counters.words()], vec![0; counters.words()], vec![0; names.len()]);
    counters.read_before(&mut before);
    work();
    counters.read_after(&mut after);
    let quality = counters.difference(&before, &after, &mut values);
    assert_eq!(quality, Quality::Exact, "{:?}", counters.hardware_times());
    Some(values)
}

fn said(notes: &[Note]) -> String {
    notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// The first touch of so many pages, 4 KiB each.
fn touch(pages: usize) {
    const SIZE: usize = 4096;
    let length = pages * SIZE;
    // SAFETY: maps memory of its own, writes within it, and gives it back.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        // One fault a page, whatever the system's setting for large pages.
        libc::madvise(memory, length, libc::MADV_NOHUGEPAGE);
        for page in 0..pages {
            memory.cast::<u8>().add(page * SIZE).write_volatile(1);
        }
        libc::munmap(memory, length);
    }
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn spin(long: Duration) {
    let begin = processor_time();
    while processor_time() - begin < long {}
}

#[test]
fn the_first_touch_of_pages_is_as_many_page_faults() {
    let _alone = alone();
    // SAFETY: has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let pages = 1000 * 4096 / page as u64;
    let Some(values) = counted(&["page-faults", "minor-faults", "major-faults"], || touch(1000)) else { return };
    assert!(values[0] >= pages, "{values:?}");
    assert_eq!(values[0], values[1] + values[2], "{values:?}");
    let Some(values) = counted(&["faults"], || spin(Duration::from_micros(10))) else { return };
    assert!(values[0] < 100, "no more than a few without a touch: {values:?}");
}

#[test]
fn each_sleep_is_a_context_switch() {
    let _alone = alone();
    let sleeps = || (0..20).for_each(|_| std::thread::sleep(Duration::from_micros(200)));
    let Some(values) = counted(&["context-switches", "cpu-migrations", "cs"], sleeps) else { return };
    assert!(values[0] >= 20, "{values:?}");
    assert!(values[1] <= values[0], "a thread moves only when it is switched: {values:?}");
    assert_eq!(values[0], values[2]);
}

/// Also the first one, and behind a leader of another kind.
#[test]
fn a_member_counts_from_the_start() {
    let _alone = alone();
    let sleep = || std::thread::sleep(Duration::from_micros(200));
    for leader in ["task-clock", "page-faults", "cpu-clock"] {
        let Some(values) = counted(&[leader, "context-switches"], sleep) else { return };
        assert!(values[1] >= 1, "behind {leader}: {values:?}");
    }
}

#[test]
fn the_task_clock_runs_while_the_thread_does_and_stands_while_it_sleeps() {
    let _alone = alone();
    let begin = Instant::now();
    let Some(values) = counted(&["task-clock"], || spin(Duration::from_millis(20))) else { return };
    let elapsed = begin.elapsed().as_nanos() as u64;
    assert!((19_800_000..=elapsed).contains(&values[0]), "{values:?} of {elapsed} ns");
    let Some(values) = counted(&["task-clock"], || std::thread::sleep(Duration::from_millis(300))) else { return };
    assert!(values[0] < 150_000_000, "{values:?} ns while asleep for 300 ms");
}

#[test]
fn every_software_event_costs_no_more_than_one_system_call_together() {
    let _alone = alone();
    let names =
        ["task-clock", "cs", "migrations", "faults", "minor-faults", "major-faults", "alignment-faults", "cpu-clock"];
    let (counters, notes) = Counters::open(&events(&names));
    if counters.is_empty() {
        return eprintln!("skipped: {}", said(&notes));
    }
    assert_eq!(counters.system_calls(), 1);
}

#[test]
fn each_thread_counts_itself() {
    let _alone = alone();
    let elsewhere = || std::thread::scope(|scope| drop(scope.spawn(|| touch(2000)).join()));
    let Some(values) = counted(&["page-faults"], elsewhere) else { return };
    assert!(values[0] < 1000, "{values:?}: those of the other thread are not ours");
}

#[test]
fn what_cannot_be_opened_here_is_named_and_the_rest_counts() {
    let _alone = alone();
    let names = ["cycles", "page-faults", "L1-dcache-load-misses", "rffffffff"];
    let (counters, notes) = Counters::open(&events(&names));
    let left_out: Vec<usize> = notes.iter().filter(|note| note.left_out).map(|note| note.event).collect();
    let mut all: Vec<usize> = counters.counted().chain(left_out.iter().copied()).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3], "each is either counted or left out: {}", said(&notes));
    assert!(notes.iter().all(|note| note.text.starts_with(names[note.event])), "{}", said(&notes));
    let (mut before, mut after) = (vec![0; counters.words()], vec![0; counters.words()]);
    counters.read_before(&mut before);
    touch(50);
    counters.read_after(&mut after);
    let mut values = [u64::MAX; 4];
    counters.difference(&before, &after, &mut values);
    assert!(left_out.contains(&1) || (10..u64::MAX).contains(&values[1]), "{values:?}");
    assert!(left_out.iter().all(|&event| values[event] == u64::MAX), "nothing is invented: {values:?}");
}

#[test]
fn buffers_of_a_wrong_length_are_left_as_they_are() {
    let _alone = alone();
    let (counters, _) = Counters::open(&events(&["task-clock", "faults"]));
    let mut reading = vec![7; counters.words() + 1];
    counters.read_before(&mut reading);
    counters.read_after(&mut []);
    assert!(reading.iter().all(|&word| word == 7));
    let nothing = if counters.is_empty() { Quality::Exact } else { Quality::Silent };
    assert_eq!(counters.difference(&[], &[], &mut []), nothing);
}

#[test]
fn nothing_stays_open_or_mapped() {
    let _alone = alone();
    let held = || {
        let links =
            std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let open = links.filter(|link| link.to_string_lossy().contains("[perf_event]")).count();
        (open, std::fs::read_to_string("/proc/self/maps").unwrap().matches("[perf_event]").count())
    };
    let before = held();
    let (counters, _) = Counters::open(&events(&["cycles", "task-clock", "cs", "PAPI_BR_PRC"]));
    assert!(counters.is_empty() || held() > before);
    drop(counters);
    assert_eq!(held(), before);
}

#[test]
fn a_program_that_closes_all_it_has_open_loses_counts_and_no_data() {
    const CHILD: &str = "MPITRACE_TEST_CLOSE_ALL";
    let _alone = alone();
    if std::env::var_os(CHILD).is_none() {
        let test = "perf::machine_tests::a_program_that_closes_all_it_has_open_loses_counts_and_no_data";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let run = child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().expect("it can be started");
        assert!(run.status.success(), "{run:?}");
        return;
    }
    let (counters, notes) = Counters::open(&events(&["task-clock", "faults"]));
    if counters.is_empty() {
        return eprintln!("skipped: {}", said(&notes));
    }
    let (mut before, mut after, mut values) = (vec![0; counters.words()], vec![0; counters.words()], [9; 2]);
    counters.read_before(&mut before);
    // SAFETY: a process of its own, in which nothing else uses a descriptor above 2.
    unsafe { assert_eq!(libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0), 0) };
    let mut text = std::fs::File::open("/proc/self/status").unwrap();
    counters.read_after(&mut after);
    assert_eq!(std::io::Seek::stream_position(&mut text).unwrap(), 0, "nothing was read from the program's file");
    assert_eq!((counters.difference(&before, &after, &mut values), values), (Quality::Silent, [9; 2]));

    // The program's files reach the numbers that ours had.
    let most = 3 * rlimit_of_files() / 4 + 16;
    let of_program: Vec<_> = (0..most).map_while(|_| text.try_clone().ok()).collect();
    counters.read_before(&mut before);
    counters.read_after(&mut after);
    assert_eq!(std::io::Seek::stream_position(&mut text).unwrap(), 0, "nothing was read from the program's file");
    assert_eq!((counters.difference(&before, &after, &mut values), values), (Quality::Silent, [9; 2]));
    drop(counters);
    assert!(of_program.iter().all(|file| file.metadata().is_ok()), "the program's files are open");
}

/// Without a reading in between the descriptor is not known to be closed: what the one reading takes from the file of
/// the program is given back.
#[test]
fn a_file_that_gets_the_number_of_an_event_is_read_once_and_set_back() {
    let _alone = alone();
    let (counters, notes) = Counters::open(&events(&["task-clock", "faults"]));
    let Some(&leader) = counters.software.descriptors.first() else {
        return eprintln!("skipped: {}", said(&notes));
    };
    let (mut before, mut after, mut values) = (vec![0; counters.words()], vec![0; counters.words()], [9; 2]);
    let mut text = std::fs::File::open("/proc/self/maps").unwrap();
    for _ in 0..2 {
        counters.read_before(&mut before);
        // SAFETY: the number is that of an event of this test.
        assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&text), leader) }, leader);
        counters.read_after(&mut after);
        assert_eq!(std::io::Seek::stream_position(&mut text).unwrap(), 0, "the program's file is where it was");
        assert_eq!((counters.difference(&before, &after, &mut values), values), (Quality::Silent, [9; 2]));
    }
    drop(counters);
    // SAFETY: takes a number, of a file of this test.
    assert_eq!(unsafe { libc::close(leader) }, 0, "it was left open");
}

/// How many files a process may have open; those tests that fill them allow no more than 4096.
fn rlimit_of_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives the call, which writes nothing else.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur.min(4 * 4096 / 3 + 4)
}

#[test]
fn without_rights_the_program_is_counted_and_what_is_the_kernels_is_left_out() {
    let _alone = alone();
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    // SAFETY: has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if level.trim() != "2" || !root {
        return eprintln!("skipped: needs root, and kernel.perf_event_paranoid of 2 (here {})", level.trim());
    }
    let unprivileged = || {
        const NOBODY: libc::uid_t = 65534;
        // SAFETY: the system call itself, and not the C library's function, changes this thread only.
        assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) }, 0);
        let (counters, notes) = Counters::open(&events(&["page-faults", "context-switches", "task-clock"]));
        if counters.is_empty() {
            return eprintln!("skipped: {}", said(&notes));
        }
        assert_eq!(counters.counted().collect::<Vec<_>>(), [0, 2], "{}", said(&notes));
        assert!(!notes[0].left_out && notes[0].text.contains("page-faults:u"), "{}", said(&notes));
        assert!(notes[1].left_out && notes[1].text.contains("is 2 here and must be 1 or less"), "{}", said(&notes));
    };
    std::thread::scope(|scope| scope.spawn(unprivileged).join()).expect("the thread ends well");
}

/// Two instructions a turn.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn turns(count: u64) {
    // SAFETY: counts a register down to 0.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("2:", "sub {0}, 1", "jnz 2b", inout(reg) count => _, options(nomem, nostack))
    };
    // SAFETY: counts a register down to 0, and touches nothing else.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("2:", "subs {0}, {0}, #1", "b.ne 2b", inout(reg) count => _, options(nomem, nostack))
    };
}

/// The machine's settings let user space read the processor's counters.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn user_space_may_read() -> bool {
    let path = if cfg!(target_arch = "aarch64") {
        "/proc/sys/kernel/perf_user_access"
    } else {
        "/sys/bus/event_source/devices/cpu/rdpmc"
    };
    std::fs::read_to_string(path).is_ok_and(|text| matches!(text.trim(), "1" | "2"))
}

/// `instructions:u` alone, where it counts and user space may read it; else `None`, and why.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn read_directly() -> Option<Counters> {
    let (counters, notes) = Counters::open(&events(&["instructions:u"]));
    if counters.is_empty() {
        eprintln!("skipped: {}", said(&notes));
        return None;
    }
    assert_eq!(counters.system_calls(), usize::from(!user_space_may_read()), "system calls for a reading");
    if counters.system_calls() > 0 {
        eprintln!("skipped: user space may not read counters here");
        return None;
    }
    Some(counters)
}

#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn a_loop_counts_the_same_by_the_page_and_by_the_kernel() {
    const TURNS: u64 = 10_000;
    let _alone = alone();
    let Some(counters) = read_directly() else { return };
    let read = |by_page: bool| {
        let mut words = [0; 3];
        if by_page {
            counters.hardware.read_pages(&mut words).expect("the page tells");
        } else {
            counters.hardware.ask_kernel(&mut words);
        }
        words[2]
    };
    // The least of some: an interrupt may be counted.
    let least = |by_page: bool, count: u64| {
        let one = || {
            let before = read(by_page);
            turns(count);
            read(by_page) - before
        };
        (0..20).map(|_| one()).min().expect("some")
    };
    for by_page in [true, false] {
        let counted = least(by_page, 11 * TURNS) - least(by_page, TURNS);
        assert!(counted.abs_diff(20 * TURNS) <= 10, "{counted} by the page: {by_page}");
    }
}

/// By the counter itself: what one reading executes lies between two values.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn a_direct_reading_takes_few_instructions_beside_the_counters_own() {
    const MOST: u64 = 30;
    let _alone = alone();
    let Some(counters) = read_directly() else { return };
    let own = {
        let number = counters.hardware.counter_of_leader().expect("it is on a counter");
        let one = || {
            let before = Processor.counter(number);
            Some(Processor.counter(number)?.wrapping_sub(before?))
        };
        (0..20).filter_map(|_| one()).min().expect("there is an instruction")
    };
    let one = || {
        let (mut first, mut second) = ([0; 3], [0; 3]);
        counters.hardware.read_into(&mut first);
        counters.hardware.read_into(&mut second);
        second[2] - first[2]
    };
    let whole = (0..20).map(|_| one()).min().expect("some");
    println!("{whole} instructions for a reading, {own} of them for the counter alone");
    // With little optimisation, as the tests are built, on arm64. Without any nothing is inlined.
    assert!(cfg!(debug_assertions) || whole <= own + MOST, "{whole} instructions, {own} for the counter alone");
}

/// Where a PMU is: by our counters, by `perf stat` around the same process, and by what the loop is known to be.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn a_loop_of_known_length_counts_as_perf_stat_has_it() {
    /// So many that what else the process executes is far less than 1 %.
    const TURNS: u64 = 1_000_000_000;
    const CHILD: &str = "MPITRACE_TEST_COUNT_LOOP";
    let _alone = alone();
    let names = ["instructions:u", "branches:u"];
    if std::env::var_os(CHILD).is_some() {
        return println!("counted {}", counted(&names, || turns(TURNS)).expect("the parent could count")[0]);
    }
    let Some(values) = counted(&names, || turns(TURNS / 100)) else { return };
    let near = |value: u64, expected: u64| value.abs_diff(expected) <= expected / 100;
    assert!(near(values[0], TURNS / 50) && near(values[1], TURNS / 100), "{values:?}");
    let this = std::env::current_exe().unwrap();
    let test = "perf::machine_tests::a_loop_of_known_length_counts_as_perf_stat_has_it";
    let run = Command::new("perf")
        .args(["stat", "-x,", "-e", "instructions:u", "--"])
        .arg(this)
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, "1")
        .output();
    let Ok(run) = run else { return eprintln!("skipped in part: there is no perf to compare with") };
    let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let ours = stdout.split("counted ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let theirs =
        stderr.lines().find(|line| line.contains("instructions")).and_then(|line| line.split(',').next()?.parse().ok());
    let (Some(ours), Some(theirs)) = (ours, theirs) else { panic!("{stdout}\n{stderr}") };
    assert!(near(ours, theirs), "{ours} by us, {theirs} by perf stat");
}

/// The time stamp counter in the place of a counter: where there is no PMU, what the loop adds can still be measured.
struct Clock;

impl Instructions for Clock {
    fn counter(&self, _: u32) -> Option<u64> {
        Some(processor::ticks_in_order())
    }
}

/// Prints the cost of a reading beside the least possible one, as ratios.
#[test]
#[ignore = "measures, and asserts nothing; with --release and --nocapture"]
fn cost() {
    const READINGS: u32 = 20_000;
    let _alone = alone();
    let per_reading = |read: &mut dyn FnMut()| {
        let of_one_round = |read: &mut dyn FnMut()| {
            let begin = Instant::now();
            (0..READINGS).for_each(|_| read());
            begin.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
        };
        (0..15).map(|_| of_one_round(read)).fold(f64::INFINITY, f64::min)
    };
    let call = per_reading(&mut || {
        // SAFETY: has no preconditions.
        unsafe { libc::syscall(libc::SYS_getppid) };
    });
    println!("a system call that does nothing {call:.0} ns");
    let (page, clock) = (Page::default(), Clock);
    page.capabilities.store(capability::COUNTER, Ordering::Relaxed);
    page.counter_width.store(64, Ordering::Relaxed);
    page.index.store(1, Ordering::Relaxed);
    let bare = per_reading(&mut || {
        black_box(clock.counter(0));
    });
    let loops = per_reading(&mut || {
        black_box(event_page::read(black_box(&page), &clock));
    });
    println!(
        "the time stamp counter {bare:.1} ns; read as a counter by the page's loop {:.2} times that",
        loops / bare
    );
    for names in [
        &["page-faults"][..],
        &["page-faults", "context-switches", "cpu-migrations"],
        &["task-clock"],
        &["task-clock", "page-faults", "minor-faults", "major-faults", "context-switches", "cpu-migrations"],
        &["instructions:u"],
        &["instructions:u", "cycles:u", "branches:u"],
    ] {
        let (counters, notes) = Counters::open(&events(names));
        if counters.counted().count() < names.len() {
            println!("{}: skipped: {}", names.join(","), said(&notes));
            continue;
        }
        let mut reading = vec![0; counters.words()];
        let time = per_reading(&mut || counters.read_before(&mut reading));
        let calls = counters.system_calls();
        println!(
            "{}: {time:.0} ns, {calls} system calls, {:.2} times one that does nothing",
            names.join(","),
            time / call
        );
    }
}
