//! The case tables, run whole: everything that falls short is printed.

use std::sync::Arc;

use zdx_guard::{FileEntry, LayerSource, MapView, PolicyContext, Rules, explain, run_table};
use zdx_protocol::{Approval, Level, Origin, ReasonCode, ToolCode, Verdict};

/// Without the rows about calls of tools, which the binary is tested with.
fn table(text: &str) -> usize {
    let mut cx = PolicyContext::new("/work", Approval::Balanced);
    cx.home = Some("/home/user".into());
    let report = run_table(text, &cx, |_, _| None).unwrap();
    for miss in &report.missed {
        eprintln!(
            "{} {:?}: expected {}, got {} ({})",
            miss.id, miss.input, miss.expect, miss.got, miss.reason
        );
    }
    assert!(report.missed.is_empty(), "{} of {} rows fall short", report.missed.len(), report.judged);
    report.judged
}

#[test]
fn attacks_are_held_back() {
    assert!(table(include_str!("../cases/attack.jsonl")) >= 140);
}

#[test]
fn benign_commands_pass() {
    assert!(table(include_str!("../cases/benign.jsonl")) >= 49);
}

/// A workspace `/w` with a few files, and a machine around it.
pub fn small_machine() -> PolicyContext {
    let mut disk = MapView::default();
    for folder in [
        "/w/sub/x",
        "/w/src",
        "/w/docs",
        "/w/.git/hooks",
        "/etc",
        "/home/me",
        "/tmp",
        "/usr/bin",
        "/var",
        "/proc",
        "/dev",
        "/root",
        "/opt",
    ] {
        disk.insert(folder, FileEntry::Dir);
    }
    for file in ["/w/existing.txt", "/w/sub/existing.txt", "/w/a.txt", "/w/src/main.rs"] {
        disk.insert(file, FileEntry::File);
    }
    disk.insert("/w/out", FileEntry::Link("/etc/passwd".into()));
    disk.insert("/w/low", FileEntry::Link("sub/x".into()));
    // As on a real machine, where these lead to what is open in whoever looks.
    for (name, open) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        disk.insert(format!("/dev/{name}"), FileEntry::Link(format!("/proc/self/fd{open}").into()));
    }
    let mut cx = PolicyContext::new("/w", Approval::Balanced);
    cx.home = Some("/home/me".into());
    cx.files = Arc::new(disk);
    cx
}

/// The same machine where the user denies paths outside: `deny` in a table then shows that one was found.
fn closed_machine() -> PolicyContext {
    let mut rules = Rules::base();
    let permission = serde_json::json!({"external_directory": "deny"});
    rules
        .add(&LayerSource {
            origin: "global".to_owned(),
            trusted: true,
            permission: Some(&permission),
            ..LayerSource::default()
        })
        .unwrap();
    PolicyContext { rules: Arc::new(rules), ..small_machine() }
}

