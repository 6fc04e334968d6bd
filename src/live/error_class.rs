//! The error class that a library ends a job with.
//!
//! Under MPI_ERRORS_ARE_FATAL the libraries that are known here end the rank, or the launcher, with the number of the
//! error's class as the exit code. The numbers are those of their mpi.h (MPICH 4.0 to 5.0 and Intel MPI 2021; Open MPI
//! 4.1 and 5.0), or of the standard's ABI (MPI 5.0) where the program has that.

use mpitrace_functions::parameters;

/// An error class of the MPI standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorClass {
    /// The name in the standard.
    pub name: &'static str,
    /// What is wrong; "" where the class says no more than its name.
    pub words: &'static str,
    /// What the names of parameters contain that an error of this class is about; empty: of any call.
    about: &'static [&'static str],
    /// Its number in MPICH and its descendants, in Open MPI, and in the standard's ABI; 0: it has none.
    numbers: [u32; 3],
}

const fn class(
    name: &'static str,
    words: &'static str,
    about: &'static [&'static str],
    numbers: [u32; 3],
) -> ErrorClass {
    ErrorClass { name, words, about, numbers }
}

const RANKS: &[&str] = &["dest", "source", "rank", "leader", "edges", "neighbors", "destinations"];

/// In the order of MPICH's numbers.
const CLASSES: &[ErrorClass] = &[
    class("MPI_ERR_BUFFER", "a wrong buffer", &["buf", "addr", "base"], [1, 1, 1]),
    class("MPI_ERR_COUNT", "a wrong count", &["count", "blocklength", "n"], [2, 2, 2]),
    class("MPI_ERR_TYPE", "a wrong data type", &["type"], [3, 3, 3]),
    class("MPI_ERR_TAG", "a wrong tag", &["tag"], [4, 4, 4]),
    class("MPI_ERR_COMM", "a wrong communicator", &["comm"], [5, 5, 5]),
    class("MPI_ERR_RANK", "a wrong rank", RANKS, [6, 6, 6]),
    class("MPI_ERR_ROOT", "a wrong root", &["root"], [7, 8, 8]),
    class("MPI_ERR_GROUP", "a wrong group", &["group"], [8, 9, 9]),
    class("MPI_ERR_OP", "a wrong operator", &["op"], [9, 10, 10]),
    class("MPI_ERR_TOPOLOGY", "a wrong topology", &["comm"], [10, 11, 11]),
    class("MPI_ERR_DIMS", "wrong dimensions", &["dims"], [11, 12, 12]),
    class("MPI_ERR_ARG", "a wrong argument", &[], [12, 13, 13]),
    class("MPI_ERR_UNKNOWN", "", &[], [13, 14, 14]),
    class("MPI_ERR_TRUNCATE", "a message that is longer than the buffer for it", &[], [14, 15, 15]),
    class("MPI_ERR_OTHER", "", &[], [15, 16, 16]),
    class("MPI_ERR_INTERN", "", &[], [16, 17, 17]),
    class("MPI_ERR_IN_STATUS", "", &["status"], [17, 18, 19]),
    class("MPI_ERR_PENDING", "", &["request"], [18, 19, 18]),
    class("MPI_ERR_REQUEST", "a wrong request", &["request"], [19, 7, 7]),
    class("MPI_ERR_ACCESS", "", &["filename", "fh"], [20, 20, 20]),
    class("MPI_ERR_AMODE", "a wrong access mode", &["amode"], [21, 21, 21]),
    class("MPI_ERR_BAD_FILE", "a wrong file name", &["filename"], [22, 23, 23]),
    class("MPI_ERR_CONVERSION", "", &["fh"], [23, 25, 25]),
    class("MPI_ERR_DUP_DATAREP", "", &["datarep"], [24, 27, 27]),
    class("MPI_ERR_FILE_EXISTS", "", &["filename"], [25, 28, 28]),
    class("MPI_ERR_FILE_IN_USE", "", &["filename"], [26, 29, 29]),
    class("MPI_ERR_FILE", "a wrong file", &["fh", "file"], [27, 30, 30]),
    class("MPI_ERR_INFO", "a wrong info object", &["info"], [28, 34, 34]),
    class("MPI_ERR_INFO_KEY", "a wrong key", &["key"], [29, 31, 31]),
    class("MPI_ERR_INFO_VALUE", "a wrong value", &["value"], [30, 33, 33]),
    class("MPI_ERR_INFO_NOKEY", "a wrong key", &["key"], [31, 32, 32]),
    class("MPI_ERR_IO", "", &["fh", "filename"], [32, 35, 35]),
    class("MPI_ERR_NAME", "a wrong name", &["service_name"], [33, 38, 38]),
    class("MPI_ERR_NO_MEM", "", &[], [34, 39, 39]),
    class("MPI_ERR_NOT_SAME", "", &[], [35, 40, 40]),
    class("MPI_ERR_NO_SPACE", "", &["fh", "filename"], [36, 41, 41]),
    class("MPI_ERR_NO_SUCH_FILE", "a wrong file name", &["filename"], [37, 42, 42]),
    class("MPI_ERR_PORT", "a wrong port", &["port_name"], [38, 43, 43]),
    class("MPI_ERR_QUOTA", "", &["fh", "filename"], [39, 44, 44]),
    class("MPI_ERR_READ_ONLY", "", &["fh", "filename"], [40, 45, 45]),
    class("MPI_ERR_SERVICE", "a wrong name", &["service_name"], [41, 48, 51]),
    class("MPI_ERR_SPAWN", "", &["command"], [42, 50, 53]),
    class("MPI_ERR_UNSUPPORTED_DATAREP", "", &["datarep"], [43, 51, 54]),
    class("MPI_ERR_UNSUPPORTED_OPERATION", "", &["fh"], [44, 52, 55]),
    class("MPI_ERR_WIN", "a wrong window", &["win"], [45, 53, 56]),
    class("MPI_ERR_BASE", "a wrong base address", &["base"], [46, 24, 24]),
    class("MPI_ERR_LOCKTYPE", "a wrong kind of lock", &["lock_type"], [47, 37, 37]),
    class("MPI_ERR_KEYVAL", "a wrong key of an attribute", &["keyval"], [48, 36, 36]),
    class("MPI_ERR_RMA_CONFLICT", "", &["win"], [49, 46, 47]),
    class("MPI_ERR_RMA_SYNC", "", &["win"], [50, 47, 50]),
    class("MPI_ERR_SIZE", "a wrong size", &["size"], [51, 49, 52]),
    class("MPI_ERR_DISP", "a wrong displacement", &["disp"], [52, 26, 26]),
    class("MPI_ERR_ASSERT", "a wrong assertion", &["assert"], [53, 22, 22]),
    class("MPI_ERR_RMA_RANGE", "", &["win"], [55, 68, 48]),
    class("MPI_ERR_RMA_ATTACH", "", &["win"], [56, 69, 46]),
    class("MPI_ERR_RMA_SHARED", "", &["win"], [57, 71, 49]),
    class("MPI_ERR_RMA_FLAVOR", "", &["win"], [58, 70, 57]),
    class("MPI_ERR_SESSION", "a wrong session", &["session"], [75, 78, 60]),
    class("MPI_ERR_PROC_ABORTED", "", &[], [76, 74, 58]),
    class("MPI_ERR_VALUE_TOO_LARGE", "", &[], [77, 79, 59]),
    class("MPI_ERR_ERRHANDLER", "a wrong error handler", &["errhandler"], [80, 0, 61]),
];

