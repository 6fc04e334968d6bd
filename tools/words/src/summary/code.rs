//! The code that makes a rank late: at each loss, and in a sentence for the largest one that has some.

use mpitrace_analysis::account::{Because, LossKind};
use mpitrace_analysis::run::Run;
use mpitrace_code::{CodeOfLoss, code_of_losses, name};
use mpitrace_show::text;
use mpitrace_trace::calls::samples::RunSamples;

use super::facts::{CodeInTurns, LITTLE, LossFacts, Summary};
use super::units::{percent, seconds};
use super::words::gain;

/// A loss of a rank that is late is named before one of ranks that sleep with so many times its gain.
const COMPARED: f64 = 1.1;

/// Adds the code of the losses, as far as the samples of the run support it.
pub fn add(summary: &mut Summary, run: &Run, samples: &RunSamples) {
    let code = code_of_losses(run, samples);
    let all = &run.losses().all;
    for facts in summary.losses.iter_mut().chain(&mut summary.shown) {
        let known = all.iter().position(|loss| *loss == facts.loss);
        facts.code = known.map_or_else(Vec::new, |at| code[at].clone());
    }
    // Those of single ranks too: of several that are late in turns, most of the loss may have another reason.
    let all = summary.shown.iter().chain(&summary.losses).filter(|loss| !loss.code.is_empty());
    // Where there is little to gain, a line of the program is no way to it.
    let worth = all.filter(|loss| gained(loss, summary) >= LITTLE * summary.seconds);
    // The same sleep may be a loss of the rank, and of those that wait for it: this one says more.
    let of = |loss: &LossFacts| gained(loss, summary) * if loss.code[0].p.is_some() { COMPARED } else { 1.0 };
    let largest = worth.max_by(|one, other| of(one).total_cmp(&of(other)));
    let joined = largest.and_then(|loss| joined(summary, loss));
    summary.code = match &joined {
        Some(all) => sentence(all, " without it"),
        None => largest.and_then(|loss| sentence(loss, "")),
    };
    summary.code_in_turns = joined.map(|all| CodeInTurns { code: all.code[0].clone(), gain: all.gain });
}

/// The losses of ranks that run the same function for longer, before the same call each in its turn, as one; `None`: it
/// is one rank. The gain is that without the function; work that is shared out evenly instead gains less.
fn joined(summary: &Summary, loss: &LossFacts) -> Option<LossFacts> {
    let first = loss.code.first().filter(|_| loss.loss.kind == LossKind::LateRank)?;
    let is_alike = |one: &&LossFacts| {
        let are_late = one.loss.kind == LossKind::LateRank && one.loss.rank.is_some();
        let place = |loss: &LossFacts| (loss.loss.operation, loss.loss.because, loss.loss.at_finalize);
        let code = one.code.first().is_some_and(|code| (&code.function, &code.file) == (&first.function, &first.file));
        are_late && code && place(one) == place(loss)
    };
    let alike: Vec<&LossFacts> = summary.losses.iter().filter(is_alike).collect();
    if alike.len() < 2 {
        return None;
    }
    let sum = |of: fn(&LossFacts) -> Option<f64>| alike.iter().map(|loss| of(loss)).sum::<Option<f64>>();
    let mut all = loss.clone();
    let [longer, inside] = [|code: &CodeOfLoss| code.longer_seconds, |code: &CodeOfLoss| code.seconds]
        .map(|of| alike.iter().map(|loss| of(&loss.code[0])).sum::<f64>());
    let mut ranks: Vec<u32> = alike.iter().flat_map(|loss| loss.code[0].ranks.clone()).collect();
    ranks.sort_unstable();
    ranks.dedup();
    all.code.truncate(1);
    all.code[0] =
        CodeOfLoss { ranks, longer_seconds: longer, seconds: inside, share: inside / longer, ..first.clone() };
    (all.gain.seconds, all.gain.least) = (sum(|loss| loss.gain.seconds), sum(|loss| loss.gain.least));
    all.gain.most = sum(|loss| loss.gain.most);
    let in_turns =
        summary.shown.iter().find(|shown| shown.moves.is_some() && shown.loss.operation == loss.loss.operation);
    all.moves = in_turns.and_then(|shown| shown.moves.clone());
    Some(all)
}

