//! MCP servers in the shapes of other programs, rewritten into `mcp.<name>`: `mcpServers` (Claude Code, Cursor) and the
//! list `mcp_servers` (acpcli). Reads no value of theirs: that is `mcp`'s own.

use super::show::without_password;
use super::tree::{ConfigNode, NodeShape, NodeTable};

const OURS: &str = "mcp";
const BY_NAME: &str = "mcpServers";
const AS_LIST: &str = "mcp_servers";
/// Keys of remote servers. Their headers may hold secrets and zdx does not connect to them, so only the URL is kept.
const REMOTE: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Rewritten entries come first, so that what the file says in zdx's own words wins.
pub(super) fn rewrite(root: NodeTable) -> NodeTable {
    let (theirs, mut rest): (NodeTable, NodeTable) =
        root.into_iter().partition(|(name, _)| name == BY_NAME || name == AS_LIST);
    let mut out: NodeTable = theirs.into_iter().map(|(_, node)| (OURS.to_owned(), by_name(node))).collect();
    out.append(&mut rest);
    out
}

/// The servers of a file that is another program's, and nothing else of it.
pub(super) fn foreign(root: NodeTable) -> NodeTable {
    let servers = root.into_iter().filter(|(name, _)| name == BY_NAME);
    servers.map(|(_, node)| (OURS.to_owned(), local(by_name(node)))).collect()
}

fn by_name(node: ConfigNode) -> ConfigNode {
    let NodeShape::List(items) = node.shape else { return node };
    let named = |item: ConfigNode| {
        let NodeShape::Table(fields) = &item.shape else { return ("?".to_owned(), item) };
        let name = fields.iter().find(|(field, _)| field == "name").and_then(|(_, name)| name.text());
        (name.unwrap_or("?").to_owned(), item)
    };
    ConfigNode { line: node.line, shape: NodeShape::Table(items.into_iter().map(named).collect()) }
}

fn local(node: ConfigNode) -> ConfigNode {
    let NodeShape::Table(servers) = node.shape else { return node };
    let stripped = |(name, server): (String, ConfigNode)| match &server.shape {
        NodeShape::Table(fields) if fields.iter().any(|(field, _)| REMOTE.contains(&field.as_str())) => {
            let mut remote = vec![("type".to_owned(), ConfigNode::scalar(server.line, "remote"))];
            let url = fields.iter().find(|(field, _)| REMOTE.contains(&field.as_str()));
            if let Some(url) = url.and_then(|(_, url)| url.text()) {
                remote.push(("url".to_owned(), ConfigNode::scalar(server.line, without_password(url))));
            }
            (name, ConfigNode { line: server.line, shape: NodeShape::Table(remote) })
        }
        NodeShape::Table(_) | NodeShape::Scalar(_) | NodeShape::List(_) => (name, server),
    };
    ConfigNode { line: node.line, shape: NodeShape::Table(servers.into_iter().map(stripped).collect()) }
}
