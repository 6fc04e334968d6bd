//! The list of sources of counters, and what is done with all of them. Sources are called by their types, without a
//! table of functions.

use std::ops::Range;
use std::sync::OnceLock;

use mpitrace_format::layout::CounterEntry;

use super::message_counters::MessageCounters;
use super::mpi_t::Variables;
use super::p2p_time::P2pTime;
use super::perf::Events;
use super::source::{At, Counter, Named, Plan, Source, When};
use super::user_counters::UserCounters;
use crate::record::entry::Entry;

/// One source on one thread, with room for its readings.
pub struct Opened<S> {
    pub(super) source: S,
    pub(super) before: Box<[u64]>,
    pub(super) after: Box<[u64]>,
}

impl<S: Source> Opened<S> {
    pub(super) fn new() -> Opened<S> {
        let source = S::open();
        let room = || vec![0; if S::WHEN == When::AtStart { 0 } else { source.words() }].into_boxed_slice();
        Opened { before: room(), after: room(), source }
    }
}

/// Has a source that is read around calls read, where it has anything to read.
#[inline(always)]
pub(super) fn read<S: Source>(source: &S, reading: &mut [u64], how: impl FnOnce(&S, &mut [u64])) {
    if S::WHEN != When::AtStart && !reading.is_empty() {
        how(source, reading);
    }
}

