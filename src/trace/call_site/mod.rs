//! From a return address in a module to the function, file and line that made the call.
//!
//! A trace holds addresses only: the module (program or shared library), its build id and an offset. What they mean is
//! read after the run from the module's DWARF, else from its symbol table; where neither is at hand, or the file is not
//! the one that was traced, the site stays `module+0xoffset` and says why.

pub mod built;
mod called;
mod debug_file;
pub mod libraries;
mod module;
mod name;
mod resolver;
mod symbols;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Serialize, Serializer};

pub use called::called;
pub use resolver::Resolver;
pub(crate) use resolver::debug_files;

/// Where a call was made.
///
/// ```
/// use mpitrace_trace::call_site::Site;
///
/// let site = Site {
///     module: "/opt/app/bin/app".to_owned(),
///     symbol: Some("exchange".to_owned()),
///     file: Some("src/halo.c".to_owned()),
///     line: Some(42),
///     ..Site::default()
/// };
/// assert_eq!((site.module_name(), site.line_of_file()), ("app", "halo.c:42".to_owned()));
/// assert_eq!(site.to_string(), "exchange at halo.c:42");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Site {
    /// The module's path, as it was traced; the file of a script in Python.
    pub module: String,
    /// The return address, less what the loader added to the module's addresses (bytes); of Python the line.
    pub offset: u64,
    /// The function with the call, demangled. Where that was inlined: the inlined function, whose line this is.
    pub symbol: Option<String>,
    /// The source file with the call, as the compiler was given it.
    pub file: Option<String>,
    /// The line of the call.
    pub line: Option<u32>,
    /// The functions that [`Site::symbol`] was inlined into, the innermost first; the last one is the function that the
    /// program has. Empty where nothing was inlined. Outputs have the functions' names.
    #[serde(rename = "inlined_into", serialize_with = "names")]
    pub inlined: Vec<Frame>,
    /// Why there is no line, or no function either.
    pub unresolved: Option<Unresolved>,
}

/// A function, and the line in it at which the one before it was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function, demangled.
    pub symbol: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

/// Why a site is known in part only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// There is no such file any more, or not on this machine.
    #[error("the module is not there")]
    Gone,
    /// The file cannot be read or is damaged.
    #[error("the module cannot be read")]
    Unreadable,
    /// The file has another build id than the one that was traced: it was built anew since.
    #[error("the module is not the one that was traced: it has another build id")]
    OtherBuild,
    /// Nothing is known of this address: the module is stripped.
    #[error("the module has no symbol for this address")]
    NoSymbol,
    /// The function is known from the symbol table alone: the module was built without -g.
    #[error("the module has no line numbers: it was built without -g")]
    NoLines,
}

impl Serialize for Unresolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn names<S: Serializer>(frames: &[Frame], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(frames.iter().map(|frame| &frame.symbol))
}

impl Site {
    /// A site of which nothing but the address is known.
    fn unresolved(module: &str, offset: u64, why: Unresolved) -> Site {
        Site { module: module.to_owned(), offset, unresolved: Some(why), ..Site::default() }
    }

    /// A line of Python; 0: not known.
    fn of_python(file: &str, function: &str, line: u64) -> Site {
        Site {
            module: file.to_owned(),
            offset: line,
            symbol: Some(function.to_owned()),
            file: Some(file.to_owned()),
            line: u32::try_from(line).ok().filter(|&line| line > 0),
            ..Site::default()
        }
    }

    /// The module's file name.
    pub fn module_name(&self) -> &str {
        last_part(&self.module)
    }

    /// `halo.c:42`, or as it is displayed where its line is not known.
    pub fn line_of_file(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", last_part(file)),
            _ => self.to_string(),
        }
    }
}

/// `exchange at halo.c:42`, with `in step` where it was inlined; `libhalo.so+0x1234` where only that is known.
impl fmt::Display for Site {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(symbol) = &self.symbol else {
            return write!(formatter, "{}+{:#x}", self.module_name(), self.offset);
        };
        write!(formatter, "{symbol}")?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(formatter, " at {}:{line}", last_part(file))?,
            (Some(file), None) => write!(formatter, " in {}", last_part(file))?,
            // Two functions of one name are still told apart.
            (None, _) => write!(formatter, " at {}+{:#x}", self.module_name(), self.offset)?,
        }
        match self.inlined.last() {
            Some(function) => write!(formatter, " (inlined into {})", function.symbol),
            None => Ok(()),
        }
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
