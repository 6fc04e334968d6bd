//! Which frames of a stack are shown, and how.

use std::path::Path;
use std::sync::Arc;

use mpitrace_trace::call_site::{Frame, Site, called, libraries};
use mpitrace_words::stack::CUT;

/// The functions that call the one in which a program, or a thread of it, begins.
#[rustfmt::skip]
const BEFORE: [&str; 7] = [
    "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "start_thread", "clone", "clone3",
];
/// The interpreter of Python, in a library of its own or in the program.
const PYTHON: [&str; 2] = ["libpython", "python"];
/// The tracer and the libraries of MPI.
const MPI: [&str; 2] = ["libmpi", "libpmpi"];
/// The tracer alone.
const TRACER: [&str; 1] = ["libmpitrace"];
/// Libraries of the system.
const SYSTEM: [&str; 4] = ["libc.so", "libc-", "libpthread", "ld-linux"];

/// The frames of the program, the outermost first, up to the function of MPI or of the system that it calls. `sites`
/// are the innermost first. In place of the interpreter's frames there are Python's own.
pub fn shown(sites: Vec<Arc<Site>>, python: &[String], program: &str) -> Vec<String> {
    let outermost_first: Vec<&Site> = sites.iter().rev().map(Arc::as_ref).collect();
    let mut rest = &outermost_first[..];
    let mut frames = Vec::new();
    let begins = |site: &&Site| symbols(site).any(|name| name == "main" || BEFORE.contains(&name));
    match rest.iter().rposition(|site| is_in(site, &PYTHON)).filter(|_| !python.is_empty()) {
        Some(last) => {
            rest = &rest[last + 1..];
            frames.extend(python.iter().cloned());
        }
        None if !rest.iter().any(begins) => frames.push(CUT.to_owned()),
        None => {}
    }
    if let Some(main) = rest.iter().position(|site| symbols(site).any(|name| name == "main")) {
        rest = &rest[main..];
    }
    let mut caller: Option<&Site> = None;
    while let [site, behind @ ..] = rest {
        rest = behind;
        let before = caller.replace(site);
        if is_in(site, &MPI) || is_in(site, &SYSTEM) && !begins(site) {
            frames.push(function(before, [site].into_iter().chain(rest)).unwrap_or_else(|| of_site(site)));
            // A function of the program that the library calls, as an operator.
            match rest.iter().position(|site| site.module == program) {
                Some(next) => rest = &rest[next..],
                None => break,
            }
        } else if !is_binding(site) && !begins(site) || symbols(site).any(|name| name == "main") {
            site.inlined.iter().rev().for_each(|frame| frames.push(of_frame(frame)));
            frames.push(of_site(site));
        }
    }
    folded(frames)
}

/// The interpreter of Python in a sample, and the functions of Python that are not known.
pub const PYTHON_FRAME: &str = "[python]";

/// The frames of a place in a sample, the outermost first, and whether a stack begins with them. None of the tracer,
/// and of what calls `main`.
pub fn sampled(site: &Site) -> (bool, Vec<String>) {
    let is_main = symbols(site).any(|name| name == "main");
    if is_in(site, &TRACER) || !is_main && symbols(site).any(|name| BEFORE.contains(&name)) {
        return (false, Vec::new());
    }
    if is_in(site, &PYTHON) {
        return (is_main, vec![PYTHON_FRAME.to_owned()]);
    }
    let module = site.module_name();
    // The program's line that calls them counts, also where they have lines of their own.
    match libraries::is_common(module) || libraries::is_of_mpi(module) {
        true => (false, vec![of_library(site)]),
        false => {
            let last = if site.line.is_none() { of_library(site) } else { of_site(site) };
            (is_main, site.inlined.iter().rev().map(of_frame).chain([last]).collect())
        }
    }
}

/// The function with its library, where it is of one, so that it is told from the functions of the program. Of inlined
/// functions it is the one that the library has.
fn of_library(site: &Site) -> String {
    match symbols(site).last() {
        Some(symbol) if site.module_name().contains(".so") => format!("{symbol} ({})", site.module_name()),
        _ => of_site(site),
    }
}

/// True if the file is the interpreter of Python.
pub fn is_python(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    PYTHON.iter().any(|start| name.starts_with(start))
}

