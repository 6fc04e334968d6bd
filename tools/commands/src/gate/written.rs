//! The outcome as files that services of continuous integration read.

use std::path::Path;

use anyhow::Result;
use mpitrace_show::destination::{Content, write_file};
use mpitrace_show::output;
use mpitrace_show::text;
use mpitrace_statistics::comparison::Decision;
use serde_json::{Map, Value, json};

use super::result::{GateRow, Outcome};
use mpitrace_words::share::percent as signed;

pub fn all(outcome: &Outcome, folder: &Path) -> Result<()> {
    let file = |name: &str, content: String| {
        write_file(&folder.join(name), Content::Text, |sink| Ok(sink.write_all(content.as_bytes())?))
    };
    file("summary.md", markdown(outcome))?;
    file("junit.xml", junit(outcome))?;
    file("bmf.json", format!("{:#}\n", bencher(outcome)))?;
    write_file(&folder.join("gate.json"), Content::Text, |sink| output::json(sink, "gate", outcome))
}

fn markdown(outcome: &Outcome) -> String {
    let Outcome { decision, sentence, rows, .. } = outcome;
    let mut lines =
        vec![format!("### mpitrace gate: {}", decision.name()), String::new(), sentence.clone(), String::new()];
    lines.extend(["| median | baseline | now | change |", "|---|--:|--:|--:|"].map(str::to_owned));
    let row = |row: &GateRow| {
        let [before, now] = [row.baseline_ns, row.now_ns].map(text::time);
        format!("| {} | {before} | {now} | {} |", row.key, row.change.map(signed).unwrap_or_default())
    };
    lines.extend(rows.iter().map(row));
    lines.join("\n") + "\n"
}

/// As Jenkins, GitLab and GitHub's actions read it: slower is a failure, not decided is skipped.
fn junit(outcome: &Outcome) -> String {
    let is = |decision| usize::from(outcome.decision == decision);
    let sentence = escaped(&outcome.sentence);
    let inner = match outcome.decision {
        Decision::Passed => format!("<system-out>{sentence}</system-out>"),
        Decision::Slower => format!("<failure type=\"slower\" message=\"{sentence}\"/>"),
        Decision::NotDecided => format!("<skipped message=\"{sentence}\"/>"),
    };
    let seconds = outcome.rows.first().map_or(0.0, |job| job.now_ns / 1e9);
    let (failures, skipped) = (is(Decision::Slower), is(Decision::NotDecided));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites><testsuite name=\"mpitrace gate\" tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n\
         <testcase classname=\"mpitrace\" name=\"time of the job\" time=\"{seconds:.6}\">{inner}</testcase>\n\
         </testsuite></testsuites>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Bencher's metric format: of each its latency, ns, and its change against the baseline, a share.
fn bencher(outcome: &Outcome) -> Value {
    let metric = |row: &GateRow| {
        let latency = json!({"value": row.now_ns, "lower_value": row.lowest_ns, "upper_value": row.highest_ns});
        let mut metrics = Map::new();
        metrics.insert("latency".to_owned(), latency);
        metrics.extend(row.change.map(|change| ("change".to_owned(), json!({"value": change}))));
        (row.key.clone(), Value::Object(metrics))
    };
    Value::Object(outcome.rows.iter().map(metric).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(decision: Decision) -> Outcome {
        let row = GateRow {
            key: "job".into(),
            baseline_ns: 1e9,
            now_ns: 1.1e9,
            lowest_ns: 1e9,
            highest_ns: 2e9,
            change: Some(0.1),
        };
        Outcome {
            decision,
            difference: Some(0.1),
            interval: None,
            p: 0.001,
            visible: Some(0.02),
            runs: [10, 10],
            interleaved: true,
            runs_needed: None,
            more_s: None,
            preempted_runs: 0,
            job: None,
            rows: vec![row],
            sentence: "a < \"b\" & c".into(),
        }
    }

    #[test]
    fn junit_has_a_word_for_each_decision() {
        let of = |decision| junit(&outcome(decision));
        let slower = of(Decision::Slower);
        assert!(slower.contains("failures=\"1\" errors=\"0\" skipped=\"0\""), "{slower}");
        assert!(slower.contains("<failure type=\"slower\" message=\"a &lt; &quot;b&quot; &amp; c\"/>"), "{slower}");
        assert!(of(Decision::NotDecided).contains("skipped=\"1\"") && of(Decision::NotDecided).contains("<skipped "));
        assert!(of(Decision::Passed).contains("failures=\"0\" errors=\"0\" skipped=\"0\""));
    }

    #[test]
    fn bencher_and_markdown_have_the_medians() {
        let of = outcome(Decision::Slower);
        let latency = json!({"value": 1.1e9, "lower_value": 1e9, "upper_value": 2e9});
        assert_eq!(bencher(&of), json!({"job": {"latency": latency, "change": {"value": 0.1}}}));
        assert!(markdown(&of).contains("| job | 1.00 s | 1.10 s | +10.0 % |"), "{}", markdown(&of));
    }
}
