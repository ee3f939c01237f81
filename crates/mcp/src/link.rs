//! A server that runs: started under the supervisor, spoken to over its streams, asked, and stopped.
//! Decides neither when it is started nor what of its tools a model hears of.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    GetPromptRequestParams, GetPromptResult, Implementation, ProgressNotificationParam, ProgressToken,
    ReadResourceRequestParams, ReadResourceResult, ServerResult,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError, serve_client};
use serde_json::{Map, Value};
use tokio::io::duplex;
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::ServerEnvironment;
use super::entry::ServerEntry;
use super::relay::{StrayOutput, relay};
use super::stderr_tail::{StderrTail, listen};
use zdx_tools::{ChildProcess, ChildSpec, ShellError};

/// Between the server's stdout and the protocol.
const PIPE: usize = 64 << 10;
/// What a server that does not read any more is given to take a word.
const A_WORD: Duration = Duration::from_millis(300);
/// What it gets to end by itself once its stdin is closed.
const GRACE: Duration = Duration::from_millis(500);

/// Why a server is not there.
#[derive(Debug)]
pub struct StartFault {
    pub why: String,
    /// Another try would come to the same.
    pub lasting: bool,
}

/// Why a call has no result.
#[derive(Debug)]
pub enum CallFault {
    Interrupted,
    Timeout,
    /// The server ended meanwhile.
    Ended,
    /// The server says no.
    Refused(String),
}

/// How a call is carried.
pub struct CallOptions {
    pub cancel: CancellationToken,
    pub timeout: Option<Duration>,
    pub progress: Option<mpsc::Sender<String>>,
}

/// For asking a server. Cheap to clone; of no use once the server has ended.
#[derive(Clone)]
pub struct ServerLink {
    pub peer: Peer<RoleClient>,
    routes: ProgressRoutes,
}

/// The server itself, for who looks after it.
pub struct RunningServer {
    pub link: ServerLink,
    pub changed: Arc<Notify>,
    service: RunningService<RoleClient, McpClient>,
    process: ChildProcess,
    words: Arc<StderrTail>,
    /// Ends when the server closes its stdout: nothing is heard from it any more.
    stdout: JoinHandle<()>,
    /// Ends when the last of its words is heard.
    stderr: JoinHandle<()>,
    helpers: StreamTasks,
}

/// What reads the server's streams; goes with it.
struct StreamTasks(Vec<AbortHandle>);

