//! `zdx sessions`: what is saved, what was said, and away with it.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::json;
use zdx_protocol::display::sessions::table;
use zdx_protocol::query::SessionSummary;
use zdx_protocol::{path_text, record};

use super::replay::Replay;
use super::{json_line, print};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::terminal;

pub fn list(settings: &Settings, limit: usize, all: bool) -> Result<Ending, Failure> {
    let (store, limit) = (settings.sessions(), (limit > 0).then_some(limit));
    let found = if all { store.list_all(limit) } else { store.list(limit) }.map_err(Failure::runtime)?;
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
    if scan.records == 0 {
        super::warn(settings, &["nothing is written in the file of this session".to_owned()]);
    }
    Ok(Ending::Completed)
}

pub fn delete(settings: &Settings, ids: &[String]) -> Result<Ending, Failure> {
    let store = settings.sessions();
    // All of them are looked up first, so that a typing error deletes nothing.
    let found: Vec<_> =
        ids.iter().map(|id| store.find(id)).collect::<Result<_, _>>().map_err(Failure::runtime)?;
    let mut doomed = Vec::new();
    for id in found {
        // Nobody would find the sessions of its tasks again.
        let children = store.children(id).map_err(Failure::runtime)?;
        doomed.extend(std::iter::once(id).chain(children));
    }
    let mut seen = HashSet::new();
    for id in doomed.into_iter().filter(|id| seen.insert(*id)) {
        store.delete(id).map_err(Failure::runtime)?;
        print(format!("deleted {id}\n"))?;
    }
    Ok(Ending::Completed)
}

fn as_json(session: &SessionSummary) -> String {
    let line = json!({
        "id": session.id,
        "when": record::written(session.when),
        "root": session.root.as_deref().map(path_text::encode),
        "model": session.model,
        "bytes": session.bytes,
        "works_for": session.works_for,
        "one_prompt": session.one_prompt,
        "in_use": session.in_use,
        "fault": session.fault,
        "first_prompt": session.first_prompt,
    });
    json_line(&line)
}
