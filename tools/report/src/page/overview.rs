//! The table of all operations.

use mpitrace_show::draw::svg::escaped;
use mpitrace_show::text;
use mpitrace_statistics::categories::Category;
use mpitrace_words::rows;

use super::html::table;
use crate::fingerprint::Overview;

/// Rows of a table of operations: those with the most time.
const LISTED: usize = 1000;

/// The operations of each row, the row with the most time first.
pub fn by_time(all: &[Overview]) -> Vec<Vec<&Overview>> {
    rows::by_time(all, |one| &one.operation, |one| one.time_ns)
}

/// The overview. Operations with one repetition are folded, where there are others.
pub fn section(all: &[Overview]) -> String {
    let (once, several): (Vec<_>, Vec<_>) = by_time(all).into_iter().partition(|row| repetitions(row) < 2);
    let folded = match once.len() {
        0 => String::new(),
        _ if several.is_empty() => operations(&once),
        number => format!(
            "<details><summary>{} with one repetition</summary>{}</details>\n",
            text::count(number as u64, "operation"),
            operations(&once)
        ),
    };
    let several = if several.is_empty() { String::new() } else { operations(&several) };
    format!("<section id=\"overview\" class=\"overview\"><h2>All operations</h2>\n{several}{folded}</section>\n")
}

fn repetitions(row: &[&Overview]) -> usize {
    row.iter().map(|one| one.operation.repetitions).sum()
}

fn time_ns(rows: &[Vec<&Overview>]) -> f64 {
    rows.iter().flatten().map(|one| one.time_ns).sum()
}

fn operations(rows: &[Vec<&Overview>]) -> String {
    let head = ["line", "operation", "function", "communicator", "bytes", "root", "ranks", "repetitions", "incomplete"];
    let of_time = ["time of all ranks", "median", "95 %", "end of warm-up"];
    // Where the run has told places apart.
    let without_lines = usize::from(rows.iter().flatten().all(|row| row.operation.call_site.is_none()));
    let head: Vec<&str> = head
        .into_iter()
        .skip(without_lines)
        .chain(of_time)
        .chain(Category::ALL.map(|category| category.name()))
        .collect();
    let (listed, others) = rows.split_at(rows.len().min(LISTED));
    let cells = |row: &Vec<&Overview>| cells(row).into_iter().skip(without_lines).collect();
    table(&head, &listed.iter().map(cells).collect::<Vec<_>>(), 4 - without_lines) + &others_than(listed, others)
}

/// The cells of a row of one or of several operations: these have sums of counts and times, and the range of medians.
fn cells(row: &[&Overview]) -> Vec<String> {
    let operation = &row[0].operation;
    let is_one = row.len() == 1;
    let sum = |of: fn(&Overview) -> u64| row.iter().map(|one| of(one)).sum::<u64>();
    let of_one = |text: String| if is_one { text } else { String::new() };
    let time = |ns: Option<f64>| ns.map_or_else(String::new, text::time);
    let counts = Category::ALL.map(|of| row.iter().map(|one| one.counts[of.place()]).sum::<usize>().to_string());
    let cells = [
        escaped(&operation.line()),
        numbers(row),
        escaped(&operation.function),
        escaped(&rows::communicator(row.iter().map(|one| &one.operation))),
        text::optional(operation.bytes),
        text::optional(operation.root),
        operation.ranks.to_string(),
        repetitions(row).to_string(),
        text::positive(sum(|one| one.operation.incomplete)),
        text::time(row.iter().map(|one| one.time_ns).sum()),
        medians(row),
        of_one(time(row[0].p95_ns)),
        of_one(text::optional(row[0].warmup_end)),
    ];
    cells.into_iter().chain(counts).collect()
}

/// The operation's number, a link where there is a section of it; of several how many they are, and their numbers.
fn numbers(row: &[&Overview]) -> String {
    let link = |one: &&Overview| {
        let number = one.operation.operation;
        match one.shown {
            true => format!("<a href=\"#operation-{number}\">{number}</a>"),
            false => number.to_string(),
        }
    };
    match row {
        [one] => link(one),
        _ => format!(
            "<details><summary>{}</summary>{}</details>",
            text::count(row.len() as u64, "operation"),
            row.iter().map(link).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn medians(row: &[&Overview]) -> String {
    let known = || row.iter().filter_map(|one| one.median_ns);
    match (known().reduce(f64::min), known().reduce(f64::max)) {
        (Some(least), Some(most)) if least < most => format!("{} to {}", text::time(least), text::time(most)),
        (least, _) => least.map_or_else(String::new, text::time),
    }
}

/// The operations that have no row, in a line.
fn others_than(listed: &[Vec<&Overview>], others: &[Vec<&Overview>]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let [listed_ns, others_ns] = [listed, others].map(time_ns);
    let of_time = match listed_ns + others_ns {
        0.0 => String::new(),
        all => format!(", with {:.1} % of the time of all", 100.0 * others_ns / all),
    };
    format!(
        "<p class=\"faint\">{} more{of_time}: <code>mpitrace stats FILE</code> lists them.</p>\n",
        text::count(others.iter().flatten().count() as u64, "operation")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_words::description::Description;

    #[test]
    fn operations_beyond_those_with_the_most_time_are_counted_in_a_line() {
        let row = |number: usize, time_ns: f64| Overview {
            operation: Description { operation: number, ..Description::default() },
            time_ns,
            median_ns: None,
            good_median: None,
            p95_ns: None,
            warmup_end: None,
            counts: [0; 4],
            shown: false,
        };
        let rows: Vec<Overview> = (0..LISTED + 500).map(|at| row(at, if at < 500 { 1.0 } else { 3.0 })).collect();
        let text = section(&rows);
        assert_eq!(text.matches("<tr>").count(), 1 + LISTED, "one is the head");
        let line = "500 operations more, with 14.3 % of the time of all: <code>mpitrace stats FILE</code> lists them.";
        assert!(text.contains(line), "{}", &text[text.len() - 300..]);
        assert!(!section(&rows[500..]).contains("lists them"));
    }

    #[test]
    fn operations_whose_names_count_are_one_row_with_sums_and_a_range() {
        let row = |number: usize| Overview {
            operation: Description {
                operation: number,
                communicator_label: format!("out.{number}"),
                row: Some("write".to_owned()),
                repetitions: 3,
                ..Description::default()
            },
            time_ns: 1e6,
            median_ns: Some(1e3 * (1.0 + number as f64)),
            good_median: None,
            p95_ns: Some(1e6),
            warmup_end: None,
            counts: [1, 0, 0, 2],
            shown: number == 1,
        };
        let text = section(&[row(0), row(1), row(2)]);
        assert_eq!(text.matches("<tr>").count(), 2, "one is the head");
        for expected in ["<summary>3 operations</summary>0, <a href=\"#operation-1\">1</a>, 2", "<td>out.*</td>"] {
            assert!(text.contains(expected), "{text}");
        }
        for expected in ["9", "3.00 ms", "1.00 µs to 3.00 µs", "6"] {
            assert!(text.contains(&format!("<td class=\"number\">{expected}</td>")), "{expected}: {text}");
        }
    }
}
