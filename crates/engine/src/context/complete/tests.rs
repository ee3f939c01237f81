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
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Names {
        agents: owned(&["plan", "build", "play"]),
        commands: owned(&["help", "new", "a:b", "agent"]),
        models: owned(&["lab/big", "lab/small"]),
        sessions: &|| vec!["550e8400-e29b-41d4-a716-446655440000".to_owned()],
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
    let completions = completer.complete(line, line.len(), &names());
    assert!(!completions.timed_out);
    completions.candidates
}

#[test]
fn names_are_offered_by_prefix_and_sorted() {
    let (_dir, completer) = desk();
    for (line, expected) in [
        ("/", &["/a:b", "/agent", "/help", "/new"][..]),
        ("/a", &["/a:b", "/agent"]),
        ("/x", &[]),
        ("/help x", &[]),
        ("/agent pl", &["plan", "play"]),
        ("/approval ", &["balanced", "paranoid", "yolo"]),
        ("/model lab/b", &["lab/big"]),
        ("/resume 55", &["550e8400-e29b-41d4-a716-446655440000"]),
        ("/export src/ma", &["src/main.rs", "src/map.rs"]),
        ("/usr/b", &[]),
        ("say /h", &[]),
        ("@agent:", &["@agent:build", "@agent:plan", "@agent:play"]),
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
        ("@", &["@\"my notes.md\"", "@\"q\\\"uote\"", "@agent:", "@file:", "@src/"][..]),
        ("see (@s", &["@src/"]),
        ("@src/ma", &["@src/main.rs", "@src/map.rs"]),
        ("@file:src/mai", &["@file:src/main.rs"]),
        ("@src/sub", &["@\"src/sub dir/"]),
        ("@\"src/sub d", &["@\"src/sub dir/"]),
        ("@file:\"my n", &["@file:\"my notes.md\""]),
        ("@\"q\\\"", &["@\"q\\\"uote\""]),
        ("@\"my notes.md\" x", &[]),
        ("@.h", &["@.hidden"]),
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
    let completions = completer.complete(line, "look at @src/mai".len(), &names());
    assert_eq!(&line[completions.replace.clone()], "@src/mai");
    assert_eq!(completions.candidates, ["@src/main.rs"]);
    // A cursor that is nowhere offers nothing.
    assert_eq!(completer.complete("é@", 1, &names()), Completions::default());
    assert_eq!(completer.complete("@", 9, &names()), Completions::default());
}

#[test]
fn any_source_of_names_will_do_and_the_offer_is_bounded() {
    let many: Vec<(&'static str, bool)> =
        (0..500).map(|n| (&*Box::leak(format!("f{n:03}").into_boxed_str()), false)).collect();
    let completer = Completer::with("/root".into(), None, Arc::new(Fixed(many)), PATIENCE);
    let offered = offered(&completer, "@dir/f");
    assert_eq!((offered.len(), offered[0].as_str()), (100, "@dir/f000"));
}

#[test]
fn a_hanging_folder_costs_its_patience_and_only_so_many_threads() {
    let (release, hold) = mpsc::channel();
    let lister = Arc::new(Hanging(Mutex::new(hold)));
    let completer = Completer::with("/root".into(), None, lister, Duration::from_millis(20));
    for _ in 0..MOST_HANGING + 2 {
        let began = Instant::now();
        let completions = completer.complete("@x", 2, &names());
        assert!(completions.timed_out);
        assert!(began.elapsed() < PATIENCE);
        assert!(completer.hanging.load(Ordering::Acquire) <= MOST_HANGING);
    }
    assert_eq!(completer.hanging.load(Ordering::Acquire), MOST_HANGING);
    drop(release);
}

#[test]
fn nobody_waits_longer_than_two_seconds() {
    let completer = Completer::with("/".into(), None, Arc::new(Disk), Duration::from_secs(60));
    assert_eq!(completer.patience, Duration::from_secs(2));
}
