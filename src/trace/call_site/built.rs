//! The compilers and options by which the program and the MPI library were built, read from their files after the run.
//!
//! DWARF names both (DW_AT_producer), the section `.comment` the compiler alone. Open MPI's library is often stripped
//! of both: its program `ompi_info` has them among its texts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use mpitrace_format::metadata::{self, Metadata, UNKNOWN};
use object::{Object, ObjectSection, ReadCache, ReadRef};

use crate::call_site::debug_files;
use crate::reader::Part;

/// Units of a program that are looked at, and compilers that are named.
const UNITS: usize = 10_000;
const NAMED: usize = 3;

/// A compiler and its options, where they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Built {
    compiler: String,
    flags: Option<String>,
}

/// The run metadata of a rank, with the compilers that its files name: `compiler` and `compiler_flags` of the library
/// where they were not recorded, `program_compiler` and `program_flags` of the program. A file that is not the one of
/// the run says nothing.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::{call_site::built, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// // The program of this trace has no file: what was recorded stays as it is.
/// assert_eq!(built::metadata(&trace.parts[0]), [("program".to_owned(), "app".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn metadata(part: &Part) -> Metadata {
    let mut found = part.metadata();
    let started = UNIX_EPOCH + Duration::from_nanos(part.info().first_anchor.realtime_ns);
    let files = |found: &Metadata, name: &str| -> Option<(PathBuf, Vec<PathBuf>)> {
        let path = PathBuf::from(metadata::get(found, &format!("{name}_file"))?);
        let id = metadata::get(found, &format!("{name}_build_id"));
        let is_older = || path.metadata().and_then(|file| file.modified()).is_ok_and(|changed| changed <= started);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let is_here = metadata::get(found, "host") == Some(host.trim_end());
        let candidates = (id.is_some() || is_here && is_older()).then(|| debug_files(&path, id))?;
        Some((path, candidates)).filter(|(_, files)| !files.is_empty())
    };
    let program = files(&found, "program").and_then(|(_, files)| files.iter().find_map(|file| of_file(file)));
    let is_unknown = metadata::get(&found, "compiler") == Some(UNKNOWN);
    let version = metadata::get(&found, "library").and_then(|library| library.strip_prefix("Open MPI v"));
    let version = version.and_then(|rest| rest.split([',', ' ']).next());
    let library = files(&found, "library").filter(|_| is_unknown).and_then(|(path, files)| {
        let of_library = || files.iter().find_map(|file| of_file(file));
        version.and_then(|version| of_open_mpi(&path, version)).or_else(of_library)
    });
    for (name, flags, built) in
        [("compiler", "compiler_flags", library), ("program_compiler", "program_flags", program)]
    {
        let Some(built) = built else { continue };
        found.retain(|(known, _)| known != name && known != flags);
        found.push((name.to_owned(), built.compiler));
        found.push((flags.to_owned(), built.flags.unwrap_or_else(|| UNKNOWN.to_owned())));
    }
    found
}

/// The compilers of a file, those of most units first, with the options of most units.
fn of_file(path: &Path) -> Option<Built> {
    let cache = ReadCache::new(fs::File::open(path).ok()?);
    let object = object::File::parse(&cache).ok()?;
    let producers = producers(&object).unwrap_or_default();
    let mut compilers: Vec<&str> = Vec::new();
    for (compiler, _) in &producers {
        if !compilers.contains(&compiler.as_str()) {
            compilers.push(compiler);
        }
    }
    let comment = object.section_by_name(".comment").and_then(|section| section.data().ok()).unwrap_or_default();
    let comments = texts(comment);
    if compilers.is_empty() {
        compilers = comments;
        compilers.dedup();
    }
    compilers.truncate(NAMED);
    let flags = producers.iter().find_map(|(_, flags)| flags.clone());
    (!compilers.is_empty()).then(|| Built { compiler: compilers.join("; "), flags })
}

/// Compiler and options of the units, those of the most first.
fn producers<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Option<Vec<(String, Option<String>)>> {
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: gimli::SectionId| -> Option<Cow<'data, [u8]>> {
        object.section_by_name(id.name())?.uncompressed_data().ok()
    };
    let load = |id| Ok::<_, gimli::Error>(section(id).unwrap_or_default());
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
    let mut counts: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    let mut units = dwarf.units();
    for _ in 0..UNITS {
        let Ok(Some(header)) = units.next() else { break };
        let unit = dwarf.unit(header).ok()?;
        let mut entries = unit.entries();
        let producer = entries.next_dfs().ok().flatten()?.attr_value(gimli::DW_AT_producer);
        let Some(text) = producer.and_then(|text| dwarf.attr_string(&unit, text).ok()) else { continue };
        let text = text.to_string_lossy();
        // An assembler has compiled nothing.
        if !text.starts_with("GNU AS") {
            let (compiler, flags) = match text.split_once(" -") {
                Some((compiler, flags)) => (compiler, Some(in_order(&format!("-{flags}")))),
                None => (&*text, None),
            };
            *counts.entry((compiler.to_owned(), flags)).or_default() += 1;
        }
    }
    let mut producers: Vec<_> = counts.into_iter().collect();
    producers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Some(producers.into_iter().map(|(producer, _)| producer).collect())
}

