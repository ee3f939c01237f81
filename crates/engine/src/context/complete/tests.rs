use std::fs;
use std::sync::Mutex;
use std::time::Instant;

use super::*;

struct Fixed(Vec<(&'static str, bool)>);

impl Lister for Fixed {
    fn list(&self, folder: &Path, prefix: &str) -> io::Result<Vec<NameInFolder>> {
        assert_eq!(folder, Path::new("/root/dir/"));
        let wanted = self.0.iter().filter(|(name, _)| name.starts_with(prefix));
        Ok(wanted.map(|(name, is_dir)| NameInFolder { name: (*name).to_owned(), is_dir: *is_dir }).collect())
    }
}

/// Answers when the sender is dropped.
struct Hanging(Mutex<mpsc::Receiver<()>>);

impl Lister for Hanging {
    fn list(&self, _: &Path, _: &str) -> io::Result<Vec<NameInFolder>> {
        let _ = self.0.lock().unwrap().recv();
        Ok(Vec::new())
    }
}

fn names() -> Names<'static> {
    let owned = |names: &[&str]| names.iter().map(|name| Name::new(*name, "")).collect();
    Names {
        agents: owned(&["plan", "build", "play"]),
        commands: owned(&["help", "new", "a:b", "agent"]),
        models: owned(&["lab/big", "lab/small"]),
        resources: owned(&["docs:x://guide", "docs:x://more"]),
        sessions: &|| vec![Name::new("550e8400-e29b-41d4-a716-446655440000", "2 h ago · mend the parser")],
        turns: &|| vec![Name::new("12", "now test it"), Name::new("11", "mend the parser")],
        grants: &|| vec![Name::new("every edit", "for this session"), Name::new("the command make", "")],
    }
}

fn desk() -> (tempfile::TempDir, Completer) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("src/sub dir")).unwrap();
    fs::create_dir_all(dir.path().join("home")).unwrap();
    for file in ["src/main.rs", "src/map.rs", "my notes.md", ".hidden", "q\"uote"] {
        fs::write(root.join(file), "").unwrap();
    }
    fs::write(root.join("bad\nname"), "").unwrap();
    fs::write(dir.path().join("home/h.txt"), "").unwrap();
    let completer = Completer::new(root, Some(dir.path().join("home")));
    (dir, completer)
}

fn offered(completer: &Completer, line: &str) -> Vec<String> {
    // A busy machine may take longer than anybody waits.
    let asked = || completer.complete(completer.ask(), line, line.len(), &names());
    let answered = (0..20).map(|_| asked()).find(|completions| !completions.timed_out);
    texts(answered.expect("an answer in time"))
}

fn texts(completions: Completions) -> Vec<String> {
    completions.candidates.into_iter().map(|candidate| candidate.text).collect()
}

#[test]
fn names_are_offered_as_they_begin_or_by_their_letters() {
    let (_dir, completer) = desk();
    for (line, expected) in [
        ("/", &["/help", "/new", "/a:b", "/agent"][..]),
        ("/a", &["/a:b", "/agent"]),
        ("/AG", &["/agent"]),
        ("/gt", &["/agent"]),
        ("/x", &[]),
        ("/help x", &[]),
        ("/agent pl", &["plan", "play"]),
        ("/approval ", &["paranoid", "balanced", "yolo"]),
        ("/model lab/b", &["lab/big"]),
        ("/resume 55", &["550e8400-e29b-41d4-a716-446655440000"]),
        ("/resume parser", &["550e8400-e29b-41d4-a716-446655440000"]),
        ("/resume lexer", &[]),
        ("/revert ", &["12", "11"]),
        ("/fork pars", &["11"]),
        ("/revoke ", &["every edit", "the command make"]),
        ("/revoke the command m", &["the command make"]),
        ("/revoke session", &["every edit"]),
        ("/export src/ma", &["src/main.rs", "src/map.rs"]),
        ("/add-dir sr", &["src/"]),
        ("/add-dir src/", &["src/sub dir/"]),
        ("/usr/b", &[]),
        ("say /h", &[]),
        ("@agent:", &["@agent:plan", "@agent:build", "@agent:play"]),
        ("ask @agent:pl", &["@agent:plan", "@agent:play"]),
        ("@ag", &["@agent:"]),
        ("me@ag", &[]),
        ("plain", &[]),
        ("", &[]),
    ] {
        assert_eq!(offered(&completer, line), expected, "{line}");
    }
}

