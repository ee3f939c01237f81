//! Options cut short, words that are not literal, and commands that only seem to read.

use super::Rng;

/// Each does something that must be confirmed, by an abbreviation or a word that only running would tell.
pub const DOUBTFUL: &[&str] = &[
    "sort --outp=existing.txt a",
    "sort --output existing.txt a",
    "sort -uoexisting.txt a",
    "sort $(echo -oexisting.txt) a",
    "sort `printf %s -oexisting.txt` a",
    "x=-oexisting.txt; sort $x a",
    "for x in -oexisting.txt; do sort $x a; done",
    "echo -oexisting.txt | xargs sort a",
    "sort \"$(printf '%s' --output=existing.txt)\" a",
    "read x <<'E'\n-oexisting.txt\nE\nsort $x a",
    "find sub $(echo -delete)",
    "x=-delete; find sub $x",
    "echo -delete | xargs find sub",
    "echo sub -delete | xargs find",
    "find sub -name 'exist*' $(echo -delete)",
    "env --split='rm x'",
    "env --spl 'rm x'",
    "env --chd=sub tee existing.txt",
    "timeout --sig KILL 2 rm x",
    "timeout --kill=3 2 rm x",
    "nice --adj=1 rm x",
    "nice --adj 1 rm x",
    "stdbuf --outp=0 rm x",
    "xargs --max-a=1 rm < a",
    "echo a | xargs --repl=% rm %",
    "flock --nonbl new rm x",
    "cp --targ=sub a; cp --target-dir=. sub/existing.txt",
    "cp --backup=none a $(echo existing.txt)",
    "cp a e*.txt",
    "f=existing.txt; : > $f",
    "f=exist; : > \"${f}ing.txt\"",
    "f=$(echo existing.txt); : > $f",
    "for f in existing.txt a; do : > \"$f\"; done",
    "for f in exist*.txt; do : > \"$f\"; done",
    "if false; then f=new; else f=existing.txt; fi; : > $f",
    "f=new; f=existing.txt; : > $f",
    "f=new; true && f=existing.txt; : > $f",
    "f=new; g() { f=existing.txt; }; g; : > $f",
    "f=new; for i in 1 2; do : > $f; f=existing.txt; done",
    "f=new; while [ $f = new ]; do f=existing.txt; done; : > $f",
    "f=new; eval f=existing.txt; : > $f",
    "f=new; read f < a; f=existing.txt; : > $f",
    "f=new; : $((f=0)); f=existing.txt; : > $f",
    "f=new; unset f; : > ${f:-existing.txt}",
    "f=new; f+=2; f=existing.txt; : > $f",
    "f=new; export f=existing.txt; : > $f",
    "f=new; f=existing.txt > $f",
    "f=new; > $f f=existing.txt",
    "f=new; true && f=existing.txt >> new >| $f",
    "c=rm; $c x",
    "for c in rm; do $c x; done",
    "c=ls; c=rm; $c x",
    "c=ls; true && c=rm; $c x",
    "c=ls; [ -f a ] && c=rm; $c x",
    "c=ls; case a in a) c=rm;; esac; $c x",
    "$(echo rm) x",
    "\"$(printf rm)\" x",
    "git $(echo clean) -fdx",
    "s=clean; git $s -fdx",
    "x=--hard; git reset $x",
    "git reset --har",
    "git reset --no-soft --hard",
    "git clean -f --no-dry-run",
    "git clean -n --no-dry -f",
    "echo clean -fdx | xargs git",
    "echo clean | xargs -I{} git {} -fdx",
    "git -C . clean -fdx",
    "git -c a.b=c reset --hard",
    "git --no-pager clean -xfd",
    "git clean -e n -fdx",
    "git --n clean -xfd",
    "cat <<E2\n$(( (eval\n\"$(cat <<'E3'\nr\\\nm\nE3\n)\"\n) ) )\nE2",
    "git push --forc",
    "git push origin +x",
    "git checkout -- .",
    "git checkout ':(top)x'",
    "git restore .",
    "git stash drop",
    "git branch -D x",
];

/// Each follows a link to where something is overwritten, by an option, whole or cut short, or by the place itself.
/// `link` leads to `existing.txt`, `outdir` to the home.
pub const LINKED: &[&str] = &[
    "cp -L /dev/null outdir/existing.txt",
    "cp -H /dev/null link",
    "cp --deref /dev/null outdir/existing.txt",
    "cp -rL /dev/null link",
    "ln -s existing.txt d; cp --dereference /dev/null d",
    "ln -s ../home d; cp -L /dev/null d/existing.txt",
    "ln -sn ../home d; tee d/existing.txt",
    "find -L outdir -name existing.txt -exec cp /dev/null {} \\;",
    "find outdir/ -follow -name existing.txt -exec tee {} +",
    "find -H outdir -type f -exec tee {} +",
    "find -L . -name 'exist*' | xargs tee",
    "find -L . -type f -print0 | xargs -0 tee",
    "grep -Rl untouched outdir | xargs tee",
    "grep -RlZ untouched . | xargs -0 tee",
    "grep --dereference-rec -l untouched . | xargs tee",
    "ls -L outdir/existing.txt | xargs tee",
    "ls --dereference-command-line outdir/* | xargs tee",
    "readlink -f link | xargs tee",
    "tar -h -cf existing.txt sub",
    "tar chf outdir/existing.txt sub",
    "tar --dereferen -cf link sub",
    "diff -r sub outdir > outdir/existing.txt",
    "du -L . > link",
    "du --dereference-a outdir >| outdir/existing.txt",
    "stat -L link > outdir/existing.txt",
    "cd -P outdir && : > existing.txt",
    "cd -L outdir/../home; : > existing.txt",
    "cd outdir; : > existing.txt",
    "sed --follow-sym -n 'w link' a",
    "grep -R untouched outdir; rm x",
    "ls -L outdir && rm x",
    "du -L . | xargs -I{} rm {}",
];

