//! How often everyday work is stopped: commands as coding agents run them, in a git repository on the real disk, by class
//! and with the strictest verdict that is acceptable for each. Run with `--nocapture` to see the figures.

use std::collections::BTreeMap;
use std::path::Path;

use zdx_guard::{PolicyContext, explain};
use zdx_protocol::{Approval, Level, Origin};

/// Of the commands that only read, how many of a hundred may be stopped.
const READ_STOPPED: usize = 5;

struct Row<'a> {
    class: &'a str,
    acceptable: Level,
    command: String,
}

fn rows() -> Vec<Row<'static>> {
    let row = |line: &'static str| {
        let mut fields = line.splitn(3, '\t');
        let mut field = || fields.next().expect("class, verdict, command");
        let (class, verdict, command) = (field(), field(), field());
        let levels = [Level::Allow, Level::Ask, Level::Confirm, Level::Deny];
        let acceptable = levels.into_iter().find(|level| level.name() == verdict).expect("a verdict");
        Row { class, acceptable, command: command.replace('⏎', "\n") }
    };
    include_str!("../cases/everyday.tsv").lines().map(row).collect()
}

/// A small repository with a bit of everything, whose configuration runs nothing.
fn repository(root: &Path) {
    for folder in [
        ".git/hooks",
        ".git/objects",
        ".git/refs/heads",
        ".github/workflows",
        "src/parser",
        "tests/fixtures",
        "tests/empty",
        "web/src",
        "web/dist",
        "docs",
        "scripts",
        "logs",
        "crates/a/src",
    ] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = \
                  https://github.com/example/app\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
    std::fs::write(root.join(".git/config"), config).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for file in [
        ".gitignore",
        ".github/workflows/ci.yml",
        "Cargo.toml",
        "Cargo.lock",
        "Makefile",
        "README.md",
        "package.json",
        "tsconfig.json",
        "data.json",
        "data.csv",
        "notes.txt",
        "fix.patch",
        "assets.zip",
        "vendor.tgz",
        "requirements.txt",
        "src/main.rs",
        "src/lib.rs",
        "src/parser.rs",
        "src/config.rs",
        "tests/it.rs",
        "tests/test_api.py",
        "tests/fixtures/a.json",
        "tests/fixtures/b.json",
        "web/src/App.tsx",
        "docs/guide.md",
        "scripts/build.sh",
        "scripts/check.js",
        "scripts/release.py",
        "logs/server.log",
        "crates/a/src/lib.rs",
    ] {
        std::fs::write(root.join(file), "x\n").unwrap();
    }
}

fn judged(approval: Approval) -> Vec<(Row<'static>, Level)> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root);
    let mut cx = PolicyContext::new(&root, approval);
    cx.home = Some("/home/me".into());
    let level = |row: &Row<'_>| explain(&row.command, Origin::Model, &cx).verdict.level();
    rows().into_iter().map(|row| (level(&row), row)).map(|(level, row)| (row, level)).collect()
}

/// A line a class: how many there are, how many get which verdict, and how many a stricter one than is acceptable.
fn figures(judged: &[(Row<'_>, Level)]) -> String {
    let mut classes: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for (row, level) in judged {
        let counts = classes.entry(row.class).or_default();
        counts[*level as usize] += 1;
        counts[4] += usize::from(*level > row.acceptable);
    }
    let mut text = String::from("class    allow   ask  confirm  deny  too strict\n");
    for (class, [allow, ask, confirm, deny, strict]) in classes {
        text.push_str(&format!("{class:8}{allow:6}{ask:6}{confirm:9}{deny:6}{strict:12}\n"));
    }
    text
}

fn commands<'a>(judged: &'a [(Row<'_>, Level)], which: impl Fn(&Row<'_>, Level) -> bool) -> Vec<&'a str> {
    judged.iter().filter(|(row, level)| which(row, *level)).map(|(row, _)| row.command.as_str()).collect()
}

#[test]
fn everyday_commands_are_seldom_stopped_and_no_dangerous_one_passes() {
    let balanced = judged(Approval::Balanced);
    let yolo = judged(Approval::Yolo);
    eprintln!("balanced\n{}\nyolo\n{}", figures(&balanced), figures(&yolo));
    assert!(balanced.len() >= 300, "{}", balanced.len());

    let passed = commands(&balanced, |row, level| row.class == "danger" && level == Level::Allow);
    assert!(passed.is_empty(), "dangerous, and not even asked about: {passed:#?}");
    let passed = commands(&yolo, |row, level| row.class == "danger" && level < Level::Confirm);
    assert!(passed.is_empty(), "dangerous, and let pass by yolo: {passed:#?}");

    let all = commands(&balanced, |row, _| row.class == "read").len();
    let stopped = commands(&balanced, |row, level| row.class == "read" && level > Level::Allow);
    let percent = (stopped.len() * 100).div_ceil(all);
    assert!(percent <= READ_STOPPED, "{percent} % of those that only read are stopped: {stopped:#?}");
    let rest = commands(&balanced, |row, _| row.class != "read" && row.class != "danger").len();
    let asked =
        commands(&balanced, |row, level| row.class != "read" && row.class != "danger" && level == Level::Ask);
    eprintln!(
        "reads stopped: {} of {all}; of the other {rest}: {} % asked",
        stopped.len(),
        asked.len() * 100 / rest
    );
    let strict = commands(&balanced, |row, level| row.class != "read" && level > row.acceptable);
    assert!(strict.is_empty(), "judged too strictly: {strict:#?}");
}
