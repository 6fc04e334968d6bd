//! How far the work is, on a terminal, where it takes longer than a person likes to wait without a word.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Below, a line would only flicker.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is drawn anew, so that the time goes on within a long step.
const TICK: Duration = Duration::from_millis(200);

/// A line on stderr that comes after a second, also within a step. Where stderr is no terminal it never does.
pub struct Progress {
    line: Arc<Line>,
    /// Draws it until the channel is closed.
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

struct Line {
    what: String,
    started: Instant,
    /// 0: how far the work is cannot be told.
    steps: u64,
    done: AtomicU64,
    is_shown: Mutex<bool>,
}

impl Line {
    fn text(&self) -> String {
        let share = (100 * self.done.load(Ordering::Relaxed)).checked_div(self.steps);
        let share = share.map(|percent| format!(" {percent} %")).unwrap_or_default();
        format!("{}{share}, {} s gone", self.what, self.started.elapsed().as_secs())
    }

    fn draw(&self) {
        let mut is_shown = self.clear();
        eprint!("{}", self.text());
        *is_shown = true;
    }

    /// Takes it away, until the guard is dropped.
    fn clear(&self) -> MutexGuard<'_, bool> {
        let mut is_shown = self.is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_shown) {
            eprint!("\r\x1b[K");
        }
        is_shown
    }
}

impl Progress {
    /// For so many steps.
    pub fn new(steps: u64) -> Self {
        Progress::of("done:", steps, io::stderr().is_terminal())
    }

    /// The same, beside output that is written meanwhile: on a terminal that tells enough, and the line would be between
    /// its lines.
    pub fn beside_output(steps: u64) -> Self {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Progress::of("done:", steps, is_shown)
    }

    fn of(what: &str, steps: u64, is_shown: bool) -> Self {
        let (done, started, what) = (AtomicU64::new(0), Instant::now(), what.to_owned());
        let line = Arc::new(Line { what, started, steps, done, is_shown: Mutex::new(false) });
        let drawn = Arc::clone(&line);
        let (sender, receiver) = mpsc::channel::<()>();
        let draw = move || {
            let mut wait = PATIENCE;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(wait) {
                drawn.draw();
                wait = TICK;
            }
        };
        let thread = is_shown.then(|| thread::Builder::new().spawn(draw).ok()).flatten();
        Progress { line, drawing: thread.map(|thread| (sender, thread)) }
    }

    /// Writes what is ready where the line is: it goes meanwhile.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        let _cleared = self.line.clear();
        write()
    }

    /// A step is done.
    pub fn step(&self) {
        self.line.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    /// Takes the line away.
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.drawing.take() {
            drop(sender);
            let _ = thread.join();
        }
        drop(self.line.clear());
    }
}

/// Does work that tells nothing of how far it is: `what`, and how long it has taken.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let _shown = Progress::of(what, 0, io::stderr().is_terminal());
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_the_work_is_where_that_is_known() {
        let progress = Progress::of("exporting:", 8, false);
        progress.step();
        assert_eq!(progress.line.text(), "exporting: 12 %, 0 s gone");
        assert_eq!(Progress::of("reading", 0, false).line.text(), "reading, 0 s gone");
    }
}
