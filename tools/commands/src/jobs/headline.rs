//! What is wanted first of many runs: how many ended how, which one lost most, and which did not end well.

use std::collections::BTreeMap;

use mpitrace_analysis::account::LossKind;
use mpitrace_live::ProcessEnd;
use mpitrace_show::text::{count, printable};
use mpitrace_statistics::names::names;
use mpitrace_words::summary::percent;

use super::row::{LargestLoss, RunRow};

/// So many runs of a kind are named.
const NAMED: usize = 8;
/// A run hung if no rank moved for so long before it ended, s: Slurm gives a job half of it to end after its limit, and
/// the epilogue comes behind that.
const HUNG: f64 = 60.0;

/// How runs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Finished,
    Hung,
    Aborted,
    Killed,
    /// With an exit code or by a signal of its own.
    Failed,
    Incomplete,
}

names!(Kind {
    Finished => "finished",
    Hung => "hung",
    Aborted => "aborted",
    Killed => "killed",
    Failed => "failed",
    Incomplete => "incomplete",
});

impl Kind {
    pub fn of(row: &RunRow) -> Kind {
        match row.ended.as_str() {
            "finished" => Kind::Finished,
            _ if row.hung_s >= HUNG * f64::from(row.ranks) => Kind::Hung,
            "aborted" => Kind::Aborted,
            "killed" => Kind::Killed,
            "incomplete" => Kind::Incomplete,
            other if other.parse::<ProcessEnd>().is_ok_and(|end| end.is_sent()) => Kind::Killed,
            _ => Kind::Failed,
        }
    }
}

/// The hours of so many seconds: `0.00071`, `0.031`, `12.5`, `1530`.
pub fn hours(seconds: f64) -> String {
    match seconds / 3600.0 {
        hours if hours < 0.01 => format!("{hours:.5}"),
        hours if hours < 1.0 => format!("{hours:.3}"),
        hours if hours < 100.0 => format!("{hours:.1}"),
        hours => format!("{hours:.0}"),
    }
}

/// The lines; none of one run alone.
pub fn lines(rows: &[RunRow]) -> Vec<String> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let all: f64 = rows.iter().map(|row| row.rank_seconds).sum();
    let mut by_kind: BTreeMap<Kind, Vec<&RunRow>> = BTreeMap::new();
    rows.iter().for_each(|row| by_kind.entry(Kind::of(row)).or_default().push(row));
    let counts: Vec<String> = by_kind.iter().map(|(kind, rows)| format!("{} {}", rows.len(), kind.name())).collect();
    let mut lines = vec![format!("{}, {} rank h: {}.", count(rows.len() as u64, "run"), hours(all), counts.join(", "))];
    lines.extend(most_lost(rows, all));
    for (kind, mut rows) in by_kind.into_iter().filter(|(kind, _)| *kind != Kind::Finished) {
        let seconds: f64 = rows.iter().map(|row| row.rank_seconds).sum();
        rows.sort_by(|one, other| other.rank_seconds.total_cmp(&one.rank_seconds));
        let named: Vec<String> = rows.iter().take(NAMED).map(|row| name(row)).collect();
        let more = rows.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (first, rest) = kind.name().split_at(1);
        let title = first.to_uppercase() + rest;
        lines.push(format!("{title}: {}{more} ({}).", named.join(", "), of_all(seconds, all)));
    }
    lines
}

/// `0.155 rank h, 21.9 % of all`.
fn of_all(seconds: f64, all: f64) -> String {
    format!("{} rank h, {} of all", hours(seconds), percent(seconds / all.max(f64::MIN_POSITIVE)))
}

