//! Fortran by its three bindings, and Python: each reaches the library by other symbols.

use crate::support::want::WORLD;
use crate::support::{Case, On, TARGET, Test, companion, root, want};

pub const TESTS: &[Test] = &[
    Test::new("fortran_with_mpif_h", |case| fortran(case, "fortran_mpif.f90")).on(On::Fortran),
    Test::new("fortran_with_use_mpi", |case| fortran(case, "fortran_use_mpi.f90")).on(On::Fortran),
    Test::new("fortran_with_use_mpi_f08", |case| fortran(case, "fortran_f08.f90")).on(On::Fortran08),
    Test::new("python_with_mpi4py", python).on(On::Python),
    Test::new("python_marks_regions", regions).on(On::Python).first_on(&["mpich5"]),
    Test::new("mpi4py_passes_skips_and_fails_the_same_tests", suite).on(On::Python).second_tier().alone(),
];

/// The version that tests/mpi/install.sh fetches.
const SUITE: &str = "mpi/mpi4py-4.1.2/test";

fn fortran(case: &Case, program: &str) {
    let double = |function, bytes| want(function, WORLD, 3).of(bytes, "MPI_DOUBLE_PRECISION");
    let integer = |function, bytes| want(function, WORLD, 3).of(bytes, "MPI_INTEGER");
    case.traced(3, program).info().assert_is(&[
        double("MPI_Allreduce", 32).by("MPI_SUM").times(20),
        integer("MPI_Bcast", 12).root(0).times(10),
        want("MPI_Barrier", WORLD, 3).times(3),
        integer("MPI_Allgather", 8).times(4),
        double("MPI_Reduce", 8).by("MPI_MAX").root(0).times(5),
        integer("MPI_Scatter", 4).root(0).times(6),
        want("MPI_Allreduce", "reversed", 3).of(16, "MPI_DOUBLE_PRECISION").by("MPI_MIN").times(7),
    ]);
}

/// mpi4py opens the library at run time, and calls MPI_Allreduce_c wherever that exists: the plain name is recorded.
fn python(case: &Case) {
    let on_world = |function, bytes, datatype| want(function, WORLD, 3).of(bytes, datatype);
    case.traced(3, "collectives.py").info().assert_is(&[
        on_world("MPI_Allreduce", 32, "MPI_DOUBLE").by("MPI_SUM").times(20),
        on_world("MPI_Bcast", 12, "MPI_INT").root(0).times(10),
        want("MPI_Barrier", WORLD, 3).times(3),
        on_world("MPI_Alltoall", 4, "MPI_INT").times(5),
        on_world("MPI_Alltoallv", 12, "MPI_INT").times(4),
        on_world("MPI_Alltoallw", 12, "any").times(2),
        on_world("MPI_Allgatherv", 3, "MPI_BYTE").times(6),
        on_world("MPI_Gatherv", 3, "MPI_BYTE").root(1).times(7),
        on_world("MPI_Scatterv", 6, "MPI_BYTE").root(1).times(8),
        on_world("MPI_Reduce_scatter", 48, "MPI_DOUBLE").by("MPI_MAX").times(9),
        on_world("MPI_Scan", 8, "MPI_DOUBLE").by("MPI_SUM").times(11),
        want("MPI_Allreduce", "from python", 3).of(16, "MPI_DOUBLE").by("MPI_MAX").times(12),
    ]);
}

/// The package's context manager, which does nothing without the tracer.
fn regions(case: &Case) {
    let module = root().join("python/mpitrace/_region.py");
    let launch = || case.launch(2, "regions.py").arg(&module);
    let (plain, traced) = (launch().run(), launch().trace().run());
    traced.same_as(&plain);
    assert_eq!(traced.stdout, "left by 2\n");
    let info =
        companion::json(&companion::mpitrace(&["info".as_ref(), traced.trace.path.as_os_str(), "--json".as_ref()]));
    let repetitions = |name: &str| {
        let operations = info["operations"].as_array().unwrap();
        let found = operations.iter().find(|operation| operation["function"] == name);
        found.map(|operation| operation["repetitions"].as_u64().unwrap())
    };
    assert_eq!(["step", "reduce", "fails"].map(repetitions), [Some(3), Some(3), Some(1)], "{info:#}");
}

/// mpi4py's own tests of collectives; with MPI4PY_WHOLE_SUITE=1 all but those that start processes. mpi4py takes every
/// symbol that it finds for a function that works.
fn suite(case: &Case) {
    let whole = std::env::var_os("MPI4PY_WHOLE_SUITE").is_some_and(|value| value == "1");
    let patterns: &[&str] = match (whole, case.mpi.name) {
        (true, _) => &["test_"],
        // Intel's standard ABI ends the process in the one that is left out here (_cco_obj), tracer or not.
        (_, "impi-abi") => &["_cco_buf", "_cco_nb", "_cco_ngh", "_cco_pr", "_cco_vec", "_comm", "_request", "_p2p_buf"],
        _ => &["_cco", "_comm", "_request", "_p2p", "_rma", "_session"],
    };
    let launch = || {
        let launch = case.launch(2, "mpi4py_suite.py").arg(TARGET.join(SUITE));
        patterns.iter().fold(launch, |launch, pattern| launch.arg(*pattern))
    };
    let plain = launch().run();
    assert!(plain.stdout.contains(" tests\n"), "{}{}", plain.stdout, plain.stderr);
    // With messages counted private statuses stand in for those that the suite does not want.
    let traced = launch().trace().set("MPITRACE_EVENTS", "messages").run();
    traced.same_as(&plain);
    let info = traced.trace.info_of_all();
    assert!(info.records > 1000, "the suite's calls are recorded");
    assert!(info.mismatches.is_empty(), "all of its calls belong together: {:#?}", info.mismatches);
}
