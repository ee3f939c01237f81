//! What a line that a person sent leads to.

use zdx_protocol::prompt_history::LONGEST;
use zdx_protocol::slash::{Clip, Line, LocalAction, SlashAction, parse};
use zdx_protocol::{CheckChoice, Command, Query};

use super::{Choice, Effect, Left, Purpose, State, ask};
use crate::composer::Draft;

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
        let mut effects = self.follow(draft);
        // A line that leaves is not kept.
        let leaves = effects.iter().any(|effect| matches!(effect, Effect::Leave(_)));
        if text.len() <= LONGEST && !leaves {
            effects.insert(0, Effect::Send(Purpose::Remember, Command::Remember { line: text }));
        }
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
            Line::Slash(action) => self.slash(draft, action),
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

    fn slash(&mut self, draft: Draft, action: SlashAction) -> Vec<Effect> {
        let waits =
            matches!(&action, SlashAction::Send(Command::Revert { .. } | Command::Redo)) && self.is_busy();
        if answers_below(&action) && !waits {
            self.conversation.typed(draft.text());
        }
        match action {
            SlashAction::Send(command) => self.send(draft, command),
            SlashAction::Ask(query) => self.ask(query),
            SlashAction::Local(LocalAction::Help) => {
                self.show_help();
                Vec::new()
            }
            SlashAction::Local(LocalAction::Exit) => vec![Effect::Leave(Left::Meant)],
            SlashAction::Local(LocalAction::PickSession) => {
                ask(Purpose::Choose(Choice::Session), Query::Sessions { limit: 0 })
            }
            SlashAction::Local(LocalAction::ShowApprovalMode) => ask(Purpose::Tell, Query::Grants),
            SlashAction::Local(LocalAction::Copy(clip)) => self.copy(clip),
        }
    }

    /// Sends the command of a slash command now, or when nothing runs any more.
    fn send(&mut self, draft: Draft, command: Command) -> Vec<Effect> {
        match command {
            command if command.takes_turn() => self.work(draft, command),
            Command::Open(_) | Command::Trust => self.leave_session(draft.text(), command),
            Command::Revert { .. } | Command::Redo | Command::SetAgent(_) | Command::KeepModel => {
                self.between_turns(draft, Purpose::Do, command)
            }
            Command::SetModel(_) => self.between_turns(draft, Purpose::Switch, command),
            Command::SetApproval(approval) => self.wish_for(approval),
            command => vec![Effect::Send(Purpose::Do, command)],
        }
    }

    fn ask(&mut self, query: Query) -> Vec<Effect> {
        match query {
            Query::Summary | Query::Handoff { .. } => self.ask_model(query),
            Query::Models => ask(Purpose::Choose(Choice::Model), query),
            Query::Agents => ask(Purpose::Choose(Choice::Agent), query),
            query => ask(Purpose::Tell, query),
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

/// Whether the answer is shown in the conversation, so that the command line belongs above it.
fn answers_below(action: &SlashAction) -> bool {
    match action {
        SlashAction::Send(command) => matches!(
            command,
            Command::Export { .. }
                | Command::Revert { .. }
                | Command::Redo
                | Command::AddFolder { .. }
                | Command::Revoke { .. }
                | Command::Check(None | Some(CheckChoice::Always | CheckChoice::Never))
        ),
        // Settings come on a page, models and agents in a list to choose from.
        SlashAction::Ask(query) => !matches!(query, Query::Config | Query::Models | Query::Agents),
        SlashAction::Local(action) => *action == LocalAction::ShowApprovalMode,
    }
}
