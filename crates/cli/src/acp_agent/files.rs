//! The files that a client has open, lent to the engine of a session. Asked from threads that may wait; the answers come
//! over the same connection as everything else.

use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use zdx_acp::{CallError, Peer};
use zdx_protocol::EditorFiles;

use super::open::Shared;
use super::params::Client;

/// An editor that does not say what it has is not waited for any longer: the disk is read.
const TO_READ: Duration = Duration::from_secs(10);
/// Formatters run when an editor saves.
const TO_WRITE: Duration = Duration::from_secs(30);

pub struct Lent {
    peer: Peer,
    client: Client,
    runtime: Handle,
    /// Known once the session is open; before, nothing of the client is used.
    session: OnceLock<String>,
}

impl Lent {
    /// Nothing where the client lends none.
    pub fn new(shared: &Shared) -> Option<Arc<Self>> {
        let Shared { peer, client, .. } = shared;
        let lent = Self {
            peer: peer.clone(),
            client: *client,
            runtime: Handle::try_current().ok()?,
            session: OnceLock::new(),
        };
        (client.reads || client.writes).then(|| Arc::new(lent))
    }

    pub fn to(&self, session: &str) {
        // It is opened once.
        let _ = self.session.set(session.to_owned());
    }

    fn call(&self, method: &'static str, mut params: Value, wait: Duration) -> Option<Result<Value, String>> {
        params["sessionId"] = json!(self.session.get()?);
        let (send, answer) = channel();
        let peer = self.peer.clone();
        self.runtime.spawn(async move {
            let answer = tokio::time::timeout(wait, peer.call(method, params)).await;
            // Whoever waited may have given up.
            let _ = send.send(answer);
        });
        Some(match answer.recv() {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(CallError::Refused(error)))) => Err(error.message),
            Ok(Ok(Err(CallError::Gone))) | Err(_) => Err("it is gone".to_owned()),
            Ok(Err(_)) => Err("it did not answer in time, and may still do so".to_owned()),
        })
    }
}

impl EditorFiles for Lent {
    fn read(&self, path: &Path) -> Option<String> {
        let params = json!({"path": path.to_str().filter(|_| self.client.reads)?});
        let answer = self.call("fs/read_text_file", params, TO_READ)?.ok()?;
        answer["content"].as_str().map(str::to_owned)
    }

    fn writes(&self) -> bool {
        self.client.writes
    }

    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        let params = json!({"path": path.to_str().filter(|_| self.client.writes)?, "content": text});
        Some(self.call("fs/write_text_file", params, TO_WRITE)?.map(drop))
    }
}
