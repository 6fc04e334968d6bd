//! The frames of samples: what their texts say of a function.

use mpitrace_trace::call_site::libraries;

/// The beginnings of names of functions of MPI, also where the library is part of the program.
const MPI_NAMES: &[&str] = &["MPI_", "PMPI_", "mpi_", "pmpi_", "MPIR_", "MPID", "ompi_", "opal_"];

/// The name spaces of the standard library of C++, whose templates are compiled into the program.
const STANDARD: &[&str] = &["std::", "__gnu_cxx::", "__cxxabiv1::"];

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A function of the program, or of a library of its own.
    Program,
    /// A function of the MPI library.
    Mpi,
    /// A function of Python in a library.
    PythonLibrary,
    /// Any other library, the kernel, the interpreter of Python.
    Other,
}

/// A frame, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'t> {
    pub kind: Kind,
    pub function: &'t str,
    /// The source file, or the library without lines; `None`: not known.
    pub file: Option<&'t str>,
    pub line: Option<u32>,
}

impl<'t> Frame<'t> {
    /// Takes the text of a frame apart: `sum (app.c:3)`, `step (solver.py)`, `memcpy (libc.so.6)`, `main`.
    pub fn parse(text: &'t str) -> Frame<'t> {
        let place = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        let (function, place) = place.map_or((text, None), |(function, place)| (function, Some(place)));
        let with_line = place.and_then(|place| {
            let (file, line) = place.rsplit_once(':')?;
            Some((file, line.parse().ok()?))
        });
        let (file, line) = with_line.map_or((place, None), |(file, line)| (Some(file), Some(line)));
        let begins = |text: &str, all: &[&str]| all.iter().any(|start| text.starts_with(start));
        // Without a symbol the text is the file and an offset.
        let module = file.filter(|_| line.is_none()).unwrap_or(text);
        let is_library = libraries::is_common(module) || begins(&name(function), STANDARD);
        let kind = if file.is_some_and(|file| file.starts_with("python") && file.contains('/')) {
            Kind::PythonLibrary
        } else if text.starts_with('[') || is_library || function.starts_with("__vdso") {
            Kind::Other
        } else if libraries::is_of_mpi(module) || begins(function, MPI_NAMES) {
            Kind::Mpi
        } else {
            Kind::Program
        };
        Frame { kind, function, file, line }
    }
}

/// The name of a function of C++ without its result, its parameters and the arguments of templates: `Grid::sum` of
/// `double Grid::sum<int>(std::vector<int> const&) const`.
pub fn name(function: &str) -> String {
    let function = function.replace("(anonymous namespace)", "{anonymous}");
    let (mut name, mut depth) = (String::new(), 0u32);
    // Signs behind this word are part of the name.
    let signs = function.find("operator").map_or(0..0, |at| {
        let begin = at + "operator".len();
        let rest = &function[begin..];
        let length =
            if rest.starts_with("()") { 2 } else { rest.bytes().take_while(|sign| b"<>=".contains(sign)).count() };
        begin..begin + length
    });
    for (at, sign) in function.char_indices() {
        match sign {
            _ if depth == 0 && signs.contains(&at) => name.push(sign),
            // A name of Python, as `<module>` and `f.<lambda>`.
            '<' if depth == 0 && (at == 0 || function[..at].ends_with('.')) => name.push(sign),
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '(' if depth == 0 => break,
            // The result comes before the name.
            ' ' if depth == 0 && (signs.is_empty() || at < signs.start) => name.clear(),
            _ if depth == 0 => name.push(sign),
            _ => {}
        }
    }
    if name.is_empty() { function } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_c_plus_plus_has_its_plain_name() {
        for (function, expected) in [
            ("main", "main"),
            ("refine_patch(Grid const&, int)", "refine_patch"),
            ("double Grid::sum<int>(std::vector<int> const&) const", "Grid::sum"),
            (
                "bool __gnu_cxx::__ops::_Iter_less_iter::operator()<int*, int*>(int*, int*) const",
                "__gnu_cxx::__ops::_Iter_less_iter::operator()",
            ),
            ("std::vector<double, std::allocator<double> >::resize(unsigned long)", "std::vector::resize"),
            ("Field::operator<(Field const&) const", "Field::operator<"),
            ("(anonymous namespace)::step(int)", "{anonymous}::step"),
            ("[python]", "[python]"),
            ("<module>", "<module>"),
            ("f.<lambda>", "f.<lambda>"),
        ] {
            assert_eq!(name(function), expected, "{function}");
        }
        let sort = "void std::__introsort_loop<double*, long>(double*, double*, long) (stl_algo.h:1948)";
        assert_eq!(Frame::parse(sort).kind, Kind::Other, "the program's line that calls it counts");
        assert_eq!(Frame::parse("Solver<std::vector<int> >::step(int) (solver.h:9)").kind, Kind::Program);
    }

    #[test]
    fn texts_of_frames_are_taken_apart() {
        let frame = |text: &'static str| {
            let Frame { kind, function, file, line } = Frame::parse(text);
            (kind, function, file, line)
        };
        assert_eq!(frame("sum (app.c:3)"), (Kind::Program, "sum", Some("app.c"), Some(3)));
        assert_eq!(frame("f(int, char) (a b.cpp:70)"), (Kind::Program, "f(int, char)", Some("a b.cpp"), Some(70)));
        assert_eq!(frame("step (solver.py)"), (Kind::Program, "step", Some("solver.py"), None));
        assert_eq!(frame("Pair::compute (liblammps.so.0)").0, Kind::Program);
        assert_eq!(frame("main"), (Kind::Program, "main", None, None));
        assert_eq!(frame("app+0x1c0"), (Kind::Program, "app+0x1c0", None, None));
        assert_eq!(frame("findall (python3.11/re/__init__.py:240)").0, Kind::PythonLibrary);
        let texts = ["memcpy (libc.so.6)", "libm.so.6+0x1c", "[kernel]", "[python]", "dgemm_ (libopenblas.so.0)"];
        for text in texts {
            assert_eq!(frame(text).0, Kind::Other, "{text}");
        }
        for text in ["progress (libopen-pal.so.40)", "PMPI_Wait (libmpi.so.40)", "MPIR_Wait", "MPI_Send (comm.c:9)"] {
            assert_eq!(frame(text).0, Kind::Mpi, "{text}");
        }
    }
}
