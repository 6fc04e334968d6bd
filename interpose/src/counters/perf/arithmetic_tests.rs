//! The arithmetic of direct reading against a model in 128 bits: counters of every width that start below 0 and wrap,
//! and events that lose their counter and get another one.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::base::event_page::PageReading;
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
            let expected = PageReading { count: model.count, times: 0 };
            prop_assert_eq!(machine.read(), Some(expected), "after step {}: {:?}", number, step);
            prop_assert_eq!(machine.read_count(), Some(model.count), "after step {}: {:?}", number, step);
        }
    }
}
