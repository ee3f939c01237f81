//! `zdx policy`: what it says, and that it runs nothing of what it judges.

use std::path::Path;

use serde_json::{Value, json};
use zdx_testkit::Zdx;

use crate::{SOON, place};

fn case_table(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guard/tests/cases").join(name);
    path.to_str().unwrap().to_owned()
}

fn call(command: &str) -> String {
    format!("{}\n", json!({"tool": "bash", "input": {"command": command}}))
}

#[test]
fn explain_names_each_part_its_rule_and_where_that_came_from() {
    let zdx = place().config("[permission.bash]\n\"git status *\" = \"allow\"\n");
    let output = zdx.run(["policy", "explain", "git status && rm -rf build"]).success();
    let text = output.stdout;
    assert!(text.starts_with("git status && rm -rf build\n    verdict   confirm: "), "{text}");
    for part in ["\n  git status\n", "\n  rm -rf build\n", "bash \"git status *\" = allow (", "config.toml"] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert!(!text.contains('{'), "{text}");

    let output = zdx.run(["policy", "explain", "--format", "json", "git status && rm -rf build"]).success();
    let told: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(told["verdict"], "confirm");
    assert_eq!(told["approval"], "balanced");
    assert_eq!(told["command"], "git status && rm -rf build");
    let parts = told["parts"].as_array().unwrap();
    let of = |text: &str| parts.iter().filter(|part| part["text"] == text).collect::<Vec<_>>();
    assert!(of("git status").iter().all(|part| part["verdict"] == "allow"), "{told}");
    assert!(of("rm -rf build").iter().any(|part| part["verdict"] == "confirm"), "{told}");
}

/// Inside one table the last match wins, a deny that it follows too; a deny of one layer stands against later layers.
#[test]
fn a_deny_stands_against_later_layers_and_not_against_its_own_table() {
    let rules = "[permission.bash]\n\"git *\" = \"deny\"\n\"git push *\" = \"allow\"\n\"curl *\" = \"allow\"\n\"curl -k *\" = \"deny\"\n";
    let zdx = place().config(rules);
    zdx.write(
        ".zdx/config.toml",
        "[permission.bash]\n\"git pull *\" = \"allow\"\n\"curl *\" = \"allow\"\n\"make *\" = \"allow\"\n",
    );
    zdx.run(["trust", "--yes"]).success();
    for (command, verdict, rule) in [
        ("git push origin", "allow", "bash \"git push *\" = allow ("),
        ("git pull origin", "deny", "bash \"git *\" = deny ("),
        ("curl -k http://localhost", "deny", "bash \"curl -k *\" = deny ("),
        ("make all", "allow", "bash \"make *\" = allow ("),
    ] {
        let told = zdx.run(["policy", "explain", command]).success().stdout;
        assert!(told.contains(&format!("verdict   {verdict}")) && told.contains(rule), "{command}\n{told}");
    }
}

