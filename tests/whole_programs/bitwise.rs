//! Results are bit by bit the same with and without the tracer, from every language and binding; and the trace shows
//! that each call came by.

use crate::support::{Case, On, Test, Want, want};

pub const TESTS: &[Test] = &[
    Test::new("in_c_are_results_and_statuses_the_same", c).first_on(&["mpich5"]),
    Test::new("with_registers_whose_upper_halves_are_in_use_are_results_the_same", halves).second_tier(),
    Test::new("by_mpif_h_are_results_and_statuses_the_same", |case| fortran(case, "bitwise_mpif.F90"))
        .on(On::Fortran)
        .second_tier(),
    Test::new("by_use_mpi_are_results_and_statuses_the_same", |case| fortran(case, "bitwise_use_mpi.F90"))
        .on(On::Fortran)
        .second_tier(),
    Test::new("by_use_mpi_f08_are_results_and_statuses_the_same", |case| fortran(case, "bitwise_f08.F90"))
        .on(On::Fortran08)
        .second_tier(),
];

/// The calls of a part of a program, on so many ranks.
type Part = fn(u64, &Kinds) -> Vec<Want>;

/// How a binding calls its data types.
struct Kinds {
    double: &'static str,
    /// A section of an array: some bindings hand it on as a type of their own, some copy it.
    section: &'static str,
}

/// Runs the program without and with the tracer, also where it asks for statuses that the program ignores.
fn check(case: &Case, ranks: u32, program: &str, argument: Option<&str>, wants: &[Want]) {
    let launch = || {
        let launch = case.launch(ranks, program);
        argument.into_iter().fold(launch, |launch, argument| launch.arg(argument))
    };
    let plain = launch().run();
    for events in EVENTS {
        let traced = launch().trace().set("MPITRACE_EVENTS", events).run();
        traced.same_as(&plain);
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        traced.trace.info().assert_is(wants);
        let open = traced.trace.dump(&[]).into_iter().filter(|row| row.exit_ns.is_none()).count();
        assert_eq!(open, 0, "every call was found complete");
    }
}

/// The values of MPITRACE_EVENTS: nothing, and what makes the tracer look at messages too.
const EVENTS: [&str; 2] = ["", "messages"];

fn halves(case: &Case) {
    let int = |function| want(function, "halves", 2).of(16, "MPI_INT");
    let wants = [
        want("MPI_Bcast", "halves", 2).of(12, "MPI_INT").root(1),
        int("MPI_Allreduce").by("MPI_SUM"),
        want("MPI_Gather", "halves", 2).of(8, "MPI_INT").root(1),
        want("MPI_Allreduce", "part", 2).of(16, "MPI_INT").by("MPI_MAX"),
        int("MPI_Iallreduce").by("MPI_SUM").times(4),
    ];
    check(case, 2, "halves.c", None, &wants);
}

fn c(case: &Case) {
    let kinds = Kinds { double: "MPI_DOUBLE", section: "MPI_DOUBLE" };
    // Intel MPI 2021 ends with SIGSEGV in MPI_Scatter of columns by its standard interface, without the tracer too.
    let argument = (case.mpi.name == "impi-abi").then_some("no-scatter");
    for ranks in [2, 4] {
        let parts: [Part; 8] = [bottom, in_place, statuses, operators, derived, shares, mistakes, two_sides];
        let mut wants = parts.map(|part| part(ranks.into(), &kinds)).concat();
        wants.retain(|want| argument.is_none() || want.function != "MPI_Scatter" || want.communicator != "derived");
        check(case, ranks, "bitwise.c", argument, &wants);
    }
}

/// Every collective that the binding offers, first without MPI_IN_PLACE and then the non-blocking form with it.
fn fortran(case: &Case, program: &str) {
    // MPICH's mpi_f08 knows of sections.
    let section =
        if case.mpi.library == "MPICH" && program.contains("f08") { "derived" } else { "MPI_DOUBLE_PRECISION" };
    let kinds = Kinds { double: "MPI_DOUBLE_PRECISION", section };
    let less = case.mpi.name == "impi-abi";
    for ranks in [2, 4] {
        let parts: &[Part] = if less {
            &[fortran_every_kind, fortran_statuses, fortran_types]
        } else {
            &[fortran_every_kind, fortran_bottom, fortran_statuses, fortran_types, fortran_two_sides]
        };
        let wants: Vec<Want> = parts.iter().flat_map(|part| part(ranks.into(), &kinds)).collect();
        check(case, ranks, program, less.then_some("less"), &wants);
    }
}

fn bottom(ranks: u64, _: &Kinds) -> Vec<Want> {
    let on = |function, bytes| want(function, "bottom", ranks).of(bytes, "derived");
    // In these each side names a type of its own.
    let mixed = |function| want(function, "bottom", ranks).of(5 * 8, "any");
    vec![
        on("MPI_Bcast", 5 * 8).root(0),
        on("MPI_Ibcast", 5 * 8).root(1),
        mixed("MPI_Gather").root(0),
        mixed("MPI_Scatter").root(0),
        mixed("MPI_Iallgather"),
        on("MPI_Alltoallw", ranks * 5 * 8),
        on("MPI_Ialltoallw", ranks * 5 * 8),
    ]
}

