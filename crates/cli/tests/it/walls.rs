//! What may know what, read off the sources: a front end knows the engine by its channels alone.

use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Everything that draws, listens and converses. What is left of the command line configures, or answers a command
/// without a conversation.
const FRONT_END: [&str; 9] =
    ["chat", "front", "pump.rs", "run.rs", "words", "words.rs", "output.rs", "style.rs", "terminal.rs"];

/// What of the engine it may use: to start it.
const MAY: [&str; 2] = ["start::engine", "start::{self, Audience}"];

/// Ways around the channels, besides naming the engine itself.
const AROUND: [&str; 8] = [
    "zdx_engine",
    "zdx_guard",
    "zdx_models",
    ".sessions()",
    ".trust_store()",
    ".paths",
    "crate::commands",
    "start::",
];

#[test]
fn the_line_front_end_knows_the_engine_by_its_channels_alone() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut looked_at = 0;
    let mut found = Vec::new();
    for part in FRONT_END.map(|part| src.join(part)) {
        assert!(part.exists(), "{} is gone; say here what took its place", part.display());
        let files = if part.is_dir() { sources(&part) } else { vec![part] };
        for file in files {
            looked_at += 1;
            let text = std::fs::read_to_string(&file).unwrap();
            for (n, line) in text.lines().enumerate() {
                let code = MAY.iter().fold(line.to_owned(), |line, may| line.replace(may, ""));
                if AROUND.iter().any(|word| code.contains(word)) {
                    found.push(format!("{}:{}: {}", file.display(), n + 1, line.trim()));
                }
            }
        }
    }
    assert!(looked_at > 15, "{looked_at}");
    assert_eq!(found, Vec::<String>::new());
}
