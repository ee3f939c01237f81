//! What the user sent becomes work: a prompt with what it mentions, a command, another agent.
//! One place for all front ends; `mentions` parses, this decides what happens.
//! (The field says input handling, prompt preprocessing.)

use std::sync::Arc;

use zdx_protocol::display::format::count;
use zdx_protocol::{ErrorKind, Event, NoticeLevel, Outcome, Prompt, TurnSummary, Usage};

use super::Engine;
use crate::context::mentions::{self, Attached, Input, Mention};
use crate::library::Expanded;

/// What is left to do for a turn.
pub(crate) enum Work {
    Prompt(Prompt),
    /// `!command`, with what was typed.
    Shell {
        typed: String,
        command: String,
    },
    /// A slash command of the user's or the project's, whose own commands have yet to run.
    Slash {
        expanded: Expanded,
        /// What came on stdin, behind it all.
        data: String,
    },
    /// The conversation becomes a summary now.
    Compact,
    /// Nothing: it was a setting, or a mistake that has been told.
    Done(TurnSummary),
}

impl Engine {
    pub(crate) async fn take_in(&mut self, prompt: Prompt) -> Work {
        let input = match mentions::parse(prompt.typed()) {
            // Whoever filled the pipe need not be who runs zdx: what came in that way is no command of his.
            Ok(Input::Empty) if !prompt.data().is_empty() => {
                Input::Prompt { text: String::new(), mentions: Vec::new() }
            }
            Ok(input) => input,
            Err(error) => return self.refuse(error.to_string()).await,
        };
        match input {
            Input::Empty => self.refuse("there is nothing to send; type a prompt".to_owned()).await,
            Input::Shell(command) => {
                if !prompt.data().is_empty() {
                    let message = "commands get nothing from stdin: what came there was left out".to_owned();
                    self.emit.notice(NoticeLevel::Warning, message).await;
                }
                Work::Shell { typed: prompt.typed().to_owned(), command }
            }
            Input::Agent(name) => {
                let outcome = if self.work_as(&name).await { Outcome::Completed } else { Outcome::Error };
                Work::Done(empty_summary(outcome))
            }
            Input::Command { name, args } => self.slash(prompt, &name, &args).await,
            Input::Prompt { mut mentions, .. } => {
                mentions.extend(mentions::mentions_in_data(prompt.data()));
                self.attach(&mentions).await;
                Work::Prompt(prompt)
            }
        }
    }

    /// A command that nobody defined is a prompt: whether it is a slip, a front end that people type into knows.
    async fn slash(&mut self, prompt: Prompt, name: &str, args: &str) -> Work {
        let Some(command) = self.queries.commands.get(name) else { return Work::Prompt(prompt) };
        let expanded = match command.expand(args) {
            Ok(expanded) => expanded,
            Err(error) => return self.refuse(error.to_string()).await,
        };
        if expanded.withheld > 0 {
            let commands = count(expanded.withheld, "command");
            let stay = if expanded.withheld == 1 { "it stays" } else { "they stay" };
            let message = format!(
                "/{name} wants to run {commands} of this project, which is not trusted: {stay} text (`zdx trust`)"
            );
            self.emit.notice(NoticeLevel::Warning, message).await;
        }
        if let Some(agent) = expanded.agent.clone() {
            self.work_as(&agent).await;
        }
        if let Some(model) = expanded.model.clone()
            && let Err(why) = self.set_model(&model).await
        {
            self.complain(why).await;
        }
        self.attach(&expanded.mentions()).await;
        Work::Slash { expanded, data: prompt.data().to_owned() }
    }

    /// Files go before the prompt; what cannot be read is told and left out.
    async fn attach(&mut self, mentions: &[Mention]) {
        if mentions.is_empty() {
            return;
        }
        let (mentions, workspace) = (mentions.to_vec(), Arc::clone(&self.calls.tools.workspace));
        let work = tokio::task::spawn_blocking(move || mentions::attach(&mentions, &workspace));
        let Attached { attachments, agent, notices, .. } = work.await.unwrap_or_default();
        for notice in notices {
            self.emit.notice(NoticeLevel::Warning, notice).await;
        }
        if let Some(agent) = agent {
            self.work_as(&agent).await;
        }
        for attachment in attachments {
            self.emit.emit(Event::Attached { label: attachment.label, text: attachment.text }).await;
        }
    }

    /// False when there is no such agent; the user has been told.
    async fn work_as(&mut self, agent: &str) -> bool {
        let changed = self.set_agent(agent).await;
        match changed {
            Ok(()) => true,
            Err(why) => {
                self.complain(why).await;
                false
            }
        }
    }

    async fn refuse(&mut self, message: String) -> Work {
        self.complain(message).await;
        Work::Done(empty_summary(Outcome::Error))
    }

    async fn complain(&self, message: String) {
        let event = Event::Error { command: None, kind: ErrorKind::Config, message, details: None };
        self.emit.emit(event).await;
    }
}

pub(super) fn empty_summary(outcome: Outcome) -> TurnSummary {
    TurnSummary { outcome, text: String::new(), usage: Usage::default(), denied: 0, duration_ms: 0 }
}