/// Makes the functions that go by the list of sources. Their columns come in this order; before a call they are read
/// from the last to the first, after it from the first to the last, so that what the first one counts holds nothing of
/// the other readings.
macro_rules! sources {
    ($($name:ident: $source:ty;)*) => {
        /// What was asked for, of each source.
        #[derive(Clone, Debug, Default)]
        pub struct Wanted { $(pub $name: <$source as Source>::Wanted,)* }

        /// What was planned, of each source.
        #[derive(Debug, Default)]
        pub struct Planned { $($name: Plan,)* }

        /// The columns of each source.
        #[derive(Debug, Default)]
        pub struct Columns { $($name: Range<usize>,)* }

        /// All sources, open on one thread.
        pub struct Sources { $($name: Opened<$source>,)* }

        /// What all sources stood at at one moment.
        pub struct Reading { $($name: Box<[u64]>,)* }

        impl Wanted {
            /// Adds what a name stands for; else a sentence.
            pub fn add(&mut self, name: &str) -> Result<(), String> {
                let mut wrong = format!("{name} is not a counter");
                $({
                    match <$source>::want(&mut self.$name, name) {
                        Named::Mine => return Ok(()),
                        Named::NotMine => {}
                        Named::Wrong(what) => wrong = what,
                    }
                })*
                Err(wrong)
            }

            /// What of it can be had, in so many columns.
            pub fn plan(&self, mut room: usize) -> Planned {
                let mut planned = Planned::default();
                $({
                    planned.$name = <$source>::plan(&self.$name, room);
                    room = room.saturating_sub(planned.$name.counters.len());
                })*
                let _ = room;
                planned
            }
        }

        impl Planned {
            /// How many columns they take.
            pub fn columns(&self) -> usize {
                let mut columns = 0;
                $({ columns += self.$name.counters.len(); })*
                columns
            }

            /// How many counters are not there.
            #[cfg(test)]
            pub fn left_out(&self) -> usize {
                let mut left_out = 0;
                $({ left_out += self.$name.left_out.len(); })*
                left_out
            }

            /// What is to be said, a sentence each.
            pub fn notes(&self) -> Vec<&str> {
                let mut notes = Vec::new();
                $({ notes.extend(self.$name.notes.iter().map(String::as_str)); })*
                notes
            }

            /// Starts them. `enter` adds a counter to the table, with the number of its column from 1 (0: it is left
            /// out). Whether there is anything to do when a call begins, and around it.
            pub fn start(
                &self,
                mut enter: impl FnMut(&Counter, usize) -> Option<Entry<CounterEntry>>,
            ) -> (bool, bool) {
                let (mut columns, mut next) = (Columns::default(), 0);
                let (mut at_start, mut around) = (false, false);
                $({
                    let plan = &self.$name;
                    columns.$name = next..next + plan.counters.len();
                    next += plan.counters.len();
                    let counters = plan.counters.iter().zip(columns.$name.clone());
                    let entries: Vec<_> = counters.map(|(counter, column)| enter(counter, column + 1)).collect();
                    for counter in &plan.left_out {
                        enter(counter, 0);
                    }
                    <$source>::start(&entries);
                    if !plan.counters.is_empty() {
                        match <$source as Source>::WHEN {
                            When::AtStart => at_start = true,
                            _ => around = true,
                        }
                    }
                })*
                debug_assert!(next <= crate::counters::source::MOST);
                let _ = COLUMNS.set(columns);
                (at_start, around)
            }
        }

        static COLUMNS: OnceLock<Columns> = OnceLock::new();

        /// Takes what has come together, and gives it to `store` by column.
        pub fn take(mut store: impl FnMut(usize, u64)) {
            let Some(columns) = COLUMNS.get() else { return };
            $({
                if <$source as Source>::WHEN == When::AtStart {
                    let mut values = [0; crate::counters::source::MOST];
                    let values = &mut values[..columns.$name.len()];
                    <$source>::take(values);
                    columns.$name.clone().zip(values).for_each(|(column, value)| store(column, *value));
                }
            })*
        }

        /// The columns of what is known at the start of a call.
        pub fn columns_at_start() -> Vec<usize> {
            let mut all = Vec::new();
            if let Some(columns) = COLUMNS.get() {
                $({
                    if <$source as Source>::WHEN == When::AtStart {
                        all.extend(columns.$name.clone());
                    }
                })*
            }
            all
        }

        /// The run ends: what there is to say.
        pub fn finish() -> Vec<&'static str> {
            let mut said = Vec::new();
            $({ said.extend(<$source>::finish()); })*
            said
        }

        impl Sources {
            /// Opens them for the calling thread.
            pub fn open() -> Sources {
                Sources { $($name: Opened::new(),)* }
            }

            /// Room for a reading, of zeros.
            pub fn reading(&self) -> Reading {
                Reading { $($name: vec![0; self.$name.before.len()].into(),)* }
            }

            /// Reads before the call in progress.
            #[inline(always)]
            pub fn before(&mut self, at: At) {
                sources!(@reversed [] $({
                    let Opened { source, before, .. } = &mut self.$name;
                    read::<$source>(source, before, |source, reading| source.before(at, reading));
                })*);
            }

            /// Reads before something else, a region for one.
            pub fn before_into(&self, at: At, reading: &mut Reading) {
                sources!(@reversed [] $({
                    read::<$source>(&self.$name.source, &mut reading.$name, |source, reading| source.before(at, reading));
                })*);
            }

            /// Reads after the call.
            #[inline(always)]
            pub fn after(&mut self, at: At) {
                $({
                    let Opened { source, after, .. } = &mut self.$name;
                    read::<$source>(source, after, |source, reading| source.after(at, reading));
                })*
            }

            /// The values of the call in progress, or between another reading and the one after: `store` gets them by
            /// column, and `store_on_demand` those of code inside the stack by slot.
            #[inline(always)]
            pub fn values(
                &self,
                since: Option<&Reading>,
                values: &mut [u64],
                mut store: impl FnMut(usize, u64),
                mut store_on_demand: impl FnMut(usize, u64),
            ) {
                let Some(columns) = COLUMNS.get() else { return };
                let _ = columns;
                $({
                    let Opened { source, before, after } = &self.$name;
                    let before = since.map_or(before, |since| &since.$name);
                    match <$source as Source>::WHEN {
                        When::AtStart => {}
                        When::Around if columns.$name.is_empty() => {}
                        When::Around => {
                            let values = &mut values[..columns.$name.len()];
                            source.values(before, after, values);
                            columns.$name.clone().zip(values).for_each(|(column, value)| store(column, *value));
                        }
                        When::AroundOnDemand => {
                            let stored = source.values(before, after, values);
                            values[..stored].iter().enumerate().for_each(|(slot, value)| store_on_demand(slot, *value));
                        }
                    }
                })*
            }
        }
    };

    (@reversed [$($done:tt)*]) => { $($done)* };
    (@reversed [$($done:tt)*] {$($first:tt)*} $($rest:tt)*) => {
        sources!(@reversed [{$($first)*} $($done)*] $($rest)*)
    };
}

#[cfg(test)]
pub(super) use sources;

// The list.
sources! {
    messages: MessageCounters;
    p2p_time: P2pTime;
    events: Events;
    user: UserCounters;
    variables: Variables;
}
