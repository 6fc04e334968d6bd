//! Runs of known differences: their parts and the remainder add up to the difference of the jobs.

use mpitrace_analysis::account::{Because, RankPart};
use mpitrace_analysis::run::{Need, Run};
use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::reader::Trace;

use super::*;

/// A job of three ranks, ns.
#[derive(Clone, Copy)]
struct Job {
    calls: u64,
    /// A call takes so long when all have entered it.
    call: u64,
    /// Rank 2 comes so much later to each.
    later: u64,
    /// Each rank is in MPI_Recv for so long before each call.
    messages: u64,
    /// Rank 0 goes on for so long behind the last call.
    end: u64,
}

const USUAL: Job = Job { calls: 50, call: 20_000, later: 0, messages: 5000, end: 0 };

fn run(job: Job, folder: &std::path::Path) -> (Run, Vec<Identity>) {
    let ranks = [0u32, 1, 2].map(|number| {
        let mut rank = SyntheticRank::new(number, 3).stamped();
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        rank.describe(operation, None, "MPI_DOUBLE", Some("MPI_SUM"));
        let mut now = 1_000_000;
        for _ in 0..job.calls {
            let entry = now + job.messages + 50_000;
            let end = entry + job.later + job.call;
            rank.call(operation, entry + if number == 2 { job.later } else { 0 }, end);
            rank.exchanged((number + 1) % 3, job.messages, 1);
            now = end;
        }
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.call(barrier, now, now + 1000);
        if number == 0 {
            rank.header.last_anchor.tick = now + 1000 + job.end;
            rank.header.last_anchor.raw_ns = now + 1000 + job.end;
        }
        rank
    });
    let path = folder.join("x.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    let run = Run::new(Trace::open(&[&path]).unwrap(), Need::Account, |_, _, _| Vec::new());
    let identity = |operation: &mpitrace_trace::operations::Operation| Identity {
        function: operation.key.function.clone(),
        bytes: operation.key.bytes,
        ranks: operation.size,
        ..Identity::default()
    };
    let identities = run.operations.operations.iter().map(identity).collect();
    (run, numbered(identities))
}

fn broken_down(job: Job) -> Breakdown {
    let folder = tempfile::tempdir().unwrap();
    let (run, identities) = run(job, folder.path());
    let breakdown = Breakdown::new(&run, &identities, None);
    assert!((breakdown.sum_ns() - run.account().rank_ns()).abs() < 1.0, "the parts are the whole");
    breakdown
}

fn between(a: &[Breakdown], b: &[Breakdown]) -> Changes {
    let identities = |runs: &[Breakdown]| -> Vec<Identity> {
        runs[0].operations.iter().map(|(identity, _)| identity.clone()).collect()
    };
    let (of_a, of_b) = (identities(a), identities(b));
    let paired = pair(&of_a.iter().collect::<Vec<_>>(), &of_b.iter().collect::<Vec<_>>(), ['A', 'B']);
    let pairs: Vec<(&Identity, &Identity)> = paired.pairs.iter().map(|&(a, b)| (&of_a[a], &of_b[b])).collect();
    let mean = |runs: &[Breakdown]| runs.iter().map(|run| run.job_ns).sum::<f64>() / runs.len() as f64 / 1e9;
    let seconds = [mean(a), mean(b)];
    Changes::between(a, b, &pairs, JobChange { seconds, change_s: seconds[1] - seconds[0] }).unwrap()
}

fn part(changes: &Changes, what: &What) -> Change {
    let found = changes.parts.iter().find(|part| part.what == *what);
    found.cloned().unwrap_or_else(|| panic!("{what:?} in {:#?}", changes.parts))
}

#[test]
fn each_difference_is_found_in_its_part_and_all_add_up() {
    let a = [broken_down(USUAL)];
    let cases = [
        (Job { calls: 80, ..USUAL }, 30.0 * 75_000.0),
        (Job { call: 90_000, ..USUAL }, 50.0 * 70_000.0),
        (Job { later: 60_000, ..USUAL }, 50.0 * 60_000.0),
        (Job { messages: 40_000, ..USUAL }, 50.0 * 35_000.0),
    ];
    for (job, expected_ns) in cases {
        let changes = between(&a, &[broken_down(job)]);
        let sum: f64 = changes.parts.iter().map(|part| part.change_s).sum();
        assert!((sum + changes.remainder_s - changes.job.change_s).abs() < 1e-12);
        assert!((1e9 * changes.job.change_s - expected_ns).abs() < 100.0, "{changes:#?}");
        assert!(changes.remainder_s.abs() < 1e-6, "{changes:#?}");
    }
    let later = between(&a, &[broken_down(cases[2].0)]);
    // Two of three ranks wait for 60 us in each call.
    let waiting = part(&later, &What::Waiting(Some(2), None));
    assert!((waiting.change_s - 0.002).abs() < 1e-6, "{:#?}", later.parts);
    let messages = between(&a, &[broken_down(cases[3].0)]);
    let of_messages = part(&messages, &What::Part(RankPart::PointToPoint));
    assert!((of_messages.change_s - 0.00175).abs() < 1e-6, "{of_messages:?}");
    assert_eq!(of_messages.calls, Some([50.0, 50.0]));
}

#[test]
fn a_rank_that_ends_later_than_the_others_is_the_remainder() {
    let changes = between(&[broken_down(USUAL)], &[broken_down(Job { end: 3_000_000, ..USUAL })]);
    assert!((changes.job.change_s - 0.003).abs() < 1e-6, "{changes:#?}");
    // Of a rank in the mean it is a third.
    assert!((changes.remainder_s - 0.002).abs() < 1e-6, "{changes:#?}");
}

/// A side whose runs scatter: intervals hold the truth at their rate, and the slowest quarter is left out.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut random = Random::new(11);
    let side = |random: &mut Random, level: f64| -> Vec<Breakdown> {
        let run = |_| {
            let ns = 1e9 * level * (1.0 + 0.02 * random.normal());
            let waiting = vec![WaitedFor { rank: 1, because: Some(Because::Computing), ns }];
            // What else takes time has nothing to do with it.
            Breakdown { ranks: 1, job_ns: ns + 1e9 * random.normal().abs(), waiting, ..Breakdown::default() }
        };
        (0..8).map(run).collect()
    };
    let (mut held, mut all) = (0, 0);
    for _ in 0..400 {
        let (a, b) = (side(&mut random, 1.0), side(&mut random, 1.05));
        let changes = Changes::between(&a, &b, &[], JobChange { seconds: [1.0, 1.05], change_s: 0.05 }).unwrap();
        assert_eq!((changes.runs, changes.kept), ([8, 8], [6, 6]));
        let [low, high] = part(&changes, &What::Waiting(Some(1), Some(Because::Computing))).interval_s.unwrap();
        held += usize::from(low <= 0.05 && 0.05 <= high);
        all += 1;
    }
    assert!(held * 100 >= all * 92, "{held} of {all}");
}

