//! Summaries of several nodes say what one look at all ranks says.

use mpitrace_format::layout::{
    AwaitedMessage, PartnerEntry, WAITED_FOR, activity, awaited, communicator_flags, partner, state,
};
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::look::Look;
use super::movement::Movement;
use super::place::Seen;
use super::process::Process;
use super::snapshot::{Partner, Snapshot};
use super::stragglers::Stragglers;
use super::summary::Summary;
use super::waits::Waits;

/// When the ranks are looked at.
const NOW: u64 = 60_000_000_000;

fn look(ranks: &[SyntheticRank]) -> Look {
    let file = tempfile::NamedTempFile::new().unwrap();
    synthetic::write(file.path(), ranks).unwrap();
    let trace = Trace::open(&[file.path()]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let seen = ranks.iter().map(|_| Seen::Lives(Process::default())).collect();
    Look {
        trace,
        operations,
        clock,
        seen,
        starting: Vec::new(),
        lives: true,
        unreadable: Vec::new(),
        is_partial: false,
    }
}

/// The snapshot of ranks that were looked at 5 s ago too.
fn snapshot(look: &Look) -> Snapshot {
    let (mut snapshot, mut movement) = (look.snapshot(), Movement::default());
    movement.add(look, 0.0, &mut snapshot);
    movement.add(look, 5.0, &mut snapshot);
    snapshot
}

/// As another node gets it.
fn summary(look: &Look) -> Summary {
    let mut waits = Waits::default();
    waits.count(look);
    let mut summary = Summary::new(look, &snapshot(look), &waits);
    (summary.nodes, summary.world_size) = (1, Some(look.trace.world_size));
    serde_json::from_str(&serde_json::to_string(&summary).unwrap()).unwrap()
}

fn of_nodes(nodes: &[Look]) -> Summary {
    let mut all = Summary::default();
    nodes.iter().for_each(|node| all.add(summary(node)));
    all
}

/// Of these ranks of six: their places on nodes that share ranks of several communicators.
fn ranks(numbers: &[u32]) -> Vec<SyntheticRank> {
    numbers.iter().map(|&number| rank(number)).collect()
}

/// Ranks 0 and 1 are in an Allreduce and a Bcast at one place of the world, 2 waits for an Ibarrier of "other", where
/// ranks are in reverse order, 3 computes, 4 waits there for a message of 5, which has sent it 3, and 5 for any.
fn rank(number: u32) -> SyntheticRank {
    let mut rank = SyntheticRank::new(number, 6).stamped();
    rank.header.state = state::RUNNING;
    let other = rank.communicator(9, 6, 5 - number, Some("other"));
    let pair = rank.communicator(20 + u64::from(number / 2), 2, number % 2, None);
    let columns = rank.communicator(30 + u64::from(number % 2), 3, number / 2, None);
    let window = rank.communicator(40, 6, number, None);
    rank.is_of(window, communicator_flags::WINDOW, other);
    rank.communicator(50 + u64::from(number), 1, 0, None);
    rank.flag_communicator(window + 1, communicator_flags::SELF);
    let allreduce = rank.operation("MPI_Allreduce", 0, 8);
    rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
    let bcast = rank.operation("MPI_Bcast", 0, 8);
    rank.describe(bcast, Some(1), "MPI_DOUBLE", None);
    let gather = rank.operation("MPI_Allgatherv", columns, 8 * u64::from(number));
    let (ibarrier, barrier) = (rank.operation("MPI_Ibarrier", other, 0), rank.operation("MPI_Barrier", pair, 0));
    for repetition in 0..100 {
        let enter = 1_000_000 * (1 + repetition);
        rank.call(allreduce, enter, enter + 1000);
        rank.call(gather, enter + 2000, enter + 3000);
        rank.call(barrier, enter + 4000, enter + 5000);
    }
    let listed = |partner, tag, flags| AwaitedMessage { partner, tag, flags };
    match number {
        0 => rank.call(allreduce, 200_000_000, 0),
        1 => rank.call(bcast, 300_000_000, 0),
        2 => {
            let request = SyntheticRequest { wait: 7 | WAITED_FOR, ..SyntheticRequest::default() };
            rank.call_with_request(ibarrier, 400_000_000, 0, request);
            rank.enter_function(activity::POINT_TO_POINT, "MPI_Wait");
        }
        4 => {
            rank.enter_function(activity::POINT_TO_POINT, "MPI_Recv");
            rank.times.threads[0].awaits[0] = listed(partner::known(other, 0), 7, awaited::RECEIVE);
        }
        5 => {
            rank.enter_function(activity::POINT_TO_POINT, "MPI_Recv");
            rank.times.threads[0].awaits[0] = listed(partner::any(other), 8, awaited::RECEIVE);
            let to = partner::known(other, 1);
            rank.partners = vec![PartnerEntry { partner: to, messages: 3, ..PartnerEntry::default() }];
        }
        _ => {}
    }
    (rank.header.last_anchor.tick, rank.header.last_anchor.raw_ns) = (NOW, NOW);
    rank
}

#[test]
fn nodes_together_say_what_a_look_at_all_ranks_says() {
    let all = look(&ranks(&[0, 1, 2, 3, 4, 5]));
    let expected = snapshot(&all);
    assert_eq!(expected.communicators.iter().filter(|of| of.name == "window of other").count(), 1);
    let message = expected.ranks[4].messages[0];
    assert_eq!((message.partner, message.sent), (Partner::Rank(5), Some(3)));
    assert_eq!(all.operations.mismatches.len(), 1);
    let layouts: [&[&[u32]]; 6] = [
        &[&[0, 1, 2, 3, 4, 5]],
        &[&[0, 1], &[2, 3], &[4, 5]],
        &[&[4, 5], &[2, 3], &[0, 1]],
        &[&[0, 2, 4], &[1, 3, 5]],
        &[&[5], &[1], &[3], &[0], &[4], &[2]],
        &[&[0, 1, 2, 3], &[4, 5], &[4, 5]],
    ];
    for layout in layouts {
        let nodes: Vec<Look> = layout.iter().map(|numbers| look(&ranks(numbers))).collect();
        let mut view = of_nodes(&nodes).view();
        // Those of MPI_COMM_SELF, in which no rank waits, come last.
        let known = view.snapshot.communicators.len();
        assert_eq!(known, expected.communicators.len() - 6, "{layout:?}");
        view.snapshot.communicators.extend_from_slice(&expected.communicators[known..]);
        assert_eq!(view.snapshot, expected, "{layout:?}");
        assert_eq!(view.mismatched, 1, "{layout:?}");
        // Nodes of a tree add up their own first.
        let (some, others) = nodes.split_at(nodes.len() / 2);
        let mut tree = of_nodes(some);
        let passed_on = serde_json::to_string(&of_nodes(others)).unwrap();
        tree.add(serde_json::from_str(&passed_on).unwrap());
        assert_eq!(tree.view().snapshot.ranks, expected.ranks, "{layout:?}");
    }
}

#[test]
fn a_node_that_comes_twice_counts_once() {
    let nodes = [&[0][..], &[1, 3, 5], &[0]].map(|numbers| look(&ranks(numbers)));
    assert_eq!(of_nodes(&nodes).nodes, 2);
}

/// Rank 3 comes 1 ms after the others to 50 calls of the world, and leaves them with the others.
fn with_a_late_rank(numbers: &[u32]) -> Look {
    let rank = |&number: &u32| {
        let mut rank = SyntheticRank::new(number, 4);
        rank.header.state = state::RUNNING;
        let (allreduce, reduce) = (rank.operation("MPI_Allreduce", 0, 8), rank.operation("MPI_Reduce", 0, 8));
        for repetition in 0..50 {
            let enter = 10_000_000 * (1 + repetition);
            let late = if number == 3 { 1_000_000 } else { 0 };
            rank.call(allreduce, enter + late, enter + 1_010_000);
            rank.call(reduce, enter + 2_000_000 + late, enter + 3_010_000);
        }
        (rank.header.last_anchor.tick, rank.header.last_anchor.raw_ns) = (NOW, NOW);
        rank
    };
    look(&numbers.iter().map(rank).collect::<Vec<_>>())
}

#[test]
fn a_late_rank_of_another_node_is_found_without_clocks() {
    let node = of_nodes(&[with_a_late_rank(&[0, 1, 2, 3])]);
    let nodes = of_nodes(&[with_a_late_rank(&[0, 1]), with_a_late_rank(&[2, 3])]);
    let waiting = Stragglers::default().add(&node, 0.0);
    let exact = waiting.stragglers[0].waiting_s;
    assert!(waiting.since_start && waiting.stragglers[0].rank == 3 && exact > 0.149, "{waiting:?}");
    // Of the 100 positions those that 4 divides, which are Allreduces, and the last 8, of which 2 are others of these.
    let mut stragglers = Stragglers::default();
    let waiting = stragglers.add(&nodes, 0.0);
    let least = 27.0 * (3.0 * 1.01e-3 + 1e-5 - 2.0 * 4.0 * 1e-5);
    let found: Vec<u32> = waiting.stragglers.iter().map(|of| of.rank).collect();
    assert!(!waiting.since_start && found == [3], "{waiting:?}");
    assert!((waiting.stragglers[0].waiting_s - least).abs() < 1e-9, "{waiting:?}, {least}");
    // The same calls count once.
    assert_eq!(stragglers.add(&nodes, 1.0).stragglers[0].waiting_s, waiting.stragglers[0].waiting_s);
    let slowest: Vec<_> = nodes.view().sums.slowest.iter().map(|of| (of.function.clone(), of.median_ns)).collect();
    let both = ["MPI_Reduce", "MPI_Allreduce"].map(|name| (name.to_owned(), 1_010_000.0));
    assert!(both.iter().all(|of| slowest.contains(of)) && slowest.len() == 2, "{slowest:?}");
}

const RANKS: u32 = 64;

/// The activities of the ranks of a large job.
#[derive(Clone, Copy, Debug)]
enum Large {
    /// They are in calls of the world that are up to 32 apart, or between two.
    Moves,
    /// All but one wait in a call of the world.
    Misses,
    /// One of them is in another call there.
    Mismatches,
}

/// The rank that differs.
const DIFFERS: u32 = 77;

/// A node of so many.
fn node_of(job: Large, node: u32, nodes: u32) -> Summary {
    let behind = node * 7919 % 30;
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, RANKS * nodes);
        rank.header.state = state::RUNNING;
        let local = rank.communicator(1 << 32 | u64::from(node), RANKS, number % RANKS, None);
        let (world, barrier) = (rank.operation("MPI_Allreduce", 0, 8), rank.operation("MPI_Barrier", local, 0));
        let bcast = rank.operation("MPI_Bcast", 0, 8);
        let calls = 72 - if matches!(job, Large::Moves) { behind + number * 31 % 3 } else { 0 };
        for call in 0..calls {
            let enter = 1_000_000 * u64::from(1 + call);
            rank.call(world, enter, enter + 100_000);
            rank.call(barrier, enter + 200_000, enter + 210_000);
        }
        let enter = 1_000_000 * u64::from(1 + calls);
        match job {
            Large::Moves if number.is_multiple_of(5) => {}
            Large::Misses if number == DIFFERS => {}
            Large::Mismatches if number == DIFFERS => rank.call(bcast, enter, 0),
            _ => rank.call(world, enter, 0),
        }
        let now = if matches!(job, Large::Moves) { enter + 50_000 } else { NOW };
        (rank.header.last_anchor.tick, rank.header.last_anchor.raw_ns) = (now, now);
        rank
    };
    let look = look(&(RANKS * node..RANKS * (node + 1)).map(rank).collect::<Vec<_>>());
    let (mut snapshot, mut movement, mut waits) = (look.snapshot(), Movement::default(), Waits::default());
    movement.add(&look, 0.0, &mut snapshot);
    movement.add(&look, if matches!(job, Large::Moves) { 0.5 } else { 30.0 }, &mut snapshot);
    waits.count(&look);
    let mut summary = Summary::new(&look, &snapshot, &waits);
    (summary.nodes, summary.world_size, summary.lives) = (1, Some(RANKS * nodes), true);
    summary
}