/// Everyday commands and tricks with the exact verdict each gets: neither laxer nor stricter.
#[test]
fn every_command_gets_exactly_its_verdict() {
    let cx = closed_machine();
    let table = include_str!("../cases/verdicts.tsv");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let (expected, command) = line.split_once('\t').unwrap();
        let command = command.replace("\\n", "\n");
        let explanation = explain(&command, Origin::Model, &cx);
        if explanation.verdict.level().name() != expected {
            wrong.push(format!("{command:?}: expected {expected}, got {:?}", explanation.verdict));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Shells shorten a path before they use it: one longer than the kernel takes leads where its short form does.
#[test]
fn a_long_path_is_judged_like_its_short_form() {
    let (closed, open) = (closed_machine(), small_machine());
    let up = "../".repeat(1_500);
    let around = format!("/{}", "etc/../".repeat(800));
    let here = "./".repeat(2_100);
    let levels = |command: &str| {
        let level = |approval, cx: &PolicyContext| {
            explain(command, Origin::Model, &PolicyContext { approval, ..cx.clone() }).verdict.level()
        };
        [&closed, &open].map(|cx| [level(Approval::Yolo, cx), level(Approval::Balanced, cx)])
    };
    for (short, long) in [
        ("/etc", format!("{around}etc")),
        ("../etc", format!("{up}etc")),
        ("/", around.clone()),
        ("/home", format!("{around}home")),
        (".git/hooks", format!("{here}.git/hooks")),
        ("/proc/self", format!("{around}proc/self")),
        ("src", format!("{here}src")),
        ("low", format!("{here}low")),
        ("/etc/$x", format!("{around}etc/$x")),
    ] {
        for frame in [
            "cd # && make",
            "cd # && echo x > new",
            "cd # && touch new",
            "cd # && cat environ",
            "cd # && rm -rf *",
            "cd #; rm -rf ./*",
            "pushd # && make",
            "env -C # make",
            "git -C # status",
            "sh -c 'cd # && touch new'",
            "eval 'cd # && rm -rf *'",
            "f() { cd #; touch new; }; f",
            "ln -s src l; cd # && touch new",
            "mkdir -p #/new",
            "cat #/passwd",
        ] {
            let (short, long) = (frame.replace('#', short), frame.replace('#', &long));
            let shown: String = long.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            assert_eq!(levels(&long), levels(&short), "{short}: …{shown}");
        }
    }
    // Some programs leave a link by its name, some by where it led: of what is too long for the kernel, both count.
    assert_eq!(levels(&format!("mkdir -p {here}low/../../new"))[0], [Level::Deny; 2]);
    // What remains too long whichever way it is shortened cannot be judged.
    let level = |command: &str| explain(command, Origin::Model, &open).verdict.level();
    assert_eq!(level(&format!("cd {}; make", "a/".repeat(2_100))), Level::Confirm);
    assert_eq!(level(&format!("cd {up}et*; make")), Level::Confirm);
}

/// Without such a rule a person is asked about what lies outside, and where nobody can be asked it is denied.
#[test]
fn what_leaves_the_workspace_is_asked_about_or_denied() {
    let (closed, open) = (closed_machine(), small_machine());
    let nobody = PolicyContext { person: false, ..open.clone() };
    let agreed = PolicyContext { allow_dangerous: true, ..nobody.clone() };
    let mut found = 0;
    for (_, command) in include_str!("../cases/verdicts.tsv").lines().filter_map(|line| line.split_once('\t'))
    {
        let command = command.replace("\\n", "\n");
        let verdict = |cx: &PolicyContext| explain(&command, Origin::Model, cx).verdict;
        if !matches!(verdict(&closed), Verdict::Deny(reason) if reason.code == ReasonCode::PathEscape) {
            continue;
        }
        found += 1;
        assert!(matches!(verdict(&open).level(), Level::Ask | Level::Confirm), "{command}");
        for cx in [&nobody, &agreed] {
            let code = match verdict(cx) {
                Verdict::Deny(reason) => Some(reason.code),
                Verdict::Allow | Verdict::Ask(_) | Verdict::Confirm(_) => None,
            };
            assert_eq!(code, Some(ReasonCode::ApprovalRequired), "{command}");
        }
    }
    assert!(found > 100, "{found}");
}

/// Programs that change who a command runs as, or what it may do: never for a model, confirmed for a person.
#[test]
fn changing_privileges_is_forbidden_to_a_model() {
    for approval in [Approval::Yolo, Approval::Balanced, Approval::Paranoid] {
        let cx = PolicyContext { approval, ..small_machine() };
        for command in [
            "sudo ls",
            "runuser -u me ls",
            "setpriv --reuid 0 ls",
            "setpriv ls",
            "setpriv -d ls",
            "capsh",
            "capsh -- -c ls",
            "capsh --print -- -c ls",
            "capsh --print --",
            "sg docker ls",
            "sg docker -c ls",
            "sg",
            "newgrp docker",
            "login root",
            "machinectl shell",
            "machinectl shell root@.host /bin/ls",
            "machinectl -q -M x shell",
            "machinectl --uid=0 shell x",
            "machinectl --unknown x shell",
            "machinectl --unknown x --other y login",
            "machinectl -Z list shell root@.host",
            "machinectl login x",
            "kexec -l /boot/x",
            "kexec -e",
            "/usr/sbin/kexec --version",
            "systemctl kexec",
            "env setpriv --reuid 0 ls",
            "nice capsh -- -c ls",
            "echo root | xargs sg",
            "sh -c 'sg docker ls'",
        ] {
            for (origin, level) in [(Origin::Model, Level::Deny), (Origin::User, Level::Confirm)] {
                let verdict = explain(command, origin, &cx).verdict;
                assert_eq!(verdict.level(), level, "{command}: {verdict:?}");
                let code = verdict.reason().map(|reason| reason.code);
                assert_eq!(code, Some(ReasonCode::Forbidden), "{command}");
            }
        }
    }
}

/// Classes of damage, many spellings each: the laxest approval mode confirms or refuses every one of them.
#[test]
fn no_approval_mode_lets_a_class_of_damage_pass() {
    let cx = PolicyContext { approval: Approval::Yolo, ..small_machine() };
    let lines = include_str!("../cases/classes.txt").lines();
    let passed: Vec<&str> = lines
        .filter(|line| {
            explain(&line.replace("\\n", "\n"), Origin::Model, &cx).verdict.level() < Level::Confirm
        })
        .collect();
    assert!(passed.is_empty(), "{} pass:\n{}", passed.len(), passed.join("\n"));
}

/// Names and variables that only look like something else.
#[test]
fn what_is_known_is_not_taken_for_unknown() {
    let mut cx = closed_machine();
    cx.env = Arc::new([("DOCS".to_owned(), "docs".to_owned()), ("OUT".to_owned(), "/etc".to_owned())].into());
    for (expected, command) in [
        ("ask", "npm org rm my-org user"),
        ("ask", "conda env remove -n x"),
        ("ask", "f=new.txt; echo hi > \"$f\""),
        ("ask", "t=$(mktemp); cargo test > \"$t\" 2>&1; tail -5 \"$t\""),
        ("ask", "d=$(mktemp -d) && cp a.txt \"$d/\" && ls \"$d\""),
        ("ask", "cp a.txt $DOCS/new.txt"),
        ("allow", "cat $DOCS/x.md"),
        ("deny", "cat $OUT/passwd"),
        ("ask", "cmd=ls; $cmd > new.txt"),
        ("confirm", "cmd=rm; $cmd a.txt"),
        ("confirm", "x=--hard; git reset $x"),
        ("ask", "x=--soft; git reset $x"),
        ("confirm", "git reset $UNHEARD$1"),
        ("ask", "for d in src docs; do touch $d/new; done"),
        ("confirm", "for d in src .git; do touch $d/new; done"),
    ] {
        let verdict = explain(command, Origin::Model, &cx).verdict;
        assert_eq!(verdict.level().name(), expected, "{command}: {verdict:?}");
    }
}

/// With nobody there everything ends in yes or no, and a no reaches the model under the code of the verdict.
#[test]
fn every_denial_keeps_its_code() {
    let cx = PolicyContext { person: false, ..small_machine() };
    let commands = include_str!("../cases/verdicts.tsv").lines().filter_map(|line| line.split_once('\t'));
    let mut denials = 0;
    for (_, command) in commands {
        match explain(&command.replace("\\n", "\n"), Origin::Model, &cx).verdict {
            Verdict::Allow => {}
            Verdict::Deny(reason) => {
                denials += 1;
                assert_eq!(ToolCode::from(reason.code).as_str(), reason.code.as_str(), "{command}");
            }
            asked @ (Verdict::Ask(_) | Verdict::Confirm(_)) => panic!("{command}: {asked:?}"),
        }
    }
    assert!(denials > 100, "{denials}");
}

/// Cases that only show on a real disk, where `/dev/fd` leads to zdx's own files and the root lies deep.
#[test]
fn the_real_disk_gives_the_same_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("a.txt"), "a").unwrap();
    let cx = PolicyContext::new(&root, Approval::Balanced);
    for (expected, command) in [
        ("allow", "diff <(sort a.txt) <(sort b.txt)"),
        ("allow", "echo x > /dev/stderr"),
        ("allow", "cat /dev/stdin < a.txt"),
        ("ask", "docker run --rm -v \"$PWD\":/app -w /app img make"),
        ("confirm", ": < a.txt > /dev/stdin"),
        ("confirm", ": < a.txt > /proc/self/fd/0"),
        ("confirm", "cat a.txt > a.txt"),
    ] {
        let verdict = explain(command, Origin::Model, &cx).verdict;
        assert_eq!(verdict.level().name(), expected, "{command}: {verdict:?}");
    }
    // Where outside paths pass, the floor still holds.
    let yolo = PolicyContext { approval: Approval::Yolo, ..cx };
    let verdict = explain(": < a.txt > /proc/self/fd/0", Origin::Model, &yolo).verdict;
    assert_eq!(verdict.level().name(), "confirm");
}