#[test]
fn presets_and_the_root_are_those_of_the_command_line() {
    let zdx = place();
    zdx.write("sub/here", "");
    let verdict = |args: &[&str], command: &str| {
        let output =
            zdx.command().args(["policy", "explain", "--format", "json"]).args(args).arg(command).run();
        let told: Value = serde_json::from_str(&output.success().stdout).unwrap();
        told["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(&[], "touch x"), "ask");
    assert_eq!(verdict(&["--approval", "yolo"], "touch x"), "allow");
    assert_eq!(verdict(&["--approval", "paranoid"], "ls"), "ask");
    assert_eq!(verdict(&["--yolo"], "rm x"), "confirm");
    assert_eq!(verdict(&[], "cat ../here"), "ask");
    assert_eq!(verdict(&["--yolo"], "cat ../here"), "allow");
    // Its parent holds the home of this test; a folder beside it does not.
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("x"), "").unwrap();
    let (added, file) = (data.path().to_str().unwrap(), format!("cat {}/x", data.path().display()));
    assert_eq!(verdict(&[], &file), "ask");
    assert_eq!(verdict(&["--add-dir", added], &file), "allow");
    assert_eq!(verdict(&["--root", "sub"], "cat here"), "allow");
    assert_eq!(verdict(&[], "-rf"), "ask");
}

#[test]
fn escape_sequences_in_a_command_are_spelled_out() {
    let output = place().run(["policy", "explain", "echo \x1b[2J\u{202e}"]).success();
    assert!(output.stdout.starts_with("echo \\x1b[2J\\u{202e}\n"), "{}", output.stdout);
    assert!(!output.stdout.contains('\x1b'));
}

#[test]
fn check_answers_line_by_line_in_order_and_runs_nothing() {
    let zdx = place();
    zdx.write("kept", "");
    let input = [
        call("ls"),
        call("touch made"),
        call("rm kept"),
        call("sudo id"),
        format!("{}\n", json!({"tool": "write", "input": {"path": "../x", "content": ""}})),
        format!("{}\n", json!({"tool": "read", "input": {"path": "kept"}})),
    ];
    let output = zdx.command().args(["policy", "check"]).stdin(input.concat()).run().success();
    let lines = output.json_lines();
    let verdicts: Vec<_> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["allow", "ask", "confirm", "deny", "ask", "allow"]);
    assert_eq!(lines[3]["code"], "forbidden");
    assert!(lines[4]["reason"].as_str().unwrap().contains("lies outside the workspace"), "{}", lines[4]);
    assert!(lines[1]["rule"].as_str().unwrap().contains("built-in"), "{}", lines[1]);
    assert!(lines[2]["reason"].is_string());
    for line in &lines {
        let fields: Vec<_> = line.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["verdict", "code", "reason", "rule"]);
    }
    assert!(zdx.root().join("kept").exists() && !zdx.root().join("made").exists());
    assert_eq!(zdx.session_files().len(), 0);
}

#[test]
fn a_line_that_is_no_call_is_denied_in_its_place() {
    let long = format!("{{\"tool\":\"bash\",\"input\":{{\"command\":\"{}\"}}}}\n", "x".repeat(2 << 20));
    let mut input = Vec::new();
    for line in [&call("ls"), "nonsense\n", "\n", "[1]\n", "{\"tool\":\"bash\"}\n", &long] {
        input.extend(line.as_bytes());
    }
    input.extend(b"{\"tool\":\"\xff\"}\n");
    // The last line lacks its end.
    input.extend(call("ls").trim_end().as_bytes());
    let output = place().command().args(["policy", "check"]).stdin(input).run().expect_code(1);
    let lines = output.json_lines();
    let verdicts: Vec<_> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["allow", "deny", "deny", "deny", "deny", "deny", "deny", "allow"]);
    assert!(lines[1..7].iter().all(|line| line["code"] == "invalid_input"), "{lines:?}");
}

#[test]
fn whoever_asks_line_by_line_is_answered_line_by_line() {
    let zdx = place();
    let mut check = zdx.command().args(["policy", "check"]).stdin_open().spawn();
    check.write(call("ls"));
    check.wait_for_stdout("\"allow\"", SOON);
    check.write(call("rm x"));
    check.wait_for_stdout("\"confirm\"", SOON);
    check.close_stdin();
    check.finish(SOON).success();
}

