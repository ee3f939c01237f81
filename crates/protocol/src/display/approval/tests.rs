use proptest::prelude::*;

use super::*;
use crate::code::ReasonCode;
use crate::display::text::width;
use crate::display::visible;
use crate::policy::{Reason, RequestId};

const VIEW: View<'static> = View { columns: 80, lines: 12, home: None, root: None, scrolls: false };

fn command(text: &str) -> ApprovalRequest {
    ApprovalRequest {
        agent: None,
        task: None,
        request: RequestId(1),
        id: "call_1".to_owned(),
        tool: "bash".to_owned(),
        action: Action::Command {
            command: text.to_owned(),
            cwd: "/home/u/work".into(),
            origin: Origin::Model,
        },
        preview: Preview::Command { command: text.to_owned() },
        danger: Danger::Ask,
        reason: Reason {
            code: ReasonCode::ApprovalRequired,
            message: "bash asks by default".to_owned(),
            rule: Some("bash = ask (built in)".to_owned()),
        },
        grant: Some(format!("bash {text}")),
        wider: None,
        approval: None,
    }
}

fn page(question: &Question, columns: usize) -> String {
    let lines = question.lines.iter().map(|line| line.text.clone());
    lines.chain(question.key_lines(columns)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_command_is_asked_about_in_full() {
    let view = View { home: Some(Path::new("/home/u")), ..VIEW };
    let asked = question(&command("git status && cargo test"), view);
    insta::assert_snapshot!(page(&asked, 80), @r#"
    run this command?
    $ git status && cargo test
      may     start in ~/work
      why     bash asks by default
      rule    bash = ask (built in)
      always  allows exactly this command, nothing wider
    [y] yes, once (Enter)  [a] always  [n] no  [m] no, and why
    "#);
}

#[test]
fn a_dangerous_one_cannot_be_remembered() {
    let request =
        ApprovalRequest { danger: Danger::Confirm, ..command("rm -rf build \x1b[1A\x1b[2K; rm -rf ~") };
    let asked = question(&request, VIEW);
    insta::assert_snapshot!(page(&asked, 80), @r#"
    dangerous: run this command?
    $ rm -rf build \x1b[1A\x1b[2K; rm -rf ~
      it holds characters that do not show; they are spelled out above
      may     do anything you can do, starting in /home/u/work
      why     bash asks by default
      rule    bash = ask (built in)
      asked every time, never remembered
    [y] yes, once  [n] no (Enter)  [m] no, and why
    "#);
    assert_eq!(asked.answer("a"), None);
    assert_eq!(scope_question(&request, VIEW), None);
}

#[test]
fn a_change_shows_its_diff() {
    let request = ApprovalRequest {
        tool: "edit".to_owned(),
        action: Action::Write {
            tool: "write".to_owned(),
            targets: vec![Target { path: "/etc/motd".into(), inside: false, exists: true, led_out: false }],
        },
        preview: Preview::Change {
            path: "motd".into(),
            operation: Operation::Updated,
            additions: 1,
            deletions: 1,
            diff: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n hello\n-old\u{202e}\n+new\n".to_owned(),
        },
        grant: None,
        ..command("")
    };
    let asked = question(&request, VIEW);
    insta::assert_snapshot!(page(&asked, 80), @r#"
    change motd? (+1 -1)
      @@ -1,2 +1,2 @@
       hello
      -old\u{202e}
      +new
      may     change /etc/motd, OUTSIDE the workspace
      why     bash asks by default
      rule    bash = ask (built in)
    [y] yes, once (Enter)  [n] no  [m] no, and why
    "#);
    assert!(asked.lines.iter().any(|line| line.part == Part::Diff(LineKind::Remove)));
}

#[test]
fn where_a_command_starts_is_told_if_it_is_elsewhere() {
    let effects = |request: &ApprovalRequest, root: &'static str| {
        let view = View { root: Some(Path::new(root)), ..VIEW };
        let lines = question(request, view).lines.into_iter();
        lines.filter(|line| line.part == Part::Effect).map(|line| line.text).collect::<Vec<_>>()
    };
    let plain = command("make");
    assert_eq!(effects(&plain, "/home/u/work"), [""; 0], "what holds for all of them tells nothing");
    assert_eq!(effects(&plain, "/srv"), ["  may     start in /home/u/work"]);
    let dangerous = ApprovalRequest { danger: Danger::Confirm, ..plain };
    let all = ["  may     do anything you can do, starting in /home/u/work"];
    assert_eq!(effects(&dangerous, "/home/u/work"), all);
}

#[test]
fn a_new_file_is_created_not_changed() {
    let path = std::path::PathBuf::from("/home/u/work/new.rs");
    let request = ApprovalRequest {
        action: Action::Write {
            tool: "write".to_owned(),
            targets: vec![Target { path, inside: true, exists: false, led_out: false }],
        },
        grant: Some("write /home/u/work/new.rs".to_owned()),
        ..command("")
    };
    assert_eq!(choice(&request, Answer::Always), "always: this file, and every later change to it");
    let asked = page(&question(&request, VIEW), 80);
    assert!(asked.contains("always  allows this file and every later change to it"), "{asked}");
}

#[test]
fn a_file_of_the_workspace_is_named_from_there_and_once() {
    let path = std::path::PathBuf::from("/home/u/work/src/main.rs");
    let request = ApprovalRequest {
        action: Action::Write {
            tool: "write".to_owned(),
            targets: vec![Target { path: path.clone(), inside: true, exists: true, led_out: false }],
        },
        preview: Preview::Change {
            path,
            operation: Operation::Updated,
            additions: 1,
            deletions: 0,
            diff: "@@ -1 +1,2 @@\n a\n+b\n".to_owned(),
        },
        grant: Some("write /home/u/work/src/main.rs".to_owned()),
        ..command("")
    };
    let view = View { root: Some(Path::new("/home/u/work")), ..VIEW };
    insta::assert_snapshot!(page(&question(&request, view), 80), @r#"
    change src/main.rs? (+1 -0)
      @@ -1 +1,2 @@
       a
      +b
      why     bash asks by default
      rule    bash = ask (built in)
      always  allows every change to this file, and to no other
    [y] yes, once (Enter)  [a] always  [n] no  [m] no, and why
    "#);
    insta::assert_snapshot!(page(&scope_question(&request, view).unwrap(), 80), @r#"
    always allow this, for how long?
      changes to src/main.rs
      `zdx policy grants` lists and revokes what a project was granted
    [s] this session (Enter)  [p] this project  [b] back
    "#);
}

fn target(path: &str, exists: bool) -> Target {
    Target { path: path.into(), inside: true, exists, led_out: false }
}

#[test]
fn a_patch_names_each_file_once_and_adds_up() {
    let text = "docs/README.md (renamed from README.md, +1 -1)\n@@ -1 +1 @@\n-a\n+b\nold.txt (deleted, +0 -2)\n@@ -1,2 +0,0 \
                @@\n-x\n-y\n";
    let targets = [("README.md", true), ("docs/README.md", false), ("old.txt", true)];
    let targets = targets.map(|(name, exists)| target(&format!("/w/{name}"), exists)).to_vec();
    let request = ApprovalRequest {
        action: Action::Write { tool: "patch".to_owned(), targets },
        preview: Preview::Text { text: text.to_owned() },
        grant: None,
        ..command("")
    };
    let view = View { root: Some(Path::new("/w")), ..VIEW };
    insta::assert_snapshot!(page(&question(&request, view), 80), @r"
    change 2 files? (+1 -3)
      docs/README.md (renamed from README.md, +1 -1)
      @@ -1 +1 @@
      -a
      +b
      old.txt (deleted, +0 -2)
      @@ -1,2 +0,0 @@
      -x
      -y
      why     bash asks by default
      rule    bash = ask (built in)
    [y] yes, once (Enter)  [n] no  [m] no, and why
    ");
    // A move alone says from where in its title.
    let preview = Preview::Change {
        path: "/w/b".into(),
        operation: Operation::Renamed,
        additions: 0,
        deletions: 0,
        diff: String::new(),
    };
    let action =
        Action::Write { tool: "patch".into(), targets: vec![target("/w/a", true), target("/w/b", false)] };
    let moved = question(&ApprovalRequest { action, preview, ..request }, view);
    assert_eq!(moved.lines[0].text, "move a to b? (+0 -0)");
    assert!(moved.lines.iter().all(|line| line.part != Part::Effect), "{moved:?}");
}

#[test]
fn what_is_looked_at_is_named_from_the_folder_with_what_a_yes_covers() {
    let view = View { root: Some(Path::new("/w")), ..VIEW };
    let asked = |tool: &str, path: &str| {
        let action = Action::Read { tool: tool.to_owned(), targets: vec![target(path, true)] };
        let grant = Some(format!("{tool} {path}"));
        ApprovalRequest { action, preview: Preview::None, grant, ..command("") }
    };
    insta::assert_snapshot!(page(&question(&asked("list", "/w"), view), 80), @r"
    list .?
      why     bash asks by default
      rule    bash = ask (built in)
      always  allows listing this folder, not what lies below it
    [y] yes, once (Enter)  [a] always  [n] no  [m] no, and why
    ");
    for (tool, path, title, always) in [
        ("list", "/w/src", "list src?", "always: listing this folder, not what lies below it"),
        ("grep", "/w/src", "search src?", "always: searches here and in what lies below"),
        ("read", "/w/a.rs", "read a.rs?", "always: exactly this file"),
    ] {
        let request = asked(tool, path);
        assert_eq!(question(&request, view).lines[0].text, title);
        assert_eq!(choice(&request, Answer::Always), always);
    }
}

#[test]
fn only_a_choice_or_an_empty_line_is_an_answer() {
    let asked = question(&command("ls"), VIEW);
    let table = [
        ("y", Some(Answer::AllowOnce)),
        (" YES\n", Some(Answer::AllowOnce)),
        ("a", Some(Answer::Always)),
        ("n", Some(Answer::Deny)),
        ("m", Some(Answer::DenyWithWord)),
        ("e", None),
        ("", Some(Answer::AllowOnce)),
        ("\n", Some(Answer::AllowOnce)),
        ("yy", None),
        ("s", None),
    ];
    for (typed, answer) in table {
        assert_eq!(asked.answer(typed), answer, "{typed:?}");
    }
    let scope = scope_question(&command("ls"), VIEW).unwrap();
    assert_eq!(scope.answer("p"), Some(Answer::Project));
    assert_eq!(scope.answer("y"), None);
    insta::assert_snapshot!(page(&scope, 80), @r#"
    always allow this, for how long?
    $ ls
      `zdx policy grants` lists and revokes what a project was granted
    [s] this session (Enter)  [p] this project  [b] back
    "#);
}

#[test]
fn padding_cannot_push_a_command_off_the_screen() {
    for padding in ["\n".repeat(500), " ".repeat(50_000)] {
        let asked = question(&command(&format!("ls{padding}; rm x")), VIEW);
        assert!(asked.lines.len() < 12, "{}", page(&asked, 80));
        assert!(page(&asked, 80).contains("empty rows)"));
        assert!(page(&asked, 80).contains("; rm x"));
    }
}

/// The command read back from the rows of a question.
fn read_back(asked: &Question) -> String {
    let mut text = String::new();
    for line in asked.lines.iter().filter(|line| line.part == Part::Command) {
        let (mark, rest) = line.text.split_at(line.text.len().min(2));
        if mark.starts_with('>') {
            text.push('\n');
        }
        text.push_str(rest);
    }
    text
}

proptest! {
    #[test]
    fn a_command_is_whole_at_every_width(
        text in "[a-z漢;|&é\\x1b\u{202e}\\t]{1,300}(\n[a-z ]{0,50}[a-z]){0,3}",
        columns in 20usize..100,
    ) {
        let asked = question(&command(&text), View { columns, ..VIEW });
        prop_assert_eq!(read_back(&asked), visible(&text));
        for line in asked.lines.iter().map(|line| &line.text).chain(&asked.key_lines(columns)) {
            prop_assert!(width(line) <= columns, "{line:?}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}

#[test]
fn a_wider_grant_is_spelled_out_before_it_is_given() {
    let request = ApprovalRequest {
        wider: Some("every cargo test #ab12 Cargo.toml,build.rs .".to_owned()),
        approval: Some(Approval::Balanced),
        ..command("cargo test --lib")
    };
    insta::assert_snapshot!(page(&question(&request, VIEW), 80), @r#"
    run this command?
    $ cargo test --lib
      may     start in /home/u/work
      why     bash asks by default
      rule    bash = ask (built in)
      always  allows exactly this command, nothing wider
      every   allows commands that begin with cargo test here, until Cargo.toml or
              build.rs changes
    [y] yes, once (Enter)  [a] always  [w] every such  [p] approval mode  [n] no
    [m] no, and why
    "#);
    insta::assert_snapshot!(page(&wider_question(&request, VIEW).unwrap(), 80), @r#"
    always allow more than this, for how long?
      commands that begin with cargo test here, until Cargo.toml or build.rs changes
      with other arguments too, and whatever code of the workspace that runs; not
      with files outside, other programs, redirections, or options that zdx does not
      know to be harmless
      `zdx policy grants` lists and revokes what a project was granted
    [s] this session (Enter)  [p] this project  [b] back
    "#);
    insta::assert_snapshot!(page(&preset_question(&request, VIEW), 80), @r#"
    which approval mode from now on? now it is balanced; this request is then
    re-checked
      yolo: all runs unasked but what is dangerous
      balanced (now): what only reads runs unasked
      paranoid: nothing runs unasked but what you allowed
    [1] yolo  [3] paranoid  [b] back (Enter)
    "#);
    // A yes that was meant for the question chooses none, and neither does what holds already.
    for (typed, answer) in [("y", None), ("2", None), ("1", Some(Answer::Switch(Approval::Yolo)))] {
        assert_eq!(preset_question(&request, VIEW).answer(typed), answer, "{typed}");
    }
    let dangerous = ApprovalRequest { danger: Danger::Confirm, ..request };
    assert_eq!(wider_question(&dangerous, VIEW), None);
    let keys: Vec<char> = question(&dangerous, VIEW).keys.iter().map(|key| key.key).collect();
    assert_eq!(keys, ['y', 'n', 'm']);
}

#[test]
fn all_edits_are_offered_for_the_session_alone() {
    let target = Target { path: "/home/u/work/a".into(), inside: true, exists: true, led_out: false };
    let request = ApprovalRequest {
        action: Action::Write { tool: "write".to_owned(), targets: vec![target] },
        preview: Preview::None,
        wider: Some("edits".to_owned()),
        ..command("")
    };
    insta::assert_snapshot!(page(&question(&request, VIEW), 80), @r#"
    change /home/u/work/a?
      may     change /home/u/work/a
      why     bash asks by default
      rule    bash = ask (built in)
      always  allows every change to this file, and to no other
      edits   allows every edit, except of protected files
              files of this workspace and of added folders made, changed, moved or
              deleted by write, edit and patch; protected files, AGENTS.md and
              CLAUDE.md are still asked about
    [y] yes, once (Enter)  [a] always  [e] every edit  [n] no  [m] no, and why
    "#);
    assert_eq!(question(&request, VIEW).answer("e"), Some(Answer::AllEdits));
    assert_eq!(wider_question(&request, VIEW), None);
}

#[test]
fn a_folder_outside_is_offered_for_the_session() {
    let target = Target { path: "/srv/data/a.csv".into(), inside: false, exists: true, led_out: false };
    let request = ApprovalRequest {
        action: Action::Read { tool: "read".to_owned(), targets: vec![target] },
        preview: Preview::None,
        grant: None,
        wider: Some("folder /srv/data".to_owned()),
        ..command("")
    };
    let asked = question(&request, VIEW);
    insta::assert_snapshot!(page(&asked, 80), @r#"
    read /srv/data/a.csv?
      may     read /srv/data/a.csv, OUTSIDE the workspace
      why     bash asks by default
      rule    bash = ask (built in)
      folder  allows this once, and adds the folder /srv/data
              for this session it counts like the workspace: reading is not asked
              about again, changes are as usual
    [y] yes, once (Enter)  [d] add this folder  [n] no  [m] no, and why
    "#);
    assert_eq!([asked.answer("d"), asked.answer("folder")], [Some(Answer::AddFolder); 2]);
    assert_eq!(wider_question(&request, VIEW), None);
    let said = choice(&request, Answer::AddFolder);
    assert_eq!(said, "yes, and add the folder /srv/data for this session");
    let dangerous = ApprovalRequest { danger: Danger::Confirm, ..request };
    assert_eq!(question(&dangerous, VIEW).answer("d"), None);
}

#[test]
fn yolo_is_confirmed_with_the_way_back_named() {
    let asked = yolo_question(Some(Approval::Balanced), VIEW);
    insta::assert_snapshot!(page(&asked, 80), @r#"
    switch to yolo?
      all runs unasked but what is dangerous
      commands run and files change without a question, until you switch back
    [y] yolo  [n] stay balanced (Enter)
    "#);
    assert_eq!(asked.answer("y"), Some(Answer::Switch(Approval::Yolo)));
    assert_eq!(asked.answer("n"), Some(Answer::Back));
}

#[test]
fn every_grant_is_read_as_it_is_spelled() {
    for grant in [
        "bash cargo test",
        "every cargo test",
        "every cargo test #ab12 Cargo.toml,build.rs .",
        "every git add #ab12 - a folder # with blanks",
        "edits",
        "write /w/edits",
        "bash every x",
        "folder /srv/a b",
        "folder x",
    ] {
        assert_eq!(Granting::of(grant).spelled(), grant);
    }
    let words = |grant: &str| grant_words(grant, Some(Path::new("/w")));
    for (grant, expected) in [
        ("edits", "every edit, except of protected files"),
        (
            "every cargo test",
            "commands that begin with cargo test (granted by an earlier version; asked about again)",
        ),
        (
            "every cargo test #ab12 Cargo.toml,build.rs .",
            "commands that begin with cargo test here, until Cargo.toml or build.rs changes",
        ),
        (
            "every npm test #ab12 package.json web/app",
            "commands that begin with npm test in web/app, until package.json changes",
        ),
        ("every git add #ab12 - web app", "commands that begin with git add in web app"),
        ("bash sh run.sh", "the command sh run.sh"),
        ("write /w/shop/cart.py", "changes to shop/cart.py"),
        ("patch /w/a\n/elsewhere/b", "patches of a, /elsewhere/b"),
        ("read /w", "read of /w"),
        ("mcp files__list #12ab", "calls of list of the MCP server files"),
        ("skill pdf", "the skill pdf"),
        ("task explore", "tasks for the agent explore"),
        ("folder /srv/data", "the folder /srv/data"),
    ] {
        assert_eq!(words(grant), expected);
        assert!(names_grant(expected, grant, Some(Path::new("/w"))) && names_grant(grant, grant, None));
    }
}

#[test]
fn a_newer_grant_of_a_family_replaces_the_older_one_of_its_folder() {
    let replaced = |old: &str, new: &str| Granting::of(old).is_replaced_by(Granting::of(new));
    let new = "every cargo test #2 Cargo.toml .";
    assert!(replaced("every cargo test #1 Cargo.toml,build.rs .", new) && replaced("every cargo test", new));
    for other in [
        "every cargo test #1 Cargo.toml web",
        "every cargo check #1 Cargo.toml .",
        "bash cargo test",
        "edits",
    ] {
        assert!(!replaced(other, new), "{other}");
    }
}

#[test]
fn whoever_comes_is_told_what_needs_no_question_in_a_row_each() {
    let rows = |session: &[&str], project: &[&str]| {
        let owned = |grants: &[&str]| grants.iter().map(ToString::to_string).collect::<Vec<_>>();
        allowed_rows(&owned(session), &owned(project), Path::new("/w"))
    };
    assert_eq!(rows(&[], &[]), [""; 0]);
    assert_eq!(
        rows(&["edits", "bash make"], &["write /w/a"]),
        [
            "still allowed in this session: every edit, except of protected files · the command make · /policy, /revoke",
            "allowed in this project: changes to a · /policy, /revoke"
        ]
    );
    assert_eq!(
        rows(&[], &["bash a", "bash b", "bash c", "bash d"]),
        ["4 things allowed in this project · /policy, /revoke"]
    );
}

#[test]
fn what_another_program_does_itself_is_asked_about_by_its_title() {
    let title = || "Look it up\x1b[2J".to_owned();
    let [remote, fetch] =
        [Action::Remote { title: title() }, Action::Fetch { title: title() }].map(|action| {
            let request = ApprovalRequest { action, preview: Preview::None, grant: None, ..command("") };
            page(&question(&request, VIEW), 80)
        });
    assert_eq!(remote, fetch);
    let (title, effect) = (remote.lines().next(), remote.lines().nth(1));
    assert_eq!(title, Some("let the agent do this: Look it up\\x1b[2J?"));
    assert_eq!(effect, Some("  may     do whatever the program behind the agent does; zdx cannot check it"));
}
