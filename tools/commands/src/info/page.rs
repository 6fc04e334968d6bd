//! `info` for people: a page of lines and a table.

use std::collections::BTreeMap;
use std::io::{self, Write};

use mpitrace_format::algorithms::{NOT_VISIBLE, VISIBLE};
use mpitrace_format::metadata::UNKNOWN;
use mpitrace_synchronise::Method;

use mpitrace_show::output::{Attribute, Style};
use mpitrace_show::table::{Table, number, text};
use mpitrace_show::text;
use mpitrace_trace::operations::Unfinished;
use mpitrace_words::info::ends;
use mpitrace_words::info::samples::SampleFacts;
use mpitrace_words::info::{Facts, MessageFacts, OperationFacts, TotalFacts, UnmatchedFacts};
use mpitrace_words::mismatches;
use mpitrace_words::stack::Stack;
use mpitrace_words::{all_calls, undone};

const LISTED: usize = 20;

/// Characters of a line that are shown; command lines and lists of variables can be as long as they like.
const LONGEST: usize = 160;

const FEW: usize = 8;

const PRELOAD: &str = "LD_PRELOAD";

const TITLE: usize = 11;

pub fn write(facts: &Facts, output: &mut dyn Write, style: Style) -> io::Result<()> {
    for line in mismatches::lines(&facts.mismatches, facts.mismatched) {
        writeln!(output, "{}", style.paint(Attribute::Red, &line))?;
    }
    for line in undone::lines(&facts.undone) {
        writeln!(output, "{}", style.paint(Attribute::Red, &text::printable(&line)))?;
    }
    for (title, line) in lines(facts) {
        let title = style.paint(Attribute::Bold, &format!("{title:TITLE$}"));
        writeln!(output, "{title} {}", text::shortened(&text::printable(&line), LONGEST))?;
    }
    if !facts.operations.is_empty() {
        writeln!(output)?;
        operations(facts).write(output, style)?;
    }
    if !facts.all_calls.is_empty() {
        writeln!(output, "\nWith the calls that are not kept; run times of single calls, within 1 %:")?;
        all_calls::table(&facts.all_calls).write(output, style)?;
    }
    if !facts.complete {
        writeln!(output, "\n{}", style.paint(Attribute::Red, "This trace is incomplete:"))?;
        for problem in problems(facts, Verdict::IsWanted) {
            writeln!(output, "{}", text::printable(&problem))?;
        }
    }
    Ok(())
}

/// The lines above the table: only what is known.
pub fn lines(facts: &Facts) -> Vec<(&'static str, String)> {
    let factors = Known(&facts.factors);
    let mut lines = vec![("ranks", ranks(facts)), ("records", records(facts))];
    lines.extend(facts.messages.iter().flat_map(messages));
    let mut add = |title, line: Option<String>| lines.extend(line.map(|line| (title, line)));
    add("started", started(facts, &factors));
    for (line, title) in ends::lines(&facts.ends).into_iter().zip(std::iter::once("ended").chain(std::iter::repeat("")))
    {
        add(title, Some(line));
    }
    add("command", factors.get("command"));
    add("launcher", factors.get("launcher"));
    add("job", job(&factors));
    let abi = facts.abi.map_or_else(String::new, |abi| format!(" ({abi} ABI)"));
    let library = facts.library.lines().next().unwrap_or_default();
    let library: Vec<&str> = library.split_whitespace().collect();
    add("library", Some(format!("{}{abi}", library.join(" "))));
    add("", factors.get("library_file"));
    add("threads", factors.get("thread_level"));
    add("processor", factors.join(&["cpu_model", "processors", "governor", "turbo"]));
    add("frequency", frequency(facts, &factors));
    add("pinning", pinning(facts));
    add("network", factors.get("network"));
    add("kernel", factors.join(&["kernel", "distribution"]));
    add("algorithms", chosen_algorithms(&factors));
    let built = [("program", ["program_compiler", "program_flags"]), ("library", ["compiler", "compiler_flags"])];
    let built = built.into_iter().filter_map(|(of, names)| Some(format!("{of}: {}", factors.join(&names)?)));
    for (line, title) in built.zip(std::iter::once("compiler").chain(std::iter::repeat(""))) {
        add(title, Some(line));
    }
    add("cache", factors.get("cache_control"));
    add("clock", clock(facts, &factors));
    add("interrupted", facts.interruptions.line());
    add("samples", facts.samples.as_ref().map(SampleFacts::line));
    add("counters", Some(facts.counters.join(", ")).filter(|counters| !counters.is_empty()));
    for reason in facts.counters_limited.values() {
        add("", Some(reason.clone()));
    }
    for (line, title) in
        totals(&facts.counter_totals).into_iter().zip(std::iter::once("totals").chain(std::iter::repeat("")))
    {
        add(title, Some(line));
    }
    add(
        "scaled",
        (!facts.counters_scaled.is_empty()).then(|| Vec::from_iter(facts.counters_scaled.iter().cloned()).join(", ")),
    );
    add("settings", environment(&facts.factors, |name| name.starts_with("MPITRACE_")));
    add("tuning", environment(&facts.factors, |name| !name.starts_with("MPITRACE_") && name != PRELOAD));
    add("preloaded", preloaded(&factors));
    lines
}

