//! Commands made to take long or much memory. Each is judged within a second or so and a few megabytes, and never takes
//! the process down. Run in a process of its own, whose peak of memory the kernel keeps.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use zdx_guard::{LayerSource, PolicyContext, Rules, grant_key, weigh, wider_grant};
use zdx_protocol::{Action, Approval, Level, Origin};

use crate::scripts::Rng;

const CHILD: &str = "ZDX_BOUNDS_CHILD";
const NAME: &str = "bounds::no_command_takes_long_or_much_memory";
/// Time for one decision. Without optimisation the same work takes about five times as long; without limits it took minutes.
const SLOWEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });
const GENERATED: u64 = 400;
const MOST_KIB: usize = 50 * 1024;
/// As long as a command may be.
const LONGEST: usize = 64 * 1024;

#[test]
fn no_command_takes_long_or_much_memory() {
    if std::env::var_os(CHILD).is_some() {
        judge_all();
        return;
    }
    let me = std::env::current_exe().unwrap();
    let child = Command::new(me).args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success(), "{:?}\n{out}\n{err}", child.status);
}

fn judge_all() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for number in 0..200 {
        std::fs::create_dir_all(root.join(format!("dir{number}/in"))).unwrap();
    }
    let mut cx = PolicyContext::new(&root, Approval::Balanced);
    cx.home = Some("/home/me".into());
    cx.env = Arc::new([("BIG".to_owned(), "y".repeat(100_000))].into());
    let judged = |command: &str, cx: &PolicyContext| {
        let action =
            Action::Command { command: command.to_owned(), cwd: cx.root.clone(), origin: Origin::Model };
        let begun = Instant::now();
        let level = weigh(&action, cx).strictest();
        if level == Level::Ask {
            wider_grant(&action, cx);
        }
        grant_key(&action, cx);
        let start: String = command.chars().take(60).collect();
        assert!(begun.elapsed() < SLOWEST, "{:?} for {} bytes: {start}", begun.elapsed(), command.len());
        level
    };
    judged("ls", &cx);
    let (hostile, generated) = (hostile(), generated(GENERATED));
    let before = memory("VmRSS:");
    for command in hostile.iter().chain(&generated) {
        judged(command, &cx);
    }
    let (_crowd, crowded) = crowded(&cx);
    for command in wildcards() {
        judged(&command, &crowded);
    }
    let ruled = PolicyContext { rules: Arc::new(many_rules()), ..cx.clone() };
    let level = judged(&format!("ls {}", "aaaaaaaa ".repeat(900)), &ruled);
    assert_eq!(level, Level::Confirm, "what cannot be compared with all rules is confirmed");
    let most = memory("VmHWM:") - before;
    assert!(most < MOST_KIB, "{most} KiB");
}

/// A workspace with more names than are listed in its root, and in some folders about as many as are.
fn crowded(cx: &PolicyContext) -> (tempfile::TempDir, PolicyContext) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let fill = |below: &str, count: usize| {
        std::fs::create_dir_all(root.join(below)).unwrap();
        (0..count)
            .for_each(|number| std::fs::write(root.join(below).join(format!("f{number}")), "").unwrap());
    };
    fill("", 10_100);
    fill("full", 9_900);
    (0..6).for_each(|number| fill(&format!("part{number}"), 1_900));
    let crowded = PolicyContext { root, ..cx.clone() };
    (folder, crowded)
}

/// Words that are looked up in folders, again and again.
fn wildcards() -> Vec<String> {
    let frames = [
        "ls #",
        "cat #",
        "for i in 1 2 3; do ls #; done",
        "touch #",
        "find # -name x",
        "# x",
        "cd full; ls #",
    ];
    let words =
        ["* ", "f* ", "./* ", "*/* ", "full/* ", "full/f1* ", "part0/* ", "part?/* ", "part0/../part1/f*1 "];
    let mut all: Vec<String> = Vec::new();
    for frame in frames {
        all.extend(words.iter().map(|word| frame.replace('#', &word.repeat(990))));
    }
    for reader in
        ["find . | xargs cat; ", "find part0 part1 | xargs cat; ", "ls | xargs cat; ", "ls -R | xargs cat; "]
    {
        all.push(reader.repeat(60));
    }
    all
}

