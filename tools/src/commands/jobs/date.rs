//! Dates as text, in UTC.

const DAY: i64 = 86_400;

/// The seconds since 1970 of `2026-11-22T09:30:00+0100`, of `2026-11-22T09:30:00Z`, or of the beginning of `2026-11-22`.
pub fn seconds(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok().map(i64::from);
    let is_set_apart = |at: usize, by: u8| text.as_bytes().get(at) == Some(&by);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let known = (1..=12).contains(&month) && (1..=31).contains(&day) && is_set_apart(4, b'-') && is_set_apart(7, b'-');
    let midnight = DAY * days(year, month, day);
    if !known || text.len() == 10 {
        return known.then_some(midnight);
    }
    let time = 3600 * number(11, 13)? + 60 * number(14, 16)? + number(17, 19)?;
    let zone = text.get(19..)?.replace(':', "");
    let east = match zone.as_bytes() {
        b"" | b"Z" => 0,
        [sign, _, _, _, _] => {
            let (hours, minutes) = (zone.get(1..3)?.parse::<i64>().ok()?, zone.get(3..5)?.parse::<i64>().ok()?);
            (3600 * hours + 60 * minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    Some(midnight + time - east)
}

/// `2026-11-22T09:30:00Z`.
pub fn text(seconds: i64) -> String {
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let time = seconds.rem_euclid(DAY);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", time / 3600, time / 60 % 60, time % 60)
}

/// The Monday of its week: `2026-11-16`.
pub fn monday(seconds: i64) -> String {
    // 1 January 1970 was a Thursday.
    let day = seconds.div_euclid(DAY);
    let (year, month, day) = date(day - (day + 3).rem_euclid(7));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days since 1970 of a date of the Gregorian calendar, counted in years that begin in March (Richards 2013, 15.11.3).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 719_469
}

fn date(day: i64) -> (i64, i64, i64) {
    // A guess that is right or one too many.
    let mut year = 1970 + (day + 365).div_euclid(365);
    while days(year, 1, 1) > day {
        year -= 1;
    }
    let month = (1..=12).rev().find(|&month| days(year, month, 1) <= day).unwrap_or(1);
    (year, month, day - days(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for wrong in ["", "2026", "2026-13-01", "2026/11/22", "2026-11-22Tx", "22-11-2026", "2026-11-22T09:30:00 CET"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_day_of_eight_centuries_is_its_own() {
        for day in days(1800, 1, 1)..days(2600, 1, 1) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
            assert_eq!(seconds(&text(day * DAY + 1)), Some(day * DAY + 1));
        }
    }
}
