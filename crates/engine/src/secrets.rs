//! Which values must not be written anywhere, and the masking of an event before it is saved.
//! Reads the project's `.env` files as data; nothing in them ever becomes part of our environment.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use zdx_models::{Catalogue, ModelError};
use zdx_protocol::record::ShellEnd;
use zdx_protocol::redact::{MASK, RedactError, Redactor, dotenv_secrets, names_secret_value};
use zdx_protocol::{
    CheckResult, Content, Decision, Event, Message, Part, Preview, Reasoning, Role, ToolOutput,
};

pub(crate) use self::live::LiveMasks;
use zdx_config::Environment;
use zdx_config::{Config, password};
use zdx_workspace::own_files::read_regular;

mod live;

/// What tools of all kinds look for in a folder.
const DOTENV: [&str; 9] = [
    ".env",
    ".env.local",
    ".env.development",
    ".env.development.local",
    ".env.test",
    ".env.production",
    ".env.production.local",
    ".env.staging",
    ".envrc",
];
const LARGEST_DOTENV: usize = 256 << 10;
const MOST_SECRETS: usize = 2_000;
/// A line of a longer secret is a secret too: commands like to print them line by line.
const SHORTEST_LINE: usize = 16;

#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error(transparent)]
    Catalogue(#[from] ModelError),
    #[error(transparent)]
    Redactor(#[from] RedactError),
}

/// Knows the keys of every provider, what else in the environment is called a secret, and the project's `.env` values.
pub fn redactor(config: &Config, env: &Environment, root: &Path) -> Result<Redactor, SecretsError> {
    let configured: BTreeMap<_, _> =
        config.providers.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect();
    let catalogue = Catalogue::with(&configured)?;
    let keys = catalogue.providers().flat_map(|(_, provider)| &provider.api_key_env);
    let mut secrets: Vec<String> = keys.filter_map(|name| env.get(name)).map(str::to_owned).collect();
    // Files hold none; variables may.
    let variables = catalogue.providers().flat_map(|(_, provider)| &provider.base_url_env);
    let urls = variables.filter_map(|name| env.get(name)).chain(config.base_url.as_deref());
    secrets.extend(urls.filter_map(password).map(str::to_owned));
    for (name, value) in env.vars() {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && names_secret_value(name, value)
        {
            secrets.push(value.to_owned());
        }
    }
    // What is written for servers should be `${NAME}`, and is not always; what it stands for may have a harmless name.
    for server in config.mcp.servers.values() {
        let written = ["environment", "env"].iter().filter_map(|key| server[*key].as_object()).flatten();
        let named = written.filter_map(|(name, value)| Some((name, env.filled(value.as_str()?).ok()?)));
        secrets.extend(named.filter(|(name, value)| names_secret_value(name, value)).map(|(_, value)| value));
    }
    for name in DOTENV {
        if let Ok(read) = read_regular(&root.join(name), LARGEST_DOTENV) {
            secrets.extend(dotenv_secrets(&String::from_utf8_lossy(&read.bytes)));
        }
    }
    secrets.truncate(MOST_SECRETS);
    let lines = secrets.iter().filter(|secret| secret.contains('\n')).flat_map(|secret| secret.lines());
    let lines: Vec<String> = lines.filter(|line| line.len() >= SHORTEST_LINE).map(str::to_owned).collect();
    secrets.extend(lines);
    Ok(Redactor::new(secrets)?)
}

/// What masking an event changed.
#[derive(Debug, PartialEq)]
pub(crate) enum Masked {
    Nothing,
    Prompt,
    /// Thinking that its maker signed, as it was: a model accepts it back unchanged or not at all.
    Reasoning(Reasoning),
    Else,
}

/// Masks what will be saved or shown as final. What streams was masked on its way here ([`LiveMasks`]), and a question
/// must show exactly what would run.
pub(crate) fn mask(redactor: &Redactor, event: &mut Event) -> Masked {
    let text = |text: &mut String| match redactor.redact(text) {
        Cow::Borrowed(_) => false,
        Cow::Owned(masked) => {
            *text = masked;
            true
        }
    };
    let changed = match event {
        Event::TurnStarted { prompt, .. } => {
            return if text(prompt) { Masked::Prompt } else { Masked::Nothing };
        }
        Event::ReasoningFinal(reasoning) => {
            let exact = reasoning.clone();
            let opaque = reasoning.opaque.as_mut().is_some_and(|opaque| redactor.redact_value(opaque));
            if text(&mut reasoning.text) || opaque {
                // A signature under a changed text is worth nothing.
                reasoning.opaque = None;
                return Masked::Reasoning(exact);
            }
            false
        }
        Event::AssistantFinal { text: said, .. } => text(said),
        Event::ToolGrew { path, .. } => path.as_mut().is_some_and(text),
        Event::ToolRequested { input, raw, signature, .. } => {
            let raw = raw.as_mut().is_some_and(text);
            // With a hole in it a signature is worth nothing.
            let sealed = signature.as_mut().is_some_and(|sealed| redactor.redact_value(&mut sealed.opaque));
            if sealed {
                *signature = None;
            }
            redactor.redact_value(input) || raw || sealed
        }
        Event::ToolFinished { result, content, diff, .. } => {
            // All of them: counting does not stop at the first.
            let content = content.iter_mut().filter_map(|content| mask_content(content, &text).then_some(())).count() > 0;
            let diff = diff.as_mut().is_some_and(text);
            let result = match result {
                ToolOutput::Ok(data) => redactor.redact_value(data),
                ToolOutput::Err(error) => text(&mut error.message),
            };
            result || content || diff
        }
        // Unlike in a question, nobody has to judge it here.
        Event::ToolStarted { preview, .. } => match preview {
            Preview::Command { command: shown } | Preview::Change { diff: shown, .. } | Preview::Text { text: shown } => {
                text(shown)
            }
            Preview::None => false,
        },
        Event::ApprovalResolved { decision: Decision::Deny { word: Some(word) }, .. } => text(word),
        Event::Retrying { reason, .. } => text(reason),
        Event::Notice { message, .. } => text(message),
        Event::McpChanged(server) => server.error.as_mut().is_some_and(text),
        Event::Error { message, details, .. } => {
            let details = details.as_mut().is_some_and(text);
            text(message) || details
        }
        Event::TurnFinished(summary) => text(&mut summary.text),
        Event::Attached(attached) => {
            let label = text(&mut attached.label);
            mask_content(&mut attached.content, &text) || label
        }
        Event::Reminded { text: said } => text(said),
        Event::ShellFinished { text: said, shell } => {
            let command = text(&mut shell.command);
            let why = match &mut shell.end {
                ShellEnd::NotRun { why, .. } => text(why),
                ShellEnd::Exited { .. }
                | ShellEnd::Signalled { .. }
                | ShellEnd::TimedOut { .. }
                | ShellEnd::Interrupted
                | ShellEnd::Unknown => false,
            };
            text(said) || command || why
        }
        Event::Checked(checked) => {
            let why = match &mut checked.result {
                CheckResult::NotRun { why } => text(why),
                CheckResult::Passed | CheckResult::Failed | CheckResult::GivenUp => false,
            };
            text(&mut checked.command) || why
        }
        // Masked when it was saved; but more may be known for a secret by now.
        Event::Replayed { event } => mask(redactor, event) != Masked::Nothing,
        Event::TodosChanged { items, .. } => {
            // All of them: counting does not stop at the first.
            items.iter_mut().filter_map(|item| text(&mut item.content).then_some(())).count() > 0
        }
        // Names and hashes: a masked one would lead nowhere.
        Event::FileChanged { .. }
        | Event::FileChangeIntended { .. }
        | Event::FileChangeDropped { .. }
        | Event::Reverted { .. }
        | Event::Redone { .. } => false,
        Event::SessionStarted(_)
        | Event::StateChanged { .. }
        | Event::ReasoningDelta { .. }
        | Event::AssistantDelta { .. }
        | Event::ApprovalRequested(_)
        | Event::ApprovalResolved { .. }
        | Event::ToolAnnounced { .. }
        | Event::ToolProgress { .. }
        | Event::ModelChanged { .. }
        | Event::AgentChanged { .. }
        | Event::RemoteSession { .. }
        | Event::ApprovalChanged { .. }
        | Event::ToolsChanged { .. }
        | Event::GrantRevoked { .. }
        | Event::CheckTold(_)
        | Event::FolderAdded { .. }
        | Event::ApprovalWithdrawn { .. }
        | Event::TrustRequested(_)
        | Event::TrustResolved { .. }
        | Event::Exported { .. }
        | Event::Done { .. }
        // Whoever answers masks what may hold a secret: a path or a name must stay one.
        | Event::Reply { .. }
        // Made from what was masked when it was said.
        | Event::Compacted(_)
        | Event::Pruned { .. }
        | Event::InputCut { .. }
        | Event::ContextUsage(_)
        | Event::UsageReported(_)
        | Event::Interrupted => false,
    };
    if changed { Masked::Else } else { Masked::Nothing }
}

/// Masks the words of it; the bytes of an image are out of reach.
fn mask_content(content: &mut Content, mask_text: &impl Fn(&mut String) -> bool) -> bool {
    match content {
        Content::Text(text) => mask_text(text),
        Content::Image(image) => mask_text(&mut image.name),
        Content::File(file) => mask_text(&mut file.text) | mask_text(&mut file.name),
        Content::Resource(resource) => {
            mask_text(&mut resource.text) | mask_text(&mut resource.name) | mask_text(&mut resource.uri)
        }
    }
}

/// Whether a model was shown a mask in place of a secret: what it writes may repeat it.
pub(crate) fn showed_mask(messages: &[Message]) -> bool {
    let shown = |part: &Part| match part {
        // JSON writes the mask as it is. Errors show what a file holds, too.
        Part::ToolResult { output, .. } => output.text().contains(MASK),
        // A prompt, a file that it mentions.
        Part::Content(content) => content.as_text().is_some_and(|text| text.contains(MASK)),
        Part::Reasoning(_) | Part::ToolUse { .. } => false,
    };
    let told = messages.iter().filter(|message| message.role != Role::Assistant);
    told.flat_map(|message| &message.parts).any(shown)
}

#[cfg(test)]
mod tests;
