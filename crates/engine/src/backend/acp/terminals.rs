//! `terminal/create` of another agent: each terminal is a command of ours, judged, asked about, run and told like any other,
//! whose output the agent may look at while it comes. None outlives the turn.

use std::path::PathBuf;

use serde_json::json;
use zdx_acp::{Host, HostAnswer, Params, RpcError, TerminalExit, TerminalFeed};
use zdx_protocol::facts::BASH;
use zdx_protocol::{ToolCall, ToolOutput};

use super::turn_host::{TurnHost, call, refused};
use crate::acp::TerminalRequest;
use crate::call::{Moment, TurnIo};

/// Answers once the command runs, or will not.
pub(super) async fn create(host: &TurnHost, id: String, params: &Params) -> HostAnswer {
    let io = &host.io;
    let request = TerminalRequest::read(params)?;
    let cwd = folder(request.cwd.as_deref(), io)?;
    let command = request.script(io.session.root(), &cwd);
    let call = call(id.clone(), BASH.name, json!({"command": command}));
    let start = |feed: TerminalFeed| {
        let io = TurnIo { cancel: feed.stop.clone(), ..io.clone() };
        tokio::spawn(run(call, io, feed))
    };
    host.terminals().create(&id, request.limit, Some(&io.cancel), start).await
}

async fn run(call: ToolCall, io: TurnIo, feed: TerminalFeed) {
    let watch = |moment: Moment<'_>| match moment {
        Moment::Started => feed.started(Ok(())),
        Moment::Said(chunk) => feed.output.push(chunk.as_bytes()),
    };
    let output = io.call_watched(call, &watch).await;
    feed.started(match &output {
        ToolOutput::Err(error) => Err(refused(error)),
        ToolOutput::Ok(_) => Ok(()),
    });
    feed.exited(exit_of(&output));
}

fn exit_of(output: &ToolOutput) -> TerminalExit {
    let code = match output {
        ToolOutput::Ok(data) => data["exit_code"].as_i64().filter(|code| *code >= 0),
        ToolOutput::Err(_) => None,
    };
    TerminalExit { code, signal: code.is_none().then(|| "SIGKILL".to_owned()) }
}

/// A folder of the workspace.
fn folder(named: Option<&str>, io: &TurnIo) -> Result<PathBuf, RpcError> {
    let workspace = io.session.workspace();
    let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(workspace.root().to_owned()) };
    let target = workspace.resolve(named).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    match target.path.is_dir() {
        true => Ok(target.path),
        false => Err(RpcError::invalid_params(format!("{} is no folder", target.path.display()))),
    }
}
