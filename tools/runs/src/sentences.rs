//! Conclusions on how a program scales, each from numbers of the JSON.

use mpitrace_scaling::facts::{Kind, PartKey};
use mpitrace_scaling::{GrowingPart, Growth, LawShare, Limit, Mode, Prediction, Scaling};
use mpitrace_show::text;
use mpitrace_statistics::models::Estimate;

use crate::labels::{amount, part_label, plain, share};
use mpitrace_words::summary::{percent, seconds};

/// Parts that a sentence names.
const NAMED: usize = 3;
/// A part that takes a smaller share of the time beyond the ideal is not named.
const LARGE: f64 = 0.01;
/// A limit that is as likely is said without others.
const SURE: f64 = 0.95;
/// A law that is as likely is said without others.
const LIKELY: f64 = 0.8;

pub(crate) fn all(program: &str, scaling: &Scaling) -> Vec<String> {
    let program = text::printable(program);
    let mut sentences = vec![result(&program, scaling), beyond(scaling)];
    sentences.push(mode(scaling));
    sentences.extend(scaling.regions.iter().filter(|region| is_beyond(region)).take(NAMED).map(region));
    match &scaling.prediction {
        Some(prediction) => sentences.extend(predicted(prediction, scaling)),
        None => sentences.extend(scaling.prediction_unknown.map(|why| format!("Nothing is predicted: {why}."))),
    }
    sentences
}

/// How much faster it is on most ranks.
fn result(program: &str, scaling: &Scaling) -> String {
    let [Some(first), Some(last)] = [scaling.levels.first(), scaling.levels.last()] else { return String::new() };
    let compared = match scaling.mode.mode {
        Mode::Strong => format!("{program} is {} times as fast on {}", plain(&last.speedup), ranks(last.ranks)),
        Mode::Weak => {
            format!("{program} takes {} on {}, each with the same work", amount(&last.seconds), ranks(last.ranks))
        }
    };
    let against = match scaling.mode.mode {
        Mode::Strong => format!("as on {}", first.ranks),
        Mode::Weak => format!("and {} on {}", seconds(first.seconds.value), first.ranks),
    };
    format!("{compared} {against}: global efficiency {}.", share(&last.global_efficiency))
}

fn ranks(number: u32) -> String {
    text::count(number.into(), "rank")
}

/// The parts that take longer than the ideal, beyond their noise.
fn beyond(scaling: &Scaling) -> String {
    let [Some(first), Some(last)] = [scaling.levels.first(), scaling.levels.last()] else { return String::new() };
    let ideal = scaling.mode.mode.ideal(f64::from(first.ranks), f64::from(last.ranks));
    let all: f64 = scaling.parts.iter().map(|part| part.excess_s.value).sum();
    let is_large = |part: &&GrowingPart<PartKey>| part.excess_s.value >= LARGE * last.seconds.value;
    let named = scaling.parts.iter().filter(|part| is_beyond(part)).filter(is_large);
    let named: Vec<&GrowingPart<PartKey>> = named.take(NAMED).collect();
    let beyond = format!("{} ideal {}", "beyond the", seconds(first.seconds.value * ideal));
    if named.is_empty() {
        return format!(
            "No part takes longer there than the ideal by more than its noise ({} {beyond}).",
            seconds(all)
        );
    }
    let part = |part: &&GrowingPart<PartKey>| {
        let law = laws(&part.growth).map_or_else(String::new, |law| format!(", grows as {law}"));
        format!("{} {}{law}", amount(&part.excess_s), part_label(&part.part))
    };
    let parts: Vec<String> = named.iter().map(part).collect();
    format!("There it takes {} {beyond}: {}.", seconds(all), parts.join("; "))
}

fn is_beyond<K>(part: &GrowingPart<K>) -> bool {
    part.excess_s.interval.is_some_and(|[low, _]| low > 0.0)
}

/// The likely laws: `log p`, or `log p or p^(1/2)`; `None`: more than three are.
fn laws(growth: &Growth) -> Option<String> {
    let mut sum = 0.0;
    let enough = |of: &&LawShare| {
        let is_wanted = sum < LIKELY;
        sum += of.share;
        is_wanted
    };
    let names: Vec<&str> = growth.laws.iter().take_while(enough).map(|of| of.law.name()).collect();
    (!names.is_empty() && names.len() <= NAMED).then(|| names.join(" or "))
}

/// Strong or weak, and what that is told from.
fn mode(scaling: &Scaling) -> String {
    let found = &scaling.mode;
    let (name, ideal) = match found.mode {
        Mode::Strong => ("Strong", "falls as 1/p"),
        Mode::Weak => ("Weak", "stays the same"),
    };
    let told = if found.is_given { " (by the option)" } else { "" };
    let exponent = plain(&found.work_exponent);
    format!("{name} scaling{told}: the ideal time {ideal}; the work of all ranks together grows as p^{exponent}.")
}

fn region(region: &GrowingPart<String>) -> String {
    let law = laws(&region.growth).map_or_else(String::new, |law| format!(", grows as {law}"));
    format!("Region {}: {} beyond the ideal{law}.", text::printable(&region.part), amount(&region.excess_s))
}

fn predicted(prediction: &Prediction, scaling: &Scaling) -> Vec<String> {
    let Prediction { ranks: number, seconds: time, efficiency, limits, .. } = prediction;
    let first = format!(
        "Predicted for {}: {}, {} of the ideal speed.",
        ranks(*number),
        amount(time),
        share(&Estimate { interval: efficiency.interval, ..*efficiency })
    );
    let name = |limit: &Limit| part_label(&scaling.parts[limit.part].part);
    let second = match &limits[..] {
        [] => None,
        [one, ..] if one.probability >= SURE => {
            let hint = hint(scaling.parts[one.part].part.kind);
            Some(format!("What limits it there: {}, {} beyond the ideal{hint}.", name(one), amount(&one.excess_s)))
        }
        several => {
            let one = |limit: &Limit| format!("{} ({})", name(limit), percent(limit.probability));
            let names: Vec<String> = several.iter().take(NAMED).map(one).collect();
            Some(format!("These runs do not tell what limits it there: {}.", names.join(" or ")))
        }
    };
    [Some(first), second].into_iter().flatten().collect()
}

/// The meaning of a limit of this kind.
fn hint(kind: Kind) -> &'static str {
    match kind {
        Kind::Computing => " (work that is not shared out, or that takes longer beside others)",
        Kind::Waiting | Kind::WaitingFinalize => " (ranks that are late)",
        Kind::Preempted => " (more ranks than processors)",
        _ => "",
    }
}
