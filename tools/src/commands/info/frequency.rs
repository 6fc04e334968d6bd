//! The frequencies of the ranks' processors while the program ran.

use mpitrace::reader::Trace;
use mpitrace_format::metadata::{self, FREQUENCIES};
use serde::Serialize;

use crate::text;

/// Of all ranks, where the kernel stated it.
#[derive(Debug, PartialEq, Serialize)]
pub struct Frequency {
    pub readings: u64,
    pub least_ghz: f64,
    pub largest_ghz: f64,
    /// Readings that differ from the rank's one before.
    pub changes: Vec<Change>,
}

/// A rank's processor had another frequency.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    pub rank: u32,
    /// Since the rank's MPI_Init.
    pub seconds: f64,
    pub processor: u32,
    pub from_ghz: f64,
    pub to_ghz: f64,
}

impl Frequency {
    /// Of a trace.
    pub fn of(trace: &Trace) -> Option<Frequency> {
        let texts = trace.parts.iter().filter_map(|part| {
            let recorded = part.metadata();
            Some((part.rank(), metadata::get(&recorded, FREQUENCIES)?.to_owned()))
        });
        Frequency::of_texts(texts)
    }

    /// Of the ranks' texts in the run metadata; what cannot be read is left out.
    fn of_texts(texts: impl Iterator<Item = (u32, String)>) -> Option<Frequency> {
        let mut found = Frequency { readings: 0, least_ghz: f64::INFINITY, largest_ghz: 0.0, changes: Vec::new() };
        for (rank, text) in texts {
            let Some((count, least, largest, readings)) = parse(&text) else { continue };
            found.readings += count;
            found.least_ghz = found.least_ghz.min(least);
            found.largest_ghz = found.largest_ghz.max(largest);
            found.changes.extend(readings.windows(2).map(|pair| {
                let [(_, _, from_ghz), (seconds, processor, to_ghz)] = [pair[0], pair[1]];
                Change { rank, seconds, processor, from_ghz, to_ghz }
            }));
        }
        found.changes.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        (found.readings > 0).then_some(found)
    }

    /// In one line: the range, and the first change.
    pub fn line(&self) -> String {
        let readings = text::count(self.readings, "reading");
        let Some(first) = self.changes.first() else {
            return format!("{:.2} to {:.2} GHz in {readings}, no change of 5 %", self.least_ghz, self.largest_ghz);
        };
        let more = match self.changes.len() {
            1 => String::new(),
            several => format!(" ({several} changes in all)"),
        };
        format!(
            "{:.2} to {:.2} GHz in {readings}; rank {}: {:.2} GHz, then {:.2} GHz after {:.1} s on processor {}{more}",
            self.least_ghz, self.largest_ghz, first.rank, first.from_ghz, first.to_ghz, first.seconds, first.processor
        )
    }
}

/// How many readings, the least and the largest, and those that differ: seconds, processor, GHz.
type Readings = (u64, f64, f64, Vec<(f64, u32, f64)>);

fn parse(text: &str) -> Option<Readings> {
    let mut words = text.split(' ');
    let mut word = || words.next();
    let count = word()?.parse().ok()?;
    let ghz = |text: &str| text.parse::<u32>().ok().map(|khz| f64::from(khz) / 1e6);
    let (least, largest) = (ghz(word()?)?, ghz(word()?)?);
    let reading = |text: &str| {
        let mut fields = text.split(':');
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, ghz(fields.next()?)?))
    };
    Some((count, least, largest, words.map(reading).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[(u32, &str)]) -> Option<Frequency> {
        Frequency::of_texts(texts.iter().map(|&(rank, text)| (rank, text.to_owned())))
    }

    #[test]
    fn the_first_change_of_all_ranks_is_named() {
        let found = of(&[
            (0, "4 2900000 3000000 0.000:0:3000000"),
            (1, "5 1800000 3100000 0.000:1:3000000 12.500:5:1800000 20.000:5:3100000"),
        ]);
        let line = "1.80 to 3.10 GHz in 9 readings; rank 1: 3.00 GHz, then 1.80 GHz after 12.5 s on processor 5 \
                    (2 changes in all)";
        assert_eq!(found.unwrap().line(), line);
    }

    #[test]
    fn a_frequency_that_stays_is_said_to() {
        let found = of(&[(0, "2 2990000 3000000 0.000:0:3000000")]).unwrap();
        assert_eq!(
            (found.changes.len(), found.line().as_str()),
            (0, "2.99 to 3.00 GHz in 2 readings, no change of 5 %")
        );
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(of(&[]), None);
        for text in ["", "x", "3 1 2 nonsense", "3 1", "3 -1 2 0:0:1"] {
            assert_eq!(of(&[(0, text)]), None, "{text}");
        }
    }
}
