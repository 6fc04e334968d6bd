//! Collective calls that make, change and free communicators, windows and files, and that read and write files: each
//! recorded once, on what it is on, with its size.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, Test, Want, want};

pub const TESTS: &[Test] = &[Test::new("of_every_kind_is_recorded_on_its_handle", every_kind)];

const FILE: &str = "management.data";

fn every_kind(case: &Case) {
    let launch = || case.launch(4, "management.c").arg(FILE);
    let traced = launch().trace().run();
    traced.same_as(&launch().run());
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let wants = [of_the_world(), of_communicators(), of_windows(), of_files()].concat();
    traced.trace.info_of_all().assert_is_in_any_order(&wants);
}

fn once(functions: &[&'static str], on: &'static str, ranks: u64) -> Vec<Want> {
    functions.iter().map(|function| want(function, on, ranks)).collect()
}

fn of_the_world() -> Vec<Want> {
    let bytes = |function, bytes| want(function, WORLD, 4).of(bytes, "MPI_BYTE");
    vec![
        want("MPI_Comm_dup", WORLD, 4),
        bytes("MPI_Win_create", 32),
        want("MPI_Win_create_dynamic", WORLD, 4),
        // The largest share.
        bytes("MPI_Win_allocate", 16),
        bytes("MPI_Win_allocate_shared", 64),
        want("MPI_File_open", WORLD, 4).times(2),
        want("MPI_Barrier", WORLD, 4),
    ]
}

fn of_communicators() -> Vec<Want> {
    let mut wants = once(
        &[
            "MPI_Comm_set_info",
            "MPI_Comm_dup_with_info",
            "MPI_Comm_split",
            "MPI_Comm_split_type",
            "MPI_Cart_create",
            "MPI_Graph_create",
            "MPI_Dist_graph_create_adjacent",
            "MPI_Dist_graph_create",
            "MPI_Comm_create",
            "MPI_Comm_free",
        ],
        "dup",
        4,
    );
    wants.push(want("MPI_Comm_idup", "dup", 4).times(2));
    wants.extend(["lower", "upper"].map(|half| once(&["MPI_Intercomm_create", "MPI_Comm_free"], half, 2)).concat());
    wants.extend(once(&["MPI_Cart_sub", "MPI_Comm_free"], "grid", 4));
    wants.extend(once(&["MPI_Intercomm_merge", "MPI_Comm_free"], "inter", 4));
    // Three were made, by ranks 2 and 3 alone.
    (0..3).for_each(|_| {
        wants.extend(once(&["MPI_Comm_create_group", "MPI_Barrier", "MPI_Comm_free"], "group", 2));
    });
    // Three duplicates, three graphs, the merged one; two rows of the grid, the even ranks.
    (0..7).for_each(|_| wants.push(want("MPI_Comm_free", NUMBERED, 4)));
    (0..3).for_each(|_| wants.push(want("MPI_Comm_free", NUMBERED, 2)));
    wants.push(want("MPI_Comm_disconnect", NUMBERED, 4));
    wants
}

fn of_windows() -> Vec<Want> {
    let unnamed = "window of MPI_COMM_WORLD";
    let mut wants = vec![want("MPI_Win_fence", unnamed, 4).times(3), want("MPI_Win_free", unnamed, 4)];
    wants.extend(once(&["MPI_Win_free"], "dynamic", 4));
    wants.extend(once(&["MPI_Win_set_info", "MPI_Win_free"], "allocated", 4));
    wants.extend(once(&["MPI_Win_free"], "shared", 4));
    wants
}

fn of_files() -> Vec<Want> {
    let ints = |function| want(function, FILE, 4).of(32, "MPI_INT");
    let mut wants = vec![
        want("MPI_File_set_size", FILE, 4).of(1024, "MPI_BYTE"),
        want("MPI_File_preallocate", FILE, 4).of(2048, "MPI_BYTE"),
        // The largest amount of a rank.
        want("MPI_File_write_all", FILE, 4).of(16, "MPI_INT"),
        ints("MPI_File_read_all").times(2),
        want("MPI_File_seek_shared", FILE, 4).times(4),
    ];
    wants.extend(once(&["MPI_File_set_info", "MPI_File_set_atomicity", "MPI_File_set_view", "MPI_File_sync"], FILE, 4));
    wants.extend(
        [
            "MPI_File_write_at_all",
            "MPI_File_read_at_all",
            "MPI_File_iwrite_at_all",
            "MPI_File_iread_at_all",
            "MPI_File_iwrite_all",
            "MPI_File_iread_all",
            "MPI_File_write_ordered",
            "MPI_File_read_ordered",
            "MPI_File_write_at_all_begin",
            "MPI_File_read_at_all_begin",
            "MPI_File_write_all_begin",
            "MPI_File_read_all_begin",
            "MPI_File_write_ordered_begin",
            "MPI_File_read_ordered_begin",
        ]
        .map(ints),
    );
    wants.extend(once(
        &[
            "MPI_File_write_at_all_end",
            "MPI_File_read_at_all_end",
            "MPI_File_write_all_end",
            "MPI_File_read_all_end",
            "MPI_File_write_ordered_end",
            "MPI_File_read_ordered_end",
        ],
        FILE,
        4,
    ));
    // The file was opened twice.
    wants.extend(once(&["MPI_File_close", "MPI_File_close"], FILE, 4));
    wants
}
