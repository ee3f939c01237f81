//! The `bash` tool whole: prepared, run, and told in the envelope.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::{ToolCode, ToolOutput};
use zdx_tools::registry::ToolRegistry;
use zdx_tools::{ToolContext, ToolRunContext};
use zdx_workspace::Workspace;

use crate::kit::{Bench, trial};
use crate::wait::until_made;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_result_has_the_four_fields_and_no_more", plain),
        trial("a_signal_is_128_and_its_number", signal),
        trial("a_timeout_is_a_result_not_an_error", timeout),
        trial("the_configured_limit_cannot_be_exceeded", capped),
        trial("long_binary_and_background_are_told", extras),
        trial("an_interrupt_is_an_error_with_what_was_said", interrupted),
        trial("a_supervisor_that_cannot_start_is_an_error", no_supervisor),
    ]
}

struct Desk {
    bench: Bench,
    timeout: Option<Duration>,
}

impl Desk {
    fn new(timeout: Option<Duration>) -> Self {
        Self { bench: Bench::new(), timeout }
    }

    async fn call(self, input: Value, cancel: CancellationToken) -> ToolOutput {
        let workspace = Arc::new(Workspace::open(self.bench.dir.path()).unwrap());
        let cx = ToolContext {
            workspace,
            shell: Arc::new(self.bench.shell),
            timeout: self.timeout,
            todos: Arc::default(),
            content: Arc::default(),
        };
        let registry = ToolRegistry::standard();
        let bash = registry.find("bash").unwrap();
        let prepared = bash.prepare(input.as_object().unwrap().clone(), &cx).unwrap();
        let (progress, _from) = mpsc::channel(4);
        (prepared.run)(ToolRunContext {
            id: "call_1".to_owned(),
            cancel,
            progress,
            beside: Default::default(),
            images: Default::default(),
        })
        .await
    }

    async fn ok(self, input: Value) -> Value {
        match self.call(input, CancellationToken::new()).await {
            ToolOutput::Ok(data) => data,
            ToolOutput::Err(error) => panic!("{error}"),
        }
    }
}

async fn plain() {
    let data = Desk::new(None).ok(json!({"command": "echo out; echo err >&2; false"})).await;
    assert_eq!(data, json!({"stdout": "out\n", "stderr": "err\n", "exit_code": 1, "timed_out": false}));
}

async fn signal() {
    let data = Desk::new(None).ok(json!({"command": "kill -TERM $$"})).await;
    assert_eq!(data["exit_code"], 143);
}

async fn timeout() {
    let desk = Desk::new(Some(Duration::from_secs(2)));
    let data = desk.ok(json!({"command": "echo out; printf err >&2; sleep 100"})).await;
    let stderr = "err\nzdx: timed out after 2 s; the command and everything it started were stopped\n";
    assert_eq!(data, json!({"stdout": "out\n", "stderr": stderr, "exit_code": -1, "timed_out": true}));
}

async fn capped() {
    let desk = Desk::new(Some(Duration::from_millis(100)));
    assert_eq!(desk.ok(json!({"command": "sleep 100", "timeout_secs": 90})).await["timed_out"], true);
    let desk = Desk::new(None);
    assert_eq!(desk.ok(json!({"command": "sleep 100", "timeout_secs": "1"})).await["timed_out"], true);
}

async fn extras() {
    let command = "seq 100000; printf 'a\\000' >&2; sleep 100 >/dev/null 2>&1 &";
    let data = Desk::new(None).ok(json!({"command": command})).await;
    for field in ["truncated", "binary", "background"] {
        assert_eq!(data[field], true, "{field}");
    }
    let file = data["stdout_file"].as_str().unwrap();
    assert!(file.ends_with("/spill/call_1.stdout"), "{file}");
    assert!(data["stdout"].as_str().unwrap().contains(file));
}

async fn interrupted() {
    let desk = Desk::new(None);
    let dir = desk.bench.dir.path().to_owned();
    let cancel = CancellationToken::new();
    let call = desk.call(json!({"command": "echo working; touch ready; sleep 100"}), cancel.clone());
    let (output, ()) = tokio::join!(call, async {
        until_made(&dir, &["ready"]).await;
        cancel.cancel();
    });
    let ToolOutput::Err(error) = output else { panic!("it ended") };
    assert_eq!(error.code, ToolCode::Interrupted);
    assert!(error.message.ends_with("\nstdout so far: working\n"), "{error}");
}

async fn no_supervisor() {
    let mut desk = Desk::new(None);
    desk.bench = Bench::under("/nonexistent/zdx".into());
    let ToolOutput::Err(error) = desk.call(json!({"command": "true"}), CancellationToken::new()).await else {
        panic!("it ran")
    };
    assert_eq!(error.code, ToolCode::ExecError);
    assert!(error.message.starts_with("could not start /nonexistent/zdx: "), "{error}");
}