/// A command made of what usually only reads, with options and words that may make it do more.
pub fn reader(rng: &mut Rng) -> String {
    if rng.chance(25) {
        return handed_on(rng);
    }
    let mut stages = vec![stage(rng)];
    for _ in 0..rng.below(3) {
        stages.push(stage(rng));
    }
    let joint = rng.pick(&[" | ", "; ", " && ", "\n"]);
    let text = stages.join(joint);
    match rng.below(8) {
        0 => format!("cd sub; {text}"),
        1 => format!("for f in {}; do {text}; done", word(rng)),
        2 => format!(
            "f={}; {text}",
            rng.pick(&["a", "out", "outdir/secret.txt", "-R", "*", "'a out'", "~/secret.txt"])
        ),
        3 => format!("if true; then {text}; fi"),
        _ => text,
    }
}

/// Names that one command lists for another, passed on whole or not.
fn handed_on(rng: &mut Rng) -> String {
    let lists =
        rng.pick(&["find", "ls", "ls -1", "grep -rl e", "grep -l e", "find -L", "ls -a", "ls -l", "echo"]);
    let from = rng
        .pick(&["", "sub", "sub", "sub/", "sub/*", ".", "outdir", "*", "out", "a", "sub a", "-- sub", "$f"]);
    let filter = rng.pick(&[
        "",
        "",
        "",
        "| sort",
        "| head -3",
        "| grep e",
        "| tail -c 9",
        "| cat out",
        "| rev",
        "| sed s,sub,outdir,",
    ]);
    let how = rng.pick(&["", "", "-n1", "-0", "-I{}", "-a a", "-d e", "-t"]);
    let runs = rng.pick(&[
        "cat",
        "cat",
        "cat",
        "head -1",
        "grep -h e",
        "grep -R e",
        "sort",
        "uniq",
        "sed -n p",
        "tail -n",
        "awk 1",
        "wc -l",
        "find",
        "ls -L",
        "cat out",
        "cat $f",
        "cat {}",
        "cat outdir/{}",
        "tee",
        "cp -t .",
        "xargs cat",
        "sort -o",
    ]);
    format!("{lists} {from} {filter} | xargs {how} {runs}")
}

fn stage(rng: &mut Rng) -> String {
    let (program, options): (&str, &[&str]) = match rng.below(14) {
        0 => ("cat", &["-n", "-A", "--num", "-u"]),
        1 => (
            "grep",
            &[
                "-r",
                "-R",
                "-rn",
                "-h",
                "--deref",
                "--recurs",
                "-f",
                "--fil=",
                "-e",
                "-L",
                "-d recurse",
                "--dir=recurse",
            ],
        ),
        2 => ("head", &["-n 3", "-3", "-c 50", "--lin=2", "-q"]),
        3 => ("tail", &["-n 3", "-c 50", "-q", "--byt=9"]),
        4 => ("sort", &["-r", "-u", "-o", "--outp=new", "--files0-from=", "-m", "-k1", "--rev"]),
        5 => ("wc", &["-l", "-c", "--files0-from=", "--lin"]),
        6 => (
            "sed",
            &["-n", "-n p", "-e p", "-f", "-i", "--express=p", "-s", "-n 'w new'", "-n '1r out'", "p"],
        ),
        7 => (
            "find",
            &[
                "-L",
                "-H",
                "-name '*'",
                "-type f",
                "-follow",
                "-exec cat {} +",
                "-fprint new",
                "-print",
                "-maxdepth 2",
            ],
        ),
        8 => (
            "awk",
            &[
                "'{print}'",
                "-f",
                "'{print > \"new\"}'",
                "'{while ((getline l < \"out\") > 0) print l}'",
                "-v x=1 1",
            ],
        ),
        9 => ("ls", &["-L", "-l", "-R", "-a", "--deref", "-d"]),
        10 => ("uniq", &["-c", "-u", "--coun"]),
        11 => ("cut", &["-c1-40", "-d: -f1", "--char=1-9"]),
        12 => ("tr", &["a-z A-Z <", "-d x <", "-s e <"]),
        _ => ("echo", &["-n", "-e", ""]),
    };
    let mut text = program.to_owned();
    for _ in 0..rng.below(3) {
        text.push(' ');
        text.push_str(rng.pick(options));
    }
    for _ in 0..rng.below(3) {
        text.push(' ');
        text.push_str(word(rng));
    }
    match rng.below(10) {
        0 => text + " > new",
        1 => text + " 2>/dev/null",
        2 => text + " < out",
        _ => text,
    }
}

fn word(rng: &mut Rng) -> &'static str {
    rng.pick(&[
        "a",
        "existing.txt",
        "sub/existing.txt",
        "out",
        "outdir/secret.txt",
        "outdir",
        "ou*",
        "*",
        "sub",
        ".",
        "./*",
        "sub/*",
        "outdir/*",
        "o[u]t",
        "\"$f\"",
        "$f",
        "$(echo out)",
        "`echo a`",
        "~/secret.txt",
        "../home/secret.txt",
        "$HOME/secret.txt",
        "sub/../out",
        "-- out",
        "''",
        "e",
        ".",
        "outdir/../home/secret.txt",
        "{a,out}",
        "??t",
    ])
}
