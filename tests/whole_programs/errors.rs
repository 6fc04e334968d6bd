//! A program's mistakes come back to it as they would without the tracer.

use crate::support::want::WORLD;
use crate::support::{Case, Test};

pub const TESTS: &[Test] = &[Test::new("that_mpi_returns_are_the_same", same_classes)];

fn same_classes(case: &Case) {
    let info = case.traced(2, "errors.c").info();
    let good = info.operations.iter().find(|operation| {
        let kind = (operation.function.as_str(), operation.communicator.as_str(), operation.bytes);
        kind == ("MPI_Allreduce", WORLD, 8) && operation.reduction.as_deref() == Some("MPI_SUM")
    });
    let good = good.unwrap_or_else(|| panic!("no Allreduce among {:#?}", info.operations));
    assert_eq!((good.repetitions, good.ranks), (5, 2), "{good:?}");
}
