//! What must hold for every command line, not only for those somebody thought of.

use proptest::prelude::*;
use zdx_guard::{PolicyContext, judge};
use zdx_protocol::{Action, Level, Origin};

use crate::cases::small_machine;
use crate::scripts::{Rng, harmless, whole_dangerous};

fn verdict(command: &str, cx: &PolicyContext) -> Level {
    judge(&Action::Command { command: command.to_owned(), cwd: cx.root.clone(), origin: Origin::Model }, cx)
        .level()
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Ways to run a command that must not make it look better.
fn wrappings(command: &str) -> Vec<String> {
    let quoted = single_quoted(command);
    // `$(` before a parenthesis would begin a sum, for every shell: that runs nothing.
    let inside = if command.starts_with('(') { format!(" {command}") } else { command.to_owned() };
    vec![
        format!("ls; {command}"),
        format!("{command}\nls"),
        format!("( {command}\n)"),
        format!("{{ {command}\n}}"),
        format!("if :; then {command}\nfi"),
        format!("for i in 1; do {command}\ndone"),
        format!("sh -c {quoted}"),
        format!("eval {quoted}"),
        format!("echo {quoted} | sh"),
        format!("trap {quoted} EXIT"),
        format!("cat $({inside}\n)"),
        format!("f() {{ {command}\n}}; f"),
        format!("sh <<'ZDXEND'\n{command}\nZDXEND"),
        format!("x=\"${{y:-$({inside}\n)}}\""),
        format!("nohup timeout 5 env A=1 sh -c {quoted}"),
        format!("echo | xargs sh -c {quoted}"),
        format!("find . -exec sh -c {quoted} \\;"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_judged_without_panic(text in "\\PC{0,200}") {
        verdict(&text, &small_machine());
    }

    #[test]
    fn shell_like_noise_is_judged_without_panic(text in r#"[-a-z0-9 '"\\$`(){}\[\];&|<>#\n\t!*?~=/.@:%+,^EOF]{0,300}"#) {
        verdict(&text, &small_machine());
    }

    #[test]
    fn no_wrapping_makes_a_confirmed_command_look_better(seed in any::<u64>()) {
        let cx = small_machine();
        let command = whole_dangerous(&mut Rng::new(seed));
        if verdict(&command, &cx) >= Level::Confirm {
            for wrapped in wrappings(&command) {
                prop_assert!(verdict(&wrapped, &cx) >= Level::Confirm, "{wrapped:?} hides {command:?}");
            }
        }
    }

    #[test]
    fn a_script_is_as_strict_as_its_strictest_part(first in any::<u64>(), second in any::<u64>()) {
        let cx = small_machine();
        let (first, second) = (harmless(&mut Rng::new(first)), whole_dangerous(&mut Rng::new(second)));
        let parts = verdict(&first, &cx).max(verdict(&second, &cx));
        for script in [format!("{first}\n{second}"), format!("{second}\n{first}")] {
            prop_assert!(verdict(&script, &cx) >= parts.min(Level::Confirm), "{script:?} is below its parts");
        }
    }
}

/// Texts of nearly the greatest size, each made to be slow to read: a decision may take a moment, not a minute.
#[test]
fn hostile_texts_are_judged_in_time() {
    let cx = small_machine();
    let literals: String = (0..100).map(|n| format!("a{n}='x[{n}';")).collect();
    let links: String = (0..95).map(|n| format!("ln -s a b{n};")).collect();
    for (start, piece, end) in [
        ("sed 's/", "[", "/b/'"),
        ("sed '", "1e ls;", "'"),
        ("ls ", "[a", ""),
        ("rm -r ", "[a]", ""),
        ("rm -r /", "*/", ""),
        ("tar ", "-C a ", ""),
        (links.as_str(), "a/", ""),
        ("python3 -c '", "exec ", "'"),
        ("python3 -c '", "os.system(\"ls\");", "'"),
        ("awk '", "{system(\"ls\")}", "' x"),
        (literals.as_str(), "sed \"$x\" a;", ""),
        ("curl ", "-o a http://h/x ", ""),
        ("sh -c \"$x ", "sudo;ls;", "\""),
        ("env ", "env ", "ls"),
        ("ls ", ">a ", ""),
    ] {
        let count = (60_000 - start.len()) / piece.len();
        // More commands than are read at all would prove nothing.
        let count = if piece.contains("$x") { 90 } else { count };
        let text = format!("{start}{}{end}", piece.repeat(count));
        let begun = std::time::Instant::now();
        verdict(&text, &cx);
        let took = begun.elapsed();
        // Minutes where something grows with the square; seconds on a machine that has other things to do, too.
        assert!(took.as_secs() < 30, "{start:.20}{piece}: {took:?}");
    }
}

#[test]
fn any_amount_of_nesting_is_refused_not_crashed_on() {
    let cx = small_machine();
    for opener in [
        "(",
        "((",
        "{ ",
        "$(",
        "`",
        "\"$(",
        "${a:-",
        "$((",
        "[[ ( ",
        "if ",
        "while ",
        "case x in (",
        "<(",
        "eval ",
        "sh -c ",
        "! ",
        "f() { ",
        "{a,",
        "a[",
        "\\",
        "'",
        "\"",
        "<<E ",
        "for i in ",
        "time ",
        "env ",
        "coproc ",
        "function f ",
        "& ",
        "| ",
        "&& ",
        "!(",
        "x=(",
        "a[$((",
        "${a[",
    ] {
        for count in [3, 30, 300, 3_000, 100_000] {
            let text = opener.repeat(count);
            verdict(&text[..text.len().min(300_000)], &cx);
            verdict(&format!("{text} rm x"), &cx);
        }
    }
}

/// The longest texts that are read at all, made to be read slowly. Debug builds have five seconds each.
#[test]
fn no_text_takes_long() {
    let cx = small_machine();
    let fill = |unit: &str| unit.repeat(60_000 / unit.len());
    let nested = |open: &str, close: &str| {
        let body = "x".repeat(50_000);
        format!("echo {}{body}{}", open.repeat(7), close.repeat(7))
    };
    let texts = [
        fill("a=$(ls);"),
        fill("ls;"),
        fill("$(("),
        fill("${a:-"),
        fill("{a,"),
        fill("a[b]"),
        fill("'\"`"),
        fill("<<E\n"),
        fill("((a"),
        fill("x=(a "),
        fill("[[ a "),
        fill("f() "),
        fill("echo {a,b}{c,d} "),
        fill("\\\n"),
        fill("sed s/a/b/ "),
        fill("*?["),
        fill("a|"),
        fill("if a; then "),
        nested("$(( (", ") )"),
        nested("${a:-'b'", "}"),
        nested("\"$(echo ", ")\""),
        nested("$((", "))"),
        format!("echo {{{}}}", fill("a,")),
        format!("awk '{}'", fill("{print}")),
        format!("python3 -c \"{}\"", fill("os.system('ls') ")),
    ];
    for text in texts {
        let start = std::time::Instant::now();
        verdict(&text, &cx);
        let took = start.elapsed();
        let shown: String = text.chars().take(40).collect();
        assert!(took.as_secs() < 30, "{shown:?} took {took:?}");
    }
}
