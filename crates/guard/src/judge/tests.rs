mod folders;
mod grants;

use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::{LayerSource, MapView, Rules};

fn cx(approval: Approval) -> PolicyContext {
    let mut disk = MapView::default();
    for path in ["/w", "/etc", "/tmp", "/home/me"] {
        disk.insert(path, crate::FileEntry::Dir);
    }
    disk.insert("/w/existing.txt", crate::FileEntry::File);
    disk.insert("/w/sub/other.txt", crate::FileEntry::File);
    PolicyContext {
        home: Some("/home/me".into()),
        files: Arc::new(disk),
        ..PolicyContext::new("/w", approval)
    }
}

fn run(command: &str, cx: &PolicyContext) -> Verdict {
    judge(&Action::Command { command: command.to_owned(), cwd: "/w".into(), origin: Origin::Model }, cx)
}

fn write(path: &str, cx: &PolicyContext) -> Verdict {
    let path = PathBuf::from(path);
    let target = Target { inside: path.starts_with("/w"), exists: false, led_out: false, path };
    judge(&Action::Write { tool: "write".to_owned(), targets: vec![target] }, cx)
}

#[test]
fn a_file_that_is_not_there_is_created() {
    let balanced = cx(Approval::Balanced);
    let why = |exists| {
        let target = Target { path: "/w/a".into(), inside: true, exists, led_out: false };
        let verdict = judge(&Action::Write { tool: "write".to_owned(), targets: vec![target] }, &balanced);
        verdict.reason().map(|reason| reason.message.clone()).unwrap_or_default()
    };
    assert_eq!(why(false), "it creates a file; the rules ask first");
    assert_eq!(why(true), "it changes a file; the rules ask first");
}

fn code(verdict: &Verdict) -> Option<ReasonCode> {
    verdict.reason().map(|reason| reason.code)
}

/// The base table with one layer of the user's above it.
fn global(permission: &serde_json::Value) -> Arc<Rules> {
    let mut rules = Rules::base();
    rules
        .add(&LayerSource {
            origin: "global".into(),
            trusted: true,
            permission: Some(permission),
            ..LayerSource::default()
        })
        .unwrap();
    Arc::new(rules)
}

#[test]
fn approval_modes_move_what_rules_ask_and_never_a_floor() {
    let (yolo, balanced, paranoid) = (cx(Approval::Yolo), cx(Approval::Balanced), cx(Approval::Paranoid));
    for (command, expected) in [
        ("cargo test", [Level::Allow, Level::Ask, Level::Ask]),
        ("ls", [Level::Allow, Level::Allow, Level::Ask]),
        ("cat /etc/passwd", [Level::Allow, Level::Ask, Level::Ask]),
        ("rm x", [Level::Confirm; 3]),
        ("echo hi > existing.txt", [Level::Confirm; 3]),
        ("sudo ls", [Level::Deny; 3]),
        ("rm -rf ~", [Level::Deny; 3]),
        ("rm -rf ..", [Level::Deny; 3]),
        ("rm -rf /*", [Level::Deny; 3]),
    ] {
        let got = [&yolo, &balanced, &paranoid].map(|cx| run(command, cx).level());
        assert_eq!(got, expected, "{command}");
    }
    assert_eq!(judge(&Action::Todo, &paranoid), Verdict::Allow);
    assert_eq!(write("/w/.git/config", &yolo).level(), Level::Confirm);
    assert_eq!(write("/w/AGENTS.md", &balanced).level(), Level::Ask);
    assert_eq!(write("/home/me/x", &balanced).level(), Level::Ask);
    assert_eq!(write("/home/me/x", &yolo).level(), Level::Allow);
    assert_eq!(code(&write("/dev/sda", &yolo)), Some(ReasonCode::Forbidden));
}

