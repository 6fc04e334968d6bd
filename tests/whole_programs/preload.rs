//! Where the preloaded library meets something else than one MPI program with the tracer on every rank.

use crate::support::trace::Operation;
use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Test, binaries, build, process, root, tracer, want};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// One library of each kind.
const LOOKED_UP: On = On::Only(&["ompi4", "mpich4", "ompi5", "mpich5-abi", "impi"]);

pub const TESTS: &[Test] = &[
    Test::new("into_what_is_no_mpi_program_is_silent", not_mpi).on(On::Any),
    Test::new("into_programs_of_thirty_kinds_makes_no_difference", thirty_kinds).on(On::Any).second_tier(),
    Test::new("into_what_is_no_mpi_program_opens_and_starts_nothing", opens_nothing).on(On::Any).needs("strace"),
    Test::new("into_the_launcher_too_makes_no_difference", launcher_too),
    Test::new("into_rank_0_alone_makes_no_difference", |case| one_rank(case, 0)).second_tier(),
    Test::new("into_rank_1_alone_makes_no_difference", |case| one_rank(case, 1)),
    Test::new("into_one_rank_of_a_job_that_a_launcher_calls_uniform_makes_no_difference", one_of_a_uniform_job)
        .second_tier(),
    Test::new("into_nodes_with_other_variables_gives_one_trace", nodes_with_other_variables),
    Test::new("beside_open_mpi_s_objects_asks_the_library_for_its_interface", open_mpi_objects)
        .on(On::Only(&["mpich5-abi", "impi-abi"])),
    Test::new("beside_another_tool_lets_both_see_each_call_once", another_tool),
    Test::new("above_a_tool_passes_all_words_of_pcontrol_on", words_of_pcontrol),
    Test::new("traces_functions_that_the_program_looks_up_by_a_handle", by_handle).on(LOOKED_UP),
    Test::new("beside_a_tool_that_looks_functions_up_by_a_handle_gives_both_all_calls", tool_by_handle).on(LOOKED_UP),
    Test::new("into_a_plugin_over_a_library_of_another_name_traces_it", library_of_another_name)
        .on(On::Only(&["mpich4"])),
    Test::new("with_its_files_closed_keeps_out_of_the_program_s", closed_files),
    Test::new("from_two_places_records_once_and_says_so", second_copy),
    Test::new("beside_another_library_of_its_name_says_so", namesake),
    Test::new("into_a_program_that_needs_a_library_of_its_name_leaves_it_that", linked_namesake),
    Test::new("needs_no_newer_c_library_than_is_stated", c_library).on(On::Any).needs("objdump"),
];

fn not_mpi(case: &Case) {
    let commands: [(&[&str], i32, &str); 5] = [
        (&["/bin/true"], 0, ""),
        (&["/bin/false"], 1, ""),
        (&["sh", "-c", "echo out; exit 3"], 3, "out\n"),
        (&["python3", "-c", "print(6 * 7)"], 0, "42\n"),
        (&["env", "-i", "/bin/echo", "bare"], 0, "bare\n"),
    ];
    for (words, code, output) in commands {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("LD_PRELOAD", tracer()).current_dir(&case.folder);
        let finished = process::run(command, &case.folder.join("output"), Duration::from_secs(30));
        let got = (finished.code, finished.stdout.as_str(), finished.stderr.as_str());
        assert_eq!(got, (code, output, ""), "{words:?}");
    }
    let left: Vec<_> = fs::read_dir(&case.folder).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["output"], "nothing is written");
}

