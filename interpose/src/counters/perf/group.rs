//! A group of events that counts the calling thread, and how it is read: by its pages where all of them allow it, else
//! with one system call.

use std::cell::Cell;
use std::ffi::c_int;

use mpitrace_platform::perf::MappedPage;
use mpitrace_platform::perf_event::Event;

use crate::base::event_page::{self, Instructions};
use crate::base::processor;
use crate::base::{descriptor, event};
use crate::counters::perf::opening::{self, Column, Note};
use crate::counters::perf::system::{self, Kernel};

/// The processor that the thread runs on.
pub struct Processor;

impl Instructions for Processor {
    #[inline(always)]
    fn counter(&self, number: u32) -> Option<u64> {
        processor::performance_counter(number)
    }
}

/// Words of a reading before the counts: time enabled and time running, ns.
const TIMES: usize = 2;

/// The first word of a reading that could not be made: the program has closed our descriptors.
const UNREADABLE: u64 = u64::MAX;

/// How much the values of one reading to the next can be trusted; the worse the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// Counted all the time.
    Exact,
    /// Counted a part of the time, and scaled up to the whole.
    Scaled,
    /// Not counted at all: the values are left as they are.
    Silent,
}

/// An open group. It belongs to the thread that opened it.
pub struct Group {
    /// Empty where nothing could be opened.
    pub(super) descriptors: Vec<c_int>,
    /// The kernel's number of each event; fewer where it does not tell one.
    ids: Vec<u64>,
    /// The leader's descriptor was found to be closed or the program's: it is not touched again.
    lost: Cell<bool>,
    /// One for each descriptor, or none at all.
    pub(super) pages: Vec<MappedPage>,
    columns: Vec<Column>,
}

impl Group {
    /// Opens those events of the list as one group; what cannot be opened is noted.
    pub fn open(events: &[(usize, &Event)]) -> (Group, Vec<Note>) {
        let opened = opening::open(&Kernel, events);
        let hardware = events.first().is_some_and(|(_, event)| event.is_hardware());
        let ids: Vec<u64> = opened.descriptors.iter().map_while(|&event| event::id(event)).collect();
        let lost = Cell::new(ids.len() < opened.descriptors.len());
        let mut group =
            Group { descriptors: opened.descriptors, ids, lost, pages: Vec::new(), columns: opened.columns };
        if hardware {
            // The page of a software event has no counter behind it, and its offset is not kept up to date.
            group.pages = group.descriptors.iter().map_while(|&event| MappedPage::new(event).ok()).collect();
            if !group.pages_agree() {
                group.pages.clear();
            }
        }
        (group, opened.notes)
    }

    pub fn words(&self) -> usize {
        if self.descriptors.is_empty() { 0 } else { TIMES + self.descriptors.len() }
    }

