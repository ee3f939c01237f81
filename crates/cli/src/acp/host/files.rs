//! `fs/read_text_file` and `fs/write_text_file`. A file is given whole or not at all, so that no agent writes back what was
//! cut without its knowing.

use std::sync::Arc;

use serde_json::{Value, json};
use zdx_acp::{Params, RpcError, code};
use zdx_engine::agents::{Lines, file_fault, text_of};
use zdx_protocol::Target;

use super::judged::{Judged, Touch};
use super::{Events, HostEvent};

pub(super) async fn read(judged: &Arc<Judged>, events: &Events, params: &Params) -> Result<Value, RpcError> {
    let named = params.text("path")?;
    let lines = Lines::of(params.count_if_any("line")?, params.count_if_any("limit")?);
    let target = allowed(judged, events, Touch::Read, named)?;
    let judged = Arc::clone(judged);
    let content = off_thread(move || text_of(&judged.workspace, &target, lines).map(Value::String)).await?;
    Ok(json!({"content": content}))
}

pub(super) async fn write(
    judged: &Arc<Judged>,
    events: &Events,
    mut params: Params,
) -> Result<Value, RpcError> {
    let content = params.take_text("content")?;
    let target = allowed(judged, events, Touch::Write, params.text("path")?)?;
    let (judged, events) = (Arc::clone(judged), events.clone());
    off_thread(move || {
        let written = judged.workspace.replace_locked(&target, content.as_bytes());
        if let Some(weakness) = judged.workspace.take_lock_weakness() {
            events.tell(HostEvent::Warning(weakness));
        }
        written
            .map(|()| json!({}))
            .map_err(|error| file_fault(&target.path.display().to_string(), &error.code(), error.to_string()))
    })
    .await
}

/// The file that is meant, if it may be touched.
fn allowed(judged: &Judged, events: &Events, touch: Touch, named: &str) -> Result<Target, RpcError> {
    let target = judged.workspace.resolve(named);
    let target = target.map_err(|error| file_fault(named, &error.code(), error.to_string()))?;
    judged.files(touch, vec![target.clone()]).map_err(|why| {
        let what = match touch {
            Touch::Read => "read",
            Touch::Write => "write",
        };
        events.refused(format!("{what} {named}: {why}"));
        RpcError::new(code::INVALID_REQUEST, format!("not allowed: {why}"))
    })?;
    Ok(target)
}

/// A file system may hang.
async fn off_thread(
    work: impl FnOnce() -> Result<Value, RpcError> + Send + 'static,
) -> Result<Value, RpcError> {
    let failed = |_| RpcError::new(code::INTERNAL, "the file could not be handled");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}