/// Lines of a shell, by what they try. A program that is not installed is left out.
const KINDS: [(&str, &str); 36] = [
    ("true", "true"),
    ("false", "false"),
    ("dash", "dash -c 'trap \"echo trapped\" EXIT; (exit 3) | cat; echo $?'"),
    ("bash", "bash -c 'coproc cat; echo word >&${COPROC[1]}; read -u ${COPROC[0]} w; echo $w'"),
    ("env", "env -i /bin/echo bare"),
    ("awk", "echo 1 2 | awk '{print $1 + $2}'"),
    ("sed", "echo one | sed s/one/two/"),
    ("grep", "printf 'a\nb\n' | grep -c ."),
    ("find", "find /etc/hostname -name 'host*'"),
    ("sort", "seq 20000 -1 1 | sort -n --parallel=2 | head -1"),
    ("xargs", "seq 40 | xargs -P 4 -n 1 true && echo done"),
    ("tar", "mkdir -p t && echo x >t/x && tar -cf - t | tar -tf - && rm -r t"),
    ("gzip", "echo text | gzip -c | gzip -dc"),
    ("xz", "echo text | xz -T2 -c | xz -dc"),
    ("bzip2", "echo text | bzip2 -c | bzip2 -dc"),
    ("perl", "perl -e 'my $p = fork; exit 0 unless $p; waitpid $p, 0; print $?'"),
    (
        "python3",
        "python3 -c 'import subprocess, threading; t = threading.Thread(target=print, args=(1,)); t.start(); \
      t.join(); print(subprocess.run([\"true\"]).returncode)'",
    ),
    ("python3", "python3 -c 'import multiprocessing as m; print(m.get_context(\"fork\").Pool(2).map(abs, [-1, 2]))'"),
    ("python3", "python3 -c 'import ctypes; print(ctypes.CDLL(None).abs(-3))'"),
    ("node", "node -e 'console.log(6 * 7)'"),
    ("java", "java -XX:+UseSerialGC -version"),
    ("tclsh", "echo 'puts [expr 6 * 7]' | tclsh"),
    ("cc", "echo 'int main(void) { return 7; }' >p.c && cc -o p p.c && ./p; echo $?; rm -f p p.c"),
    ("cc", "echo 'int main(void) { return 7; }' >s.c && cc -static -o s s.c && ./s; echo $?; rm -f s s.c"),
    (
        "c++",
        "echo 'int main() { try { throw 7; } catch (int n) { return n; } }' >q.cc && c++ -o q q.cc && ./q; echo $?; \
      rm -f q q.cc",
    ),
    ("make", "printf 'all: a b\na b:\n\t@true\n' | make -j2 -f - && echo made"),
    ("git", "git init -q g && git -C g status --short && rm -r g"),
    ("gdb", "gdb -nx -batch -ex 'print 6 * 7'"),
    ("openssl", "echo text | openssl dgst -sha256"),
    ("sqlite3", "sqlite3 :memory: 'select 6 * 7'"),
    ("vim", "vim -u NONE -es -c 'q!'; echo $?"),
    ("timeout", "timeout 5 sh -c 'kill -9 $$'; echo $?"),
    ("setsid", "setsid -w sh -c 'exec 0<&- 1>&- 2>&-; true'; echo $?"),
    ("sh", "ulimit -v 400000; ulimit -n 20; sh -c 'echo limited'"),
    ("chroot", "if [ $(id -u) = 0 ]; then chroot / /bin/echo inside; else echo inside; fi"),
    ("unshare", "unshare -Ur sh -c 'echo inside' 2>/dev/null || echo refused"),
];

/// Processes that never come to MPI_Init: as without the tracer to the last byte, and no file is left.
fn thirty_kinds(case: &Case) {
    let run = |line: &str, preload: bool| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&case.folder);
        if preload {
            command.env("LD_PRELOAD", tracer());
        }
        let finished = process::run(command, &case.folder.join("output"), Duration::from_secs(60));
        (finished.code, finished.stdout, finished.stderr)
    };
    let mut tried = Vec::new();
    for (name, line) in KINDS {
        let found = Command::new("sh").args(["-c", &format!("command -v {name} >/dev/null")]).status();
        if found.is_ok_and(|status| status.success()) {
            assert_eq!(run(line, true), run(line, false), "{line}");
            tried.push(name);
        }
    }
    assert!(tried.len() >= 25, "too few of them are installed: {tried:?}");
    let left: Vec<_> = fs::read_dir(&case.folder).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["output"], "nothing is written");
}