#[test]
fn files_are_offered_with_folders_marked_and_blanks_quoted() {
    let (_dir, completer) = desk();
    for (line, expected) in [
        (
            "@",
            &[
                "@\"my notes.md\"",
                "@\"q\\\"uote\"",
                "@src/",
                "@src/main.rs",
                "@src/map.rs",
                "@\"src/sub dir/",
                "@agent:",
                "@file:",
                "@docs:",
            ][..],
        ),
        ("see (@sr", &["@src/", "@\"src/sub dir/", "@src/map.rs", "@src/main.rs"]),
        ("看看@mai", &["@src/main.rs"]),
        ("@smn", &["@src/main.rs"]),
        ("@p.rs", &["@src/map.rs"]),
        ("@src/ma", &["@src/map.rs", "@src/main.rs"]),
        ("@file", &["@file:"]),
        ("@doc", &["@docs:"]),
        ("see @docs:x", &["@docs:x://guide", "@docs:x://more"]),
        ("@file:src/mai", &["@file:src/main.rs"]),
        ("@src/sub", &["@\"src/sub dir/"]),
        ("@\"src/sub d", &["@\"src/sub dir/"]),
        ("@file:\"my n", &["@file:\"my notes.md\""]),
        ("@\"q\\\"", &["@\"q\\\"uote\""]),
        ("@\"my notes.md\" x", &[]),
        ("@.h", &["@.hidden"]),
        ("@hidden", &[]),
        ("@~", &["@~/"]),
        ("@~/h", &["@~/h.txt"]),
        ("@../", &[]),
        ("@src/../../", &[]),
        ("@nowhere/x", &[]),
    ] {
        assert_eq!(offered(&completer, line), expected, "{line}");
    }
}

#[test]
fn only_what_is_left_of_the_cursor_is_replaced() {
    let (_dir, completer) = desk();
    let line = "look at @src/mai please";
    let completions = completer.complete(completer.ask(), line, "look at @src/mai".len(), &names());
    assert_eq!(&line[completions.replace.clone()], "@src/mai");
    assert_eq!(texts(completions), ["@src/main.rs"]);
    // A cursor that is nowhere offers nothing.
    assert_eq!(completer.complete(completer.ask(), "é@", 1, &names()), Completions::default());
    assert_eq!(completer.complete(completer.ask(), "@", 9, &names()), Completions::default());
}

#[test]
fn any_source_of_names_will_do_and_the_offer_is_bounded() {
    let many: Vec<(&'static str, bool)> =
        (0..500).map(|n| (&*Box::leak(format!("f{n:03}").into_boxed_str()), false)).collect();
    let completer = Completer::with("/root".into(), None, Arc::new(Fixed(many)), PATIENCE);
    let offered = offered(&completer, "/export dir/f");
    assert_eq!((offered.len(), offered[0].as_str()), (100, "dir/f000"));
}

#[test]
fn a_hanging_folder_costs_its_patience_and_only_so_many_threads() {
    let (release, hold) = mpsc::channel();
    let lister = Arc::new(Hanging(Mutex::new(hold)));
    let completer = Completer::with("/root".into(), None, lister, Duration::from_millis(20));
    for _ in 0..MOST_HANGING + 2 {
        let began = Instant::now();
        let completions = completer.complete(completer.ask(), "@x", 2, &names());
        assert!(completions.timed_out);
        // Asking again at once must not use up all tries before a folder can answer.
        assert!((Duration::from_millis(20)..PATIENCE).contains(&began.elapsed()));
        assert!(*completer.listings.running() <= MOST_HANGING);
    }
    assert_eq!(*completer.listings.running(), MOST_HANGING);
    drop(release);
}

#[test]
fn nobody_waits_longer_than_two_seconds() {
    let completer = Completer::with("/".into(), None, Arc::new(Disk), Duration::from_secs(60));
    assert_eq!(completer.patience, Duration::from_secs(2));
}

#[test]
fn what_is_ignored_is_offered_when_it_is_named() {
    let (dir, completer) = desk();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("target/debug")).unwrap();
    fs::write(root.join("target/debug/zdx"), "").unwrap();
    fs::write(root.join(".gitignore"), "target\n").unwrap();
    for (line, expected) in [
        ("@zdx", &[][..]),
        ("@targ", &[]),
        ("@target", &["@target/"]),
        ("@target/", &["@target/debug/"]),
        ("@target/debug/z", &["@target/debug/zdx"]),
    ] {
        assert_eq!(offered(&completer, line), expected, "{line}");
    }
}

