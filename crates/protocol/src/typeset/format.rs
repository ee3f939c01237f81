//! Sizes, durations, times and paths in the words a person uses.
//! Takes every instant and folder as an argument: nothing here asks the system.

use std::path::Path;

use jiff::Timestamp;

use super::sanitize::visible_line;
use crate::path_text;

/// `640 B`, `1.2 kB`, `35 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if value < 9.95 { 1 } else { 0 };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// What something took: `0.32 s`, `4.5 s`, `3 min 12 s`, `2 h 05 min`, `3 d 4 h`.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..950 => format!("{:.2} s", milliseconds as f64 / 1000.0),
        950..59_950 => format!("{:.1} s", milliseconds as f64 / 1000.0),
        _ => elapsed((milliseconds + 500) / 1000),
    }
}

/// While something runs: `3 s`, `3 min 12 s`, `2 h 05 min`, `3 d 4 h`.
pub fn elapsed(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// `just now`, `5 min ago`, `3 h ago`, `2 days ago`; a date when it is longer ago than two weeks.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let seconds = now.as_second() - then.as_second();
    match seconds {
        // A clock that was set back is no reason to speak of the future.
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if seconds < 2 * DAY => "1 day ago".to_owned(),
        _ if seconds < 15 * DAY => format!("{} days ago", seconds / DAY),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// A path for a person: home is `~`, and what cannot be seen is spelled out.
pub fn path(path: &Path, home: Option<&Path>) -> String {
    let inside = home.filter(|home| home.parent().is_some()).and_then(|home| path.strip_prefix(home).ok());
    match inside {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", visible_line(&path_text::shown(rest))),
        None => visible_line(&path_text::shown(path)),
    }
}

/// A path as seen from the folder that is worked in; whole where it lies elsewhere.
pub fn path_from(path: &Path, root: Option<&Path>) -> String {
    let below = root.filter(|root| root.parent().is_some()).and_then(|root| path.strip_prefix(root).ok());
    let below = below.filter(|below| !below.as_os_str().is_empty());
    visible_line(&path_text::shown(below.unwrap_or(path)))
}

/// `999`, `12.3k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// `1 line`, `3 lines`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_to_what_is_read_at_a_glance() {
        let table = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_234, "1.2 kB"),
            (9_960, "10 kB"),
            (51_200, "51 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (35_000_000, "35 MB"),
            (u64::MAX, "18447 PB"),
        ];
        for (bytes, text) in table {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn durations_and_times_use_two_units_at_most() {
        let table = [
            (20, "0.02 s"),
            (999, "1.0 s"),
            (4_460, "4.5 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 00 s"),
            (192_000, "3 min 12 s"),
            (7_500_000, "2 h 05 min"),
            (273_600_000, "3 d 4 h"),
        ];
        for (milliseconds, text) in table {
            assert_eq!(duration(milliseconds), text);
        }
        assert_eq!((elapsed(59), elapsed(60)), ("59 s".to_owned(), "1 min 00 s".to_owned()));
        let now: Timestamp = "2025-12-17T12:00:00Z".parse().unwrap();
        let table = [
            ("2025-12-17T12:00:30Z", "just now"),
            ("2025-12-17T11:59:01Z", "just now"),
            ("2025-12-17T11:55:00Z", "5 min ago"),
            ("2025-12-17T09:00:00Z", "3 h ago"),
            ("2025-12-16T11:00:00Z", "1 day ago"),
            ("2025-12-10T11:00:00Z", "7 days ago"),
            ("2025-11-01T11:00:00Z", "2025-11-01"),
        ];
        for (then, text) in table {
            assert_eq!(ago(then.parse().unwrap(), now), text);
        }
    }

    #[test]
    fn paths_are_short_and_honest() {
        let home = Some(Path::new("/home/u"));
        assert_eq!(path(Path::new("/home/u/src/a.rs"), home), "~/src/a.rs");
        assert_eq!(path(Path::new("/home/u"), home), "~");
        assert_eq!(path(Path::new("/home/user2/a"), home), "/home/user2/a");
        assert_eq!(path(Path::new("/etc/a\u{202e}b\n"), None), "/etc/a\\u{202e}b\\n");
        assert_eq!(path(Path::new("/etc"), Some(Path::new("/"))), "/etc");
    }
}
