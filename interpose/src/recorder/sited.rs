//! The name of an MPI function with the place in the program that calls it behind it, as one string of the trace.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::call_sites::call_site::{self, Number};
use crate::operation::registry;
use crate::record::thread;

/// By the number of the place: the reference of the function's name, and in the low half that of both. A place calls
/// one function, but for a pointer to several.
static NAMES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// The reference of this name with the place of this number; of the name alone where that is not known.
pub fn name(function: u32, site: Number) -> u32 {
    let slot = NAMES.get(site as usize);
    let kept = slot.map_or(0, |slot| slot.load(Ordering::Relaxed));
    if (kept >> 32) as u32 == function && kept != 0 {
        return kept as u32;
    }
    let Some(text) = call_site::text(site) else { return function };
    let named = || {
        let mut registry = registry::lock()?;
        let text = format!("{} {text}", registry.live.text(function));
        Some(registry.string(&text)).filter(|text| *text != 0)
    };
    let Some(named) = thread::catch_panic(named) else { return function };
    if let Some(slot) = slot {
        slot.store(u64::from(function) << 32 | u64::from(named), Ordering::Relaxed);
    }
    named
}
