//! One tool of a server, to a model a tool like any other: prepared, judged under `permission.mcp`, then called over there.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::FutureExt;
use serde_json::{Map, Value};
use zdx_protocol::{Action, Preview, ToolCode, ToolError, ToolOutput, ToolSpec};

use super::link::{CallFault, CallOptions};
use super::listing::ListedTool;
use super::result::{self, ImageKeeper};
use super::server_task::ServerTask;
use zdx_tools::{PreparedCall, Shell, Tool, ToolContext, ToolRunContext};
use zdx_workspace::ContentStore;

pub struct McpTool {
    spec: ToolSpec,
    server: Arc<ServerTask>,
    /// As the server calls it, and as rules do.
    theirs: String,
    ours: String,
    digest: String,
    reads_only: bool,
}

impl McpTool {
    pub fn new(server: Arc<ServerTask>, info: &ListedTool, ours: String, full: String) -> Self {
        let spec = ToolSpec {
            name: Cow::Owned(full),
            description: Cow::Owned(info.short_description()),
            schema: info.schema.clone(),
        };
        let (theirs, digest) = (info.name.clone(), info.digest());
        Self { spec, server, theirs, ours, digest, reads_only: info.reads_only }
    }

    fn preview(&self, input: &Map<String, Value>) -> Preview {
        let mut text = match input.is_empty() {
            true => "without arguments".to_owned(),
            false => serde_json::to_string_pretty(input).unwrap_or_default(),
        };
        if self.reads_only {
            text.push_str("\nthe server says that it changes nothing, which nobody has checked");
        }
        Preview::Text { text }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let action = Action::Mcp {
            server: self.server.id.clone(),
            tool: self.ours.clone(),
            digest: self.digest.clone(),
        };
        let preview = self.preview(&input);
        let call = PendingCall {
            server: Arc::clone(&self.server),
            tool: self.theirs.clone(),
            digest: self.digest.clone(),
            input,
            shell: Arc::clone(&cx.shell),
            content: Arc::clone(&cx.content),
            timeout: cx.timeout,
        };
        let run = move |run: ToolRunContext| call.run(run).boxed();
        Ok(PreparedCall { action, preview, doomed: None, line: None, adds_mask: false, run: Box::new(run) })
    }
}

struct PendingCall {
    server: Arc<ServerTask>,
    tool: String,
    /// The tool that was judged, which may be one listed in an earlier run.
    digest: String,
    input: Map<String, Value>,
    shell: Arc<Shell>,
    content: Arc<ContentStore>,
    timeout: Option<std::time::Duration>,
}

impl PendingCall {
    async fn run(self, run: ToolRunContext) -> ToolOutput {
        let ToolRunContext { id, cancel, progress, images, .. } = run;
        let link = tokio::select! {
            biased;
            () = cancel.cancelled() => return failed(&self.server, CallFault::Interrupted).await,
            link = self.server.link() => link,
        };
        let link = match link {
            Ok(link) => link,
            Err(why) => return unavailable(&self.server, &why),
        };
        if !self.server.lists(&self.tool, &self.digest) {
            return changed(&self.server, &self.tool);
        }
        let carried = CallOptions { cancel, timeout: self.timeout, progress: Some(progress) };
        match link.call(&self.tool, self.input, carried).await {
            Ok(result) => {
                let (name, shell, content) =
                    (format!("{}/{}", self.server.id, self.tool), self.shell, self.content);
                // Long texts and images are written to files.
                let kept = tokio::task::spawn_blocking(move || {
                    let mut keeper = ImageKeeper::new(&content, &name);
                    let output = result::output(result, &id, &shell, Some(&mut keeper));
                    keeper.images.into_iter().for_each(|image| images.add(image));
                    output
                });
                let broken = |_| ToolOutput::error(ToolCode::Internal, "the result could not be read");
                kept.await.unwrap_or_else(broken)
            }
            Err(fault) => failed(&self.server, fault).await,
        }
    }
}

fn unavailable(server: &ServerTask, why: &str) -> ToolOutput {
    let message =
        format!("the MCP server {} is not there: {why}. Go on without it, or tell the user", server.id);
    ToolOutput::error(ToolCode::McpUnavailable, message)
}

fn changed(server: &ServerTask, tool: &str) -> ToolOutput {
    let message = format!(
        "the MCP server {} describes {tool} otherwise than when this call was made: it was not called. Read its description \
         and call it again",
        server.id
    );
    ToolOutput::error(ToolCode::ChangedSince, message)
}

async fn failed(server: &ServerTask, fault: CallFault) -> ToolOutput {
    match fault {
        CallFault::Interrupted => ToolOutput::error(
            ToolCode::Interrupted,
            "the user interrupted the call; the server was told, and whether it stopped is unknown",
        ),
        CallFault::Timeout => ToolOutput::error(
            ToolCode::Timeout,
            "no answer in time (tool_timeout_secs); the server was told to stop, and whether it did is unknown",
        ),
        CallFault::Ended => {
            let message = format!(
                "the MCP server {} ended during the call, and what it did until then is unknown: {}. It is started \
                 anew with the next call",
                server.id,
                server.end().await
            );
            ToolOutput::error(ToolCode::McpUnavailable, message)
        }
        CallFault::Refused(why) => ToolOutput::error(ToolCode::McpError, why),
    }
}
