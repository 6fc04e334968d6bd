//! What a comparison came to, in one sentence for each operation.

use mpitrace::comparison::Verdict;

use super::result::Compared;

/// The sentence. `None`: the runs are not enough for any.
pub fn of(compared: &Compared) -> Option<String> {
    compared.comparison.p?;
    let interval = compared.effect_interval();
    Some(match (compared.verdict(), compared.effect()) {
        (Verdict::Crossing, _) => {
            let [a, b] = &compared.comparison.crossing.median;
            let (fast, slow) = if a.value_ns < b.value_ns { ("A", "B") } else { ("B", "A") };
            format!("{fast} is faster than {slow} in the median and slower in the 95th percentile")
        }
        (Verdict::A, Some(effect)) => format!("B is {} slower{}", percent(effect), range(interval, 1.0)),
        (Verdict::B, Some(effect)) => format!("B is {} faster{}", percent(-effect), range(interval, -1.0)),
        (Verdict::A, None) => "A is faster".to_owned(),
        (Verdict::B, None) => "B is faster".to_owned(),
        (Verdict::None, _) => match compared.detectable {
            Some(share) => format!("no difference seen; one of {} would have been", percent(share)),
            None => "no difference seen".to_owned(),
        },
    })
}

/// `, 15 to 23 %`, of an interval as it is or of its negative.
fn range(interval: Option<[f64; 2]>, sign: f64) -> String {
    let Some([low, high]) = interval else { return String::new() };
    let (low, high) = if sign < 0.0 { (-high, -low) } else { (low, high) };
    let digits = digits(low.abs().max(high.abs()));
    format!(", {:.digits$} to {:.digits$} %", 100.0 * low, 100.0 * high)
}

fn percent(share: f64) -> String {
    let digits = digits(share.abs());
    format!("{:.digits$} %", 100.0 * share)
}

/// So many digits after the point that two count.
fn digits(share: f64) -> usize {
    match share {
        _ if share >= 0.1 => 0,
        _ if share >= 0.01 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits_that_count() {
        assert_eq!([0.183, 0.0183, 0.00183, 2.5].map(percent), ["18 %", "1.8 %", "0.18 %", "250 %"]);
        assert_eq!(range(Some([-0.232, -0.147]), -1.0), ", 15 to 23 %");
        assert_eq!(range(Some([0.01, 0.034]), 1.0), ", 1.0 to 3.4 %");
        assert_eq!(range(None, 1.0), "");
    }
}
