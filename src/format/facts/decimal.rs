//! Decimal numbers of settings.

/// The number that the text is, as far as its digits fit 64 bits. It is the nearest one up to 2^53 and 22 decimal
/// places, as that of `str::parse`, whose tables would add 16 KB to the preloaded library.
///
/// ```
/// use mpitrace_format::decimal::parse;
///
/// assert_eq!((parse("-12.5"), parse("2e9"), parse("0x1")), (Some(-12.5), Some(2e9), None));
/// ```
pub fn parse(text: &str) -> Option<f64> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number = format!("{whole}{fraction}").parse::<i64>().ok()? as f64;
    let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some(if places > 0 { number / 10_f64.powi(places) } else { number * 10_f64.powi(-places) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for text in ["0", "37", "-12.5", "0.1", "500.", ".25", "-2e9", "1.5E-3", "1500000000", "0.007", "+3"] {
            assert_eq!(parse(text), text.parse().ok(), "{text}");
        }
        for text in ["", ".", "-", "1e", "e3", "1.2.3", "1.-2", "0x1", "nan", "inf", "1 2", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
