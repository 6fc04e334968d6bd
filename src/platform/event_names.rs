//! From the name of an event, as perf and PAPI write it, to what the kernel is asked for.
//!
//! [`parse`] is the interface. Names are told apart without regard to capitals, as `perf` does for caches.

use crate::event_presets::{self, PRESETS, Preset};
use crate::perf::{self, RAW, SOFTWARE};
use crate::perf_event::{Encoding, Event};
use crate::suggest::distance;

/// The longest raw code: config is 64 bits wide.
const MOST_DIGITS: usize = 16;

/// The event of this name; else one clear sentence on what is wrong and what would be right.
///
/// After a colon `u` counts only while the program runs, `k` only while the kernel works for it, `uk` both, which is
/// what goes without saying but for the presets of PAPI (`u`).
pub fn parse(text: &str) -> Result<Event, String> {
    let (name, modifiers) = text.split_once(':').map_or((text, None), |(name, modifiers)| (name, Some(modifiers)));
    let domain = modifiers.map(|modifiers| domain(text, modifiers)).transpose()?;
    let (first, second) = match preset(name) {
        Some(preset) => preset_counts(text, preset, domain.unwrap_or((true, false)), event_presets::is_intel())?,
        None => (encoding(name, domain.unwrap_or((true, true)))?, None),
    };
    let event = Event { name: text.to_owned(), unit: unit(first), first, second };
    if event.encodings().any(|encoding| !encoding.kernel && encoding.is_of_kernel_only()) {
        return Err(format!("{text} would always be 0: it happens in the kernel; write {name}"));
    }
    Ok(event)
}

/// Every name that [`parse`] knows, but for raw codes.
pub fn known() -> impl Iterator<Item = String> {
    let presets = PRESETS.iter().map(|(name, _)| (*name).to_owned());
    perf::generic_names().chain(presets)
}

fn unit(first: Encoding) -> &'static str {
    match first {
        // The two clocks.
        Encoding { kind: SOFTWARE, config: 0 | 1, .. } => "ns",
        _ => "events",
    }
}

/// The program is counted, and the kernel is.
fn domain(text: &str, modifiers: &str) -> Result<(bool, bool), String> {
    if modifiers.is_empty() || modifiers.chars().any(|modifier| !matches!(modifier, 'u' | 'k')) {
        return Err(format!(
            "{text}: after the colon u (program), k (kernel) or uk (both) is expected, not {modifiers:?}"
        ));
    }
    Ok((modifiers.contains('u'), modifiers.contains('k')))
}

fn preset(name: &str) -> Option<Preset> {
    PRESETS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, preset)| *preset)
}

/// The counts of a preset: the first, and a second with whether it is taken off.
fn preset_counts(
    text: &str,
    preset: Preset,
    domain: (bool, bool),
    intel: bool,
) -> Result<(Encoding, Option<(Encoding, bool)>), String> {
    let count = |name: &str| encoding(name, domain);
    Ok(match preset {
        Preset::Is(name) => (count(name)?, None),
        Preset::LastLevel(on_intel, elsewhere) => (count(if intel { on_intel } else { elsewhere })?, None),
        Preset::Sum(first, second) => (count(first)?, Some((count(second)?, false))),
        Preset::Difference(first, second) => (count(first)?, Some((count(second)?, true))),
        Preset::Raw(codes) => {
            return Err(format!("{text}: no generic event counts this; give the processor's own code: {codes}"));
        }
    })
}

fn encoding(name: &str, (user, kernel): (bool, bool)) -> Result<Encoding, String> {
    let generic_or_raw = perf::generic(name).or_else(|| Some((RAW, raw(name)?)));
    let (kind, config) = generic_or_raw.ok_or_else(|| unknown(name))?;
    Ok(Encoding { kind, config, user, kernel })
}

/// `r` and hexadecimal digits.
fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(['r', 'R'])?;
    let whole = (1..=MOST_DIGITS).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    whole.then(|| u64::from_str_radix(digits, 16).ok())?
}

fn unknown(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let nearest = known().min_by_key(|known| distance(&lower, &known.to_ascii_lowercase())).unwrap_or_default();
    format!(
        "there is no event named {name}; the nearest is {nearest}; other events of the processor are named by their code, \
         as rXXXX"
    )
}

#[cfg(test)]
mod tests {
    use crate::perf::{CACHE, HARDWARE};

    use super::*;

    fn count(text: &str) -> (u32, u64, bool, bool) {
        let Event { first: Encoding { kind, config, user, kernel }, second, .. } = parse(text).expect(text);
        assert_eq!(second, None, "{text}");
        (kind, config, user, kernel)
    }

