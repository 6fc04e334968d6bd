//! The control variables that choose a collective's algorithm.

use crate::counters::mpi_t::interface::{self, Control};
use crate::counters::mpi_t::kinds::Number;
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

/// Whether a control variable of this name chooses algorithms.
fn chooses(name: &str) -> bool {
    if let Some(of_mpich) = name.strip_prefix("MPIR_CVAR_") {
        return ["_INTRA_ALGORITHM", "_INTER_ALGORITHM", "_COMPOSITION", "_JSON_FILE"]
            .iter()
            .any(|end| of_mpich.ends_with(end));
    }
    if name.starts_with("I_MPI_ADJUST_") {
        return true;
    }
    let rules = ["_use_dynamic_rules", "_dynamic_rules_filename", "_use_dynamic_file_rules"];
    name.starts_with("coll_") && (name.ends_with("_algorithm") || rules.iter().any(|end| name.ends_with(end)))
}

/// The variable with its value, where that is neither 0 nor empty.
fn chosen(variable: &Control) -> Option<String> {
    if !variable.of_process {
        return None;
    }
    let value = read(variable)?;
    (!value.is_empty()).then(|| format!("{}={value}", variable.name))
}

fn read(variable: &Control) -> Option<String> {
    let words = variable.read()?;
    let number = match variable.number {
        // Open MPI's truth values: one character, whose enumeration has the names.
        None if words.len() == 1 => i64::from(words[0] as u8),
        None => {
            let bytes: &[u8] = bytemuck::cast_slice(&words);
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            return Some(String::from_utf8_lossy(&bytes[..end]).into_owned());
        }
        Some(Number::Double) => return Some(f64::from_bits(words[0]).to_string()),
        Some(Number::Signed32 | Number::Unsigned32) => i64::from(words[0] as u32 as i32),
        Some(Number::Signed64 | Number::Unsigned64) => words[0] as i64,
    };
    match number {
        0 => Some(String::new()),
        number => Some(variable.label(number).unwrap_or_else(|| number.to_string())),
    }
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
