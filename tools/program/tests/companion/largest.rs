//! What `summary` says first of jobs whose largest part and losses are known.

use std::path::Path;

use mpitrace_format::layout::{
    FinalizeTimes, InterruptionEntry, ProcessorTime, elsewhere, interruption_flags, interruptions_by, off_place,
    off_reason, recorded, wait_class,
};
use mpitrace_format::samples::{Preempted, Samples, Taker};
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};

use crate::support::{Folder, mpitrace};

const MS: u64 = 1_000_000;

/// Ranks that compute for 1 ms before each of so many reductions of 20 us; `more`: ns longer, by rank and call. They
/// enter MPI_Finalize behind the last one.
fn ranks(number: u32, calls: u64, more: impl Fn(u32, u64) -> u64) -> Vec<SyntheticRank> {
    let rank = |of: u32| {
        let mut rank = SyntheticRank::new(of, number).stamped();
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank.times.rank.thread = 1;
        (rank.times.rank.init, rank.times.rank.init_library) = (10, 10);
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        let mut exit = 10;
        for k in 0..calls {
            let longest = (0..number).map(|rank| more(rank, k)).max().unwrap();
            let enter = exit + MS + more(of, k);
            exit = exit + MS + longest + 20_000;
            rank.call(reduce, enter, exit);
        }
        end(&mut rank, exit);
        rank
    };
    (0..number).map(rank).collect()
}

/// Lets a rank enter MPI_Finalize at this time.
fn end(rank: &mut SyntheticRank, enter: u64) {
    rank.times.rank.finalize_enter = enter;
    rank.times.finalize = FinalizeTimes { whole: 1000, library: 900 };
    rank.times.threads[0].processor =
        [ProcessorTime { ns: 0, tick: 10 }, ProcessorTime { ns: enter - 10, tick: enter }];
}

fn summary(ranks: &[SyntheticRank]) -> (Vec<String>, Value) {
    let folder = Folder::new();
    let file = folder.trace(ranks);
    let text = mpitrace(&["summary", &file]).stdout;
    (text.lines().map(str::to_owned).collect(), mpitrace(&["summary", "--json", &file]).json())
}

#[test]
fn work_before_mpi_finalize_is_the_first_loss() {
    let mut both = ranks(2, 100, |_, _| 0);
    let last = both[0].times.rank.finalize_enter + 200 * MS;
    end(&mut both[0], last);
    both[1].times.finalize = FinalizeTimes { whole: 200 * MS + 1000, library: 200 * MS + 900 };
    let (lines, told) = summary(&both);
    assert!(lines[1].contains("33.1 % waiting in MPI_Finalize"), "{lines:#?}");
    assert_eq!(
        lines[2],
        "33.1 % (200 ms, gain 200 ms): others wait in MPI_Finalize for rank 0, which computes longer."
    );
    assert!(
        lines.contains(
            &"The others wait in MPI_Finalize for rank 0 (200 ms): share out what it does at the end.".to_owned()
        ),
        "{lines:#?}"
    );
    let loss = &told["losses"][0];
    assert_eq!(
        (&loss["function"], &loss["operation"], &loss["kind"]),
        (&json!("MPI_Finalize"), &Value::Null, &json!("late-rank"))
    );
    assert_eq!(loss["reasons"], json!([{"because": "computing", "seconds": 0.2}]));
    assert_eq!((&told["parts"]["waiting_finalize"], &told["waiting_s"]), (&json!(0.2), &json!(0.0)));
}

/// Four ranks on two processors, each of which has one for half of the time.
#[test]
fn ranks_without_a_processor_are_said_before_their_losses() {
    let mut four = ranks(4, 100, |_, _| 0);
    for rank in &mut four {
        rank.metadata.push(("affinity".to_owned(), "0-1".to_owned()));
        let times = &mut rank.times.threads[0];
        times.off_ns[off_place::BETWEEN][off_reason::PREEMPTED] = 50 * MS;
        times.off_ns[off_place::IN_COLLECTIVE][off_reason::PREEMPTED] = MS;
        times.processor[1].ns -= 51 * MS;
    }
    let (lines, told) = summary(&four);
    assert_eq!(lines[1], "The ranks had no processor for 50.0 % of the time: 4 ranks share 2 processors.");
    assert!(!lines[2].contains("at least"), "{lines:#?}");
    assert!(
        lines.contains(&"4 ranks share 2 processors: start 2 ranks there, or give the job more processors.".to_owned()),
        "{lines:#?}"
    );
    assert_eq!(told["off_processor_s"], json!(0.204));
    assert_eq!(told["sharing"], json!({"ranks": 4, "processors": 2, "host": null}));
}