/// Blocks of two doubles. What a rank contributes to a v-variant lies in place.
fn in_place(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    in_place_on("in place", 0, ranks, kinds)
}

fn in_place_on(communicator: &'static str, root: i64, ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let on = |function, blocks| want(function, communicator, ranks).of(16 * blocks, kinds.double);
    vec![
        on("MPI_Igather", 1).root(root),
        on("MPI_Igatherv", 1).root(root),
        on("MPI_Iscatter", 1).root(root),
        on("MPI_Iscatterv", ranks).root(root),
        on("MPI_Iallgather", 1),
        on("MPI_Iallgatherv", 1),
        on("MPI_Ialltoall", 1),
        on("MPI_Ialltoallv", ranks),
        on("MPI_Ialltoallw", ranks),
        on("MPI_Ireduce", 1).by("MPI_SUM").root(root),
        on("MPI_Iallreduce", 1).by("MPI_SUM"),
        on("MPI_Ireduce_scatter_block", 1).by("MPI_SUM"),
        on("MPI_Ireduce_scatter", ranks).by("MPI_SUM"),
        on("MPI_Iscan", 1).by("MPI_SUM"),
        on("MPI_Iexscan", 1).by("MPI_SUM"),
    ]
}

/// A reduction of five doubles and a barrier, completed in eight ways.
fn statuses_on(communicators: [&'static str; 2], ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let both = |communicator| {
        let on = |function| want(function, communicator, ranks).times(8);
        [on("MPI_Iallreduce").of(40, kinds.double).by("MPI_SUM"), on("MPI_Ibarrier")]
    };
    communicators.into_iter().flat_map(both).collect()
}

fn statuses(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    statuses_on(["statuses", "statuses ignored"], ranks, kinds)
}

/// Matrices of four doubles; in MPI_Reduce_scatter two for each odd rank and one for each even.
fn operators(ranks: u64, _: &Kinds) -> Vec<Want> {
    let on = |function, matrices| want(function, "operators", ranks).of(32 * matrices, "derived").by("user");
    vec![
        on("MPI_Reduce", 3).root(0),
        on("MPI_Allreduce", 3),
        on("MPI_Reduce_scatter_block", 2),
        on("MPI_Reduce_scatter", ranks / 2 * 3),
        on("MPI_Scan", 3),
        on("MPI_Exscan", 3),
        on("MPI_Iallreduce", 3),
        on("MPI_Iscan", 3),
        on("MPI_Ireduce", 3).root(1),
    ]
}

/// Columns of as many doubles as there are ranks, six doubles in a corner, pairs of a double and three ints.
fn derived(ranks: u64, _: &Kinds) -> Vec<Want> {
    let on = |function, bytes| want(function, "derived", ranks).of(bytes, "any");
    vec![
        on("MPI_Alltoall", 8 * ranks),
        on("MPI_Bcast", 6 * 8).root(0),
        on("MPI_Ibcast", 6 * 8).root(0),
        on("MPI_Gather", 8 * ranks).root(1),
        on("MPI_Iallgather", 2 * (8 + 3 * 4)),
        on("MPI_Scatter", 8 * ranks).root(0),
    ]
}

/// Rank r's share is r doubles; in MPI_Alltoallv it sends (r + q) mod 3 to rank q.
fn shares(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let all_shares = ranks * (ranks - 1) / 2;
    let most_sent = (0..ranks).map(|r| (0..ranks).map(|q| (r + q) % 3).sum()).max().unwrap_or(0);
    let mut wants = Vec::new();
    for [gatherv, scatterv, allgatherv, alltoallv, reduce_scatter] in [
        ["MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Alltoallv", "MPI_Reduce_scatter"],
        ["MPI_Igatherv", "MPI_Iscatterv", "MPI_Iallgatherv", "MPI_Ialltoallv", "MPI_Ireduce_scatter"],
    ] {
        let on = |function, doubles: u64| want(function, "shares", ranks).of(8 * doubles, kinds.double);
        wants.extend([
            on(gatherv, ranks - 1).root(1),
            on(scatterv, all_shares).root(1),
            on(allgatherv, ranks - 1),
            on(alltoallv, most_sent),
            on(reduce_scatter, all_shares).by("MPI_SUM"),
        ]);
    }
    wants
}

/// The mistakes are not in the trace, and the calls after them are.
fn mistakes(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let good = |communicator| want("MPI_Allreduce", communicator, ranks).of(40, kinds.double).by("MPI_SUM");
    vec![good("handled"), good("returning")]
}

