//! How much longer B takes than A, in words: as a percentage, and from three times as long on as a ratio.

/// From this ratio on, and from its inverse down, a ratio is easier to read than a percentage.
const TIMES: f64 = 3.0;

/// True if this share is read as a ratio, whichever side takes longer.
pub fn is_in_times(share: f64) -> bool {
    let ratio = 1.0 + share;
    ratio >= TIMES || ratio <= 1.0 / TIMES
}

/// A share of a table: `+12.3 %`, `12 times`, and `1/12` where the other side takes 12 times as long.
pub fn signed(share: f64) -> String {
    let ratio = 1.0 + share;
    match ratio {
        _ if ratio >= TIMES => times(ratio),
        _ if ratio <= 1.0 / TIMES && ratio > 0.0 => format!("1/{}", of_digits(1.0 / ratio, 2)),
        _ => percent(share),
    }
}

/// A difference in a sentence: `3.4 %`, `12 times`.
pub fn size(share: f64) -> String {
    if 1.0 + share >= TIMES { times(1.0 + share) } else { format!("{:.1$} %", 100.0 * share, digits(share.abs())) }
}

/// `12 times`.
pub fn times(ratio: f64) -> String {
    format!("{} times", of_digits(ratio, 2))
}

/// `8.10 to 18.0 times`.
pub fn range_of_times([low, high]: [f64; 2]) -> String {
    format!("{} to {} times", of_digits(low, 3), of_digits(high, 3))
}

/// `15 to 23 %`.
pub fn range_of_percent([low, high]: [f64; 2]) -> String {
    let digits = digits(low.abs().max(high.abs()));
    format!("{:.digits$} to {:.digits$} %", 100.0 * low, 100.0 * high)
}

/// `+12.3 %`.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    // Without the sign of a zero that was a hair below it.
    let rounded = format!("{percent:+.1}");
    format!("{} %", if rounded == "-0.0" { "+0.0" } else { &rounded })
}

/// So many digits after the point of a percentage that two count.
fn digits(share: f64) -> usize {
    match share {
        _ if share >= 0.1 => 0,
        _ if share >= 0.01 => 1,
        _ => 2,
    }
}

/// A ratio with so many digits that count, or all before the point.
fn of_digits(ratio: f64, count: i32) -> String {
    let digits = if ratio > 0.0 { count - 1 - ratio.log10().floor() as i32 } else { 0 };
    format!("{ratio:.*}", digits.clamp(0, 12) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_below_three_times_and_a_ratio_above() {
        assert_eq!([0.123, -0.5, -0.00001, 1.4].map(signed), ["+12.3 %", "-50.0 %", "+0.0 %", "+140.0 %"]);
        assert_eq!([2.0, 11.04, 31_422.0, -0.999].map(signed), ["3.0 times", "12 times", "31423 times", "1/1000"]);
        assert_eq!([0.183, 0.0183, 0.00183, 2.79].map(size), ["18 %", "1.8 %", "0.18 %", "3.8 times"]);
        assert_eq!([1.99, 2.0, -0.66, -0.67].map(is_in_times), [false, true, false, true]);
        assert_eq!(range_of_percent([0.147, 0.232]), "15 to 23 %");
        assert_eq!(range_of_percent([0.01, 0.034]), "1.0 to 3.4 %");
        assert_eq!(range_of_times([0.35, 18.2]), "0.350 to 18.2 times");
        // No time at all, and longer than any run.
        assert_eq!([-1.0, f64::INFINITY].map(signed), ["-100.0 %", "inf times"]);
    }
}
