//! Makes scripts out of small pieces: commands, quoting, wrappers, control flow, here-documents, aliases.
//! Harmless by construction: names in the sandbox and its home only, and nothing that would reset the search path.

mod damage;
mod readers;
mod rng;

use damage::{mutate, spliced};
pub use readers::{DOUBTFUL, LINKED, reader};
pub use rng::Rng;

/// A piece of script; `simple` when it is one command that a wrapper may take as its arguments.
struct Piece {
    text: String,
    simple: bool,
}

fn simple(text: impl Into<String>) -> Piece {
    Piece { text: text.into(), simple: true }
}

fn compound(text: impl Into<String>) -> Piece {
    Piece { text: text.into(), simple: false }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn double_quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`"))
}

/// Files that are there, in the workspace and beside it.
const TARGETS: &[&str] = &[
    "existing.txt",
    "sub/existing.txt",
    "a",
    "link",
    "~/existing.txt",
    "$HOME/existing.txt",
    "../home/existing.txt",
    "sub/../../home/existing.txt",
];

const LISTED: &[&str] = &[
    "rm x",
    "rm -rf sub",
    "mv a b",
    "chmod 600 a",
    "chown me a",
    "dd if=a of=b",
    "mkfs.ext4 x",
    "reboot",
    "sudo ls",
    "shutdown now",
    "shred a",
    "rm",
];
const BENIGN: &[&str] = &[
    "ls",
    "cat a",
    "grep x a",
    "echo hi",
    "true",
    "ls -la sub",
    "cat a existing.txt",
    "echo rm -rf x",
    "printf '%s\\n' a",
    "wc -l a",
    "head -1 a",
    "ls 2>/dev/null",
    "cat < a",
    "echo \"a > b\"",
    "grep 'rm x' a",
    "test -f a",
    "pwd",
    "echo $HOME",
    "echo 'it''s'",
    "sort a",
    "echo a#b",
    "ls sub",
    "grep -R x sub",
    "ls -L link",
    "find -L . -name a",
    "du -L sub",
    "diff -r sub sub",
    "stat -L link",
];

fn spelled(rng: &mut Rng, command: &str) -> String {
    let (name, rest) =
        command.split_once(' ').map_or((command, String::new()), |(name, rest)| (name, format!(" {rest}")));
    let (first, tail) = name.split_at(1);
    let spelling = match rng.below(20) {
        0 => format!("\\{name}"),
        1 => format!("'{name}'"),
        2 => format!("\"{name}\""),
        3 => format!("{first}''{tail}"),
        4 => format!("{first}\\{tail}"),
        5 => format!("$'\\x{:02x}{tail}'", first.as_bytes()[0]),
        6 => format!("$(echo {name})"),
        7 => format!("`echo {name}`"),
        8 => format!("${{zz:-{name}}}"),
        9 => format!("{first}\"\"{tail}"),
        10 => format!("$zz{name}"),
        11 => format!("{first}\\\n{tail}"),
        12 => format!("\"$(printf {name})\""),
        _ => name.to_owned(),
    };
    spelling + &rest
}

fn overwrite(rng: &mut Rng) -> String {
    let command = rng.pick(&["echo hi", ":", "cat sub/nothing", "ls", "printf x", "true"]);
    let operator = rng.pick(&[">", ">|", "1>", ">&", "&>", "2>", "1<>", "> ./", ">'exist'", ">\"\"", ">\\"]);
    match operator {
        ">'exist'" => format!("{command} >'exist'ing.txt"),
        "> ./" => format!("{command} > ./existing.txt"),
        _ => format!("{command} {operator}{}", rng.pick(TARGETS)),
    }
}

fn leaf(rng: &mut Rng, danger: bool) -> Piece {
    if !danger {
        return simple(rng.pick(BENIGN));
    }
    match rng.below(17) {
        15 | 16 => compound(rng.pick(readers::LINKED)),
        12..15 => compound(rng.pick(readers::DOUBTFUL)),
        10 | 11 => compound(rng.pick(crate::odd::ODD)),
        0..=5 => {
            let command = rng.pick(LISTED);
            simple(spelled(rng, command))
        }
        6 => simple(
            rng.pick(&[
                "tee existing.txt",
                "cp a existing.txt",
                "tee sub/existing.txt a",
                "cp sub/existing.txt a",
            ])
            .replace("cp a existing.txt", "cp bin existing.txt"),
        ),
        7 => compound(rng.pick(&[
            "cd sub && echo hi > existing.txt",
            "cd && echo hi > existing.txt",
            "cd ~; tee existing.txt",
            "cd \"$HOME\"; : > ../ws/a",
            "cd .. && echo hi > home/existing.txt",
            "cd /nowhere; : > existing.txt",
            "cd nowhere && : > a; : > ~/existing.txt",
            "cp a ~/existing.txt",
            "ln -sf ../ws/a ~/existing.txt",
            "echo 'rm x' > ~/new.sh; sh ~/new.sh",
            "echo 'rm x' > ../new.sh; . ../new.sh",
            "cd sub; echo hi > existing.txt",
            "cd sub; : > ../a",
            "cd sub; cd ..; : > a",
            "(cd sub; : > existing.txt)",
            "f() { cd sub; }; f; : > existing.txt",
            "for d in sub; do cd $d; : > existing.txt; done",
            "exec 3> existing.txt",
            "exec > a; ls",
            "echo $'\\'\nrm x\necho \\''",
            "[[ a || rm ]]",
            "[[ x =~ a|rm ]]",
            "(((rm x)|(ls)))",
            "(((rm x)))",
            "[[ -n a || rm x ]]",
            "echo hi &>/dev/null rm x",
            "cd() { :; }; cd sub; : > existing.txt",
            "BASH_CMDS[ls]=../bin/rm; ls",
            "set -- rm x; \"$@\"",
            "set rm x; $*",
            "c=rm; $c x",
            "x='rm x'; $x",
            "x='rm x'; eval \"$x\"",
            "f() { \"$@\"; }; f rm x",
            "f() { $1 x; }; f rm",
            "echo 'rm x' > gen.sh; . ./gen.sh",
            "echo 'rm x' > gen.sh; sh gen.sh",
            "ls() { rm x; }; ls",
            "cat() { rm x; }\ncat a",
            "a=r; b=m; $a$b x",
            "{rm,x}",
            "x='a[$(rm x)]'; echo $((x))",
            "x='$(rm x)'; echo \"${x@P}\"",
            "PS4='$(rm x)'; set -x; ls",
            "hash -p ../bin/rm ls; ls",
            "[ 3 > a ]",
            "[[ 3 > a ]]",
            "((1 > a))",
            "((rm x))",
            "( (rm x) )",
            "((rm x) )",
            "$((rm x) )",
            "!(rm x)",
            "! rm x",
            "time rm x",
            "time -p rm x",
            "alias zz='rm x'\nzz",
            "alias ls='rm x'\nls",
            "alias e=env\ne rm x",
            "alias e='env '\nalias r='rm x'\ne r",
            "alias t='true; rm x'\nt",
            "coproc rm x\nwait",
            "trap 'rm x' EXIT",
            "trap 'rm x' 0; ls",
            "let 'y=a[$(rm x)]'",
            "read y <<< 'rm x'; $y",
            "eval 'rm' x",
            "eval eval rm x",
            "env -S 'rm x'",
            "env -C sub tee existing.txt",
            "env a-b=1 rm x",
            "env 'x y=1' rm x",
            "find . -maxdepth 0 -exec rm {} \\;",
            "find a -exec sh -c 'rm x' \\;",
            "echo rm x | xargs env",
            "echo x | xargs rm",
            "echo 'rm x' | xargs -I{} sh -c '{}'",
            "echo a | xargs -n1 rm",
            "xargs -a a rm",
            "busybox rm x",
            "sh -c '\"$0\" x' rm",
            "sh -c 'eval \"$1\"' _ 'rm x'",
            "sh -ec 'rm x'",
            "bash -xc 'rm x'",
            "sh -c -- 'rm x'",
            "sh -c 'sh -c \"rm x\"'",
            "bash -O extglob -c 'rm x'",
            "awk 'BEGIN{system(\"rm x\")}'",
            "sed -n '1e rm x' a",
            "sed 's/.*/rm x/e' a",
            "cat a | while read l; do rm x; done",
            "printf 'rm x' | bash -s",
            "bash <(echo rm x)",
            ". <(echo rm x)",
            "source /dev/stdin <<< 'rm x'",
            ". /dev/stdin <<'E'\nrm x\nE",
            "if :; then rm x; fi",
            "case a in a) rm x;; esac",
            "case $(rm x) in *) ;; esac",
            "for i in $(rm x); do :; done",
            "select i in a; do rm x; break; done <<< 1",
            "until rm x; do :; done",
            "cat <<E\n`rm x`\nE",
            "cat <<E\n${y:-$(rm x)}\nE",
            "cat <<-E\n\t$(rm x)\n\tE",
            "cat <<EOF\nEO\\\nF\nrm x\nEOF",
            "cat <<'A' <<B\n$(rm y)\nA\n$(rm x)\nB",
            "echo \"\\\\\"; rm x; echo \"\\\\\"",
            "echo $(# )\nrm x)",
            "echo \"$(echo # )\nrm x)\"",
            "x=`echo \\`rm x\\``",
            "y=\"$\\\n(rm x)\"",
            "f() { rm x; } > new; f",
            "echo a > >(rm x)",
            "flock new rm x",
            "timeout 2 env nice rm x",
            "command command rm x",
            "nohup setsid -w rm x",
            "stdbuf -o0 rm x",
        ])),
        _ => compound(overwrite(rng)),
    }
}

/// One more layer around a piece.
fn wrap(rng: &mut Rng, piece: Piece) -> Piece {
    let text = piece.text;
    if piece.simple && rng.chance(45) {
        return simple(match rng.below(17) {
            0 => format!("env {text}"),
            1 => format!("env A=1 B='2 3' {text}"),
            2 => format!("nice -n 1 {text}"),
            3 => format!("timeout 2 {text}"),
            4 => format!("nohup {text}"),
            5 => format!("command {text}"),
            6 => format!("A=1 {text}"),
            7 => format!("stdbuf -oL {text}"),
            8 => format!("setsid -w {text}"),
            9 => format!("timeout -s KILL 2 {text}"),
            10 => format!("busybox {text}"),
            11 => format!("builtin command {text}"),
            12 => format!("nice {text}"),
            13 => format!("env -u A -- {text}"),
            14 => format!("exec {text}"),
            15 => format!(">new {text}"),
            _ => format!("{text} 2>&1"),
        });
    }
    compound(match rng.below(44) {
        0 => format!("sh -c {}", quote(&text)),
        1 => format!("bash -c {}", double_quote(&text)),
        2 => format!("eval {}", quote(&text)),
        3 => format!("({text})"),
        4 => format!("{{ {text}\n}}"),
        5 => format!("f() {{ {text}\n}}; f"),
        6 => format!("if true; then {text}\nfi"),
        7 => format!("for i in 1; do {text}\ndone"),
        8 => format!("while :; do {text}\nbreak; done"),
        9 => format!("case a in a) {text}\n;; esac"),
        10 => format!("echo $({text}\n)"),
        11 => format!("echo \"$({text}\n)\""),
        12 if !text.contains(['`', '\\']) => format!("echo `{text}`"),
        13 => format!("{text} | cat"),
        14 => format!("echo a | {text}"),
        15 => format!("true && {text}"),
        16 => format!("false || {text}"),
        17 => format!("! {text}"),
        18 => format!("{text} &\nwait"),
        19 => format!("sh <<'EE'\n{text}\nEE"),
        20 => format!("echo {} | sh", quote(&text)),
        21 => format!("printf '%s\\n' {} | bash", quote(&text)),
        22 => format!("cat <<E2\n$({text}\n)\nE2"),
        23 => format!("bash <<< {}", quote(&text)),
        24 => format!("trap {} EXIT", quote(&text)),
        25 => format!("alias qq={}\nqq", quote(&text)),
        26 => format!("x=$({text}\n)"),
        27 => format!("y=${{y:-$({text}\n)}}"),
        28 => format!("[[ -n $({text}\n) ]]"),
        29 => format!("echo $((1+$({text}\n)1))"),
        30 => format!("arr=($({text}\n))"),
        31 => format!("ls; {text}"),
        32 => format!("ls\n{text}\nls"),
        33 => format!("cat <({text}\n)"),
        34 => format!("eval \"$(cat <<'E3'\n{text}\nE3\n)\""),
        35 => format!("# a comment's quote\n{text}"),
        36 => format!("function g {{ {text}\n}}; g"),
        37 => format!("cat <<'E4'\n' \" $( `\nE4\n{text}"),
        38 => format!("sh -c {} _ a b", quote(&text)),
        39 => format!("echo 'x' \"y'z\" # \"\n{text}"),
        40 => format!("time {text}"),
        41 => format!("( ({text}\n) )"),
        42 => format!("until {text}\ndo break; done"),
        _ => format!("{text}; true"),
    })
}

/// A script that most likely does something that must be confirmed; some are broken by a few characters.
pub fn dangerous(rng: &mut Rng) -> String {
    if rng.chance(25) {
        return spliced(rng);
    }
    let script = whole_dangerous(rng);
    if rng.chance(35) { mutate(rng, script) } else { script }
}

/// The same, always as it was meant.
pub fn whole_dangerous(rng: &mut Rng) -> String {
    let mut piece = leaf(rng, true);
    for _ in 0..rng.below(4) {
        piece = wrap(rng, piece);
    }
    if rng.chance(30) {
        let other = leaf(rng, false).text;
        piece.text = if rng.chance(50) {
            format!("{other}; {}", piece.text)
        } else {
            format!("{}\n{other}", piece.text)
        };
    }
    piece.text
}

/// A script that does nothing of the kind.
pub fn harmless(rng: &mut Rng) -> String {
    let mut piece = leaf(rng, false);
    for _ in 0..rng.below(4) {
        piece = wrap(rng, piece);
    }
    piece.text
}
