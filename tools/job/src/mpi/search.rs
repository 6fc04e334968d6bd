//! Where MPI libraries are looked for: below the launchers and compilers on the PATH, in LD_LIBRARY_PATH, and in the
//! loader's cache.

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

/// The compilers whose libraries are looked at; they stand beside the launchers.
const COMPILERS: [&str; 5] = ["mpicc", "mpicc.openmpi", "mpicc.mpich", "mpicc_abi", "mpiicc"];
const LAUNCHERS: [&str; 5] = ["mpirun", "mpiexec", "mpiexec.hydra", "mpirun.openmpi", "mpirun.mpich"];

/// Names of MPI libraries before `.so`: the ABIs' own, and the ones that Cray's compilers link.
const NAMES: [&str; 3] = ["libmpi", "libmpich", "libmpi_abi"];
const CRAY: [&str; 5] = ["libmpi_cray", "libmpi_gnu", "libmpi_intel", "libmpi_aocc", "libmpi_nvidia"];

/// The library that is asked for, else all that are found, the one that belongs to the first launcher on the PATH
/// first: absolute, under the names that programs ask for (`libmpi.so.40`).
pub fn libraries(asked_for: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(path) = asked_for else { return Ok(search()) };
    ensure!(path.is_file(), "{}: no such library", path.display());
    Ok(vec![std::path::absolute(path)?])
}

fn search() -> Vec<PathBuf> {
    let mut found = FoundLibraries::default();
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = Vec::new();
    // /bin is /usr/bin on most machines.
    let mut known = HashSet::new();
    for folder in env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        if folder.canonicalize().is_ok_and(|folder| known.insert(folder)) {
            folders.push(folder);
        }
    }
    let on_path = |names: &[&str]| -> Vec<PathBuf> {
        let paths = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        paths.filter(|path| path.is_file()).collect()
    };
    // A compiler names the folder, a launcher only the prefix, which may be /usr with several libraries in it.
    for compiler in on_path(&COMPILERS) {
        found.add(linked_by(&compiler));
    }
    for launcher in on_path(&LAUNCHERS) {
        found.add(below_prefix_of(&launcher));
    }
    let variable = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for folder in env::split_paths(&variable).filter(|folder| !folder.as_os_str().is_empty()) {
        found.add(libraries_in(&folder));
    }
    found.add(cached(&cache()));
    found.libraries
}

#[derive(Default)]
struct FoundLibraries {
    libraries: Vec<PathBuf>,
    known: HashSet<PathBuf>,
}

impl FoundLibraries {
    fn add(&mut self, paths: Vec<PathBuf>) {
        let is_new = |path: &PathBuf| path.canonicalize().is_ok_and(|file| is_elf(&file) && self.known.insert(file));
        self.libraries.extend(paths.into_iter().filter(is_new));
    }
}

/// The libraries that an MPI compiler links, by its own word: `-show` is known to all of them.
fn linked_by(compiler: &Path) -> Vec<PathBuf> {
    let output = Command::new(compiler).arg("-show").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let line = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let (folders, names) = link_line(&line);
    folders
        .iter()
        .flat_map(|folder| libraries_in(folder))
        .filter(|path| names.iter().any(|name| Some(name.as_str()) == stem(path).as_deref()))
        .collect()
}

fn link_line(line: &str) -> (Vec<PathBuf>, Vec<String>) {
    let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('"')).collect();
    let folders = words.iter().filter_map(|word| word.strip_prefix("-L")).map(|word| word.trim_matches('"'));
    let folders = folders.filter(|folder| folder.starts_with('/')).map(PathBuf::from).collect();
    let names = words.iter().filter_map(|word| word.strip_prefix("-l")).map(|name| format!("lib{name}"));
    (folders, names.filter(|name| is_mpi(name)).collect())
}

fn below_prefix_of(launcher: &Path) -> Vec<PathBuf> {
    let file = launcher.canonicalize().unwrap_or_else(|_| launcher.to_owned());
    // The link and what it leads to may belong to different prefixes: /opt/bin/mpirun -> /opt/mpich/bin/mpirun.
    let prefixes = [launcher, &file].map(|path| path.parent().and_then(Path::parent).map(Path::to_owned));
    let folders = prefixes
        .into_iter()
        .flatten()
        .flat_map(|prefix| ["lib", "lib64", "lib/release"].map(|folder| prefix.join(folder)));
    folders.flat_map(|folder| libraries_in(&folder)).collect()
}

