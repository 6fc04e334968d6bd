//! Programs whose calls are unusual: large counts, large sequence numbers, attribute callbacks that
//! free handles, many ranks on few processors.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Test, Trace, want};
use mpitrace_format::layout::{CommunicatorEntry, OperationEntry, Region, SegmentHeader};
use std::fs::{self, File, OpenOptions};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// One of either family: the tracer's part of it is the same on all.
const EITHER: On = On::Only(&["ompi4", "mpich4"]);

pub const TESTS: &[Test] = &[
    Test::new("of_2_gib_and_more_have_their_sizes", large_counts),
    Test::new("beyond_2_to_the_32_are_matched", long_run).on(EITHER),
    Test::new("whose_attribute_callbacks_free_handles_are_not_mistaken", attributes),
    Test::new("of_64_ranks_on_few_processors_are_all_there", many_ranks).on(EITHER).second_tier().alone(),
];

fn large_counts(case: &Case) {
    let trace = case.traced(1, "large_counts.c");
    let on_self = |function, bytes, datatype| want(function, "MPI_COMM_SELF", 1).of(bytes, datatype).root(0);
    let mut wants = vec![
        on_self("MPI_Bcast", 1 << 32, "derived").times(3),
        on_self("MPI_Bcast", 8 << 30, "derived").times(4),
        on_self("MPI_Bcast", (1 << 31) - 1, "MPI_CHAR"),
        on_self("MPI_Ibcast", 6 << 30, "derived"),
    ];
    // The header of Open MPI is one of MPI 3.1.
    if !case.mpi.name.starts_with("ompi") {
        let reduce = want("MPI_Allreduce", "MPI_COMM_SELF", 1).of(1 << 33, "MPI_DOUBLE").by("MPI_SUM");
        wants.extend([
            on_self("MPI_Bcast", (1 << 31) + 8, "MPI_CHAR").times(5),
            reduce,
            want("MPI_Allgatherv", "MPI_COMM_SELF", 1).of((1 << 32) + 24, "MPI_CHAR"),
            on_self("MPI_Ibcast", (1 << 33) + 1, "MPI_CHAR"),
        ]);
    }
    trace.info().assert_is(&wants);
}

/// So many calls are taken to have gone by on each communicator and of each operation: the fifth after them is number
/// 2^32 on the communicator that has had three.
const GONE_BY: u64 = (1 << 32) - 8;

/// The counters of a rank's live records, as the layout has them, say that many more calls have gone by.
fn add_calls(segment: &Path) {
    let file = OpenOptions::new().read(true).write(true).open(segment).expect("a segment");
    let mut bytes = vec![0; size_of::<SegmentHeader>()];
    file.read_exact_at(&mut bytes, 0).expect("a header");
    let header: SegmentHeader = bytemuck::pod_read_unaligned(&bytes);
    let add = |table: &Region, entry: usize, field: usize| {
        for index in 0..table.used {
            add_to(&file, table.offset + index * entry as u64 + field as u64);
        }
    };
    add(&header.communicators, size_of::<CommunicatorEntry>(), offset_of!(CommunicatorEntry, calls));
    add(&header.operations, size_of::<OperationEntry>(), offset_of!(OperationEntry, calls));
}

fn add_to(file: &File, place: u64) {
    let mut word = [0; 8];
    file.read_exact_at(&mut word, place).expect("a counter");
    let value = u64::from_ne_bytes(word);
    if value > 0 {
        file.write_all_at(&(value + GONE_BY).to_ne_bytes(), place).expect("a counter");
    }
}