/// True if it is the function that runs code of Python.
pub fn is_python_loop(site: &Site) -> bool {
    site.symbol.as_deref().is_some_and(|name| name.starts_with("_PyEval_EvalFrameDefault"))
}

/// The function, and those that it was inlined into.
fn symbols(site: &Site) -> impl Iterator<Item = &str> {
    site.symbol.as_deref().into_iter().chain(site.inlined.iter().map(|frame| frame.symbol.as_str()))
}

fn is_in(site: &Site, modules: &[&str]) -> bool {
    modules.iter().any(|name| site.module_name().starts_with(name))
}

/// True if a binding puts the function between those of a program and those of a library.
fn is_binding(site: &Site) -> bool {
    site.module.contains("/mpi4py/") || symbols(site).any(|name| name.starts_with("__pyx_"))
}

/// The function of MPI, or of the system, that the outermost frames are of. `caller`: the frame that they lie on.
fn function<'a>(caller: Option<&Site>, mut sites: impl Iterator<Item = &'a &'a Site>) -> Option<String> {
    let first = sites.next()?;
    if is_in(first, &SYSTEM) {
        let name = first.symbol.as_deref()?;
        return Some(name.strip_prefix("__GI_").unwrap_or(name).trim_start_matches('_').to_owned());
    }
    let mut names =
        [first].into_iter().chain(sites.take_while(|site| is_in(site, &MPI))).filter_map(|site| site.symbol.as_deref());
    // One that has left its work to another function by a jump is on no stack.
    let by_call = || plain_name(&called(Path::new(&caller?.module), caller?.offset)?);
    Some(names.find_map(plain_name).or_else(by_call).unwrap_or_else(|| "MPI".to_owned()))
}

/// `MPI_Recv` of `MPI_Recv`, `PMPI_Recv`, `MPI_RECV`, `mpi_recv_` and `mpi_recv_f08_`.
fn plain_name(symbol: &str) -> Option<String> {
    let name = symbol.trim_start_matches(['P', 'p']);
    let rest = name.strip_prefix("MPI_").or(name.strip_prefix("mpi_"))?.trim_end_matches('_');
    let rest = rest.strip_suffix("_f08").or(rest.strip_suffix("_f08ts")).unwrap_or(rest);
    let (first, others) = rest.split_at_checked(1)?;
    let is_of_fortran = name.starts_with("mpi_") || !others.contains(char::is_lowercase);
    let others = if is_of_fortran { others.to_lowercase() } else { others.to_owned() };
    Some(format!("MPI_{}{others}", first.to_uppercase()))
}

fn of_site(site: &Site) -> String {
    match (&site.symbol, &site.file, site.line) {
        (Some(symbol), Some(_), Some(_)) => format!("{symbol} ({})", site.line_of_file()),
        (Some(symbol), ..) => symbol.clone(),
        (None, ..) => format!("{}+{:#x}", site.module_name(), site.offset),
    }
}

fn of_frame(frame: &Frame) -> String {
    let file = frame.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", frame.symbol),
        _ => frame.symbol.clone(),
    }
}

