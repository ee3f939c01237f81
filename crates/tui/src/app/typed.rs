//! What a line that a person sent leads to.

use zdx_protocol::slash::{Clip, Line, Slash, parse};
use zdx_protocol::{Approval, CheckChoice, Command, Query};

use super::{Choice, Effect, Left, Purpose, State, ask};
use crate::composer::Draft;
use crate::history;

/// How many sessions a list has.
const LISTED: usize = 20;

impl State {
    /// What stands in the composer is sent.
    pub(super) fn submit(&mut self) -> Vec<Effect> {
        let draft = self.composer.take_draft();
        self.popup.clear();
        let text = draft.text();
        if text.trim().is_empty() {
            return Vec::new();
        }
        self.composer.file_stash();
        self.composer.sent(&draft);
        let mut effects = Vec::new();
        if text.len() <= history::LONGEST {
            effects.extend(ask(Purpose::Remember, Query::Masked { text }));
        }
        effects.extend(self.follow(draft));
        effects
    }

    pub(super) fn follow(&mut self, draft: Draft) -> Vec<Effect> {
        match parse(&draft.text()) {
            Line::Empty => Vec::new(),
            Line::Prompt(prompt) => self.work(draft, Command::Prompt(prompt.into())),
            Line::Shell(typed) => self.work(draft, Command::Shell(typed)),
            Line::NoCommand => {
                self.complain("nothing to run: a command goes behind the !, as in !git status");
                Vec::new()
            }
            Line::Misused(why) => {
                self.complain(&why);
                Vec::new()
            }
            Line::Slash(slash) => self.slash(draft, slash),
            Line::Custom { name, .. } => ask(Purpose::Custom { name, draft }, Query::Commands),
        }
    }

    /// Begins work, or lets it wait until what runs is over.
    pub(super) fn work(&mut self, draft: Draft, command: Command) -> Vec<Effect> {
        if self.is_busy() {
            self.queue_up(draft);
            return Vec::new();
        }
        self.start(draft, command)
    }

    /// Takes no turn, but must not be done in the middle of one.
    pub(super) fn between_turns(&mut self, draft: Draft, purpose: Purpose, command: Command) -> Vec<Effect> {
        if self.is_busy() {
            self.queue_up(draft);
            return Vec::new();
        }
        vec![Effect::Send(purpose, command)]
    }

    fn slash(&mut self, draft: Draft, slash: Slash) -> Vec<Effect> {
        let waits = matches!(slash, Slash::Revert { .. } | Slash::Redo) && self.is_busy();
        if answers_below(&slash) && !waits {
            self.conversation.typed(draft.text());
        }
        let done = |command| vec![Effect::Send(Purpose::Do, command)];
        match slash {
            Slash::Help => {
                self.show_help();
                Vec::new()
            }
            Slash::Exit => vec![Effect::Leave(Left::Meant)],
            Slash::Copy(what) => self.copy(what),
            Slash::Compact => self.work(draft, Command::Compact),
            Slash::Retry => self.work(draft, Command::Retry),
            Slash::Revert { turn, keep_files } => {
                self.between_turns(draft, Purpose::Do, Command::Revert { turn, keep_files })
            }
            Slash::Redo => self.between_turns(draft, Purpose::Do, Command::Redo),
            Slash::Open(open) => self.leave_session(draft.text(), Command::Open(open)),
            Slash::Trust => self.leave_session(draft.text(), Command::Trust),
            Slash::Model(Some(name)) => self.between_turns(draft, Purpose::Switch, Command::SetModel(name)),
            Slash::Agent(Some(name)) => self.between_turns(draft, Purpose::Do, Command::SetAgent(name)),
            Slash::Approval(Some(Approval::Yolo)) => self.wish_for(Approval::Yolo),
            Slash::Approval(Some(approval)) => done(Command::SetApproval(approval)),
            Slash::Revoke(Some(grant)) => done(Command::Revoke { grant }),
            Slash::Check(Some(CheckChoice::Run)) => self.work(draft, Command::Check(Some(CheckChoice::Run))),
            Slash::Check(choice) => done(Command::Check(choice)),
            Slash::AddDir(Some(path)) => done(Command::AddFolder { path }),
            Slash::AddDir(None) => ask(Purpose::Tell, Query::AddedFolders),
            Slash::Export(path) => done(Command::Export { path }),
            Slash::Resume => ask(Purpose::Choose(Choice::Session), Query::Sessions { limit: 0 }),
            Slash::Model(None) => ask(Purpose::Choose(Choice::Model), Query::Models),
            Slash::Agent(None) => ask(Purpose::Choose(Choice::Agent), Query::Agents),
            Slash::Approval(None) | Slash::Policy | Slash::Revoke(None) => ask(Purpose::Tell, Query::Grants),
            Slash::Todos => ask(Purpose::Tell, Query::Todos),
            Slash::Skills => ask(Purpose::Tell, Query::Skills),
            Slash::Commands => ask(Purpose::Tell, Query::Commands),
            Slash::Mcp => ask(Purpose::Tell, Query::Mcp),
            Slash::Sessions => ask(Purpose::Tell, Query::Sessions { limit: LISTED }),
            Slash::Files => ask(Purpose::Tell, Query::FilesChanged),
            Slash::Config => ask(Purpose::Tell, Query::Config),
            Slash::Context => ask(Purpose::Tell, Query::Context),
            Slash::Summarize => self.ask_model(Query::Summary),
            Slash::Handoff(goal) => self.ask_model(Query::Handoff { goal }),
        }
    }

