//! One test on one library: its folder, and how it launches programs with and without the tracer.

use super::process::Running;
use super::{Mpi, Trace, build, companion, process, tracer};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// No launch of a test takes longer, unless the test says so; most take less than two seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// The lines of launchers that now and then fail by themselves, before they start a rank; they are tried again. The
/// first: PMIx looks through the network's interfaces while the machine changes them (lfortran issue 8610 has the
/// same).
const LAUNCHER_FAILED: [&str; 1] = ["The PMIx server's listener thread failed to start"];
/// So often.
const TRIES: u32 = 3;

pub struct Case<'m> {
    pub mpi: &'m Mpi,
    /// Empty at the start of the test, and left as it is to look into a failure.
    pub folder: PathBuf,
    /// For the live records of the test, in memory where the machine has that. Empty again at the end of it.
    pub segments: Segments,
    launches: AtomicU32,
}

/// The result of a launch.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    /// Where the trace was asked to go.
    pub trace: Trace,
}

impl<'m> Case<'m> {
    pub fn new(mpi: &'m Mpi, folder: PathBuf) -> Self {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the test");
        let segments = Segments::new(&folder);
        Self { mpi, folder, segments, launches: AtomicU32::new(0) }
    }

    /// `ranks` ranks of a program in tests/programs, or of one given by its whole path.
    pub fn launch(&self, ranks: u32, program: &str) -> Launch<'_> {
        let path = Path::new(program);
        let (variables, program) = if path.is_absolute() {
            (Vec::new(), vec![path.into()])
        } else if program.ends_with(".py") {
            let python = self.mpi.python.as_ref().expect("an mpi4py, as the test asked for one");
            let (python, variables) = python.split_last().expect("Python");
            (variables.to_vec(), vec![python.clone(), build::source(program).into()])
        } else {
            (Vec::new(), vec![build::program(self.mpi, program).into()])
        };
        Launch {
            case: self,
            ranks,
            program,
            variables,
            preload: Vec::new(),
            only: None,
            of_rank: Vec::new(),
            traced: false,
            limit: LIMIT,
        }
    }

    /// Runs the program without and with the tracer, which must make no difference to its output or its exit code.
    pub fn traced(&self, ranks: u32, program: &str) -> Trace {
        let plain = self.launch(ranks, program).run();
        let traced = self.launch(ranks, program).trace().run();
        traced.same_as(&plain);
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        traced.trace
    }

    /// The trace of what lies in the segment folder, which is empty then; of several jobs that of one.
    pub fn recover(&self) -> Trace {
        let trace = self.recovered("recovered.mpitrace");
        assert_eq!(self.segments.left(), Vec::<String>::new(), "the left-overs go when the trace is safe");
        trace
    }

    /// The recovered trace where ranks may still be ending: MPICH's launcher does not wait for the last one if the code
    /// is 0, and the first thread of a process can be gone before the others have let go of its files. `recover` waits
    /// for them.
    pub fn recover_soon(&self) -> Trace {
        self.recovered("soon.mpitrace")
    }

    fn recovered(&self, name: &str) -> Trace {
        let trace = Trace::new(self.folder.join(name));
        let _ = fs::remove_file(&trace.path);
        let (segments, path) = (self.segments.0.as_os_str(), trace.path.as_os_str());
        let words = ["recover".as_ref(), segments, "--job".as_ref(), "all".as_ref(), "-o".as_ref(), path];
        let finished = companion::mpitrace(&words);
        assert_eq!(finished.code, 0, "recover\n{}{}", finished.stdout, finished.stderr);
        trace
    }
}

/// Removed at the end of the test.
pub struct Segments(pub PathBuf);

impl Segments {
    fn new(folder: &Path) -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let memory = Path::new("/dev/shm").join(format!("mpitrace-test-{}-{number}", std::process::id()));
        let folder = if fs::create_dir(&memory).is_ok() { memory } else { folder.join("segments") };
        fs::create_dir_all(&folder).expect("a folder for segments");
        Self(folder)
    }

    /// Removes what lies there.
    pub fn empty(&self) {
        for name in self.left() {
            let _ = fs::remove_file(self.0.join(name));
        }
    }

    /// The names of what lies there.
    pub fn left(&self) -> Vec<String> {
        fs::read_dir(&self.0)
            .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default()
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A job about to be launched. The variables are set by `env` behind the launcher, so on the ranks only, which every
/// launcher can do.
pub struct Launch<'c> {
    case: &'c Case<'c>,
    ranks: u32,
    program: Vec<OsString>,
    variables: Vec<OsString>,
    preload: Vec<PathBuf>,
    only: Option<u32>,
    /// The environment of one rank alone.
    of_rank: Vec<(u32, OsString)>,
    traced: bool,
    limit: Duration,
}

