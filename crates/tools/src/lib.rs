//! What a model can do here: one file a tool, all behind two methods.
//! `prepare` has no side effect; nothing runs that was not prepared, judged and, where asked, approved.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::record::Beside;
use zdx_protocol::{Action, Content, ImageRef, Preview, ToolCode, ToolError, ToolOutput, ToolSpec};
use zdx_workspace::{ContentStore, Workspace};

mod bash;
mod change;
mod edit;
mod glob;
mod grep;
pub mod input;
mod list;
pub mod mcp_call;
mod patch;
pub mod patch_format;
mod process;
mod read;
pub mod registry;
pub mod task;
pub mod todo;
pub mod tool_search;
mod walk;
mod write;

pub use bash::envelope as command_result;
pub use process::{shell, supervisor};
pub use shell::child_variables;
pub use shell::{
    ChildProcess, ChildSpec, CommandEnd, CommandOutput, RunOptions, RunningProgram, Shell, ShellError,
    ShellSettings,
};
pub use todo::TodoList;
pub use walk::{ChangedFiles, changed_since};

pub trait Tool: Send + Sync {
    /// Name, description and schema, as a model is told them; what else is known of it are its `facts`.
    fn spec(&self) -> &ToolSpec;

    /// Resolves paths and parses commands. The returned action is what policy judges and the user sees, and
    /// `run` does exactly that. What it reads of files goes into the preview alone: nothing of a file's content may
    /// reach a model before the action was judged.
    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError>;
}

pub type RunFn = Box<dyn FnOnce(ToolRunContext) -> BoxFuture<'static, ToolOutput> + Send>;

pub struct PreparedCall {
    pub action: Action,
    pub preview: Preview,
    /// Set when the call cannot succeed (text to replace that is not there): answered instead of asking a person
    /// about it. Says nothing of the file's content; an allowed call may `run` and learn more.
    pub doomed: Option<ToolError>,
    /// Where in its file a call begins to look, when it says so.
    pub line: Option<u64>,
    /// A file would hold the mask of a secret where it holds none now, or text is looked for that only a mask makes
    /// different from the file.
    pub adds_mask: bool,
    pub run: RunFn,
}

impl PreparedCall {
    /// A call that only looks: there is nothing to show before it, and nothing that could stand in its way.
    fn looking(action: Action, run: RunFn) -> Self {
        Self { action, preview: Preview::None, doomed: None, line: None, adds_mask: false, run }
    }
}

/// What tools of one session share.
#[derive(Clone)]
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    pub shell: Arc<Shell>,
    pub todos: Arc<TodoList>,
    /// Keeps the images that results carry.
    pub content: Arc<ContentStore>,
    /// `tool_timeout_secs`; none means no limit.
    pub timeout: Option<Duration>,
}

/// What one running call has of its own.
pub struct ToolRunContext {
    /// The tool call's id; names the spill file of large output.
    pub id: String,
    /// Cancelled on interrupt: the call cleans up after itself and returns within two seconds.
    pub cancel: CancellationToken,
    /// Output as it comes, for the screen. Never waited for: a full queue drops chunks.
    pub progress: mpsc::Sender<String>,
    pub beside: BesideResult,
    pub images: ResultImages,
}

/// Images that a call adds to its result, for the model.
#[derive(Clone, Default)]
pub struct ResultImages(Arc<Mutex<Vec<ImageRef>>>);

impl ResultImages {
    pub fn add(&self, image: ImageRef) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(image);
    }

    pub fn take(&self) -> Vec<Content> {
        let images = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        images.into_iter().map(|image| Content::Image(Box::new(image))).collect()
    }
}

/// Where a call leaves what people are told of it besides its result.
#[derive(Clone, Default)]
pub struct BesideResult(Arc<Mutex<Beside>>);

impl BesideResult {
    pub fn set(&self, change: impl FnOnce(&mut Beside)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// None where there is nothing to tell.
    pub fn take(&self) -> Option<Box<Beside>> {
        let beside = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        (beside != Beside::default()).then(|| Box::new(beside))
    }
}

/// What work on files that hangs gets to finish after an interrupt: its result should be known if it can be.
const FINISH: Duration = Duration::from_millis(1500);

/// For work that changes files, which may block.
pub async fn off_thread(
    run: ToolRunContext,
    work: impl FnOnce() -> Result<Value, ToolError> + Send + 'static,
) -> ToolOutput {
    if run.cancel.is_cancelled() {
        return ToolOutput::error(ToolCode::Interrupted, "interrupted before anything was changed");
    }
    let working = tokio::task::spawn_blocking(work);
    let late = async {
        run.cancel.cancelled().await;
        tokio::time::sleep(FINISH).await;
    };
    tokio::select! {
        done = working => match done {
            Ok(result) => result.into(),
            Err(_) => ToolOutput::error(ToolCode::WriteError, "the tool failed; whether the file was changed is unknown"),
        },
        () = late => ToolOutput::error(ToolCode::Interrupted, "interrupted; whether the file was changed is unknown"),
    }
}

/// For work that changes these files: nobody else changes them meanwhile.
async fn off_thread_locked(
    run: ToolRunContext,
    workspace: Arc<Workspace>,
    paths: Vec<PathBuf>,
    work: impl FnOnce(&Workspace) -> Result<Value, ToolError> + Send + 'static,
) -> ToolOutput {
    let (cancel, id) = (run.cancel.clone(), run.id.clone());
    off_thread(run, move || {
        let locked = workspace.lock_paths(paths, &|| cancel.is_cancelled());
        let _guard = locked.map_err(change::not_locked)?;
        workspace.journal().begin_call(&id);
        work(&workspace)
    })
    .await
}

async fn expired(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
