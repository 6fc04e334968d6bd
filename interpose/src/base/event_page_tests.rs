//! The loop that reads a counter's page, on pages that play the kernel's part.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use crate::base::event_page::{self, Instructions, Page, PageReading, capability, read};

/// A processor with four counters, and the page of the one event that they count.
pub(crate) struct Machine {
    pub(crate) page: Page,
    counters: [AtomicU64; 4],
    width: u32,
}

impl Machine {
    pub(crate) fn new(width: u32) -> Machine {
        let machine = Machine { page: Page::default(), counters: Default::default(), width };
        machine.page.capabilities.store(capability::COUNTER, Ordering::Relaxed);
        machine.page.counter_width.store(width as u16, Ordering::Relaxed);
        machine
    }

    fn mask(&self) -> u64 {
        if self.width == 64 { u64::MAX } else { (1 << self.width) - 1 }
    }

    /// Changes the page as the kernel does.
    pub(crate) fn update(&self, change: impl FnOnce(&Page)) {
        let lock = self.page.lock.load(Ordering::Relaxed);
        self.page.lock.store(lock.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        change(&self.page);
        fence(Ordering::SeqCst);
        self.page.lock.store(lock.wrapping_add(2), Ordering::Release);
    }

    /// The event, which has come to `count`, goes onto this counter, `left` below its overflow; the counter that it had
    /// is taken by another event.
    pub(crate) fn schedule(&self, count: u64, counter: usize, left: u64) {
        self.update(|page| {
            let old = page.index.load(Ordering::Relaxed);
            if old != 0 {
                self.counters[old as usize - 1].store(0x1234_5678_9abc & self.mask(), Ordering::SeqCst);
            }
            // x86_perf_event_set_period: prev_count = -left; the page's offset is count - prev_count.
            let previous = left.cast_signed().wrapping_neg();
            self.counters[counter].store(previous.cast_unsigned() & self.mask(), Ordering::SeqCst);
            page.offset.store(count.cast_signed().wrapping_sub(previous), Ordering::Relaxed);
            page.index.store(counter as u32 + 1, Ordering::Relaxed);
        });
    }

    /// The event leaves its counter.
    pub(crate) fn deschedule(&self, count: u64) {
        self.update(|page| {
            page.index.store(0, Ordering::Relaxed);
            page.offset.store(count.cast_signed(), Ordering::Relaxed);
        });
    }

    /// The event happens so often.
    pub(crate) fn count(&self, counter: usize, more: u64) {
        let raw = self.counters[counter].load(Ordering::SeqCst);
        self.counters[counter].store(raw.wrapping_add(more) & self.mask(), Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> Option<PageReading> {
        read(&self.page, self)
    }

    /// As a member of a group is read.
    pub(crate) fn read_count(&self) -> Option<u64> {
        event_page::count(&self.page, self)
    }
}

impl Instructions for Machine {
    fn counter(&self, number: u32) -> Option<u64> {
        Some(self.counters.get(number as usize)?.load(Ordering::SeqCst))
    }
}

/// A machine on which something happens between the loop's look at the page and its look at the counter.
struct Interrupted<'a, F: Fn(&Machine)> {
    machine: &'a Machine,
    interrupt: F,
    /// How often it is to happen.
    times: Cell<usize>,
}

impl<F: Fn(&Machine)> Instructions for Interrupted<'_, F> {
    fn counter(&self, number: u32) -> Option<u64> {
        if let Some(left) = self.times.get().checked_sub(1) {
            self.times.set(left);
            (self.interrupt)(self.machine);
        }
        self.machine.counter(number)
    }
}

fn counted(reading: Option<PageReading>) -> u64 {
    reading.expect("the page tells").count
}

#[test]
fn counters_of_every_width_are_read_before_and_after_they_wrap() {
    for width in [32, 40, 48, 63, 64] {
        let machine = Machine::new(width);
        machine.schedule(5_000, 2, 100);
        assert_eq!(counted(machine.read()), 5_000, "{width} bits");
        machine.count(2, 99);
        assert_eq!(counted(machine.read()), 5_099, "{width} bits, all ones");
        machine.count(2, 1);
        assert_eq!(counted(machine.read()), 5_100, "{width} bits, wrapped to 0");
        machine.count(2, 1_000);
        assert_eq!(counted(machine.read()), 6_100, "{width} bits, beyond, the interrupt still to come");
        machine.schedule(6_100, 2, 1 << (width - 1));
        assert_eq!(counted(machine.read()), 6_100, "{width} bits, the farthest that the kernel goes below 0");
    }
}

#[test]
fn an_event_that_is_on_no_counter_has_the_count_that_the_page_tells() {
    let machine = Machine::new(48);
    machine.schedule(1 << 50, 1, 1 << 47);
    machine.count(1, 77);
    machine.deschedule((1 << 50) + 77);
    machine.counters.iter().for_each(|counter| counter.store(u64::MAX, Ordering::Relaxed));
    assert_eq!(counted(machine.read()), (1 << 50) + 77);
}

#[test]
fn a_migration_between_the_looks_at_page_and_counter_is_noticed() {
    let machine = Machine::new(40);
    machine.schedule(1_000, 0, 1 << 39);
    let interrupt = |machine: &Machine| machine.schedule(2_000, 3, 1 << 30);
    let interrupted = Interrupted { machine: &machine, interrupt, times: Cell::new(1) };
    assert_eq!(counted(read(&machine.page, &interrupted)), 2_000);
    // The same counter again on the other processor, with another start.
    let interrupt = |machine: &Machine| machine.schedule(3_000, 3, 500);
    let interrupted = Interrupted { machine: &machine, interrupt, times: Cell::new(2) };
    assert_eq!(counted(read(&machine.page, &interrupted)), 3_000);
    let interrupt = |machine: &Machine| machine.deschedule(4_000);
    let interrupted = Interrupted { machine: &machine, interrupt, times: Cell::new(1) };
    assert_eq!(counted(read(&machine.page, &interrupted)), 4_000);
}

#[test]
fn the_kernel_is_asked_where_the_page_does_not_come_to_rest_or_does_not_tell() {
    let machine = Machine::new(48);
    machine.schedule(1, 0, 1 << 47);
    let interrupt = |machine: &Machine| machine.schedule(2, 0, 1 << 47);
    let restless = Interrupted { machine: &machine, interrupt, times: Cell::new(usize::MAX) };
    assert_eq!(read(&machine.page, &restless), None);
    assert_eq!(event_page::count(&machine.page, &restless), None);
    machine.page.lock.fetch_add(1, Ordering::Relaxed);
    assert_eq!((machine.read(), machine.read_count()), (None, None), "the kernel is writing and does not end");
    machine.page.lock.fetch_add(1, Ordering::Relaxed);
    assert!(machine.read().is_some());
    machine.page.index.store(9, Ordering::Relaxed);
    assert_eq!(machine.read(), None, "no instruction reads such a counter");
    machine.deschedule(1);
    machine.schedule(1, 0, 1 << 47);
    machine.page.capabilities.store(capability::TIME, Ordering::Relaxed);
    assert_eq!((machine.read(), machine.read_count()), (None, None), "cap_user_rdpmc is not set");
}

#[test]
fn times_of_a_multiplexed_event_are_asked_of_the_kernel() {
    let machine = Machine::new(48);
    machine.schedule(600, 1, 1 << 47);
    machine.update(|page| {
        page.time_enabled.store(10_000, Ordering::Relaxed);
        page.time_running.store(4_000, Ordering::Relaxed);
    });
    assert_eq!(machine.read(), None, "the page alone does not know the time");
    assert_eq!(machine.read_count(), Some(600), "it is the leader whose times count");
    machine.update(|page| page.time_running.store(10_000, Ordering::Relaxed));
    assert_eq!(machine.read(), Some(PageReading { times: 10_000, count: 600 }));
}

#[test]
fn what_is_read_while_another_thread_changes_the_page_was_true_meanwhile() {
    /// How many changes the page goes through; the reader makes as many readings as it can.
    const CHANGES: u64 = 200_000;
    let machine = Machine::new(40);
    let (least, most, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    machine.schedule(0, 0, 1 << 39);
    let (mut readings, mut unread) = (0u64, 0u64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut count, mut place) = (0u64, Some(0usize));
            for change in 0..CHANGES {
                match (change % 7, place) {
                    // The event happens; often enough that counters wrap.
                    (0..=3, Some(counter)) => {
                        let more = change % 1_000;
                        most.store(count + more, Ordering::SeqCst);
                        machine.count(counter, more);
                        count += more;
                        least.store(count, Ordering::SeqCst);
                    }
                    (4, _) => {
                        let counter = (change % 4) as usize;
                        machine.schedule(count, counter, change % 5_000);
                        place = Some(counter);
                    }
                    (5, _) => {
                        machine.deschedule(count);
                        place = None;
                    }
                    _ => {}
                }
            }
            done.store(true, Ordering::SeqCst);
        });
        loop {
            let last = done.load(Ordering::SeqCst);
            let low = least.load(Ordering::SeqCst);
            let reading = machine.read();
            let high = most.load(Ordering::SeqCst);
            match reading {
                Some(reading) => {
                    assert!((low..=high).contains(&reading.count), "{} not in {low}..={high}", reading.count);
                    readings += 1;
                }
                None => unread += 1,
            }
            if last {
                break;
            }
        }
    });
    assert!(readings > 0, "{unread} without a result");
    assert_eq!(counted(machine.read()), least.load(Ordering::SeqCst));
}