#[test]
fn a_word_of_a_command_line_is_completed_as_a_shell_reads_it() {
    let (_dir, completer) = desk();
    let found = |line: &str| {
        let found = completer.complete(completer.ask(), line, line.len(), &names());
        found.candidates.first().map(|first| (found.replace.start, first.text.clone()))
    };
    assert_eq!(found("!cat sr"), Some((5, "src/".to_owned())));
    assert_eq!(found("!cat my"), Some((5, "'my notes.md'".to_owned())));
    assert_eq!(found("!cat 'my no"), Some((5, "'my notes.md'".to_owned())));
    assert_eq!(found("!cat x | wc my\\ n"), Some((12, "'my notes.md'".to_owned())));
    assert_eq!(found("!run --file=sr"), Some((12, "src/".to_owned())));
    assert_eq!(shell_path("a b/"), "'a b/");
    assert_eq!(shell_path("~/x y"), "~/'x y'");
}

#[test]
fn of_those_that_begin_alike_the_one_that_is_meant_most_often_comes_first() {
    let (_dir, completer) = desk();
    let name = |(name, often)| Name { often, ..Name::new(name, "") };
    let commands = [("revoke", 9), ("export", 9), ("revert", 2), ("re", 9), ("exit", 0)].map(name).to_vec();
    let names = Names { commands, ..names() };
    let found = |line: &str| -> Vec<String> {
        let found = completer.complete(completer.ask(), line, line.len(), &names).candidates;
        found.into_iter().map(|candidate| candidate.text).collect()
    };
    assert_eq!(found("/ex"), ["/exit", "/export"]);
    assert_eq!(found("/re"), ["/re", "/revert", "/revoke"], "what is typed out is meant before all");
    assert_eq!(found("/x"), ["/exit", "/export"]);
    assert_eq!(found("/"), ["/revoke", "/export", "/revert", "/re", "/exit"], "all, as help lists them");
}

#[test]
fn a_candidate_says_what_it_is_and_what_comes_behind_it() {
    let (_dir, completer) = desk();
    let command = Name {
        aliases: &["models"],
        hint: " [NAME]".into(),
        then: Then::Line,
        ..Name::new("model", "switch to another")
    };
    let names = Names { commands: vec![command], ..names() };
    let first =
        |line: &str| completer.complete(completer.ask(), line, line.len(), &names).candidates.remove(0);
    assert_eq!(
        first("/mo"),
        Candidate {
            text: "/model".into(),
            shown: "/model [NAME]".into(),
            detail: "switch to another".into(),
            matched: vec![1, 2],
            then: Then::Line,
        }
    );
    assert_eq!(first("/models").text, "/models");
    let found = first("@my");
    assert_eq!(
        (found.text.as_str(), found.shown.as_str(), found.then),
        ("@\"my notes.md\"", "my notes.md", Then::Word)
    );
    assert_eq!((first("@sr").then, found.matched), (Then::Part, vec![0, 1]));
}

#[test]
fn a_newer_question_overtakes_an_older_one() {
    let (_dir, completer) = desk();
    // As if somebody had asked again while this one was looked for.
    let (found, partial) = completer.relative("main", 7);
    assert_eq!((found, partial), (Vec::new(), true));
    assert_eq!(offered(&completer, "@main"), ["@src/main.rs"]);
}

#[test]
fn what_is_asked_last_is_answered_whoever_comes_first() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file_7"), "").unwrap();
    let completer = Completer::new(place.path().to_owned(), None);
    let (first, last) = (completer.ask(), completer.ask());
    let found = |question, line: &str| {
        let mut found = completer.complete(question, line, line.len(), &names());
        while found.timed_out && found.candidates.is_empty() {
            found = completer.complete(question, line, line.len(), &names());
        }
        found.candidates.len()
    };
    assert_eq!(found(last, "@file_7"), 1);
    // Its thread came late, and must not be taken for a newer one.
    completer.complete(first, "@file", 5, &names());
    assert_eq!(found(last, "@file_7"), 1);
}
