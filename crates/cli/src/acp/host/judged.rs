//! May the agent? First the table of the command line, then the guard, for whom nobody is there to be asked: what it would
//! ask or have confirmed is refused. The one place where both meet, for files, terminals and permissions alike.

use std::path::{Path, PathBuf};

use zdx_guard::{PolicyContext, judge, weigh};
use zdx_protocol::facts::{READ, WRITE};
use zdx_protocol::{Action, Approval, Level, Origin, ReasonCode, Target, Verdict};
use zdx_workspace::Workspace;

/// How far the agent may go: none of the flags, `--write` or `--yolo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Default,
    Write,
    /// Reads anywhere; writes stay in the workspace.
    Yolo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    Write,
}

pub(super) struct Judged {
    pub(super) workspace: Workspace,
    reach: Reach,
    policy: PolicyContext,
}

/// Why not, in words for the agent and for who reads along.
pub(super) type Refusal = String;

impl Judged {
    pub(super) fn new(workspace: Workspace, reach: Reach, policy: PolicyContext) -> Self {
        // With this preset only floors and written denials are left, which is what stands behind the table.
        let policy = PolicyContext {
            root: workspace.root().to_owned(),
            approval: Approval::Yolo,
            person: true,
            allow_dangerous: false,
            ..policy
        };
        Self { workspace, reach, policy }
    }

    pub(super) fn files(&self, touch: Touch, targets: Vec<Target>) -> Result<(), Refusal> {
        if targets.is_empty() {
            // All that is known is what kind of thing it is.
            return self.table(touch, true).map_err(str::to_owned);
        }
        for target in &targets {
            let near = target.inside || self.policy.is_added(&target.path);
            self.table(touch, near).map_err(|why| format!("{}: {why}", target.path.display()))?;
        }
        self.guarded(&match touch {
            Touch::Read => Action::Read { tool: READ.permission.key.to_owned(), targets },
            Touch::Write => Action::Write { tool: WRITE.permission.key.to_owned(), targets },
        })
    }

    pub(super) fn command(&self, command: &str, cwd: PathBuf) -> Result<(), Refusal> {
        self.guarded(&Action::Command { command: command.to_owned(), cwd, origin: Origin::Model })
    }

    /// The same for what may be no command at all: nothing where no shell could read it.
    pub(super) fn perhaps_command(&self, line: &str, cwd: &Path) -> Option<Result<(), Refusal>> {
        let (command, cwd) = (line.to_owned(), cwd.to_owned());
        let weighed = weigh(&Action::Command { command, cwd, origin: Origin::Model }, &self.policy);
        let mut against = weighed.parts.iter().filter(|part| part.verdict != Level::Allow).peekable();
        let unread = against.peek().is_some() && against.all(|part| part.code == ReasonCode::Unreadable);
        (!unread).then(|| refusal(weighed.verdict))
    }

    /// The seed's table; what is neither a read nor a write is allowed by it.
    fn table(&self, touch: Touch, inside: bool) -> Result<(), &'static str> {
        match (touch, inside, self.reach) {
            (Touch::Read, true, _) | (Touch::Read, false, Reach::Yolo) => Ok(()),
            (Touch::Write, true, Reach::Write | Reach::Yolo) => Ok(()),
            (Touch::Read, false, Reach::Default | Reach::Write) => {
                Err("it lies outside the workspace, and only --yolo lets an agent read there")
            }
            (Touch::Write, true, Reach::Default) => Err("writing needs --write"),
            (Touch::Write, false, _) => Err("it lies outside the workspace, where no agent writes"),
        }
    }

    /// A call whose input is not understood may do anything.
    pub(super) fn unknown_input(&self) -> Result<(), Refusal> {
        self.anything("its input holds what zdx does not understand, and only --yolo lets that pass")
    }

    /// Title and kind can say one thing and the call do another.
    pub(super) fn title_alone(&self) -> Result<(), Refusal> {
        self.anything("only its title and kind say what it does, and only --yolo lets that pass")
    }

    /// Also passes for a user who lets the agent do anything.
    fn anything(&self, refusal: &str) -> Result<(), Refusal> {
        match self.reach {
            Reach::Yolo => Ok(()),
            Reach::Default | Reach::Write => Err(refusal.to_owned()),
        }
    }

    fn guarded(&self, action: &Action) -> Result<(), Refusal> {
        refusal(judge(action, &self.policy))
    }

    /// Where a program may begin: a folder of the workspace.
    pub(super) fn folder(&self, named: Option<&str>) -> Result<PathBuf, Refusal> {
        let root = self.workspace.root();
        let Some(named) = named else { return Ok(root.to_owned()) };
        let target = self.workspace.resolve(named).map_err(|error| error.to_string())?;
        match (target.inside, target.path.is_dir()) {
            (true, true) => Ok(target.path),
            (true, false) => Err(format!("{} is no folder", target.path.display())),
            (false, _) => Err(format!("{} lies outside the workspace", target.path.display())),
        }
    }

    pub(super) fn root(&self) -> &Path {
        self.workspace.root()
    }
}

fn refusal(verdict: Verdict) -> Result<(), Refusal> {
    match verdict {
        Verdict::Allow => Ok(()),
        // The guard's own way out are options that this command does not have.
        Verdict::Ask(why) | Verdict::Confirm(why) => {
            Err(format!("{}; a person would have to confirm it, and nobody is asked here", why.message))
        }
        Verdict::Deny(why) => Err(why.message),
    }
}
