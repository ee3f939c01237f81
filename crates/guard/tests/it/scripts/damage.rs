//! Scripts with something put in, taken out or exchanged, as no author would write them.

use super::{Rng, harmless};

/// A harmless script with a command put in somewhere: in a quote, a comment, a word, or where it runs.
pub fn spliced(rng: &mut Rng) -> String {
    let script = harmless(rng);
    if script.contains('/') || script.contains("env") {
        return script;
    }
    let mut chars: Vec<char> = script.chars().collect();
    for _ in 0..=rng.below(2) {
        let piece = rng.pick(&[
            "rm x",
            ";rm x;",
            "\nrm x\n",
            "$(rm x)",
            "`rm x`",
            "|rm x|",
            "&& rm x &&",
            "||rm x||",
            "&rm x&",
            " > a ",
            ">existing.txt ",
            "(rm x)",
            "{ rm x; }",
            "'",
            "\"",
            "\\",
            "$'",
            "<<E\n",
            "\nE\n",
            "#",
            "$((",
            "))",
            "${y:-",
            "}",
            "[[ ",
            " ]]",
            "((",
            "eval ",
            "! ",
        ]);
        let at = rng.below(chars.len() + 1);
        chars.splice(at..at, piece.chars());
    }
    chars.into_iter().collect()
}

/// A few characters that matter to a shell are put in, taken out or exchanged.
pub fn mutate(rng: &mut Rng, text: String) -> String {
    // A slash next to a deletion could become a path from the root, and `env -` forgets the search path.
    if text.contains('/') || text.contains("env") {
        return text;
    }
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=rng.below(3) {
        let special = [
            '\'', '"', '\\', '$', '`', '(', ')', '{', '}', '[', ']', ';', '&', '|', '<', '>', '#', '\n', ' ',
            '\t', '!', '*', '=', 'E',
        ];
        let at = rng.below(chars.len().max(1));
        let new = special[rng.below(special.len())];
        match rng.below(4) {
            0 if !chars.is_empty() => {
                chars.remove(at);
            }
            1 if !chars.is_empty() => chars[at] = new,
            2 if chars.len() > 2 => {
                let other = rng.below(chars.len());
                chars.swap(at, other);
            }
            _ => chars.insert(at.min(chars.len()), new),
        }
    }
    chars.into_iter().collect()
}
