//! What a server and its tools are called to a model: valid everywhere, and each once. A name that has to be changed gets a
//! mark made of the original one, so that it is the same in every run and no two become one.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

pub(crate) const PREFIX: &str = "mcp__";
const BETWEEN: &str = "__";
/// What wires take.
const LONGEST: usize = 64;
const LONGEST_SERVER: usize = 24;
const MARK: usize = 6;

/// So many bytes of a hash, for telling apart.
pub(crate) fn mark(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a server in tools' names, rules and mentions.
pub(crate) fn server(name: &str, taken: &mut HashSet<String>) -> String {
    valid(name, LONGEST_SERVER, taken)
}

/// The name of a tool in rules; with server and prefix before it, the one that a model calls.
pub(crate) fn tool(server: &str, name: &str, taken: &mut HashSet<String>) -> String {
    valid(name, LONGEST - PREFIX.len() - server.len() - BETWEEN.len(), taken)
}

/// `mcp__server__tool`.
pub(crate) fn full(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}{BETWEEN}{tool}")
}

fn valid(name: &str, longest: usize, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let clean: String = name.chars().map(plain).collect();
    // Without a mark where nobody else has the name.
    if !clean.is_empty() && clean.len() <= longest && taken.insert(clean.clone()) {
        return clean;
    }
    let marked = |salt: usize| {
        let mark = mark(&format!("{name}{}", "\0".repeat(salt)));
        let kept: String = clean.chars().take(longest - MARK - 1).collect();
        format!("{kept}_{}", &mark[..MARK])
    };
    (0..).map(marked).find(|name| taken.insert(name.clone())).unwrap_or(clean)
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
}
