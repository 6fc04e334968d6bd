//! A comparison in one sentence for each operation.

use mpitrace_statistics::comparison::Verdict;

use mpitrace_changes::{Identity, Names};
use mpitrace_show::text;
use mpitrace_words::share::{is_in_times, range_of_percent, range_of_times, size, times};

use super::pair::Pair;
use super::result::{Basis, Compared, OneSided};

/// The sentence. `None`: the runs are not enough for any.
pub fn of_comparison(compared: &Compared) -> Option<String> {
    compared.comparison.p?;
    let interval = compared.effect_interval();
    let [a, b] = compared.names;
    let found = match (compared.comparison.verdict(), compared.effect()) {
        (Verdict::Crossing, _) => {
            let [of_a, of_b] = &compared.comparison.crossing.median;
            let (fast, slow) = if of_a.value_ns < of_b.value_ns { (a, b) } else { (b, a) };
            format!("{fast} is faster than {slow} in the median and slower in the 95th percentile")
        }
        (Verdict::A, Some(effect)) => slower([a, b], effect, interval),
        (Verdict::B, Some(effect)) => faster([a, b], effect, interval),
        (Verdict::A, None) => format!("{a} is faster"),
        (Verdict::B, None) => format!("{b} is faster"),
        (Verdict::None, _) => match compared.detectable {
            Some(share) => format!("no difference seen (could have seen one of {})", size(share)),
            None => "no difference seen".to_owned(),
        },
        (Verdict::Undecided, Some(effect)) if effect < 0.0 => {
            format!("not decided ({})", faster([a, b], effect, interval))
        }
        (Verdict::Undecided, Some(effect)) => format!("not decided ({})", slower([a, b], effect, interval)),
        (Verdict::Undecided, None) => "not decided".to_owned(),
    };
    Some(match of_calls(compared) {
        Some(calls) => format!("{calls}; in all {found}"),
        None => found,
    })
}

/// How the calls of both sides differ, where the time in all calls was compared.
fn of_calls(compared: &Compared) -> Option<String> {
    let [a, b] = compared.sides.each_ref().map(|side| side.operation.typical());
    let ((_, a), (_, b)) = (a.filter(|_| compared.basis == Basis::Total)?, b?);
    let count = |calls: f64| text::number(if calls < 10.0 { calls } else { calls.round() });
    let [median_a, median_b] = compared.sides.each_ref().map(|side| side.median_ns);
    let each = format!("{} each in place of {}", text::time(median_b), text::time(median_a));
    Some(format!("{} calls of {} in place of {}, {each}", count(b), compared.names[1], count(a)))
}

/// An operation that one side alone has.
pub fn of_one_sided(one: &OneSided, names: Names) -> String {
    let state = if one.side == 0 { "gone" } else { "new" };
    let spent = one.operation.typical().map_or_else(String::new, |(seconds, calls)| {
        let calls = text::count(calls.round() as u64, "call");
        format!(": {calls}, {} of a rank", text::time(1e9 * seconds))
    });
    format!("{state} in {}{spent}", names[1])
}

/// For each operation which set is faster than which: `MPI_Bcast/8/2/0: A < B, A < C`, or that none is.
pub fn standing(pairs: &[Pair]) -> Vec<String> {
    let mut lines: Vec<(&Identity, Vec<String>)> = Vec::new();
    for one in pairs.iter().flat_map(|pair| &pair.compared) {
        let place = lines.iter().position(|(known, _)| known.key() == one.identity.key()).unwrap_or(lines.len());
        if place == lines.len() {
            lines.push((one.identity, Vec::new()));
        }
        let [a, b] = one.names;
        match one.comparison.verdict() {
            Verdict::A => lines[place].1.push(format!("{a} < {b}")),
            Verdict::B => lines[place].1.push(format!("{b} < {a}")),
            Verdict::Crossing => lines[place].1.push(format!("{a} and {b} cross")),
            Verdict::None | Verdict::Undecided => {}
        }
    }
    let line = |(identity, found): (&Identity, Vec<String>)| {
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        format!("{}: {found}", identity.key())
    };
    lines.into_iter().map(line).collect()
}

fn slower([a, b]: Names, effect: f64, interval: Option<[f64; 2]>) -> String {
    if is_large(effect, interval) {
        return takes(b, a, 1.0 + effect, interval.map(|ends| ends.map(|share| 1.0 + share)));
    }
    format!("{b} is {} slower{}", size(effect), after_comma(interval.map(range_of_percent)))
}

fn faster([a, b]: Names, effect: f64, interval: Option<[f64; 2]>) -> String {
    let inverse = |share: f64| 1.0 / (1.0 + share);
    if is_large(effect, interval) {
        return takes(a, b, inverse(effect), interval.map(|[low, high]| [high, low].map(inverse)));
    }
    format!(
        "{b} is {} faster{}",
        size(-effect),
        after_comma(interval.map(|[low, high]| range_of_percent([-high, -low])))
    )
}

fn is_large(effect: f64, interval: Option<[f64; 2]>) -> bool {
    is_in_times(effect) || interval.is_some_and(|ends| ends.into_iter().any(is_in_times))
}

fn takes(slow: char, fast: char, ratio: f64, interval: Option<[f64; 2]>) -> String {
    format!("{slow} takes {} as long as {fast}{}", times(ratio), after_comma(interval.map(range_of_times)))
}

fn after_comma(range: Option<String>) -> String {
    range.map(|range| format!(", {range}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_are_percentages_and_large_ones_ratios() {
        assert_eq!(slower(['A', 'B'], 0.2, Some([0.147, 0.232])), "B is 20 % slower, 15 to 23 %");
        assert_eq!(faster(['A', 'B'], -0.2, Some([-0.232, -0.147])), "B is 20 % faster, 15 to 23 %");
        assert_eq!(faster(['A', 'B'], -0.2, None), "B is 20 % faster");
        assert_eq!(slower(['A', 'B'], 11.0, Some([7.1, 17.0])), "B takes 12 times as long as A, 8.10 to 18.0 times");
        // An end of the interval is enough.
        assert_eq!(slower(['A', 'B'], 0.5, Some([0.1, 2.25])), "B takes 1.5 times as long as A, 1.10 to 3.25 times");
        assert_eq!(faster(['A', 'B'], -0.8, Some([-0.9, -0.6])), "A takes 5.0 times as long as B, 2.50 to 10.0 times");
    }
}
