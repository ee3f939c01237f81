use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        let place = Self { _dir: dir, root };
        files.iter().for_each(|file| place.write(file, file));
        place
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn named(&self, words: &[&str]) -> Vec<String> {
        let found = named_files(&self.root, words.iter().copied());
        found.keys().map(|path| path.to_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_command_names_scripts_in_many_ways() {
    let place = Place::new(&["scripts/a.sh", "tools/m.py", "tools/srv/index.js", "x.js", "package.json"]);
    let absolute = place.root.join("scripts/a.sh");
    let cases: [(&[&str], &[&str]); 18] = [
        (&["~/project/scripts/a.sh"], &["scripts/a.sh"]),
        (&["./scripts/a.sh"], &["scripts/a.sh"]),
        (&[absolute.to_str().unwrap()], &["scripts/a.sh"]),
        (&["scripts/../scripts/a.sh"], &["scripts/a.sh"]),
        (&["python", "tools/m.py", "--port", "1"], &["tools/m.py"]),
        (&["python", "-m", "tools.m"], &["tools/m.py"]),
        (&["bash", "-c", "set -e; ./scripts/a.sh|cat"], &["scripts/a.sh"]),
        (&["sh \"$PWD/scripts/a.sh\""], &["scripts/a.sh"]),
        (&["cd scripts && ./a.sh"], &["scripts/a.sh"]),
        (&["node", "./x"], &["x.js"]),
        (&["node", "--require=./x.js", "-e", "1"], &["x.js"]),
        (&["node", "-r./x.js"], &["x.js"]),
        (&["node", "tools/srv"], &["tools/srv/index.js"]),
        (&["npm", "run", "serve"], &["package.json"]),
        (&["NODE_ENV=y npm test"], &["package.json"]),
        (&["/usr/bin/env", "npm", "test"], &["package.json"]),
        (&["cargo check"], &[]),
        (&["/bin/sh", "../outside", "missing.sh", ""], &[]),
    ];
    for (words, expected) in cases {
        assert_eq!(place.named(words), expected, "{words:?}");
    }
}

#[test]
fn a_runner_names_its_manifest_where_it_runs() {
    let place = Place::new(&["Makefile", "web/package.json", "web/src/x.ts"]);
    assert_eq!(place.named(&["make test"]), ["Makefile"]);
    assert_eq!(place.named(&["npm --prefix web test"]), ["web/package.json"]);
}

#[test]
fn a_link_counts_with_the_content_it_leads_to() {
    let place = Place::new(&["a.sh", "b.sh"]);
    let outside = place.root.parent().unwrap().join("outside.sh");
    fs::write(&outside, "outside").unwrap();
    symlink("a.sh", place.root.join("link.sh")).unwrap();
    symlink(&outside, place.root.join("out.sh")).unwrap();
    assert_eq!(place.named(&["./link.sh"]), ["a.sh"]);
    let hash = || named_files(&place.root, ["./out.sh"]).remove(Path::new("out.sh")).unwrap();
    assert_eq!(hash(), ContentHash::of(b"outside"));
    fs::write(&outside, "changed").unwrap();
    assert_eq!(hash(), ContentHash::of(b"changed"));
    // What is named by its own place outside is not the project's.
    assert_eq!(place.named(&[outside.to_str().unwrap()]), [""; 0]);
}

#[test]
fn what_is_too_large_or_unreadable_never_counts_as_the_same() {
    let place = Place::new(&["a.sh"]);
    let file = File::create(place.root.join("big")).unwrap();
    file.set_len(HASHED_BYTES + 1).unwrap();
    let hash = || named_files(&place.root, ["./big"]).remove(Path::new("big")).unwrap();
    assert_ne!(hash(), hash());
    let fifo = place.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
    assert_eq!(place.named(&["./pipe"]), [""; 0]);
}

#[test]
fn a_pinned_command_names_what_changed_or_appeared() {
    let place = Place::new(&["a.sh"]);
    let words = vec!["sh".to_owned(), "a.sh".to_owned(), "b.sh".to_owned()];
    let mut trusted = TrustedFiles::none_of(&place.root);
    trusted.add_named(words.iter().map(String::as_str));
    let pinned = trusted.pin(words);
    assert_eq!(pinned.changed(), [""; 0].map(PathBuf::from));
    place.write("b.sh", "new");
    assert_eq!(pinned.changed(), [PathBuf::from("b.sh")]);
    fs::remove_file(place.root.join("b.sh")).unwrap();
    assert!(pinned.changed().is_empty());
    place.write("a.sh", "other");
    assert_eq!(pinned.changed(), [PathBuf::from("a.sh")]);
}