/// kB of memory for itself, now and at most.
fn memory() -> [u64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    ["RssAnon:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    })
}

/// Reads the looks of a folder as one program does that the nodes of a job send them to.
fn read_all(folder: &std::path::Path) {
    let [before, most_before] = memory();
    let began = std::time::Instant::now();
    let (mut all, mut bytes, mut text) = (Summary::default(), 0, String::new());
    for file in 0..std::fs::read_dir(folder).unwrap().count() {
        text.clear();
        let mut file = std::fs::File::open(folder.join(file.to_string())).unwrap();
        bytes += std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        all.add(serde_json::from_str(&text).unwrap());
    }
    let ([now, most], read_s) = (memory(), began.elapsed().as_secs_f64());
    let passed_on = serde_json::to_string(&all).unwrap().len();
    println!("{bytes} bytes read and added in {read_s:.2} s, {} kB (most {})", now - before, most - most_before);
    println!("{passed_on} bytes are passed on");
    let began = std::time::Instant::now();
    let view = all.view();
    let stuck = super::verdict(&view.snapshot, 10.0).map(|stuck| (stuck.kind, stuck.ranks));
    let ([now, most], view_s) = (memory(), began.elapsed().as_secs_f64());
    println!("verdict in {view_s:.2} s, {} kB (most {}): {stuck:?}", now - before, most - most_before);
    println!("{} mismatches, {} ranks", view.mismatched, view.snapshot.ranks.len());
}

/// Its figures are in docs/developers/measurements/watch_cost.txt. `NODES`: how many.
#[test]
#[ignore = "measures, and takes minutes to make what it reads"]
fn many_nodes() {
    if let Some(folder) = std::env::var_os("SUMMARIES") {
        return read_all(folder.as_ref());
    }
    let nodes = std::env::var("NODES").map_or(10_000, |nodes| nodes.parse().unwrap());
    for job in [Large::Moves, Large::Misses, Large::Mismatches] {
        let folder = tempfile::tempdir().unwrap();
        for node in 0..nodes {
            let text = serde_json::to_string(&node_of(job, node, nodes)).unwrap();
            std::fs::write(folder.path().join(node.to_string()), text).unwrap();
        }
        println!("{job:?}, {nodes} nodes");
        let mut reader = std::process::Command::new(std::env::current_exe().unwrap());
        reader.args(["--exact", "--ignored", "--nocapture", "summary_tests::many_nodes"]);
        assert!(reader.env("SUMMARIES", folder.path()).status().unwrap().success());
    }
}