    #[test]
    fn names_of_perf_have_the_encodings_of_the_kernel() {
        assert_eq!(count("cycles"), (HARDWARE, 0, true, true));
        assert_eq!(count("cpu-cycles"), count("CYCLES"));
        assert_eq!(count("ref-cycles"), (HARDWARE, 9, true, true));
        assert_eq!(count("cs"), (SOFTWARE, 3, true, true));
        assert_eq!(count("emulation-faults"), (SOFTWARE, 8, true, true));
        // As `perf stat -vv` shows their config.
        assert_eq!(count("L1-dcache-load-misses"), (CACHE, 0x10000, true, true));
        assert_eq!(count("LLC-store-misses"), (CACHE, 0x10102, true, true));
        assert_eq!(count("dTLB-prefetches"), (CACHE, 0x203, true, true));
        assert_eq!(count("L1-icache-load-misses"), (CACHE, 0x10001, true, true));
        assert_eq!(count("node-prefetch-misses"), (CACHE, 0x10206, true, true));
        assert_eq!(count("branch-loads"), (CACHE, 0x5, true, true));
        assert_eq!(count("r3f24"), (RAW, 0x3f24, true, true));
    }

    #[test]
    fn modifiers_choose_whose_code_is_counted() {
        assert_eq!(count("instructions:u"), (HARDWARE, 1, true, false));
        assert_eq!(count("r1c4:k"), (RAW, 0x1c4, false, true));
        assert_eq!(count("page-faults:uk"), (SOFTWARE, 2, true, true));
        assert!(parse("cycles:p").unwrap_err().contains("u (program)"));
        assert!(parse("cycles:").is_err());
        assert!(parse("context-switches:u").unwrap_err().contains("write context-switches"));
    }

    #[test]
    fn the_presets_of_the_thesis_are_events_or_say_which_code_would_do() {
        let table = ["L1_TCM", "L2_TCM", "L3_TCM", "L1_ICM", "L2_ICM", "L1_DCM", "L2_DCM", "BR_MSP", "BR_PRC"];
        for name in table.map(|name| format!("PAPI_{name}")) {
            match parse(&name) {
                Ok(event) => assert!(event.is_hardware() && event.encodings().all(|part| part.user && !part.kernel)),
                Err(reason) => assert!(name.contains("L2") && reason.contains("code: r"), "{reason}"),
            }
        }
        assert_eq!(count("PAPI_BR_MSP:uk"), count("branch-misses"));
        let branches = |config| Encoding { kind: HARDWARE, config, user: true, kernel: false };
        let correct = parse("PAPI_BR_PRC").unwrap();
        assert_eq!((correct.first, correct.second), (branches(4), Some((branches(5), true))));
    }

    #[test]
    fn the_third_level_is_never_another_one() {
        let preset = preset("PAPI_L3_TCM").unwrap();
        let [intel, elsewhere] =
            [true, false].map(|intel| preset_counts("PAPI_L3_TCM", preset, (true, true), intel).unwrap());
        let count = |name| (parse(name).unwrap().first, None);
        assert_eq!((intel, elsewhere), (count("cache-misses"), count("LLC-load-misses")));
    }

    #[test]
    fn every_known_name_is_an_event_or_a_preset_without_one() {
        for name in known() {
            assert!(parse(&name).is_ok() || matches!(preset(&name), Some(Preset::Raw(_))), "{name}");
        }
    }

    #[test]
    fn what_is_unknown_is_answered_with_the_nearest_name() {
        for (wrong, nearest) in [
            ("instuctions", "instructions"),
            ("L1-dcache-misses", "L1-dcache-load-misses"),
            ("PAPI_BR_MPS", "PAPI_BR_MSP"),
            ("context-switch", "context-switches"),
            ("task_clock", "task-clock"),
            ("", "cs"),
        ] {
            let reason = parse(wrong).unwrap_err();
            assert!(reason.contains(&format!("nearest is {nearest};")), "{wrong}: {reason}");
        }
        assert!(parse("rxyz").is_err() && parse("r").is_err() && parse("r10000000000000000").is_err());
        assert!(parse("ü:u").is_err());
    }

    #[test]
    fn clocks_are_in_nanoseconds_and_all_else_is_counted() {
        let unit = |name| parse(name).unwrap().unit;
        assert_eq!(
            [unit("task-clock"), unit("cpu-clock:u"), unit("cycles"), unit("faults")],
            ["ns", "ns", "events", "events"]
        );
    }
}
