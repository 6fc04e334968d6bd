//! Calls that the library makes on its own behalf are not the program's.

use crate::support::want::WORLD;
use crate::support::{Case, Test, want};

pub const TESTS: &[Test] =
    &[Test::new("of_files_and_windows_only_the_program_s_own_calls_are_recorded", files_and_windows)];

fn files_and_windows(case: &Case) {
    case.traced(2, "file_window.c").info().assert_is(&[
        want("MPI_Barrier", WORLD, 2).times(2),
        want("MPI_Allreduce", WORLD, 2).of(8, "MPI_DOUBLE").by("MPI_SUM").times(3),
    ]);
}