/// The ranks that are late since they wait for threads of their own.
pub(super) fn waiting_for_threads(summary: &Summary) -> Vec<u32> {
    let losses = summary.shown.iter().chain(&summary.losses).filter(|loss| loss.waits_for_threads());
    losses.flat_map(|loss| &loss.code[0].ranks).copied().collect()
}

impl LossFacts {
    /// True: the late ranks sleep while other threads of theirs work.
    pub(super) fn waits_for_threads(&self) -> bool {
        self.code.first().is_some_and(|code| code.of_threads)
    }
}

/// The gain without a loss, s; where it is not known, the share of a rank in the loss.
pub(super) fn gained(loss: &LossFacts, summary: &Summary) -> f64 {
    match (loss.gain.seconds, loss.gain.most) {
        (None, None) => loss.seconds / f64::from(summary.ranks.max(1)),
        _ => loss.gain.likely(),
    }
}

/// `gains`: what is said behind the gain.
fn sentence(loss: &LossFacts, gains: &str) -> Option<String> {
    let [first, more @ ..] = &loss.code[..] else { return None };
    let who = match &first.ranks[..] {
        [rank] => format!("Rank {rank}"),
        ranks => {
            let turns = loss.moves.as_ref().map(|moves| format!(", in turns of {} repetitions", moves.repetitions));
            format!("The late rank ({}{})", text::ranks(ranks), turns.unwrap_or_default())
        }
    };
    let asleep = loss.loss.because == Some(Because::Asleep);
    let verb = match asleep {
        true if first.of_threads => "waits for its other threads",
        true => "sleeps",
        false => "computes",
    };
    // A rank that is late is compared with others.
    let (who, time) = match (first.p, &first.ranks[..]) {
        (Some(_), _) => (format!("{who} {verb}"), format!("{} longer", seconds(first.longer_seconds))),
        (None, [_]) => (format!("{who} {verb}"), seconds(first.longer_seconds)),
        (None, ranks) => {
            let verb = if first.of_threads { "wait for their other threads" } else { "sleep" };
            (format!("Ranks {} {verb}", text::ranks(ranks)), format!("{} in all", seconds(first.longer_seconds)))
        }
    };
    let below = first.called.as_ref().filter(|_| asleep && more.is_empty());
    let below = below.map_or_else(String::new, |called| format!("{} below ", text::printable(called)));
    let mut line = format!("{who} {time}, {} of it in {below}{}", percent(first.share), place_of(first));
    for one in more {
        line.push_str(&format!(", {} in {}", percent(one.share), place_of(one)));
    }
    if let Some(caller) = first.caller.as_ref().filter(|_| more.is_empty()) {
        line.push_str(&format!(", called from {}", short(caller)));
    }
    let gain = gain(&loss.gain).replacen(", gain", "; gain", 1);
    let gains = if gain.is_empty() { "" } else { gains };
    Some(format!("{line}{gain}{gains}."))
}

fn place_of(code: &CodeOfLoss) -> String {
    place(&code.function, code.file.as_deref(), code.line)
}

/// `refine_patch (solver.cpp:152)`: a function, with its file and line as far as these are known.
pub(super) fn place(function: &str, file: Option<&str>, line: Option<u32>) -> String {
    let function = name(function);
    let place = match (file, line) {
        (Some(file), Some(line)) => format!("{function} ({file}:{line})"),
        (Some(file), None) => format!("{function} ({file})"),
        _ => function,
    };
    text::printable(&place).into_owned()
}

/// A frame without the parameters and the arguments of templates of its function.
fn short(frame: &str) -> String {
    let (function, place) = frame.rsplit_once(" (").unwrap_or((frame, ""));
    let place = if place.is_empty() { String::new() } else { format!(" ({place}") };
    text::printable(&format!("{}{place}", name(function))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_has_what_is_known_of_it() {
        assert_eq!(place("f", Some("a.c"), Some(3)), "f (a.c:3)");
        assert_eq!(place("f", Some("solver.py"), None), "f (solver.py)");
        assert_eq!(place("f", None, None), "f");
        assert_eq!(short("double Grid::sum<int>(std::vector<int> const&) const (grid.h:7)"), "Grid::sum (grid.h:7)");
        assert_eq!(short("main"), "main");
    }
}
