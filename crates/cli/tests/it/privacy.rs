//! What zdx has in its environment and memory stays there, whatever a command tries.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply};

use crate::turns::chat_results;
use crate::with_model;

/// Looks into itself, then into everybody it descends from, up to zdx.
const LOOK: &str = r#"
look() {
    if (: < "/proc/$1/mem") 2>/dev/null; then echo "mem $2 open"; else echo "mem $2 closed"; fi
    found=$( (cat "/proc/$1/environ" | tr '\0' '\n' | grep -c 'nobody-reads') 2>/dev/null)
    echo "environ $2 shows $found"
}
PLANTED_KEY=nobody-reads sh -c 'grep -c nobody-reads /proc/$$/environ'
look $$ own
pid=$$
while [ "$pid" -gt 1 ]; do
    pid=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status")
    line=$(tr '\0' ' ' < "/proc/$pid/cmdline")
    case "$line" in
    *__supervise*) look "$pid" supervisor ;;
    *"exec -p"*) look "$pid" zdx; exit ;;
    *) echo "passed $line" ;;
    esac
done
"#;

#[test]
fn no_command_reads_the_environment_or_the_memory_of_zdx() {
    let server = ModelServer::start();
    let zdx = with_model(&server).env("PLANTED_KEY", "a-key-that-nobody-reads-4711");
    zdx.write("look.sh", LOOK);
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "sh look.sh"})));
    server.push(Reply::chat().text("seen"));
    zdx.run(["exec", "-p", "look", "--yolo"]).success();
    let result = chat_results(&server.calls()[1]).pop().unwrap().1;
    let seen = result["data"]["stdout"].as_str().unwrap_or_default();
    let looks: Vec<&str> = seen.lines().filter(|line| !line.starts_with("passed")).collect();
    let expected = [
        // That it can be found at all.
        "1",
        "mem own open",
        "environ own shows 0",
        "mem supervisor closed",
        "environ supervisor shows 0",
        "mem zdx closed",
        "environ zdx shows 0",
    ];
    assert_eq!(looks, expected, "{result}");
}

/// What root may look into in spite of that is not what a command of ours may.
#[test]
fn a_command_has_no_capability_to_look_into_other_processes() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let sets = "sed -n 's/^Cap[IPEBA][a-z]*:[^0-9a-f]*//p' /proc/self/status";
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": sets})));
    server.push(Reply::chat().text("seen"));
    zdx.run(["exec", "-p", "look", "--yolo"]).success();
    let result = chat_results(&server.calls()[1]).pop().unwrap().1;
    let sets = result["data"]["stdout"].as_str().unwrap_or_default();
    let sets: Vec<u64> = sets.lines().map(|set| u64::from_str_radix(set, 16).unwrap()).collect();
    assert_eq!(sets.len(), 5, "{result}");
    const SYS_PTRACE: u64 = 1 << 19;
    // Who was never root keeps a bound that means nothing to him.
    let held = if rustix::process::geteuid().is_root() { &sets[..] } else { &sets[..3] };
    assert!(held.iter().all(|set| set & SYS_PTRACE == 0), "{sets:x?}");
}

/// A path is known before anything runs, in every preset.
#[test]
fn the_environment_of_another_process_is_confirmed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for (tool, input) in [
        ("bash", json!({"command": "base64 /proc/$PPID/environ"})),
        ("read", json!({"path": "/proc/1/environ"})),
        ("grep", json!({"pattern": "KEY", "path": "/proc/1"})),
    ] {
        let calls = server.calls().len();
        server.push(Reply::chat().tool_call("c1", tool, input));
        server.push(Reply::chat().text("heard"));
        zdx.run(["exec", "-p", "look", "--yolo"]).success();
        let result = chat_results(&server.calls()[calls + 1]).pop().unwrap().1;
        assert_eq!(result["error"]["code"], "approval_required", "{tool} {result}");
    }
}