#[test]
fn what_a_person_typed_is_only_confirmed_or_refused_by_rules() {
    let mut cx = cx(Approval::Balanced);
    let typed = |command: &str, cx: &PolicyContext| {
        judge(&Action::Command { command: command.to_owned(), cwd: "/w".into(), origin: Origin::User }, cx)
            .level()
    };
    assert_eq!(typed("cargo test", &cx), Level::Allow);
    assert_eq!(typed("cat /etc/passwd", &cx), Level::Allow);
    assert_eq!(typed("rm x", &cx), Level::Confirm);
    assert_eq!(typed("sudo ls", &cx), Level::Confirm);
    let permission = serde_json::json!({"bash": {"curl *": "deny"}});
    cx.rules = global(&permission);
    assert_eq!(typed("curl x", &cx), Level::Deny);
}

#[test]
fn nobody_to_ask_means_a_denial_that_names_the_way_out() {
    let mut cx = cx(Approval::Yolo);
    cx.person = false;
    assert_eq!(run("cargo test", &cx), Verdict::Allow);
    let refused = run("echo hi > existing.txt", &cx);
    assert_eq!((refused.level(), code(&refused)), (Level::Deny, Some(ReasonCode::ApprovalRequired)));
    assert!(refused.reason().unwrap().message.contains("use the write tool"), "{refused:?}");
    assert!(run("rm x", &cx).reason().unwrap().message.contains("--allow-dangerous"));
    cx.allow_dangerous = true;
    assert_eq!(run("rm x", &cx), Verdict::Allow);
    assert_eq!(code(&run("sudo rm x", &cx)), Some(ReasonCode::Forbidden));
    cx.approval = Approval::Balanced;
    assert_eq!(code(&run("cargo test", &cx)), Some(ReasonCode::ApprovalRequired));
}

#[test]
fn every_reason_for_a_verdict_is_named_once_and_not_too_many() {
    let cx = cx(Approval::Balanced);
    for (command, message) in [
        ("rm -rf build && mv a b; rm -rf build", "rm removes build; mv moves or replaces a and b"),
        (
            "echo x > existing.txt; find . -exec rm {} +; cargo test",
            "it overwrites existing.txt; rm removes files that are not known before it runs; what it finds may be a \
             protected path",
        ),
        ("rm -rf build dist target", "rm removes build, dist and target"),
        (
            "git commit --allow-empty --no-verify -m x",
            "it commits; the options --allow-empty, --no-verify are not known; the rules ask first",
        ),
        (
            "rm a; rm b; rm c; rm d; rm e; rm f",
            "rm removes a; rm removes b; rm removes c; rm removes d; and 2 more",
        ),
        ("frob && nicate --x | tail; ls", "it runs frob, nicate; the rules ask first"),
        ("touch a b > c", "it creates c; it changes a; it changes b; the rules ask first"),
        (
            "cat 'x'{a,b}.rs",
            "it runs cat with words that are not literal, which no allowing rule covers; the rules ask first",
        ),
        (
            "sudo ls; cat /etc/passwd",
            "sudo acts as another user; no setting lifts this for a model; only a person may run it",
        ),
        ("cat /etc/passwd", "/etc/passwd lies outside the workspace"),
    ] {
        assert_eq!(run(command, &cx).reason().unwrap().message, message, "{command}");
    }
    assert_eq!(
        run("touch a && cargo b", &cx).reason().unwrap().rule.as_deref(),
        Some("bash = ask (built-in)")
    );
}

#[test]
fn who_allows_or_asks_is_named() {
    let of = |command: &str, approval| explain(command, Origin::Model, &cx(approval)).parts[0].reason.clone();
    assert_eq!(of("ls", Approval::Balanced), "a rule allows it");
    assert_eq!(of("git log", Approval::Yolo), "the approval mode yolo allows it");
    assert_eq!(
        of("ls", Approval::Paranoid),
        "it runs ls; the approval mode paranoid asks about what rules allow"
    );
    let both = run("ls; git log", &cx(Approval::Paranoid)).reason().unwrap().message.clone();
    assert_eq!(
        both,
        "it runs ls, git; the rules ask first; the approval mode paranoid asks about what rules allow"
    );
}

#[test]
fn the_way_out_fits_all_the_reasons() {
    let cx = PolicyContext { person: false, ..cx(Approval::Yolo) };
    for (command, way_out) in [
        ("echo x > existing.txt; echo y > sub/other.txt", "use the write tool"),
        ("echo x > existing.txt; rm x", "a person must confirm it"),
        ("eval \"$X\"", "write the command out plainly"),
        ("eval \"$X\"; rm x", "a person must confirm it"),
    ] {
        let message = run(command, &cx).reason().unwrap().message.clone();
        assert!(message.contains(way_out), "{command}: {message}");
    }
}