/// Where no algorithm is visible, what the library states of its choice.
fn chosen_algorithms(factors: &Known) -> Option<String> {
    let visible = factors.get(VISIBLE).filter(|visible| visible == NOT_VISIBLE)?;
    let stated = factors.get("collective_algorithms").map(|stated| format!("; {stated}"));
    Some(visible + &stated.unwrap_or_default())
}

/// Totals since MPI_Init, of each rank as long as there are few; a line for each counter that is not 0.
fn totals(totals: &BTreeMap<String, TotalFacts>) -> Vec<String> {
    let line = |(name, of_all): (&String, &TotalFacts)| {
        let shown = |number: u64| match of_all.unit.as_str() {
            "ns" => text::time(number as f64),
            _ => number.to_string(),
        };
        let ranks = &of_all.ranks;
        let (least, most) = (ranks.values().min()?, ranks.values().max()?);
        let each = match ranks.len() {
            1 => String::new(),
            _ if least == most => format!(", {} on each rank", shown(*most)),
            few if few <= FEW => listed(ranks.iter().map(|(rank, &total)| format!("rank {rank}: {}", shown(total)))),
            _ => format!(", {} to {} on a rank", shown(*least), shown(*most)),
        };
        (of_all.total > 0).then(|| format!("{name} {}{each}", shown(of_all.total)))
    };
    totals.iter().filter_map(line).collect()
}

/// Behind their number, in brackets: none of more than a few, which JSON has.
fn listed(texts: impl ExactSizeIterator<Item = String>) -> String {
    if texts.len() > FEW { String::new() } else { format!(" ({})", texts.collect::<Vec<_>>().join("; ")) }
}

/// The factors whose values could be seen.
struct Known<'a>(&'a BTreeMap<String, String>);

impl Known<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let value = self.0.get(name).filter(|value| *value != UNKNOWN && !value.is_empty())?;
        Some(match name {
            "governor" | "turbo" => format!("{name} {value}"),
            _ => value.clone(),
        })
    }

    fn join(&self, names: &[&str]) -> Option<String> {
        let values: Vec<String> = names.iter().filter_map(|name| self.get(name)).collect();
        Some(values.join(", ")).filter(|values| !values.is_empty())
    }
}

/// `2.30 GHz in MPI_Init (0.80 to 2.30 GHz allowed)`; the least and the largest of the ranks.
fn frequency(facts: &Facts, factors: &Known) -> Option<String> {
    let ghz = |khz: u64| format!("{:.2}", khz as f64 * 1e-6);
    let seen = facts.frequency_khz.map(|[least, most]| match least == most {
        true => format!("{} GHz in MPI_Init", ghz(least)),
        false => format!("{} to {} GHz in MPI_Init", ghz(least), ghz(most)),
    });
    let limits = factors.get("frequency_limits_khz").and_then(|limits| {
        let (least, most) = limits.split_once('-')?;
        Some(format!("{} to {} GHz allowed", ghz(least.parse().ok()?), ghz(most.parse().ok()?)))
    });
    match (seen, limits) {
        (Some(seen), Some(limits)) => Some(format!("{seen} ({limits})")),
        (seen, limits) => seen.or(limits),
    }
}