/// Reads a field about the memory of this process, in KiB; nothing where the kernel does not tell.
fn memory(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Rules with many wildcards, as a configuration might hold.
fn many_rules() -> Rules {
    let patterns = (0..1_500).map(|number| (format!("{}b{number}", "* a?a*a ".repeat(60)), json!("deny")));
    let permission = json!({"bash": serde_json::Value::Object(patterns.collect())});
    let mut rules = Rules::base();
    let source = LayerSource { trusted: true, permission: Some(&permission), ..LayerSource::default() };
    rules.add(&source).unwrap();
    rules
}

/// One unit again and again, up to the longest command, between two ends.
fn filled(before: &str, unit: &str, after: &str) -> String {
    let room = LONGEST - 100 - before.len() - after.len();
    format!("{before}{}{after}", unit.repeat(room / unit.len()))
}

/// Numbered words.
fn numbered(before: &str, unit: &str, count: usize, after: &str) -> String {
    let words: String = (0..count).map(|number| unit.replace('#', &number.to_string())).collect();
    format!("{before}{words}{after}")
}

/// A text put into a frame several times.
fn nested(inside: &str, times: usize, frame: impl Fn(&str) -> String) -> String {
    (0..times).fold(inside.to_owned(), |text, _| {
        let more = frame(&text);
        if more.len() < LONGEST { more } else { text }
    })
}

fn hostile() -> Vec<String> {
    let doubling = |first: &str, step: &str, last: &str| format!("{first}; {}{last}", step.repeat(30));
    let mut all = vec![
        // Values that grow.
        doubling("a=xx", "a=$a$a; ", ""),
        doubling("a=xx", "a=\"$a;$a\"; ", "eval \"$a\""),
        doubling("a=xx", "a=${a:-x}${a:-x}; ", "echo $a"),
        doubling("a=xx", "a=$(echo $a$a); ", "echo $a"),
        doubling("a=xx", "a=$(printf %s \"$a\" \"$a\"); ", "echo $a"),
        doubling("export a=xx", "export a=$a$a; ", "sh -c $a"),
        doubling("a=xx", "a=$a$a; ", "cat <<E\n$a\nE\n"),
        doubling("a=ls", "a=\"$a;$a\"; ", "sh <<< \"$a\""),
        doubling("a=ls", "a=\"$a;$a\"; ", "python -c \"$a\""),
        format!("for a in xx; do {} echo $a; done", "a=$a$a; ".repeat(30)),
        format!("a=x; {}", "a=$(printf \"$a%s\" 1 2 3 4 5 6 7 8); ".repeat(100)),
        format!("a={}; echo {}", "x".repeat(8_000), "$a".repeat(20_000)),
        filled("echo ", "$BIG", ""),
        format!("a=('{}'); touch {}", "x".repeat(30_000), "$x".repeat(15_000)),
        format!("printf '{}%s' {} | sh", "x".repeat(30_000), "a ".repeat(15_000)),
        format!("a='{}'; {}", "[[ x ]]; ".repeat(3_000), "eval \"$a\"; ".repeat(190)),
        // Names of files.
        filled("cat ", "*/", ""),
        filled("touch ", ".[a-z]* ", ""),
        filled("ls ", "*/../*/../*/.. ", ""),
        filled("rm -rf ", "[a]*/", ""),
        filled("ls ", "* ", ""),
        format!("ls {}", "*/../".repeat(100)),
        format!("{} touch {}", numbered("", "cd dir# || ls; ", 9, ""), "a/b/c/d/e/f/g/h/x ".repeat(3_000)),
        numbered("touch ", "f# ", 9_000, ""),
        numbered("ls ", "> a# ", 6_000, ""),
        // Paths that are too long, and shortened by a shell.
        filled("cd ", "../", "; touch x"),
        filled("cd /", "etc/../", "etc; touch x"),
        filled("cd ", "a/", "; touch x"),
        filled("sh -c 'cd ", "./", "; touch x'"),
        filled("ln -s dir0 l; cd ", "a/../", "; touch x"),
        format!(
            "{} touch {}",
            numbered("", "cd dir# || ls; ", 7, ""),
            format!("{}x ", "../".repeat(1_500)).repeat(12)
        ),
        format!("touch {}", format!("{}/x ", "a/../b".repeat(700)).repeat(14)),
        // Braces, words and tokens.
        filled("echo ", "{a,b}", ""),
        format!("echo {}{{{}}}", "x".repeat(30_000), "a,".repeat(15_000)),
        filled("echo ", "a ", ""),
        filled("", "a=b ", "ls"),
        filled("", "a[1][2] ", ""),
        filled("", "ls; ", ""),
        filled("ls -", "l", ""),
        filled("nice ", "nice ", "ls"),
        filled("find . | xargs -I {} ls ", "{} ", ""),
        filled("foo ", "run rm ", ""),
        filled("git ", "$a ", "x"),
        // Substitutions, quotes and arithmetic.
        filled("echo ", "$(ls)", ""),
        filled("echo ", "`ls`", ""),
        filled("cat <<E\n", "$(ls)", "\nE\n"),
        filled("echo ", "${x:-$(ls)}", ""),
        nested("a", 7, |text| format!("$(echo {text} {text} {text} {text})")),
        nested("ls", 8, |text| format!("${{a:-'b' {text}}}")),
        nested(&"x ".repeat(10_000), 8, |text| format!("$(( {text} ) )")),
        nested("ls", 8, |text| format!("eval '{}'", text.replace('\'', "'\\''"))),
        filled("echo $((", "a+", "1))"),
        filled("((", "1+", "1))"),
        filled("set '", "a[", "'"),
        // Trees.
        format!("{}[[ a ]];{}", "for i in 1 2 3 4; do ".repeat(23), " done;".repeat(23)),
        format!("{}cd $a;{}", "while cd x; do ".repeat(23), " done;".repeat(23)),
        format!("{}ls{}", "case x in x) ".repeat(23), " esac".repeat(23)),
        format!("{}{}", "case x in x) ".repeat(4), "a b c d\n".repeat(900)),
        filled("[[ ", "a && ", "a ]]"),
        filled("[[ ", "a &&\n", "a ]]"),
        filled("[[ a =~ ", "a|", "b ]]"),
        filled("", "[[ a ]]; ", ""),
        numbered("alias ", "a#=ls ", 5_000, ""),
        format!("alias a='ls {}'\n{}", "x ".repeat(25_000), "a\n".repeat(190)),
        // Programs of other languages.
        filled("awk 'print ", ">", "'"),
        filled("sed '", "w f\n", "'"),
        filled("python -c \"system ", "qx", "\""),
        filled("perl -e \"", "exec ", "\""),
        filled("sqlite3 x.db <<'E'\n", ".shell ls\n", "E\n"),
    ];
    all.retain(|command| command.len() <= LONGEST);
    assert!(all.len() > 55, "{}", all.len());
    all
}

/// Pieces that nest, repeat and refer to each other, put together at random.
fn generated(count: u64) -> Vec<String> {
    const PIECES: &[&str] = &[
        "a=$a$a; ",
        "$a",
        "$(",
        ")",
        "${a:-",
        "}",
        "\"",
        "'",
        "`",
        "{a,b}",
        "*/",
        "[a-z]*",
        "$((",
        "))",
        "((",
        "[[ ",
        " ]] ",
        " && ",
        " || ",
        "; ",
        "\n",
        " | ",
        " & ",
        "<<E\n",
        "\nE\n",
        "<<< ",
        "> ",
        "case x in x) ",
        " esac ",
        "for i in 1 2; do ",
        " done; ",
        "if ls; then ",
        " fi; ",
        "f() { ",
        "}; ",
        "( ",
        ") ",
        "eval ",
        "sh -c ",
        "alias a=",
        "a[1]=",
        "xargs ",
        "env ",
        "find . -exec ",
        "awk '",
        "cd x; ",
        "../",
        "\\",
        "echo ",
        "ls ",
        "touch ",
        "export a=",
        "printf %s ",
        "x",
        " ",
        "! ",
    ];
    let make = |seed: u64| {
        let mut rng = Rng::new(seed);
        let mut text = String::new();
        while text.len() < LONGEST - 4_000 {
            // A few pieces, again and again: what a single one does not show, several at once may.
            let group: String = (0..1 + rng.below(6)).map(|_| PIECES[rng.below(PIECES.len())]).collect();
            let times = [1, 3, 20, 300][rng.below(4)];
            text.push_str(&group.repeat(times));
            if rng.below(12) == 0 {
                break;
            }
        }
        text.chars().take(LONGEST).collect()
    };
    (0..count).map(make).collect()
}
