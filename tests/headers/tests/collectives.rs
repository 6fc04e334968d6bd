//! The collectives of the table against those of the standard.

use std::collections::BTreeSet;

use mpitrace_headers::Line;

use crate::header::Header;

/// Every function that is one of the standard's collectives, in the header of a library that has all of MPI-5.0.
///
/// What a header declares in three forms, `MPI_X`, `MPI_IX` and `MPI_X_init`, is a collective or sends or receives a
/// message. The latter name the other end.
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

/// Every function of the table that is recorded.
pub fn of_the_table(lines: &[Line]) -> BTreeSet<String> {
    let collectives = lines.iter().filter(|line| line.is_collective());
    collectives.flat_map(Line::functions).map(|function| function.name).collect()
}

/// `MPI_Ibcast` of `MPI_Bcast`.
fn non_blocking(blocking: &str) -> String {
    blocking.strip_prefix("MPI_").map_or(String::new(), |name| format!("MPI_I{}", name.to_lowercase()))
}
