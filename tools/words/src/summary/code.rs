//! The code that makes a rank late: at each loss, and in a sentence for the largest one that has some.

use mpitrace_analysis::account::Because;
use mpitrace_analysis::run::Run;
use mpitrace_code::{CodeOfLoss, code_of_losses, name};
use mpitrace_show::text;
use mpitrace_trace::calls::samples::RunSamples;

use super::facts::{LITTLE, LossFacts, Summary};
use super::units::{percent, seconds};
use super::words::gain;

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
    let largest = worth.max_by(|one, other| gained(one, summary).total_cmp(&gained(other, summary)));
    summary.code = largest.and_then(sentence);
}

/// The gain without a loss, s; where it is not known, the share of a rank in the loss.
pub(super) fn gained(loss: &LossFacts, summary: &Summary) -> f64 {
    match (loss.gain.seconds, loss.gain.most) {
        (None, None) => loss.seconds / f64::from(summary.ranks.max(1)),
        _ => loss.gain.likely(),
    }
}

fn sentence(loss: &LossFacts) -> Option<String> {
    let [first, more @ ..] = &loss.code[..] else { return None };
    let who = match &first.ranks[..] {
        [rank] => format!("Rank {rank}"),
        ranks => {
            let turns = loss.moves.as_ref().map(|moves| format!(", in turns of {} repetitions", moves.repetitions));
            format!("The late rank ({}{})", text::ranks(ranks), turns.unwrap_or_default())
        }
    };
    let asleep = loss.loss.because == Some(Because::Asleep);
    let verb = if asleep { "sleeps" } else { "computes" };
    let below = first.called.as_ref().filter(|_| asleep && more.is_empty());
    let below = below.map_or_else(String::new, |called| format!("{} below ", text::printable(called)));
    let mut line = format!(
        "{who} {verb} {} longer, {} of it in {below}{}",
        seconds(first.longer_seconds),
        percent(first.share),
        place_of(first)
    );
    for one in more {
        line.push_str(&format!(", {} in {}", percent(one.share), place_of(one)));
    }
    if let Some(caller) = first.caller.as_ref().filter(|_| more.is_empty()) {
        line.push_str(&format!(", called from {}", short(caller)));
    }
    Some(format!("{line}{}.", gain(&loss.gain).replacen(", gain", "; gain", 1)))
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
