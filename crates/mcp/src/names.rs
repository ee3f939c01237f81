//! What a server and its tools are called to a model: valid everywhere, and each once. A name that has to be changed gets a
//! mark made of the original one, so that it is the same in every run and no two become one.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

pub const PREFIX: &str = "mcp__";
const BETWEEN: &str = "__";
/// What wires take.
const LONGEST: usize = 64;
const LONGEST_SERVER: usize = 24;
const MARK: usize = 6;

/// So many bytes of a hash, for telling apart.
fn mark(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a server in tools' names, rules and mentions. Holds no `__` and ends with no `_`: in a full name the first
/// `__` is where the tool begins, so that no two servers have one tool.
pub fn server(name: &str, taken: &mut HashSet<String>) -> String {
    let clean = clean(name);
    valid(name, &clean, single(&clean), LONGEST_SERVER, taken)
}

/// Whether a server is called just as it is named, as far as `_` goes.
pub fn splits(name: &str) -> bool {
    single(name) == name
}

/// The name of a tool in rules; with server and prefix before it, the one that a model calls.
pub fn tool(server: &str, name: &str, taken: &mut HashSet<String>) -> String {
    let clean = clean(name);
    valid(name, &clean, clean.clone(), LONGEST - PREFIX.len() - server.len() - BETWEEN.len(), taken)
}

/// `mcp__server__tool`.
pub fn full(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}{BETWEEN}{tool}")
}

fn clean(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(plain).collect()
}

/// Each run of `_` as one, and none at the ends.
fn single(name: &str) -> String {
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    words.join("_")
}

/// `usual` as it is where it was not bent into shape, fits, and nobody else has it; else with a mark.
fn valid(name: &str, clean: &str, usual: String, longest: usize, taken: &mut HashSet<String>) -> String {
    let fits = !usual.is_empty() && usual == clean && usual.len() <= longest;
    if fits && taken.insert(usual.clone()) {
        return usual;
    }
    let marked = |salt: usize| {
        let mark = &mark(&format!("{name}{}", "\0".repeat(salt)))[..MARK];
        let kept: String = usual.chars().take(longest - MARK - 1).collect();
        match kept.trim_end_matches('_') {
            "" => mark.to_owned(),
            kept => format!("{kept}_{mark}"),
        }
    };
    (0..).map(marked).find(|name| taken.insert(name.clone())).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_each_is_there_once() {
        let mut taken = HashSet::new();
        let mut name = |text: &str| tool("files", text, &mut taken);
        assert_eq!(name("read"), "read");
        assert_eq!(name("get-sum"), "get-sum");
        assert_eq!(name("a.b c"), "a_b_c");
        let again = name("a/b c");
        assert!(again.starts_with("a_b_c_") && again.len() == 12, "{again}");
        let long = name(&"x".repeat(200));
        assert_eq!(full("files", &long).len(), LONGEST);
        assert_ne!(long, name(&"x".repeat(201)));
        let foreign = name("汉字");
        assert!(foreign.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{foreign}");
        // The same tool twice in one list.
        assert_ne!(name("read"), "read");
    }

    #[test]
    fn the_same_list_gives_the_same_names() {
        let names = || {
            let mut taken = HashSet::new();
            ["a.b", "a b", "a_b"].map(|text| server(text, &mut taken))
        };
        assert_eq!(names(), names());
        assert_eq!(names()[0], "a_b");
    }

    #[test]
    fn a_full_name_is_of_one_server() {
        let mut taken = HashSet::new();
        let mut id = |text: &str| server(text, &mut taken);
        assert_eq!([id("a"), id("a_b"), id("c-d")], ["a", "a_b", "c-d"]);
        let long = format!("{}_bcdefghijk", "a".repeat(16));
        for name in ["a__b", "_a", "a_", "__", "汉字", long.as_str()] {
            let id = id(name);
            assert!(id != name && splits(&id) && id.len() <= LONGEST_SERVER, "{name}: {id}");
        }
        assert!(splits("a_b") && !splits("a__b") && !splits("_a") && !splits("a_"));
    }
}