#[test]
fn what_is_refused_names_the_tool_that_would_do_it() {
    let refused = |command: &str, cx: &PolicyContext| run(command, cx).reason().unwrap().message.clone();
    let nobody = PolicyContext { person: false, ..cx(Approval::Balanced) };
    let yolo = PolicyContext { person: false, ..cx(Approval::Yolo) };
    for (command, cx, tool) in [
        ("less existing.txt", &nobody, "use the read tool instead"),
        ("less existing.txt; find -L . -name x", &nobody, "use the tools read and glob instead"),
        ("echo x > existing.txt", &yolo, "use the write tool instead"),
        ("echo x > existing.txt", &nobody, "use the write tool instead"),
        ("rm existing.txt", &yolo, "use the patch tool instead"),
    ] {
        let message = refused(command, cx);
        assert!(message.contains(tool), "{command}: {message}");
    }
    for (command, cx) in [
        ("cargo test", &nobody),
        ("less existing.txt; cargo test", &nobody),
        // These would be asked about as well.
        ("touch new.txt", &nobody),
        ("rm -rf sub", &yolo),
        ("cat /etc/passwd", &nobody),
    ] {
        let message = refused(command, cx);
        assert!(!message.contains("instead"), "{command}: {message}");
    }
    let mut planning = cx(Approval::Balanced);
    planning.rules = global(&serde_json::json!({"bash": {"*": "deny"}}));
    assert!(refused("tail -3 existing.txt", &planning).ends_with("use the read tool instead"));
}

/// What zdx has in its environment is no business of a command.
#[test]
fn the_insides_of_other_processes_are_confirmed_in_every_approval_mode() {
    for approval in [Approval::Yolo, Approval::Balanced, Approval::Paranoid] {
        let open = global(&serde_json::json!({"external_directory": "allow", "read": "allow"}));
        let cx = PolicyContext { rules: open, ..cx(approval) };
        for command in [
            "cat /proc/1/environ",
            "base64 /proc/$PPID/environ",
            "base64 < /proc/$PPID/environ",
            "cat /proc/*/environ",
            "cd /proc/1 && cat environ",
            "for p in 1 2; do strings /proc/$p/mem; done",
            "pgrep zdx | xargs -I{} cat /proc/{}/environ",
            "curl --data-binary @/proc/1/environ localhost",
        ] {
            assert!(run(command, &cx).level() >= Level::Confirm, "{approval:?} {command}");
        }
        assert!(run("cat /proc/cpuinfo", &cx).level() < Level::Confirm);
        let read = |tool: &str, path: &str| {
            let target = Target { path: path.into(), inside: false, exists: true, led_out: false };
            judge(&Action::Read { tool: tool.to_owned(), targets: vec![target] }, &cx).level()
        };
        assert_eq!(read("read", "/proc/77/environ"), Level::Confirm);
        assert_eq!(read("grep", "/proc"), Level::Confirm);
        assert!(read("read", "/proc/77/status") < Level::Confirm);
    }
}

#[test]
fn user_rules_cover_words_and_never_what_hides_in_them() {
    let mut cx = cx(Approval::Balanced);
    let permission =
        serde_json::json!({"bash": {"git log *": "allow", "cargo *": "allow", "./run.sh *": "allow"}});
    cx.rules = global(&permission);
    for (command, expected) in [
        ("git log -3", Level::Allow),
        ("timeout 5 cargo test", Level::Allow),
        ("./run.sh a", Level::Allow),
        ("git logout", Level::Ask),
        ("git log --output=x", Level::Ask),
        ("git log $X", Level::Ask),
        ("FOO=1 cargo test", Level::Ask),
        ("cargo test > new.txt", Level::Ask),
        ("cargo() { :; }; cargo test", Level::Ask),
        ("git log; git pull", Level::Ask),
        ("xargs cargo test", Level::Ask),
    ] {
        assert_eq!(run(command, &cx).level(), expected, "{command}");
    }
    let all = serde_json::json!({"bash": "allow"});
    cx.rules = global(&all);
    assert_eq!(run("FOO=1 make > new.txt", &cx), Verdict::Allow);
    assert_eq!(run("rm x", &cx).level(), Level::Confirm);
}

