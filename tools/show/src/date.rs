//! Dates as text.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Weekday};

/// The seconds since 1970 of `2026-11-22T09:30:00+0100`, of `2026-11-22T09:30:00Z`, or of the beginning of
/// `2026-11-22`; in UTC without a zone.
pub fn seconds(text: &str) -> Option<i64> {
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(|day| day.and_time(NaiveTime::MIN));
    zoned(text).or_else(|| time(text).or_else(day).map(|moment| moment.and_utc().timestamp()))
}

/// The seconds since 1970 of a date with its zone.
pub fn zoned(text: &str) -> Option<i64> {
    DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%#z").ok().map(|moment| moment.timestamp())
}

/// The seconds since 1970 of a date in the zone of this machine, as batch systems print it: `2026-11-22T09:30:00`.
pub fn local(text: &str) -> Option<i64> {
    let time = time(text)?;
    // SAFETY: all zeros are a value of this structure.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (time.year() - 1900, time.month0() as i32, time.day() as i32);
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (time.hour() as i32, time.minute() as i32, time.second() as i32);
    parts.tm_isdst = -1;
    // SAFETY: the structure lives until the function returns, which takes nothing else.
    Some(unsafe { libc::mktime(&raw mut parts) }).filter(|seconds| *seconds >= 0)
}

fn time(text: &str) -> Option<NaiveDateTime> {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S").ok()
}

/// The seconds of `7d`, `36h` or `2w`: days, hours, weeks.
pub fn length(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let hours: i64 = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return None,
    };
    let number: u32 = number.parse().ok()?;
    i64::from(number).checked_mul(hours * 3600)
}

/// `2026-11-22T09:30:00Z`.
pub fn text(seconds: i64) -> String {
    let moment = DateTime::from_timestamp(seconds, 0);
    moment.map_or_else(String::new, |moment| moment.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The Monday of its week: `2026-11-16`.
pub fn monday(seconds: i64) -> String {
    let moment = DateTime::from_timestamp(seconds, 0);
    moment.map_or_else(String::new, |moment| moment.date_naive().week(Weekday::Mon).first_day().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read() {
        let (day, week) = (24 * 3600, 7 * 24 * 3600);
        assert_eq!(["7d", "36h", "2w", "0d"].map(length), [7 * day, 36 * 3600, 2 * week, 0].map(Some));
        for wrong in ["", "d", "7", "-7d", "7 d", "1.5d", "7m", "7dd", "7\u{e9}", "99999999999w"] {
            assert_eq!(length(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn dates_are_read_and_written() {
        assert_eq!(seconds("1970-01-01"), Some(0));
        // date -u -d 2026-11-22T08:30:00Z +%s
        let moment = 1_795_336_200;
        for same in
            ["2026-11-22T09:30:00+0100", "2026-11-22T08:30:00Z", "2026-11-22T03:00:00-05:30", "2026-11-22T08:30:00"]
        {
            assert_eq!(seconds(same), Some(moment), "{same}");
        }
        assert_eq!(text(moment), "2026-11-22T08:30:00Z");
        assert_eq!(monday(moment), "2026-11-16");
        assert_eq!(text(i64::MAX), "", "no date");
        for wrong in ["", "2026", "2026-13-01", "2026-02-30", "2026/11/22", "2026-11-22Tx", "2026-11-22T09:30:00 CET"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
