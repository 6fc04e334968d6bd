//! Words and numbers as people read them.

use std::borrow::Cow;

/// World ranks as ranges: `0-3, 5`.
pub fn ranks(ranks: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let texts: Vec<String> = ranges
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    texts.join(", ")
}

/// `rank 3`, `ranks 0-3, 5`.
pub fn named_ranks(list: &[u32]) -> String {
    format!("{} {}", if list.len() == 1 { "rank" } else { "ranks" }, ranks(list))
}

/// `1 rank`, `2 ranks`.
pub fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A time in the unit that suits it, four digits: `812 ns`, `3.214 µs`, `1.200 s`; below 1 ns three digits, as no other
/// time than 0 is `0 ns`.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        0.0 => return "0 ns".to_owned(),
        below if below < 0.001 => return format!("{ns:.2e} ns"),
        below if below < 0.01 => return format!("{ns:.5} ns"),
        below if below < 0.1 => return format!("{ns:.4} ns"),
        _ => {}
    }
    // The limits lie where rounding would give a fifth digit.
    let (value, unit) = match ns.abs() {
        below if below < 999.95 => (ns, "ns"),
        below if below < 999.95e3 => (ns / 1e3, "µs"),
        below if below < 999.95e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = match value.abs() {
        below if below < 9.9995 => 3,
        below if below < 99.995 => 2,
        _ => 1,
    };
    format!("{value:.digits$} {unit}")
}

/// A size, in the unit that fits: `12.3 MB`.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => count(bytes, "byte"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// A number that counts something: whole up to a million, else four digits.
pub fn number(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 && whole.abs() < 1e6 => format!("{whole:.0}"),
        small if small.abs() >= 1000.0 && small.abs() < 1e6 => format!("{small:.0}"),
        other if (0.01..1000.0).contains(&other.abs()) => {
            let digits = 3 - other.abs().log10().floor() as i32;
            format!("{other:.*}", digits.clamp(0, 5) as usize)
        }
        other => format!("{other:.3e}"),
    }
}

/// The text with what would move a terminal's cursor or change its state written out.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |character: char| {
        if character.is_control() { character.escape_default().to_string() } else { character.to_string() }
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// The text, of which no more than this many characters are shown.
pub fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        Some((end, _)) => Cow::Owned(format!("{} ... (--json has all of it)", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// A known value in brackets, behind a blank.
pub fn in_brackets(known: Option<&impl ToString>) -> String {
    known.map(|known| format!(" ({})", printable(&known.to_string()))).unwrap_or_default()
}

/// The text in lines of at most this many characters, if its words are no longer; those after the first are indented. A
/// number stays with its percent sign.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "  ";
    let mut lines: Vec<String> = Vec::new();
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{INDENT}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| line.replace('\u{a0}', " ").trim_end().to_owned()).collect()
}

/// The text as a field of CSV (RFC 4180).
pub fn csv_field(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// A number, or nothing where there is none.
pub fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_ranges() {
        assert_eq!(ranks(&[0, 1, 2, 3, 5, 7, 8]), "0-3, 5, 7-8");
        assert_eq!(named_ranks(&[4]), "rank 4");
        assert_eq!(named_ranks(&[4, 5]), "ranks 4-5");
    }

    #[test]
    fn times_have_four_digits() {
        let cases = [
            (0.0, "0 ns"),
            (-0.0, "0 ns"),
            (0.5, "0.500 ns"),
            (0.0123, "0.0123 ns"),
            (-0.00123, "-0.00123 ns"),
            (1.234e-5, "1.23e-5 ns"),
            (812.34, "812.3 ns"),
            (999.96, "1.000 µs"),
            (12_345.6, "12.35 µs"),
            (99_996.0, "100.0 µs"),
            (1.2e9, "1.200 s"),
            (-1500.0, "-1.500 µs"),
        ];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected);
        }
    }

    #[test]
    fn numbers_are_whole_or_have_four_digits() {
        let cases = [(0.0, "0"), (17.0, "17"), (-3.0, "-3"), (999_999.0, "999999"), (0.5, "0.5000"), (268.5, "268.5")];
        let more = [(1234.5, "1234"), (1_234_567.0, "1.235e6"), (0.001, "1.000e-3"), (99.99, "99.99")];
        for (value, expected) in cases.into_iter().chain(more) {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("größe", 5), "größe");
        assert_eq!(shortened("größe", 3), "grö ... (--json has all of it)");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "  three", "  four"]);
        assert_eq!(wrapped("of it 94.9 %", 10), ["of it", "  94.9 %"]);
        assert_eq!(wrapped("", 9), [""]);
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(printable("größe"), "größe");
    }

    #[test]
    fn csv_quotes_what_would_divide_a_row() {
        assert_eq!(csv_field("MPI_COMM_WORLD"), "MPI_COMM_WORLD");
        assert_eq!(csv_field("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
    }
}
