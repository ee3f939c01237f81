//! How MCP servers are worded: a table, with what is wrong below whom it is about. Everything returned is safe to print.

use crate::mcp::{McpServer, McpState};
use crate::typeset::format::{count, size};
use crate::typeset::text::{truncate_width, width};
use crate::typeset::visible_line;

const VERSION_COLUMNS: usize = 40;

/// A line for each server, below their heading; nothing without any.
pub fn table(servers: &[McpServer]) -> Vec<String> {
    if servers.is_empty() {
        return Vec::new();
    }
    let head = ["server", "state", "version", "tools", "start", "schemas"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(servers.iter().map(row)).collect();
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or_default();
    let widths: Vec<usize> = (0..6).map(widest).collect();
    let line = |row: &[String; 6]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, widest)| format!("{cell}{}", " ".repeat(widest.saturating_sub(width(cell)))));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&rows[0])];
    for (server, row) in servers.iter().zip(&rows[1..]) {
        lines.push(line(row));
        lines.extend(server.error.as_deref().map(|why| format!("  {}", visible_line(why))));
    }
    lines
}

fn row(server: &McpServer) -> [String; 6] {
    let McpServer { name, state, version, start_ms, schema_bytes, .. } = server;
    let version = version.as_deref().map(|text| truncate_width(&visible_line(text), VERSION_COLUMNS));
    let listed = server.tools + server.searched + server.left_out > 0 || *state == McpState::Ready;
    [
        visible_line(name),
        if server.cached { format!("{} (list cached)", state.name()) } else { state.name().to_owned() },
        version.unwrap_or_else(|| "-".to_owned()),
        if listed { tools(server) } else { "-".to_owned() },
        start_ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms")),
        if listed { size(*schema_bytes as u64) } else { "-".to_owned() },
    ]
}

/// `12, 1 left out`, `500 by search`; prompts and resources where there are any.
fn tools(server: &McpServer) -> String {
    let McpServer { tools, searched, left_out, prompts, resources, .. } = server;
    let mut parts = vec![if *searched > 0 { format!("{searched} by search") } else { tools.to_string() }];
    if *left_out > 0 {
        parts.push(format!("{left_out} left out"));
    }
    for (number, what) in [(prompts, "prompt"), (resources, "resource")] {
        if *number > 0 {
            parts.push(count(*number, what));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_line_and_its_fault_another() {
        let ready = McpServer {
            version: Some("files 1.2".into()),
            tools: 12,
            left_out: 1,
            schema_bytes: 2_000,
            start_ms: Some(40),
            ..McpServer::new("files", McpState::Ready)
        };
        let failed =
            McpServer { error: Some("it\u{1b}[31m ended".into()), ..McpServer::new("db", McpState::Failed) };
        assert_eq!(
            table(&[ready, failed]),
            [
                "server  state   version    tools           start  schemas",
                "files   ready   files 1.2  12, 1 left out  40 ms  2.0 kB",
                "db      failed  -          -               -      -",
                "  it\\x1b[31m ended",
            ]
        );
        assert!(table(&[]).is_empty());
    }
}