/// System calls other than those by which the loader maps libraries are those without the tracer.
fn opens_nothing(case: &Case) {
    const OF_THE_LOADER: [&str; 10] =
        ["openat", "read", "pread64", "fstat", "newfstatat", "mmap", "mprotect", "close", "munmap", "access"];
    let calls = |preload: bool| {
        let log = case.folder.join("calls");
        let mut command = Command::new("strace");
        command.args(["-f", "-o"]).arg(&log).arg("-E");
        command.arg(if preload { format!("LD_PRELOAD={}", tracer().display()) } else { "UNSET=1".to_owned() });
        command.arg("/bin/true").current_dir(&case.folder);
        let finished = process::run(command, &case.folder.join("output"), Duration::from_secs(60));
        assert_eq!(finished.code, 0, "{}", finished.stderr);
        let text = fs::read_to_string(&log).expect("what strace has written");
        // Behind the number of the process.
        let call = |line: &str| line.split_once(' ').map_or(String::new(), |(_, call)| call.trim_start().to_owned());
        let calls: Vec<String> = text.lines().map(call).filter(|call| !call.starts_with("+++")).collect();
        let name = |call: &String| call.split('(').next().unwrap_or_default().to_owned();
        let others = calls.iter().map(name).filter(|name| !OF_THE_LOADER.contains(&name.as_str()));
        let opened = calls.iter().filter(|call| call.starts_with("openat(") && !call.contains("ENOENT"));
        let opened = opened.filter_map(|call| Some(call.split('"').nth(1)?.rsplit('/').next()?.to_owned()));
        (others.collect::<Vec<_>>(), opened.collect::<std::collections::BTreeSet<_>>())
    };
    let (plain, mut traced) = (calls(false), calls(true));
    // One look whether the process has a standard error: else a file of the program may get its number.
    let look = traced.0.iter().position(|name| name == "fcntl").map(|place| traced.0.remove(place));
    assert_eq!((look.as_deref(), &traced.0), (Some("fcntl"), &plain.0));
    let more: Vec<_> = traced.1.difference(&plain.1).map(String::as_str).collect();
    assert_eq!(more, ["libmpitrace.so"], "it needs no library but that of C");
}

/// `LD_PRELOAD=... mpirun`, as somebody types it first: mpirun, its daemons and shells carry the library too.
fn launcher_too(case: &Case) {
    let plain = case.launch(2, "repeat.c").run();
    let preload = format!("LD_PRELOAD={}", tracer().display());
    let launch = case.launch(2, "repeat.c").set("MPITRACE_OUTPUT", case.folder.join("all.mpitrace"));
    let everywhere = launch.run_under(&["env".into(), preload.into()]);
    everywhere.same_as(&plain);
    let traces = fs::read_dir(&case.folder).expect("the folder").flatten();
    let traces = traces.filter(|entry| entry.path().extension().is_some_and(|e| e == "mpitrace")).count();
    assert_eq!(traces, 1, "one trace of one world\n{}", everywhere.stderr);
}

fn one_rank(case: &Case, rank: u32) {
    let plain = case.launch(2, "counts.c").run();
    let mixed = case.launch(2, "counts.c").only_rank(rank).trace().run();
    mixed.same_as(&plain);
}

/// The variables that a launcher sets on a rank that is alone on its node.
const ALONE_ON_ITS_NODE: [(&str, &str); 2] = [("OMPI_COMM_WORLD_LOCAL_SIZE", "1"), ("MPI_LOCALNRANKS", "1")];
/// The variables of the ranks of a Slurm step.
const STEP: [(&str, &str); 2] = [("SLURM_JOB_ID", "4711"), ("SLURM_STEP_ID", "0")];

/// Hydra and Slurm hand their environment to all ranks: that all are traced does not follow from it.
fn one_of_a_uniform_job(case: &Case) {
    let plain = case.launch(2, "counts.c").run();
    let mixed = case.launch(2, "counts.c").only_rank(0).trace();
    let mixed = ALONE_ON_ITS_NODE.iter().chain(&STEP).fold(mixed, |launch, (name, value)| launch.set(name, value));
    mixed.run().same_as(&plain);
}

