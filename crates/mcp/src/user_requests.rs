//! What else servers have, for the user alone: prompts, which are commands (`/mcp__server__prompt words`), and resources,
//! which are mentioned (`@server:uri`). No model reaches either by itself.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::Role;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use zdx_protocol::query::Named;
use zdx_protocol::{Content, ResourceRef};

use super::link::{CallFault, CallOptions};
use super::listing::{ListedPrompt, ListedResource};
use super::names;
use super::result::{self, ImageKeeper};
use super::server_task::ServerTask;
use super::servers::ServerSet;
use zdx_workspace::ContentStore;
use zdx_workspace::text::first;

/// What is taken of one resource or prompt, as of a file.
const LARGEST: usize = 64 << 10;

/// A prompt that the user asked for, with what he typed behind it.
pub struct RequestedPrompt {
    server: Arc<ServerTask>,
    info: ListedPrompt,
    arguments: Map<String, Value>,
}

impl ServerSet {
    /// Every prompt that is known of, by the name that is typed.
    fn all_prompts(&self) -> Vec<(String, Arc<ServerTask>, ListedPrompt)> {
        let mut all = Vec::new();
        for server in self.list() {
            let mut taken = HashSet::new();
            let listing = server.now().listing;
            for info in listing.iter().flat_map(|listing| &listing.prompts) {
                let name = names::full(&server.id, &names::tool(&server.id, &info.name, &mut taken));
                all.push((name, Arc::clone(server), info.clone()));
            }
        }
        all
    }

    /// For lists and completion.
    pub fn prompts(&self) -> Vec<Named> {
        let named = |(name, _, info): (String, _, ListedPrompt)| {
            let wanted: Vec<String> = info.arguments.iter().map(|(name, must)| usage(name, *must)).collect();
            let about = [info.description.trim(), &wanted.join(" ")].join(" ");
            Named { name, description: about.trim().to_owned() }
        };
        self.all_prompts().into_iter().map(named).collect()
    }

    /// The prompt that a command means, with its arguments; nothing when it means none, an error when something is missing.
    pub fn prompted(&self, command: &str, words: &str) -> Option<Result<RequestedPrompt, String>> {
        let (_, server, info) = self.all_prompts().into_iter().find(|(name, ..)| name == command)?;
        Some(match arguments(&info, words) {
            Ok(arguments) => Ok(RequestedPrompt { server, info, arguments }),
            Err(missing) => {
                let wanted: Vec<String> =
                    info.arguments.iter().map(|(name, must)| usage(name, *must)).collect();
                Err(format!("/{command} needs {missing}: /{command} {}", wanted.join(" ")))
            }
        })
    }

    /// `server:uri`, of all that is known, each with what it is.
    pub fn resources(&self) -> Vec<(String, String)> {
        let of = |server: &Arc<ServerTask>| {
            let listing = server.now().listing;
            let all = listing.iter().flat_map(|listing| &listing.resources);
            let named = |info: &ListedResource| (format!("{}:{}", server.id, info.uri), info.name.clone());
            all.map(named).collect::<Vec<_>>()
        };
        self.list().iter().flat_map(of).collect()
    }

    /// The server and the resource that a mention means, if it names a server.
    pub fn mentioned(&self, written: &str) -> Option<(Arc<ServerTask>, String)> {
        let (name, uri) = written.split_once(':')?;
        let server = self.named(name).filter(|_| !uri.is_empty())?;
        Some((Arc::clone(server), uri.to_owned()))
    }
}

/// `NAME`, or `[NAME]` where it may be left out.
fn usage(name: &str, must: bool) -> String {
    let name = name.to_uppercase();
    if must { name } else { format!("[{name}]") }
}

/// Word by word in the order of the prompt's own, `name=value` by name; the last takes all that is left. What is missing.
fn arguments(info: &ListedPrompt, words: &str) -> Result<Map<String, Value>, String> {
    let mut given = Map::new();
    let mut rest = words.trim();
    let mut left: Vec<&str> = info.arguments.iter().map(|(name, _)| name.as_str()).collect();
    while !rest.is_empty() && !left.is_empty() {
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| left.contains(name)) {
            given.insert(name.to_owned(), json!(value));
            left.retain(|other| *other != name);
        } else if let [last] = left.as_slice() {
            given.insert((*last).to_owned(), json!(rest));
            break;
        } else {
            given.insert(left.remove(0).to_owned(), json!(word));
        }
        rest = behind.trim_start();
    }
    let missing = info.arguments.iter().find(|(name, must)| *must && !given.contains_key(name));
    missing.map_or(Ok(given), |(name, _)| Err(name.to_uppercase()))
}

