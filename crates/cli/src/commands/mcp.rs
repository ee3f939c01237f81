//! `zdx mcp`: what the configured servers bring, one of them tried out, and the configuration of them changed.

use serde_json::{Map, Value, json};
use zdx_mcp::{self as servers, DescribedTool, ServerAddition, ServerEditError, ServerInspection};
use zdx_protocol::display::text::one_line;
use zdx_protocol::display::{plain, servers::table, visible_line};
use zdx_protocol::{McpState, ToolOutput};

use super::{json_line, print, say};
use crate::args::{Format, McpCommand};
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::start;

const DESCRIPTION_COLUMNS: usize = 100;

pub async fn run(settings: &Settings, command: &McpCommand) -> Result<Ending, Failure> {
    match command {
        McpCommand::List => list(settings).await,
        McpCommand::Test { name, tool, arguments } => {
            test(settings, name, tool.as_deref(), arguments.as_deref()).await
        }
        McpCommand::Add { name, env, command } => {
            changed(servers::add(&settings.paths, &ServerAddition { name, command, environment: env }))
        }
        McpCommand::Remove { name } => changed(servers::remove(&settings.paths, name)),
        McpCommand::Enable { name } => changed(servers::set_enabled(&settings.paths, name, true)),
        McpCommand::Disable { name } => changed(servers::set_enabled(&settings.paths, name, false)),
    }
}

/// The file that was changed is the result.
fn changed(result: Result<std::path::PathBuf, ServerEditError>) -> Result<Ending, Failure> {
    let file = result.map_err(Failure::runtime)?;
    print(format!("{}\n", file.display()))
}

async fn started(settings: &Settings, only: Option<&str>) -> Result<ServerInspection, Failure> {
    let (inspection, notices) = start::servers(settings, only).await?;
    super::warn(settings, &notices);
    Ok(inspection)
}

async fn list(settings: &Settings) -> Result<Ending, Failure> {
    let inspection = started(settings, None).await?;
    let (servers, well) = (inspection.servers(), inspection.is_well());
    inspection.close().await;
    if servers.is_empty() && settings.format == Format::Text {
        say(settings, "no MCP server is configured; `zdx mcp add NAME -- COMMAND` adds one");
    }
    print(match settings.format {
        Format::Json => servers.iter().map(|server| json_line(&json!(server))).collect::<String>(),
        Format::Text => table(&servers).iter().map(|line| format!("{line}\n")).collect(),
    })?;
    Ok(if well { Ending::Completed } else { Ending::Failed })
}

async fn test(
    settings: &Settings,
    name: &str,
    tool: Option<&str>,
    arguments: Option<&str>,
) -> Result<Ending, Failure> {
    let arguments: Map<String, Value> = match arguments {
        None => Map::new(),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("the arguments are no JSON object: {error}")))?,
    };
    let inspection = started(settings, Some(name)).await?;
    let ending = tried(settings, &inspection, name, tool, arguments).await;
    inspection.close().await;
    ending
}

async fn tried(
    settings: &Settings,
    inspection: &ServerInspection,
    name: &str,
    tool: Option<&str>,
    arguments: Map<String, Value>,
) -> Result<Ending, Failure> {
    let servers = inspection.servers();
    let Some(server) = servers.first() else {
        return Err(Failure::runtime(format!(
            "no MCP server named {name} is configured; `zdx mcp list` shows them"
        )));
    };
    let Some(tool) = tool.filter(|_| server.state == McpState::Ready) else {
        let tools = inspection.tools();
        print(match settings.format {
            Format::Json => {
                json_line(&json!({"server": server, "tools": tools.iter().map(object).collect::<Vec<_>>()}))
            }
            Format::Text => {
                let lines = table(&servers).into_iter().chain(tools.iter().map(line));
                lines.map(|line| format!("{line}\n")).collect()
            }
        })?;
        return Ok(if server.state == McpState::Ready { Ending::Completed } else { Ending::Failed });
    };
    let result = inspection.call(tool, arguments).await;
    print(match (&result, settings.format) {
        (result, Format::Json) => json_line(&json!(result)),
        (ToolOutput::Ok(data), Format::Text) => {
            match data["content"].as_str().filter(|_| data.get("structured").is_none()) {
                Some(text) => format!("{}\n", plain(text)),
                None => format!("{}\n", plain(&serde_json::to_string_pretty(data).unwrap_or_default())),
            }
        }
        (ToolOutput::Err(_), Format::Text) => String::new(),
    })?;
    match result {
        ToolOutput::Ok(_) => Ok(Ending::Completed),
        ToolOutput::Err(error) => Err(Failure::runtime(format!("{}: {}", error.code, plain(&error.message)))),
    }
}

/// `list_directory path: what is in a folder`.
fn line(tool: &DescribedTool) -> String {
    let arguments = tool.arguments.join(" ");
    let left_out = if tool.needs_task { " (not offered: it runs as a task only)" } else { "" };
    let about = one_line(&tool.description, DESCRIPTION_COLUMNS);
    visible_line(format!("  {} {arguments}{left_out}: {about}", tool.name).replace("  :", ":").trim_end())
}

fn object(tool: &DescribedTool) -> Value {
    let DescribedTool { name, description, arguments, needs_task } = tool;
    json!({"name": name, "description": description, "arguments": arguments, "needs_task": needs_task})
}