impl Launch<'_> {
    /// May take so long.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// With the tracer, its output in the folder of the test and its live records in their own.
    pub fn trace(self) -> Self {
        self.trace_by(tracer())
    }

    /// Traced by this build of the library.
    pub fn trace_by(mut self, library: PathBuf) -> Self {
        self.traced = true;
        self.preload(library)
    }

    /// With this library preloaded, before those that were named already.
    pub fn preload(mut self, library: PathBuf) -> Self {
        self.preload.insert(0, library);
        self
    }

    /// Preloads into this rank of two alone.
    pub fn only_rank(mut self, rank: u32) -> Self {
        self.only = Some(rank);
        self
    }

    pub fn set(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.variables.push(assignment(name, value.as_ref()));
        self
    }

    /// Sets a variable of one rank alone.
    pub fn set_on_rank(mut self, rank: u32, name: &str, value: impl AsRef<Path>) -> Self {
        self.of_rank.push((rank, assignment(name, value.as_ref())));
        self
    }

    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.program.push(argument.into());
        self
    }

    /// Has the program started by these words, which take it for their last arguments.
    pub fn behind(mut self, words: &[OsString]) -> Self {
        self.program.splice(0..0, words.iter().cloned());
        self
    }

    /// Has Python run the program by a module.
    pub fn by_module(mut self, module: &str) -> Self {
        self.program.splice(1..1, ["-m".into(), module.into()]);
        self
    }

    /// The command of a rank, and where its trace goes.
    fn rank(&self, trace: &Path, preloaded: bool) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["env".into()];
        let set_by_test = |name: &str| {
            let of_ranks = self.of_rank.iter().map(|(_, variable)| variable);
            self.variables.iter().chain(of_ranks).any(|variable| variable.to_string_lossy().starts_with(name))
        };
        if preloaded && !self.preload.is_empty() {
            let paths: Vec<_> = self.preload.iter().map(|path| path.display().to_string()).collect();
            words.push(format!("LD_PRELOAD={}", paths.join(":")).into());
        }
        let ours = [("MPITRACE_OUTPUT", trace), ("MPITRACE_SEGMENT_DIR", &self.case.segments.0)];
        for (name, path) in ours {
            if preloaded && self.traced && !set_by_test(&format!("{name}=")) {
                words.push(format!("{name}={}", path.display()).into());
            }
        }
        words.extend(self.variables.iter().cloned());
        words.extend(self.program.iter().cloned());
        words
    }

    /// The whole command, launcher first.
    pub fn command(&self, trace: &Path) -> Vec<OsString> {
        let mut words = self.case.mpi.launcher.clone();
        if self.only.is_none() && self.of_rank.is_empty() {
            words.extend(["-np".into(), self.ranks.to_string().into()]);
            words.extend(self.rank(trace, true));
            return words;
        }
        for rank in 0..self.ranks {
            words.extend((rank > 0).then(|| ":".into()));
            words.extend(["-np".into(), "1".into(), "env".into()]);
            words.extend(self.of_rank.iter().filter(|(of, _)| *of == rank).map(|(_, variable)| variable.clone()));
            words.extend(self.rank(trace, self.only.is_none_or(|only| only == rank)));
        }
        words
    }

    pub fn run(self) -> Outcome {
        self.run_under(&[])
    }

    /// Runs the job by these words in place of the library's launcher and its number of ranks.
    pub fn run_by(self, launcher: &[OsString]) -> Outcome {
        self.run_words(|launch, trace| [launcher, &launch.rank(trace, true)].concat())
    }

    /// Runs the job as the last arguments of another command.
    pub fn run_under(self, before: &[OsString]) -> Outcome {
        self.run_words(|launch, trace| [before, &launch.command(trace)].concat())
    }

    /// Starts the job, which goes on while the test looks at it.
    pub fn start(self) -> Running {
        let number = self.case.launches.fetch_add(1, Ordering::Relaxed);
        let trace = self.case.folder.join(format!("run{number}.mpitrace"));
        let command = self.prepared(&self.command(&trace));
        Running::start(command, &self.case.folder.join(format!("launch{number}")), self.limit)
    }

    fn prepared(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.case.folder);
        for (name, _) in std::env::vars_os() {
            let known = name.to_string_lossy();
            if known.starts_with("MPITRACE_") || known.starts_with("LD_") {
                command.env_remove(&name);
            }
        }
        command.envs(self.case.mpi.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run_words(self, words: impl Fn(&Self, &Path) -> Vec<OsString>) -> Outcome {
        for _ in 0..TRIES {
            let outcome = self.run_once(&words);
            if !LAUNCHER_FAILED.iter().any(|line| outcome.stderr.contains(line)) {
                return outcome;
            }
        }
        self.run_once(&words)
    }

    fn run_once(&self, words: impl Fn(&Self, &Path) -> Vec<OsString>) -> Outcome {
        let number = self.case.launches.fetch_add(1, Ordering::Relaxed);
        let trace = self.case.folder.join(format!("run{number}.mpitrace"));
        let words = words(self, &trace);
        let command = self.prepared(&words);
        let finished = process::run(command, &self.case.folder.join(format!("launch{number}")), self.limit);
        // UCX, below MPICH and Open MPI, complains on stdout, with the time: of a container without /sys, for one.
        let lines = finished.stdout.split_inclusive('\n').filter(|line| !line.contains("  UCX  "));
        Outcome { code: finished.code, stdout: lines.collect(), stderr: finished.stderr, trace: Trace::new(trace) }
    }
}

fn assignment(name: &str, value: &Path) -> OsString {
    let mut variable = OsString::from(name);
    variable.push("=");
    variable.push(value);
    variable
}

impl Outcome {
    /// The tracer changed nothing that the program's user can see.
    #[track_caller]
    pub fn same_as(&self, plain: &Self) {
        assert_eq!(self.code, plain.code, "exit code, without the tracer on the right; stderr:\n{}", self.stderr);
        assert_eq!(self.stdout, plain.stdout, "output, without the tracer on the right; stderr:\n{}", self.stderr);
    }

    /// The lines on stderr with this text in them.
    pub fn lines_with(&self, text: &str) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.contains(text)).collect()
    }
}
