//! More calls than the arrays hold, and calls that the program doesn't want recorded.

use crate::support::companion::{json, mpitrace};
use crate::support::{Case, On, Test, Trace, litter};

/// Open MPI 4.1 has no persistent collectives.
const PERSISTENT: On = On::Only(&["mpich4", "mpich5", "mpich5-abi", "ompi5", "impi", "impi-abi", "ompi6", "ompi6-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("paused_calls_are_counted_but_not_kept", paused),
    Test::new("a_sample_counts_all_calls_of_a_killed_rank", killed),
    Test::new("a_sample_has_the_same_repetitions_of_all_ranks_and_the_waiting_of_all_calls", sample),
    Test::new("a_sample_goes_on_where_the_output_would_be_too_large", sample_later),
    Test::new("a_sample_of_killed_ranks_has_all_calls_counted", sample_of_killed).second_tier(),
    Test::new("a_sample_counts_requests_until_they_are_complete", requests).on(PERSISTENT),
];

fn paused(case: &Case) {
    let trace = case.traced(2, "pcontrol.c");
    let info = trace.info();
    let operation = info.only("MPI_Allreduce");
    // Those that no rank kept are counted as incomplete.
    assert_eq!((operation.repetitions, operation.incomplete), (20, 10), "{operation:?}");
    for rank in 0..2 {
        assert_eq!(trace.repetitions(0, rank), ((0..10).chain(20..30).collect(), vec![]), "rank {rank}");
    }
    // They have no time stamps, so no histogram holds them.
    assert!(info.all_calls.iter().all(|all| all.timed == 0), "{:?}", info.all_calls);
}

/// The histograms lie in the trace buffer: a kill loses none of their content.
fn killed(case: &Case) {
    const CALLS: u64 = 20_000;
    let launch = case.launch(2, "fills.c").arg(CALLS.to_string()).arg("0").arg("death").arg("0");
    let launch = launch.set("MPITRACE_CAPACITY", "1000").set("MPITRACE_KEEP", "account");
    assert_ne!(launch.trace().run().code, 0);
    let info = case.recover().info();
    let found: Vec<_> = info.all_calls.iter().filter(|all| all.communicator == "MPI_COMM_SELF").collect();
    let [all] = found[..] else { panic!("not one operation: {:?}", info.all_calls) };
    assert_eq!((all.calls, all.kept + all.timed), (CALLS, CALLS));
    assert!(all.kept <= 1000 + 2 * 16 && all.per_rank[0].quantiles.len() == 7, "{all:?}");
    case.segments.empty();
}

/// Of non-blocking and persistent calls the time until they are found complete is counted.
fn requests(case: &Case) {
    let launch = || case.launch(2, "many_requests.c").arg("2000");
    let traced = launch().set("MPITRACE_CAPACITY", "100").set("MPITRACE_KEEP", "account").trace().run();
    traced.same_as(&launch().run());
    let info = traced.trace.info();
    for function in ["MPI_Iallreduce", "MPI_Allreduce_init"] {
        let all = info.all_calls.iter().find(|all| all.function == function);
        let all = all.unwrap_or_else(|| panic!("no {function}: {:?}", info.all_calls));
        assert_eq!((all.calls, all.kept + all.timed), (4000, 4000), "{function}");
        assert!(all.per_rank.iter().all(|rank| rank.quantiles.len() == 7), "{all:?}");
    }
}

/// Turns of sampled.c.
const TURNS: u64 = 3000;

/// Asserts that every call of sampled.c is counted, and that all ranks kept the same ones: so many records at most.
#[track_caller]
fn assert_is_sample(trace: &Trace, most: u64) {
    let info = trace.info();
    assert!(info.records <= most, "{} records", info.records);
    for (function, calls) in [("MPI_Allreduce", TURNS), ("MPI_Bcast", TURNS), ("MPI_Ibarrier", TURNS / 10)] {
        let operation = info.only(function);
        assert_eq!(operation.repetitions + operation.incomplete, calls, "{operation:?}");
        let all = info.all_calls.iter().find(|all| all.function == function).expect("calls that are not kept");
        assert_eq!((all.calls, all.kept + all.timed), (2 * calls, 2 * calls), "{all:?}");
        // Of a pair of ranks whose levels differ by one, half of those that one keeps.
        let kept = [all.per_rank[0].kept, all.per_rank[1].kept];
        assert!(operation.repetitions > 0 && operation.repetitions + 2 >= *kept.iter().min().unwrap(), "{all:?}");
        for rank in &all.per_rank {
            assert_eq!((rank.calls, rank.kept + rank.timed), (calls, calls), "{rank:?}");
            let quantiles: Vec<f64> = rank.quantiles.iter().map(|quantile| quantile.value_ns).collect();
            assert!(quantiles.len() == 7 && quantiles[0] > 0.0 && quantiles.is_sorted(), "{rank:?}");
        }
    }
}

/// Runs sampled.c with these variables until the waiting lies in the interval that `summary` states, which has 99 %: a
/// few tries. The ranks' own readings lie some 50 ns beside those of the tracer, between which they may be interrupted,
/// and what they waited in Ibarriers is in the interval only.
#[track_caller]
fn assert_waiting(case: &Case, variables: &[(&str, &str)]) -> Trace {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let launch = case.launch(2, "sampled.c").arg(TURNS.to_string()).trace();
        let outcome = variables.iter().fold(launch, |launch, (name, value)| launch.set(name, value)).run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let waited = outcome.stdout.split_whitespace().find_map(|word| word.parse::<f64>().ok()).expect("seconds");
        let summary = json(&mpitrace(&["summary".as_ref(), outcome.trace.path.as_os_str(), "--json".as_ref()]));
        let sample = &summary["sample"];
        let [least, most] = ["waiting_least_s", "waiting_most_s"].map(|key| sample[key].as_f64().expect("seconds"));
        let all = outcome.trace.all_calls("summary");
        let of = all.iter().find(|all| all.function == "MPI_Ibarrier").expect("calls that are not kept");
        let beside: f64 = of.per_rank.iter().map(|rank| rank.sum_ns / 1e9).sum();
        assert!(least < most, "{sample:#}");
        // Behind a sleep the tracer reads the kernel's counts of it between the two readings: some 25 µs.
        let readings = 2.0 * TURNS as f64 * 50e-9 + (TURNS / 8) as f64 * 30e-6;
        // Where other programs run it may be no more than that there was some.
        if 0.0 < least && (least - beside - readings - 0.05 * waited..=most + 0.05 * waited).contains(&waited) {
            return outcome.trace;
        }
        seen.push((least, waited, most, beside));
    }
    panic!("waiting is not in its interval: {seen:?}");
}

