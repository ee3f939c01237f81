//! What a client's prompt says, as a line that a person typed: a link to a file is a mention of it, what came along with
//! the prompt is data, and one of our slash commands is carried out as in a chat.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zdx_acp::RpcError;
use zdx_protocol::slash::{self, Line, LocalAction, SlashAction};
use zdx_protocol::{Command, IncomingImage, Prompt, Query};

/// What a prompt asks for.
#[derive(Debug, PartialEq)]
pub enum Meant {
    /// Ends with the command.
    Do(Command),
    Say(String),
}

/// Our own commands that make sense where an editor keeps the sessions.
pub const OFFERED: [&str; 17] = [
    "approval",
    "policy",
    "revoke",
    "check",
    "add-dir",
    "config",
    "todo",
    "files",
    "skills",
    "mcp",
    "export",
    "revert",
    "redo",
    "retry",
    "summarize",
    "context",
    "compact",
];

pub fn read(blocks: &Value, root: &Path) -> Result<Meant, RpcError> {
    let Value::Array(blocks) = blocks else { return Err(RpcError::invalid_params("`prompt` is no array")) };
    let (mut typed, mut data, mut images) = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => typed.push_str(super::params::text(block, "text")?),
            Some("resource_link") => link(block, root, &mut typed)?,
            Some("resource") => embedded(&block["resource"], &mut data)?,
            Some("image") => images.push(image(block)?),
            Some("audio") => {
                let why = "audio content cannot be used: it is not among the prompt capabilities";
                return Err(RpcError::invalid_params(why));
            }
            Some(_) | None => {
                return Err(RpcError::invalid_params("a block of `prompt` has no known `type`"));
            }
        }
    }
    if typed.trim().is_empty() && data.is_empty() && images.is_empty() {
        return Err(RpcError::invalid_params("there is nothing in `prompt`"));
    }
    Ok(match slash::parse(&typed) {
        Line::Slash(action) => own(action),
        Line::Misused(why) => Meant::Say(why),
        Line::Empty | Line::Prompt(_) | Line::Shell(_) | Line::NoCommand | Line::Custom { .. } => {
            Meant::Do(Command::Prompt(Prompt { images, ..Prompt::with_data(&typed, &data) }))
        }
    })
}

/// Format and size are the engine's to judge.
fn image(block: &Value) -> Result<IncomingImage, RpcError> {
    let data = super::params::text(block, "data")?;
    let bytes = STANDARD.decode(data.trim()).ok().filter(|bytes| !bytes.is_empty());
    let bytes = bytes.ok_or_else(|| RpcError::invalid_params("`data` of an image is no base64"))?;
    let file = block["uri"].as_str().and_then(|uri| uri.rsplit('/').next()).filter(|name| !name.is_empty());
    Ok(IncomingImage { name: file.unwrap_or("image").to_owned(), bytes: bytes.into() })
}

fn own(action: SlashAction) -> Meant {
    match action {
        // Nobody is asked here: `zdx trust` is.
        SlashAction::Send(Command::Trust) => Meant::Do(Command::Ask(Query::Trust)),
        SlashAction::Local(LocalAction::ShowApprovalMode) => Meant::Do(Command::Ask(Query::Grants)),
        SlashAction::Local(LocalAction::Help) => Meant::Say(help()),
        SlashAction::Send(Command::Open(_))
        | SlashAction::Ask(Query::Sessions { .. })
        | SlashAction::Local(LocalAction::PickSession | LocalAction::Copy(_) | LocalAction::Exit) => {
            Meant::Say("your editor does that itself; `/help` lists what can be done here".to_owned())
        }
        SlashAction::Send(command) => Meant::Do(command),
        SlashAction::Ask(query) => Meant::Do(Command::Ask(query)),
    }
}

fn help() -> String {
    let row = |name: &&str| {
        let command = slash::find(name)?;
        Some(format!("- `/{}{}` {}\n", command.name, command.argument.shown(), command.help))
    };
    OFFERED.iter().filter_map(row).collect()
}

/// A file becomes a mention, so that the rules for those hold; anything else is named and not fetched.
fn link(block: &Value, root: &Path, typed: &mut String) -> Result<(), RpcError> {
    let uri = super::params::text(block, "uri")?;
    if typed.ends_with(|c: char| !c.is_whitespace()) {
        typed.push(' ');
    }
    match mention(uri, root) {
        Some(mention) => typed.push_str(&mention),
        None => {
            let name = block["name"].as_str().unwrap_or(uri);
            typed.push_str(&format!("[{name}]({uri})"));
        }
    }
    typed.push(' ');
    Ok(())
}

fn mention(uri: &str, root: &Path) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, _) = rest.split_once('?').unwrap_or((rest, ""));
    let path = unescaped(rest)?;
    if !path.starts_with('/') || path.contains(['\n', '\r', '\0']) {
        return None;
    }
    let below =
        Path::new(&path).strip_prefix(root).ok().and_then(Path::to_str).filter(|below| !below.is_empty());
    let name = below.unwrap_or(&path).replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("@file:\"{name}{}\"", lines(fragment)))
}

