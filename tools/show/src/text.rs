//! Words and numbers as people read them.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// The names of ranks in a few columns: `ranks 0, 4, 8, ...`.
pub fn few_ranks(list: &[u32]) -> String {
    format!("{} {}", if list.len() == 1 { "rank" } else { "ranks" }, few(list))
}

/// Numbers in a few columns: `0-3, 5, 7, ...`.
pub fn few(list: &[u32]) -> String {
    const FEW: usize = 3;
    let all = ranks(list);
    match all.match_indices(", ").nth(FEW - 1) {
        Some((end, _)) => format!("{}, ...", &all[..end]),
        None => all,
    }
}

/// A message size behind a function's name: ` of 8 bytes`; nothing for 0.
pub fn of_bytes(bytes: Option<u64>) -> String {
    bytes.filter(|&bytes| bytes > 0).map(|bytes| format!(" of {}", count(bytes, "byte"))).unwrap_or_default()
}

/// `1 rank`, `2 ranks`.
pub fn count(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

/// A time in the unit that suits it, with three digits that count: `812 ns`, `3.21 µs`, `1.20 s`. No other time than 0
/// is `0 ns`.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        0.0 => "0 ns".to_owned(),
        below if below < 0.001 => format!("{ns:.2e} ns"),
        _ => {
            let unit = Unit::for_time(ns);
            format!("{} {}", unit.number(ns), unit.name)
        }
    }
}

/// A round time: `1 µs`, `300 ns`.
pub fn round_time(ns: f64) -> String {
    let unit = Unit::for_time(ns);
    format!("{} {}", (ns / unit.ns * 1e3).round() / 1e3, unit.name)
}

/// The unit of the times in a column.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Its name.
    pub name: &'static str,
    /// Its length.
    pub ns: f64,
}

