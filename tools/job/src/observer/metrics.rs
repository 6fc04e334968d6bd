//! The ranks of this node as OpenMetrics text while their job runs (`--metrics`), for the folder of node_exporter's
//! textfile collector.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mpitrace_format::layout::NO_RANK;
use mpitrace_format::metadata::Metadata;
use mpitrace_show::openmetrics;
use mpitrace_words::names::{program, user_name, value_of};
use tempfile::NamedTempFile;

use super::standing::Standing;
use crate::process;

/// The file is rewritten so often: Prometheus reads it every 15 s, or less often.
pub const PERIOD: Duration = Duration::from_secs(5);

/// The sums of a job's calls, in a file for Prometheus.
pub struct Metrics {
    file: PathBuf,
    written: Option<Instant>,
    /// Calls and time off the processor, ns, by process: sums must not fall when a process ends.
    sums: BTreeMap<u32, (u64, u64)>,
}

impl Metrics {
    /// The metrics of the run with this number, to be written to a file in this folder.
    pub fn new(folder: &Path, run: u32) -> Metrics {
        let file = folder.join(format!("mpitrace-{run}.prom"));
        Metrics { file, written: None, sums: BTreeMap::new() }
    }

    /// Rewrites the file where it is time for that. `ranks`: those that run, by their processes.
    pub fn look<'r>(&mut self, ranks: impl Iterator<Item = (u32, &'r mut Standing)>) {
        if self.written.is_some_and(|written| written.elapsed() < PERIOD) {
            return;
        }
        let (mut count, mut longest, mut known) = (0, Duration::ZERO, Metadata::new());
        for (pid, rank) in ranks {
            // A process in MPI_Init has no rank.
            let Some((moved, still)) = rank.look().filter(|(moved, _)| moved.rank != NO_RANK) else { continue };
            self.sums.insert(pid, (moved.calls, moved.off_ns));
            // Only some rank on each node has kept the number of the job.
            known.extend(rank.metadata().unwrap_or_default());
            (count, longest) = (count + 1, longest.max(still));
        }
        if count == 0 {
            return;
        }
        if let Err(error) = self.write(count, longest, &labels(&known)) {
            // Once: the folder will not change.
            let is_first = self.written.is_none();
            is_first.then(|| eprintln!("mpitrace: {}: {error}", self.file.display()));
        }
        self.written = Some(Instant::now());
    }

    /// A reader sees the whole file, old or new.
    fn write(&self, ranks: u32, longest: Duration, labels: &str) -> io::Result<()> {
        let (calls, off_ns) = self.sums.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let mut new = NamedTempFile::new_in(self.file.parent().unwrap_or(Path::new(".")))?;
        let seconds = "seconds";
        for (name, kind, unit, help, value) in [
            ("ranks", "gauge", "", "Ranks on this node that run", f64::from(ranks)),
            ("calls", "counter", "", "Collective calls begun by these ranks", calls as f64),
            (
                "off_processor_seconds",
                "counter",
                seconds,
                "Time off the processor, over these ranks",
                off_ns as f64 / 1e9,
            ),
            (
                "standstill_seconds",
                "gauge",
                seconds,
                "Longest time without a begun or ended MPI call",
                longest.as_secs_f64(),
            ),
        ] {
            openmetrics::head(&mut new, &format!("running_{name}"), kind, unit, help)?;
            let ending = if kind == "counter" { "_total" } else { "" };
            writeln!(new, "mpitrace_running_{name}{ending}{{{labels}}} {value}")?;
        }
        writeln!(new, "# EOF")?;
        new.as_file().set_permissions(Permissions::from_mode(0o644))?;
        new.persist(&self.file)?;
        Ok(())
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // There is none where it was never written.
        let _ = fs::remove_file(&self.file);
    }
}

fn labels(known: &Metadata) -> String {
    let command = value_of(known, "command").and_then(|command| program(&command));
    // Ranks of other users are not observed.
    let user = user_name(process::user());
    let values = [("job", value_of(known, "job")), ("program", command), ("user", Some(user))];
    let label = |(name, value): (&str, Option<String>)| openmetrics::label(name, &value.unwrap_or_default());
    values.map(label).join(",")
}