fn ranks(facts: &Facts) -> String {
    let hosts = &facts.hosts;
    let mut line = facts.world_size.to_string();
    match &hosts.keys().collect::<Vec<_>>()[..] {
        [] => {}
        [host] if *host == UNKNOWN => {}
        [host] => line.push_str(&format!(" on {host}")),
        several => {
            let list = listed(hosts.iter().map(|(host, ranks)| format!("{host}: {}", text::ranks(ranks))));
            line.push_str(&format!(" on {}{list}", text::count(several.len() as u64, "host")));
        }
    }
    line
}

fn job(factors: &Known) -> Option<String> {
    let mut text = format!("{} {}", factors.get("batch_system")?, factors.get("job")?);
    let parts = [
        ("job_step", "step"),
        ("job_array_index", "array index"),
        ("job_restarts", "restarts"),
        ("job_nodes", "nodes"),
    ];
    for (name, title) in parts {
        if let Some(value) = factors.get(name) {
            text.push_str(&format!(", {title} {value}"));
        }
    }
    Some(text)
}

fn processors(set: &str) -> String {
    let is_one = set.bytes().all(|byte| byte.is_ascii_digit());
    format!("{} {set}", if is_one { "processor" } else { "processors" })
}

fn pinning(facts: &Facts) -> Option<String> {
    let sets: Vec<(&String, &Vec<u32>)> = facts.affinity.iter().filter(|(set, _)| *set != UNKNOWN).collect();
    match &sets[..] {
        [] => None,
        [(set, _)] => Some(processors(set)),
        few if few.len() <= FEW => {
            let texts: Vec<String> =
                few.iter().map(|(set, ranks)| format!("{}: {}", text::named_ranks(ranks), processors(set))).collect();
            Some(texts.join("; "))
        }
        many => Some(format!("{} different sets of processors (--json has them)", many.len())),
    }
}

fn preloaded(factors: &Known) -> Option<String> {
    let list = factors.get(&format!("env.{PRELOAD}"))?;
    let others: Vec<&str> = list.split([':', ' ']).filter(|path| !path.ends_with("libmpitrace.so")).collect();
    Some(others.join(" ")).filter(|others| !others.is_empty())
}

fn records(facts: &Facts) -> String {
    let others = [
        (
            facts.dropped,
            if facts.settings.keeps == "sample" { "not in the sample" } else { "dropped: the arrays were full" },
        ),
        (facts.lost, "lost with a process that was killed: no room in the folder of the records"),
        (facts.paused, "not kept while paused"),
        (facts.failed, "failed"),
        (facts.failed_others, "failed of functions without records"),
        (facts.perturbed, "perturbed by the tracer"),
    ];
    let mut line = facts.records.to_string();
    for (number, what) in others.iter().filter(|(number, _)| *number > 0) {
        line.push_str(&format!(", {number} {what}"));
    }
    line
}

fn messages(facts: &MessageFacts) -> Vec<(&'static str, String)> {
    let mut first = format!("{} in {}", facts.messages, text::count(facts.records as u64, "record"));
    for (number, what) in [(facts.dropped, "records not kept"), (facts.folded, "calls with too many tags or partners")]
    {
        if number > 0 {
            first.push_str(&format!(", {number} {what}"));
        }
    }
    let mut lines = vec![("messages", first)];
    for UnmatchedFacts { unmatched, communicator } in facts.unmatched.iter().take(FEW) {
        let partner = unmatched.partner.map_or_else(|| "a rank not known".to_owned(), |rank| format!("rank {rank}"));
        let on = communicator.iter().map(|name| format!(" on {name}")).collect::<String>();
        let (done, other) =
            if unmatched.direction == "send" { ("sent to", "not received") } else { ("wanted from", "not sent") };
        let messages = text::count(unmatched.messages as u64, "message");
        let by = undone::called(&unmatched.functions, &unmatched.call_sites);
        let by = by.map(|called| format!(", by {called}")).unwrap_or_default();
        lines.push(("", format!("{other}: {messages} of rank {} {done} {partner}{on}{by}", unmatched.rank)));
    }
    lines
}

