//! A session's log and what it already holds, new or resumed, with what there is to say about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use zdx_guard::{PolicyContext, is_covered};
use zdx_protocol::display::approval::allowed_rows;
use zdx_protocol::facts::SKILL;
use zdx_protocol::{Approval, Event, NoticeLevel, Part, Transcript};

use super::{Handed, SessionChoice, StartError};
use crate::grants::Granted;
use crate::history::revert::go_there;
use crate::history::{SettledIntents, settle_intents};
use crate::session_policy::LentFolders;
use crate::setup::Setup;
use zdx_config::library::SkillLibrary;
use zdx_store::{SessionId, SessionLog, SessionStore, is_same_root};
use zdx_workspace::{Checkpoints, ContentStore, Workspace};

pub(crate) struct OpenedSession {
    pub log: SessionLog,
    pub transcript: Transcript,
    pub notices: Vec<(NoticeLevel, String)>,
    pub spill_dir: Option<PathBuf>,
    pub journal: Checkpoints,
    pub resumed: bool,
    pub one_prompt: bool,
    /// It was open until now: nothing of it is news.
    pub handed: bool,
    /// When a resumed one was left.
    pub left: Option<Timestamp>,
    /// What is told again of a resumed session.
    pub past: Vec<Event>,
    /// Set where images were kept for the session before it changed hands.
    pub content: Option<Arc<ContentStore>>,
}

impl OpenedSession {
    /// In this folder, where a session is that does not say where it began.
    pub(crate) fn open(
        setup: &Setup,
        choice: SessionChoice,
        workspace: &Workspace,
    ) -> Result<Self, StartError> {
        let root = workspace.root();
        let store = SessionStore::new(setup.paths.sessions());
        let fresh = |log: SessionLog| Self {
            spill_dir: log.path().is_some().then(|| store.companion_dir(log.id())),
            journal: log
                .path()
                .map_or_else(Checkpoints::default, |_| Checkpoints::new(store.blobs(log.id()))),
            log,
            transcript: Transcript::default(),
            notices: Vec::new(),
            resumed: false,
            one_prompt: setup.one_prompt,
            handed: false,
            left: None,
            past: Vec::new(),
            content: None,
        };
        match choice {
            SessionChoice::New => Ok(fresh(store.create(SessionId::random()))),
            SessionChoice::Unsaved => Ok(fresh(SessionLog::disabled(SessionId::random()))),
            SessionChoice::Handed(handed) => {
                let Handed { log, transcript, past, content } = *handed;
                let content = Some(content);
                Ok(Self { transcript, resumed: true, handed: true, past, content, ..fresh(log) })
            }
            SessionChoice::Existing(id) => {
                let mut opened = store.open_retelling(id, setup.replay)?;
                opened.give_header(root);
                if !setup.one_prompt {
                    opened.become_chat();
                }
                let SettledIntents { records, notices: settled } =
                    settle_intents(&mut opened.transcript, workspace);
                let unsaved = records.iter().filter_map(|record| opened.log.append(record).notice());
                opened.notices.extend(settled.into_iter().chain(unsaved));
                let elsewhere = elsewhere(&opened.transcript, root, id);
                let notices = opened.notices.into_iter().chain(elsewhere);
                Ok(Self {
                    spill_dir: Some(store.companion_dir(id)),
                    journal: Checkpoints::new(store.blobs(id)),
                    log: opened.log,
                    transcript: opened.transcript,
                    notices: notices.map(|text| (NoticeLevel::Warning, text)).collect(),
                    resumed: true,
                    one_prompt: setup.one_prompt,
                    handed: false,
                    left: opened.left,
                    past: opened.past,
                    content: None,
                })
            }
        }
    }

    pub(crate) fn warn(&mut self, texts: Vec<String>) {
        self.notices.extend(texts.into_iter().map(|text| (NoticeLevel::Warning, text)));
    }

    pub(crate) fn tell(&mut self, text: String) {
        self.notices.push((NoticeLevel::Info, text));
    }

    /// What was allowed in one folder is not allowed in another one that the session is taken to.
    pub(crate) fn grants(&self, root: &Path) -> &[String] {
        if self.transcript.root.as_deref() == Some(root) { &self.transcript.grants } else { &[] }
    }

    /// The preset it was left with, if that is the strict one: to come back loosens nothing. A bold one is chosen each time.
    pub(crate) fn preset(&mut self, now: Approval) -> Option<Approval> {
        let left = self.transcript.approval.filter(|left| *left != now)?;
        let (kept, told) = match left {
            Approval::Paranoid => (Some(left), "paranoid, as this session was left".to_owned()),
            Approval::Yolo => (None, format!("{} again, yolo ended with the last run", now.name())),
            Approval::Balanced => return None,
        };
        if !self.handed {
            self.tell(format!("{told} · /approval or --approval changes it"));
        }
        kept
    }

    /// What needs no question here, for whoever could be asked. What a wider grant covers need not be named beside it.
    pub(crate) fn tell_allowed(&mut self, policy: &PolicyContext, granted: &Granted) {
        let (session, project) = granted.by_scope(&policy.root);
        let all: Vec<String> = session.iter().chain(&project).cloned().collect();
        let news = |grants: Vec<String>| -> Vec<String> {
            grants.into_iter().filter(|grant| !is_covered(grant, &all, policy)).collect()
        };
        for row in allowed_rows(&news(session), &news(project), &policy.root) {
            self.tell(row);
        }
    }

    /// A whole disk or a whole home for a workspace is hardly meant.
    pub(crate) fn warn_of_place(&mut self, root: &Path, home: Option<&Path>) {
        let place = match root.parent() {
            None => "the whole disk",
            Some(_) if home == Some(root) => "your home folder",
            Some(_) => return,
        };
        self.warn(vec![format!(
            "the workspace is {place}: tools may read all of it unasked; start zdx in a project's folder, or with --root DIR"
        )]);
    }

    /// Where the skills lie that a resumed session has in its context.
    pub(crate) fn lent(&self, skills: &SkillLibrary) -> LentFolders {
        let lent = LentFolders::default();
        let parts = self.transcript.messages().iter().flat_map(|message| &message.parts);
        for part in parts {
            if let Part::ToolUse { name, arguments, .. } = part
                && SKILL.is(name)
                && let Some(skill) =
                    SKILL.given(&arguments.unpack().input()).text("name").and_then(|name| skills.get(&name))
            {
                lent.extend(skill.own_folder());
            }
        }
        lent
    }
}

/// What is to be known of a session that was had in another folder than the one it goes on in.
fn elsewhere(before: &Transcript, root: &Path, id: SessionId) -> Option<String> {
    let began = before.root.as_deref().filter(|began| !is_same_root(began, root))?;
    let back = go_there(began, &id.to_string());
    Some(format!(
        "this session was had in {}; it goes on here, in {}, and the files there are not touched: `{back}`",
        began.display(),
        root.display()
    ))
}
