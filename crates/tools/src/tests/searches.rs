use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use super::*;

fn tree(files: &[(&str, &str)]) -> Desk {
    let desk = Desk::new();
    for (name, content) in files {
        fs::create_dir_all(desk.path(name).parent().unwrap()).unwrap();
        fs::write(desk.path(name), content).unwrap();
    }
    desk
}

fn paths(desk: &Desk, input: Value) -> Vec<String> {
    serde_json::from_value(desk.ok("glob", input)["paths"].clone()).unwrap()
}

fn text(desk: &Desk, input: Value) -> String {
    desk.ok("grep", input)["text"].as_str().unwrap().to_owned()
}

fn entries(desk: &Desk, input: Value) -> String {
    desk.ok("list", input)["entries"].as_str().unwrap().to_owned()
}

fn fifo(path: &std::path::Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn a_project_is_listed_found_and_searched() {
    let desk = tree(&[
        ("src/main.rs", "fn main() {\n    hello();\n}\n"),
        ("src/lib/mod.rs", "pub fn hello() {}\n"),
        ("src-x/a.rs", "hello\n"),
        ("README.md", "Hello world\n"),
    ]);
    assert_eq!(
        desk.ok("list", json!({})),
        json!({"path": ".", "entries": "README.md\nsrc/\n  lib/\n  main.rs\nsrc-x/\n  a.rs\n", "total": 6, "truncated": false})
    );
    assert_eq!(
        desk.ok("list", json!({"path": "src", "depth": 1})),
        json!({"path": "src", "entries": "lib/\nmain.rs\n", "total": 2, "truncated": false})
    );
    assert_eq!(
        desk.ok("glob", json!({"pattern": "*.rs"})),
        json!({"paths": ["src/lib/mod.rs", "src/main.rs", "src-x/a.rs"], "total": 3, "truncated": false})
    );
    assert_eq!(paths(&desk, json!({"pattern": "src/*.rs"})), ["src/main.rs"]);
    assert_eq!(paths(&desk, json!({"pattern": "*.rs", "path": "src/lib"})), ["src/lib/mod.rs"]);
    assert_eq!(paths(&desk, json!({"pattern": "lib/"})), ["src/lib/"]);
    let absolute = format!("{}/src/**/*.rs", desk.cx.workspace.root().display());
    assert_eq!(paths(&desk, json!({"pattern": absolute})), ["src/lib/mod.rs", "src/main.rs"]);
    assert_eq!(
        desk.ok("grep", json!({"pattern": "hello\\("})),
        json!({
            "matches": 2, "files": 2, "truncated": false,
            "text": "src/lib/mod.rs\n1:pub fn hello() {}\n\nsrc/main.rs\n2:    hello();\n",
        })
    );
    assert_eq!(
        text(&desk, json!({"query": "hello(", "literal": true, "path": "src/main.rs"})),
        "src/main.rs\n2:    hello();\n"
    );
    assert_eq!(
        text(&desk, json!({"pattern": "HELLO", "ignore_case": true, "glob": "*.md"})),
        "README.md\n1:Hello world\n"
    );
    assert_eq!(
        text(&desk, json!({"pattern": "hello", "include": ["!src/", "*.rs"]})),
        "src-x/a.rs\n1:hello\n"
    );
    assert_eq!(
        text(&desk, json!({"pattern": "hello", "path": "src/main.rs", "context": 1})),
        "src/main.rs\n1-fn main() {\n2:    hello();\n3-}\n"
    );
    assert_eq!(
        desk.ok("grep", json!({"pattern": "nowhere", "glob": "*.md"})),
        json!({"matches": 0, "files": 0, "truncated": false, "text": "", "searched": 1})
    );
}

#[test]
fn contexts_apart_are_told_apart() {
    let lines: String = (1..=9).map(|n| format!("{}\n", if n % 4 == 0 { "hit" } else { "x" })).collect();
    let desk = tree(&[("f", &lines)]);
    assert_eq!(
        text(&desk, json!({"pattern": "hit", "context": 1})),
        "f\n3-x\n4:hit\n5-x\n--\n7-x\n8:hit\n9-x\n"
    );
}

#[test]
fn ignored_hidden_and_binary_files_are_left_out() {
    let desk = tree(&[
        (".gitignore", "*.log\n/build/\n"),
        ("a.log", "hit\n"),
        ("build/out.txt", "hit\n"),
        ("sub/build/kept.txt", "hit\n"),
        ("sub/.gitignore", "secret.txt\n!keep.log\n"),
        ("sub/secret.txt", "hit\n"),
        ("sub/keep.log", "hit\n"),
        (".hidden/x.txt", "hit\n"),
        (".git/config", "hit\n"),
        ("binary", "hit\nhit\0\n"),
    ]);
    let seen = ["sub/build/kept.txt", "sub/keep.log"];
    let files =
        |text: String| text.lines().filter(|line| line.contains('/')).map(str::to_owned).collect::<Vec<_>>();
    for _ in 0..2 {
        assert_eq!(files(text(&desk, json!({"pattern": "hit"}))), seen);
        assert_eq!(paths(&desk, json!({"pattern": "*"})), ["binary", seen[0], seen[1]]);
        assert_eq!(paths(&desk, json!({"pattern": "*.txt", "hidden": true})), [".hidden/x.txt", seen[0]]);
        assert_eq!(paths(&desk, json!({"pattern": ".hidden/*"})), [".hidden/x.txt"]);
        assert_eq!(entries(&desk, json!({"depth": 1})), "binary\nsub/\n");
        assert_eq!(
            entries(&desk, json!({"depth": 1, "hidden": true})),
            ".gitignore\n.hidden/\nbinary\nsub/\n"
        );
        // The same within a repository as without one.
        let _ = fs::remove_dir_all(desk.path(".git"));
    }
    // What is named is looked at: an ignored folder, a binary file.
    assert_eq!(files(text(&desk, json!({"pattern": "hit", "path": "build"}))), ["build/out.txt"]);
    assert_eq!(text(&desk, json!({"pattern": "hit", "path": "binary"})), "binary\n1:hit\n2:hit\n");
    // Rules of the folders above count there too.
    assert_eq!(paths(&desk, json!({"pattern": "*", "path": "sub/build"})), ["sub/build/kept.txt"]);
    fs::write(desk.path("sub/build/x.log"), "").unwrap();
    assert_eq!(paths(&desk, json!({"pattern": "*", "path": "sub/build"})), ["sub/build/kept.txt"]);
}

#[test]
fn rules_outside_of_the_project_do_not_hide_it() {
    let desk = tree(&[
        (".gitignore", "*\n"),
        ("home/project/file", "hit\n"),
        ("home/repo/.git/HEAD", ""),
        ("home/repo/file", ""),
    ]);
    for folder in ["home/project", "home/repo"] {
        let workspace = Arc::new(Workspace::open(&desk.path(folder)).unwrap());
        let inner = Desk { cx: ToolContext { workspace, ..desk.cx.clone() }, ..Desk::new() };
        assert_eq!(paths(&inner, json!({"pattern": "*"})), ["file"]);
    }
}

#[test]
fn links_are_shown_and_not_followed() {
    let desk = tree(&[("sub/file", "hit\n")]);
    symlink("..", desk.path("sub/loop")).unwrap();
    symlink("/etc", desk.path("etc")).unwrap();
    symlink("sub", desk.path("inner")).unwrap();
    fifo(&desk.path("pipe"));
    assert_eq!(
        entries(&desk, json!({"depth": 9})),
        "etc -> /etc\ninner -> sub\npipe (no regular file)\nsub/\n  file\n  loop -> ..\n"
    );
    assert_eq!(text(&desk, json!({"pattern": "hit|root"})), "sub/file\n1:hit\n");
    // A link that was named is what it leads to, and is judged as that.
    assert_eq!(text(&desk, json!({"pattern": "hit", "path": "inner"})), "sub/file\n1:hit\n");
    let Action::Read { tool, targets } =
        desk.prepare("grep", json!({"pattern": "x", "path": "etc"})).unwrap().action
    else {
        panic!("no read")
    };
    assert_eq!((tool.as_str(), targets[0].inside, targets[0].path.to_str()), ("grep", false, Some("/etc")));
    let up = desk.prepare("glob", json!({"pattern": "../x/*"})).unwrap().action;
    assert!(matches!(up, Action::Read { targets, .. } if !targets[0].inside));
}

#[test]
fn an_ignore_file_that_is_none_hides_its_folder_and_blocks_nothing() {
    let desk = tree(&[("a/file", "hit\n"), ("b/file", "hit\n"), ("c/file", "hit\n")]);
    fifo(&desk.path("a/.gitignore"));
    symlink("/dev/zero", desk.path("b/.ignore")).unwrap();
    assert_eq!(text(&desk, json!({"pattern": "hit"})), "c/file\n1:hit\n");
    assert_eq!(paths(&desk, json!({"pattern": "*", "path": "a"})), [""; 0]);
}

#[test]
fn odd_names_stay_one_line_each() {
    let desk = Desk::new();
    for name in [&b"new\nline"[..], b"bad\xff", b"-flag", b" space ", "ünïcode".as_bytes()] {
        fs::write(desk.dir.path().join(OsStr::from_bytes(name)), "hit\n").unwrap();
    }
    let names = [" space ", "-flag", r"bad\xFF", "new\\nline", "ünïcode"];
    assert_eq!(paths(&desk, json!({"pattern": "*"})), names);
    assert_eq!(entries(&desk, json!({})).lines().collect::<Vec<_>>(), names);
    let text = text(&desk, json!({"pattern": "hit"}));
    let files: Vec<&str> = text.split("\n\n").map(|file| file.lines().next().unwrap()).collect();
    assert_eq!(files, names);
}

#[test]
fn faults_are_named() {
    let desk = tree(&[("src/main.rs", "x")]);
    for (tool, input, code, part) in [
        ("grep", json!({"pattern": "fn main("}), ToolCode::InvalidInput, "set `literal` to true"),
        ("grep", json!({"pattern": "a\\nb"}), ToolCode::InvalidInput, "cannot span lines"),
        ("grep", json!({"pattern": ""}), ToolCode::InvalidInput, "empty"),
        ("grep", json!({"pattern": "x", "context": -1}), ToolCode::InvalidInput, "`context`"),
        ("grep", json!({"pattern": "x", "literal": "maybe"}), ToolCode::InvalidInput, "true or false"),
        ("grep", json!({"pattern": "(?:a{1000}){1000}"}), ToolCode::InvalidInput, "size limit"),
        ("grep", json!({"pattern": "x", "glob": "[z-a]"}), ToolCode::InvalidInput, "glob"),
        ("grep", json!({"pattern": "x", "path": "scr"}), ToolCode::Enoent, "near names here: src"),
        ("glob", json!({"pattern": "*", "path": "src/main.rs"}), ToolCode::Enotdir, "no folder"),
        ("glob", json!({}), ToolCode::InvalidInput, "`pattern` is missing"),
        ("list", json!({"path": "nowhere"}), ToolCode::Enoent, "does not exist"),
        ("list", json!({"depth": 0}), ToolCode::InvalidInput, "`depth`"),
        ("grep", json!({"pattern": "x", "path": "/dev/zero"}), ToolCode::NotRegular, "a device"),
    ] {
        let (found, message) = desk.err(tool, input.clone());
        assert_eq!(found, code, "{input}: {message}");
        assert!(message.contains(part), "{input}: {message}");
    }
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let line = format!("{}é hit {}", "a".repeat(5000), "b".repeat(5000));
    let desk = tree(&[("min.js", &line)]);
    let found = text(&desk, json!({"pattern": "hit"}));
    assert!(found.starts_with("min.js\n1:…aaa") && found.contains("é hit bbb"), "{found}");
    assert!(
        found.ends_with(&format!("b… [{} bytes in this line]\n", line.len())) && found.len() < 500,
        "{found}"
    );
}

#[test]
fn what_is_cut_is_the_same_every_time_and_says_so() {
    let desk = Desk::new();
    for folder in 0..20 {
        fs::create_dir(desk.path(&format!("d{folder:02}"))).unwrap();
        for file in 0..20 {
            fs::write(desk.path(&format!("d{folder:02}/f{file:02}")), "hit\n".repeat(7)).unwrap();
        }
    }
    let first = desk.ok("grep", json!({"pattern": "hit", "limit": 10}));
    assert_eq!(
        (&first["matches"], &first["files"], &first["truncated"]),
        (&json!(10), &json!(2), &json!(true))
    );
    let text = first["text"].as_str().unwrap();
    assert!(
        text.starts_with("d00/f00\n1:hit\n")
            && text.contains("d00/f01\n1:hit\n2:hit\n3:hit\n\n[truncated: more than 10 matches"),
        "{text}"
    );
    for _ in 0..30 {
        assert_eq!(desk.ok("grep", json!({"pattern": "hit", "limit": 10})), first);
    }
    // Exactly as many as there are is no cut.
    let all = desk.ok("grep", json!({"pattern": "hit", "path": "d00/f00", "limit": 7}));
    assert_eq!((&all["matches"], &all["truncated"]), (&json!(7), &json!(false)));
    let all = desk.ok("grep", json!({"pattern": "hit", "path": "d00", "limit": 140}));
    assert_eq!((&all["matches"], &all["truncated"]), (&json!(140), &json!(false)));
    let found = desk.ok("glob", json!({"pattern": "f*"}));
    assert_eq!((found["paths"].as_array().unwrap().len(), &found["total"]), (200, &json!(400)));
    assert_eq!(found["paths"][199], "d09/f19");
    assert!(found["note"].as_str().unwrap().contains("first 200 of 400"));
    // Folders are all there; what is deeper fills the rest.
    let listed = desk.ok("list", json!({}));
    let entries = listed["entries"].as_str().unwrap();
    assert_eq!(entries.lines().filter(|line| line.ends_with('/')).count(), 20);
    assert!(entries.ends_with("[20 more entries, the deepest, are not shown: list a folder of these]\n"));
    assert_eq!((&listed["total"], &listed["truncated"]), (&json!(420), &json!(true)));
}

#[test]
fn a_result_is_bounded_in_bytes() {
    let desk = Desk::new();
    let line = format!("hit {}\n", "x".repeat(380));
    for file in 0..30 {
        fs::write(desk.path(&format!("f{file:02}")), line.repeat(20)).unwrap();
    }
    let found = desk.ok("grep", json!({"pattern": "hit", "limit": 1000}));
    let text = found["text"].as_str().unwrap();
    assert!(text.len() < 51 * 1024 && text.contains("[truncated: more than 50 KiB"), "{}", text.len());
    assert_eq!(found["truncated"], true);
    assert_eq!(desk.ok("grep", json!({"pattern": "hit", "limit": 1000})), found);
    let long = "n".repeat(200);
    for file in 0..400 {
        fs::write(desk.path(&format!("{long}{file:03}")), "").unwrap();
    }
    let found = desk.ok("glob", json!({"pattern": "*", "limit": 2000}));
    assert!(found.to_string().len() < 52 * 1024);
    assert_eq!((&found["truncated"], &found["total"]), (&json!(true), &json!(430)));
}

#[test]
fn ten_thousand_files_and_a_huge_one_take_no_time_to_stop() {
    let desk = Desk::new();
    for folder in 0..100 {
        fs::create_dir(desk.path(&format!("{folder}"))).unwrap();
        for file in 0..100 {
            fs::write(desk.path(&format!("{folder}/{file}")), "some text\n").unwrap();
        }
    }
    let found = desk.ok("glob", json!({"pattern": "*"}));
    assert_eq!((&found["total"], found["paths"].as_array().unwrap().len()), (&json!(10_000), 200));
    assert_eq!(desk.ok("grep", json!({"pattern": "nothing"}))["searched"], 10_000);
    // A terabyte of nothing is binary at its first byte.
    let huge = fs::File::create(desk.path("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    assert_eq!(desk.ok("grep", json!({"pattern": "nothing", "glob": "huge"}))["matches"], 0);
    fs::remove_file(desk.path("huge")).unwrap();

    let prepared = desk.prepare("grep", json!({"pattern": "nothing"})).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (progress, _) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let started = Instant::now();
    let output = runtime.block_on((prepared.run)(ToolRunContext {
        id: "1".to_owned(),
        cancel,
        progress,
        beside: Default::default(),
        images: Default::default(),
    }));
    assert_eq!(output, ToolOutput::error(ToolCode::Interrupted, "the search was interrupted"));
    drop(runtime);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn lines_that_are_not_utf8_are_found_and_shown_as_read_shows_them() {
    let desk = Desk::new();
    let long = [&b"\xff".repeat(500)[..], b" needle \xe9", &b"\xc3".repeat(500)].concat();
    fs::write(desk.path("f"), [b"caf\xe9 needle\n", &long[..], b"\n"].concat()).unwrap();
    let data = desk.ok("grep", json!({"pattern": "needle"}));
    assert_eq!(data["matches"], 2);
    let text = data["text"].as_str().unwrap();
    assert!(text.starts_with("f\n1:caf\u{fffd} needle\n2:…\u{fffd}"), "{text}");
    assert!(text.contains("\u{fffd} needle \u{fffd}"), "{text}");
    assert_eq!(data["lossy"], true);
    assert!(data["note"].as_str().unwrap().contains("not UTF-8"), "{data}");
    // A real U+FFFD is text.
    fs::write(desk.path("f"), b"real \xef\xbf\xbd needle\ncaf\xe9\n").unwrap();
    let data = desk.ok("grep", json!({"pattern": "needle"}));
    assert_eq!((data.get("lossy"), data.get("note")), (None, None));
}