#[test]
fn a_rank_is_asked_for_less_work_only_if_it_has_more_through_the_run() {
    let verdict = |more: &dyn Fn(u32, u64) -> u64| {
        let (_, told) = summary(&ranks(2, 120, more));
        told["verdict"].as_str().unwrap().to_owned()
    };
    let steady = verdict(&|rank, _| if rank == 1 { MS / 2 } else { 0 });
    assert_eq!(steady, "The others wait for rank 1 (60.0 ms): give it less work, or look for what slows it down.");
    let once = verdict(&|rank, k| if rank == 1 && (40..60).contains(&k) { 3 * MS } else { 0 });
    assert_eq!(once, "The others wait for rank 1 (60.0 ms): one run cannot tell whether it has more work.");
    let little = verdict(&|rank, _| if rank == 1 { MS / 100 } else { 0 });
    assert!(
        little.starts_with("There is little to gain in MPI")
            || little.starts_with("There is little to gain in waiting"),
        "{little}"
    );
}

/// Lets a rank be preempted for so long in each of its 100 calls, or with [`interruption_flags::BETWEEN`] before it.
fn preempt(rank: &mut SyntheticRank, off_ns: u64, place: u32) {
    let flags = place | interruption_flags::TIMED | interruption_flags::REASON;
    for record in 0..100 {
        rank.interrupt_at(InterruptionEntry { record, off_ns, switches: 1, flags, ..Default::default() });
    }
    rank.times.threads[0].processor[1].ns -= 100 * off_ns;
}

/// The summary of three ranks that share these processors. Rank 1 has 10 ms more work in each step, and is preempted
/// for 20 ms; so long the others have no processor while they wait for it.
fn with_more_work(processors: &str, others: u64) -> (Vec<String>, Value) {
    let mut three = ranks(3, 100, |rank, _| if rank == 1 { 30 * MS } else { 0 });
    for (number, rank) in three.iter_mut().enumerate() {
        rank.metadata.push(("affinity".to_owned(), processors.to_owned()));
        match number {
            1 => preempt(rank, 20 * MS, interruption_flags::BETWEEN),
            _ => preempt(rank, others, 0),
        }
    }
    summary(&three)
}

/// Where ranks take turns on a processor while they wait for one that works, its work is what they wait for.
#[test]
fn preemption_by_ranks_that_wait_is_not_the_first_reason() {
    let verdict = |told: &Value| told["verdict"].as_str().unwrap().to_owned();
    let (lines, told) = with_more_work("0", 20 * MS);
    assert_eq!(
        verdict(&told),
        "The others wait for rank 1 (6.00 s): give it less work, or look for what slows it down."
    );
    assert!(lines.iter().all(|line| !line.contains("share ")), "{lines:#?}");
    let places = ["which computes longer.", "which was preempted."].map(|why| {
        let ends = |line: &String| line.ends_with(&format!("others wait in MPI_Allreduce for rank 1, {why}"));
        lines.iter().position(ends).unwrap_or_else(|| panic!("{why}: {lines:#?}"))
    });
    assert!(places[0] < places[1], "{lines:#?}");
    assert_eq!(told["losses"][0]["because"], "preempted", "by seconds");
    // On two processors the other two take a third of its time at most.
    let (_, told) = with_more_work("0-1", 20 * MS);
    let by_others = "The others wait for rank 1 (6.00 s), 3.00 s of it since it was preempted: look for other processes, \
                     bind ranks that are not.";
    assert_eq!(verdict(&told), by_others);
    // They take more of it where they run all the time.
    let (_, told) = with_more_work("0-1", 0);
    assert!(verdict(&told).ends_with("preempted: start fewer ranks there, or give them more processors."), "{told:#}");
}

/// Ranks 2 and 3 of four on two processors lack one in each step; the others wait for them.
#[test]
fn waiting_for_a_rank_that_has_no_processor_is_no_part_of_its_own() {
    let mut four = ranks(4, 100, |rank, _| if rank < 2 { 0 } else { 3 * MS });
    four.iter_mut().for_each(|rank| rank.metadata.push(("affinity".to_owned(), "0-1".to_owned())));
    four[2..].iter_mut().for_each(|rank| preempt(rank, 3 * MS, interruption_flags::BETWEEN));
    let (lines, told) = summary(&four);
    assert!(lines[1].ends_with("% of the time: 4 ranks share 2 processors."), "{lines:#?}");
    assert!(told["waiting_s"].as_f64() > told["off_processor_s"].as_f64().map(|ns| 0.99 * ns), "{told:#}");
    assert_eq!(told["verdict"], "4 ranks share 2 processors: start 2 ranks there, or give the job more processors.");
}