fn sample(case: &Case) {
    let trace = assert_waiting(case, &[("MPITRACE_KEEP", "account")]);
    assert_is_sample(&trace, 2 * 1024);
    // A fixed size, but for the texts about the run.
    let bytes = std::fs::metadata(&trace.path).unwrap().len();
    assert!(bytes < 256 << 10, "{bytes} bytes");
    for command in ["info", "stats", "summary", "diagnose", "dump", "categorize"] {
        let shown = mpitrace(&[command.as_ref(), trace.path.as_os_str()]);
        let said = format!("{}{}", shown.stdout, shown.stderr);
        assert!(shown.code < 2 && said.contains("sample"), "{command}: {said}");
    }
}

fn sample_later(case: &Case) {
    let trace = assert_waiting(case, &[("MPITRACE_CAPACITY", "2048"), ("MPITRACE_OUTPUT_MAX", "6000")]);
    assert_is_sample(&trace, 2 * 6000);
    // The first ones are whole.
    let (numbers, _) = trace.repetitions(trace.info().only("MPI_Allreduce").operation, 0);
    let whole = (0..).zip(&numbers).take_while(|(place, number)| place == *number).count();
    assert!((500..TURNS as usize * 2 / 3).contains(&whole), "{whole} of {}", numbers.len());
}

fn sample_of_killed(case: &Case) {
    let launch = case.launch(2, "sampled.c").arg(TURNS.to_string()).arg("kill");
    assert_ne!(launch.set("MPITRACE_KEEP", "account").trace().run().code, 0);
    litter::sweep();
    assert_is_sample(&case.recover_soon(), 2 * 1024);
}