#[test]
fn waiting_is_for_the_rank_with_most_of_the_change_and_else_for_ranks_in_turns() {
    let of = |ns: [f64; 4]| {
        let late = |(rank, ns): (usize, f64)| WaitedFor { rank: rank as u32, because: None, ns };
        [Breakdown { ranks: 4, waiting: ns.into_iter().enumerate().map(late).collect(), ..Breakdown::default() }]
    };
    let job = JobChange { seconds: [1.0, 2.0], change_s: 1.0 };
    let changes = |b: [f64; 4]| Changes::between(&of([1e9; 4]), &of(b), &[], job).unwrap();
    let one = changes([1e9, 9e9, 1.5e9, 1e9]);
    assert_eq!(part(&one, &What::Waiting(Some(1), None)).change_s, 2.0);
    assert_eq!(part(&one, &What::Waiting(None, None)).change_s, 0.125);
    let turns = changes([3e9, 3e9, 3e9, 3e9]);
    assert_eq!(turns.parts.len(), 1);
    assert_eq!(part(&turns, &What::Waiting(None, None)).change_s, 2.0);
}

#[test]
fn the_node_on_whose_ranks_most_of_the_change_is_is_named() {
    let of = |ns: [f64; 4], names: [&str; 4]| {
        let late = |(rank, ns): (usize, f64)| WaitedFor { rank: rank as u32, because: None, ns };
        let waiting = ns.into_iter().enumerate().map(late).collect();
        let hosts = (0..).zip(names.map(str::to_owned)).collect();
        Breakdown { ranks: 4, waiting, hosts, ..Breakdown::default() }
    };
    let job = JobChange { seconds: [1.0, 2.0], change_s: 1.0 };
    let two = ["n1", "n1", "n2", "n2"];
    let node =
        |b: &[Breakdown], what: &What| part(&Changes::between(&[of([1e9; 4], two)], b, &[], job).unwrap(), what).node;
    let slow = [1e9, 1e9, 5e9, 5e9];
    let ranks = What::Waiting(None, None);
    assert_eq!(node(&[of(slow, two)], &ranks).as_deref(), Some("n2"));
    assert_eq!(node(&[of([1e9, 5e9, 5e9, 1e9], two)], &ranks), None);
    assert_eq!(node(&[of([1e9, 1e9, 9e9, 1e9], two)], &What::Waiting(Some(2), None)).as_deref(), Some("n2"));
    // Ranks that are on other hosts in each run say nothing of one.
    assert_eq!(node(&[of(slow, two), of(slow, ["n2", "n2", "n1", "n1"])], &ranks), None);
    let on_one = Breakdown { hosts: Default::default(), ..of(slow, two) };
    assert_eq!(node(&[on_one], &ranks), None);
}

