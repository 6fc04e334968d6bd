//! Call sites of a real program, with and without what is needed to resolve them. Takes a C compiler and binutils, as
//! rustc itself does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Frame, Resolver, Site, Unresolved, called};

const BUILD_ID: &str = "00c0ffee0123456789abcdef";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("mpitrace-call-site-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// The program calls.c of this build id, and the offsets that it returns to.
    fn build(&self, options: &[&str], build_id: &str) -> Program {
        let path = self.0.join("calls");
        let id = format!("-Wl,--build-id=0x{build_id}");
        run(Command::new("cc").args(["-O2", &id]).args(options).arg("-o").arg(&path).arg(source()));
        let output = Command::new(&path).output().unwrap();
        let offsets = String::from_utf8(output.stdout).unwrap();
        let offsets = offsets.lines().filter_map(|line| {
            let (name, offset) = line.split_once(' ')?;
            Some((name.to_owned(), u64::from_str_radix(offset, 16).unwrap()))
        });
        Program { offsets: offsets.collect(), path: path.to_str().unwrap().to_owned() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Program {
    path: String,
    offsets: BTreeMap<String, u64>,
}

impl Program {
    fn site(&self, resolver: &mut Resolver, call: &str) -> Site {
        (*resolver.resolve(&self.path, Some(BUILD_ID), self.offsets[call])).clone()
    }

    fn assert_only_the_address_is_known(&self, why: Unresolved) {
        let mut resolver = Resolver::with_debug_folders(Vec::new());
        for (call, offset) in &self.offsets {
            let site = self.site(&mut resolver, call);
            assert_eq!((site.unresolved, &site.symbol, site.line), (Some(why), &None, None));
            assert_eq!(site.to_string(), format!("calls+{offset:#x}"));
        }
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("call_site/calls.c")
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The line that ends in the comment of this name.
fn line(name: &str) -> Option<u32> {
    let text = fs::read_to_string(source()).unwrap();
    let comment = format!("/* {name} */");
    text.lines().position(|line| line.ends_with(&comment)).map(|index| index as u32 + 1)
}

fn assert_at(site: &Site, symbol: &str, comment: &str) {
    assert!(line(comment).is_some());
    assert_eq!((site.symbol.as_deref(), site.line, site.unresolved), (Some(symbol), line(comment), None));
    assert!(site.file.as_ref().unwrap().ends_with("call_site/calls.c"));
}

fn assert_all_are_found(program: &Program, resolver: &mut Resolver) {
    for (call, function) in [("plain", "plain"), ("cxx", "halo::exchange(int, double*)"), ("last", "last")] {
        let site = program.site(resolver, call);
        assert_at(&site, function, call);
        assert_eq!(site.inlined, []);
        assert_eq!(site.to_string(), format!("{function} at calls.c:{}", line(call).unwrap()));
    }
    let inlined = program.site(resolver, "inlined");
    assert_at(&inlined, "innermost", "innermost");
    let file = inlined.file.clone();
    let frame = |symbol: &str, comment| Frame { symbol: symbol.to_owned(), file: file.clone(), line: line(comment) };
    assert_eq!(inlined.inlined, [frame("middle", "middle"), frame("main", "outermost")]);
    assert!(inlined.to_string().ends_with(" (inlined into main)"));
}

#[test]
fn a_call_is_found_with_its_line_and_what_it_was_inlined_into() {
    let folder = Folder::new("lines");
    for options in [&["-g"][..], &["-g", "-no-pie"], &["-g", "-gdwarf-4"], &["-g", "-gz"]] {
        let program = folder.build(options, BUILD_ID);
        assert_eq!(program.offsets.len(), 4, "{options:?}");
        assert_all_are_found(&program, &mut Resolver::new());
    }
}

#[test]
fn debug_data_in_a_file_of_their_own_are_found_by_name_and_by_build_id() {
    let folder = Folder::new("separate");
    let program = folder.build(&["-g"], BUILD_ID);
    let debug = folder.0.join("calls.debug");
    run(Command::new("objcopy").arg("--only-keep-debug").arg(&program.path).arg(&debug));
    run(Command::new("strip").arg(&program.path));
    program.assert_only_the_address_is_known(Unresolved::NoSymbol);
    // objcopy writes the link's checksum from the file that it finds.
    run(Command::new("objcopy").arg("--add-gnu-debuglink").arg(&debug).arg(&program.path));
    assert_all_are_found(&program, &mut Resolver::with_debug_folders(Vec::new()));

    let folders = folder.0.join("debug/.build-id").join(&BUILD_ID[..2]);
    fs::create_dir_all(&folders).unwrap();
    fs::rename(&debug, folders.join(format!("{}.debug", &BUILD_ID[2..]))).unwrap();
    let by_id = || Resolver::with_debug_folders(vec![folder.0.join("debug")]);
    assert_all_are_found(&program, &mut by_id());
    // The build id alone tells that these are the data of what was traced.
    fs::remove_file(&program.path).unwrap();
    assert_all_are_found(&program, &mut by_id());
}

#[test]
fn without_debug_data_the_symbol_table_names_the_function() {
    let folder = Folder::new("symbols");
    let program = folder.build(&["-g0"], BUILD_ID);
    let mut resolver = Resolver::new();
    for (call, function) in [("plain", "plain"), ("inlined", "main"), ("last", "last")] {
        let site = program.site(&mut resolver, call);
        assert_eq!((site.symbol.as_deref(), site.unresolved), (Some(function), Some(Unresolved::NoLines)));
        assert_eq!(site.to_string(), format!("{function} at calls+{:#x}", site.offset));
    }
}

#[test]
fn what_lies_behind_an_exported_function_is_not_taken_for_it() {
    let folder = Folder::new("exported");
    // Of the dynamic symbols that a stripped program keeps, all but `plain` are made local.
    let list = folder.0.join("exported");
    fs::write(&list, "{ plain; };").unwrap();
    let program = folder.build(&["-s", &format!("-Wl,--dynamic-list={}", list.display())], BUILD_ID);
    let mut resolver = Resolver::with_debug_folders(Vec::new());
    assert_eq!(program.site(&mut resolver, "plain").symbol.as_deref(), Some("plain"));
    for call in ["cxx", "last", "inlined"] {
        assert_eq!(program.site(&mut resolver, call).unresolved, Some(Unresolved::NoSymbol), "{call}");
    }
}

#[test]
fn a_function_that_the_linker_has_dropped_is_nowhere() {
    let folder = Folder::new("dropped");
    let program = folder.build(&["-g", "-ffunction-sections", "-Wl,--gc-sections"], BUILD_ID);
    let mut resolver = Resolver::new();
    assert_all_are_found(&program, &mut resolver);
    for offset in 0..64 {
        assert_eq!(resolver.resolve(&program.path, None, offset).unresolved, Some(Unresolved::NoSymbol));
    }
}

#[test]
fn of_a_stripped_a_missing_a_damaged_and_a_rebuilt_module_the_address_is_told() {
    let folder = Folder::new("fallback");
    let program = folder.build(&["-s"], BUILD_ID);
    program.assert_only_the_address_is_known(Unresolved::NoSymbol);
    folder.build(&["-g"], "0123456789");
    program.assert_only_the_address_is_known(Unresolved::OtherBuild);
    fs::write(&program.path, "no program").unwrap();
    program.assert_only_the_address_is_known(Unresolved::Unreadable);
    fs::remove_file(&program.path).unwrap();
    program.assert_only_the_address_is_known(Unresolved::Gone);
}

#[test]
fn a_site_is_looked_up_once() {
    let folder = Folder::new("once");
    let program = folder.build(&["-g"], BUILD_ID);
    let mut resolver = Resolver::new();
    let first = program.site(&mut resolver, "plain");
    fs::remove_file(&program.path).unwrap();
    assert_eq!(program.site(&mut resolver, "plain"), first);
    assert_at(&program.site(&mut resolver, "last"), "last", "last");
}

#[test]
fn without_a_build_id_the_file_at_hand_is_believed() {
    let folder = Folder::new("unchecked");
    let program = folder.build(&["-g"], BUILD_ID);
    let mut resolver = Resolver::new();
    assert_at(&resolver.resolve(&program.path, None, program.offsets["plain"]), "plain", "plain");
    assert_at(
        &resolver.resolve(&program.path, Some("00C0FFEE0123456789ABCDEF"), program.offsets["last"]),
        "last",
        "last",
    );
    let nowhere = resolver.resolve(&program.path, None, u64::MAX);
    assert_eq!((nowhere.unresolved, nowhere.module_name()), (Some(Unresolved::NoSymbol), "calls"));
}

/// A trace may name anything as a module. Nothing writes to this pipe.
#[test]
fn a_pipe_is_no_module() {
    let folder = Folder::new("pipe");
    let pipe = folder.0.join("module");
    run(Command::new("mkfifo").arg(&pipe));
    let site = Resolver::new().resolve(pipe.to_str().unwrap(), None, 1);
    assert_eq!(site.unresolved, Some(Unresolved::Unreadable));
}

#[test]
fn a_line_of_python_is_what_the_trace_says() {
    let site = |line| Resolver::new().resolve("/home/a b/solver.py", Some("py:Solver.<lambda>"), line);
    assert_eq!(site(42).to_string(), "Solver.<lambda> at solver.py:42");
    assert_eq!((site(42).line_of_file().as_str(), site(42).unresolved), ("solver.py:42", None));
    assert_eq!((site(0).to_string().as_str(), site(0).line), ("Solver.<lambda> in solver.py", None));
}

/// A function of a library prints where it returns to in the program, less what the loader added.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
void MPI_Finalize(void)
{
    Dl_info program;
    dladdr(__builtin_return_address(0), &program);
    printf("%lx\n", (char *) __builtin_return_address(0) - (char *) program.dli_fbase);
}
"#;
const PROGRAM: &str = "void MPI_Finalize(void);\nint main(void) { MPI_Finalize(); return 0; }\n";

#[test]
fn the_function_that_a_call_is_for_is_known_however_the_program_was_linked() {
    let folder = Folder::new("called");
    let path = |name: &str| folder.0.join(name);
    fs::write(path("library.c"), LIBRARY).unwrap();
    fs::write(path("program.c"), PROGRAM).unwrap();
    run(Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([path("libnamed.so"), path("library.c")]));
    for options in [&[][..], &["-Wl,-z,now"], &["-fno-plt"], &["-fcf-protection=none"]] {
        if options.contains(&"-fcf-protection=none") && cfg!(not(target_arch = "x86_64")) {
            continue;
        }
        let search = format!("-Wl,-rpath,{}", folder.0.display());
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-fPIE", "-pie"]).args(options).arg("-o").args([path("program"), path("program.c")]);
        run(compiler.arg(path("libnamed.so")).arg(search));
        let output = Command::new(path("program")).output().unwrap();
        let offset = u64::from_str_radix(String::from_utf8(output.stdout).unwrap().trim(), 16).unwrap();
        assert_eq!(called(&path("program"), offset).as_deref(), Some("MPI_Finalize"), "{options:?}");
        assert_eq!(called(&path("program"), offset + 1), None, "{options:?}");
    }
}