/// As `mpirun` within a batch job sets them: a node that a daemon was started on has a step's variables, the first node
/// has none. Each rank has a segment folder of its own here, as if it were on a node of its own.
fn nodes_with_other_variables(case: &Case) {
    let plain = case.launch(2, "counts.c").run();
    let nodes = [0, 1].map(|rank: u32| (rank, case.segments.0.join(format!("node{rank}"))));
    let mut launch = case.launch(2, "counts.c").trace();
    for (rank, folder) in &nodes {
        fs::create_dir(folder).expect("a folder for segments");
        launch = launch.set_on_rank(*rank, "MPITRACE_SEGMENT_DIR", folder);
    }
    launch = ALONE_ON_ITS_NODE.iter().fold(launch, |launch, (name, value)| launch.set(name, value));
    launch = STEP.iter().fold(launch, |launch, (name, value)| launch.set_on_rank(1, name, value));
    let traced = launch.run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    assert!(info.complete && info.ranks == 2, "{}", traced.stderr);
    for (_, folder) in &nodes {
        fs::remove_dir(folder).expect("nothing is left in the folder for segments");
    }
    let left = fs::read_dir(&case.folder).expect("the folder").flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "what nodes have told each other is left: {left:?}");
}

/// Open MPI 6 has a library of the standard interface on top of its own library.
fn open_mpi_objects(case: &Case) {
    let objects = build::shared_library(case.mpi, "open_mpi_objects.c");
    let plain = case.launch(2, "counts.c").run();
    let traced = case.launch(2, "counts.c").preload(objects).trace().run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    assert_eq!(info.abi, "standard");
    let double = |operation: &&Operation| operation.function == "MPI_Allreduce" && operation.communicator == WORLD;
    let operation = info.operations.iter().find(double).unwrap_or_else(|| panic!("{:#?}", info.operations));
    assert_eq!(operation.datatype.as_deref(), Some("MPI_DOUBLE"));
}

fn another_tool(case: &Case) {
    let tally = build::shared_library(case.mpi, "tally.c");
    let plain = case.launch(2, "counts.c").run();
    for above in [true, false] {
        let launch = case.launch(2, "counts.c").set("TALLY_OUTPUT", case.folder.join("tally"));
        let launch = if above { launch.trace().preload(tally.clone()) } else { launch.preload(tally.clone()).trace() };
        let both = launch.run();
        both.same_as(&plain);
        for rank in 0..2 {
            let path = case.folder.join(format!("tally.{rank}"));
            assert_eq!(tally_of(&path), "MPI_Barrier 6\nMPI_Bcast 20\nMPI_Allreduce 40\n", "above us: {above}");
            fs::remove_file(path).expect("the tally");
        }
        let on = |communicator, root| {
            [
                want("MPI_Allreduce", communicator, 2).of(64, "MPI_DOUBLE").by("MPI_SUM").times(20),
                want("MPI_Bcast", communicator, 2).of(16, "MPI_INT").root(root).times(10),
                want("MPI_Barrier", communicator, 2).times(3),
            ]
        };
        both.trace.info().assert_is(&[on(WORLD, 1), on(NUMBERED, 0)].concat());
    }
}

