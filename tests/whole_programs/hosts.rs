//! Two hosts, each a network namespace with a name and a /dev/shm of its own, joined by TCP: tests/hosts/two.sh.

use crate::support::trace::Synchronised;
use crate::support::{Case, On, Test, root};
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("that_share_a_kernel_but_no_memory_have_a_clock_each", separate_memory)
        .on(On::Only(&["ompi4"]))
        .where_permitted(two_hosts),
    Test::new("with_simulated_clocks_are_synchronised_over_tcp", simulated)
        .on(On::Only(&["ompi4"]))
        .where_permitted(two_hosts),
];

/// A tenth of what the simulated clocks are apart, which no load of the machine comes near.
const WRONG_NS: f64 = 1e11;

/// One takes a millisecond where nothing else runs, and 60 to 120 on two processors beside a load of 12: both ranks have
/// to be on a processor for a message by TCP.
const CALLS: &str = "300";
const LIMIT: Duration = Duration::from_secs(600);

fn script() -> OsString {
    root().join("tests/hosts/two.sh").into()
}

fn two_hosts() -> Result<(), String> {
    let tried = Command::new(script()).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err("no network namespaces may be made here".to_owned()),
    }
}

fn synchronised(case: &Case, settings: &[(&str, &str)]) -> Synchronised {
    let launch = case.launch(2, "ticking.c").arg(CALLS).trace().set("MPITRACE_RESYNC", "0.05").within(LIMIT);
    // The second host cannot see the first one's /dev/shm.
    let launch = launch.set("MPITRACE_SEGMENT_DIR", "/dev/shm");
    let launch = settings.iter().fold(launch, |launch, (name, value)| launch.set(name, value));
    let outcome = launch.run_under(&[script()]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let hosts: Vec<_> = outcome.trace.info().hosts.into_iter().collect();
    assert_eq!(hosts, [("first".to_owned(), vec![0]), ("second".to_owned(), vec![1])]);
    let (code, clock) = outcome.trace.clock();
    assert_eq!(clock.domains, [vec![0], vec![1]], "{clock:?}");
    // No clock has stepped. What looks like it, where messages took other ways than those before, is small and a
    // finding.
    assert_eq!(code, i32::from(!clock.steps.is_empty()), "{clock:?}");
    assert!(clock.steps.iter().all(|step| step.size_ns.abs() < WRONG_NS), "{clock:?}");
    assert!(clock.synchronisations >= 3, "{clock:?}");
    assert!(clock.causality.checked > 0 && clock.causality.violated == 0, "{clock:?}");
    clock
}

/// They read one counter, but cannot show each other that they do.
fn separate_memory(case: &Case) {
    assert!(synchronised(case, &[]).error_ns.max.is_some_and(|error| error > 0.0));
}

fn simulated(case: &Case) {
    let clock = synchronised(case, &[("MPITRACE_TEST_CLOCK", "1:offset_ns=1e12,ppm=37")]);
    let truth = clock.truth.as_ref().unwrap_or_else(|| panic!("no truth in {clock:?}"));
    assert_eq!(truth.hard_bounds_held, Some(true), "{clock:?}");
    assert!(truth.rms_ns < WRONG_NS, "{clock:?}");
}