/// The run that lost most, by the hours of its ranks.
fn most_lost(rows: &[RunRow], all: f64) -> Option<String> {
    let row = rows.iter().max_by(|one, other| one.lost_s().total_cmp(&other.lost_s()))?;
    let lost = row.lost_s();
    let why = reason(row);
    let shown = |value: &Option<String>| value.as_deref().map(|value| printable(value).into_owned());
    let program = shown(&row.program).unwrap_or_else(|| "unknown program".to_owned());
    let user = shown(&row.user).map_or_else(String::new, |user| format!(" of {user}"));
    let (name, ranks) = (name(row), count(row.ranks.into(), "rank"));
    (lost > 0.0).then(|| format!("Most is lost by {name} ({program}{user}, {ranks}): {why}, {}.", of_all(lost, all)))
}

/// Why it lost most of what it lost; empty: it lost nothing.
pub fn reason(row: &RunRow) -> String {
    match (&row.largest_loss, Kind::of(row)) {
        (_, Kind::Hung) => "hung".to_owned(),
        (Some(loss), _) if loss.kind == LossKind::Hung.name() => "before its end".to_owned(),
        (loss, _) => loss.as_ref().map_or_else(String::new, LargestLoss::reason),
    }
}

/// `job 68`, else the file.
fn name(row: &RunRow) -> String {
    let job = row.job.as_deref().map(|job| format!("job {}", printable(job)));
    job.unwrap_or_else(|| printable(&row.file).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::row::tests::row;

    fn of(job: u32, ended: &str, seconds: f64, hung: f64) -> RunRow {
        let loss = |kind: &str, rank, seconds| LargestLoss {
            kind: kind.into(),
            rank,
            because: rank.map(|_| "preempted".into()),
            function: None,
            seconds,
            share: 0.0,
            gain_s: None,
        };
        let loss = if hung > 0.0 { loss("hung", None, 4.0 * hung) } else { loss("late-rank", Some(2), 0.1 * seconds) };
        RunRow {
            job: Some(job.to_string()),
            seconds,
            rank_seconds: 4.0 * seconds,
            hung_s: 4.0 * hung,
            ended: ended.into(),
            largest_loss: Some(loss),
            ..row()
        }
    }

    #[test]
    fn the_biggest_waste_comes_first_and_what_did_not_end_well_is_named() {
        // A job that was killed waits for its epilogue for some seconds: it did not hang.
        let mut rows =
            vec![of(2, "killed", 150.0, 140.0), of(3, "signal 9 (SIGKILL)", 20.0, 12.0), of(4, "aborted", 9.0, 3.0)];
        rows.extend((10..20).map(|job| of(job, "finished", 100.0, 0.0)));
        rows.extend((20..30).map(|job| of(job, "signal 11 (SIGSEGV)", f64::from(job), 0.0)));
        assert_eq!(
            lines(&rows),
            [
                "23 runs, 1.6 rank h: 10 finished, 1 hung, 1 aborted, 1 killed, 10 failed.",
                "Most is lost by job 2 (solver of alice, 4 ranks): hung, 0.156 rank h, 9.8 % of all.",
                "Hung: job 2 (0.167 rank h, 10.5 % of all).",
                "Aborted: job 4 (0.010 rank h, 0.6 % of all).",
                "Killed: job 3 (0.022 rank h, 1.4 % of all).",
                "Failed: job 29, job 28, job 27, job 26, job 25, job 24, job 23, job 22 and 2 more (0.272 rank h, \
                 17.2 % of all).",
            ]
        );
        let [finished, other] = [of(1, "finished", 100.0, 0.0), of(2, "finished", 10.0, 0.0)];
        assert_eq!(
            lines(&[finished.clone(), other]),
            [
                "2 runs, 0.122 rank h: 2 finished.",
                "Most is lost by job 1 (solver of alice, 4 ranks): rank 2 late (preempted), 0.00278 rank h, 2.3 % of all.",
            ]
        );
        assert_eq!(lines(&[finished]), [""; 0]);
        assert_eq!([0.0, 3599.0, 3600.0, 1e6].map(hours), ["0.00000", "1.000", "1.0", "278"]);
    }
}
