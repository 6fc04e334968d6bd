//! What `summary` says a program does too often, or one rank after the other, and what it does not say.

use mpitrace_format::layout::interruptions_by;
use mpitrace_format::metadata::STARTED_NS;
use mpitrace_format::samples::Samples;
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::Value;

use crate::support::{Folder, mpitrace};

const US: u64 = 1000;
const MS: u64 = 1000 * US;

/// Ranks with one clock, whose calls that can wait and interruptions are known.
fn world(size: u32) -> Vec<SyntheticRank> {
    let rank = |rank| {
        let mut rank = SyntheticRank::new(rank, size).stamped();
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank
    };
    (0..size).map(rank).collect()
}

/// The text of the summary in one line, and its JSON.
fn summary(ranks: &[SyntheticRank]) -> (String, Value) {
    let folder = Folder::new();
    let file = folder.trace(ranks);
    let told = mpitrace(&["summary", "--json", &file]).json();
    let text = mpitrace(&["summary", &file]).stdout;
    (text.lines().map(str::trim).collect::<Vec<_>>().join(" "), told)
}

fn of_kind(told: &Value, kind: &str) -> Option<Value> {
    told["losses"].as_array().unwrap().iter().find(|loss| loss["kind"] == kind).cloned()
}

/// Ten groups of 40 reductions of 20 us, with `between` before each.
fn reductions(between: u64) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for rank in &mut ranks {
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        let mut at = MS;
        for k in 0..400 {
            let enter = at + between + if k % 40 == 0 { 2 * MS } else { 0 };
            rank.call(reduce, enter, enter + 20 * US);
            at = enter + 20 * US;
        }
    }
    ranks
}

#[test]
fn short_calls_in_a_row_have_a_sentence_and_the_conclusion() {
    let (text, told) = summary(&reductions(US));
    let sentence = "400 MPI_Allreduce of 8 bytes in 10 groups of 40: 8.00 ms; one call for each group would take at \
                    least 200 µs.";
    assert!(text.contains(sentence) && told["finding"] == sentence, "{text}");
    let advice = "Make one MPI_Allreduce of the calls of a group, if none of them needs the result of the one before.";
    assert_eq!(told["verdict"], advice);
    let loss = of_kind(&told, "many-small").unwrap();
    assert_eq!((&loss["groups"], &loss["joined_is_known"]), (&10.into(), &false.into()), "{loss}");
    assert!(told["losses_by_gain"].as_array().unwrap().iter().all(|loss| loss["kind"] != "many-small"));
}

#[test]
fn reductions_with_work_between_them_have_none() {
    let (text, told) = summary(&reductions(15 * US));
    assert!(told["finding"].is_null() && of_kind(&told, "many-small").is_none(), "{text}");
    assert!(!text.contains("groups of"), "{text}");
}

/// 40 exchanges of 1 ms, in which rank 3 sends 8000 bytes, and the others so many.
fn exchanges(bytes: u64) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let exchange = rank.operation("MPI_Alltoallv", 0, if number == 3 { 8000 } else { bytes });
        (1..=40).for_each(|k| rank.call(exchange, 2 * MS * k, 2 * MS * k + MS));
    }
    ranks
}

#[test]
fn amounts_that_are_far_from_equal_have_a_sentence() {
    let (text, told) = summary(&exchanges(100));
    let sentence = "Rank 3 sends 3.9 x the mean of the ranks in 40 MPI_Alltoallv, which take 40.0 ms, gain at most 29.6 \
                    ms.";
    assert!(text.contains(sentence), "{text}");
    assert!(of_kind(&told, "unequal-amounts").is_some());
    let (text, told) = summary(&exchanges(7000));
    assert!(of_kind(&told, "unequal-amounts").is_none() && !text.contains("sends"), "{text}");
}

/// 50 barriers, each behind 1 ms of work; in every tenth step rank 0 works for 20 ms more, and the others for `others`.
fn steps(others: u64) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let mut at = MS;
        for k in 1..=50 {
            let [own, last] = match k % 10 {
                0 if number == 0 => [21 * MS; 2],
                0 => [MS + others, 21 * MS],
                _ => [MS; 2],
            };
            rank.call(barrier, at + own, at + last + 10 * US);
            at += last + 10 * US;
        }
    }
    ranks
}

#[test]
fn a_rank_that_works_alone_has_a_sentence_and_one_with_more_work_has_not() {
    let (text, told) = summary(&steps(0));
    let sentence =
        "Rank 0 works alone for 100 ms while all others wait; shared out over all ranks it would take 25.0 ms.";
    assert!(text.contains(sentence), "{text}");
    assert_eq!(of_kind(&told, "serial").unwrap()["phases"], 5);
    // The others wait for it all the same.
    assert!(text.contains("The others wait for rank 0 (300 ms)"), "{text}");
    let (text, told) = summary(&steps(8 * MS));
    assert!(of_kind(&told, "serial").is_none() && !text.contains("alone"), "{text}");
}

