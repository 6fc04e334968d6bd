//! Shares and times of a summary as text.

use mpitrace_show::text;

/// `12.3 %` of a share from 0 to 1.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        small if small < 0.1 => "less than 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// A time that is given in seconds.
pub fn seconds(seconds: f64) -> String {
    text::time(1e9 * seconds)
}
