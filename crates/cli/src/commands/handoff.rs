//! `zdx handoff`: a draft to start the next session from.

use std::io::Write;
use std::path::Path;

use zdx_engine::Handoff;
use zdx_protocol::display::plain;
use zdx_protocol::{Open, SessionPick};
use zdx_store::SessionKind;

use super::{print, warn};
use crate::exit::{Ending, Failure, reason};
use crate::settings::Settings;
use crate::start;

pub async fn run(
    settings: &Settings,
    goal: &str,
    from: Option<&str>,
    out: Option<&Path>,
) -> Result<Ending, Failure> {
    if goal.trim().is_empty() {
        return Err(Failure::usage("the goal is empty; say what the next session is to achieve with --goal"));
    }
    let store = settings.sessions();
    let named = |id: &str| store.find(id).map(|id| (id, Vec::new()));
    let latest = |root| store.latest(root, SessionKind::Any).map(|latest| (latest.id, latest.notices));
    let found = match (from, &settings.open) {
        (Some(id), _) => named(id),
        (None, Open::Resume(SessionPick::Id(id))) => named(id),
        (None, Open::Resume(SessionPick::LatestHere)) => latest(Some(settings.root.as_path())),
        (None, Open::Resume(SessionPick::Latest) | Open::New | Open::Fork { .. } | Open::Root(_)) => {
            latest(None)
        }
    };
    let (id, notices) = found.map_err(Failure::runtime)?;
    warn(settings, &notices);
    let account = start::account(settings, id)?;
    // A place that cannot be written to is better known before a model was asked.
    let out = out.map(Out::open).transpose()?;
    let handoff =
        Handoff { goal, root: &settings.root, activity: &account.activity, redactor: &account.redactor };
    let bundle = handoff.prepare(&account.asker).await;
    warn(settings, &account.notices);
    warn(settings, &bundle.notice.into_iter().collect::<Vec<_>>());
    match out {
        Some(out) => out.write(&bundle.markdown),
        None if settings.terminal.stdout => print(&*plain(&bundle.markdown)),
        None => print(bundle.markdown),
    }
}

/// A file that is there whole or not at all.
struct Out<'a> {
    path: &'a Path,
    file: tempfile::NamedTempFile,
}

impl<'a> Out<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.is_dir() {
            return Err(Failure::runtime(format!("cannot write {}: it is a folder", path.display())));
        }
        let file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(folder)
            .map_err(|error| cannot_write(path, &error))?;
        Ok(Self { path, file })
    }

    fn write(mut self, text: &str) -> Result<Ending, Failure> {
        self.file.write_all(text.as_bytes()).map_err(|error| cannot_write(self.path, &error))?;
        self.file.persist(self.path).map_err(|error| cannot_write(self.path, &error.error))?;
        Ok(Ending::Completed)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::runtime(format!("cannot write {}: {}", path.display(), reason(error)))
}