fn tally_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A tool's library reads what is behind the level.
fn words_of_pcontrol(case: &Case) {
    let tool = build::shared_library(case.mpi, "pcontrol_tool.c");
    let plain = case.launch(2, "pcontrol_words.c").preload(tool.clone()).run();
    assert!(plain.stdout.contains("pcontrol 1 region 42 0x1234 5"), "{}", plain.stdout);
    let both = case.launch(2, "pcontrol_words.c").preload(tool).trace().run();
    assert_eq!(sorted(&both.stdout), sorted(&plain.stdout), "{}", both.stderr);
    both.trace.info().assert_is(&[want("MPI_Barrier", WORLD, 2)]);
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Vendors give their library names of their own. This is a copy of the library under another file name and SONAME,
/// which a plugin alone needs: so nothing finds it but by what it defines.
fn library_of_another_name(case: &Case) {
    let (name, other) = ("libmpich.so.12", "libxyzab.so.12");
    let host = case.folder.join("plugin_host");
    let built = Command::new("cc").arg("-o").arg(&host).arg(build::source("plugin_host.c")).status();
    assert!(built.expect("a compiler").success());
    let plugin = build::shared_library(case.mpi, "plugin.c");
    let needed = Command::new("ldd").arg(&plugin).output().expect("ldd");
    let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
    let line = needed.lines().find(|line| line.trim_start().starts_with(name)).expect("the library");
    let path = line.split_whitespace().nth(2).expect("its path");
    let renamed = |from: &Path, to: &Path| {
        let mut bytes = fs::read(from).expect("a library");
        let places: Vec<usize> =
            (0..bytes.len() - name.len()).filter(|&at| bytes[at..].starts_with(name.as_bytes())).collect();
        assert!(!places.is_empty(), "{} names {name}", from.display());
        for at in places {
            bytes[at..at + name.len()].copy_from_slice(other.as_bytes());
        }
        fs::write(to, bytes).expect("a copy");
    };
    renamed(Path::new(path), &case.folder.join(other));
    renamed(&plugin, &case.folder.join("plugin.so"));
    let launch = || {
        let host = host.to_str().expect("a plain path");
        case.launch(2, host).arg(case.folder.join("plugin.so")).set("LD_LIBRARY_PATH", &case.folder)
    };
    let plain = launch().run();
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "sum 2\n"), "{}", plain.stderr);
    let traced = launch().trace().run();
    traced.same_as(&plain);
    traced.trace.info().assert_is(&[want("MPI_Allreduce", WORLD, 2).of(4, "MPI_INT").by("MPI_SUM").times(5)]);
}

/// Functions of MPI that the program looks up by a handle are traced, and all else that `dlsym` gives is the same.
fn by_handle(case: &Case) {
    let host = case.folder.join("by_handle");
    let built =
        Command::new("cc").args(["-Wall", "-Werror", "-o"]).arg(&host).arg(build::source("by_handle.c")).status();
    assert!(built.expect("a compiler").success());
    let plugin = build::shared_library(case.mpi, "by_handle_plugin.c");
    for scope in ["local", "global"] {
        let launch = || case.launch(2, host.to_str().expect("a plain path")).arg(&plugin).arg(scope);
        let plain = launch().run();
        assert!(plain.code == 0 && plain.stdout.contains("ok"), "{}{}", plain.stdout, plain.stderr);
        let traced = launch().trace().run();
        assert_eq!(sorted(&traced.stdout), sorted(&plain.stdout), "{scope}: {}", traced.stderr);
        assert_eq!(traced.code, 0);
        let reduce = want("MPI_Allreduce", WORLD, 2).of(4, "MPI_INT").by("MPI_SUM").times(5);
        traced.trace.info().assert_is(&[want("MPI_Barrier", WORLD, 2).times(50), reduce]);
    }
}

/// A tool that asks a handle of the library for what it forwards to, above and below the tracer: each sees every call
/// once.
fn tool_by_handle(case: &Case) {
    let tool = build::shared_library(case.mpi, "handle_tool.c");
    let plain = case.launch(2, "repeat.c").preload(tool.clone()).run();
    assert!(plain.code == 0 && plain.stdout.contains("the tool saw"), "{}{}", plain.stdout, plain.stderr);
    for above in [true, false] {
        let launch = case.launch(2, "repeat.c");
        let launch = if above { launch.trace().preload(tool.clone()) } else { launch.preload(tool.clone()).trace() };
        let both = launch.run();
        assert_eq!((both.code, sorted(&both.stdout)), (0, sorted(&plain.stdout)), "above: {above}\n{}", both.stderr);
        let seen = format!("the tool saw {}", both.trace.info().only("MPI_Allreduce").repetitions);
        assert_eq!(both.stdout.lines().filter(|line| *line == seen).count(), 2, "{}", both.stdout);
    }
}

/// A descriptor that the program closes may have been the tracer's; one that it opens then is not.
fn closed_files(case: &Case) {
    let plain = case.launch(2, "closes_files.c").run();
    let traced = case.launch(2, "closes_files.c").trace().run();
    traced.same_as(&plain);
    assert_eq!(traced.lines_with("replaced: some").len(), 2, "{}", traced.stderr);
    let info = traced.trace.info();
    assert_eq!((info.complete, info.records, info.dropped), (true, 2 * 40001, 0), "{}", traced.stderr);
    for rank in 0..2 {
        assert_eq!(fs::read(case.folder.join(format!("mine.{rank}"))).expect("its file"), b"mine");
    }
}

