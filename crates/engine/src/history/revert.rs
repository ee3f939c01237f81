//! Going back to before a turn, and forth again: every file as it was, or nothing is touched.
//! What the conversation makes of it is the protocol's `Transcript`.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zdx_protocol::facts::quote;
use zdx_protocol::{Event, FileChange, FileState, LeftBehind, Target, Transcript};

use zdx_store::is_same_root;
use zdx_workspace::path_lock::PathLockError;
use zdx_workspace::workspace::{FileError, Workspace};
use zdx_workspace::{BlobStore, ContentHash, ContentVersion};

/// A file longer than this was not written by a tool of ours.
const MOST: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    #[error("there is no turn to revert yet")]
    NoTurn,
    #[error("there is no turn {turn}; this session has {turns}")]
    UnknownTurn { turn: u32, turns: u32 },
    #[error(
        "turn {0} was folded into a summary and cannot be reverted; /fork {0} in a chat, or `zdx sessions fork`, goes on from there"
    )]
    FoldedAway(u32),
    #[error("there is no revert to take back; a new prompt ends that")]
    NothingToRedo,
    #[error("this session is not saved, so nothing was kept to go back to")]
    NotSaved,
    #[error(
        "nothing was touched: this session was had in {}, and what it changed there is left alone from {}; \
         `{}` takes it back", began.display(), root.display(), go_there(.began, .session)
    )]
    Elsewhere { began: PathBuf, root: PathBuf, session: String },
    #[error(
        "nothing was touched, because what is there now would be lost: {}{}", listed(.files),
        if *.back { "; with --keep-files the conversation alone goes back" } else { "" }
    )]
    Conflicts { files: Vec<Conflict>, back: bool },
    #[error("{} could not be put back: {why}; all other files are as they were", path.display())]
    Failed { path: PathBuf, why: String },
}

/// A file that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: PathBuf,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    ChangedSince,
    ChangedBetween,
    NotKept,
    Unreadable,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Self::ChangedSince => "was changed since, and not by a tool of zdx",
            Self::ChangedBetween => "was changed between two turns, and not by a tool of zdx",
            Self::NotKept => "had a content that was too large to be kept, or is gone",
            Self::Unreadable => "cannot be looked at",
        }
    }
}

/// How one goes on with a session in the folder that it was had in.
pub(crate) fn go_there(root: &Path, session: &str) -> String {
    format!("cd {} && zdx --session {session}", quote(&root.to_string_lossy()))
}

fn listed(conflicts: &[Conflict]) -> String {
    const SHOWN: usize = 5;
    let words = |Conflict { path, why }: &Conflict| format!("{} {}", path.display(), why.words());
    let mut all: Vec<String> = conflicts.iter().take(SHOWN).map(words).collect();
    if conflicts.len() > SHOWN {
        all.push(format!("and {} more", conflicts.len() - SHOWN));
    }
    all.join("; ")
}

/// Which way to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To before this turn, or before the last one.
    Back(Option<u32>),
    /// The same for the conversation alone: files stay as they are.
    Unsay(Option<u32>),
    Forth,
}

/// What is to be done, not looked at yet.
#[derive(Clone, Debug)]
pub struct RevertPlan {
    way: Planned,
    home: Home,
    files: Vec<FileChange>,
    /// Files that came and went in the turns that are taken back: of those, folders may be left.
    passing: Vec<FileChange>,
    interleaved: Vec<PathBuf>,
    left: Option<LeftBehind>,
}

/// The session, and the folder that it was had in.
#[derive(Clone, Debug)]
struct Home {
    began: Option<PathBuf>,
    session: String,
}

impl Home {
    fn of(transcript: &Transcript) -> Self {
        Self { began: transcript.root.clone(), session: transcript.id.clone().unwrap_or_default() }
    }