/// Of `L10`, `L10:20` and `L10-L20`, as editors write it: the lines behind a mention.
fn lines(fragment: &str) -> String {
    let number = |text: &str| text.trim_start_matches('L').parse::<u64>().ok();
    let range =
        fragment.strip_prefix('L').map(|range| range.split_once([':', '-']).unwrap_or((range, range)));
    match range.and_then(|(from, to)| Some((number(from)?, number(to)?))) {
        Some((from, to)) if from == to => format!(":{from}"),
        Some((from, to)) => format!(":{from}-{to}"),
        None => String::new(),
    }
}

/// `%20` and the like.
fn unescaped(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, more)) = rest.split_first() {
        rest = more;
        match (byte, more) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                rest = &more[2..];
            }
            (b'%', _) => return None,
            (byte, _) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn embedded(resource: &Value, data: &mut String) -> Result<(), RpcError> {
    let uri = super::params::text(resource, "uri")?;
    let text = resource["text"].as_str().ok_or_else(|| {
        RpcError::invalid_params(format!("{uri}: only embedded text can be used, not binary content"))
    })?;
    if !data.is_empty() {
        data.push_str("\n\n");
    }
    data.push_str(&format!("{uri}\n{}", super::told::fenced(text)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn typed(blocks: Value) -> Prompt {
        match read(&blocks, Path::new("/w")).unwrap() {
            Meant::Do(Command::Prompt(prompt)) => prompt,
            other => panic!("{other:?}"),
        }
    }

    fn linked(uri: &str) -> String {
        typed(json!([{"type": "text", "text": "see"}, {"type": "resource_link", "uri": uri, "name": "n"}]))
            .text
    }

    #[test]
    fn a_link_to_a_file_is_a_mention() {
        assert_eq!(linked("file:///w/src/a%20b.rs"), "see @file:\"src/a b.rs\" ");
        assert_eq!(linked("file:///w/a.rs#L3:7"), "see @file:\"a.rs:3-7\" ");
        assert_eq!(linked("file:///w/a.rs?x=1#L3"), "see @file:\"a.rs:3\" ");
        assert_eq!(linked("file:///etc/x\"y"), "see @file:\"/etc/x\\\"y\" ");
        assert_eq!(linked("https://x/y"), "see [n](https://x/y) ");
        assert_eq!(linked("file:///w/a%0Ab"), "see [n](file:///w/a%0Ab) ");
        assert_eq!(linked("file://host/w/a"), "see [n](file://host/w/a) ");
        assert_eq!(linked("file:///w/%zz"), "see [n](file:///w/%zz) ");
    }

    #[test]
    fn what_is_embedded_is_data_that_triggers_nothing() {
        let prompt = typed(json!([
            {"type": "resource", "resource": {"uri": "file:///w/a", "text": "!rm -rf /\n```\n@b"}},
            {"type": "text", "text": "why?"},
        ]));
        assert_eq!(prompt.typed(), "why?");
        assert_eq!(prompt.data(), "file:///w/a\n````\n!rm -rf /\n```\n@b\n````");
    }

    #[test]
    fn an_image_comes_along_with_the_prompt_or_alone() {
        let image =
            json!({"type": "image", "data": "QUFB", "mimeType": "image/png", "uri": "file:///w/shot.png"});
        let prompt = typed(json!([{"type": "text", "text": "why?"}, image]));
        let expected = IncomingImage { name: "shot.png".into(), bytes: (*b"AAA").into() };
        assert_eq!((prompt.typed(), &prompt.images), ("why?", &vec![expected]));
        assert_eq!(typed(json!([image])).images.len(), 1);
    }

    #[test]
    fn our_commands_are_carried_out_and_others_are_prompts() {
        let meant = |text: &str| read(&json!([{"type": "text", "text": text}]), Path::new("/w")).unwrap();
        assert_eq!(meant("/compact"), Meant::Do(Command::Compact));
        assert_eq!(meant("/add-dir /srv/x"), Meant::Do(Command::AddFolder { path: "/srv/x".into() }));
        assert_eq!(meant("/add-dir"), Meant::Do(Command::Ask(Query::AddedFolders)));
        assert_eq!(meant("/context"), Meant::Do(Command::Ask(Query::Context)));
        assert!(matches!(meant("/approval nonsense"), Meant::Say(_)));
        assert!(matches!(meant("/new"), Meant::Say(_)));
        assert!(matches!(meant("/mine x"), Meant::Do(Command::Prompt(_))));
        let Meant::Say(help) = meant("/help") else { panic!() };
        assert_eq!(help.lines().count(), OFFERED.len());
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for wrong in [
            json!("hello"),
            json!([]),
            json!([{"type": "text", "text": " "}]),
            json!([{"type": "text"}]),
            json!([{"type": "image", "data": "", "mimeType": "image/png"}]),
            json!([{"type": "image", "data": "?!", "mimeType": "image/png"}]),
            json!([{"type": "audio", "data": "QUFB", "mimeType": "audio/wav"}]),
            json!([{"type": "resource", "resource": {"uri": "x", "blob": "AA=="}}]),
            json!([{"type": "smell"}]),
        ] {
            assert!(read(&wrong, Path::new("/w")).is_err(), "{wrong}");
        }
    }
}
