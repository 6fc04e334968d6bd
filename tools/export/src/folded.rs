//! The samples as folded stacks: for each stack a line, its frames from the outermost on, and how many samples have it.
//!
//! The first frame is the operation with the category of the repetition, so that a flame graph shows them side by side.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, bail};
use mpitrace_show::destination::{Content, Destination};

use super::labels::Labels;
use super::rows::Calls;

/// The first frame of samples that are in no recorded call.
const BETWEEN: &str = "between calls";
/// The category of a call whose repetition is not complete.
const INCOMPLETE: &str = "incomplete";

/// Lines for flame graphs.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    let Some(sampled) = calls.traced.samples()? else {
        bail!("this run has no samples: `mpitrace run --sample HZ` takes some, into FILE.observed beside the trace");
    };
    let labels = Labels::new(calls)?;
    let mut counts: BTreeMap<(String, u32), u64> = BTreeMap::new();
    // By thread and number: what is in no call.
    let mut between: HashMap<usize, Vec<bool>> = HashMap::new();
    for (number, of) in calls.operations.operations.iter().enumerate().filter(|(_, of)| !of.key.is_region) {
        let names = mpitrace_statistics::categories::Category::ALL.iter().map(|category| category.name());
        let names: Vec<&str> = names.chain([INCOMPLETE]).collect();
        for (row, thread, sample) in sampled.in_calls(calls.trace, of, false, 0..of.repetition.len()) {
            let samples = &sampled.samples.threads[thread].samples;
            between.entry(thread).or_insert_with(|| vec![true; samples.len()])[sample] = false;
            if operation.is_none_or(|wanted| wanted == number) {
                let name = labels.of_place(number, row as usize).map_or(names.len() - 1, |category| category.place());
                let first = format!("{} (operation {number}), {}", of.key.function, names[name]);
                *counts.entry((first, samples[sample].1)).or_default() += 1;
            }
        }
    }
    if operation.is_none() {
        for (number, thread) in sampled.samples.threads.iter().enumerate() {
            let is_between = |sample: &usize| between.get(&number).is_none_or(|between| between[*sample]);
            for sample in (0..thread.samples.len()).filter(is_between) {
                *counts.entry((BETWEEN.to_owned(), thread.samples[sample].1)).or_default() += 1;
            }
        }
    }
    destination.stream(Content::Text, |sink| {
        for ((first, stack), count) in counts {
            let mut frames: Vec<String> =
                sampled.samples.frames_of(stack).map(|frame| frame.replace(';', ",")).collect();
            frames.push(first);
            frames.reverse();
            writeln!(sink, "{} {count}", frames.join(";"))?;
        }
        Ok(())
    })
}