impl ErrorClass {
    /// The class with this number in a library, by what the library says of itself and by whether the program has the
    /// standard's ABI; `None`: there is none.
    pub fn new(library: &str, has_standard_abi: bool, number: u32) -> Option<ErrorClass> {
        let family = ["MPICH", "Intel", "Open MPI"].iter().position(|name| library.starts_with(name))?;
        let place = if has_standard_abi { 2 } else { usize::from(family == 2) };
        CLASSES.iter().copied().find(|class| class.numbers[place] == number && number > 0)
    }

    /// True if a call of this function can end in an error of this class: it has a parameter that the error is about.
    /// Of a function that is not known anything is possible.
    pub fn can_be_of(&self, function: &str) -> bool {
        let about = |parameter: &&str| match self.about {
            ["count", .., "n"] => *parameter == "n" || parameter.contains("count") || parameter.contains("blocklength"),
            about => about.iter().any(|part| is_about(parameter, part)),
        };
        self.about.is_empty() || parameters(function).is_none_or(|parameters| parameters.iter().any(about))
    }

    /// True if an error of this class can be of calls that do not belong together: it is of no argument of one call.
    pub fn can_be_of_mismatch(&self) -> bool {
        self.about.is_empty()
    }

    /// True if this is an error of a message that is too long.
    pub fn is_of_length(&self) -> bool {
        self.name == "MPI_ERR_TRUNCATE"
    }

