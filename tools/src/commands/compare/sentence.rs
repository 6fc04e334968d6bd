//! A comparison in one sentence for each operation.

use mpitrace::comparison::Verdict;

use super::result::Compared;
use super::share::{is_in_times, range_of_percent, range_of_times, size, times};

/// The sentence. `None`: the runs are not enough for any.
pub fn of_comparison(compared: &Compared) -> Option<String> {
    compared.comparison.p?;
    let interval = compared.effect_interval();
    Some(match (compared.verdict(), compared.effect()) {
        (Verdict::Crossing, _) => {
            let [a, b] = &compared.comparison.crossing.median;
            let (fast, slow) = if a.value_ns < b.value_ns { ("A", "B") } else { ("B", "A") };
            format!("{fast} is faster than {slow} in the median and slower in the 95th percentile")
        }
        (Verdict::A, Some(effect)) => slower(effect, interval),
        (Verdict::B, Some(effect)) => faster(effect, interval),
        (Verdict::A, None) => "A is faster".to_owned(),
        (Verdict::B, None) => "B is faster".to_owned(),
        (Verdict::None, _) => match compared.detectable {
            Some(share) => format!("no difference seen (could have seen one of {})", size(share)),
            None => "no difference seen".to_owned(),
        },
    })
}

/// Of a B that takes longer.
fn slower(effect: f64, interval: Option<[f64; 2]>) -> String {
    if is_large(effect, interval) {
        return takes("B", "A", 1.0 + effect, interval.map(|ends| ends.map(|share| 1.0 + share)));
    }
    format!("B is {} slower{}", size(effect), after_comma(interval.map(range_of_percent)))
}

/// Of a B that takes less.
fn faster(effect: f64, interval: Option<[f64; 2]>) -> String {
    let inverse = |share: f64| 1.0 / (1.0 + share);
    if is_large(effect, interval) {
        return takes("A", "B", inverse(effect), interval.map(|[low, high]| [high, low].map(inverse)));
    }
    format!("B is {} faster{}", size(-effect), after_comma(interval.map(|[low, high]| range_of_percent([-high, -low]))))
}

fn is_large(effect: f64, interval: Option<[f64; 2]>) -> bool {
    is_in_times(effect) || interval.is_some_and(|ends| ends.into_iter().any(is_in_times))
}

fn takes(slow: &str, fast: &str, ratio: f64, interval: Option<[f64; 2]>) -> String {
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
        assert_eq!(slower(0.2, Some([0.147, 0.232])), "B is 20 % slower, 15 to 23 %");
        assert_eq!(faster(-0.2, Some([-0.232, -0.147])), "B is 20 % faster, 15 to 23 %");
        assert_eq!(faster(-0.2, None), "B is 20 % faster");
        assert_eq!(slower(11.0, Some([7.1, 17.0])), "B takes 12 times as long as A, 8.10 to 18.0 times");
        // An end of the interval is enough.
        assert_eq!(slower(0.5, Some([0.1, 1.25])), "B takes 1.5 times as long as A, 1.10 to 2.25 times");
        assert_eq!(faster(-0.8, Some([-0.9, -0.6])), "A takes 5.0 times as long as B, 2.50 to 10.0 times");
    }
}
