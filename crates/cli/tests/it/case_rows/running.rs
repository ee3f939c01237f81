//! What runs, and who can reach it, while zdx does.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Reply};

use crate::poisoned::Trap;
use crate::{SOON, hold_before, with_model};

#[test]
pub fn values_of_a_repository_reach_no_shell() {
    let trap = Trap::new();
    let inject = format!("x; {0}; $({0}) `{0}` & {0} |{0}\\n{0}", trap.touch);
    trap.write(".git/HEAD", format!("ref: refs/heads/{}\n", inject.replace(' ', "${IFS}")));
    trap.write(
        ".git/config",
        format!("[user]\n email = \"{inject}\"\n name = \"{inject}\"\n[remote \"{inject}\"]\n url = \"ext::{}\"\n", trap.touch),
    );
    trap.write("package.json", json!({"name": inject, "version": inject}).to_string());
    trap.write("Cargo.toml", format!("[package]\nname = '''{inject}'''\n"));
    for args in [&["exec", "-p", "hello"][..], &["config", "show"], &["sessions", "list"], &["handoff"]] {
        trap.command(args).run();
        trap.assert_untouched(&format!("{args:?}"));
    }
    let mut pty = trap.command(&[]).line_mode(40, 100);
    crate::chat::wait_for_prompt(&pty);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    trap.assert_untouched("chat");
}

#[test]
pub fn nothing_of_a_package_manager_starts_with_a_session() {
    let trap = Trap::new();
    for name in ["yarn", "npm", "pnpm", "corepack", "bun", "deno", "cargo", "go", "python", "pip", "ruby"] {
        trap.executable(&trap.zdx.home().join("bin").join(name));
        trap.executable(&trap.zdx.root().join(name));
    }
    trap.write(
        "package.json",
        format!(
            "{{\"packageManager\":\"yarn@4.0.0\",\"scripts\":{{\"test\":\"{0}\",\"preinstall\":\"{0}\"}}}}",
            trap.touch
        ),
    );
    trap.write(".yarnrc.yml", "yarnPath: ./evil.js\n");
    trap.write("evil.js", format!("require('child_process').execSync('{}')", trap.touch));
    for file in ["Cargo.toml", "go.mod", "pyproject.toml", "Makefile", "tsconfig.json"] {
        trap.write(file, "");
    }
    trap.command(&["exec", "-p", "hello"]).run().success();
    trap.assert_untouched("exec");
    let mut pty = trap.command(&[]).line_mode(40, 100);
    crate::chat::wait_for_prompt(&pty);
    pty.send("hello\r");
    trap.model.wait_for_call(2, SOON);
    crate::chat::wait_for_prompt(&pty);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    trap.assert_untouched("chat");
}

#[cfg(target_os = "linux")]
#[test]
pub fn nobody_can_connect_to_a_running_zdx() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call(
        "c1",
        "bash",
        json!({"command": "echo hi & sleep 30 >/dev/null 2>&1 &"}),
    ));
    server.push(hold_before(Reply::chat().text("held").done(), "held", &gate));
    let zdx = with_model(&server);
    let running = zdx.command().args(["exec", "--yolo", "-p", "go"]).spawn();
    gate.wait_reached(SOON);
    let ours = sockets_of(running.pid());
    assert!(!ours.is_empty(), "it is connected to its model");
    let listening: Vec<String> = listening_sockets().intersection(&ours).cloned().collect();
    assert_eq!(listening, [] as [&str; 0]);
    // The looking itself can see one.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(!listening_sockets().is_disjoint(&sockets_of(std::process::id())));
    drop(listener);
    gate.open();
    running.finish(SOON).success();
}

/// The inodes of the sockets that a process and its children have open.
fn sockets_of(pid: u32) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let inode = target
            .to_str()
            .and_then(|text| text.strip_prefix("socket:["))
            .map(|text| text.trim_end_matches(']'));
        found.extend(inode.map(str::to_owned));
    }
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    for task in tasks {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(children.split_whitespace().flat_map(|child| sockets_of(child.parse().unwrap())));
    }
    found
}

fn listening_sockets() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        let rows = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        found.extend(rows.filter(|row| row[3] == "0A").map(|row| row[9].to_owned()));
    }
    let text = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let rows = text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    // __SO_ACCEPTCON: it takes connections.
    found.extend(rows.filter(|row| row[3] == "00010000").map(|row| row[6].to_owned()));
    found
}