/// Each rank sleeps before every third call.
#[test]
fn ranks_that_sleep_in_turns_wait_in_turns() {
    let mut three = ranks(3, 99, |rank, k| if k % 3 == u64::from(rank) { 10 * MS } else { 0 });
    let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
    for (number, rank) in (0..).zip(&mut three) {
        for record in (number..99).step_by(3) {
            let (switches, voluntary) = (1, 1);
            let sleep = InterruptionEntry { off_ns: 10 * MS, switches, voluntary, flags, ..Default::default() };
            rank.interrupt_at(InterruptionEntry { record, ..sleep });
        }
        rank.times.threads[0].processor[1].ns -= 330 * MS;
    }
    let (lines, told) = summary(&three);
    let verdict = told["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("The ranks wait for each other in turns") && verdict.contains("slept"), "{lines:#?}");
}

/// Rank 1 writes a file before each reduction.
#[test]
fn a_rank_that_is_late_by_file_calls_does_not_compute_longer() {
    let late = |rank: u32, _| if rank == 1 { MS } else { 0 };
    let mut both = ranks(2, 100, late);
    let mut writer = SyntheticRank::new(1, 2).stamped();
    writer.header.leader = 0;
    writer.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
    writer.times.rank = both[1].times.rank;
    writer.times.finalize = both[1].times.finalize;
    writer.times.threads = both[1].times.threads.clone();
    writer.times.threads[0].ticks[wait_class::IO] = 100 * MS;
    let reduce = writer.operation("MPI_Allreduce", 0, 8);
    let mut exit = 10;
    for _ in 0..100 {
        writer.call(reduce, exit + 2 * MS, exit + 2 * MS + 20_000);
        writer.recorded(recorded::ELSEWHERE, elsewhere::add(0, [0, MS, 0]));
        exit += 2 * MS + 20_000;
    }
    both[1] = writer;
    let (lines, told) = summary(&both);
    let page = Vec::from_iter(lines.join(" ").split_whitespace()).join(" ");
    assert!(page.contains("others wait in MPI_Allreduce for rank 1, which is longer in file calls."), "{lines:#?}");
    assert_eq!(told["losses"][0]["because"], "io");
    let verdict = "The others wait for rank 1 (100 ms), 100 ms of it since it was in file calls: write less often, or \
                   share out the files.";
    assert_eq!(told["verdict"], verdict);
}

/// Collective writes are input and output, whose first call makes the file.
#[test]
fn collective_file_calls_are_input_and_output() {
    let write = |of: u32| {
        let mut rank = SyntheticRank::new(of, 2).stamped();
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank.times.rank.thread = 1;
        let write = rank.operation("MPI_File_write_at_all", 0, 8);
        for k in 0..100 {
            let longer = if k == 0 { 5 * MS } else { 0 };
            let enter = 10 * MS + k * MS;
            rank.call(write, enter - longer, enter + 700_000);
        }
        end(&mut rank, 120 * MS);
        rank
    };
    let (lines, told) = summary(&[write(0), write(1)]);
    assert!(lines[1].contains("in file calls") && !lines[1].contains("communicating"), "{lines:#?}");
    assert_eq!((&told["communication_s"], &told["parts"]["communication"]), (&json!(0.0), &json!(0.0)));
    assert!((told["parts"]["io"].as_f64().unwrap() - 0.15).abs() < 1e-6, "{told:#}");
    let losses = told["losses"].as_array().unwrap();
    assert!(losses.iter().all(|loss| loss["kind"] != "warmup"), "{losses:#?}");
    assert!(!told["verdict"].as_str().unwrap().contains("communication"), "{}", told["verdict"]);
}

#[test]
fn waiting_for_locks_of_windows_is_a_loss() {
    let mut both = ranks(2, 100, |_, _| 0);
    both[1].times.threads[0].ticks[wait_class::ONE_SIDED] = 40 * MS;
    let (lines, told) = summary(&both);
    assert!(lines[2].ends_with("gain at most 40.0 ms): rank 1 in one-sided calls that can wait."), "{lines:#?}");
    assert_eq!((&told["losses"][0]["kind"], &told["losses"][0]["gain_s"]), (&json!("one-sided"), &Value::Null));
    assert_eq!(told["losses"][0]["gain_most_s"], json!(0.04));
    assert!(told["verdict"].as_str().unwrap().starts_with("Rank 1 is in one-sided calls that can wait for 40.0 ms"));
}

/// Rank 0 is preempted for 1 ms of each of 100 steps; both ranks are bound.
#[test]
fn bound_ranks_are_not_told_to_be_bound() {
    let mut both = ranks(2, 100, |rank, _| if rank == 0 { MS } else { 0 });
    for (number, rank) in both.iter_mut().enumerate() {
        rank.metadata.push(("affinity".to_owned(), number.to_string()));
    }
    let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
    for record in 0..100 {
        both[0].interrupt_at(InterruptionEntry { record, off_ns: MS, switches: 1, flags, ..Default::default() });
    }
    let (lines, told) = summary(&both);
    let verdict = told["verdict"].as_str().unwrap();
    assert!(verdict.contains("rank 0") && verdict.ends_with("preempted: look for other processes."), "{lines:#?}");
}

/// Two bound ranks in messages for `messages` ms, in which they lacked a processor for so long, and outside of calls
/// for `outside` ms. Rank 1 has `more` ns more work before each of 100 calls.
fn beside_load(messages: u64, [in_messages, outside]: [u64; 2], more: u64) -> Vec<SyntheticRank> {
    let mut both = ranks(2, 100, |rank, _| 9 * MS + u64::from(rank) * more);
    for (number, rank) in both.iter_mut().enumerate() {
        rank.metadata.push(("affinity".to_owned(), number.to_string()));
        let times = &mut rank.times.threads[0];
        times.ticks[wait_class::POINT_TO_POINT] = messages * MS;
        times.off_ns[off_place::WAITING][off_reason::PREEMPTED] = in_messages * MS;
        times.off_ns[off_place::BETWEEN][off_reason::PREEMPTED] = outside * MS;
        times.processor[1].ns -= (in_messages + outside) * MS;
    }
    both
}

/// Other processes take the processors of ranks that exchange messages.
#[test]
fn the_verdict_is_about_processors_where_the_ranks_lack_them_for_longest() {
    let both = beside_load(500, [450, 300], 0);
    let (lines, told) = summary(&both);
    assert!(lines[1].starts_with("The ranks had no processor for 7"), "{lines:#?}");
    let verdict = "The ranks had no processor for 1.50 s, since something else ran there: look for other processes.";
    assert_eq!((&told["verdict"], &told["without_processor"]["seconds"]), (&json!(verdict), &json!(1.5)));
    // Who took them is said where it was seen.
    let folder = Folder::new();
    let file = folder.trace(&both);
    let observe = |takers: &dyn Fn(u32) -> Vec<Taker>| {
        let job = mpitrace_format::file::job(Path::new(&file)).unwrap();
        let preempted = (0..2).map(|rank| Preempted { rank, ns: 750 * MS, takers: takers(rank) }).collect();
        let samples = Samples { job, preempted, ..Samples::default() };
        std::fs::write(Samples::beside(Path::new(&file)), samples.encode()).unwrap();
        mpitrace(&["summary", "--json", &file]).json()
    };
    let foreign =
        |name: &str, ms: u64| Taker { rank: None, name: name.to_owned(), user: "www".to_owned(), ns: ms * MS };
    let told = observe(&|_| vec![foreign("backup", 500), foreign("cron", 100)]);
    let verdict = "The ranks had no processor for 1.50 s, 1.00 s of it taken by `backup` (user www): end it, or run the \
                   job elsewhere.";
    assert_eq!((&told["verdict"], &told["without_processor"]["taken_by"]["seconds"]), (&json!(verdict), &json!(1.0)));
    let told = observe(&|rank| vec![Taker { rank: Some(1 - rank), ..foreign("app", 700) }]);
    let verdict =
        "The ranks had no processor for 1.50 s, 1.40 s of it taken by other ranks: bind each rank to its own.";
    assert_eq!(told["verdict"], verdict);
    // Each of three took a third.
    let told = observe(&|_| ["one", "two", "three"].map(|name| foreign(name, 240)).to_vec());
    assert!(told["verdict"].as_str().unwrap().contains("something else ran there"), "{}", told["verdict"]);
    assert_eq!(told["without_processor"]["taken_by"], Value::Null);
}

#[test]
fn the_verdict_is_about_the_quota_that_held_most() {
    let mut both = beside_load(500, [450, 300], 0);
    for rank in &mut both {
        rank.times.threads[0]
            .off_ns
            .iter_mut()
            .for_each(|place| place.swap(off_reason::PREEMPTED, off_reason::THROTTLED));
    }
    let (_, told) = summary(&both);
    let verdict = "The ranks had no processor for 1.50 s, since a processor quota held them: raise the quota, or run fewer \
                   threads.";
    assert_eq!(told["verdict"], verdict);
}

/// Messages take longer, or a rank has more work than the processors are lacked for.
#[test]
fn the_verdict_is_not_about_processors_where_another_loss_is_larger() {
    for (both, loss) in [
        (beside_load(500, [200, 100], 0), "in point-to-point calls"),
        (beside_load(0, [0, 250], 20 * MS), "The others wait for rank 1 (2.00 s)"),
        (beside_load(10, [5, 20], 20 * MS), "The others wait for rank 1 (2.00 s)"),
    ] {
        let (lines, told) = summary(&both);
        let verdict = told["verdict"].as_str().unwrap();
        assert!(verdict.contains(loss) && !verdict.contains("processor"), "{lines:#?}");
        assert!(told["without_processor"].is_null() && !lines[1].contains("no processor"), "{lines:#?}");
    }
}
