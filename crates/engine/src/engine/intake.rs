//! What the user sent becomes work: a prompt with what it mentions, a command, another agent.
//! One place for all front ends; `mentions` parses, this decides what happens.
//! (The field says input handling, prompt preprocessing.)

use std::sync::Arc;

use zdx_protocol::display::format::{count, size as bytes};
use zdx_protocol::{
    AttachedContent, Content, ContentOrigin, ErrorKind, Event, IncomingImage, NoticeLevel, Outcome, Prompt,
};

use super::Engine;
use crate::context::input::{self, Fitted, Keep};
use crate::context::mentions::{Attached, Attachment, attach};
use zdx_config::library::ExpandedCommand;
use zdx_mcp::{RequestedPrompt, ServerTask};
use zdx_protocol::mentions::{self, Mention, MentionForm, MentionTarget, TypedInput};
use zdx_workspace::spill;

/// How long one text of a turn may be.
#[derive(Clone, Copy)]
struct Cut {
    most: usize,
    turn: u32,
}

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
        expanded: ExpandedCommand,
        /// What came on stdin, behind it all.
        data: String,
    },
    /// A prompt, and what of servers it mentions, which has yet to be read.
    Mentioning {
        prompt: Prompt,
        resources: Vec<(Arc<ServerTask>, String)>,
    },
    /// A prompt of a server, which has yet to be asked for.
    Prompted {
        prompted: RequestedPrompt,
        /// What came on stdin, behind it.
        data: String,
    },
    /// The conversation becomes a summary now.
    Compact,
    /// The check runs now, and the model repairs what it finds.
    Check,
    /// Nothing: it was a setting, or a mistake that has been told.
    Done(Outcome),
}

impl Engine {
    pub(crate) async fn take_in(&mut self, prompt: Prompt) -> Work {
        let input = match mentions::parse(prompt.typed()) {
            // Whoever filled the pipe need not be who runs zdx: what came in that way is no command of his.
            Ok(TypedInput::Empty) if !prompt.data().is_empty() || !prompt.images.is_empty() => {
                TypedInput::Prompt { text: String::new(), mentions: Vec::new() }
            }
            Ok(input) => input,
            Err(error) => return self.refuse(error.to_string()).await,
        };
        match input {
            TypedInput::Empty => self.refuse("there is nothing to send; type a prompt".to_owned()).await,
            TypedInput::Shell(command) => {
                if !prompt.data().is_empty() {
                    let message = "commands get nothing from stdin: what came there was left out".to_owned();
                    self.session.events.notice(NoticeLevel::Warning, message).await;
                }
                if only_changes_folder(&command) {
                    let message = format!(
                        "cd does nothing by itself: each command starts in {}; use it as in !cd DIR && make",
                        self.session.root().display()
                    );
                    self.session.events.notice(NoticeLevel::Info, message).await;
                    return Work::Done(Outcome::Completed);
                }
                Work::Shell { typed: prompt.typed().to_owned(), command }
            }
            TypedInput::Agent(name) => {
                let outcome = if self.work_as(&name).await { Outcome::Completed } else { Outcome::Error };
                Work::Done(outcome)
            }
            TypedInput::Command { name, args } => self.slash(prompt, &name, &args).await,
            TypedInput::Prompt { mentions, .. } => {
                let (resources, mentions) = self.resources(mentions);
                let prompt = self.bring_in(&mentions, prompt).await;
                match resources.is_empty() {
                    true => Work::Prompt(prompt),
                    false => Work::Mentioning { prompt, resources },
                }
            }
        }
    }

    /// What of a prompt's mentions are resources of servers, and what is left.
    fn resources(&self, mentions: Vec<Mention>) -> (Vec<(Arc<ServerTask>, String)>, Vec<Mention>) {
        let servers = &self.session.spec.servers;
        let (mut resources, mut rest) = (Vec::new(), Vec::new());
        for mention in mentions {
            let named = match &mention.what {
                MentionTarget::Path { path, form: MentionForm::Bare } => servers.mentioned(path),
                MentionTarget::Path { form: MentionForm::Named | MentionForm::Dropped, .. }
                | MentionTarget::Link(_)
                | MentionTarget::Agent(_) => None,
            };
            match named {
                Some((server, uri)) => resources.push((server, mentions::trimmed(&uri).to_owned())),
                None => rest.push(mention),
            }
        }
        (resources, rest)
    }