/// Half of the ranks on each side. The r-th of a side has a share of r + 1 doubles, and sends one to each of the other
/// side in MPI_Alltoallv. The root is rank 0 of the one side.
fn two_sides(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let half = ranks / 2;
    let all_shares = half * (half + 1) / 2;
    let on = |function, doubles| want(function, "two sides", ranks).of(8 * doubles, kinds.double);
    let rooted = |function, doubles| on(function, doubles).root(0);
    let sum = |function, doubles| on(function, doubles).by("MPI_SUM");
    vec![
        want("MPI_Barrier", "two sides", ranks),
        rooted("MPI_Bcast", 5),
        rooted("MPI_Gather", 2),
        rooted("MPI_Gatherv", all_shares),
        rooted("MPI_Scatter", 2),
        rooted("MPI_Scatterv", all_shares),
        rooted("MPI_Reduce", 5).by("MPI_SUM"),
        on("MPI_Allgather", 2),
        on("MPI_Allgatherv", half),
        on("MPI_Alltoall", 2),
        on("MPI_Alltoallv", half),
        on("MPI_Alltoallw", half),
        sum("MPI_Allreduce", 5),
        sum("MPI_Reduce_scatter_block", 2),
        sum("MPI_Reduce_scatter", all_shares),
        want("MPI_Ibarrier", "two sides", ranks),
        rooted("MPI_Ibcast", 5),
        rooted("MPI_Igather", 2),
        rooted("MPI_Iscatterv", all_shares),
        rooted("MPI_Ireduce", 5).by("MPI_SUM"),
        sum("MPI_Iallreduce", 5),
        on("MPI_Ialltoall", 2),
    ]
}

/// Blocks of two or five doubles, and rank r's share is r + 1. On the ring each rank sends to two.
fn fortran_every_kind(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let all_shares = ranks * (ranks + 1) / 2;
    let on = |function, doubles| want(function, "blocking", ranks).of(8 * doubles, kinds.double);
    let rooted = |function, doubles| on(function, doubles).root(1);
    let sum = |function, doubles| on(function, doubles).by("MPI_SUM");
    let mut wants = vec![
        want("MPI_Barrier", "blocking", ranks),
        rooted("MPI_Bcast", 5),
        rooted("MPI_Gather", 2),
        rooted("MPI_Gatherv", ranks),
        rooted("MPI_Scatter", 2),
        rooted("MPI_Scatterv", all_shares),
        on("MPI_Allgather", 2),
        on("MPI_Allgatherv", ranks),
        on("MPI_Alltoall", 2),
        on("MPI_Alltoallv", 2 * ranks),
        on("MPI_Alltoallw", 2 * ranks),
        rooted("MPI_Reduce", 5).by("MPI_SUM"),
        sum("MPI_Allreduce", 5),
        sum("MPI_Reduce_scatter_block", 2),
        sum("MPI_Reduce_scatter", all_shares),
        sum("MPI_Scan", 5),
        sum("MPI_Exscan", 5),
    ];
    let started = |function| want(function, "non-blocking", ranks);
    wants.extend([started("MPI_Ibarrier"), started("MPI_Ibcast").of(40, kinds.double).root(1)]);
    wants.extend(in_place_on("non-blocking", 1, ranks, kinds));
    for [allgather, allgatherv, alltoall, alltoallv, alltoallw] in [
        [
            "MPI_Neighbor_allgather",
            "MPI_Neighbor_allgatherv",
            "MPI_Neighbor_alltoall",
            "MPI_Neighbor_alltoallv",
            "MPI_Neighbor_alltoallw",
        ],
        [
            "MPI_Ineighbor_allgather",
            "MPI_Ineighbor_allgatherv",
            "MPI_Ineighbor_alltoall",
            "MPI_Ineighbor_alltoallv",
            "MPI_Ineighbor_alltoallw",
        ],
    ] {
        let on = |function, blocks: u64| want(function, "ring", ranks).of(16 * blocks, kinds.double);
        wants.extend([on(allgather, 1), on(allgatherv, 1), on(alltoall, 1), on(alltoallv, 2), on(alltoallw, 2)]);
    }
    wants
}

fn fortran_bottom(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let mut wants = bottom(ranks, kinds);
    wants.truncate(6);
    // MPI_Scatter.
    wants.remove(3);
    wants
}

fn fortran_statuses(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    statuses_on(["real", "ignored"], ranks, kinds)
}

/// Matrices of four doubles, columns of as many doubles as there are ranks, a section of six doubles; and after
/// mistakes.
fn fortran_types(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let matrices = |function| want(function, "operators", ranks).of(96, "derived").by("user");
    let on = |function, bytes, datatype| want(function, "derived", ranks).of(bytes, datatype);
    vec![
        matrices("MPI_Allreduce"),
        matrices("MPI_Scan"),
        matrices("MPI_Ireduce").root(1),
        on("MPI_Alltoall", 8 * ranks, kinds.double),
        on("MPI_Ibcast", 8 * ranks, "derived").root(1),
        on("MPI_Bcast", 48, kinds.section).root(0),
        want("MPI_Allreduce", "mistakes", ranks).of(40, kinds.double).by("MPI_SUM").times(2),
    ]
}

fn fortran_two_sides(ranks: u64, kinds: &Kinds) -> Vec<Want> {
    let on = |function| want(function, "two sides", ranks).of(40, kinds.double);
    vec![
        want("MPI_Barrier", "two sides", ranks),
        on("MPI_Bcast").root(0),
        on("MPI_Reduce").root(0).by("MPI_SUM"),
        on("MPI_Iallreduce").by("MPI_SUM"),
    ]
}