/// Each of these once had a verdict here and another one in a session: what is judged is what the tool makes of its call.
#[test]
fn check_judges_the_action_that_the_tool_would_prepare() {
    let zdx = place();
    zdx.write("sub/a", "one\n");
    let begin_patch = "*** Begin Patch\n*** Add File: ../../etc/x\n+x\n*** End Patch\n";
    let moved = "*** Begin Patch\n*** Update File: sub/a\n*** Move to: ../b\n@@\n-one\n+two\n*** End Patch\n";
    let unified = "--- a/sub/a\n+++ b/sub/a\n@@ -1 +1 @@\n-one\n+two\n";
    let calls = [
        json!({"tool": "patch", "input": {"patch": begin_patch}}),
        json!({"tool": "apply_patch", "input": {"patch_text": moved}}),
        json!({"tool": "patch", "input": {"patch": unified}}),
        json!({"tool": "glob", "input": {"pattern": "/etc/*"}}),
        json!({"tool": "write", "input": {"filename": "../x", "contents": ""}}),
        json!({"tool": "read", "input": {"path": "~/x"}}),
    ];
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let answers = zdx.command().args(["policy", "check"]).stdin(lines).run().success().json_lines();
    let told: Vec<_> = answers.iter().map(|line| (line["verdict"].clone(), line["code"].clone())).collect();
    let (out, asked) = (("ask", "path_escape"), ("ask", "approval_required"));
    assert_eq!(
        told,
        [asked, asked, asked, out, asked, out].map(|(verdict, code)| (json!(verdict), json!(code)))
    );
    let home = format!("{} lies outside", zdx.home().join("x").display());
    for outside in [0, 1, 3, 4, 5] {
        let reason = answers[outside]["reason"].as_str().unwrap();
        assert!(reason.contains("lies outside the workspace"), "{reason}");
    }
    assert!(answers[5]["reason"].as_str().unwrap().contains(&home), "{}", answers[5]);
    assert_eq!(zdx.read("sub/a"), "one\n");
}

/// A call that the tool itself turns down never gets to the guard: the answer is the tool's.
#[test]
fn a_call_that_no_tool_takes_is_denied_in_the_words_of_the_tool() {
    let calls = [
        json!({"tool": "write", "input": {"path": "a"}}),
        json!({"tool": "read", "input": {"path": "$HOME/x"}}),
        json!({"tool": "patch", "input": {"patch": "no patch"}}),
    ];
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let output = place().command().args(["policy", "check"]).stdin(lines).run().expect_code(1);
    let answers = output.json_lines();
    assert!(answers.iter().all(|line| line["verdict"] == "deny" && line["rule"].is_null()), "{answers:?}");
    for (answer, word) in answers.iter().zip(["`content` is missing", "variable", "patch"]) {
        assert_eq!(answer["code"], "invalid_input", "{answer}");
        assert!(answer["reason"].as_str().unwrap().contains(word), "{answer}");
    }
}

