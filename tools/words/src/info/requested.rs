//! The algorithm that a variable asks of an MPI library which does not tell the one that it takes.

use mpitrace_format::metadata::{self, Metadata};
use serde::Serialize;

/// What was asked for: not what ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requested {
    /// The variable of the environment, without `env.`.
    pub variable: String,
    /// Its word for the algorithm: MPICH's name, Intel's number; `None`: it names a file with the choice.
    pub algorithm: Option<String>,
}

/// Files of MPICH with a choice for each size.
const FILES: [&str; 3] = [
    "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
    "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
    "MPIR_CVAR_COLL_CONFIG_FILE",
];

impl Requested {
    /// What the run's variables ask for an operation of this function, message size and number of ranks, where the
    /// library reads them.
    pub fn new(factors: &Metadata, function: &str, bytes: Option<u64>, ranks: u32) -> Option<Requested> {
        let collective = function.strip_prefix("MPI_")?.to_uppercase();
        let library = metadata::get(factors, "library").unwrap_or_default();
        let value = |variable: &str| metadata::get(factors, &format!("env.{variable}"));
        let requested = |variable: String, algorithm: Option<String>| Some(Requested { variable, algorithm });
        if library.contains("Intel") {
            let variable = format!("I_MPI_ADJUST_{collective}");
            let algorithm = adjusted(value(&variable)?, bytes, ranks)?;
            return requested(variable, Some(algorithm));
        }
        if !library.contains("MPICH") {
            return None;
        }
        // The prefixes of control variables in the environment, the one that MPICH takes first being first.
        for prefix in ["MPIR_CVAR", "MPIR_PARAM", "MPICH"] {
            let variable = format!("{prefix}_{collective}_INTRA_ALGORITHM");
            if let Some(algorithm) = value(&variable) {
                return (algorithm != "auto").then(|| requested(variable, Some(algorithm.to_owned())))?;
            }
        }
        let file = FILES.into_iter().find(|file| value(file).is_some())?;
        requested(file.to_owned(), None)
    }

    /// `binomial requested by MPIR_CVAR_BCAST_INTRA_ALGORITHM`.
    pub fn words(&self) -> String {
        match &self.algorithm {
            Some(algorithm) => format!("{algorithm} requested by {}", self.variable),
            None => format!("requested by {}", self.variable),
        }
    }
}

/// The number that Intel's `ALGORITHM[:CONDITION[,...]][;...]` gives, a condition being `BYTES[@RANKS]`, either of them
/// a number or two with `-` between; the last one that holds.
fn adjusted(value: &str, bytes: Option<u64>, ranks: u32) -> Option<String> {
    let holds = |condition: &str| {
        let (sizes, of_ranks) =
            condition.split_once('@').map_or((condition, None), |(sizes, ranks)| (sizes, Some(ranks)));
        bytes.is_some_and(|bytes| is_within(sizes, bytes)) && of_ranks.is_none_or(|of| is_within(of, ranks.into()))
    };
    let algorithm = |part: &str| {
        let (algorithm, conditions) = part.split_once(':').map_or((part, None), |(one, other)| (one, Some(other)));
        let is_meant =
            conditions.is_none_or(|conditions| conditions.split(',').any(|condition| holds(condition.trim())));
        (is_meant && !algorithm.trim().is_empty()).then(|| algorithm.trim().to_owned())
    };
    value.split(';').filter_map(algorithm).next_back()
}

fn is_within(range: &str, number: u64) -> bool {
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    matches!((from.trim().parse(), to.trim().parse()), (Ok(from), Ok(to)) if (from..=to).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(library: &str, variables: &[(&str, &str)], function: &str, bytes: Option<u64>, ranks: u32) -> Option<String> {
        let mut factors = vec![("library".to_owned(), library.to_owned())];
        factors.extend(variables.iter().map(|(name, value)| (format!("env.{name}"), (*value).to_owned())));
        Requested::new(&factors, function, bytes, ranks).map(|found| found.words())
    }

    #[test]
    fn mpichs_variables_name_an_algorithm_or_a_file() {
        let name = "MPIR_CVAR_BCAST_INTRA_ALGORITHM";
        let words = Some(format!("binomial requested by {name}"));
        assert_eq!(of("MPICH Version: 4.0.2", &[(name, "binomial")], "MPI_Bcast", Some(8), 2), words);
        // Of another function, of a library that does not read it, and without a choice.
        assert_eq!(of("MPICH Version: 4.0.2", &[(name, "binomial")], "MPI_Ibcast", Some(8), 2), None);
        assert_eq!(of("Open MPI v4.1.4", &[(name, "binomial")], "MPI_Bcast", Some(8), 2), None);
        assert_eq!(of("MPICH Version: 4.0.2", &[(name, "auto")], "MPI_Bcast", Some(8), 2), None);
        let file = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE";
        let both = [(name, "binomial"), (file, "/tmp/tuned.json")];
        assert_eq!(of("MPICH Version: 4.3.0", &both, "MPI_Reduce", Some(8), 2), Some(format!("requested by {file}")));
    }

    #[test]
    fn intels_conditions_are_of_bytes_and_ranks() {
        let variables = [("I_MPI_ADJUST_ALLREDUCE", "2;3:0-1024@8-16;5:2048,4096-2147483647")];
        let found = |bytes, ranks| of("Intel(R) MPI Library 2021.19", &variables, "MPI_Allreduce", bytes, ranks);
        let words = |number: u32| Some(format!("{number} requested by I_MPI_ADJUST_ALLREDUCE"));
        assert_eq!([found(Some(8), 8), found(Some(8), 4), found(Some(2048), 4)], [words(3), words(2), words(5)]);
        assert_eq!([found(Some(1 << 30), 2), found(Some(3000), 2), found(None, 8)], [words(5), words(2), words(2)]);
        assert_eq!(of("Intel(R) MPI Library", &[("I_MPI_ADJUST_BCAST", "1:0-8")], "MPI_Bcast", Some(9), 2), None);
    }
}