    /// The events that it counts, as places in the list.
    pub fn events(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.event)
    }

    /// The descriptor with this place is still that of our event.
    fn is_ours(&self, place: usize) -> bool {
        self.ids.get(place).is_some_and(|id| event::id(self.descriptors[place]) == Some(*id))
    }

    /// Stores the times and counts in `words`, which are as many as [`Group::words`] says.
    #[inline(always)]
    pub fn read_into(&self, words: &mut [u64]) {
        if self.read_pages(words).is_none() {
            self.ask_kernel(words);
        }
    }

    /// `None`: there are no pages or one does not tell, and `words` may be half written.
    #[inline(always)]
    pub(super) fn read_pages(&self, words: &mut [u64]) -> Option<()> {
        let [leader, members @ ..] = self.pages.as_slice() else { return None };
        let [enabled, running, first, others @ ..] = words else { return None };
        let reading = event_page::read(event_page::fields(leader), &Processor)?;
        (*enabled, *running, *first) = (reading.times, reading.times, reading.count);
        // The group is on its counters as a whole, so that the leader's times are those of all.
        let (mut members, mut others) = (members, others);
        while let ([member, more @ ..], [count, places @ ..]) = (members, others) {
            *count = event_page::count(event_page::fields(member), &Processor)?;
            (members, others) = (more, places);
        }
        Some(())
    }

    #[inline(never)]
    pub(super) fn ask_kernel(&self, words: &mut [u64]) {
        let (Some(&leader), Some((times, counts))) = (self.descriptors.first(), words.split_at_mut_checked(TIMES))
        else {
            return;
        };
        let Some(reading) = (!self.lost.get()).then(|| system::read(leader, Some(&self.ids))).flatten() else {
            self.lost.set(true);
            times.fill(UNREADABLE);
            return;
        };
        times.copy_from_slice(&[reading.enabled, reading.running]);
        for (count, read) in counts.iter_mut().zip(reading.counts) {
            *count = read;
        }
    }

    /// Every event has a page, and its count lies between those that the kernel tells before and after. Where
    /// it does not (user space must not read counters, or a virtual machine has them wrong), pages are no use.
    fn pages_agree(&self) -> bool {
        let mut readings = [const { [0u64; TIMES + system::MOST] }; 3];
        let words = self.words();
        if words == 0 || self.pages.len() != self.descriptors.len() {
            return false;
        }
        let [before, between, after] = &mut readings;
        self.ask_kernel(&mut before[..words]);
        let told = self.read_pages(&mut between[..words]).is_some();
        self.ask_kernel(&mut after[..words]);
        told && (TIMES..words).all(|word| (before[word]..=after[word]).contains(&between[word]))
    }

    /// Stores what came together between two readings in `values`, at the places of the events in the list.
    #[inline(always)]
    pub fn difference(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> Quality {
        if self.columns.is_empty() {
            return Quality::Exact;
        }
        let since = |word: usize| match (before.get(word), after.get(word)) {
            (Some(before), Some(after)) => after.wrapping_sub(*before),
            _ => 0,
        };
        let unreadable = [before, after].iter().any(|words| words.first().is_none_or(|&word| word == UNREADABLE));
        // A reading that is missing is as good as a group that did not run.
        let (enabled, running) = if unreadable { (UNREADABLE, 0) } else { (since(0), since(1)) };
        if running == 0 && enabled != 0 {
            return Quality::Silent;
        }
        let scale = |count: u64| match enabled == running {
            true => count,
            false => u64::try_from(u128::from(count) * u128::from(enabled) / u128::from(running)).unwrap_or(u64::MAX),
        };
        for column in &self.columns {
            let first = since(TIMES + column.first);
            let value = match column.second {
                None => first,
                Some((second, false)) => first.wrapping_add(since(TIMES + second)),
                // Two counters are not read at one and the same time: the part may seem larger than the whole.
                Some((second, true)) => first.saturating_sub(since(TIMES + second)),
            };
            if let Some(place) = values.get_mut(column.event) {
                *place = scale(value);
            }
        }
        if enabled == running { Quality::Exact } else { Quality::Scaled }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.pages.clear();
        // The leader last: a group whose leader has gone falls apart into single events.
        for place in (0..self.descriptors.len()).rev() {
            if self.is_ours(place) {
                descriptor::close(self.descriptors[place]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A group with two counts that make three values, and nothing open.
    fn group() -> std::mem::ManuallyDrop<Group> {
        let column = |event, first, second| Column { event, first, second };
        let columns = vec![column(2, 0, None), column(0, 0, Some((1, false))), column(1, 0, Some((1, true)))];
        std::mem::ManuallyDrop::new(Group {
            descriptors: vec![-1, -1],
            ids: Vec::new(),
            lost: Cell::new(false),
            pages: Vec::new(),
            columns,
        })
    }

    #[test]
    fn counts_become_the_values_of_their_events_in_the_order_of_the_list() {
        let mut values = [0; 3];
        let quality = group().difference(&[50, 50, 10, 100], &[60, 60, 17, 104], &mut values);
        assert_eq!((quality, values), (Quality::Exact, [11, 3, 7]));
    }

    #[test]
    fn what_was_counted_half_of_the_time_is_doubled_and_said_to_be() {
        let mut values = [0; 3];
        let quality = group().difference(&[1000, 400, 5, 0], &[2000, 900, 105, 1], &mut values);
        assert_eq!((quality, values), (Quality::Scaled, [202, 198, 200]));
        let large = [1 << 63, 1 << 62, 1 << 62, 0];
        assert_eq!(group().difference(&[0; 4], &large, &mut values), Quality::Scaled);
        assert_eq!(values[2], 1 << 63, "no overflow on the way");
    }

    #[test]
    fn a_call_during_which_others_had_the_counters_is_silent_and_not_a_division_by_zero() {
        let mut values = [9; 3];
        let quality = group().difference(&[1000, 400, 5, 7], &[2000, 400, 5, 7], &mut values);
        assert_eq!((quality, values), (Quality::Silent, [9; 3]));
    }

    #[test]
    fn readings_that_could_not_be_made_are_silent() {
        let (good, bad) = ([1, 1, 5, 7], [UNREADABLE, UNREADABLE, 5, 7]);
        for (before, after) in [(&good, &bad), (&bad, &good), (&bad, &bad)] {
            let mut values = [9; 3];
            assert_eq!((group().difference(before, after, &mut values), values), (Quality::Silent, [9; 3]));
        }
    }

    #[test]
    fn a_difference_of_two_counters_is_never_negative() {
        let mut values = [0; 3];
        group().difference(&[0, 0, 0, 0], &[1, 1, 3, 5], &mut values);
        assert_eq!(values[1], 0);
    }

    proptest! {
        /// Counts begin anywhere, also short of the largest number. What was counted for a part of the time is scaled
        /// up, never down, and exactly in 128 bits.
        #[test]
        fn what_was_counted_is_scaled_as_in_128_bits(
            begin: [u64; 4], count in 0..1u64 << 62, other in 0..1u64 << 62, running in 0..1u64 << 60, not in 0..1u64 << 60,
        ) {
            let enabled = running + not;
            let more = [enabled, running, count, other];
            let after: Vec<u64> = begin.iter().zip(more).map(|(begin, more)| begin.wrapping_add(more)).collect();
            // The first word says whether the reading could be made.
            prop_assume!(begin[0] != UNREADABLE && after[0] != UNREADABLE);
            let mut values = [9; 3];
            let quality = group().difference(&begin, &after, &mut values);
            if running == 0 && not > 0 {
                prop_assert_eq!((quality, values), (Quality::Silent, [9; 3]));
                return Ok(());
            }
            prop_assert_eq!(quality, if not == 0 { Quality::Exact } else { Quality::Scaled });
            let scaled = |count: u64| {
                let value = u128::from(count) * u128::from(enabled) / u128::from(running.max(1));
                if not == 0 { count } else { u64::try_from(value).unwrap_or(u64::MAX) }
            };
            let expected = [count + other, count.saturating_sub(other), count].map(scaled);
            prop_assert_eq!(values, expected);
            prop_assert!(values[2] >= count);
        }
    }
}
