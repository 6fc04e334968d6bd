//! The control variables that choose a collective's algorithm.

use mpitrace_platform::mpi_t::Value;

use crate::counters::mpi_t::interface::{self, Control};
use crate::mpi;

/// The control variables that choose algorithms, as `name=value`, without those that are 0 or an empty text: that
/// leaves the choice to the library, in all of them. Some libraries choose by default. `None` where there are no such
/// variables, and where it would cost too much to ask: Open MPI before its version 5 loads all its components for it,
/// which takes some 200 ms (versus 0.4 ms in Open MPI 5 and 0.2 ms in MPICH and Intel MPI, of rank 0 alone), unless
/// they are loaded `anyway`.
pub fn algorithms(anyway: bool) -> Option<String> {
    let library = mpi::library_version().unwrap_or_default();
    if !anyway && loads_everything(&library) || !interface::begin() {
        return None;
    }
    let variables = interface::control_variables(chooses);
    let chosen: Vec<String> = variables.iter().filter_map(chosen).collect();
    // One rank alone has begun it.
    interface::end();
    match (variables.len(), chosen.is_empty()) {
        (0, _) => None,
        (count, true) => Some(format!("left to the library by all {count} control variables")),
        _ => Some(chosen.join(" ")),
    }
}

fn loads_everything(library: &str) -> bool {
    let version = library.strip_prefix("Open MPI v").unwrap_or_default();
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 5)
}

/// The names of variables that choose algorithms: each begins and ends so.
const CHOOSING: [(&str, &[&str]); 3] = [
    ("MPIR_CVAR_", &["_INTRA_ALGORITHM", "_INTER_ALGORITHM", "_COMPOSITION", "_JSON_FILE"]),
    ("I_MPI_ADJUST_", &[""]),
    ("coll_", &["_algorithm", "_use_dynamic_rules", "_dynamic_rules_filename", "_use_dynamic_file_rules"]),
];

fn chooses(name: &str) -> bool {
    CHOOSING.iter().any(|(start, ends)| name.starts_with(start) && ends.iter().any(|end| name.ends_with(end)))
}

/// The variable with its value, where that is neither 0 nor empty.
fn chosen(variable: &Control) -> Option<String> {
    let words = variable.read()?;
    let number = match variable.value {
        // Open MPI's truth values: one character, whose enumeration has the names.
        Value::Text if words.len() == 1 => i64::from(words[0] as u8),
        Value::Text => {
            let text = interface::until_zero(bytemuck::cast_slice(&words));
            return (!text.is_empty()).then(|| format!("{}={text}", variable.name));
        }
        Value::Double => return Some(format!("{}={}", variable.name, f64::from_bits(words[0]))),
        Value::Signed32 | Value::Unsigned32 => i64::from(words[0] as u32 as i32),
        Value::Signed64 | Value::Unsigned64 => words[0] as i64,
    };
    let name = || variable.label(number).unwrap_or_else(|| number.to_string());
    (number != 0).then(|| format!("{}={}", variable.name, name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chooses_an_algorithm_is_told_from_what_tunes_it() {
        for name in [
            "coll_tuned_allreduce_algorithm",
            "coll_tuned_use_dynamic_rules",
            "coll_han_dynamic_rules_filename",
            "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
        ] {
            assert!(chooses(name), "{name}");
        }
        for name in [
            "coll_tuned_allreduce_algorithm_count",
            "coll_tuned_allreduce_algorithm_segmentsize",
            "MPIR_CVAR_NODEMAP_ALGORITHM",
            "MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE",
        ] {
            assert!(!chooses(name), "{name}");
        }
    }

    #[test]
    fn open_mpi_4_is_not_asked_without_need() {
        assert!(loads_everything("Open MPI v4.1.4, package: Debian OpenMPI"));
        assert!(!loads_everything("Open MPI v5.0.11, package") && !loads_everything("MPICH Version:\t4.0.2"));
    }
}