/// The options, with those last that say least: paths, and the hundred that `-march=native` alone stands for.
fn in_order(flags: &str) -> String {
    let says_little = |flag: &&str| {
        let is_of_machine = flag.starts_with("-m") && !flag.starts_with("-march=") && !flag.starts_with("-mtune=");
        is_of_machine || flag.starts_with("--param") || flag.contains("-prefix-map=")
    };
    let (last, mut first): (Vec<&str>, Vec<&str>) = flags.split_whitespace().partition(says_little);
    first.extend(last);
    first.join(" ")
}

/// Texts of at least two letters.
fn texts(bytes: &[u8]) -> Vec<&str> {
    let texts = bytes.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    texts.filter(|text| text.len() > 1 && !text.contains(|letter: char| letter.is_control())).collect()
}

/// The build of the Open MPI of this version, to which this library belongs, by the texts of `ompi_info` above it. A
/// value lies before its key; one that is long lies among the other long texts, of which only the options of its C
/// compiler have `-finline-functions`.
fn of_open_mpi(library: &Path, version: &str) -> Option<Built> {
    library.ancestors().find_map(|folder| {
        let bytes = fs::read(folder.join("bin/ompi_info")).ok()?;
        let texts = texts(&bytes);
        let value = |key: &str| {
            let place = texts.iter().position(|text| *text == key)?;
            texts.get(place.checked_sub(1)?).copied()
        };
        let command = value("compiler:c:absolute").filter(|path| path.starts_with('/'))?;
        let of_compiler = [value("compiler:c:familyname"), value("compiler:c:version")].into_iter().flatten();
        let compiler = format!("{command} ({})", of_compiler.collect::<Vec<_>>().join(" "));
        let flags = texts.iter().filter(|text| text.starts_with('-') && text.contains(" -finline-functions"));
        let flags = flags.max_by_key(|text| text.len()).map(|flags| in_order(flags));
        texts.contains(&version).then_some(Built { compiler, flags })
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn build(folder: &Path, options: &[&str]) -> Option<Built> {
        let (source, program) = (folder.join("main.c"), folder.join("main"));
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let built = Command::new("cc").args(options).arg("-o").arg(&program).arg(source).status().unwrap();
        assert!(built.success());
        of_file(&program)
    }

    #[test]
    fn a_program_names_its_compiler_and_with_debug_data_its_options() {
        let folder = tempfile::tempdir().unwrap();
        let with = build(folder.path(), &["-g", "-O1", "-fno-inline", "-grecord-gcc-switches"]).unwrap();
        let flags = with.flags.expect("the options");
        assert!(flags.contains("-O1") && flags.contains("-fno-inline"), "{flags}");
        let without = build(folder.path(), &["-O1"]).unwrap();
        assert_eq!(without.flags, None);
        assert!(!without.compiler.is_empty() && !with.compiler.contains(" -"), "{without:?} {}", with.compiler);
        assert_eq!(build(folder.path(), &["-O1", "-Wl,-s", "-Wl,--build-id"]).map(|built| built.flags), Some(None));
        assert_eq!(of_file(&folder.path().join("main.c")), None);
    }

    #[test]
    fn options_that_say_little_come_last() {
        assert_eq!(
            in_order("-mavx -march=a -fc-prefix-map=d=. --param=c=1 -g -O2"),
            "-march=a -g -O2 -mavx -fc-prefix-map=d=. --param=c=1"
        );
    }

    #[test]
    fn open_mpi_is_believed_of_its_own_version() {
        let folder = tempfile::tempdir().unwrap();
        let (programs, library) = (folder.path().join("bin"), folder.path().join("lib/libmpi.so.40"));
        fs::create_dir_all(&programs).unwrap();
        let long = "-O2\0-g -O3 -finline-functions -mcx16 \0-g -O3 -finline-functions \0";
        let short =
            "5.0.1\0/usr/bin/gcc\0compiler:c:absolute\0C\0GNU\0compiler:c:familyname\x0014.2.1\0compiler:c:version\0";
        fs::write(programs.join("ompi_info"), format!("\u{7f}ELF\0{long}{short}")).unwrap();
        let expected = Built {
            compiler: "/usr/bin/gcc (GNU 14.2.1)".to_owned(),
            flags: Some("-g -O3 -finline-functions -mcx16".to_owned()),
        };
        assert_eq!(of_open_mpi(&library, "5.0.1"), Some(expected));
        assert_eq!(of_open_mpi(&library, "5.0.10"), None);
        assert_eq!(of_open_mpi(Path::new("/nowhere/lib/libmpi.so"), "5.0.1"), None);
    }
}
