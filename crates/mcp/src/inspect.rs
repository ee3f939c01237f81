//! Servers started to be looked at, without a session: what `zdx mcp list` and `zdx mcp test` show.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use zdx_protocol::redact::Redactor;
use zdx_protocol::{McpServer, McpState, ToolCode, ToolOutput};

use super::link::{CallFault, CallOptions};
use super::server_task::ConnectMode;
use super::servers::{ServerPlan, ServerSet};
use super::tool_catalog::McpToolCatalog;
use super::{ServerEnvironment, result};
use zdx_config::{ConfigLocation, EffectiveConfig};

pub struct ServerInspection {
    servers: Arc<ServerSet>,
    shelf: McpToolCatalog,
    ground: ServerEnvironment,
    warnings: Vec<String>,
}

/// One tool as the server describes it.
pub struct DescribedTool {
    pub name: String,
    pub description: String,
    /// The names of its arguments.
    pub arguments: Vec<String>,
    /// It is not offered: it can only be run as a task.
    pub needs_task: bool,
}

/// Starts the servers of a configuration, or one of them, and returns when each has answered or failed.
pub async fn inspect(
    configured: &EffectiveConfig,
    place: ConfigLocation<'_>,
    executable: PathBuf,
    redactor: &Arc<Redactor>,
    only: Option<&str>,
) -> ServerInspection {
    let config = &configured.resolved.config;
    let ground = || {
        ServerEnvironment::new(
            place.paths,
            place.env,
            config,
            place.root,
            executable.clone(),
            Arc::clone(redactor),
        )
    };
    let (mut plan, warnings) = ServerPlan::new(configured, place.env, place.root);
    if let Some(only) = only {
        plan.entries.retain(|(id, entry)| id == only || entry.name == only);
        plan.others.retain(|other| other.name == only);
    }
    let servers = ServerSet::start(plan, ground(), ConnectMode::LOOK, false);
    join_all(servers.list().iter().map(|server| server.answered())).await;
    let shelf = McpToolCatalog::new(Arc::clone(&servers), Box::new(|_, _, _| true));
    ServerInspection { servers, shelf, ground: ground(), warnings }
}

impl ServerInspection {
    pub fn servers(&self) -> Vec<McpServer> {
        let masked =
            |server: McpServer| McpServer { error: server.error.map(|text| self.mask(&text)), ..server };
        self.shelf.view().into_iter().map(masked).collect()
    }

    fn mask(&self, text: &str) -> String {
        self.ground.redactor.redact(text).into_owned()
    }

    /// Of what is written about servers and counts for nothing.
    pub fn warnings(&self) -> Vec<String> {
        let faults: Vec<String> = self.servers.plan().others.iter().map(McpServer::fault).collect();
        self.warnings.iter().filter(|warning| !faults.contains(warning)).map(|text| self.mask(text)).collect()
    }

    /// Of the only server.
    pub fn tools(&self) -> Vec<DescribedTool> {
        let listing = self.servers.list().first().and_then(|server| server.now().listing);
        let described = |tool: &super::listing::ListedTool| DescribedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            arguments: tool.schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect(),
            needs_task: tool.needs_task,
        };
        listing.iter().flat_map(|listing| &listing.tools).map(described).collect()
    }

    /// Calls a tool of the only server, by the server's own name for it. Secrets are masked in what it says.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> ToolOutput {
        let mut output = self.asked(tool, arguments).await;
        match &mut output {
            ToolOutput::Ok(data) => drop(self.ground.redactor.redact_value(data)),
            ToolOutput::Err(error) => error.message = self.mask(&error.message),
        }
        output
    }

    async fn asked(&self, tool: &str, arguments: Map<String, Value>) -> ToolOutput {
        let unavailable = |why: String| ToolOutput::error(ToolCode::McpUnavailable, why);
        let Some(server) = self.servers.list().first() else {
            return unavailable("it is not started".to_owned());
        };
        let link = match server.link().await {
            Ok(link) => link,
            Err(why) => return unavailable(why),
        };
        let carried = CallOptions { cancel: CancellationToken::new(), timeout: None, progress: None };
        match link.call(tool, arguments, carried).await {
            Ok(said) => result::output(said, "test", &self.ground.shell, None),
            Err(CallFault::Interrupted | CallFault::Timeout) => {
                ToolOutput::error(ToolCode::Interrupted, "interrupted")
            }
            Err(CallFault::Ended) => unavailable(server.end().await),
            Err(CallFault::Refused(why)) => ToolOutput::error(ToolCode::McpError, why),
        }
    }

    /// Whether each that should be up is.
    pub fn is_well(&self) -> bool {
        let bad = |server: &McpServer| matches!(server.state, McpState::Failed | McpState::Refused);
        !self.servers().iter().any(bad)
    }

    pub async fn close(self) {
        self.servers.close().await;
    }
}
