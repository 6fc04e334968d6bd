//! Jobs that run without the tracer: `mpitrace watch PID` names the MPI function of each rank, by its stack.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broken::{ALL, Broken, Expected, RankPlace, jobs, mpitrace, until_it_is_found};
use crate::support::process::{self, Running};
use crate::support::{Case, On, Test, companion, litter};

pub const TESTS: &[Test] = &[
    Test::new("ranks_are_named_with_their_functions", |case| all(case, &PROGRAMS[..2])).on(LIBRARIES),
    Test::new("ranks_of_hangs_are_named", |case| all(case, PROGRAMS)).on(LIBRARIES).second_tier(),
    Test::new("ranks_are_named_as_the_tracer_names_them", as_traced).on(LIBRARIES).second_tier(),
];

const LIBRARIES: On = On::Only(&["ompi4", "mpich4", "mpich5", "ompi5"]);

/// Programs of broken.c, and the functions of their three ranks; "": none.
const PROGRAMS: &[(&str, [&str; 3])] = &[
    ("missing", ["MPI_Allreduce", "", "MPI_Allreduce"]),
    ("receive", ["MPI_Barrier", "MPI_Recv", "MPI_Barrier"]),
    ("loops", ["MPI_Bcast", "", "MPI_Bcast"]),
    ("request", ["MPI_Barrier", "MPI_Wait", "MPI_Barrier"]),
    ("probe", ["MPI_Barrier", "MPI_Probe", "MPI_Barrier"]),
    ("ring_of_sends", ["MPI_Ssend"; 3]),
    ("wait_for_all", ["MPI_Barrier", "MPI_Waitall", "MPI_Barrier"]),
    ("wait_for_any", ["MPI_Barrier", "MPI_Waitany", "MPI_Barrier"]),
    ("early_finalize", ["MPI_Barrier", "MPI_Finalize", "MPI_Barrier"]),
    ("of_sleeping", ["", "MPI_Recv", "MPI_Recv"]),
];

fn all(case: &Case, programs: &[(&str, [&str; 3])]) {
    for (which, functions) in programs {
        one(case, which, functions);
    }
}

/// Of nine in ten of the programs that hang, each rank has the function that the tracer gives it.
fn as_traced(case: &Case) {
    let hangs = ALL.iter().filter(|program| matches!(program.live, Expected::Verdict(_)));
    let (mut right, mut wrong) = (0, Vec::new());
    for program in hangs {
        let expected = by_the_tracer(case, program);
        match without_the_tracer(case, program, &expected) {
            None => right += 1,
            Some(last) => wrong.push(format!("{}: {expected:?}, not {last:?}", program.which)),
        }
    }
    println!("{right} right; {wrong:#?}");
    assert!(right >= 40 && 10 * wrong.len() <= right + wrong.len(), "{wrong:#?}");
}

/// The function of each rank by the tracer; "": none.
fn by_the_tracer(case: &Case, program: &Broken) -> Vec<String> {
    let mut running = case.launch(program.ranks, "broken.c").arg(program.which).trace().start();
    let look = until_it_is_found(case, program, &mut running).expect("a look");
    for job in jobs(case) {
        job.processes.iter().for_each(|&process| process::signal(process, libc::SIGKILL));
    }
    drop(running);
    litter::sweep();
    case.segments.empty();
    let is_in_mpi = |place: &&RankPlace| ["in_call", "other_mpi", "init", "finalize"].contains(&&*place.state);
    let function = |place: &RankPlace| Some(place).filter(is_in_mpi).and_then(|place| place.function.clone());
    look.places.iter().map(|place| function(place).unwrap_or_default()).collect()
}

/// Looks at the program, which runs without the tracer, until its ranks are in these functions: `None`. Else the
/// functions in which it stays.
fn without_the_tracer(case: &Case, program: &Broken, expected: &[String]) -> Option<Vec<String>> {
    let running = case.launch(program.ranks, "broken.c").arg(program.which).start();
    let (launcher, began) = (running.id().to_string(), Instant::now());
    loop {
        let looked = mpitrace(case, &["watch", &launcher, "--json"]);
        let found = if looked.code == 0 { companion::json(&looked) } else { Value::Null };
        let places = found["where"].as_array().map_or(&[][..], Vec::as_slice);
        let functions: Vec<String> =
            places.iter().map(|place| place["function"].as_str().unwrap_or_default().to_owned()).collect();
        let is_right = functions == expected;
        if is_right || began.elapsed() > Duration::from_secs(20) {
            end(&found, running);
            return (!is_right).then_some(functions);
        }
        sleep(Duration::from_millis(200));
    }
}

/// The processes of the ranks of this test's job: those whose parent's parent, at most, is its launcher.
fn one(case: &Case, which: &str, functions: &[&str; 3]) {
    let mut running = case.launch(3, "broken.c").arg(which).start();
    let launcher = running.id().to_string();
    let began = Instant::now();
    let found = loop {
        let looked = mpitrace(case, &["watch", &launcher, "--json"]);
        let found = (looked.code == 0).then(|| companion::json(&looked));
        if let Some(found) = found.filter(|found| are(found, functions)) {
            break found;
        }
        assert!(!running.has_ended(), "{which}: {}", running.stderr());
        assert!(began.elapsed() < Duration::from_secs(60), "{which}: {}\n{}", looked.stdout, looked.stderr);
        sleep(Duration::from_millis(200));
    };
    // By the number of a rank as well, as text.
    let rank = found["where"][2]["process"].as_u64().expect("a process").to_string();
    let text = mpitrace(case, &["watch", &rank]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    assert!(text.stdout.starts_with("3 ranks on this node, without the tracer: "), "{}", text.stdout);
    let is_elsewhere = text.stdout.contains("rank 1 is elsewhere than 2 of the 3 ranks, which are in ");
    assert_eq!(is_elsewhere, functions[0] == functions[2] && functions[0] != functions[1], "{}", text.stdout);
    assert!(text.stdout.contains("main (broken.c:"), "{}", text.stdout);
    end(&found, running);
}

fn are(found: &Value, functions: &[&str; 3]) -> bool {
    let places = found["where"].as_array().expect("places");
    let is = |(place, function): (&Value, &&str)| place["function"].as_str().unwrap_or_default() == *function;
    found["ranks"] == 3 && places.len() == 3 && places.iter().zip(functions).all(is)
}

fn end(found: &Value, running: Running) {
    let places = found["where"].as_array().into_iter().flatten();
    places.filter_map(|place| place["process"].as_u64()).for_each(|pid| process::signal(pid as u32, libc::SIGKILL));
    drop(running);
    litter::sweep();
}