/// Two modules of an environment may both bring the tracer.
fn second_copy(case: &Case) {
    let copy = case.folder.join("libmpitrace.so");
    fs::copy(tracer(), &copy).expect("a copy of the tracer");
    let plain = case.launch(2, "repeat.c").run();
    for above in [true, false] {
        let launch = case.launch(2, "repeat.c");
        let launch = if above { launch.trace().preload(copy.clone()) } else { launch.preload(copy.clone()).trace() };
        let both = launch.run();
        both.same_as(&plain);
        let second = if above { tracer() } else { copy.clone() };
        assert_eq!(both.lines_with("a second copy").len(), 1, "{}", both.stderr);
        assert_eq!(both.lines_with(&second.display().to_string()).len(), 1, "it is named\n{}", both.stderr);
        assert_eq!(both.lines_with("traced into").len(), 1, "one trace\n{}", both.stderr);
        assert!(both.trace.info().complete);
    }
}

/// Extrae and IBM's tracer have a libmpitrace.so too.
fn namesake(case: &Case) {
    let other = case.folder.join("libmpitrace.so");
    fs::copy(build::shared_library(case.mpi, "tally.c"), &other).expect("another tool's library");
    let plain = case.launch(2, "repeat.c").run();
    let tally = case.folder.join("tally");
    let both = case.launch(2, "repeat.c").set("TALLY_OUTPUT", tally).preload(other.clone()).trace().run();
    both.same_as(&plain);
    let named = format!("{} is another tool's library of the same name", other.display());
    assert_eq!(both.lines_with(&named).len(), 1, "{}", both.stderr);
    assert!(both.trace.info().complete);
}

/// The loader looks for what a program needs by name: among the names and SONAMEs of what is loaded, preloaded
/// libraries first.
fn linked_namesake(case: &Case) {
    let other = case.folder.join("libmpitrace.so");
    fs::copy(build::shared_library(case.mpi, "other_tool.c"), &other).expect("another tool's library");
    let program = build::linked_with(case.mpi, "linked_namesake.c", &other);
    let launch = || case.launch(2, program.to_str().expect("a plain path"));
    let plain = launch().run();
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "rank 0: sum 5\nrank 1: sum 5\n"), "{}", plain.stderr);
    let both = launch().trace().run();
    both.same_as(&plain);
    let named = format!("{} is another tool's library of the same name", other.display());
    assert_eq!(both.lines_with(&named).len(), 1, "{}", both.stderr);
    both.trace.info().assert_is(&[want("MPI_Allreduce", WORLD, 2).of(4, "MPI_INT").by("MPI_SUM").times(5)]);
}

/// Versions of glibc, by the symbols that a file takes from it.
fn c_library_versions(file: &Path) -> Vec<(u32, u32)> {
    let listed = Command::new("objdump").arg("-T").arg(file).output().expect("objdump starts");
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let version = |text: &str| {
        let mut numbers = text.split(['.', ')']).map_while(|number| number.trim().parse().ok());
        Some((numbers.next()?, numbers.next()?))
    };
    text.split("GLIBC_").skip(1).filter_map(version).collect()
}

/// As `cargo build` makes them here. Wheels are linked to older ones.
fn c_library(_: &Case) {
    let page = fs::read_to_string(root().join("docs/developers/platforms.md")).expect("the page of the platforms");
    let files = [(tracer(), "libmpitrace.so", (2, 34)), (binaries::companion(), "mpitrace", (2, 35))];
    for (file, name, stated) in files {
        let newest = c_library_versions(&file).into_iter().max().expect("it uses the C library");
        assert!(newest <= stated, "{name} needs glibc {newest:?}, and {stated:?} is stated");
        let row = format!("| `{name}` | {}.{} |", stated.0, stated.1);
        assert!(page.contains(&row), "docs/developers/platforms.md has no row {row}");
    }
}
