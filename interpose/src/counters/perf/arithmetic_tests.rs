//! The arithmetic of direct reading against a model in 128 bits: counters of every width that start below 0 and wrap,
//! events that lose their counter and get another one, and the clock of the page.

use std::sync::atomic::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::base::event_page::{PageReading, capability};
use crate::base::event_page_tests::Machine;

/// A change of the event between two readings. Numbers are brought into their range by the model.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The event happens so often, if it is on a counter.
    Counts(u64),
    /// It goes onto this counter, so far below the overflow. The kernel does the same after an overflow.
    Scheduled(usize, u64),
    /// It leaves its counter.
    Descheduled,
}

fn step() -> impl Strategy<Value = Step> {
    // Small numbers and those at the edges of a width matter as much as all others together.
    let number = prop_oneof![
        0..1000u64,
        any::<u64>(),
        (0..64u32, 0..3u64).prop_map(|(bit, less)| (1u64 << bit) - less.min(1 << bit))
    ];
    prop_oneof![
        4 => number.clone().prop_map(Step::Counts),
        2 => (0..4usize, number).prop_map(|(counter, left)| Step::Scheduled(counter, left)),
        1 => Just(Step::Descheduled),
    ]
}

/// The event as it is: how often it has happened, and the counter that it is on with that counter's value as the kernel
/// understands it.
struct Model {
    width: u32,
    count: u64,
    place: Option<(usize, i128)>,
}

impl Model {
    /// A counter's values lie between `-half` and `half - 1`: the kernel sees to it by interrupts.
    fn half(&self) -> i128 {
        1 << (self.width - 1)
    }

    fn apply(&mut self, step: Step, machine: &Machine) {
        match (step, self.place) {
            (Step::Counts(more), Some((counter, value))) => {
                let more = more % ((self.half() - 1 - value) as u64).saturating_add(1);
                machine.count(counter, more);
                self.count = self.count.wrapping_add(more);
                self.place = Some((counter, value + i128::from(more)));
            }
            (Step::Scheduled(counter, left), _) => {
                let left = left % (self.half() as u64 + 1);
                machine.schedule(self.count, counter, left);
                self.place = Some((counter, -i128::from(left)));
            }
            (Step::Descheduled, Some(_)) => {
                machine.deschedule(self.count);
                self.place = None;
            }
            (Step::Counts(_) | Step::Descheduled, None) => {}
        }
    }
}

proptest! {
    #[test]
    fn every_reading_is_the_count_of_the_model(width in 32..=64u32, first: u64, steps in vec(step(), 1..60)) {
        let machine = Machine::new(width);
        machine.deschedule(first);
        let mut model = Model { width, count: first, place: None };
        for (number, step) in steps.into_iter().enumerate() {
            model.apply(step, &machine);
            let expected = PageReading { count: model.count, enabled: 0, running: 0 };
            prop_assert_eq!(machine.read(), Some(expected), "after step {}: {:?}", number, step);
            prop_assert_eq!(machine.read_count(), Some(model.count), "after step {}: {:?}", number, step);
        }
    }

    #[test]
    fn the_time_since_the_page_was_written_is_that_of_128_bits(
        ticks: u64, mult in 1..=u32::MAX, shift in 0..=32u16, offset: u64, running in 0..1u64 << 50, more in 1..1u64 << 50,
        on_counter: bool,
    ) {
        let machine = Machine::new(48);
        machine.page.capabilities.fetch_or(capability::TIME, Ordering::Relaxed);
        if on_counter {
            machine.schedule(7, 1, 1 << 40);
        } else {
            machine.deschedule(7);
        }
        machine.update(|page| {
            page.time_mult.store(mult, Ordering::Relaxed);
            page.time_shift.store(shift, Ordering::Relaxed);
            page.time_offset.store(offset, Ordering::Relaxed);
            page.time_running.store(running, Ordering::Relaxed);
            page.time_enabled.store(running + more, Ordering::Relaxed);
        });
        machine.set_ticks(ticks);
        let since = offset.wrapping_add(((u128::from(ticks) * u128::from(mult)) >> shift) as u64);
        let expected = PageReading {
            count: 7,
            enabled: (running + more).wrapping_add(since),
            running: running.wrapping_add(if on_counter { since } else { 0 }),
        };
        prop_assert_eq!(machine.read(), Some(expected));
    }

    /// The register's upper bits may hold anything.
    #[test]
    fn a_clock_with_few_bits_goes_on_where_it_wraps(
        bits in 32..=62u32, last in 0..1u64 << 63, since: u64, above: u64, mult in 1..1000u32, shift in 0..=10u16,
    ) {
        let mask = (1u64 << bits) - 1;
        let now = last + (since & mask) % (mask >> 1);
        let machine = Machine::new(64);
        machine.page.capabilities.fetch_or(capability::TIME | capability::SHORT_TIME, Ordering::Relaxed);
        machine.update(|page| {
            page.time_enabled.store(1, Ordering::Relaxed);
            page.time_mult.store(mult, Ordering::Relaxed);
            page.time_shift.store(shift, Ordering::Relaxed);
            page.time_cycles.store(last, Ordering::Relaxed);
            page.time_mask.store(mask, Ordering::Relaxed);
        });
        machine.set_ticks((now & mask) | (above & !mask));
        let since = ((u128::from(now) * u128::from(mult)) >> shift) as u64;
        let expected = PageReading { count: 0, enabled: since.wrapping_add(1), running: 0 };
        prop_assert_eq!(machine.read(), Some(expected));
    }
}