impl RequestedPrompt {
    /// What the server makes of it; nothing when the user has had enough of waiting.
    pub async fn text(self, cancel: &CancellationToken) -> Option<Result<String, String>> {
        let Self { server, info, arguments } = self;
        let carried = carried(&server, cancel);
        let asked = async {
            let link = server.link().await?;
            let said =
                link.prompt(&info.name, arguments, carried).await.map_err(|fault| words(&server, fault))?;
            let message = |message: rmcp::model::PromptMessage| {
                let text = result::text(std::slice::from_ref(&message.content), None);
                match message.role {
                    Role::Assistant => format!("(as the assistant:)\n{text}"),
                    _ => text,
                }
            };
            let text: Vec<String> = said.messages.into_iter().map(message).collect();
            Ok(bounded(text.join("\n\n")))
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            text = asked => Some(text),
        }
    }
}

/// A resource as it is put before a prompt; nothing when the user has had enough of waiting.
pub async fn read(
    server: &Arc<ServerTask>,
    uri: &str,
    store: &ContentStore,
    cancel: &CancellationToken,
) -> Option<Result<Vec<Content>, String>> {
    let asked = async {
        let link = server.link().await?;
        let read = link.resource(uri, carried(server, cancel)).await.map_err(|fault| words(server, fault))?;
        let name = format!("{}:{uri}", server.id);
        let mut kept = ImageKeeper::new(store, &name);
        let texts: Vec<String> =
            read.contents.iter().map(|part| result::resource(part, Some(&mut kept))).collect();
        let text = ResourceRef::new(&server.id, uri, &bounded(texts.join("\n")));
        let mut content = vec![Content::Resource(Box::new(text))];
        content.extend(kept.images.into_iter().map(|image| Content::Image(Box::new(image))));
        Ok(content)
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        read = asked => Some(read),
    }
}

fn bounded(text: String) -> String {
    match text.len() > LARGEST {
        true => format!("{}\n[cut: {LARGEST} of {} bytes]", first(&text, LARGEST), text.len()),
        false => text,
    }
}

fn carried(server: &ServerTask, cancel: &CancellationToken) -> CallOptions {
    CallOptions { cancel: cancel.clone(), timeout: Some(server.entry.timeout), progress: None }
}

fn words(server: &ServerTask, fault: CallFault) -> String {
    match fault {
        CallFault::Interrupted => "interrupted".to_owned(),
        CallFault::Timeout => {
            format!("no answer within {} ms (timeout_ms)", server.entry.timeout.as_millis())
        }
        CallFault::Ended => "the server ended meanwhile".to_owned(),
        CallFault::Refused(why) => why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> ListedPrompt {
        let arguments =
            vec![("city".to_owned(), true), ("style".to_owned(), false), ("note".to_owned(), false)];
        ListedPrompt { name: "x".into(), description: String::new(), arguments }
    }

    #[test]
    fn what_a_server_says_is_bounded() {
        assert_eq!(bounded("short".to_owned()), "short");
        let cut = bounded("ü".repeat(LARGEST));
        assert!(
            cut.len() < LARGEST + 64 && cut.ends_with(&format!("[cut: {LARGEST} of {} bytes]", 2 * LARGEST))
        );
    }

    #[test]
    fn words_are_arguments_in_order_or_by_name() {
        let given = |words: &str| arguments(&info(), words).map(Value::Object);
        assert_eq!(given("Rome"), Ok(json!({"city": "Rome"})));
        assert_eq!(
            given("Rome plain and long  text"),
            Ok(json!({"city": "Rome", "style": "plain", "note": "and long  text"}))
        );
        assert_eq!(given("style=x Rome"), Ok(json!({"style": "x", "city": "Rome"})));
        assert_eq!(given("style=x"), Err("CITY".to_owned()));
        assert_eq!(given("a=b"), Ok(json!({"city": "a=b"})), "no argument has that name");
    }
}