/// long_run.c, whose counters are set in its pause: the trace and the program's result.
fn paused_run(case: &Case) -> Trace {
    let file = |name: &str| case.folder.join(name);
    fs::write(file("plain.go"), "").expect("a file");
    let plain = case.launch(2, "long_run.c").arg(file("plain")).run();
    let launch = case.launch(2, "long_run.c").arg(file("traced"));
    let launch = launch.set("MPITRACE_CAPACITY", "40").trace();
    let traced = scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            while !file("traced.ready").exists() && started.elapsed() < Duration::from_secs(100) {
                sleep(Duration::from_millis(2));
            }
            let segments = case.segments.left();
            let segments = segments.iter().map(|name| case.segments.0.join(name)).filter(|path| path.is_file());
            let of_ranks: Vec<_> = segments
                .filter(|path| fs::metadata(path).is_ok_and(|found| found.len() > size_of::<SegmentHeader>() as u64))
                .collect();
            of_ranks.iter().for_each(|path| add_calls(path));
            fs::write(file("traced.go"), "").expect("a file");
            assert_eq!(of_ranks.len(), 2, "live records of both ranks: {of_ranks:?}");
        });
        launch.run()
    });
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    traced.trace
}

/// Nothing is left out between two calls that are kept, as in a run that has made so many calls.
fn long_run(case: &Case) {
    let trace = paused_run(case);
    let info = trace.info();
    assert_eq!(info.operations.len(), 3, "{:#?}", info.operations);
    let all = trace.info_of_all();
    // What went by counts as not kept; the first ten calls were paused.
    assert_eq!((all.records, all.dropped, all.complete), (2 * 61, 2 * 4 * GONE_BY, true));
    for operation in &info.operations {
        for rank in 0..2 {
            let (returned, not) = trace.repetitions(operation.operation, rank);
            assert!(not.is_empty(), "{not:?}");
            let last = 3 + GONE_BY + 19;
            assert!(returned.len() == 20 && returned.ends_with(&[last - 1, last]), "{returned:?}");
            let first = last + 1 - returned.len() as u64;
            assert!(returned.iter().copied().eq(first..=last), "without a gap up to the last: {returned:?}");
        }
        // What both ranks kept is matched.
        let matched = trace.categorize(&["--operation", &operation.operation.to_string()]);
        assert_eq!(matched[0].repetitions, operation.repetitions, "{operation:?}");
        assert!(operation.repetitions == 20, "{operation:?}");
        // Without the first repetition the start of the warm-up is not known.
        let counts = &matched[0].counts;
        assert_eq!((counts.first, counts.warmup, counts.outlier + counts.good), (0, 0, 20), "{operation:?}");
        assert_eq!((matched[0].first_repetition, matched[0].warmup_end), (3 + GONE_BY, None), "{operation:?}");
    }
}

fn attributes(case: &Case) {
    let of = |communicator, bytes| want("MPI_Bcast", communicator, 2).of(bytes, "derived").root(0);
    let double = |communicator| want("MPI_Allreduce", communicator, 1).of(8, "MPI_DOUBLE").by("MPI_SUM");
    let mut wants = Vec::new();
    for _ in 0..10 {
        // On the communicator of the round: the first type and the one made in its place, and the one of the copy.
        wants.extend([of(NUMBERED, 32).times(2), of(NUMBERED, 128)]);
        for _ in 0..2 {
            wants.extend([double(NUMBERED), want("MPI_Barrier", NUMBERED, 1)]);
        }
    }
    case.traced(2, "attributes.c").info().assert_is_in_any_order(&wants);
}

/// The first messages of 64 ranks on two processors take their time.
fn many_ranks(case: &Case) {
    let limit = Duration::from_secs(400);
    let plain = case.launch(64, "counts.c").within(limit).run();
    let traced = case.launch(64, "counts.c").within(limit).trace().run();
    traced.same_as(&plain);
    let calls = |communicator, ranks, root| {
        [
            want("MPI_Allreduce", communicator, ranks).of(64, "MPI_DOUBLE").by("MPI_SUM").times(20),
            want("MPI_Bcast", communicator, ranks).of(16, "MPI_INT").root(root).times(10),
            want("MPI_Barrier", communicator, ranks).times(3),
        ]
    };
    traced.trace.info().assert_is(&[calls(WORLD, 64, 1), calls(NUMBERED, 32, 0), calls(NUMBERED, 32, 0)].concat());
}
