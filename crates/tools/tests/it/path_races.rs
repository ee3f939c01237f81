//! The way of a whole call (prepared, judged, run) while folders and files change places with links to the outside.
//!
//! Paths are walked from a held descriptor with no link followed; `openat2` is not used at all, so there is no second
//! way that a kernel without it would take, and nothing to force here: this is the way of every kernel.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use zdx_guard::{LayerSource, PolicyContext, Rules, judge};
use zdx_protocol::{Approval, ToolOutput, Verdict};
use zdx_tools::registry::ToolRegistry;
use zdx_tools::{Shell, ShellSettings};
use zdx_tools::{TodoList, ToolContext, ToolRunContext};
use zdx_workspace::Workspace;

/// Calls of each kind that reach a file; `ZDX_STRESS` makes it as many as that.
const CALLS: usize = 300;
/// A machine too busy to show a race in this time shows none.
const PATIENCE: Duration = Duration::from_secs(60);

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    tools: ToolContext,
    policy: PolicyContext,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    fs::create_dir_all(root.join("folder")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "outside").unwrap();
    fs::write(root.join("folder/file"), "inside").unwrap();
    fs::write(root.join("plain"), "inside").unwrap();
    symlink(&outside, root.join("folder-link")).unwrap();
    symlink(outside.join("file"), root.join("plain-link")).unwrap();
    let shell = Shell::new(ShellSettings {
        supervisor: PathBuf::from("/nonexistent"),
        env: Vec::new(),
        env_pass: Vec::new(),
        spill_dir: None,
        redactor: Arc::new(zdx_protocol::redact::Redactor::new::<&str>([]).unwrap()),
    });
    let tools = ToolContext {
        workspace: Arc::new(Workspace::open(&root).unwrap()),
        shell: Arc::new(shell),
        todos: Arc::new(TodoList::new(Vec::new())),
        content: Arc::default(),
        timeout: None,
    };
    // Writing is allowed here, leaving is not: what gets out got past the jail.
    let mut rules = Rules::base();
    let permission = json!({"write": "allow"});
    let layer = LayerSource { trusted: true, permission: Some(&permission), ..LayerSource::default() };
    rules.add(&layer).unwrap();
    let policy = PolicyContext { rules: Arc::new(rules), ..PolicyContext::new(&root, Approval::Balanced) };
    Place { _dir: dir, root, outside, tools, policy }
}

/// What became of a call: nothing when it was held back before anything was opened.
async fn call(place: &Place, registry: &ToolRegistry, name: &str, input: Value) -> Option<ToolOutput> {
    let Value::Object(input) = input else { return None };
    let prepared = registry.find(name)?.prepare(input, &place.tools).ok()?;
    if judge(&prepared.action, &place.policy) != Verdict::Allow {
        return None;
    }
    let (progress, _) = tokio::sync::mpsc::channel(1);
    let context = ToolRunContext {
        id: "c1".to_owned(),
        cancel: CancellationToken::new(),
        progress,
        beside: Default::default(),
        images: Default::default(),
    };
    Some((prepared.run)(context).await)
}

fn swap(a: &Path, b: &Path) {
    let _ = renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
}

#[test]
fn no_call_leaves_the_workspace_in_a_race() {
    let wanted = std::env::var("ZDX_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(CALLS);
    let place = place();
    let registry = ToolRegistry::standard();
    let done = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut done_calls = [0_usize; 2];
    let mut refused = 0_usize;
    let begun = Instant::now();
    let mut moved = begun;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&place.root.join("folder"), &place.root.join("folder-link"));
                swap(&place.root.join("plain"), &place.root.join("plain-link"));
            }
        });
        runtime.block_on(async {
            let mut number = 0_usize;
            while (done_calls.iter().any(|count| *count < wanted) && moved.elapsed() < PATIENCE)
                || (refused == 0 && begun.elapsed() < PATIENCE)
            {
                number += 1;
                let path = if number.is_multiple_of(2) { "folder/file" } else { "plain" };
                let read = call(&place, &registry, "read", json!({ "path": path })).await;
                let content = format!("inside {number}");
                let write = call(&place, &registry, "write", json!({"path": path, "content": content})).await;
                for (kind, output) in [read, write].into_iter().enumerate() {
                    match output {
                        Some(ToolOutput::Ok(data)) => {
                            assert!(!data.to_string().contains("outside"), "{data}");
                            done_calls[kind] += 1;
                            moved = Instant::now();
                        }
                        Some(ToolOutput::Err(_)) => {
                            refused += 1;
                            done_calls[kind] += 1;
                        }
                        None => {}
                    }
                }
            }
        });
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read(place.outside.join("file")).unwrap(), b"outside");
    let names: Vec<_> =
        fs::read_dir(&place.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file"], "something was left outside");
    assert!(done_calls.iter().all(|count| *count >= wanted), "only {done_calls:?} calls got through");
    assert!(refused > 0, "no race was met");
    eprintln!("{done_calls:?} reads and writes, {refused} of them stopped at a swapped link");
}
