//! The change of a job in one sentence.

use mpitrace_analysis::account::{Because, RankPart};
use mpitrace_changes::What;
use mpitrace_show::text;

use super::facts::{Decided, JobFacts, PartFacts};
use super::parts::in_sentence;
use crate::base::share::{is_in_times, percent, range_of_percent, range_of_times, size, times};

/// Parts that a sentence names, and the share of the change below which none is.
const NAMED: usize = 3;
const SMALL: f64 = 0.1;
const MOST: f64 = 2.0 / 3.0;
/// A part that changes by less than this share of the job is not worth a word.
const LEAST: f64 = 0.003;

/// The subject of the sentence.
pub struct Subject {
    /// Whose time has changed: `B`.
    pub this: String,
    /// The side that it is compared with: `A`.
    pub other: String,
}

impl Subject {
    /// Two sides, by their letters.
    pub fn of_sides([a, b]: [char; 2]) -> Subject {
        Subject { this: b.to_string(), other: a.to_string() }
    }
}

/// `B takes 1.21 s (14 %) longer, 12 to 16 %: 0.92 s in MPI_Allreduce ..., 0.24 s waiting for rank 1, which computes
/// longer, 0.05 s others.`
pub fn sentence(facts: &JobFacts, subject: &Subject) -> String {
    let parts = named(facts);
    let head = head(facts, subject);
    if parts.is_empty() {
        return format!("{head}.");
    }
    let sign = if facts.change_s < 0.0 && facts.decided != Decided::Open { -1.0 } else { 1.0 };
    let open = matches!(facts.decided, Decided::Open | Decided::Equal);
    let amount = |seconds: f64| {
        let is_opposite = seconds * sign < 0.0;
        let more = match (is_opposite, sign > 0.0) {
            (true, true) => " less",
            (true, false) => " more",
            (false, _) if open => " more",
            (false, _) => "",
        };
        format!("{}{more}", text::time(1e9 * seconds.abs()))
    };
    let piece = |part: &&PartFacts| format!("{} {}", amount(part.change_s), in_sentence(part, code(facts, part)));
    let mut pieces: Vec<String> = parts.iter().map(piece).collect();
    let others = facts.change_s - parts.iter().map(|part| part.change_s).sum::<f64>();
    if others.abs() >= 0.005 * facts.change_s.abs().max(parts[0].change_s.abs()) {
        pieces.push(format!("{} others", amount(others)));
    }
    format!("{head}: {}.", pieces.join(", "))
}

fn head(facts: &JobFacts, subject: &Subject) -> String {
    let Subject { this, other } = subject;
    let time = text::time(1e9 * facts.change_s.abs());
    let (longer, factor) = match facts.share {
        Some(share) if share < 0.0 => ("less", 1.0 / (1.0 + share)),
        Some(share) => ("longer", 1.0 + share),
        None if facts.change_s < 0.0 => ("less", 1.0),
        None => ("longer", 1.0),
    };
    let tested = match facts.decided {
        Decided::Untested => ", in one run of each",
        _ => "",
    };
    match (facts.decided, facts.share) {
        (Decided::Open, share) => {
            let share = share.map_or_else(String::new, |share| format!(", {}", percent(share)));
            let interval = facts
                .share_ci
                .map_or_else(String::new, |[low, high]| format!(", between {} and {}", percent(low), percent(high)));
            let sign = if facts.change_s < 0.0 { "-" } else { "+" };
            format!("Not decided by these runs if {this} takes longer than {other} ({sign}{time}{share}{interval})")
        }
        (Decided::Equal, Some(_)) => {
            let [low, high] = facts.share_ci.unwrap_or_default();
            format!("{this} takes as long as {other} ({} to {})", percent(low), percent(high))
        }
        (_, Some(share)) if is_in_times(share) => {
            let ends = facts.share_ci.map(|ends| ends.map(|end| 1.0 + end));
            let ends = ends.map(|[low, high]| if share < 0.0 { [1.0 / high, 1.0 / low] } else { [low, high] });
            let range = ends.map_or_else(String::new, |ends| format!(", {}", range_of_times(ends)));
            let (slow, fast) = if share < 0.0 { (other, this) } else { (this, other) };
            format!("{slow} takes {} as long as {fast}{range} ({this} takes {time} {longer}){tested}", times(factor))
        }
        (_, Some(share)) => {
            let ends = facts.share_ci.map(|[low, high]| if share < 0.0 { [-high, -low] } else { [low, high] });
            let range = ends.map_or_else(String::new, |ends| format!(", {}", range_of_percent(ends)));
            format!("{this} takes {time} ({}) {longer}{range}{tested}", size(share.abs()))
        }
        (_, None) => format!("{this} takes {time} {longer}{tested}"),
    }
}

/// The parts that explain most: those with a share of the change, the largest first. What other processes on the
/// machine make comes behind what the program does: it differs from run to run, and hides what was changed.
fn named(facts: &JobFacts) -> Vec<&PartFacts> {
    let job = facts.seconds.iter().copied().fold(0.0, f64::max);
    let largest = facts.parts.first().map_or(0.0, |part| part.change_s.abs());
    let least = (SMALL * facts.change_s.abs().max(largest)).max(LEAST * job);
    let is_decided = |part: &&PartFacts| {
        let leaves_0_out = |[low, high]: [f64; 2]| low > 0.0 || high < 0.0;
        facts.decided != Decided::Open || part.change_ci_s.is_none_or(leaves_0_out)
    };
    let large = facts.parts.iter().filter(|part| part.change_s.abs() >= least).filter(is_decided);
    let (mut parts, of_machine): (Vec<&PartFacts>, Vec<&PartFacts>) = large.partition(|part| !is_of_machine(part));
    parts.extend(of_machine);
    parts.truncate(NAMED);
    parts
}

/// True if most of the change is time in which something else had the processors.
fn is_of_machine(part: &PartFacts) -> bool {
    match &part.change.what {
        What::Part(part) => [RankPart::Preempted, RankPart::Throttled, RankPart::Interrupted].contains(part),
        What::Waiting(_, because) => matches!(because, Some(Because::Preempted | Because::Throttled)),
        What::Operation(_) => part.off_change_s.abs() > MOST * part.change_s.abs(),
        What::Function(_) => false,
    }
}

/// The function in which the rank that others wait for computes longer.
fn code<'f>(facts: &'f JobFacts, part: &PartFacts) -> Option<&'f str> {
    if part.kind != "waiting" || part.because != Some(Because::Computing) || part.rank.is_none() {
        return None;
    }
    let of_rank = facts.parts.iter().filter(|other| other.rank == part.rank && other.change_s * part.change_s > 0.0);
    let mut functions = of_rank.filter_map(|other| match &other.change.what {
        What::Function(function) => Some(function.as_str()),
        _ => None,
    });
    functions.next()
}
