//! Functions by their names.
//!
//! A trace may name a function that the table lacks: one of a later version, or of a file that another program wrote.
//! Nothing is claimed of it, and it blocks.

use std::sync::OnceLock;

use crate::{Form, Function, Pattern, Size};

static FUNCTIONS: &[&[Function]] = include!(concat!(env!("OUT_DIR"), "/functions.rs"));
static PARAMETERS: &[(&str, &[&str])] = include!(concat!(env!("OUT_DIR"), "/parameters.rs"));
static ADDED: OnceLock<&'static [&'static [Function]]> = OnceLock::new();

/// Adds the functions of lines to those that are found by name: what a test invents. Only the first call of a process
/// counts.
pub fn add(lines: &'static [&'static [Function]]) {
    let _ = ADDED.set(lines);
}

impl Function {
    /// Every recorded function.
    pub fn all() -> impl Iterator<Item = &'static Function> {
        let added = ADDED.get().copied().unwrap_or_default();
        FUNCTIONS.iter().chain(added).copied().flatten()
    }

    /// The description of a function, by its plain C name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Function> {
        Function::all().find(|function| function.name == name)
    }
}

impl Form {
    /// The form of a function, by its plain C name.
    #[must_use]
    pub fn of_name(name: &str) -> Form {
        Function::named(name).map_or(Form::Blocking, |function| function.form)
    }
}

/// The function that does the same as a non-blocking or persistent one, and blocks: `MPI_Allreduce` of `MPI_Iallreduce`
/// and of `MPI_Allreduce_init`. `None` for a function that blocks.
#[must_use]
pub fn blocking_name(name: &str) -> Option<&'static str> {
    Function::named(name).filter(|function| function.form.has_request()).map(|function| function.blocking)
}

/// The parameters of a function of MPI, recorded or not, by its plain C name: under the names that the standard gives
/// them. `None` for a function that is not in the table.
#[must_use]
pub fn parameters(name: &str) -> Option<&'static [&'static str]> {
    PARAMETERS.iter().find(|(known, _)| *known == name).map(|(_, parameters)| *parameters)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_blocking_form_of_a_function() {
        assert_eq!(blocking_name("MPI_Iallreduce"), Some("MPI_Allreduce"));
        assert_eq!(blocking_name("MPI_Ireduce_scatter_block"), Some("MPI_Reduce_scatter_block"));
        assert_eq!(blocking_name("MPI_Neighbor_alltoallw_init"), Some("MPI_Neighbor_alltoallw"));
        assert_eq!(blocking_name("MPI_Allreduce"), None);
        assert_eq!(blocking_name("unknown"), None);
    }

    #[test]
    fn the_parameters_of_a_function() {
        assert_eq!(parameters("MPI_Comm_rank"), Some(&["comm", "rank"][..]), "of one rank");
        assert_eq!(parameters("MPI_Finalize"), Some(&[][..]));
        let more = [("MPI_Ibarrier", &["comm", "request"][..]), ("MPI_Barrier_init", &["comm", "info", "request"])];
        for (name, expected) in more {
            assert_eq!(parameters(name), Some(expected));
        }
        assert_eq!(parameters("MPI_Wtime"), None);
        assert!(Function::all().all(|function| parameters(function.name).is_some()));
    }

    #[test]
    fn an_unknown_function_blocks() {
        assert!(Function::named("MPI_Ialltogether").is_none());
        assert_eq!(Form::of_name("MPI_Ialltogether"), Form::Blocking);
        assert_eq!(Form::of_name("Iterate"), Form::Blocking, "a region of the program");
    }

    #[test]
    fn the_forms_of_a_line_agree_with_the_convention_of_names() {
        for function in Function::all() {
            assert_eq!(Function::named(function.blocking).map(|found| found.form), Some(Form::Blocking));
            let name = function.name.strip_prefix("MPI_").unwrap();
            // `MPI_Comm_idup` of `MPI_Comm_dup`: with two words, the letter is the second one's.
            let verb = name.strip_prefix("Comm_").or_else(|| name.strip_prefix("File_")).map(str::to_owned);
            let convention = match verb.unwrap_or_else(|| name.replacen("I", "i", 1)) {
                _ if name.starts_with("Intercomm_") => Form::Blocking,
                name if name.ends_with("_init") => Form::Persistent,
                name if name.starts_with('i') => Form::NonBlocking,
                _ => Form::Blocking,
            };
            assert_eq!(function.form, convention, "{}", function.name);
        }
        let names: BTreeSet<&str> = Function::all().map(|function| function.name).collect();
        assert_eq!(names.len(), Function::all().count(), "each function once");
        assert_eq!(names.iter().filter(|name| name.ends_with("_init")).count(), 22);
    }

    #[test]
    fn functions_on_windows_files_and_new_communicators_name_their_parameter() {
        let of = |name: &str| {
            let function = Function::named(name).unwrap();
            (function.communicator, function.form, function.blocking)
        };
        assert_eq!(of("MPI_Win_free"), ("win", Form::Blocking, "MPI_Win_free"));
        assert_eq!(of("MPI_File_iwrite_at_all"), ("fh", Form::NonBlocking, "MPI_File_write_at_all"));
        assert_eq!(of("MPI_Comm_create_group"), ("newcomm", Form::Blocking, "MPI_Comm_create_group"));
        assert_eq!(of("MPI_Comm_idup"), ("comm", Form::NonBlocking, "MPI_Comm_dup"));
        assert_eq!(blocking_name("MPI_Comm_idup_with_info"), Some("MPI_Comm_dup_with_info"));
        assert!(Function::named("MPI_File_read_at").is_none(), "of one rank");
        assert!(Function::named("MPI_Win_lock_all").is_none(), "of one rank");
    }

    #[test]
    fn functions_on_files_are_those_that_the_standard_calls_so() {
        for function in Function::all() {
            assert_eq!(function.is_on_file, function.name.starts_with("MPI_File_"), "{}", function.name);
        }
        assert!(Function::named("MPI_File_open").unwrap().is_on_file);
    }

    /// MPI-4.1, 12.5.3 and 14.2: the amounts of data that ranks read, write or bring into a window may differ.
    #[test]
    fn only_sizes_that_must_be_equal_are_compared() {
        for (name, size) in [
            ("MPI_File_write_all", Size::Contributed),
            ("MPI_File_read_ordered_begin", Size::Contributed),
            ("MPI_Win_allocate_shared", Size::Contributed),
            ("MPI_File_set_size", Size::Block),
            ("MPI_File_close", Size::Nothing),
        ] {
            assert_eq!(Function::named(name).unwrap().size, size, "{name}");
        }
    }

    #[test]
    fn roots_are_where_the_pattern_has_one_rank_that_differs() {
        for function in Function::all() {
            let is_rooted = matches!(function.pattern, Pattern::OneToAll | Pattern::AllToOne);
            let may_be_rooted = function.pattern == Pattern::UsuallyAllToAll;
            assert!(may_be_rooted || function.root.is_some() == is_rooted, "{}", function.name);
        }
        let barriers: Vec<&str> =
            Function::all().filter(|function| function.is_blocking_barrier()).map(|function| function.name).collect();
        assert_eq!(barriers, ["MPI_Barrier"]);
        let reduce = Function::named("MPI_Ireduce").unwrap();
        assert_eq!((reduce.root, reduce.reduction, reduce.communicator), (Some("root"), Some("op"), "comm"));
        assert_eq!((reduce.otf2, reduce.reprompi, reduce.size), (Some("REDUCE"), Some("MPI_Reduce"), Size::Block));
    }
}
