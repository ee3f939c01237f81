//! `zdx trust`: what this folder's own files want, and the user's word on it.

use std::io::BufRead;

use serde_json::{Map, Value, json};
use zdx_config::trust::TrustEntry;
use zdx_config::{EffectiveConfig, ProjectFiles};
use zdx_protocol::display::trust::{changed_since, listed};
use zdx_protocol::display::{format, plain, visible_line};
use zdx_protocol::{Standing, path_text};

use super::{json_line, print, say, warn};
use crate::args::Format;
use crate::exit::{Ending, Failure, reason};
use crate::output::write_all;
use crate::settings::Settings;
use crate::start;

pub enum Wish {
    Ask,
    Trust,
    Revoke,
    List,
}

impl Wish {
    pub fn of(revoke: bool, list: bool, yes: bool) -> Self {
        match (revoke, list, yes) {
            (true, _, _) => Self::Revoke,
            (_, true, _) => Self::List,
            (_, _, true) => Self::Trust,
            (false, false, false) => Self::Ask,
        }
    }
}

pub fn run(settings: &Settings, wish: Wish) -> Result<Ending, Failure> {
    match wish {
        Wish::Revoke => revoke(settings),
        Wish::List => list(settings),
        Wish::Ask => trust(settings, false),
        Wish::Trust => trust(settings, true),
    }
}

fn trust(settings: &Settings, yes: bool) -> Result<Ending, Failure> {
    let EffectiveConfig { resolved, wants, files, .. } = start::untrusted(settings)?;
    warn(settings, &resolved.notices);
    let folder = format::path(&settings.root, settings.paths.home());
    let store = settings.trust_store();
    let standing = store.status(&settings.root, &files.digest()).map_err(Failure::runtime)?;
    let shown = match settings.format {
        Format::Json => wants
            .iter()
            .map(|want| {
                json_line(
                    &json!({"file": path_text::encode(&want.file), "line": want.line, "want": want.what}),
                )
            })
            .collect(),
        Format::Text if wants.is_empty() => format!("{folder} wants nothing that needs trust\n"),
        Format::Text => format!("{folder} wants to:\n{}", listed(&wants)),
    };
    print(shown)?;
    if wants.is_empty() {
        return Ok(Ending::Completed);
    }
    if standing == Standing::Trusted {
        say(settings, &format!("{folder} is trusted as it is; zdx trust --revoke takes that back"));
        return Ok(Ending::Completed);
    }
    if standing == Standing::Changed {
        let changed = store.changed(&settings.root, &files).map_err(Failure::runtime)?;
        say(settings, &changed_since(&changed, "these files"));
    }
    if !yes && !ask(settings)? {
        say(settings, "not trusted; nothing was changed");
        return Ok(Ending::Failed);
    }
    store.trust(&settings.root, &files).map_err(Failure::runtime)?;
    let unresolved: Vec<String> = files.unresolved().map(|path| path.display().to_string()).collect();
    say(
        settings,
        &match unresolved.as_slice() {
            [] => format!("{folder} is trusted as it is now; a change asks again"),
            unresolved => format!(
                "{folder} cannot be trusted for good: {}; zdx asks each time, or pass --trust for one run",
                unresolved.join(", ")
            ),
        },
    );
    Ok(Ending::Completed)
}

fn ask(settings: &Settings) -> Result<bool, Failure> {
    if !settings.terminal.stdin {
        return Err(Failure::usage("nobody is here to ask: pass --yes to trust these files as they are"));
    }
    // Nobody can be told that stderr does not work.
    let _ = write_all(rustix::stdio::stderr(), b"trust these files as they are? [y/N] ");
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::runtime(format!("cannot read the answer: {}", reason(&error))))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn revoke(settings: &Settings) -> Result<Ending, Failure> {
    let folder = format::path(&settings.root, settings.paths.home());
    let was_trusted = settings.trust_store().revoke(&settings.root).map_err(Failure::runtime)?;
    let standing = if was_trusted { "is no longer trusted" } else { "was not trusted" };
    say(settings, &format!("{folder} {standing}"));
    Ok(Ending::Completed)
}

fn list(settings: &Settings) -> Result<Ending, Failure> {
    let entries = settings.trust_store().list().map_err(Failure::runtime)?;
    if entries.is_empty() {
        say(settings, "no folder is trusted; `zdx trust` in a folder shows what it wants");
    }
    let text: String = entries
        .iter()
        .map(|entry| {
            let holds = still_holds(settings, entry);
            match settings.format {
                Format::Json => {
                    let (root, at) = (entry.root.to_string_lossy(), entry.at.to_string());
                    let files: Map<String, Value> = entry
                        .files
                        .iter()
                        .map(|(path, hash)| (path_text::encode(path).into_owned(), json!(hash)))
                        .collect();
                    json_line(&json!({
                        "root": root, "digest": entry.digest, "at": at, "holds": holds, "files": files
                    }))
                }
                Format::Text => {
                    let folder = format::path(&entry.root, settings.paths.home());
                    let note = if holds { "" } else { "  (changed since: not trusted any more)" };
                    let files = entry
                        .files
                        .keys()
                        .map(|path| format!("  {}\n", visible_line(&path_text::shown(path))));
                    format!("{}  {}{note}\n{}", entry.at, plain(&folder), files.collect::<String>())
                }
            }
        })
        .collect();
    print(text)
}

/// Whether the files are still what was trusted; what cannot be read is not.
fn still_holds(settings: &Settings, entry: &TrustEntry) -> bool {
    ProjectFiles::read(&settings.paths, &settings.env, &entry.root)
        .is_ok_and(|project| project.digest().to_string() == entry.digest)
}