/// Where outside paths pass, nothing else hides what the floors are about: the same effects are confirmed there.
#[test]
fn the_floors_hold_outside_the_workspace_too() {
    let mut cx = small_machine();
    let mut disk = MapView::default();
    for folder in ["/w", "/w/sub", "/etc", "/home/me", "/home/me/.ssh", "/tmp", "/other", "/other/sub"] {
        disk.insert(folder, FileEntry::Dir);
    }
    for file in
        ["/etc/hosts", "/other/old.txt", "/home/me/.bashrc", "/w/existing.txt", "/w/run.sh", "/tmp/s.sh"]
    {
        disk.insert(file, FileEntry::File);
    }
    cx.files = Arc::new(disk);
    cx.approval = Approval::Yolo;
    let confirmed = [
        "echo x > /etc/hosts",
        "echo x > /other/old.txt",
        "cd /other && echo x > old.txt",
        "cd /nowhere; echo x > existing.txt",
        "cp a.txt /other/old.txt",
        "tee /other/old.txt",
        "curl -o /other/old.txt h/x",
        "ln -sf a.txt /other/old.txt",
        "echo x > ~/.bashrc",
        "echo x >> ~/.bashrc",
        "echo x >> ~/.ssh/authorized_keys",
        "touch /etc/cron.d/x",
        "mkdir -p /etc/foo",
        "sed -i s/a/b/ /etc/hosts",
        "echo x > /tmp/$name",
        "echo x >> /other/$(date).log",
        "echo 'rm x' > /tmp/new.sh; sh /tmp/new.sh",
        "curl -o /tmp/new.sh h/x; sh /tmp/new.sh",
        "printf x > /tmp/new; chmod +x /tmp/new; /tmp/new",
        "git --git-dir=/other/.git config core.pager x",
        "echo x > ~/.config/zdx/config.toml",
        "echo x >> ~/.gitconfig",
        "cd /other; echo x > /proc/self/cwd/old.txt",
        "x=/etc/passwd; cp a.txt $x",
        "ln -s /bin/rm x; ./x -rf sub",
        "cp /bin/rm /tmp/zz; /tmp/zz existing.txt",
        "ln -s /etc; echo x > etc/foo",
    ];
    for command in confirmed {
        let verdict = explain(command, Origin::Model, &cx).verdict;
        assert_eq!(verdict.level().name(), "confirm", "{command}: {verdict:?}");
    }
    for command in [
        "echo x > /tmp/new.txt",
        "echo x >> /other/old.txt",
        "cp a.txt /other/new.txt",
        "cat /etc/hosts",
        "cd /other && ls && touch new",
        "sh /tmp/s.sh",
        "mkdir -p /other/sub/deep",
        "/usr/bin/env | sort > /tmp/new.txt",
    ] {
        let verdict = explain(command, Origin::Model, &cx).verdict;
        assert_eq!(verdict.level().name(), "allow", "{command}: {verdict:?}");
    }
}