#[test]
fn findings_name_part_reason_and_rule() {
    let explanation = explain("ls; rm x", Origin::Model, &cx(Approval::Balanced));
    assert_eq!(explanation.verdict.level(), Level::Confirm);
    assert_eq!(code(&explanation.verdict), Some(ReasonCode::ListedCommand));
    assert!(explanation.parts.iter().any(|part| part.text == "ls" && part.rule.as_deref() == Some("bash \"ls *\" = allow (built-in)")));
    assert!(explanation.parts.iter().any(|part| part.text == "rm x" && part.verdict == Level::Confirm));
}

/// The way around anything else would not help with what nothing lifts.
#[test]
fn what_is_forbidden_is_said_before_other_denials() {
    let cx = cx(Approval::Balanced);
    for command in ["dd if=/dev/zero of=/dev/sda", "cat /etc/passwd; sudo ls", "cat /etc/passwd; rm -rf /"] {
        let verdict = run(command, &cx);
        let reason = verdict.reason().unwrap();
        assert_eq!((verdict.level(), reason.code), (Level::Deny, ReasonCode::Forbidden), "{command}");
        assert!(!reason.message.contains("external_directory"), "{command}: {}", reason.message);
    }
}

#[test]
fn what_agents_are_told_is_asked_about_in_every_approval_mode() {
    for approval in [Approval::Yolo, Approval::Balanced, Approval::Paranoid] {
        let cx = PolicyContext { rules: global(&serde_json::json!("allow")), ..cx(approval) };
        for command in ["echo x >> AGENTS.md", "echo x > sub/AGENTS.md", "touch AGENTS.md"] {
            assert_eq!(run(command, &cx).level(), Level::Ask, "{approval:?} {command}");
        }
        let nobody = PolicyContext { person: false, ..cx.clone() };
        assert_eq!(run("touch AGENTS.md", &nobody).level(), Level::Deny);
    }
    let agreed = PolicyContext { person: false, allow_dangerous: true, ..cx(Approval::Yolo) };
    assert_eq!(run("touch AGENTS.md", &agreed), Verdict::Allow);
    let asking = PolicyContext { approval: Approval::Balanced, ..agreed };
    assert_eq!(run("touch AGENTS.md other", &asking).level(), Level::Deny, "the rules ask too");
}

#[test]
fn what_lies_in_a_lent_folder_may_be_read_and_nothing_more() {
    let cx = PolicyContext { lent: Arc::from(["/home/me/skills/a".into()]), ..cx(Approval::Balanced) };
    let target = |path: &str| Target { path: path.into(), inside: false, exists: true, led_out: false };
    let read =
        |path: &str| judge(&Action::Read { tool: "read".to_owned(), targets: vec![target(path)] }, &cx);
    assert_eq!(read("/home/me/skills/a/scripts/x.sh"), Verdict::Allow);
    assert_eq!(read("/home/me/skills/ab").level(), Level::Ask);
    let write =
        Action::Write { tool: "write".to_owned(), targets: vec![target("/home/me/skills/a/SKILL.md")] };
    assert_eq!(judge(&write, &cx).level(), Level::Ask);
}

/// Where the model is told that the rest of something lies, it may look.
#[test]
fn what_was_kept_whole_beside_the_session_may_be_read() {
    let cx = PolicyContext { outputs: Some("/home/me/.zdx/sessions/1".into()), ..cx(Approval::Balanced) };
    let read = |path: &str| {
        let target = Target { path: path.into(), inside: false, exists: true, led_out: false };
        judge(&Action::Read { tool: "read".to_owned(), targets: vec![target] }, &cx).level()
    };
    for name in
        ["c1.stdout", "c1.stderr.2", "turn-1.input", "turn-1.input.2", "c2.content", "c2.structured.3"]
    {
        assert_eq!(read(&format!("/home/me/.zdx/sessions/1/{name}")), Level::Allow, "{name}");
    }
    for path in ["/home/me/.zdx/sessions/1/log", "/home/me/.zdx/sessions/1/x.2", "/home/me/.zdx/x.input"] {
        assert_eq!(read(path), Level::Ask, "{path}");
    }
}

