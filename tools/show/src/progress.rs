//! How far the work is, on a terminal, where it takes longer than a person likes to wait without a word.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Below, a bar would only flicker.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is drawn anew, so that the time goes on within a long step.
const TICK: Duration = Duration::from_millis(200);

/// A bar on stderr that comes after a second, also within a step. Where stderr is no terminal it never does.
pub struct Progress {
    bar: ProgressBar,
    /// Draws it until the channel is closed.
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// A bar of so many steps, on standard error where that is a terminal.
    pub fn new(steps: u64) -> Self {
        Progress::styled(ProgressBar::new(steps), "{bar:40} {percent:>3} %, {elapsed} gone, {eta} left")
    }

    /// A progress bar beside output that is written meanwhile: a terminal shows the output, so there is no bar between
    /// its lines.
    pub fn beside_output(steps: u64) -> Self {
        match io::stdout().is_terminal() {
            true => Progress { bar: ProgressBar::hidden(), drawing: None },
            false => Progress::new(steps),
        }
    }

    fn styled(bar: ProgressBar, template: &str) -> Self {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let drawing = io::stderr().is_terminal().then(|| {
            let (sender, receiver) = mpsc::channel::<()>();
            let ticking = bar.clone();
            let draw = move || {
                let mut wait = PATIENCE;
                while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(wait) {
                    if wait == PATIENCE {
                        ticking.set_draw_target(ProgressDrawTarget::stderr());
                        wait = TICK;
                    }
                    ticking.tick();
                }
            };
            thread::Builder::new().spawn(draw).ok().map(|thread| (sender, thread))
        });
        Progress { bar, drawing: drawing.flatten() }
    }

    /// Writes what is ready where the bar is: it goes meanwhile.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// A step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.drawing.take() {
            drop(sender);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// Does work that tells nothing of how far it is: `what`, and how long it has taken.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let _shown = Progress::styled(ProgressBar::no_length(), &format!("{{spinner}} {what}, {{elapsed}} gone"));
    work()
}
