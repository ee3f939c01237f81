//! `zdx sessions`: what is saved, what was said, and away with it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use zdx_engine::session::SessionSummary;
use zdx_protocol::display::format;
use zdx_protocol::display::text::{one_line, truncate_width, width as columns};
use zdx_protocol::record;

use super::replay::Replay;
use super::{json_line, print};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::{terminal, words};

pub fn list(settings: &Settings, limit: usize) -> Result<Ending, Failure> {
    let found = settings.sessions().list((limit > 0).then_some(limit)).map_err(Failure::runtime)?;
    print(match settings.format {
        Format::Json => found.iter().map(as_json).collect(),
        Format::Text => {
            if found.is_empty() && settings.terminal.stderr {
                super::warn(
                    settings,
                    &["there is no session yet; `zdx` or `zdx exec` starts one".to_owned()],
                );
            }
            let width = settings.terminal.stdout.then(terminal::width);
            table(&found, Timestamp::now(), settings.paths.home(), width)
        }
    })
}

pub fn show(settings: &Settings, id: &str) -> Result<Ending, Failure> {
    let store = settings.sessions();
    let id = store.find(id).map_err(Failure::runtime)?;
    let mut replay = Replay::new(settings.format, rustix::stdio::stdout());
    let scan = store.scan(id, |record| replay.record(record)).map_err(Failure::runtime)?;
    replay.finish()?;
    if scan.bad_lines > 0 {
        super::warn(settings, &[format!("{} lines could not be read and were left out", scan.bad_lines)]);
    }
    Ok(Ending::Completed)
}

/// The same as `show` prints, into a file that must not be there yet.
pub fn export(settings: &Settings, id: &str, path: &Path) -> Result<(), Failure> {
    let store = settings.sessions();
    let id = store.find(id).map_err(Failure::runtime)?;
    let cannot = |error: io::Error| Failure::runtime(format!("cannot write {}: {error}", path.display()));
    let file = File::options().write(true).create_new(true).mode(0o600).open(path).map_err(cannot)?;
    let mut replay = Replay::new(Format::Text, file.as_fd());
    store.scan(id, |record| replay.record(record)).map_err(Failure::runtime)?;
    replay.finish().map_err(cannot)
}

pub fn delete(settings: &Settings, ids: &[String]) -> Result<Ending, Failure> {
    let store = settings.sessions();
    // All of them are looked up first, so that a typing error deletes nothing.
    let found: Vec<_> =
        ids.iter().map(|id| store.find(id)).collect::<Result<_, _>>().map_err(Failure::runtime)?;
    for id in found {
        store.delete(id).map_err(Failure::runtime)?;
        print(format!("deleted {id}\n"))?;
    }
    Ok(Ending::Completed)
}

fn as_json(session: &SessionSummary) -> String {
    let line = json!({
        "id": session.id.to_string(),
        "when": record::written(session.when),
        "root": session.root,
        "model": session.model,
        "bytes": session.bytes,
        "first_prompt": session.first_prompt,
    });
    json_line(&line)
}

/// With a width, lines are cut to fit a screen and ids are short; without one everything is there.
pub fn table(
    sessions: &[SessionSummary],
    now: Timestamp,
    home: Option<&std::path::Path>,
    width: Option<usize>,
) -> String {
    let row = |session: &SessionSummary| {
        let id = session.id.to_string();
        let clean = |text: &str| one_line(text, usize::MAX);
        [
            if width.is_some() { words::short_id(&id).to_owned() } else { id },
            format::ago(session.when, now),
            format::size(session.bytes),
            session.root.as_deref().map_or("-".to_owned(), |root| format::path(root, home)),
            session.model.as_deref().map_or("-".to_owned(), clean),
            session.first_prompt.as_deref().map_or(String::new(), clean),
        ]
    };
    let rows: Vec<_> = sessions.iter().map(row).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = columns(cell).max(*widest);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - columns(cell) + 2));
        }
        line.push_str(&row[5]);
        text.push_str(&truncate_width(line.trim_end(), width.unwrap_or(usize::MAX)));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn session(prompt: &str) -> SessionSummary {
        SessionSummary {
            id: "550e8400-e29b-41d4-a716-446655440000".parse().unwrap(),
            when: Timestamp::from_second(1_000).unwrap(),
            bytes: 2_048,
            root: Some("/home/me/项目".into()),
            model: None,
            first_prompt: Some(prompt.into()),
        }
    }

    #[test]
    fn a_screen_gets_short_lines_and_a_pipe_gets_everything() {
        let sessions = [session("hello\x1b[2J world"), session("x")];
        let now = Timestamp::from_second(1_000 + 7_200).unwrap();
        let home = Some(Path::new("/home/me"));
        assert_eq!(
            table(&sessions[..1], now, home, Some(42)),
            "550e8400  2 h ago  2.0 kB  ~/项目  -  hel…\n"
        );
        let piped = table(&sessions, now, home, None);
        assert!(piped.starts_with("550e8400-e29b-41d4-a716-446655440000  2 h ago  2.0 kB  ~/项目  -  hello"));
        assert!(!piped.contains('\x1b'));
        assert!(piped.lines().nth(1).unwrap().ends_with("-  x"));
    }
}
