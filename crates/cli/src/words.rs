//! Sentences and figures of the command line itself that more than one place says.
//! How tool calls are worded is not here: that is `zdx_protocol::display::labels`.

use std::path::Path;

use zdx_protocol::{SessionInfo, TurnSummary};

/// Enough of a session's id to find it again.
pub const SHORT_ID: usize = 8;

pub fn start_line(info: &SessionInfo, home: Option<&Path>) -> String {
    let session = match (info.saved, info.resumed) {
        (true, false) => format!("session {}", short_id(&info.session)),
        (true, true) => format!("session {} resumed", short_id(&info.session)),
        (false, _) => "session not saved".to_owned(),
    };
    format!(
        "zdx {} · {} · {} · {session}",
        env!("CARGO_PKG_VERSION"),
        info.model,
        home_short(&info.root, home)
    )
}

pub fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// A path as people write it: `~` for the home folder.
pub fn home_short(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

pub fn denials(count: u32) -> String {
    match count {
        1 => "1 tool call was denied".to_owned(),
        _ => format!("{count} tool calls were denied"),
    }
}

/// What a turn took, if it is worth a line: time and tokens, those the cache served told apart.
pub fn cost(summary: &TurnSummary) -> Option<String> {
    let usage = summary.usage;
    let seconds = summary.duration_ms as f64 / 1000.0;
    if usage.input_tokens == 0 && usage.output_tokens == 0 {
        return (summary.duration_ms >= 1_000).then(|| format!("{seconds:.1}s"));
    }
    let cached = match usage.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", tokens(cached)),
    };
    let (input, output) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
    Some(format!("{seconds:.1}s · {input} in{cached} · {output} out"))
}

fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// A size in the unit that fits.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// How long ago, in the largest unit that says something.
pub fn ago(seconds: i64) -> String {
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use zdx_protocol::{Outcome, Usage};

    use super::*;

    #[test]
    fn cost_tells_cached_tokens_apart() {
        let mut summary = TurnSummary {
            outcome: Outcome::Completed,
            text: String::new(),
            usage: Usage::default(),
            denied: 0,
            duration_ms: 1_234,
        };
        assert_eq!(cost(&summary).as_deref(), Some("1.2s"));
        summary.usage =
            Usage { input_tokens: 12_345, output_tokens: 20, cache_read_tokens: 999, ..Usage::default() };
        assert_eq!(cost(&summary).as_deref(), Some("1.2s · 12.3k in (999 cached) · 20 out"));
    }

    #[test]
    fn home_is_written_short_only_as_a_whole_part() {
        let home = Path::new("/home/me");
        assert_eq!(home_short(Path::new("/home/me"), Some(home)), "~");
        assert_eq!(home_short(Path::new("/home/me/a b"), Some(home)), "~/a b");
        assert_eq!(home_short(Path::new("/home/mellow"), Some(home)), "/home/mellow");
    }
}