/// Commands of the table that need no particular files, judged by the binary one a line.
#[test]
fn check_holds_the_commands_of_the_case_table() {
    let order =
        |level: &Value| ["allow", "ask", "confirm", "deny"].iter().position(|name| level == *name).unwrap();
    for (name, benign) in [("attack.jsonl", false), ("benign.jsonl", true)] {
        let text = std::fs::read_to_string(case_table(name)).unwrap();
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let rows: Vec<_> =
            rows.iter().filter(|row| row["kind"] == "shell" && row["setup"].is_null()).collect();
        assert!(rows.len() >= 40);
        let zdx = place();
        for folder in ["docs", "src", "sub", "build"] {
            zdx.write(format!("{folder}/file"), "");
        }
        let input: String = rows.iter().map(|row| call(row["input"].as_str().unwrap())).collect();
        let answers = zdx.command().args(["policy", "check"]).stdin(input).run().success().json_lines();
        assert_eq!(answers.len(), rows.len());
        let wrong: Vec<_> = rows
            .iter()
            .zip(&answers)
            .filter(|(row, answer)| {
                // Nobody is asked in the table; here somebody would be.
                let asked = row["class"].as_str().is_some_and(|class| class.starts_with("external-"));
                let expect = if asked { order(&json!("ask")) } else { order(&row["expect"]) };
                let got = order(&answer["verdict"]);
                if benign { got > expect } else { got < expect }
            })
            .map(|(row, answer)| format!("{} {}: {answer}", row["id"], row["input"]))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn test_runs_a_table_and_lists_what_falls_short() {
    let zdx = place();
    for name in ["attack.jsonl", "benign.jsonl"] {
        let output = zdx.run(["policy", "test", &case_table(name)]).success();
        assert!(output.stdout.contains(" judged, 0 fell short"), "{}", output.stdout);
    }
    let rows = [
        json!({"id": "good", "class": "x", "kind": "shell", "input": "rm x", "expect": "confirm"}),
        json!({"id": "bad", "class": "x", "kind": "shell", "input": "ls", "expect": "deny"}),
        json!({"id": "strict", "class": "benign", "kind": "shell", "input": "rm x", "expect": "ask"}),
        json!({"id": "other", "class": "x", "kind": "output", "input": "x", "expect": "neutralise"}),
    ];
    zdx.write("table.jsonl", rows.map(|row| format!("{row}\n")).concat());
    let output = zdx.run(["policy", "test", "table.jsonl"]).expect_code(1);
    assert!(
        output
            .stdout
            .starts_with("bad: expected deny, got allow: ls\nstrict: expected ask, got confirm: rm x\n")
    );
    assert!(
        output.stdout.ends_with("3 rows judged, 2 fell short, 1 not about a single decision and left out\n")
    );
    let output = zdx.run(["policy", "test", "--format", "json", "table.jsonl"]).expect_code(1);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&report["judged"], &report["missed"][0]["id"]), (&json!(3), &json!("bad")));
    assert_eq!(report["skipped"], json!(["other"]));
    // Rules that loosen are seen to.
    let loose = place().config("blacklist_patterns = [\"^ls\"]\n");
    loose.write("table.jsonl", format!("{}\n", rows_of_one("ls", "deny")));
    loose.run(["policy", "test", "table.jsonl"]).success();

    zdx.write("broken.jsonl", "{\"id\": 1}\n");
    let output = zdx.run(["policy", "test", "broken.jsonl"]).expect_code(1);
    assert!(output.stderr.contains("broken.jsonl:1"), "{}", output.stderr);
    zdx.run(["policy", "test", "absent.jsonl"]).expect_code(1);
}

fn rows_of_one(input: &str, expect: &str) -> Value {
    json!({"id": "one", "class": "x", "kind": "shell", "input": input, "expect": expect})
}

#[test]
fn grants_are_listed_and_taken_back_by_project() {
    let zdx = place();
    let other = zdx.home().display().to_string();
    let book = json!({"projects": {
        zdx.root().display().to_string(): ["bash cargo test", "bash a\nb", "write /p/x"],
        other.clone(): ["bash make"],
    }});
    std::fs::write(zdx.storage().join("grants.json"), book.to_string()).unwrap();
    let list =
        |zdx: &Zdx, args: &[&str]| zdx.command().args(["policy", "grants"]).args(args).run().success().stdout;
    assert_eq!(list(&zdx, &[]), "the command cargo test\nthe command a\\nb\nchanges to /p/x\n");
    assert!(list(&zdx, &["--everywhere"]).contains("  the command make\n"));
    let lines = zdx.run(["policy", "grants", "--format", "json"]).success().json_lines();
    assert_eq!(lines[1], json!({"root": zdx.root(), "grant": "bash a\nb"}));
    // A mistake in one takes none back.
    let output =
        zdx.run(["policy", "grants", "--revoke", "write /p/x", "--revoke", "bash carg"]).expect_code(1);
    assert!(output.stderr.contains("`zdx policy grants` lists"), "{}", output.stderr);
    assert_eq!(list(&zdx, &["--revoke", "bash a\\nb"]), "revoked the command a\\nb\n");
    assert_eq!(list(&zdx, &["--revoke-all"]), "revoked the command cargo test\nrevoked changes to /p/x\n");
    assert_eq!(list(&zdx, &[]), "");
    assert_eq!(list(&zdx, &["--root", &other]), "the command make\n");
    std::fs::write(zdx.storage().join("grants.json"), "{ half").unwrap();
    let output = zdx.run(["policy", "grants"]).expect_code(1);
    assert!(output.stderr.contains("grants.json"), "{}", output.stderr);
}
