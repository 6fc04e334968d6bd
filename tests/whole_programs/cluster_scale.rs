//! Many ranks on the virtual cluster, and what they ask of the folder that the nodes share.

use crate::cluster;
use crate::support::{Case, Launch, On, Outcome, Test, build, tiers};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

const fn test(name: &'static str, run: fn(&Case)) -> Test {
    Test::new(name, run).where_permitted(cluster::permitted)
}

pub const TESTS: &[Test] = &[
    test("of_64_ranks_on_16_nodes_gives_one_trace", |case| one_trace(case, 16, 4))
        .on(On::Only(&["mpich5"]))
        .second_tier()
        .alone(),
    // With 32 ranks for each of two processors that do something else as well, Open MPI fails without the tracer: a
    // connection is not made in time, and ranks end by a segmentation fault of the library.
    Test::new("of_64_ranks_on_16_nodes_gives_one_trace_where_nothing_else_runs", |case| one_trace(case, 16, 4))
        .where_permitted(idle_cluster)
        .on(On::Only(&["ompi4", "ompi5"]))
        .second_tier()
        .alone(),
    // The libraries but MPICH 5 do not start so many on two processors.
    test("of_256_ranks_on_16_nodes_gives_one_trace", |case| one_trace(case, 16, 16))
        .on(On::Only(&["mpich5"]))
        .second_tier()
        .alone(),
    test("asks_the_shared_folder_for_a_few_things_by_node_and_none_by_rank", |case| {
        operations(case, 2, 1);
        operations(case, 3, 2);
    })
    .on(On::Only(&["ompi4", "mpich5"]))
    .second_tier(),
    test("asks_the_shared_folder_for_no_more_with_many_ranks", |case| {
        operations(case, 16, 4);
        operations(case, 16, 16);
    })
    .on(On::Only(&["mpich5"]))
    .second_tier()
    .alone(),
];

fn idle_cluster() -> Result<(), String> {
    if !tiers::is_idle() {
        return Err("for `tests/run.sh --soak idle`, where nothing else runs".to_owned());
    }
    cluster::permitted()
}

/// 256 ranks that share two processors take a minute and a half.
const LIMIT: Duration = Duration::from_secs(400);

/// So many nodes, with so many ranks each.
#[derive(Clone, Copy)]
struct Layout {
    nodes: u32,
    by_node: u32,
}

impl Layout {
    fn ranks(self) -> u32 {
        self.nodes * self.by_node
    }

    /// `counts.c`, as libraries run it where ranks wait for processors.
    fn launch<'c>(self, case: &'c Case) -> Launch<'c> {
        case.launch(self.ranks(), "counts.c")
            .set("OMPI_MCA_mpi_yield_when_idle", "1")
            .set("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
            .set("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
            .within(LIMIT)
    }

    fn run(self, case: &Case, launch: Launch<'_>) -> Outcome {
        let step = cluster::srun(case, &[&format!("-N{}", self.nodes), &format!("--ntasks-per-node={}", self.by_node)]);
        let cluster: [OsString; 1] = [format!("NODES={}", self.nodes).into()];
        cluster::run_on(case, &cluster, &step, launch)
    }
}

fn one_trace(case: &Case, nodes: u32, by_node: u32) {
    let layout = Layout { nodes, by_node };
    let plain = layout.run(case, layout.launch(case));
    let traced = layout.run(case, layout.launch(case).trace());
    cluster::assert_same(&traced, &plain, layout.ranks() as usize);
    let info = traced.trace.info();
    let ranks = u64::from(layout.ranks());
    assert_eq!(
        (info.complete, info.ranks, info.records, info.dropped),
        (true, ranks, 66 * ranks, 0),
        "{}",
        traced.stderr
    );
    assert!(info.hosts.len() as u32 == nodes && info.hosts.values().all(|ranks| ranks.len() as u32 == by_node));
    let (code, clock) = traced.trace.clock();
    assert_eq!((code, clock.method.as_str()), (0, "joint"), "{clock:?}");
    assert_eq!(clock.domains.len() as u32, nodes, "{clock:?}");
    assert!(clock.causality.checked > 0 && clock.causality.violated == 0, "{clock:?}");
    assert_one_line(&traced);
    assert_eq!(cluster::traces(case).len(), 1);
    cluster::assert_nothing_left(case);
}