    /// `MPI_ERR_RANK: a wrong rank`.
    pub fn text(&self) -> String {
        match self.words {
            "" => self.name.to_owned(),
            words => format!("{}: {words}", self.name),
        }
    }
}

/// True if a call of this function can get a message of the program: it has a buffer or requests. Of a function that is
/// not known anything is possible.
pub fn can_get_message(function: &str) -> bool {
    let gets = |parameter: &&str| parameter.contains("buf") || parameter.contains("request");
    parameters(function).is_none_or(|parameters| parameters.iter().any(gets))
}

/// Short names are whole names: an `op` is no `stop`.
fn is_about(parameter: &str, part: &str) -> bool {
    if part.len() < 3 { parameter == part } else { parameter.contains(part) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_class_is_that_of_its_library() {
        let name = |library: &str, number| ErrorClass::new(library, false, number).map(|class| class.name);
        assert_eq!(name("MPICH 4.0.2", 19), Some("MPI_ERR_REQUEST"));
        assert_eq!(name("Intel(R) MPI Library 2021", 7), Some("MPI_ERR_ROOT"));
        assert_eq!(name("Open MPI v4.1.4", 7), Some("MPI_ERR_REQUEST"));
        assert_eq!([name("Open MPI v4.1.4", 0), name("Open MPI v4.1.4", 80), name("MVAPICH", 7)], [None; 3]);
        let of_abi = |number| ErrorClass::new("MPICH 5.0", true, number).map(|class| class.name);
        assert_eq!([of_abi(7), of_abi(8), of_abi(62)], [Some("MPI_ERR_REQUEST"), Some("MPI_ERR_ROOT"), None]);
        for place in 0..3 {
            let mut numbers: Vec<u32> =
                CLASSES.iter().map(|class| class.numbers[place]).filter(|number| *number > 0).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all, "each number is one class");
        }
    }

    #[test]
    fn an_error_is_of_a_call_that_has_such_an_argument() {
        let of = |name| CLASSES.iter().find(|class| class.name == name).unwrap();
        let can = |name, function| of(name).can_be_of(function);
        assert!(can("MPI_ERR_RANK", "MPI_Send") && can("MPI_ERR_RANK", "MPI_Group_incl"));
        assert!(!can("MPI_ERR_RANK", "MPI_Barrier") && !can("MPI_ERR_COUNT", "MPI_Barrier"));
        assert!(can("MPI_ERR_COUNT", "MPI_Bcast") && can("MPI_ERR_OP", "MPI_Ireduce"));
        assert!(!can("MPI_ERR_OP", "MPI_Bcast") && can("MPI_ERR_COMM", "MPI_Barrier"));
        assert!(can("MPI_ERR_OTHER", "MPI_Barrier"), "of any call");
        assert!(can("MPI_ERR_RANK", "MPI_Of_a_later_version"));
        assert!(of("MPI_ERR_TRUNCATE").is_of_length() && !of("MPI_ERR_COUNT").is_of_length());
        let gets = ["MPI_Recv", "MPI_Waitall", "MPI_Bcast", "MPI_Alltoallw", "MPI_Of_a_later_version"];
        assert!(gets.into_iter().all(can_get_message));
        assert!(!["MPI_Barrier", "MPI_Comm_dup"].into_iter().any(can_get_message));
        assert_eq!(of("MPI_ERR_TAG").text(), "MPI_ERR_TAG: a wrong tag");
        assert_eq!(of("MPI_ERR_OTHER").text(), "MPI_ERR_OTHER");
    }
}
