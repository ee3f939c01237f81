//! What passes in `balanced` because it can be shown to only read inside the workspace, and what must not.

use std::sync::Arc;

use zdx_guard::{FileEntry, LayerSource, MapView, PolicyContext, Rules, explain};
use zdx_protocol::{Approval, Level, Origin};

const QUIET: &str =
    "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@h:x/y\n[branch \"main\"]\n\tremote = origin\n";

/// A repository `/w` with these settings; one link in it leads out.
fn repository(settings: &str) -> MapView {
    let mut disk = MapView::default();
    for file in ["/w/a.txt", "/w/b.txt", "/w/src/main.rs", "/w/data/x.json", "/etc/passwd", "/w/links/ok.md"]
    {
        disk.insert(file, FileEntry::File);
    }
    disk.insert("/w/links/out", FileEntry::Link("/etc/passwd".into()));
    disk.insert("/w/links/etc", FileEntry::Link("/etc".into()));
    disk.insert("/w/odd/-ox", FileEntry::File);
    disk.insert("/home/me", FileEntry::Dir);
    disk.insert("/w/.git/hooks", FileEntry::Dir);
    disk.write("/w/.git/config", settings);
    disk
}

fn cx(disk: MapView) -> PolicyContext {
    let mut cx = PolicyContext::new("/w", Approval::Balanced);
    cx.home = Some("/home/me".into());
    cx.files = Arc::new(disk);
    cx.env =
        Arc::new([("HOME", "/home/me"), ("LIST", "src")].map(|(a, b)| (a.to_owned(), b.to_owned())).into());
    cx
}

fn level(command: &str, cx: &PolicyContext) -> Level {
    explain(command, Origin::Model, cx).verdict.level()
}

#[test]
fn what_provably_only_reads_passes() {
    let cx = cx(repository(QUIET));
    for command in [
        "rg -n 'fn main' src | head -20",
        "fd -e rs . src",
        "head -n 20 a.txt; tail -5 b.txt",
        "wc -l *.txt src/*.rs",
        "sed -n '1,20p' src/main.rs",
        "sort a.txt | uniq -c | sort -rn | head",
        "cut -d: -f1 a.txt | tr a-z A-Z",
        "jq -r '.a[] | .b' data/x.json",
        "diff -u a.txt b.txt 2>&1",
        "file a.txt && stat -c %s a.txt",
        "du -sh src; tree -L 2 src; pwd; which cargo; date +%F",
        "cat *.txt 2>/dev/null",
        "find . -name '*.rs' -not -path './target/*' | wc -l",
        "git status --short --branch",
        "git diff --stat HEAD~1 -- src",
        "git log --oneline -5 --graph",
        "git show HEAD:a.txt | sed -n 1,5p",
        "git branch --list && git branch -a",
        "git blame -L 1,5 a.txt",
        "git ls-files | grep main",
        "git rev-parse --abbrev-ref HEAD",
        "git -C src log -1",
        "cd src && ls -la && cat main.rs",
        "for f in *.txt; do echo \"== $f\"; head -3 \"$f\"; done",
        "dir=src; ls $dir; cat \"$dir/main.rs\"",
        "ls $LIST",
        "if [ -f a.txt ]; then cat a.txt; fi",
        "awk -F: '{print $1}' a.txt | sort -u",
        "timeout 5 rg foo src",
        "cat {a,b}.txt",
        "ls src/{main,lib}.rs",
        "[[ -f a.txt && -n $x ]] && cat a.txt",
        "git config --get user.name; git config --list --show-origin; git config -l",
        "cd src && find *",
        "find src data -name '*.rs' | xargs wc -l",
        "find src -print0 | xargs -0 grep -n unsafe",
        "find src -type f | sort | head -5 | xargs -n1 head -3",
        "rg -l foo src | xargs -I{} tail -2 {}",
        "ls src/*.rs | xargs grep -c ''",
        "basename src/main.rs; realpath a.txt; dirname src/main.rs",
    ] {
        assert_eq!(level(command, &cx), Level::Allow, "{command}");
    }
}

