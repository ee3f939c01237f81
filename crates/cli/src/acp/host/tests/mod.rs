//! The host as an agent sees it, on real files and real processes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod files;
mod permissions;
mod terminals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use zdx_acp::{Host, HostRequest, Params, RpcError, serve_request};
use zdx_guard::PolicyContext;
use zdx_protocol::Approval;
use zdx_protocol::redact::Redactor;
use zdx_tools::{Shell, ShellSettings};

use super::{ClientHost, HostEvent, Reach};

/// A workspace with a folder beside it that is nobody's business.
struct Place {
    _all: TempDir,
    root: PathBuf,
    outside: PathBuf,
    host: ClientHost,
    events: UnboundedReceiver<HostEvent>,
}

impl Place {
    fn new(reach: Reach) -> Self {
        let all = tempfile::tempdir().unwrap();
        let base = all.path().canonicalize().unwrap();
        let (root, outside) = (base.join("root"), base.join("outside"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret.txt"), "secret\n").unwrap();
        let (tell, events) = tokio::sync::mpsc::unbounded_channel();
        let policy =
            PolicyContext { home: Some(outside.clone()), ..PolicyContext::new(&root, Approval::Balanced) };
        let host = ClientHost::new(&root, root.join("../locks"), reach, policy, shell(), tell).unwrap();
        Self { _all: all, root, outside, host, events }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Nothing here may hang.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let request = HostRequest { params: Params(params), number: 1, cancel: self.host.request_token() };
        let answer = serve_request(&self.host, method, request);
        let asked = tokio::time::timeout(Duration::from_secs(60), answer);
        asked.await.unwrap_or_else(|_| panic!("{method} hangs"))
    }

    fn told(&mut self) -> Vec<HostEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

fn shell() -> Shell {
    // Tests of a program lie in a folder beside it.
    let test = std::env::current_exe().unwrap();
    let supervisor = test.ancestors().nth(2).unwrap().join("zdx");
    assert!(supervisor.exists(), "{} is not built", supervisor.display());
    Shell::new(ShellSettings {
        supervisor,
        env: std::env::vars_os().collect(),
        env_pass: Vec::new(),
        spill_dir: None,
        redactor: Arc::new(Redactor::new::<&str>([]).unwrap()),
    })
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