    /// A command that nobody defined is a prompt: whether it is a slip, a front end that people type into knows.
    async fn slash(&mut self, prompt: Prompt, name: &str, args: &str) -> Work {
        let Some(command) = self.session.spec.commands.get(name) else {
            return match self.session.spec.servers.prompted(name, args) {
                Some(Ok(prompted)) => Work::Prompted { prompted, data: prompt.data().to_owned() },
                Some(Err(why)) => self.refuse(why).await,
                None => Work::Prompt(prompt),
            };
        };
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
            self.session.events.notice(NoticeLevel::Warning, message).await;
        }
        if let Some(agent) = expanded.agent.clone() {
            self.work_as(&agent).await;
        }
        if let Some(model) = expanded.model.clone()
            && let Err(why) = self.set_model(&model).await
        {
            self.complain(why).await;
        }
        let data = Prompt { images: prompt.images.clone(), ..Prompt::with_data("", prompt.data()) };
        let data = self.bring_in(&expanded.mentions(), data).await;
        Work::Slash { expanded, data: data.text }
    }

    /// Files go before the prompt; what cannot be read is told and left out. All of it together is made to fit.
    async fn bring_in(&mut self, mentions: &[Mention], prompt: Prompt) -> Prompt {
        let (mentions, workspace) = (mentions.to_vec(), Arc::clone(self.session.workspace()));
        let attached = match mentions.is_empty() {
            true => Attached::default(),
            false => {
                let images = Arc::clone(&self.session.state.tools.content);
                let work = tokio::task::spawn_blocking(move || attach(&mentions, &workspace, &images));
                work.await.unwrap_or_default()
            }
        };
        for notice in &attached.notices {
            self.session.events.notice(NoticeLevel::Warning, notice.clone()).await;
        }
        if let Some(agent) = &attached.agent {
            self.work_as(agent).await;
        }
        let incoming = self.keep_images(&prompt.images).await;
        let (prompt, attachments) = self.fitted(prompt, attached.attachments).await;
        for content in attachments.into_iter().map(|attachment| attachment.content).chain(incoming) {
            self.session.events.emit(Event::Attached(AttachedContent::new(content))).await;
        }
        prompt
    }

    /// Takes in the images that came with a prompt; those that cannot be used are told and left out.
    async fn keep_images(&self, images: &[IncomingImage]) -> Vec<Content> {
        let mut kept = Vec::new();
        for image in images {
            let (store, incoming) = (Arc::clone(&self.session.state.tools.content), image.clone());
            let add = move || store.add_image(&incoming.bytes, &incoming.name, ContentOrigin::Client);
            let work = tokio::task::spawn_blocking(add);
            match work.await {
                Ok(Ok(image)) => kept.push(Content::Image(Box::new(image))),
                Ok(Err(error)) => {
                    let message = format!("{}: not attached: {error}", image.name);
                    self.session.events.notice(NoticeLevel::Warning, message).await;
                }
                Err(_) => {}
            }
        }
        kept
    }

    /// What is too long for the model to keep is cut, fairly and with a word.
    async fn fitted(&self, prompt: Prompt, mut attachments: Vec<Attachment>) -> (Prompt, Vec<Attachment>) {
        let (size, turn) = {
            let transcript = self.session.events.transcript();
            (transcript.size(), transcript.turns + 1)
        };
        let files = attachments.iter().map(|attachment| attachment.content.as_text().map_or(0, str::len));
        let lengths: Vec<usize> =
            [prompt.typed().len(), prompt.data().len()].into_iter().chain(files).collect();
        let room = self.backend.info().context.input_bytes(size).unwrap_or(usize::MAX);
        if lengths.iter().sum::<usize>() <= room {
            return (prompt, attachments);
        }
        let most = input::longest(&lengths, room);
        let cut = Cut { most, turn };
        let typed = self.cut(prompt.typed(), "the prompt", None, cut).await;
        let data = self.cut(prompt.data(), "what came on stdin", None, cut).await;
        for Attachment { label, content, path } in &mut attachments {
            if let Some(text) = content.text_mut() {
                *text = self.cut(text, &format!("@{label}"), Some(path), cut).await;
            }
        }
        (Prompt::with_data(&typed, &data), attachments)
    }

    async fn cut(&self, text: &str, what: &str, path: Option<&str>, Cut { most, turn }: Cut) -> String {
        if text.len() <= most {
            return text.to_owned();
        }
        // What is written beside the session is masked like the session.
        let masked = self.session.events.redactor().redact(text);
        let name = spill::name(&format!("turn-{turn}"), "input");
        let folder = self.session.state.tools.shell.spill();
        let Fitted { text: kept, file } =
            input::fit(&masked, most, Keep { folder, name: &name, source: path });
        let whole = match (file, path) {
            (Some(file), _) => format!("; the whole is in {}", file.display()),
            (None, Some(_)) => "; the model can read the rest of the file".to_owned(),
            (None, None) if folder.is_some() => "; the rest is left out and could not be kept".to_owned(),
            (None, None) => "; the rest is left out, since the session keeps no files".to_owned(),
        };
        let (left, all) = (bytes(kept.len() as u64), bytes(text.len() as u64));
        let message =
            format!("{what} is too long for the model: {left} of {all} stay, beginning and end{whole}");
        self.session.events.notice(NoticeLevel::Warning, message).await;
        kept
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
        Work::Done(Outcome::Error)
    }

    async fn complain(&self, message: String) {
        let event = Event::Error { command: None, kind: ErrorKind::Config, message, details: None };
        self.session.events.emit(event).await;
    }
}

/// `cd`, with nothing behind it that would find itself in another folder.
fn only_changes_folder(command: &str) -> bool {
    command.split_whitespace().next() == Some("cd") && !command.contains(['&', ';', '|', '\n'])
}