    /// What stops a turn is done when it is sent twice: it stands in the composer, and Enter is enough.
    pub(super) fn leave_session(&mut self, line: String, command: Command) -> Vec<Effect> {
        if self.is_working() && self.stops_for.as_deref() != Some(line.as_str()) {
            self.composer.set(&line);
            self.stops_for = Some(line);
            return Vec::new();
        }
        self.stops_for = None;
        vec![Effect::Send(Purpose::Open, command)]
    }

    /// A question that a model answers: it takes its time, and can be stopped.
    fn ask_model(&mut self, query: Query) -> Vec<Effect> {
        self.asking += 1;
        self.say("asking the model · Esc stops it");
        ask(Purpose::Draft, query)
    }

    fn copy(&mut self, what: Clip) -> Vec<Effect> {
        let (copied, missing) = match what {
            Clip::Answer => (
                self.conversation.last_answer().map(str::to_owned),
                "there is no answer to copy yet".to_owned(),
            ),
            Clip::Code(n) => (
                self.conversation.code_block(n),
                format!("there is no block of code number {n} from the end"),
            ),
        };
        match copied {
            Some(text) => vec![Effect::Copy(text)],
            None => {
                self.complain(&missing);
                Vec::new()
            }
        }
    }
}

/// Whether what it brings stands in the conversation, so that the question belongs above it.
fn answers_below(slash: &Slash) -> bool {
    match slash {
        Slash::Approval(None)
        | Slash::Policy
        | Slash::Todos
        | Slash::Skills
        | Slash::Commands
        | Slash::Mcp
        | Slash::Sessions
        | Slash::Files
        | Slash::Context
        | Slash::Summarize
        | Slash::Handoff(_)
        | Slash::Export(_)
        | Slash::Revert { .. }
        | Slash::Redo
        | Slash::Check(None | Some(CheckChoice::Always | CheckChoice::Never))
        | Slash::AddDir(_)
        | Slash::Revoke(_) => true,
        Slash::Help
        | Slash::Exit
        | Slash::Config
        | Slash::Copy(_)
        | Slash::Check(Some(CheckChoice::Run))
        | Slash::Compact
        | Slash::Retry
        | Slash::Open(_)
        | Slash::Trust
        | Slash::Model(_)
        | Slash::Agent(_)
        | Slash::Approval(Some(_))
        | Slash::Resume => false,
    }
}
