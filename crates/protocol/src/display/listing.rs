//! Answers of the engine as lines for a person. Not wrapped, and foreign text in them is not cleaned: whoever prints does
//! both.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::approval::grant_words;
use super::sessions::table;
use super::trust::listed;
use super::{context, format, servers};
use crate::query::{AgentInfo, ChangedFile, Drafted, FileNow, FilesChanged, Grants, Named, Reply, Setting};
use crate::todo::Todo;
use crate::trust::{Standing, TrustState};

/// So many files that commands changed are named.
const BY_COMMANDS: usize = 50;

/// Where answers are shown.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub columns: usize,
    pub home: Option<&'a Path>,
    pub now: Timestamp,
}

pub fn lines(reply: &Reply, place: Place<'_>) -> Vec<String> {
    let home = place.home;
    let lines = match reply {
        // Those that only work for others cannot be chosen.
        Reply::Agents(agents) => agents.iter().filter(|agent| agent.primary).map(agent).collect(),
        Reply::Skills(skills) => skills.iter().map(|skill| named("", skill)).collect(),
        Reply::Commands(commands) => commands.iter().map(|command| named("/", command)).collect(),
        Reply::Mcp(found) => servers::table(found),
        Reply::Models(models) => models.iter().map(|model| model.name.clone()).collect(),
        Reply::Todos { items, draft } => todos(items, *draft),
        Reply::Sessions(sessions) if sessions.is_empty() => vec!["there is no saved session yet".to_owned()],
        Reply::Sessions(sessions) => {
            let text = table(sessions, place.now, home, Some(place.columns));
            text.lines().map(str::to_owned).collect()
        }
        Reply::FilesChanged(changed) => files_changed(changed),
        Reply::Config(settings) => config(settings),
        Reply::Context(usage) => vec![context::usage(usage)],
        Reply::Trust(state) => trust(state, home),
        Reply::Grants(grants) => granted(grants),
        Reply::AddedFolders(folders) => {
            folders.iter().map(|folder| format::path(Path::new(folder), home)).collect()
        }
        Reply::Summary(drafted) | Reply::Handoff(drafted) => self::drafted(drafted),
        Reply::GitBranch(branch) => branch.clone().into_iter().collect(),
        Reply::Completions(found) => {
            found.candidates.iter().map(|candidate| candidate.shown.clone()).collect()
        }
        Reply::Remembered(line) => vec![line.clone()],
        Reply::SpilledOutput(output) => {
            output.head.lines().chain(output.tail.lines()).map(str::to_owned).collect()
        }
        Reply::Image(image) => {
            image.iter().map(|image| format!("{}×{}", image.width, image.height)).collect()
        }
    };
    if lines.is_empty() { vec![nothing(reply).to_owned()] } else { lines }
}

/// What there is none of: the answer stands alone, without the question.
fn nothing(reply: &Reply) -> &'static str {
    match reply {
        Reply::Agents(_) => "there is no agent to choose",
        Reply::Skills(_) => "there are no skills",
        Reply::Commands(_) => "there are no commands of your own or of this project",
        Reply::Mcp(_) => "there are no MCP servers",
        Reply::Models(_) => "the provider names no models",
        Reply::Todos { .. } => "there is no list of steps yet",
        Reply::FilesChanged(_) => "no file was changed in this session",
        Reply::GitBranch(_) => "no branch",
        Reply::AddedFolders(_) => "no folder was added to this session; /add-dir PATH adds one",
        Reply::Sessions(_)
        | Reply::Config(_)
        | Reply::Context(_)
        | Reply::Trust(_)
        | Reply::Grants(_)
        | Reply::Summary(_)
        | Reply::Handoff(_)
        | Reply::Completions(_)
        | Reply::Remembered(_)
        | Reply::SpilledOutput(_)
        | Reply::Image(_) => "none",
    }
}

fn agent(agent: &AgentInfo) -> String {
    let mark = if agent.in_use { " (in use)" } else { "" };
    format!("{} · {}{mark}", agent.name, agent.description)
}

fn todos(items: &[Todo], draft: bool) -> Vec<String> {
    let head = draft.then(|| "a draft, until the model makes a list of its own:".to_owned());
    head.into_iter().chain(items.iter().map(ToString::to_string)).collect()
}

fn named(mark: &str, named: &Named) -> String {
    format!("{mark}{} · {}", named.name, named.description)
}

fn files_changed(changed: &FilesChanged) -> Vec<String> {
    let FilesChanged { root, files, by_command } = changed;
    let by_tools = files.iter().map(|file| self::changed(file, root));
    let named = |path: &PathBuf| format!("changed {} · by a command", format::path_from(path, Some(root)));
    let more = by_command.len().saturating_sub(BY_COMMANDS);
    let rest = (more > 0).then(|| format!("and {} · by a command", format::count(more, "more file")));
    by_tools.chain(by_command.iter().take(BY_COMMANDS).map(named)).chain(rest).collect()
}