fn started(facts: &Facts, factors: &Known) -> Option<String> {
    let duration = facts.clock.duration_ns.map(|ns| format!("{} from MPI_Init to MPI_Finalize", text::time(ns)));
    let parts: Vec<String> = factors.get("start_time").into_iter().chain(duration).collect();
    Some(parts.join(", ")).filter(|line| !line.is_empty())
}

fn clock(facts: &Facts, factors: &Known) -> Option<String> {
    let source = facts.clock.source?;
    let mut line = source.to_owned();
    if let Some(hz) = facts.clock.frequency_hz {
        line.push_str(&format!(" at {:.3} GHz", hz / 1e9));
    }
    if let Some(kernels) = factors.get("clocksource").filter(|kernels| kernels != source) {
        line.push_str(&format!(", the kernel's is {kernels}"));
    }
    let domains = &facts.clock.domains;
    if domains.len() > 1 {
        let list = listed(domains.iter().map(|domain| text::named_ranks(domain)));
        let how = match facts.clock.method {
            Method::None => "related by the hosts' clocks only".to_owned(),
            method => format!("synchronised by {}", method.name()),
        };
        line.push_str(&format!("; {} clock domains{list}, {how}", domains.len()));
    } else if let Some(tested) = facts.clock.tested_ns {
        line.push_str(&format!("; all ranks share one clock (checked to {})", text::time(tested)));
    }
    Some(line)
}

fn environment(factors: &BTreeMap<String, String>, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let variables = factors.iter().filter_map(|(name, value)| Some((name.strip_prefix("env.")?, value)));
    let texts: Vec<String> =
        variables.filter(|(name, _)| wanted(name)).map(|(name, value)| format!("{name}={value}")).collect();
    Some(texts.join(" ")).filter(|line| !line.is_empty())
}

fn operations(facts: &Facts) -> Table<'_> {
    let mut table = Table::new(&[
        number("operation").listed(),
        text("function"),
        text("communicator").spare(1),
        number("bytes"),
        number("root").optional().spare(5),
        text("datatype").optional().spare(7),
        text("reduction").optional().spare(6),
        number("ranks").spare(4),
        number("repetitions").summed(),
        number("incomplete").summed().optional(),
        number("doubtful").summed().optional(),
        text("called from").optional().spare(2),
        text("algorithm").optional().spare(3),
    ]);
    let is_known = |operation: &OperationFacts| {
        matches!(operation.algorithms, Some(Some(_))) || operation.requested_algorithm.is_some()
    };
    let any_algorithm = facts.operations.iter().any(is_known);
    for operation in &facts.operations {
        let description = &operation.description;
        table.row_of(
            description.row.clone(),
            vec![
                description.operation.to_string(),
                text::printable(&description.function).into_owned(),
                description.communicator_label.clone(),
                text::optional(description.bytes),
                text::optional(description.root),
                text::printable(description.datatype.as_deref().unwrap_or_default()).into_owned(),
                text::printable(description.reduction.as_deref().unwrap_or_default()).into_owned(),
                description.ranks.to_string(),
                description.repetitions.to_string(),
                text::positive(description.incomplete),
                text::positive(operation.doubtful),
                operation.call_site.as_ref().map(|site| text::printable(&site.text).into_owned()).unwrap_or_default(),
                if any_algorithm { algorithm(operation) } else { String::new() },
            ],
        );
    }
    table
}

/// What the library took, else what was requested.
fn algorithm(operation: &OperationFacts) -> String {
    match (&operation.algorithms, &operation.requested_algorithm) {
        (Some(None) | None, Some(requested)) => text::printable(&requested.words()).into_owned(),
        (seen, _) => seen.as_ref().map(algorithms).unwrap_or_default(),
    }
}