/// Equal frames that follow each other, as those of a recursion, in one.
fn folded(frames: Vec<String>) -> Vec<String> {
    let mut folded: Vec<String> = Vec::new();
    for same in frames.chunk_by(|one, other| one == other) {
        folded.push(match same.len() {
            1 => same[0].clone(),
            times => format!("{} [{times} times]", same[0]),
        });
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(module: &str, symbol: &str, line: u32) -> Arc<Site> {
        Arc::new(Site {
            module: module.to_owned(),
            offset: 0x10,
            symbol: Some(symbol.to_owned()).filter(|symbol| !symbol.is_empty()),
            file: (line > 0).then(|| "src/a.c".to_owned()),
            line: Some(line).filter(|&line| line > 0),
            inlined: Vec::new(),
            unresolved: None,
        })
    }

    #[test]
    fn a_stack_ends_at_the_function_of_mpi_that_the_program_calls() {
        let stack = |inner: &[(&str, &str, u32)], python: &[String]| {
            let outer = [("/p", "exchange", 7), ("/p", "main", 3), ("libc.so.6", "__libc_start_main", 0)];
            let sites = inner.iter().chain(&outer).map(|(module, symbol, line)| site(module, symbol, *line)).collect();
            shown(sites, python, "/p").join(" > ")
        };
        let inner = [("/l/libopen-pal.so", "progress", 0), ("/l/libmpi.so.40", "PMPI_Recv", 0)];
        let traced = [&inner[..], &[("/t/libmpitrace.so", "", 0), ("/t/libmpitrace.so", "mpi_recv_", 0)]].concat();
        for (stack, expected) in [
            (stack(&inner, &[]), "main (a.c:3) > exchange (a.c:7) > MPI_Recv"),
            (stack(&traced, &[]), "main (a.c:3) > exchange (a.c:7) > MPI_Recv"),
            (
                stack(&[&[("/p", "sum", 9)], &inner[..]].concat(), &[]),
                "main (a.c:3) > exchange (a.c:7) > MPI_Recv > sum (a.c:9)",
            ),
            (stack(&[("libc.so.6", "", 0)], &[]), "main (a.c:3) > exchange (a.c:7) > libc.so.6+0x10"),
            (
                stack(&[("libc.so.6", "__GI___nanosleep", 4), ("libc.so.6", "__sleep", 5)], &[]),
                "main (a.c:3) > exchange (a.c:7) > sleep",
            ),
            (stack(&[("/p", "f", 1), ("/p", "f", 1)], &[]), "main (a.c:3) > exchange (a.c:7) > f (a.c:1) [2 times]"),
            (
                stack(
                    &[&traced[..], &[("/x/mpi4py/MPI.so", "__pyx_f", 0), ("/usr/bin/python3", "eval", 0)]].concat(),
                    &["f (a.py:2)".into()],
                ),
                "f (a.py:2) > MPI_Recv",
            ),
        ] {
            assert_eq!(stack, expected);
        }
        assert_eq!(shown(vec![site("/p", "f", 2)], &[], "/p"), ["...", "f (a.c:2)"]);
        // An interpreter at its end, whose functions have no names.
        let ends = ["PMPI_Finalize", "", "__libc_start_call_main", "__libc_start_main_impl"];
        let modules = ["/l/libmpi.so.12", "/usr/bin/python3.11", "libc.so.6", "libc.so.6"];
        let sites = modules.iter().zip(ends).map(|(module, symbol)| site(module, symbol, 0)).collect();
        assert_eq!(shown(sites, &[], "/usr/bin/python3.11"), ["python3.11+0x10", "MPI_Finalize"]);
    }

    #[test]
    fn a_sample_tells_functions_of_libraries_from_those_of_the_program() {
        let texts = |module: &str, symbol: &str, line: u32| sampled(&site(module, symbol, line)).1.join(" > ");
        assert_eq!(texts("/p", "f", 7), "f (a.c:7)");
        assert_eq!(texts("/p", "f", 0), "f", "a program without debug data");
        assert_eq!(texts("/l/libown.so.1", "f", 7), "f (a.c:7)");
        assert_eq!(texts("/l/libown.so.1", "f", 0), "f (libown.so.1)");
        assert_eq!(texts("/l/libc.so.6", "memcpy", 9), "memcpy (libc.so.6)", "also with debug data");
        assert_eq!(texts("/l/libm.so.6", "exp", 9), "exp (libm.so.6)");
        assert_eq!(texts("/l/libopen-pal.so.40", "opal_progress", 9), "opal_progress (libopen-pal.so.40)");
        let inlined = Frame { symbol: "sin".to_owned(), file: Some("s_sin.c".to_owned()), line: Some(207) };
        let within = Site { inlined: vec![inlined], ..(*site("/l/libm.so.6", "set_rounding", 9)).clone() };
        assert_eq!(sampled(&within).1, ["sin (libm.so.6)"]);
        assert_eq!(texts("/l/libmpi.so.40", "PMPI_Wait", 0), "PMPI_Wait (libmpi.so.40)");
        assert_eq!(texts("/l/libc.so.6", "", 0), "libc.so.6+0x10");
    }

    #[test]
    fn a_function_of_mpi_has_its_plain_name() {
        for symbol in [
            "MPI_Comm_split",
            "PMPI_Comm_split",
            "MPI_COMM_SPLIT",
            "mpi_comm_split_",
            "pmpi_comm_split__",
            "mpi_comm_split_f08_",
        ] {
            assert_eq!(plain_name(symbol).as_deref(), Some("MPI_Comm_split"), "{symbol}");
        }
        assert_eq!(plain_name("ompi_progress"), None);
    }
}