#[test]
fn operations_of_one_side_are_new_or_gone_and_file_calls_are_one_by_function() {
    let of = |function: &str, is_whole: bool| {
        let identity = Identity { function: function.into(), is_whole, ..Identity::default() };
        let spent = Spent { ns: 2e9, calls: 4.0, ..Spent::default() };
        [Breakdown { ranks: 2, operations: vec![(identity, spent)], ..Breakdown::default() }]
    };
    let job = JobChange { seconds: [1.0, 1.0], change_s: 0.0 };
    let changes = Changes::between(&of("MPI_Bcast", false), &of("MPI_Scan", false), &[], job).unwrap();
    let sides: Vec<([bool; 2], f64, Option<[f64; 2]>)> = changes
        .parts
        .iter()
        .map(|part| {
            let What::Operation(both) = &part.what else { panic!("{part:?}") };
            (both.each_ref().map(Option::is_some), part.change_s, part.calls)
        })
        .collect();
    assert_eq!(sides, [([true, false], -1.0, Some([2.0, 0.0])), ([false, true], 1.0, Some([0.0, 2.0]))]);
    let files = Changes::between(&of("MPI_File_read_all", true), &of("MPI_File_read_all", true), &[], job).unwrap();
    assert_eq!((files.parts.len(), files.parts[0].calls), (1, Some([2.0, 2.0])));
}

#[test]
fn a_function_is_named_if_its_computing_differs_beyond_what_counting_samples_does() {
    let of = |hot: f64, variance: f64| {
        let function =
            |function: &str, ns: f64| InFunction { function: function.into(), by_part: vec![ns, ns], variance };
        let rest = vec![(0, Default::default()), (1, Default::default())];
        let computing = vec![function("hot", hot), function("other", 1e9)];
        [Breakdown { ranks: 2, computing, rest, ..Breakdown::default() }]
    };
    let job = JobChange { seconds: [2.0, 3.0], change_s: 1.0 };
    let found = Changes::between(&of(1e9, 1e15), &of(2e9, 1e15), &[], job).unwrap();
    let hot = part(&found, &What::Function("hot".into()));
    assert_eq!((hot.change_s, hot.rank), (1.0, None));
    assert_eq!(part(&found, &What::Part(RankPart::Computing)).seconds, [1.0, 1.0]);
    // With hardly any samples it is among the rest.
    let found = Changes::between(&of(1e9, 1e18), &of(2e9, 1e18), &[], job).unwrap();
    assert_eq!((found.parts.len(), part(&found, &What::Part(RankPart::Computing)).change_s), (1, 1.0));
}
