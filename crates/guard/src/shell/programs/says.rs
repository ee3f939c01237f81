//! What a command is about, in the words of `table/says.txt`: what a person wants to know who is asked about it.
//! Decides nothing.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::shell::programs::special::runners::basename;

static SAYS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let rows = include_str!("table/says.txt").lines().filter(|line| !line.starts_with('#'));
    let of_row = |line: &'static str| line.split_once(" = ");
    rows.filter_map(of_row)
        .flat_map(|(names, says)| names.split(", ").map(move |name| (name, says)))
        .collect()
});

/// `argv` as rules see it.
pub(crate) fn says(argv: &[String]) -> Option<&'static str> {
    let (program, words) = argv.split_first()?;
    let program = basename(program).to_ascii_lowercase();
    let of = |word: &str| SAYS.get(format!("{program} {word}").as_str()).copied();
    let mut after_option = false;
    for word in words {
        if let Some(says) = of(word) {
            return Some(says);
        }
        // Behind an option may stand its value; the first word that is neither is the subcommand.
        if !word.starts_with('-') && !after_option {
            break;
        }
        after_option = word.starts_with('-') && !word.contains('=');
    }
    SAYS.get(program.as_str()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole_and_no_name_has_two() {
        let mut names = Vec::new();
        for line in
            include_str!("table/says.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (of, says) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
            assert!(says.starts_with("it ") && says.len() < 60 && !says.contains(';'), "{line}");
            names.extend(of.split(", "));
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a name has two rows");
    }

    #[test]
    fn the_subcommand_is_found_behind_options() {
        for (line, wanted) in [
            ("git push origin main", Some("it publishes to a remote")),
            ("git -C lib push", Some("it publishes to a remote")),
            ("git --no-pager commit -m push", Some("it commits")),
            ("git frobnicate push", None),
            ("python3 -m pytest", Some("it runs a module of Python")),
            ("npm whatever", Some("it manages the project's packages")),
            ("frobnicate", None),
            ("", None),
        ] {
            let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(says(&argv), wanted, "{line}");
        }
    }
}
