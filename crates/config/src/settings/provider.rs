//! `provider` as a table: the shape other agents use, rewritten into `provider`, `providers` and `models`.
//! Touches nothing when `provider` is a text.

use super::tree::{ConfigNode, NodeShape, NodeTable};

/// What a provider is called whose table gives no name.
const NAMELESS: &str = "local";

/// Keys that make `provider` one provider's own table rather than a table of providers by name.
const OWN_KEYS: [&str; 11] = [
    "models",
    "base_url",
    "baseURL",
    "baseUrl",
    "options",
    "wire",
    "api_key_env",
    "auth",
    "id",
    "headers",
    "ca_file",
];

/// Rewritten entries come first, so that what the file says in zdx's own words wins.
pub(super) fn rewrite(root: NodeTable) -> NodeTable {
    let (tables, mut rest): (NodeTable, NodeTable) = root
        .into_iter()
        .partition(|(name, node)| name == "provider" && matches!(node.shape, NodeShape::Table(_)));
    let mut out = NodeTable::new();
    for (_, node) in tables {
        let NodeShape::Table(entries) = node.shape else { continue };
        let is_single = entries.iter().any(|(name, node)| {
            OWN_KEYS.contains(&name.as_str()) || (name == "name" && node.text().is_some())
        });
        let providers = if is_single {
            vec![(single_name(&entries), ConfigNode { line: node.line, shape: NodeShape::Table(entries) })]
        } else {
            entries
        };
        if let [(only, entry)] = providers.as_slice() {
            out.push(("provider".to_owned(), ConfigNode::scalar(entry.line, only.as_str())));
        }
        for (name, entry) in providers {
            out.extend(expand(&name, entry));
        }
    }
    out.append(&mut rest);
    out
}

fn single_name(entries: &NodeTable) -> String {
    ["id", "name"]
        .iter()
        .find_map(|wanted| entries.iter().find(|(name, _)| name == wanted)?.1.text())
        .unwrap_or(NAMELESS)
        .to_owned()
}

/// One provider's table as `providers.<name>` and `models."<name>/<model>"`.
fn expand(provider: &str, entry: ConfigNode) -> NodeTable {
    let line = entry.line;
    let NodeShape::Table(entries) = entry.shape else {
        // Left as it is: the schema says what was expected here.
        return under("providers", provider, entry);
    };
    let mut fields = NodeTable::new();
    let mut models = NodeTable::new();
    for (name, node) in entries {
        match (name.as_str(), node.shape) {
            ("id" | "name" | "npm", _) => {}
            ("models", shape) => models.extend(model_entries(provider, node.line, shape)),
            ("options", NodeShape::Table(options)) => {
                fields.extend(options.into_iter().map(|(name, node)| (own_name(&name), node)));
            }
            (_, shape) => fields.push((own_name(&name), ConfigNode { line: node.line, shape })),
        }
    }
    let mut out = under("providers", provider, ConfigNode { line, shape: NodeShape::Table(fields) });
    out.push(("models".to_owned(), ConfigNode { line, shape: NodeShape::Table(models) }));
    out
}

fn own_name(name: &str) -> String {
    if matches!(name, "baseURL" | "baseUrl") { "base_url".to_owned() } else { name.to_owned() }
}

/// A list of names, or a table of what is known about each.
fn model_entries(provider: &str, line: usize, shape: NodeShape) -> NodeTable {
    let full = |model: &str| format!("{provider}/{model}");
    match shape {
        NodeShape::List(names) => names
            .into_iter()
            .map(|node| match node.text() {
                Some(name) => {
                    (full(name), ConfigNode { line: node.line, shape: NodeShape::Table(Vec::new()) })
                }
                None => (full("?"), node),
            })
            .collect(),
        NodeShape::Table(models) => {
            models.into_iter().map(|(name, node)| (full(&name), model_limits(node))).collect()
        }
        NodeShape::Scalar(value) => vec![(full("?"), ConfigNode { line, shape: NodeShape::Scalar(value) })],
    }
}

/// `limit = { context, output }` in zdx's words.
fn model_limits(node: ConfigNode) -> ConfigNode {
    let NodeShape::Table(entries) = node.shape else { return node };
    let mut out = NodeTable::new();
    for (name, entry) in entries {
        match (name.as_str(), entry.shape) {
            ("limit", NodeShape::Table(limits)) => out.extend(limits.into_iter().map(|(name, node)| {
                let name = match name.as_str() {
                    "context" => "context_limit",
                    "output" => "max_tokens",
                    other => other,
                };
                (name.to_owned(), node)
            })),
            ("name", _) => {}
            (_, shape) => out.push((name, ConfigNode { line: entry.line, shape })),
        }
    }
    ConfigNode { line: node.line, shape: NodeShape::Table(out) }
}

fn under(table: &str, name: &str, node: ConfigNode) -> NodeTable {
    let line = node.line;
    vec![(table.to_owned(), ConfigNode { line, shape: NodeShape::Table(vec![(name.to_owned(), node)]) })]
}
