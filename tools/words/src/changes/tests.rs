//! Sentences about the change of a job.

use mpitrace_analysis::account::{Because, RankPart};
use mpitrace_changes::{Change, Changes, Identity, JobChange, Place, What};
use mpitrace_statistics::comparison::{Run, Settings, compare};

use super::{JobFacts, Subject};

fn change(what: What, seconds: [f64; 2]) -> Change {
    let [a, b] = seconds;
    Change { what, seconds, calls: None, change_s: b - a, interval_s: None, rank: None, node: None, off_change_s: 0.0 }
}

/// An operation that a function calls so often on each side.
fn operation(seconds: [f64; 2], calls: [f64; 2]) -> Change {
    let place = Place { function: "smooth".into(), line: "solver.cpp:121".into(), number: 121, order: 0 };
    let identity = Identity {
        function: "MPI_Allreduce".into(),
        bytes: Some(8),
        ranks: 4,
        place: Some(place),
        ..Identity::default()
    };
    let both = calls.map(|calls| (calls > 0.0).then(|| identity.clone()));
    Change { calls: Some(calls), ..change(What::Operation(Box::new(both)), seconds) }
}

fn said(job: [&[f64]; 2], mut parts: Vec<Change>) -> String {
    let runs = job.map(|seconds| {
        let run = |(number, &s): (usize, &f64)| Run::new(number, &[1e9 * s], &[1e9 * s]);
        seconds.iter().enumerate().filter_map(run).collect::<Vec<Run>>()
    });
    let compared = compare(&runs[0], &runs[1], Settings::default()).unwrap();
    let change_s = compared.effect.shift_ns / 1e9;
    parts.sort_by(|one, other| other.change_s.abs().total_cmp(&one.change_s.abs()));
    let remainder_s = change_s - parts.iter().map(|part| part.change_s).sum::<f64>();
    let counts = job.map(<[f64]>::len);
    let changes = Changes {
        job: JobChange { seconds: [job[0][0], job[1][0]], change_s },
        parts,
        remainder_s,
        ranks: [4, 4],
        runs: counts,
        kept: counts,
    };
    JobFacts::new(&changes, &compared, ['A', 'B'], &Subject::of_sides(['A', 'B']), |_| None).sentence
}

#[test]
fn the_sentence_names_the_largest_parts_with_their_causes() {
    let waiting = change(What::Waiting(Some(1), Some(Because::Computing)), [0.10, 0.34]);
    let refine = Change { rank: Some(1), ..change(What::Function("refine_patch".into()), [0.10, 0.12]) };
    let parts = vec![operation([0.02, 0.94], [103.0, 4121.0]), waiting, refine];
    assert_eq!(
        said([&[8.64], &[9.85]], parts),
        "B takes 1.21 s (14 %) longer, in one run of each: 920 ms in MPI_Allreduce below smooth (solver.cpp:121; 4121 \
         calls in place of 103), 240 ms waiting for rank 1, which computes longer in refine_patch, 50.0 ms others."
    );
}

#[test]
fn a_job_that_takes_less_says_what_takes_more() {
    let [computing, io] = [(RankPart::Computing, [5.0, 3.0]), (RankPart::Io, [0.5, 1.0])]
        .map(|(part, seconds)| change(What::Part(part), seconds));
    assert_eq!(
        said([&[10.0], &[8.5]], vec![computing, io]),
        "B takes 1.50 s (15 %) less, in one run of each: 2.00 s computing, 500 ms more in file calls."
    );
}

#[test]
fn runs_that_do_not_decide_say_so_and_large_factors_are_ratios() {
    let noisy = [&[1.0, 1.3, 1.1, 1.4, 1.2, 1.5][..], &[1.2, 1.0, 1.5, 1.1, 1.6, 1.3]];
    let said_of = said(noisy, Vec::new());
    assert!(said_of.starts_with("Not decided by these runs if B takes longer than A (+"), "{said_of}");
    let equal = [&[1.0, 1.001, 1.002, 1.0, 1.001, 1.002][..]; 2];
    assert!(said(equal, Vec::new()).starts_with("B takes as long as A ("));
    let slow = [&[1.0, 1.01, 1.02, 1.0, 1.01, 1.02][..], &[4.0, 4.01, 4.02, 4.0, 4.01, 4.02]];
    let said_of = said(slow, vec![operation([0.0, 3.0], [0.0, 12.0])]);
    assert!(said_of.starts_with("B takes 4.0 times as long as A, 3."), "{said_of}");
    assert!(said_of.ends_with("(solver.cpp:121; new: 12 calls)."), "{said_of}");
    let fast = said([slow[1], slow[0]], vec![operation([3.0, 0.0], [12.0, 0.0])]);
    assert!(fast.starts_with("A takes 4.0 times as long as B, 3.") && fast.contains("(B takes 3.00 s less)"), "{fast}");
    assert!(fast.ends_with("3.00 s in MPI_Allreduce below smooth (solver.cpp:121; gone: 12 calls)."), "{fast}");
}

#[test]
fn as_many_calls_are_said_by_how_long_each_takes() {
    let said_of = said([&[2.0], &[3.0]], vec![operation([0.1, 1.1], [1000.0, 1000.0])]);
    assert!(said_of.ends_with("(solver.cpp:121; 1.10 ms a call in place of 100 µs)."), "{said_of}");
}

/// On a busy machine it takes more than the program does, and by chance.
#[test]
fn what_the_program_does_comes_before_what_other_processes_make() {
    let preempted = change(What::Part(RankPart::Preempted), [0.5, 3.5]);
    let waiting = change(What::Waiting(Some(1), Some(Because::Preempted)), [0.0, 2.5]);
    let relax = change(What::Function("relax".into()), [1.0, 3.0]);
    let held_up = Change { off_change_s: 1.4, ..operation([0.1, 1.6], [100.0, 100.0]) };
    assert_eq!(
        said([&[10.0], &[19.0]], vec![preempted, waiting, relax, held_up]),
        "B takes 9.00 s (90 %) longer, in one run of each: 2.00 s computing in relax, 3.00 s preempted outside of calls, \
         2.50 s waiting for rank 1, which was preempted, 1.50 s others."
    );
}

#[test]
fn the_node_is_named_on_which_ranks_are_late() {
    let on = |what, seconds, rank| Change { node: Some("n5".into()), rank, ..change(what, seconds) };
    let because = Some(Because::Computing);
    let one = on(What::Waiting(Some(1), because), [0.0, 1.0], None);
    let several = on(What::Waiting(None, because), [0.0, 2.0], None);
    let computing = on(What::Part(RankPart::Computing), [1.0, 2.0], None);
    assert_eq!(
        said([&[10.0], &[14.0]], vec![one, several, computing]),
        "B takes 4.00 s (40 %) longer, in one run of each: 2.00 s waiting for ranks on n5, which compute longer, 1.00 s \
         waiting for rank 1 on n5, which computes longer, 1.00 s computing on n5."
    );
}
