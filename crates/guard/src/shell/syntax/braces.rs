//! Brace expansion, on characters that know whether they were quoted.

use crate::limits::{MAX_BRACE_LENGTH, MAX_BRACE_WORDS};
use crate::pattern::UNKNOWN;

pub(crate) type Chars = Vec<(char, bool)>;

/// Brace expansion: the words it makes, and whether any braces were taken.
pub(crate) fn brace_words(word: &[(char, bool)]) -> Vec<(Chars, bool)> {
    let open = word.iter().filter(|(c, quoted)| *c == '{' && !quoted).count();
    if open == 0 || !word.contains(&('}', false)) {
        return vec![(word.to_vec(), false)];
    }
    if open > MAX_BRACE_WORDS || word.len() > MAX_BRACE_LENGTH {
        return vec![(vec![(UNKNOWN, true)], true)];
    }
    let mut done: Vec<(Chars, bool)> = Vec::new();
    let mut todo: Vec<(Chars, bool)> = vec![(word.to_vec(), false)];
    while let Some((word, braced)) = todo.pop() {
        if done.len() + todo.len() > MAX_BRACE_WORDS {
            return vec![(vec![(UNKNOWN, true)], true)];
        }
        match split_braces(&word) {
            None => done.push((word, braced)),
            Some(words) => todo.extend(words.into_iter().rev().map(|word| (word, true))),
        }
    }
    done
}

/// The first brace expansion of a word, carried out.
fn split_braces(word: &[(char, bool)]) -> Option<Vec<Chars>> {
    for open in (0..word.len()).filter(|i| word[*i] == ('{', false)) {
        let (mut depth, mut commas, mut close) = (0, Vec::new(), None);
        for (index, item) in word.iter().enumerate().skip(open + 1) {
            match item {
                ('{', false) => depth += 1,
                ('}', false) if depth == 0 => {
                    close = Some(index);
                    break;
                }
                ('}', false) => depth -= 1,
                (',', false) if depth == 0 => commas.push(index),
                _ => {}
            }
        }
        let Some(close) = close else { continue };
        let around = |inner: &[(char, bool)]| [&word[..open], inner, &word[close + 1..]].concat();
        if !commas.is_empty() {
            let mut from = open + 1;
            let mut words = Vec::new();
            for end in commas.into_iter().chain([close]) {
                words.push(around(&word[from..end]));
                from = end + 1;
            }
            return Some(words);
        }
        let inside: String = word[open + 1..close].iter().map(|(c, _)| *c).collect();
        if inside.contains("..") {
            return Some(vec![around(&[(UNKNOWN, true)])]);
        }
    }
    None
}
