//! `clock` for people: a page of lines and a table.

use std::io::{self, Write};

use mpitrace_trace::clock::MOST_UNEQUAL;

use mpitrace_analysis::causality::{Causality, Violation};
use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_trace::clock::Truth;

use super::domain::Step;
use super::facts::Facts;

const LISTED: usize = 40;

const TITLE: usize = 8;

pub fn write(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    for (title, line) in lines(facts, style) {
        writeln!(output, "{} {line}", style.paint(Attribute::Bold, &format!("{title:TITLE$}")))?;
    }
    if !facts.domains.is_empty() {
        writeln!(output)?;
        clocks(facts).write(output, style)?;
        more(output, facts.domains.len(), "clock")?;
    }
    if !facts.steps.is_empty() {
        writeln!(
            output,
            "\n{}",
            style.paint(Attribute::Red, "Clocks have stepped, or changed their rates faster than the limits allow:")
        )?;
        for step in facts.steps.iter().take(LISTED) {
            writeln!(output, "{}", stepped(facts, step))?;
        }
        more(output, facts.steps.len(), "step")?;
    }
    Ok(())
}

fn more(output: &mut dyn Write, count: usize, noun: &str) -> io::Result<()> {
    match count.checked_sub(LISTED) {
        None | Some(0) => Ok(()),
        Some(left) => writeln!(output, "... and {} more (--json has them all)", text::count(left as u64, noun)),
    }
}

fn lines(facts: &Facts, style: Style) -> Vec<(&'static str, String)> {
    let mut lines = vec![("method", method(facts))];
    let mut add = |title, line: Option<String>| lines.extend(line.map(|line| (title, line)));
    add("limits", limits(facts).filter(|_| facts.synchronisations > 0));
    add("errors", Some(errors(facts)));
    add("steps", facts.unseen_step_ns.map(unseen));
    let order = order(&facts.causality);
    let is_wrong = facts.causality.violated > 0;
    add("order", Some(if is_wrong { style.paint(Attribute::Red, &order) } else { order }));
    add("", facts.worst_violation.as_ref().map(worst));
    add("truth", facts.truth.as_ref().map(truth));
    lines
}

fn method(facts: &Facts) -> String {
    if facts.domains.len() < 2 {
        return format!("{}: all ranks read one clock", facts.method.name());
    }
    if facts.synchronisations == 0 {
        return format!("{}: {} that only the hosts' wall clocks connect", facts.method.name(), clock_count(facts));
    }
    let times = text::count(facts.synchronisations as u64, "synchronisation");
    format!("{}: {} in {times}, {} in all", facts.method.name(), clock_count(facts), text::time(facts.sync_ns))
}

fn clock_count(facts: &Facts) -> String {
    text::count(facts.domains.len() as u64, "clock")
}

fn limits(facts: &Facts) -> Option<String> {
    let (ppm, ppb) = (facts.max_ppm?, facts.wander_ppb?);
    Some(format!(
        "hard bounds hold if no clock is {ppm} ppm faster than another, and no rate changes by {ppb} ppb in a second; \
         95 % intervals hold if no message between nodes takes more than {MOST_UNEQUAL} times as long as one back"
    ))
}

fn errors(facts: &Facts) -> String {
    match (facts.error_ns.median, facts.error_ns.max) {
        (Some(median), Some(max)) => {
            format!("intervals of at least 95 %: ±{} (median), ±{} at most", text::time(median), text::time(max))
        }
        _ if facts.domains.iter().map(Vec::len).sum::<usize>() == 1 => "none: there is one rank".to_owned(),
        _ if facts.synchronisations > 0 => "not known: the method states none".to_owned(),
        _ if facts.domains.len() > 1 => "not known: the clocks were not synchronised".to_owned(),
        _ => "not known: the ranks' clocks were not tested against each other".to_owned(),
    }
}

fn unseen(step_ns: f64) -> String {
    format!(
        "not known: with two synchronisations a step of up to {} looks like drift, and the errors hold only without \
         one (`MPITRACE_RESYNC` sets how often clocks are synchronised)",
        text::time(step_ns)
    )
}

fn order(causality: &Causality) -> String {
    let Causality { checked, violated, violated_raw, .. } = *causality;
    match (checked, violated_raw, violated) {
        (0, ..) => "nothing to check: no collective here implies an order".to_owned(),
        (_, 0, _) => format!("kept by all {} checked", exits(checked)),
        (_, raw, 0) => {
            format!("kept by all {} checked, within the errors; {raw} violated by the times alone", exits(checked))
        }
        (_, raw, beyond) => format!(
            "violated by {beyond} of {} checked: before an entry that they depend on, by more than the errors ({raw} by \
             the times alone)",
            exits(checked)
        ),
    }
}

fn exits(count: u64) -> String {
    text::count(count, "exit")
}

fn worst(violation: &Violation) -> String {
    let Violation { by_ns, operation, function, repetition, left, entered } = violation;
    format!(
        "the worst by {}: rank {left} left {} (operation {operation}, repetition {repetition}) before rank {entered} \
         had entered",
        text::time(*by_ns),
        text::printable(function)
    )
}

fn truth(truth: &Truth) -> String {
    let Truth { max_ns, rms_ns, coverage_95, hard_bounds_held } = truth;
    let mut line = format!("{} off at most, {} rms", text::time(*max_ns), text::time(*rms_ns));
    if let Some(share) = coverage_95 {
        line.push_str(&format!("; {:.1} % within the errors", share * 100.0));
    }
    match hard_bounds_held {
        Some(true) => line.push_str("; hard bounds held"),
        Some(false) => line.push_str("; hard bounds did not hold"),
        None => {}
    }
    line
}

fn clocks(facts: &Facts) -> Table<'_> {
    let mut table =
        Table::new(&[number("clock"), text("ranks"), number("ahead at start"), number("drift"), number("tested to")]);
    for (index, ranks) in facts.domains.iter().enumerate().take(LISTED) {
        let (ahead, drift) = match index {
            0 => ("reference".to_owned(), String::new()),
            _ => (text::time(facts.offset_ns[index]), format!("{:.3} ppm", facts.drift_ppm[index])),
        };
        let tested = match facts.tested_ns[index] {
            _ if ranks.len() == 1 => "one rank".to_owned(),
            Some(nanoseconds) => text::time(nanoseconds),
            None => "not tested".to_owned(),
        };
        table.row(vec![index.to_string(), text::ranks(ranks), ahead, drift, tested]);
    }
    table
}

fn stepped(facts: &Facts, step: &Step) -> String {
    let alone = [step.domain];
    let ranks = facts.domains.iter().find(|ranks| ranks.first() == Some(&step.domain));
    let how = if step.size_ns > 0.0 { "jumped ahead" } else { "jumped back" };
    format!(
        "the clock of {} {how} by {} between {:.3} s and {:.3} s: split the trace there",
        text::named_ranks(ranks.map_or(&alone, |ranks| ranks)),
        text::time(step.size_ns.abs()),
        step.after_s,
        step.before_s
    )
}
