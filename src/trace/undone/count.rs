//! The messages, or the receives, of one pair of ranks.

use std::collections::BTreeSet;

use mpitrace_functions::types::classes;

use crate::operations::CallSite;
use crate::reader::Part;

/// Messages or receives of one pair of ranks.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    pub(super) number: u64,
    /// A set of `mpitrace_functions::types::class`.
    pub types: u16,
    /// The calls of the first ones: function, and with a blank the place.
    calls: BTreeSet<String>,
}

impl Count {
    /// The functions of the first ones.
    pub(super) fn functions(&self) -> BTreeSet<String> {
        self.calls.iter().filter_map(|call| Some(call.split(' ').next()?.to_owned())).collect()
    }

    /// Where these were called.
    pub(super) fn call_sites(&self) -> Vec<CallSite> {
        self.calls.iter().filter_map(|call| CallSite::parse(call.split_once(' ')?.1)).collect()
    }

    pub(super) fn join(&mut self, other: &Count) {
        self.number = self.number.saturating_add(other.number);
        self.types |= other.types;
        self.calls.extend(other.calls.iter().cloned());
    }

    pub(super) fn add(&mut self, part: &Part, number: u64, types: u16, function: u32) {
        if number > 0 {
            self.number = self.number.saturating_add(number);
            // A trace may have no types.
            self.types |= if types == 0 { classes::OTHER } else { types };
            self.calls.extend(part.text(function));
        }
    }
}