fn cache() -> String {
    ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .iter()
        .find_map(|program| Command::new(program).arg("-p").stdin(Stdio::null()).stderr(Stdio::null()).output().ok())
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}

/// The MPI libraries among the lines `NAME (KIND) => PATH`, with the version that programs ask for.
fn cached(lines: &str) -> Vec<PathBuf> {
    let paths = lines.lines().filter_map(|line| Some(PathBuf::from(line.split_once(" => ")?.1.trim())));
    by_version(paths.collect())
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    by_version(entries.unwrap_or_default())
}

/// One file of each library and folder: `libmpi.so.12`, which programs ask for, before `libmpi.so.12.0` and
/// `libmpi.so`.
fn by_version(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut best: BTreeMap<(PathBuf, String), PathBuf> = BTreeMap::new();
    // `libmpi.so` links another library's linker script in some installations.
    let rank = |path: &Path| match versions(path) {
        0 => usize::MAX,
        parts => parts,
    };
    for path in paths {
        let Some(name) = stem(&path).filter(|name| is_mpi(name)) else { continue };
        let key = (path.parent().unwrap_or(Path::new("/")).to_owned(), name);
        match best.get(&key) {
            Some(known) if rank(known) <= rank(&path) => {}
            _ => {
                best.insert(key, path);
            }
        }
    }
    best.into_values().collect()
}

/// `libmpi` of `libmpi.so.40`.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    let (stem, rest) = name.split_once(".so")?;
    (rest.is_empty() || rest.starts_with('.')).then(|| stem.to_owned())
}

fn versions(path: &Path) -> usize {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.split_once(".so").map_or(0, |(_, rest)| rest.matches('.').count())
}

fn is_mpi(stem: &str) -> bool {
    // Cray adds the compiler's version: libmpi_gnu_123.
    NAMES.contains(&stem) || CRAY.iter().any(|name| stem.strip_prefix(name).is_some_and(|rest| !rest.contains("fort")))
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok_and(|()| magic == *b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_line_names_folders_and_libraries() {
        let debian = "gcc -I/usr/include -L/usr/lib/x86_64-linux-gnu -lmpich";
        let folders = vec![PathBuf::from("/usr/lib/x86_64-linux-gnu")];
        assert_eq!(link_line(debian), (folders, vec!["libmpich".to_owned()]));
        let intel = "gcc -L\"/opt/mpi/lib/release\" -Xlinker -rpath -lmpifort -lmpi -lrt -Wl,-z,now";
        assert_eq!(link_line(intel), (vec![PathBuf::from("/opt/mpi/lib/release")], vec!["libmpi".to_owned()]));
    }

    #[test]
    fn of_a_library_in_a_folder_the_name_that_programs_ask_for_is_taken() {
        let lines = "\tlibmpi_cxx.so.40 (libc6,x86-64) => /lib/libmpi_cxx.so.40\n\
                     \tlibmpi.so.40 (libc6,x86-64) => /lib/libmpi.so.40\n\
                     \tlibmpi.so (libc6,x86-64) => /lib/libmpi.so\n\
                     \tlibmpichfort.so.12 (libc6,x86-64) => /lib/libmpichfort.so.12\n\
                     \tlibmpich.so.12 (libc6,x86-64) => /lib/libmpich.so.12\n";
        assert_eq!(cached(lines), [PathBuf::from("/lib/libmpi.so.40"), PathBuf::from("/lib/libmpich.so.12")]);
        let intel =
            ["libmpi.so", "libmpi.so.12", "libmpi.so.12.0", "libmpi.so.12.0.0", "libmpi_abi.so.1", "libmpicxx.so.12"];
        let intel = intel.map(|name| Path::new("/opt").join(name)).to_vec();
        assert_eq!(by_version(intel), [PathBuf::from("/opt/libmpi.so.12"), PathBuf::from("/opt/libmpi_abi.so.1")]);
    }

    #[test]
    fn what_is_found_twice_is_one_library() {
        let folder = tempfile::tempdir().unwrap();
        let lib = folder.path().join("lib");
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        fs::create_dir_all(&lib).unwrap();
        fs::write(lib.join("libmpi.so.12"), b"\x7fELF and so on").unwrap();
        fs::write(lib.join("libmpi_abi.so.1"), "INPUT(libmpi.so)").unwrap();
        let mut found = FoundLibraries::default();
        found.add(below_prefix_of(&folder.path().join("bin/mpirun")));
        found.add(libraries_in(&lib));
        assert_eq!(found.libraries, [lib.join("libmpi.so.12")]);
    }
}