#[test]
fn what_may_do_more_does_not() {
    let cx = cx(repository(QUIET));
    for command in [
        "grep -R foo .",
        "grep --dereference-r foo .",
        "ls -L src",
        "find -L . -name x",
        "rg -L foo",
        "rg --foll foo",
        "du -L src",
        "tree -l",
        "cat links/*",
        "grep *",
        "grep -e * .",
        "cd links && sed *",
        "uniq *",
        "find . -name *",
        "cat links/out",
        "git diff a.txt links/out",
        "git diff a.txt links/etc/passwd",
        "cat -- links/etc/passwd",
        "wc --files0-from=a.txt",
        "file -f a.txt",
        "sort odd/-ox; cd odd && sort *",
        "grep -f /etc/passwd a.txt",
        "date -s 1",
        "date 01010000",
        "sort -o x a.txt",
        "sort --outp=x a.txt",
        "tree -o x",
        "sed -n 'w x' a.txt",
        "sed -n '1e ls' a.txt",
        "sed -i s/a/b/ a.txt",
        "git diff --output=x",
        "git diff --outpu x",
        "git log --format=%G?",
        "git -c core.pager=x log",
        "git branch new",
        "git tag new",
        "git status $x",
        "git $x",
        "rg --pre=x foo",
        "fd -x ls",
        "fd -X ls",
        "find . -fprintf x y",
        "find . -exec cat {} +",
        "find . -delete",
        "ls | xargs cat",
        "cat $(ls)",
        "cat \"$file\"",
        "uniq a.txt b.txt",
        "echo hi > new",
        "PAGER=x git log",
        "ls() { cargo run; }; ls",
        "./ls",
        "jq 'import \"x\" as y; .' data/x.json",
        "diff -r src data",
        "awk '{print > \"x\"}' a.txt",
        "awk -f x a.txt",
        "[[ a || $y ]]",
        "[[ b > a ]]",
        "cat {a,links/out}.txt {a,links/out}",
        "cat 'a'{x,y}.txt",
        "sed {p,w}x a.txt",
        "true || [[ a && b ]]",
        "! [[ a && b ]]",
        "[[ a && b || $c ]]",
        "git config --global --get user.name",
        "git config --get http.extraheader",
        "git config user.name x",
        "git config --edit",
        "cd links && find *",
        "cd odd && find *",
        "ls links | xargs cat",
        "fd --base-directory links . | xargs cat",
        "find . -name '*.rs' | xargs sed -n",
        "find . -name '*.rs' | xargs cat",
        "find src | xargs uniq",
        "find src | xargs wc --files0-from",
        "find src | xargs -a a.txt cat",
        "find src -printf '-f\\n' | xargs grep",
        "git ls-files | xargs cat",
        "mkdir src/new; find src | xargs cat",
        "ls odd | xargs sort",
        "printenv",
        "find src | uniq -c | xargs cat",
        "find src | cat -n | xargs cat",
        "find src | grep -n main | xargs cat",
        "find src | sed s,^,/etc/, | xargs cat",
        "find src | cat - a.txt | xargs cat",
        "ls -a src | xargs ls",
        "find src | xargs -I{} cat /etc/{}",
        "find src | xargs -I{} cat links/{}",
        "find src | xargs cat links/out",
        "find src | xargs grep -R x",
        "find src | xargs --process-slot-var=PATH cat",
        "sort --unheard a.txt",
        "hostname new",
        "x=-oy; sort $x a.txt",
        "cargo check",
        "echo x | sh",
        "sh -c 'ls'",
        "git fetch",
        "env",
        "ln -s /etc z; cat z/passwd",
        "printf -v PATH x",
    ] {
        assert_ne!(level(command, &cx), Level::Allow, "{command}");
    }
}

/// git runs what a repository's settings name: then it is no longer known to only read.
#[test]
fn settings_of_a_repository_take_the_pass_from_git() {
    let asks = |disk: MapView| level("git status", &cx(disk)) == Level::Ask;
    assert!(!asks(repository(QUIET)));
    for settings in [
        "[core]\n\tfsmonitor = ./x\n",
        "[core]\n\tpager = x\n",
        "[pager]\n\tlog = x\n",
        "[diff]\n\texternal = x\n",
        "[diff \"a\"]\n\ttextconv = x\n",
        "[diff \"a\"]\n\tcommand = x\n",
        "[filter \"a\"]\n\tclean = x\n",
        "[core]\n\tsshCommand = x\n",
        "[alias]\n\tst = !x\n",
        "[include]\n\tpath = ../x\n",
        "[core]\n\thooksPath = x\n",
        "[core] fsmonitor = x\n",
        "[core\n",
    ] {
        assert!(asks(repository(settings)), "{settings}");
    }
    let mut hook = repository(QUIET);
    hook.insert("/w/.git/hooks/post-index-change", FileEntry::File);
    assert!(asks(hook));
    let mut unread = repository(QUIET);
    unread.insert("/w/.git/config.worktree", FileEntry::Link("/etc/x".into()));
    assert!(asks(unread));
    let mut modules = repository(QUIET);
    modules.insert("/w/.gitmodules", FileEntry::File);
    assert!(asks(modules));
    let mut bare = MapView::default();
    for name in ["HEAD", "objects/x", "refs/x", "config"] {
        bare.insert(format!("/w/{name}"), FileEntry::File);
    }
    assert!(asks(bare), "a folder that looks like a repository is one");
}

/// A working tree's own `.git` is a file that names the folder.
#[test]
fn settings_of_a_working_tree_are_found() {
    for (settings, expected) in [(QUIET, Level::Allow), ("[core]\n\tfsmonitor = x\n", Level::Ask)] {
        let mut disk = MapView::default();
        disk.insert("/w/a.txt", FileEntry::File);
        disk.write("/w/.git", "gitdir: /main/.git/worktrees/w\n");
        disk.write("/main/.git/worktrees/w/commondir", "../..\n");
        disk.write("/main/.git/config", settings);
        assert_eq!(level("git status", &cx(disk)), expected);
    }
}

#[test]
fn rules_and_other_approval_modes_stand_above_the_pass() {
    let mut cx = cx(repository(QUIET));
    cx.approval = Approval::Paranoid;
    assert_eq!(level("rg foo", &cx), Level::Ask);
    cx.approval = Approval::Balanced;
    for (word, expected) in [("ask", Level::Ask), ("deny", Level::Deny)] {
        let permission = serde_json::json!({"bash": {"rg *": word}});
        let mut rules = Rules::base();
        let source = LayerSource { trusted: true, permission: Some(&permission), ..LayerSource::default() };
        rules.add(&source).unwrap();
        cx.rules = Arc::new(rules);
        assert_eq!(level("rg foo", &cx), expected);
        assert_eq!(level("wc -l a.txt", &cx), Level::Allow);
    }
}