/// Where ranks wait for processors, meetings of the clocks while the program runs may be missed, which a line says.
#[track_caller]
fn assert_one_line(traced: &Outcome) {
    let lines = traced.lines_with("mpitrace: ").into_iter().filter(|line| !line.contains("were abandoned"));
    assert_eq!(lines.count(), 1, "{}", traced.stderr);
}

/// The requests of all ranks together to the shared folder, by kind.
fn asked(case: &Case, layout: Layout) -> BTreeMap<String, u64> {
    let Layout { nodes, by_node } = layout;
    let shared = case.folder.join(format!("shared{nodes}x{by_node}"));
    fs::create_dir(&shared).expect("a folder for the trace");
    let counted = case.folder.join(format!("counted{nodes}x{by_node}"));
    let counter = build::shared_library(case.mpi, "count_files.c");
    let launch = layout.launch(case).preload(counter).set("COUNT_BELOW", &shared).set("COUNT_INTO", &counted);
    let traced = layout.run(case, launch.trace().set("MPITRACE_OUTPUT", shared.join("trace.mpitrace")));
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    assert_one_line(&traced);
    let left: Vec<_> = fs::read_dir(&shared).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["trace.mpitrace"]);
    let text = fs::read_to_string(counted).expect("what the ranks have counted");
    assert_eq!(text.lines().count() as u32, layout.ranks(), "a line of each rank");
    let listing = text.lines().filter(|line| !line.contains(" list-nodes 0 ")).count();
    assert_eq!(listing, 1, "one rank lists the files of all nodes\n{text}");
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        for pair in words.chunks_exact(2) {
            *sums.entry(pair[0].to_owned()).or_default() += pair[1].parse::<u64>().expect("a number");
        }
    }
    sums
}

/// The formula of docs/developers/cluster.md holds. How often a node looks for the others depends on how
/// long it waits for them: the other kinds are not in it.
fn operations(case: &Case, nodes: u32, by_node: u32) {
    let layout = Layout { nodes, by_node };
    let trace = case.folder.join(format!("shared{nodes}x{by_node}/trace.mpitrace"));
    let asked = asked(case, layout);
    let of = |kind: &str| *asked.get(kind).unwrap_or_else(|| panic!("no {kind} in {asked:?}"));
    let (nodes, ranks) = (u64::from(nodes), u64::from(layout.ranks()));
    for (kind, expected) in [("open", nodes - 1), ("sync", nodes + 1), ("link", 1), ("rename", 0), ("bytes-read", 0)] {
        assert_eq!(of(kind), expected, "{kind}: {asked:?}");
    }
    // A node whose ranks did not all begin before its first was ready says twice how many it has.
    let by_node = [("create", 2), ("mkdir", 2), ("symlink", 2), ("unlink", 6), ("rmdir", 3)];
    for (kind, most) in by_node.map(|(kind, times)| (kind, times * nodes + 1)) {
        assert!(of(kind) <= most, "{kind}: {asked:?}");
    }
    // Of the owners: of each count, and of the answer.
    assert!(of("stat") <= 2 + 3 * nodes && of("resize") == 0, "{asked:?}");
    // Parts are written to whole pages of 4096 bytes, and so is the table of 24 bytes a rank behind the header of 56.
    let size = fs::metadata(trace).expect("the trace").len();
    assert!(of("bytes-written") <= size, "{asked:?}");
    println!("{nodes} nodes, {ranks} ranks: {asked:?}");
}
