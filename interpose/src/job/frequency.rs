//! The frequency of the processor that a rank runs on, while the program runs [Hunold2016, 5.7].
//!
//! Read where the tracer is at work anyhow: at Init, when clocks are synchronised, and at Finalize. A reading is one
//! of the kernel's files, some 10 us. Those that differ from the one before are kept, so that a long run needs no more
//! room than a short one. Where the kernel has no such file, as in most virtual machines, there are none.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mpitrace_format::layout::NO_PROCESSOR;
use mpitrace_format::metadata;

use crate::boundary::system;
use crate::job::output;
use crate::job::run::Run;
use crate::record::ticks;

/// A reading that differs by less from the last one that was kept is the same frequency.
const DIFFERS: f64 = 0.05;
/// Readings that are kept; later ones are counted.
const MOST: usize = 64;

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    tick: u64,
    processor: usize,
    khz: u32,
}

/// What was read.
#[derive(Debug, PartialEq)]
struct Readings {
    kept: Vec<Reading>,
    /// All that were made, and of these the least and the largest frequency, kHz.
    count: u64,
    least: u32,
    largest: u32,
}

static READINGS: Mutex<Readings> = Mutex::new(Readings { kept: Vec::new(), count: 0, least: u32::MAX, largest: 0 });

fn lock() -> std::sync::MutexGuard<'static, Readings> {
    READINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the frequency of the processor that this thread runs on.
pub fn read() {
    let processor = system::processor();
    if processor == NO_PROCESSOR {
        return;
    }
    let processor = processor as usize;
    if let Some(khz) = khz(Path::new("/sys/devices/system/cpu"), processor) {
        lock().add(Reading { tick: ticks::now(), processor, khz });
    }
}

/// Adds what was read to the run metadata of this rank: how many readings there were, the least and the largest in kHz,
/// and of those that differ `SECONDS:PROCESSOR:KHZ`, the time since the first.
pub fn keep(run: &Run) -> Option<()> {
    let live = run.live.get()?;
    let text = {
        let readings = lock();
        let period_s = 1.0 / ticks::roughly_hz();
        (readings.count > 0).then(|| readings.text(period_s))?
    };
    let mut recorded = metadata::decode(output::content_of(run)?.0.metadata)?;
    // A rank may end more than once: sessions continue after MPI_Finalize.
    recorded.retain(|(name, _)| name != metadata::FREQUENCIES);
    recorded.push((metadata::FREQUENCIES.to_owned(), text));
    let reference = live.add_string(&metadata::encode(&recorded));
    // Where there is no room the run metadata stay as they are.
    (reference != 0).then(|| live.set_metadata(reference))
}

/// The frequency that the kernel states, kHz.
fn khz(folder: &Path, processor: usize) -> Option<u32> {
    let file = folder.join(format!("cpu{processor}/cpufreq/scaling_cur_freq"));
    std::fs::read_to_string(file).ok()?.trim().parse().ok().filter(|&khz| khz > 0)
}

impl Readings {
    fn add(&mut self, reading: Reading) {
        self.count += 1;
        self.least = self.least.min(reading.khz);
        self.largest = self.largest.max(reading.khz);
        let differs = |last: &Reading| {
            let (khz, last) = (f64::from(reading.khz), f64::from(last.khz));
            (khz - last).abs() > DIFFERS * last
        };
        if self.kept.len() < MOST && self.kept.last().is_none_or(differs) {
            self.kept.push(reading);
        }
    }

    fn text(&self, period_s: f64) -> String {
        let mut text = format!("{} {} {}", self.count, self.least, self.largest);
        for Reading { tick, processor, khz } in &self.kept {
            let since = tick - self.kept[0].tick;
            text.push_str(&format!(" {:.3}:{processor}:{khz}", since as f64 * period_s));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_kept() {
        let mut readings = Readings { kept: Vec::new(), count: 0, least: u32::MAX, largest: 0 };
        for (tick, khz) in [(10, 3_000_000), (20, 2_950_000), (30, 2_000_000), (40, 2_010_000), (50, 3_100_000)] {
            readings.add(Reading { tick, processor: 3, khz });
        }
        assert_eq!(readings.text(0.1), "5 2000000 3100000 0.000:3:3000000 2.000:3:2000000 4.000:3:3100000");
        (0..1000).for_each(|i| readings.add(Reading { tick: 60 + i, processor: 3, khz: 1 + (i as u32 % 2) * 1000 }));
        assert_eq!((readings.kept.len(), readings.count, readings.least), (MOST, 1005, 1));
    }

    #[test]
    fn the_kernels_file_is_read_where_there_is_one() {
        let folder = std::env::temp_dir().join(format!("mpitrace-frequency-{}", std::process::id()));
        let place = folder.join("cpu5/cpufreq");
        std::fs::create_dir_all(&place).unwrap();
        for (text, expected) in [("2400000\n", Some(2_400_000)), ("0", None), ("", None), ("<unknown>", None)] {
            std::fs::write(place.join("scaling_cur_freq"), text).unwrap();
            assert_eq!(khz(&folder, 5), expected, "{text}");
        }
        assert_eq!(khz(&folder, 6), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