    /// A session that was taken to another folder changes nothing any more outside of that one.
    fn allow(&self, file: &FileChange, workspace: &Workspace) -> Result<(), RevertError> {
        let root = workspace.root();
        match &self.began {
            Some(began) if !is_same_root(began, root) && !file.path.starts_with(root) => {
                Err(RevertError::Elsewhere {
                    began: began.clone(),
                    root: root.to_owned(),
                    session: self.session.clone(),
                })
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Planned {
    Revert { turn: u32 },
    Redo { turns: u32 },
}

impl RevertPlan {
    pub fn new(transcript: &Transcript, way: Way) -> Result<Self, RevertError> {
        match way {
            Way::Back(turn) => Self::back(transcript, turn),
            Way::Unsay(turn) => {
                let plan = Self::back(transcript, turn)?;
                Ok(Self { files: Vec::new(), passing: Vec::new(), interleaved: Vec::new(), ..plan })
            }
            Way::Forth => match (transcript.redo_turns(), transcript.redo_files()) {
                (Some(turns), Some(files)) => {
                    let home = Home::of(transcript);
                    Ok(Self {
                        way: Planned::Redo { turns },
                        home,
                        files,
                        passing: Vec::new(),
                        interleaved: Vec::new(),
                        left: None,
                    })
                }
                (None, _) | (_, None) => Err(RevertError::NothingToRedo),
            },
        }
    }

    fn back(transcript: &Transcript, turn: Option<u32>) -> Result<Self, RevertError> {
        let turns = transcript.turns;
        let turn = match turn {
            _ if turns == 0 => return Err(RevertError::NoTurn),
            None => turns,
            Some(turn) if (1..=turns).contains(&turn) => turn,
            Some(turn) => return Err(RevertError::UnknownTurn { turn, turns }),
        };
        let undos = transcript.undo_since(turn).ok_or(RevertError::FoldedAway(turn))?;
        let (mut files, mut passing, mut interleaved) = (Vec::new(), Vec::new(), Vec::new());
        // The last one first, as one goes back.
        for undo in undos.into_iter().rev() {
            if undo.change.before == undo.change.after {
                passing.push(undo.change);
                continue;
            }
            if undo.interleaved {
                interleaved.push(undo.change.path.clone());
            }
            files.push(undo.change);
        }
        let home = Home::of(transcript);
        Ok(Self { way: Planned::Revert { turn }, home, files, passing, interleaved, left: None })
    }

    /// The first turn that is taken back; none when it goes forth.
    pub fn turn(&self) -> Option<u32> {
        match self.way {
            Planned::Revert { turn } => Some(turn),
            Planned::Redo { .. } => None,
        }
    }

    /// With what commands did besides, which was looked for before anything is touched.
    pub fn leaving(self, left: Option<LeftBehind>) -> Self {
        Self { left, ..self }
    }

    /// The event that carrying it out would give. Touches nothing.
    pub fn check(&self, workspace: &Workspace, blobs: &BlobStore) -> Result<Event, RevertError> {
        self.steps(workspace, blobs).map(|files| self.event(files))
    }

    fn event(&self, files: Vec<FileChange>) -> Event {
        match self.way {
            Planned::Revert { turn } => Event::Reverted { turn, files, left: self.left.clone() },
            Planned::Redo { turns } => Event::Redone { turn: turns, files },
        }
    }

    fn steps(&self, workspace: &Workspace, blobs: &BlobStore) -> Result<Vec<FileChange>, RevertError> {
        let mut steps = Vec::new();
        let mut conflicts = Vec::new();
        for file in &self.files {
            self.home.allow(file, workspace)?;
            match self.check_file(file, workspace, blobs) {
                Ok(step) => steps.extend(step),
                Err(why) => conflicts.push(Conflict { path: file.path.clone(), why }),
            }
        }
        match conflicts.is_empty() {
            true => Ok(steps),
            false => Err(RevertError::Conflicts { files: conflicts, back: self.turn().is_some() }),
        }
    }

    fn check_file(
        &self,
        file: &FileChange,
        workspace: &Workspace,
        blobs: &BlobStore,
    ) -> Result<Option<FileChange>, Why> {
        let target = target(&file.path, workspace).ok_or(Why::ChangedSince)?;
        let now = match state(workspace, &target) {
            Ok(now) => now,
            Err(FileError::Io { .. }) => return Err(Why::Unreadable),
            Err(_) => return Err(Why::ChangedSince),
        };
        // Somebody put it back already, maybe with a mode of his own, or an earlier try was cut off.
        let only_mode = FileState::same_content(file.before.as_ref(), file.after.as_ref());
        let is_back = FileState::same_content(now.as_ref(), file.after.as_ref());
        if now == file.after || (is_back && !only_mode) {
            return Ok(None);
        }
        if !FileState::same_content(now.as_ref(), file.before.as_ref()) {
            return Err(Why::ChangedSince);
        }
        if self.interleaved.contains(&file.path) {
            return Err(Why::ChangedBetween);
        }
        if let Some(after) = &file.after {
            let hash = after.sha256.as_deref().ok_or(Why::NotKept)?;
            blobs.get(hash).map_err(|_| Why::NotKept)?;
        }
        Ok(Some(FileChange { before: now, ..file.clone() }))
    }

    /// Does it, or nothing of it. The event tells, and saves, what was done.
    pub fn carry_out(&self, workspace: &Workspace, blobs: &BlobStore) -> Result<Event, RevertError> {
        let paths = self.files.iter().map(|file| file.path.clone());
        let _guard = workspace.lock_paths(paths, &|| false).map_err(busy)?;
        let files = self.steps(workspace, blobs)?;
        for (done, step) in files.iter().enumerate() {
            let Err(why) = walk(step, workspace, blobs) else { continue };
            for step in files[..done].iter().rev() {
                // There is nobody left to turn to if going back fails too.
                let _ = walk(&step.clone().inverse(), workspace, blobs);
            }
            return Err(RevertError::Failed { path: step.path.clone(), why });
        }
        let passing = self.passing.iter().filter(|file| self.home.allow(file, workspace).is_ok());
        remove_folders(self.files.iter().chain(passing));
        Ok(self.event(files))
    }
}

fn busy(error: PathLockError) -> RevertError {
    let path = match error {
        PathLockError::Busy(path) => path,
        PathLockError::Interrupted => PathBuf::new(),
    };
    RevertError::Failed { path, why: "another zdx is changing it; try again".to_owned() }
}

/// Folders that came with files which are gone now go too, unless something else lies in them.
fn remove_folders<'a>(files: impl Iterator<Item = &'a FileChange>) {
    let gone = files.filter(|file| file.after.is_none());
    let folders: BTreeSet<&Path> = gone.flat_map(FileChange::own_folders).collect();
    // A folder sorts before what lies in it.
    for folder in folders.into_iter().rev() {
        let _ = std::fs::remove_dir(folder);
    }
}

/// The file a record names, unless a link now leads elsewhere.
pub(super) fn target(path: &Path, workspace: &Workspace) -> Option<Target> {
    workspace.locate(path).ok().filter(|target| target.path == path)
}

/// The state of a file of any size. One too long to be told apart is like no other.
pub(super) fn state(workspace: &Workspace, target: &Target) -> Result<Option<FileState>, FileError> {
    let opened = match workspace.open_file(target) {
        Ok(opened) => opened,
        Err(FileError::Missing(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let failed = |source| FileError::Io { path: target.path.clone(), source };
    let mode = opened.file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    Ok(Some(FileState {
        sha256: ContentHash::read(opened.file).map_err(failed)?.map(ContentHash::to_hex),
        mode,
        access: workspace.access(target),
    }))
}

/// The content of a file; None where there is no file.
pub(super) fn read(workspace: &Workspace, target: &Target) -> Result<Option<Vec<u8>>, FileError> {
    match workspace.read_file(target, MOST) {
        Ok(content) => Ok(Some(content)),
        Err(FileError::Missing(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// One file from one state to the other. What is there now is kept first: that is the way back.
fn walk(step: &FileChange, workspace: &Workspace, blobs: &BlobStore) -> Result<(), String> {
    let in_words = |error: FileError| error.to_string();
    let target = target(&step.path, workspace).ok_or("its folder is now a link")?;
    let now = read(workspace, &target).map_err(in_words)?;
    if ContentVersion::of_state(step.before.as_ref()) != Some(ContentVersion::of(now.as_deref())) {
        return Err("it was changed just now".to_owned());
    }
    if let Some(content) = &now {
        blobs.put(content).map_err(|error| kept(&error))?;
    }
    // Right before it is replaced once more: others than zdx know no lock.
    let still = || {
        let now = state(workspace, &target)?;
        Ok(FileState::same_content(now.as_ref(), step.before.as_ref()))
    };
    match &step.after {
        Some(after) => {
            let content = blobs.get(after.sha256.as_deref().unwrap_or_default());
            let content = content.map_err(|error| kept(&error))?;
            let staged = workspace.stage_state(&target, &content, after);
            staged.and_then(|staged| staged.commit_if(still)).map(drop).map_err(in_words)
        }
        None => workspace.set_aside_if(&target, still).map(|aside| aside.discard()).map_err(in_words),
    }
}

fn kept(error: &io::Error) -> String {
    format!("its content beside the session: {error}")
}
