//! The file tools as the engine uses them: prepared, then run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;
use zdx_protocol::Operation;

use super::registry::ToolRegistry;
use super::*;

mod edits;
mod patches;
mod reads;
mod searches;
mod todos;
mod writes;

struct Desk {
    dir: tempfile::TempDir,
    registry: ToolRegistry,
    cx: ToolContext,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shell = Shell::new(ShellSettings {
            supervisor: PathBuf::from("/nonexistent"),
            env: Vec::new(),
            env_pass: Vec::new(),
            spill_dir: None,
            redactor: std::sync::Arc::new(zdx_protocol::redact::Redactor::new::<&str>([]).unwrap()),
        });
        let workspace = Arc::new(Workspace::open(dir.path()).unwrap());
        let timeout = Some(Duration::from_secs(30));
        let cx = ToolContext {
            workspace,
            shell: Arc::new(shell),
            todos: Arc::default(),
            content: Arc::default(),
            timeout,
        };
        Self { dir, registry: ToolRegistry::standard(), cx }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let desk = Self::new();
        for (name, content) in files {
            fs::write(desk.path(name), content).unwrap();
        }
        desk
    }

    /// Canonical, as results name it.
    fn path(&self, name: &str) -> PathBuf {
        self.cx.workspace.root().join(name)
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn prepare(&self, tool: &str, input: Value) -> Result<PreparedCall, ToolError> {
        let Value::Object(input) = input else { panic!("{input}") };
        self.registry.find(tool).unwrap().prepare(input, &self.cx)
    }

    fn call(&self, tool: &str, input: Value) -> ToolOutput {
        match self.prepare(tool, input) {
            Ok(prepared) => run(prepared),
            Err(error) => ToolOutput::Err(error),
        }
    }

    fn ok(&self, tool: &str, input: Value) -> Value {
        match self.call(tool, input) {
            ToolOutput::Ok(data) => data,
            ToolOutput::Err(error) => panic!("{error}"),
        }
    }

    fn err(&self, tool: &str, input: Value) -> (ToolCode, String) {
        match self.call(tool, input) {
            ToolOutput::Ok(data) => panic!("{data}"),
            ToolOutput::Err(ToolError { code, message }) => (code, message),
        }
    }
}

fn run(prepared: PreparedCall) -> ToolOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (progress, _) = mpsc::channel(1);
    let cx = ToolRunContext {
        id: "call_1".to_owned(),
        cancel: CancellationToken::new(),
        progress,
        beside: Default::default(),
        images: Default::default(),
    };
    runtime.block_on((prepared.run)(cx))
}

#[test]
fn missing_and_malformed_fields_are_named() {
    let desk = Desk::new();
    for (tool, input, message) in [
        ("read", json!({}), "`path` is missing: text is expected"),
        ("read", json!({"path": "x", "limit": 0}), "`limit` must be a whole number of at least 1, not 0"),
        ("write", json!({"path": "x"}), "`content` is missing: text is expected"),
        ("write", json!({"path": "x", "content": {"a": 1}}), "`content` must be text, not an object"),
        ("edit", json!({"path": "x", "old": "a"}), "`new` is missing: text is expected"),
        ("bash", json!({"command": " "}), "`command` is empty"),
        (
            "bash",
            json!({"command": "true", "timeout_secs": "soon"}),
            "`timeout_secs` must be a whole number of at least 1, not \"soon\"",
        ),
        ("read", json!({"path": ""}), "the path is empty"),
    ] {
        assert_eq!(desk.err(tool, input), (ToolCode::InvalidInput, message.to_owned()));
    }
}

#[test]
fn what_is_judged_is_what_the_path_really_is() {
    let desk = Desk::with(&[("file", "x")]);
    symlink("file", desk.path("link")).unwrap();
    symlink("/etc", desk.path("etc")).unwrap();
    let action = |tool: &str, input| desk.prepare(tool, input).unwrap().action;
    let target =
        |path: PathBuf, inside, exists| vec![zdx_protocol::Target { path, inside, exists, led_out: !inside }];
    assert_eq!(
        action("read", json!({"path": "link"})),
        Action::Read { tool: "read".into(), targets: target(desk.path("file"), true, true) }
    );
    assert_eq!(
        action("write", json!({"path": "etc/zdx-new", "content": ""})),
        Action::Write { tool: "write".into(), targets: target("/etc/zdx-new".into(), false, false) }
    );
    assert_eq!(
        action("edit", json!({"path": "link", "old": "x", "new": "y"})),
        Action::Write { tool: "write".into(), targets: target(desk.path("file"), true, true) }
    );
    let command = Action::Command {
        command: "ls".into(),
        cwd: desk.path("").components().collect(),
        origin: zdx_protocol::Origin::Model,
    };
    assert_eq!(action("bash", json!({"cmd": "ls"})), command);
    // Preparing has touched nothing.
    assert_eq!(desk.content("file"), "x");
    assert_eq!(fs::read_dir(desk.dir.path()).unwrap().count(), 3);
}
