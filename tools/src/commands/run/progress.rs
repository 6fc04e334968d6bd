//! How far the runs are: a bar on a terminal, a line for each run elsewhere.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// What is left, as soon as a run has told how long one takes.
fn left(state: &ProgressState, to: &mut dyn Write) {
    if state.pos() > 0 {
        let _ = write!(to, ", {} left", HumanDuration(state.eta()));
    }
}

/// The progress of the runs, on stderr.
pub struct Progress {
    /// `None` where stderr is no terminal.
    bar: Option<ProgressBar>,
    runs: usize,
    begun: usize,
}

impl Progress {
    pub fn new(runs: usize) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs, {msg}{elapsed} gone{left}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(runs as u64).with_style(style.with_key("left", left))
        });
        Progress { bar, runs, begun: 0 }
    }

    /// Does one run.
    pub fn during<T>(&mut self, label: &str, run: impl FnOnce() -> T) -> T {
        self.begun += 1;
        let line = format!("mpitrace: run {} of {}: {label}", self.begun, self.runs);
        let Some(bar) = &self.bar else {
            eprintln!("{line}");
            return run();
        };
        let done = if io::stdout().is_terminal() {
            // The job writes where the bar is: it goes while the job runs.
            bar.println(line);
            bar.suspend(run)
        } else {
            bar.set_message(format!("{label}, "));
            bar.enable_steady_tick(Duration::from_millis(500));
            let done = run();
            bar.disable_steady_tick();
            done
        };
        bar.inc(1);
        done
    }

    /// Takes the bar away.
    pub fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
