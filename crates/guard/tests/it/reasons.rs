//! What a person reads who is asked about a command: what it is about, and each reason once.

use zdx_guard::{PolicyContext, explain};
use zdx_protocol::{Origin, Verdict};

use super::cases::small_machine;

fn asked(command: &str) -> String {
    let cx = PolicyContext { person: true, ..small_machine() };
    match explain(command, Origin::Model, &cx).verdict {
        Verdict::Ask(reason) => reason.message,
        other => panic!("{command}: {other:?}"),
    }
}

#[test]
fn an_ordinary_command_is_told_by_what_it_is_about() {
    for (command, wanted) in [
        ("git push origin main", "it publishes to a remote"),
        ("git -C sub push", "it publishes to a remote"),
        ("git fetch", "it downloads commits"),
        ("git commit -m x", "it commits"),
        ("git reset --soft HEAD~1", "it changes what the next commit holds"),
        ("npm install left-pad", "it downloads packages and may run their scripts"),
        ("env A=1 npm install", "it downloads packages and may run their scripts; it sets A"),
        ("npm run build", "it runs a script of the project"),
        ("cargo test foo", "it builds the project and runs it"),
        ("curl -s http://x", "it talks to the network"),
        ("curl -sSL https://x -o y.html", "it talks to the network; it creates y.html"),
        ("docker run x", "it runs a container"),
        ("docker run -it x", "it runs a container; the option -it is not known"),
        ("make test", "it runs what a file of the workspace says"),
        ("node -e 'x()'", "it runs code given on the command line"),
        ("python3 -c 'print(1)'", "it runs code given on the command line"),
        ("python -m pytest -q", "it runs a module of Python"),
        ("systemctl restart nginx", "it changes services of this machine"),
        ("frobnicate --x", "it runs frobnicate"),
    ] {
        assert_eq!(asked(command), format!("{wanted}; the rules ask first"), "{command}");
    }
}

#[test]
fn options_of_ones_own_script_are_its_own_and_a_reason_is_given_once() {
    for command in [
        "python3 report.py --month 3",
        "python3 report.py --month 3 && python3 other.py",
        "./run.sh --month 3 -v",
        "node x.js -e y",
    ] {
        assert_eq!(asked(command), "it runs a file of the workspace; the rules ask first", "{command}");
    }
    let own = asked("node --unheard-of x.js --month");
    assert!(own.starts_with("the option --unheard-of is not known; it runs a file"), "{own}");
}