impl Drop for StreamTasks {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// Where the progress of a call goes, by its token.
type ProgressRoutes = Arc<Mutex<HashMap<String, mpsc::Sender<String>>>>;

struct McpClient {
    routes: ProgressRoutes,
    changed: Arc<Notify>,
}

impl ClientHandler for McpClient {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("zdx", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let route = lock(&self.routes).get(&key(&told.progress_token)).cloned();
        if let Some(route) = route {
            // Never waited for: whoever shows it shows the next one.
            let _ = route.try_send(progress(&told));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// `2/5 copying`.
fn progress(told: &ProgressNotificationParam) -> String {
    let done = match told.total {
        Some(total) => format!("{}/{total}", told.progress),
        None => told.progress.to_string(),
    };
    match &told.message {
        Some(message) => format!("{done} {message}\n"),
        None => format!("{done}\n"),
    }
}

fn key(token: &ProgressToken) -> String {
    token.0.to_string()
}

fn lock(routes: &ProgressRoutes) -> std::sync::MutexGuard<'_, HashMap<String, mpsc::Sender<String>>> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunningServer {
    /// Starts a server and shakes hands with it. Given up midway, it is stopped with all it started.
    pub async fn start(
        entry: &ServerEntry,
        id: &str,
        ground: &ServerEnvironment,
    ) -> Result<Self, StartFault> {
        if let Some(pinned) = &entry.pinned
            && let Some(why) = pinned.refusal().await
        {
            return Err(StartFault { why, lasting: true });
        }
        let spec = ChildSpec {
            program: OsString::from(&entry.command[0]),
            args: entry.command[1..].iter().map(OsString::from).collect(),
            cwd: ground.root.clone(),
            env: entry.environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        };
        let child = ground.shell.spawn(spec).await.map_err(|error| not_started(&error))?;
        let (words, strays) = (Arc::<StderrTail>::default(), Arc::<StrayOutput>::default());
        let (ours, theirs) = duplex(PIPE);
        let heard = Arc::clone(&strays);
        let stdout = tokio::spawn(async move { relay(child.stdout, theirs, &heard).await });
        let log = ground.log(id);
        let mut stderr =
            tokio::spawn(listen(child.stderr, log, Arc::clone(&ground.redactor), Arc::clone(&words)));
        let helpers = StreamTasks(vec![stdout.abort_handle(), stderr.abort_handle()]);
        let (routes, changed) = (ProgressRoutes::default(), Arc::<Notify>::default());
        let client = McpClient { routes: Arc::clone(&routes), changed: Arc::clone(&changed) };
        let mut process = child.process;
        let shaken = tokio::time::timeout(entry.timeout, serve_client(client, (ours, child.stdin))).await;
        let why = match shaken {
            Ok(Ok(service)) => {
                let link = ServerLink { peer: service.peer().clone(), routes };
                return Ok(Self { link, changed, service, process, words, stdout, stderr, helpers });
            }
            Err(_) => format!(
                "it did not answer the handshake within {} ms (timeout_ms)",
                entry.timeout.as_millis()
            ),
            // A server that has just ended says so by its end; the protocol only knows that nobody answers.
            Ok(Err(error)) => match tokio::time::timeout(A_WORD, process.wait()).await {
                Ok(end) => {
                    heard_out(&mut stderr).await;
                    format!("it ended before it answered the handshake ({end})")
                }
                Err(_) => {
                    format!("it answered the handshake with something else: {}", short(&error.to_string()))
                }
            },
        };
        let stray = strays.first().map(|line| format!("; on stdout it wrote what is no message: {line}"));
        Err(StartFault { why: words.behind(format!("{why}{}", stray.unwrap_or_default())), lasting: false })
    }

    /// Returns at its end, or when it can answer no more, with what it came to.
    pub async fn ended(&mut self) -> StartFault {
        let end = tokio::select! {
            end = self.process.wait() => Some(end),
            () = finished(&mut self.stdout) => None,
        };
        // Streams close a moment before the process is gone.
        let end = match end {
            Some(end) => Some(end),
            None => tokio::time::timeout(A_WORD, self.process.wait()).await.ok(),
        };
        heard_out(&mut self.stderr).await;
        let why = end.map_or_else(|| "it closed its stdout".to_owned(), |end| format!("it ended ({end})"));
        StartFault { why: self.words.behind(why), lasting: false }
    }

    /// Closes its stdin, and makes it end if it does not.
    pub async fn stop(self) {
        let Self { service, process, helpers, .. } = self;
        let _ = tokio::time::timeout(A_WORD, service.cancel()).await;
        process.stop(GRACE).await;
        drop(helpers);
    }
}

/// What a server wrote last may still be on its way; what it left running may hold its stderr for ever.
async fn heard_out(stderr: &mut JoinHandle<()>) {
    let _ = tokio::time::timeout(A_WORD, finished(stderr)).await;
}

/// May be asked again once it has: a handle itself may not.
async fn finished(task: &mut JoinHandle<()>) {
    if !task.is_finished() {
        let _ = task.await;
    }
}

fn not_started(error: &ShellError) -> StartFault {
    StartFault { why: error.not_started(), lasting: true }
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}

impl ServerLink {
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        carried: CallOptions,
    ) -> Result<CallToolResult, CallFault> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        match self.ask(request, carried).await? {
            ServerResult::CallToolResult(result) => Ok(result),
            ServerResult::InputRequiredResult(_) => Err(CallFault::Refused(
                "it wants to ask the user something, which zdx does not do".to_owned(),
            )),
            ServerResult::CreateTaskResult(_) => {
                Err(CallFault::Refused("it made a task of it, which zdx does not follow".to_owned()))
            }
            _ => Err(CallFault::Refused("it answered with something else than a result".to_owned())),
        }
    }

    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        carried: CallOptions,
    ) -> Result<GetPromptResult, CallFault> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(rmcp::model::GetPromptRequest::new(params));
        match self.ask(request, carried).await? {
            ServerResult::GetPromptResult(result) => Ok(result),
            _ => Err(CallFault::Refused("it answered with something else than a prompt".to_owned())),
        }
    }

    pub async fn resource(&self, uri: &str, carried: CallOptions) -> Result<ReadResourceResult, CallFault> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(rmcp::model::ReadResourceRequest::new(params));
        match self.ask(request, carried).await? {
            ServerResult::ReadResourceResult(result) => Ok(result),
            _ => Err(CallFault::Refused("it answered with something else than a resource".to_owned())),
        }
    }

    /// One question. An interrupt or the end of its time is told to the server, which may stop working on it.
    async fn ask(&self, request: ClientRequest, carried: CallOptions) -> Result<ServerResult, CallFault> {
        let CallOptions { cancel, timeout, progress } = carried;
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut asked = sent.await.map_err(fault)?;
        // Nothing else runs between this and the line above: no progress is told before its way is known.
        let _route =
            progress.map(|progress| ProgressRoute::new(&self.routes, &asked.progress_token, progress));
        let gave_up = tokio::select! {
            biased;
            answer = &mut asked.rx => return answer.unwrap_or(Err(ServiceError::TransportClosed)).map_err(fault),
            () = cancel.cancelled() => CallFault::Interrupted,
            () = expired(timeout) => CallFault::Timeout,
        };
        let why = match gave_up {
            CallFault::Interrupted => "interrupted by the user",
            _ => "it took too long",
        };
        let _ = tokio::time::timeout(A_WORD, asked.cancel(Some(why.to_owned()))).await;
        Err(gave_up)
    }
}

async fn expired(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

fn fault(error: ServiceError) -> CallFault {
    match error {
        ServiceError::McpError(error) => CallFault::Refused(error.message.to_string()),
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => CallFault::Ended,
        other => CallFault::Refused(short(&other.to_string())),
    }
}

/// Where the progress of one call goes, for as long as it runs.
struct ProgressRoute {
    routes: ProgressRoutes,
    token: String,
}

impl ProgressRoute {
    fn new(routes: &ProgressRoutes, token: &ProgressToken, to: mpsc::Sender<String>) -> Self {
        let token = key(token);
        lock(routes).insert(token.clone(), to);
        Self { routes: Arc::clone(routes), token }
    }
}

impl Drop for ProgressRoute {
    fn drop(&mut self) {
        lock(&self.routes).remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_task_may_be_waited_for_twice() {
        let mut task = tokio::spawn(async {});
        finished(&mut task).await;
        finished(&mut task).await;
    }
}