#[test]
fn spilled_outputs_are_read_in_every_approval_mode_and_whatever_rules_say_of_paths() {
    let spilled = "/home/me/.zdx/sessions/1/c1.stdout";
    let target = || Target { path: spilled.into(), inside: false, exists: true, led_out: false };
    let rules = global(&serde_json::json!({ "external_directory": "deny", "read": "ask", "grep": "ask" }));
    for approval in [Approval::Yolo, Approval::Balanced, Approval::Paranoid] {
        for person in [true, false] {
            let outputs = Some("/home/me/.zdx/sessions/1".into());
            let cx = PolicyContext { outputs, person, rules: Arc::clone(&rules), ..cx(approval) };
            for tool in ["read", "grep"] {
                let action = Action::Read { tool: tool.to_owned(), targets: vec![target()] };
                assert_eq!(judge(&action, &cx), Verdict::Allow, "{approval:?} {tool}");
            }
            let list = Action::Read { tool: "list".to_owned(), targets: vec![target()] };
            assert_eq!(judge(&list, &cx).level(), Level::Deny);
            let write = Action::Write { tool: "write".to_owned(), targets: vec![target()] };
            assert_eq!(judge(&write, &cx).level(), Level::Deny);
            let no_tool = PolicyContext { rules: global(&serde_json::json!({ "read": "deny" })), ..cx };
            let read = Action::Read { tool: "read".to_owned(), targets: vec![target()] };
            assert_eq!(judge(&read, &no_tool).level(), Level::Deny, "the tool itself is denied");
        }
    }
}

/// Whatever an approval mode lets pass, only this is told in a line with others.
#[test]
fn what_only_reads_is_known_in_every_approval_mode() {
    for approval in [Approval::Yolo, Approval::Balanced, Approval::Paranoid] {
        let reads = |command: &str| explain(command, Origin::Model, &cx(approval)).reads;
        for command in
            ["ls", "cat existing.txt | head -3", "true 7", "cat existing.txt && ls sub", "git log -3"]
        {
            assert!(reads(command), "{approval:?} {command}");
        }
        for command in [
            "touch c",
            "sed -i s/a/b/ existing.txt",
            "git add -A",
            "git commit -m hi",
            "python3 -c 1",
            "cargo test",
            "ls > out.txt",
            "ls; touch c",
            "cat $(make)",
            "",
        ] {
            assert!(!reads(command), "{approval:?} {command}");
        }
        let target = Target { path: "/w/a".into(), inside: true, exists: true, led_out: false };
        let action = |write: bool| match write {
            true => Action::Write { tool: "write".to_owned(), targets: vec![target.clone()] },
            false => Action::Read { tool: "read".to_owned(), targets: vec![target.clone()] },
        };
        assert!(weigh(&action(false), &cx(approval)).reads && !weigh(&action(true), &cx(approval)).reads);
    }
}

#[test]
fn a_title_matches_no_rule_for_the_tools_of_a_server() {
    let judged = |permission: serde_json::Value, action: &Action| {
        let rules = global(&permission);
        judge(action, &PolicyContext { rules, ..cx(Approval::Balanced) }).level()
    };
    let title = || "db__query".to_owned();
    for action in [Action::Fetch { title: title() }, Action::Remote { title: title() }] {
        assert_eq!(
            judged(serde_json::json!({"mcp": {"db__*": "allow", "db/*": "allow"}}), &action),
            Level::Ask
        );
        assert_eq!(judged(serde_json::json!({"db__query": "deny"}), &action), Level::Ask);
        assert_eq!(judged(serde_json::json!({"mcp": "deny"}), &action), Level::Deny);
        assert_eq!(judged(serde_json::json!({"mcp": {"*": "allow"}}), &action), Level::Allow);
        assert_eq!(grant_key(&action, &cx(Approval::Balanced)).as_deref(), Some("mcp __db__query"));
    }
}
