//! The change of the job in parts, as a table whose rows add up.

use mpitrace_show::output::Output;
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_words::changes::{JobFacts, PartFacts, in_calls};

/// Rows of parts, and the share of the largest change below which a part is among the others.
const ROWS: usize = 12;
const SMALL: f64 = 0.01;

/// Writes it: the largest change first, then the others, what is in no part, and the job.
pub fn write(facts: &JobFacts, output: &mut Output) -> anyhow::Result<()> {
    let [a, b] = facts.sides;
    let heads = [format!("calls {a}"), format!("calls {b}"), format!("time {a}"), format!("time {b}")];
    let mut columns = vec![text("what changed")];
    columns.extend(heads.iter().zip([4, 4, 1, 1]).map(|(head, order)| number(head).optional().spare(order)));
    columns.extend([number("change"), text("95 %").optional().spare(2)]);
    let mut table = Table::new(&columns);
    let largest = facts.parts.iter().map(|part| part.change_s.abs()).fold(facts.change_s.abs(), f64::max);
    let is_shown = |part: &&PartFacts| part.change_s.abs() >= SMALL * largest && part.change_s != 0.0;
    let shown: Vec<&PartFacts> = facts.parts.iter().filter(is_shown).take(ROWS).collect();
    for part in &shown {
        let state = if part.state == "both" { String::new() } else { format!(" ({})", part.state) };
        table.row(row(
            format!("{}{state}", text::printable(&part.name)),
            [part.a.calls, part.b.calls],
            Some([part.a.seconds, part.b.seconds]),
            part.change_s,
            part.change_ci_s,
        ));
    }
    let of_others = |of: fn(&PartFacts) -> f64| {
        facts.parts.iter().map(of).sum::<f64>() - shown.iter().map(|part| of(part)).sum::<f64>()
    };
    let others = facts.parts.len() - shown.len();
    if others > 0 {
        let seconds = [of_others(|part| part.a.seconds), of_others(|part| part.b.seconds)];
        let name = text::count(others as u64, "other");
        table.row(row(name, [None; 2], Some(seconds), of_others(|part| part.change_s), None));
    }
    table.row(row("remainder".to_owned(), [None; 2], None, facts.remainder_s, None));
    table.row(row("job".to_owned(), [None; 2], Some(facts.seconds), facts.change_s, facts.change_ci_s));
    let style = output.style;
    table.write(output, style)?;
    Ok(())
}

fn row(
    name: String,
    calls: [Option<f64>; 2],
    seconds: Option<[f64; 2]>,
    change_s: f64,
    interval: Option<[f64; 2]>,
) -> Vec<String> {
    let time = |side: usize| seconds.map_or_else(String::new, |seconds| text::time(1e9 * seconds[side]));
    let interval = interval.map(|ends| ends.map(signed));
    vec![
        name,
        in_calls(calls[0]),
        in_calls(calls[1]),
        time(0),
        time(1),
        signed(change_s),
        interval.map_or_else(String::new, |[low, high]| format!("{low} to {high}")),
    ]
}

fn signed(seconds: f64) -> String {
    let time = text::time(1e9 * seconds);
    if seconds > 0.0 { format!("+{time}") } else { time }
}
