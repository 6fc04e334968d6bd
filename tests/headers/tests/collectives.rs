//! The collectives of the table against those of the standard.

use std::collections::BTreeSet;

use mpitrace_headers::Line;

use crate::header::Header;

/// Every function that is one of the standard's collectives, in the header of a library that has all of MPI-5.0.
///
/// A function that a header declares in three forms, `MPI_X`, `MPI_IX` and `MPI_X_init`, is a collective or sends or
/// receives a message. The latter name the other end.
pub fn of_the_standard(header: &Header) -> BTreeSet<String> {
    let names: BTreeSet<&str> = header.functions.keys().map(String::as_str).collect();
    let mut collectives = BTreeSet::new();
    for (prepared, declaration) in &header.functions {
        let Some(blocking) = prepared.strip_suffix("_init") else { continue };
        let started = non_blocking(blocking);
        let names_a_peer =
            declaration.parameters.iter().any(|parameter| ["dest", "source"].contains(&&*parameter.name));
        if names_a_peer || ![blocking, &started].iter().all(|name| names.contains(name)) {
            continue;
        }
        for form in [blocking, &started, prepared] {
            let both = [form.to_owned(), format!("{form}_c")];
            collectives.extend(both.into_iter().filter(|name| names.contains(name.as_str())));
        }
    }
    collectives
}

/// Every function of the table that is one of a collective in all forms.
pub fn of_the_table(lines: &[Line]) -> BTreeSet<String> {
    names(lines.iter().filter(|line| line.is_collective()))
}

/// The other collective calls of the standard, as its text has them: "collective" in the description of each in
/// MPI-5.0, by chapter.
const OTHERS: &[&str] = &[
    // 7, groups, contexts, communicators.
    "Comm_dup Comm_dup_with_info Comm_idup Comm_idup_with_info Comm_create Comm_create_group Comm_split Comm_split_type",
    "Comm_create_from_group Comm_free Comm_set_info Intercomm_create Intercomm_create_from_groups Intercomm_merge",
    // 8, topologies.
    "Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent",
    // 11, processes.
    "Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_disconnect",
    // 12, one-sided communication.
    "Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_free Win_fence Win_set_info",
    // 14, input and output.
    "File_open File_close File_set_size File_preallocate File_set_info File_set_view File_set_atomicity File_sync",
    "File_seek_shared",
    "File_read_at_all File_write_at_all File_read_all File_write_all File_read_ordered File_write_ordered",
    "File_iread_at_all File_iwrite_at_all File_iread_all File_iwrite_all",
    "File_read_at_all_begin File_read_at_all_end File_write_at_all_begin File_write_at_all_end",
    "File_read_all_begin File_read_all_end File_write_all_begin File_write_all_end",
    "File_read_ordered_begin File_read_ordered_end File_write_ordered_begin File_write_ordered_end",
];

/// Every other collective call of the standard, with those that the header has for large counts.
pub fn others_of_the_standard(header: &Header) -> BTreeSet<String> {
    let plain = OTHERS.iter().flat_map(|names| names.split_whitespace()).map(|name| format!("MPI_{name}"));
    let both = plain.flat_map(|name| [format!("{name}_c"), name]);
    both.filter(|name| header.functions.contains_key(name)).collect()
}

/// Every function of the table that is recorded and has one form.
pub fn others_of_the_table(lines: &[Line]) -> BTreeSet<String> {
    names(lines.iter().filter(|line| line.is_single()))
}

fn names<'l>(lines: impl Iterator<Item = &'l Line>) -> BTreeSet<String> {
    lines.flat_map(Line::functions).map(|function| function.name).collect()
}

/// `MPI_Ibcast` of `MPI_Bcast`.
fn non_blocking(blocking: &str) -> String {
    blocking.strip_prefix("MPI_").map_or(String::new(), |name| format!("MPI_I{}", name.to_lowercase()))
}