fn changed(file: &ChangedFile, root: &Path) -> String {
    let what = match (&file.change.before, &file.change.after) {
        (None, Some(_)) => "created",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) | (None, None) => "changed",
    };
    let counts = match file.lines {
        Some((come, 0)) => format!(" (+{come})"),
        Some((0, gone)) => format!(" (-{gone})"),
        Some((come, gone)) => format!(" (+{come} -{gone})"),
        None => String::new(),
    };
    format!("{what} {}{counts}{}", format::path_from(&file.change.path, Some(root)), now(file.now))
}

/// What became of it after tools had done that.
fn now(now: Option<FileNow>) -> &'static str {
    match now {
        Some(FileNow::AsBefore) => " · since then as before",
        Some(FileNow::Changed) => " · changed since",
        Some(FileNow::Gone) => " · gone since",
        None => "",
    }
}

fn config(settings: &[Setting]) -> Vec<String> {
    let widest = settings.iter().map(|setting| setting.key.chars().count()).max().unwrap_or_default();
    let line =
        |setting: &Setting| format!("{:widest$}  {}  ({})", setting.key, setting.value, setting.source);
    settings.iter().map(line).collect()
}

fn trust(state: &TrustState, home: Option<&Path>) -> Vec<String> {
    let folder = format::path(&state.root, home);
    if state.wants.is_empty() {
        return vec![format!("{folder} wants nothing that needs trust")];
    }
    let standing = match state.standing {
        Standing::Trusted => "is trusted as it is, and may",
        Standing::Changed => "changed since it was trusted, and wants to",
        Standing::Unknown => "is not trusted, and wants to",
    };
    let wants = listed(&state.wants);
    std::iter::once(format!("{folder} {standing}:")).chain(wants.lines().map(str::to_owned)).collect()
}

fn granted(grants: &Grants) -> Vec<String> {
    let mut lines = vec![format!("approval: {}", grants.approval.name())];
    let session = grants.session.iter().map(|grant| ("this session", grant));
    let all = session.chain(grants.project.iter().map(|grant| ("this project", grant)));
    lines.extend(all.enumerate().map(|(at, (scope, grant))| {
        format!("{}  allowed for {scope}: {}", at + 1, grant_words(grant, Some(&grants.root)))
    }));
    lines.push(match lines.len() {
        1 => "nothing was allowed for good here".to_owned(),
        _ => "/revoke NUMBER takes one back, /revoke all every one".to_owned(),
    });
    lines
}

fn drafted(drafted: &Drafted) -> Vec<String> {
    drafted.note.iter().chain([&drafted.text]).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{FileChange, FileState};
    use crate::todo::TodoStatus;

    #[test]
    fn changed_files_are_named_from_the_root_with_their_lines() {
        let state = || Some(FileState { sha256: None, mode: 0o644, access: None });
        let file = |path: &str, before, after, lines| ChangedFile {
            change: FileChange { path: path.into(), before, after, folders: 0 },
            lines,
            now: None,
        };
        let files = vec![
            file("/w/src/a.rs", state(), state(), Some((3, 1))),
            file("/w/new.md", None, state(), Some((2, 0))),
            file("/elsewhere/b", state(), None, None),
        ];
        let by_command: Vec<PathBuf> = (0..BY_COMMANDS + 2).map(|n| format!("/w/out/{n}").into()).collect();
        let place = Place { columns: 80, home: None, now: Timestamp::UNIX_EPOCH };
        let told = lines(&Reply::FilesChanged(FilesChanged { root: "/w".into(), files, by_command }), place);
        assert_eq!(told.len(), 3 + BY_COMMANDS + 1);
        assert_eq!(
            (&*told[3], &*told[3 + BY_COMMANDS]),
            ("changed out/0 · by a command", "and 2 more files · by a command")
        );
        assert_eq!(told[..3], ["changed src/a.rs (+3 -1)", "created new.md (+2)", "deleted /elsewhere/b"]);
    }

    #[test]
    fn a_draft_says_that_it_is_one() {
        let items = vec![Todo { id: "1".into(), content: "look".into(), status: TodoStatus::InProgress }];
        let place = Place { columns: 80, home: None, now: Timestamp::UNIX_EPOCH };
        let told = |items: &[Todo], draft| lines(&Reply::Todos { items: items.to_vec(), draft }, place);
        let head = "a draft, until the model makes a list of its own:";
        assert_eq!(told(&items, true), [head, "[~] look"]);
        assert_eq!(told(&items, false), ["[~] look"]);
        assert_eq!(told(&[], false), ["there is no list of steps yet"]);
        let none = FilesChanged { root: "/w".into(), files: Vec::new(), by_command: Vec::new() };
        assert_eq!(lines(&Reply::FilesChanged(none), place), ["no file was changed in this session"]);
    }
}