#[test]
fn equal_work_one_after_the_other_has_a_sentence_and_the_conclusion() {
    let mut ranks = world(4);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        let mut at = MS;
        for _ in 0..51 {
            rank.call(reduce, at + (number + 1) * MS, at + 4 * MS + 10 * US);
            if number > 0 {
                rank.exchanged(number as u32 - 1, number * MS, 1);
            }
            at += 4 * MS + 10 * US;
        }
    }
    let (text, told) = summary(&ranks);
    let sentence = "The ranks do equal work one after the other, from rank 0 to rank 3: each 1.00 ms behind the one \
                    before, 50 times, gain at most 150 ms.";
    assert!(text.contains(sentence), "{text}");
    assert!(told["verdict"].as_str().unwrap().starts_with("The ranks wait for each other in a chain: "), "{text}");
    assert_eq!(of_kind(&told, "pipeline").unwrap()["gain_s"], Value::Null);
}

#[test]
fn a_late_rank_that_changes_is_said_with_its_stretches_and_its_picture() {
    let mut ranks = world(2);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 0..320 {
            let late = if k / 40 % 2 == number { 300 * US } else { 0 };
            rank.call(barrier, MS * (k + 1) + late, MS * (k + 1) + 310 * US);
        }
    }
    let (text, told) = summary(&ranks);
    let sentence = "The rank for which the others wait (96.0 ms) changes: rank 0 until 40.3 ms, then rank 1, rank 0, \
                    rank 1, ..., in turns of 40 repetitions: balance the work of each stretch.";
    assert_eq!(told["verdict"], sentence, "{text}");
    assert!(text.contains(": one computes longer, in turns of 40 repetitions."), "{text}");
    let next = told["next"].as_str().unwrap();
    assert!(next.ends_with(" --operation 0 --plot arrival -o arrival.svg"), "{next}");
    let moves = &told["losses_by_gain"][0]["moves"];
    assert_eq!((&moves["repetitions"], moves["stretches"].as_array().unwrap().len()), (&40.into(), 8), "{moves}");
}

/// Two ranks of 100 ms, whose processes began so many ms before MPI_Init.
fn begun(before_ms: [u64; 2]) -> Vec<SyntheticRank> {
    let mut ranks = world(2);
    for (rank, before) in ranks.iter_mut().zip(before_ms) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (1..=100).for_each(|k| rank.call(barrier, MS * k, MS * k + US));
        (rank.header.first_anchor.tick, rank.header.first_anchor.raw_ns) = (0, 1000 * MS);
        rank.header.last_anchor.raw_ns += 1000 * MS;
        rank.metadata.push((STARTED_NS.to_owned(), (1000 * MS - before * MS).to_string()));
    }
    ranks
}

#[test]
fn time_before_mpi_init_is_said_where_it_matters() {
    let (text, told) = summary(&begun([20, 40]));
    assert!(text.contains("; before MPI_Init 30.0 ms"), "{text}");
    let of = |rank: usize| told["around"][rank]["before_init_s"].as_f64().unwrap();
    assert!((of(0) - 0.02).abs() < 1e-9 && (of(1) - 0.04).abs() < 1e-9, "{told:#}");
    assert!(told["after_finalize_s"].is_null());
    let (text, told) = summary(&begun([4, 4]));
    assert!(!text.contains("before MPI_Init"), "{text}");
    assert!((told["before_init_s"].as_f64().unwrap() - 0.004).abs() < 1e-9);
}

#[test]
fn time_after_mpi_finalize_is_that_up_to_the_end_that_run_saw() {
    let folder = Folder::new();
    let mut ranks = begun([4, 4]);
    for rank in &mut ranks {
        rank.times.rank.finalize_enter = 101 * MS;
        rank.times.finalize = mpitrace_format::layout::FinalizeTimes { whole: MS, library: MS };
    }
    let file = folder.trace(&ranks);
    let job = ranks[0].header.job;
    // Both returned from MPI_Finalize at 102 ms.
    let ends = vec![(0, 1132 * MS), (1, 1142 * MS)];
    std::fs::write(format!("{file}.observed"), Samples { job, ends, ..Samples::default() }.encode()).unwrap();
    let told = mpitrace(&["summary", "--json", &file]).json();
    assert!((told["after_finalize_s"].as_f64().unwrap() - 0.035).abs() < 1e-4, "{:#}", told["around"]);
    let text = mpitrace(&["summary", &file]).stdout;
    assert!(text.contains("after MPI_Finalize 35.0 ms"), "{text}");
}