impl Unit {
    /// The one that suits a time.
    pub fn for_time(ns: f64) -> Unit {
        let (name, ns) = match ns.abs() {
            below if below < 999.5 => ("ns", 1.0),
            below if below < 999.5e3 => ("µs", 1e3),
            below if below < 999.5e6 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        Unit { name, ns }
    }

    /// A time in it without its name: three digits that count, as many before the point as there are.
    pub fn number(self, ns: f64) -> String {
        let value = ns / self.ns;
        match value.abs() {
            0.0 => "0".to_owned(),
            // The limits lie where rounding gives a further digit.
            small if small < 0.9995 => {
                let zeros = -(small * 1.0005).log10().floor() as usize;
                format!("{value:.*}", (zeros + 2).min(5))
            }
            below if below < 9.995 => format!("{value:.2}"),
            below if below < 99.95 => format!("{value:.1}"),
            _ => format!("{value:.0}"),
        }
    }
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

/// A number that counts something: whole up to a million, else with three digits that count.
pub fn number(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 && whole.abs() < 1e6 => format!("{whole:.0}"),
        small if small.abs() >= 1000.0 && small.abs() < 1e6 => format!("{small:.0}"),
        other if (0.01..1000.0).contains(&other.abs()) => {
            let digits = 2 - other.abs().log10().floor() as i32;
            format!("{other:.*}", digits.clamp(0, 5) as usize)
        }
        other => format!("{other:.2e}"),
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
    const MARK: &str = " ... (--json has all of it)";
    if columns(text) <= longest { text.into() } else { cut(text, longest + MARK.len(), MARK).into() }
}

/// The text, of which no more than this many columns are shown, the mark of the cut included.
pub fn cut(text: &str, width: usize, mark: &str) -> String {
    let mut taken = columns(mark);
    let fits = |character: &char| {
        taken += character.width().unwrap_or(0);
        taken <= width
    };
    text.chars().take_while(fits).chain(mark.chars()).collect()
}

/// The text, of which no more than the last of these columns are shown.
pub fn end_of(text: &str, width: usize) -> String {
    const MARK: &str = "...";
    if columns(text) <= width {
        return text.to_owned();
    }
    let reversed: String = text.chars().rev().collect();
    cut(&reversed, width, MARK).chars().rev().collect()
}

/// A known value in brackets, behind a blank.
pub fn in_brackets(known: Option<&impl ToString>) -> String {
    known.map(|known| format!(" ({})", printable(&known.to_string()))).unwrap_or_default()
}

/// The text in lines of at most this many columns. Lines after the first are indented, behind
/// a title as far as it reaches. A number stays with its percent sign; attributes take no column.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let indent = indent(text);
    let mut lines: Vec<(String, usize)> = Vec::new();
    let text = text.replace(" %", "\u{a0}%");
    for word in text.split(' ').flat_map(|word| broken(word, width.saturating_sub(indent).max(1))) {
        let columns = columns(&word);
        match lines.last_mut() {
            Some((line, taken)) if *taken + 1 + columns <= width => {
                line.push(' ');
                line.push_str(&word);
                *taken += 1 + columns;
            }
            Some(_) if word.is_empty() => {}
            Some(_) => lines.push((format!("{:indent$}{word}", ""), indent + columns)),
            None => lines.push((word, columns)),
        }
    }
    lines.into_iter().map(|(line, _)| line.replace('\u{a0}', " ").trim_end().to_owned()).collect()
}

/// A word in pieces of at most so many columns.
fn broken(word: &str, width: usize) -> Vec<String> {
    let (mut pieces, mut taken) = (vec![String::new()], 0);
    for character in word.chars() {
        let columns = character.width().unwrap_or(0);
        if taken + columns > width && !word.contains('\x1b') {
            pieces.push(String::new());
            taken = 0;
        }
        taken += columns;
        pieces.last_mut().into_iter().for_each(|piece| piece.push(character));
    }
    pieces
}

/// The place of the text: behind a title that two blanks set off, else behind the blanks before it, at least two
/// columns.
fn indent(text: &str) -> usize {
    const WIDEST: usize = 16;
    let behind = text.trim_start();
    let before = text.len() - behind.len();
    let titled = behind
        .split_once("  ")
        .map(|(title, rest)| before + columns(title) + 2 + (rest.len() - rest.trim_start().len()));
    titled.filter(|&place| place <= WIDEST).unwrap_or(before.clamp(2, WIDEST))
}

/// The columns of a text in a terminal, without attributes.
pub fn columns(text: &str) -> usize {
    // Nearly all cells of a table.
    if text.is_ascii() && !text.contains('\x1b') {
        return text.len();
    }
    let mut parts = text.split("\x1b[");
    let plain = parts.next().map_or(0, UnicodeWidthStr::width);
    plain + parts.filter_map(|part| part.split_once('m')).map(|(_, text)| text.width()).sum::<usize>()
}

/// The text as a field of CSV (RFC 4180).
pub fn csv_field(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

/// A number, or nothing for 0.
pub fn positive(number: u64) -> String {
    optional(Some(number).filter(|&number| number > 0))
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
    fn times_have_three_digits() {
        let cases = [
            (0.0, "0 ns"),
            (-0.0, "0 ns"),
            (0.5, "0.500 ns"),
            (0.0123, "0.0123 ns"),
            (-0.00123, "-0.00123 ns"),
            (1.234e-5, "1.23e-5 ns"),
            (0.9996, "1.00 ns"),
            (812.34, "812 ns"),
            (999.6, "1.00 µs"),
            (12_345.6, "12.3 µs"),
            (99_960.0, "100 µs"),
            (1.2e9, "1.20 s"),
            (-1500.0, "-1.50 µs"),
        ];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected);
        }
    }

    #[test]
    fn round_times_have_no_digits_to_spare() {
        assert_eq!([1.0, 299.9999, 1000.0001, 3e6, 0.0].map(round_time), ["1 ns", "300 ns", "1 µs", "3 ms", "0 ns"]);
    }

    #[test]
    fn numbers_are_whole_or_have_three_digits() {
        let cases = [(0.0, "0"), (17.0, "17"), (-3.0, "-3"), (999_999.0, "999999"), (0.5, "0.500"), (268.5, "268")];
        let more = [(1234.5, "1234"), (1_234_567.0, "1.23e6"), (0.001, "1.00e-3"), (12.34, "12.3")];
        for (value, expected) in cases.into_iter().chain(more) {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("größe", 5), "größe");
        assert_eq!(shortened("größe", 3), "grö ... (--json has all of it)");
        assert_eq!((end_of("halo.c:42", 9), end_of("halo.c:42", 7)), ("halo.c:42".to_owned(), "...c:42".to_owned()));
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "  three", "  four"]);
        assert_eq!(wrapped("of it 94.9 %", 10), ["of it", "  94.9 %"]);
        assert_eq!(wrapped("", 9), [""]);
        assert_eq!(wrapped("title  one two", 12), ["title  one", "       two"]);
        assert_eq!(wrapped("    one two", 9), ["    one", "    two"]);
        assert_eq!(wrapped("a,b,c,d,e,f,g", 9), ["a,b,c,d", "  ,e,f,g"]);
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
