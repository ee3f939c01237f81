//! What of a project's file counts before the user trusts it: what tightens and what informs, nothing else.
//! Goes by each key's [`Setter`]; knows no keys of its own but the system prompt's.

use std::path::Path;

use serde_json::Value;

use super::layer::{FileLayer, Found, shown};
use super::merge::Merged;
use super::schema::{Kind, Setter};
use super::source::{FileRef, Instruction, Layer, Source};

pub struct Filtered {
    pub found: Vec<Found>,
    /// A system prompt of the project's: told to the model, in place of nothing.
    pub instructions: Vec<Instruction>,
    pub notices: Vec<String>,
}

/// `weaker` is what the layers below say.
pub fn filter(layer: FileLayer, weaker: &Merged, root: &Path) -> Filtered {
    let mut out = Filtered { found: Vec::new(), instructions: Vec::new(), notices: layer.notices };
    let mut ignored = Vec::new();
    let mut added = Vec::new();
    for mut found in layer.found {
        let place = format!("{} (line {})", shown(&found.path), found.line);
        let source = Source::File { layer: Layer::Project, path: layer.file.clone(), line: found.line };
        let confined = |path: &str| FileRef {
            path: path.into(),
            confined_to: Some(root.to_owned()),
            source: source.clone(),
        };
        match (found.key.setter, found.key.kind, &mut found.value) {
            (Setter::Inform, Kind::Path, Value::String(path)) => {
                let file = confined(path);
                if file.escapes() {
                    ignored.push(format!("{place}, which leads out of the project"));
                } else {
                    added.push(place);
                    out.instructions.push(Instruction::File(file));
                }
            }
            (Setter::Inform, Kind::Text, Value::String(text)) => {
                added.push(place);
                out.instructions.push(Instruction::Text { text: std::mem::take(text), source });
            }
            (Setter::Inform, Kind::MorePaths, Value::Array(paths)) => {
                let before = paths.len();
                paths.retain(|path| path.as_str().is_some_and(|path| !confined(path).escapes()));
                let outside = before - paths.len();
                if outside > 0 {
                    ignored.push(format!("{place}: {outside} of {before}, which lead out of the project"));
                }
                out.found.push(found);
            }
            (Setter::Raise, _, rules) => {
                let allows = count_allows(rules);
                if allows > 0 {
                    ignored.push(format!("{place}: what it allows ({allows})"));
                }
                out.found.push(found);
            }
            (setter, _, value)
                if tightens(setter, value, weaker.get(&found.path).map(|leaf| &leaf.value)) =>
            {
                out.found.push(found);
            }
            _ => ignored.push(place),
        }
    }
    let mut say = |what: &str, keys: &[String]| {
        if !keys.is_empty() {
            let (file, keys) = (layer.file.display(), keys.join(", "));
            out.notices
                .push(format!("{file}: {what}: {keys}; to change that, read the file and run zdx trust"));
        }
    };
    say("ignored, because you have not trusted this project", &ignored);
    say("added to your system prompt instead of replacing it", &added);
    out
}

fn tightens(setter: Setter, value: &Value, weaker: Option<&Value>) -> bool {
    match setter {
        Setter::User | Setter::Environment | Setter::Inform => false,
        Setter::Anyone | Setter::Add | Setter::Raise => true,
        Setter::Lower => {
            let number = value.as_u64().unwrap_or(0);
            let limit = weaker.and_then(Value::as_u64).unwrap_or(0);
            number != 0 && (limit == 0 || number <= limit)
        }
        Setter::Stricter => strictness(value) >= weaker.map_or(BALANCED, strictness),
    }
}

/// The strictest default of any front end, which holds where the user chose nothing.
const BALANCED: u8 = 1;

fn strictness(approval: &Value) -> u8 {
    match approval.as_str() {
        Some("paranoid") => 2,
        Some("balanced") => BALANCED,
        Some(_) | None => 0,
    }
}

fn count_allows(rules: &Value) -> usize {
    match rules {
        Value::String(word) => usize::from(word == "allow"),
        Value::Object(table) => table.values().map(count_allows).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 0,
    }
}
