//! The table of `libmpitrace.so` is complete and true: held against the headers of real MPI libraries, the exported
//! symbols, and the page in docs/ that is made of it.
//!
//! `tests/mpi/install.sh` installs the libraries, and libclang to read their headers. What cannot be run is listed as
//! ignored, with the reason in its name; with `NOTHING_SKIPPED=1` in the environment, as tests/run.sh sets it on
//! Debian, it fails instead.

mod collectives;
mod completeness;
mod exports;
mod header;
mod installed;
mod invented;
mod own_headers;
mod pattern;
mod roles;
mod signatures;
mod spelled;
mod spelling;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::{env, fs};

use header::Header;
use libtest_mimic::{Arguments, Failed, Trial};
use mpitrace_headers::{COMMAND, Line, lines, page};
use mpitrace_testing::binaries;

/// The library whose header has all of MPI-5.0.
const NEWEST: &str = "mpich5-abi";

type Headers = BTreeMap<&'static str, Result<Arc<Header>, String>>;

static LINES: LazyLock<Vec<Line>> = LazyLock::new(lines);

fn main() {
    let arguments = Arguments::from_args();
    if !arguments.list {
        binaries::build();
    }
    let headers: Headers = installed::names().map(|name| (name, read(name))).collect();
    let mut trials = vec![
        trial("the_library_exports_what_the_table_declares_and_nothing_else", exports),
        trial("the_library_never_answers_for_the_version_of_another", versions),
        trial("the_page_of_all_functions_is_what_the_table_gives", page_in_docs),
    ];
    trials.push(trial("an_invented_line_is_on_the_page", invented::is_on_the_page));
    trials.push(trial("no_function_is_spelled_outside_the_table", || {
        none(
            "spelled outside the table, and without a reason in tests/headers/tests/spelled.rs",
            spelled::outside(&LINES),
        )
    }));
    trials.extend(own_headers());
    for (name, header) in &headers {
        trials.push(with(&format!("every_function_is_declared_as_in_the_header::{name}"), header, |header| {
            none("the table says otherwise than the header", signatures::differences(header, &LINES))
        }));
        trials.push(with(&format!("every_function_of_the_header_is_wrapped_or_listed::{name}"), header, |header| {
            let forgotten = completeness::forgotten(header, &wrapped());
            none("neither in src/functions/functions.table nor in tests/headers/not-wrapped.txt", forgotten)
        }));
    }
    trials.push(with("the_table_has_every_collective_of_the_standard", &headers[NEWEST], collectives_of_the_standard));
    trials.push(with(
        "the_table_has_every_other_collective_call_of_the_standard",
        &headers[NEWEST],
        other_collective_calls,
    ));
    trials.push(with_all("the_table_has_no_function_that_no_library_has", &headers, |headers| {
        none("names that no MPI library has", completeness::unknown(headers, &wrapped()))
    }));
    trials.push(with_all("the_list_of_functions_without_a_wrapper_is_up_to_date", &headers, |headers| {
        none("stale in tests/headers/not-wrapped.txt", completeness::stale(headers, &wrapped()))
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The headers in include/ under each standard. A machine has gcc for its MPI libraries; clang may be there.
fn own_headers() -> Vec<Trial> {
    let mut trials = Vec::new();
    for compilers in own_headers::COMPILERS {
        for (standard, language) in own_headers::STANDARDS {
            let compiler = compilers[usize::from(language == "c++")];
            let name = format!("the_headers_in_include_have_no_warning::{compiler}::{standard}");
            let read = move || own_headers::read(compiler, standard, language).map_err(Failed::from);
            let is_here = own_headers::is_here(compiler);
            let trial =
                if is_here { trial(&name, read) } else { Trial::test(format!("{name} skipped: no {compiler}"), read) };
            trials.push(trial.with_ignored_flag(!is_here));
        }
    }
    trials
}

fn exports() -> Result<(), Failed> {
    let exported = exports::exported_names(&binaries::tracer());
    let declared: BTreeSet<String> = wrapped().into_iter().flat_map(|name| [format!("P{name}"), name]).collect();
    let of_mpi = exported.iter().filter(|name| exports::is_of_mpi(name)).cloned().collect();
    let missing = (&declared - &of_mpi).into_iter().map(|name| format!("{name} is declared, but not exported"));
    let excess = (&of_mpi - &declared).into_iter().map(|name| format!("{name} is exported, but not declared"));
    let foreign = exported.iter().filter(|name| !exports::is_of_mpi(name) && !exports::is_own(name));
    let foreign = foreign.map(|name| format!("{name} is exported, and neither of MPI nor of ours"));
    none("the table is not what the library was built from", missing.chain(excess).chain(foreign))
}

fn versions() -> Result<(), Failed> {
    let exported = exports::exported_names(&binaries::tracer());
    let names = exports::NEVER.into_iter().flat_map(|name| [name.to_owned(), format!("P{name}")]);
    none("exported", names.filter(|name| exported.contains(name)))
}

fn page_in_docs() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/developers/functions.md");
    match fs::read_to_string(path) {
        Ok(there) if there == page(lines()) => Ok(()),
        _ => Err(format!("docs/developers/functions.md is not what the table gives; this writes it: {COMMAND}").into()),
    }
}

fn collectives_of_the_standard(header: &Header) -> Result<(), Failed> {
    let (standard, table) = (collectives::of_the_standard(header), collectives::of_the_table(&LINES));
    let missing = (&standard - &table).into_iter().map(|name| format!("{name} is not in the table"));
    let excess = (&table - &standard).into_iter().map(|name| format!("{name} is no collective of the standard"));
    none("the table and the standard differ", missing.chain(excess))
}

fn other_collective_calls(header: &Header) -> Result<(), Failed> {
    let standard = collectives::others_of_the_standard(header);
    let table = collectives::others_of_the_table(&LINES);
    let missing = (&standard - &table).into_iter().map(|name| format!("{name} is not recorded"));
    let excess = (&table - &standard).into_iter().map(|name| format!("{name} is no collective call of the standard"));
    none("the table and the standard differ", missing.chain(excess))
}

/// The names of all functions that the table makes, without their twins that begin with `P`.
fn wrapped() -> BTreeSet<String> {
    LINES.iter().flat_map(Line::functions).map(|function| function.name).collect()
}

/// Fails with these, a line each, if there are any.
fn none(complaint: &str, found: impl IntoIterator<Item = String>) -> Result<(), Failed> {
    let found: Vec<String> = found.into_iter().collect();
    if found.is_empty() { Ok(()) } else { Err(format!("{complaint}:\n  {}", found.join("\n  ")).into()) }
}

/// The header of a library, or why it cannot be read here. One that is there and cannot be read is a failure.
fn read(name: &'static str) -> Result<Arc<Header>, String> {
    let libclang = installed::libclang()?;
    let options = installed::options(name)?;
    // SAFETY: no other thread runs yet.
    unsafe { env::set_var("LIBCLANG_PATH", libclang) };
    Ok(Arc::new(Header::read(name, &options).unwrap_or_else(|error| panic!("the header of {name}: {error}"))))
}

fn trial(name: &str, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(name, run)
}

fn with(
    name: &str,
    header: &Result<Arc<Header>, String>,
    run: impl FnOnce(&Header) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    match header {
        Ok(header) => {
            let header = Arc::clone(header);
            trial(name, move || run(&header))
        }
        Err(reason) => skipped(name, reason),
    }
}

/// Only where every header is here: a function may be in the one that is not.
fn with_all(
    name: &str,
    headers: &Headers,
    run: impl FnOnce(&[&Header]) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let all: Result<Vec<Arc<Header>>, String> = headers.values().cloned().collect();
    match all {
        Ok(headers) => trial(name, move || run(&headers.iter().map(Arc::as_ref).collect::<Vec<_>>())),
        Err(reason) => skipped(name, &reason),
    }
}

fn skipped(name: &str, reason: &str) -> Trial {
    let reason = reason.to_owned();
    let fails = env::var_os("NOTHING_SKIPPED").is_some();
    Trial::test(format!("{name} skipped: {reason}"), move || Err(Failed::from(reason))).with_ignored_flag(!fails)
}
