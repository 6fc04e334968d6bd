//! How far the work is, on a terminal, where it takes longer than a person likes to wait without a word.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Below, a bar would only flicker.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on stderr that comes after a second. Where stderr is no terminal it never does.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
}

impl Progress {
    /// For so many steps.
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %, {eta} left") {
            bar.set_style(style);
        }
        Progress { bar, begun: Instant::now() }
    }

    /// A step is done.
    pub fn step(&mut self) {
        if self.bar.is_hidden() && self.begun.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
