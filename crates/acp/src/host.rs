//! The requests that an agent may make of its client. Each program that drives an agent brings a host of its own; a host
//! serves everything that [`client_capabilities`] advertises.

use std::future::Future;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::error::{HostAnswer, RpcError, code};
use crate::params::Params;
use crate::terminal_table::TerminalTable;

/// The `clientCapabilities` of every [`Host`].
pub fn client_capabilities() -> Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true})
}

/// One request under way.
#[derive(Debug)]
pub struct HostRequest {
    pub params: Params,
    /// Counts the requests of a connection.
    pub number: u64,
    /// The agent took the request back, or its turn is over. A host may still finish what must not be left half done.
    pub cancel: CancellationToken,
}

/// Drops the work when the request is cancelled.
pub async fn unless_cancelled(
    cancel: &CancellationToken,
    work: impl Future<Output = HostAnswer>,
) -> HostAnswer {
    tokio::select! {
        answer = work => answer,
        () = cancel.cancelled() => Err(RpcError::new(code::CANCELLED, "the request was cancelled")),
    }
}

pub trait Host: Send + Sync + 'static {
    fn read_text_file(&self, request: HostRequest) -> impl Future<Output = HostAnswer> + Send;

    fn write_text_file(&self, request: HostRequest) -> impl Future<Output = HostAnswer> + Send;

    /// The `toolCall` of the parameters holds everything that was said of the call before.
    fn request_permission(&self, request: HostRequest) -> impl Future<Output = HostAnswer> + Send;

    /// Starts a program in [`Self::terminals`].
    fn create_terminal(&self, request: HostRequest) -> impl Future<Output = HostAnswer> + Send;

    fn terminals(&self) -> &TerminalTable;

    /// Returns the token that cancels one request.
    fn request_token(&self) -> CancellationToken {
        CancellationToken::new()
    }

    /// Called after an agent released this terminal.
    fn terminal_released(&self, _id: &str) {}

    /// Called when the turn is cancelled: from now on permissions are answered with `cancelled`.
    fn cancel_turn(&self) {}
}

/// Serves one request of an agent; unknown methods are refused.
pub async fn serve_request(host: &impl Host, method: &str, request: HostRequest) -> HostAnswer {
    let (terminals, params) = (host.terminals(), &request.params);
    match method {
        "fs/read_text_file" => host.read_text_file(request).await,
        "fs/write_text_file" => host.write_text_file(request).await,
        "session/request_permission" => host.request_permission(request).await,
        "terminal/create" => host.create_terminal(request).await,
        "terminal/output" => terminals.output(params),
        "terminal/wait_for_exit" => unless_cancelled(&request.cancel, terminals.wait(params)).await,
        "terminal/kill" => terminals.kill(params).await,
        "terminal/release" => {
            let answer = terminals.release(params).await?;
            host.terminal_released(params.text("terminalId")?);
            Ok(answer)
        }
        _ => Err(RpcError::method_not_found(method)),
    }
}