/// `ring`; with the calls of all ranks where there are several: `ring (40), recursive_doubling (8)`.
fn algorithms(seen: &Option<BTreeMap<String, u64>>) -> String {
    match seen {
        None => "not visible".to_owned(),
        Some(one) if one.len() == 1 => one.keys().cloned().collect(),
        Some(several) => {
            let mut calls: Vec<(&String, &u64)> = several.iter().collect();
            calls.sort_by_key(|(_, calls)| std::cmp::Reverse(**calls));
            calls.iter().map(|(name, calls)| format!("{name} ({calls})")).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The sentence on how the job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is one of the lines.
    IsWanted,
    /// It was printed before.
    IsSaid,
}

/// The lines about an incomplete trace.
pub fn problems(facts: &Facts, verdict: Verdict) -> Vec<String> {
    let mut lines: Vec<String> = facts.problems.iter().take(LISTED).cloned().collect();
    if !facts.missing_hosts.is_empty() {
        let count = facts.missing_hosts.len();
        let some: Vec<&str> = facts.missing_hosts.iter().take(LISTED).map(String::as_str).collect();
        let more = if count > LISTED { format!(" and {} more", count - LISTED) } else { String::new() };
        let noun = if count == 1 { "node" } else { "nodes" };
        lines.push(format!("{noun} of the job without a rank in this trace: {}{more}", some.join(", ")));
    }
    if facts.problems.len() > LISTED {
        lines.push(format!("... and {} more (--json has them all)", facts.problems.len() - LISTED));
    }
    if verdict == Verdict::IsWanted || facts.ended.is_none() {
        lines.extend(facts.deaths.iter().cloned());
        lines.extend(facts.verdict.iter().map(|verdict| format!("when it ended: {verdict}")));
    }
    if let Some(stuck) = &facts.stuck {
        let stacks = stuck.stacks.iter().filter(|stack| stack.ranks.iter().any(|rank| stuck.ranks.contains(rank)));
        lines.extend(stacks.take(LISTED).map(Stack::line));
    }
    lines.extend(facts.unfinished.iter().take(LISTED).map(waiting));
    if facts.unfinished.len() > LISTED {
        lines.push(format!("... and {} more unfinished calls (--json has them all)", facts.unfinished.len() - LISTED));
    }
    if !facts.outside.is_empty() {
        let verb = if facts.outside.len() == 1 { "is" } else { "are" };
        lines.push(format!("{} {verb} in no recorded collective call", text::named_ranks(&facts.outside)));
    }
    lines
}

fn waiting(call: &Unfinished) -> String {
    let verb = if call.inside.len() == 1 { "is" } else { "are" };
    let mut line = format!(
        "{} {verb} in {} on {} (operation {}, repetition {})",
        text::named_ranks(&call.inside),
        call.function,
        call.communicator,
        call.operation,
        call.repetition
    );
    let others = [
        ("never entered by", &call.never_entered),
        ("already left by", &call.returned),
        ("not recorded by", &call.not_kept),
    ];
    for (what, ranks) in others.iter().filter(|(_, ranks)| !ranks.is_empty()) {
        line.push_str(&format!("; {what} {}", text::named_ranks(ranks)));
    }
    if call.missing > 0 {
        line.push_str(&format!("; {} left nothing in this trace", text::count(call.missing.into(), "rank")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_name_ranks_only_as_long_as_these_differ_and_are_few() {
        let line = |values: &[u64]| {
            let ranks = values.iter().enumerate().map(|(rank, &total)| (rank as u32, total)).collect();
            let facts = TotalFacts { unit: String::new(), total: values.iter().sum(), ranks };
            totals(&BTreeMap::from([("x".to_owned(), facts)])).concat()
        };
        assert_eq!(line(&[5]), "x 5");
        assert_eq!(line(&[5, 5]), "x 10, 5 on each rank");
        assert_eq!(line(&[1, 5]), "x 6 (rank 0: 1; rank 1: 5)");
        assert_eq!(line(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), "x 45, 1 to 9 on a rank");
        assert_eq!(line(&[0, 0]), "");
    }
}
