//! When the jobs that are recovered ended, as the batch system dates it.

use std::collections::HashMap;
use std::time::UNIX_EPOCH;

use mpitrace_format::metadata;
use mpitrace_format::recover::Leftover;
use mpitrace_show::date;

use super::list;

/// The ns since 1970 of `now`, of a date with its zone, or of one without, which is of this machine's zone, as the batch
/// system prints it.
///
/// # Errors
/// Another text.
pub fn moment(text: &str) -> Result<u64, String> {
    if text == "now" {
        return Ok(UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64));
    }
    let seconds = date::zoned(text).or_else(|| date::local(text)).and_then(|seconds| u64::try_from(seconds).ok());
    let ns = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
    ns.ok_or_else(|| "now or a date is expected, as in 2026-11-22T09:30:00".to_owned())
}

/// Tells the runs in these jobs that their job ended then. Of the runs of one batch job it is that which began last: an
/// earlier one had ended before.
pub fn date(jobs: &mut [Vec<Leftover>], ended_ns: u64) {
    let began = |job: &[Leftover]| job.iter().map(|left| left.rank.first_anchor.realtime_ns).max().unwrap_or(0);
    let number = |job: &[Leftover]| list::recorded(job, "job");
    let mut last: HashMap<Option<String>, u64> = HashMap::new();
    for job in jobs.iter() {
        let latest = last.entry(number(job)).or_default();
        *latest = began(job).max(*latest);
    }
    for job in jobs {
        if number(job).is_some_and(|number| last[&Some(number)] > began(job)) {
            continue;
        }
        for left in job {
            let after = ended_ns.checked_sub(left.rank.first_anchor.realtime_ns);
            left.added.extend(after.map(|ns| (metadata::JOB_END_NS.to_owned(), ns.to_string())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_with_and_without_a_zone() {
        // date -u -d 2026-11-22T08:30:00Z +%s
        assert_eq!(moment("2026-11-22T08:30:00Z"), Ok(1_795_336_200_000_000_000));
        assert_eq!(moment("2026-11-22T09:30:00+0100"), Ok(1_795_336_200_000_000_000));
        let here = moment("2026-11-22T08:30:00").unwrap();
        assert!(here.abs_diff(1_795_336_200_000_000_000) <= 14 * 3600 * 1_000_000_000, "{here}");
        assert!(moment("now").unwrap() > here / 2);
        for wrong in ["", "today", "2026-11-22", "1960-01-01T00:00:00Z", "2026-11-22T08:30:00 CET", "Unknown"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
