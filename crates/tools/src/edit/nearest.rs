//! Where in a file the text that is not there was probably meant to be.
//! Bounded in time and in what it shows; whitespace is made visible, as it is what mostly differs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use zdx_protocol::compare::likeness;

use zdx_workspace::text::first;

const SHOWN_LINES: usize = 8;
const SHOWN_WIDTH: usize = 160;
const TIME: Duration = Duration::from_millis(150);
/// How alike two lines must be, from 0 to 1.
const ALIKE: f32 = 0.6;

/// A sentence that names the nearest lines, and the lines.
pub fn region(content: &str, old: &str) -> Option<String> {
    let lines: Vec<&str> = content.split('\n').collect();
    let wanted: Vec<&str> = old.trim_matches('\n').split('\n').collect();
    let start = by_equal_lines(&lines, &wanted).or_else(|| by_likeness(&lines, &wanted))?;
    let shown = wanted.len().min(SHOWN_LINES).min(lines.len() - start);
    let mut text = format!("The nearest text is at line {} (· space, → tab, ␍ carriage return):", start + 1);
    for (at, line) in lines[start..start + shown].iter().enumerate() {
        let _ = write!(text, "\n{}: {}", start + at + 1, visible(line));
    }
    if shown < wanted.len() {
        text.push_str("\n…");
    }
    Some(text)
}

/// A line without what is easily mistaken in it.
fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The place where most lines agree when whitespace is left aside.
fn by_equal_lines(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    /// A line that occurs more often says little about the place.
    const COMMON: usize = 200;
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        let line = plain(line);
        if !line.is_empty() {
            places.entry(line).or_default().push(at);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in wanted.iter().enumerate().take(1000) {
        let line = plain(line);
        for &place in places.get(&line).into_iter().flatten().take(COMMON) {
            if let Some(start) = place.checked_sub(at) {
                // A longer line is better evidence than a brace.
                *votes.entry(start).or_default() += line.len();
            }
        }
    }
    let (start, weight) = votes.into_iter().max_by_key(|&(start, weight)| (weight, usize::MAX - start))?;
    // A lone brace is no match.
    let whole: usize = wanted.iter().map(|line| plain(line).len()).sum();
    (weight * 3 >= whole).then_some(start)
}

/// The line most like the longest one wanted.
fn by_likeness(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (at, longest) =
        wanted.iter().enumerate().max_by_key(|(at, line)| (line.trim().len(), usize::MAX - at))?;
    let longest = first(longest.trim(), 400);
    if longest.is_empty() {
        return None;
    }
    let deadline = Instant::now() + TIME;
    let mut best: Option<(f32, usize)> = None;
    for (place, line) in lines.iter().enumerate() {
        let line = line.trim();
        // Lengths too different to be alike at all are not compared.
        if line.len() < longest.len() / 3 || line.len() > longest.len() * 3 {
            continue;
        }
        if Instant::now() > deadline {
            break;
        }
        let likeness = likeness(longest, line, Some(deadline));
        if likeness >= ALIKE && best.is_none_or(|(known, _)| likeness > known) {
            best = Some((likeness, place));
        }
    }
    best.map(|(_, place)| place.saturating_sub(at))
}

fn visible(line: &str) -> String {
    let cut = first(line, SHOWN_WIDTH);
    let mut text: String = cut
        .chars()
        .map(|c| match c {
            ' ' => '·',
            '\t' => '→',
            '\r' => '␍',
            '\u{a0}' => '⍽',
            other => other,
        })
        .collect();
    if cut.len() < line.len() {
        text.push('…');
    }
    text
}

/// The lines of these places, for a message: the first few.
pub fn lines_of(content: &[u8], starts: &[usize]) -> String {
    const FEW: usize = 10;
    let mut numbers = Vec::new();
    let (mut line, mut seen) = (1, 0);
    for &at in starts.iter().take(FEW + 1) {
        line += content[seen..at].iter().filter(|&&byte| byte == b'\n').count();
        seen = at;
        numbers.push(line.to_string());
    }
    if numbers.len() > FEW {
        numbers[FEW] = "…".to_owned();
    }
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_indentation_is_made_visible() {
        let content = "fn a() {\n\tlet x = 1;\n\tlet y = 2;\n}\n";
        assert_eq!(
            region(content, "    let x = 1;\n    let y = 2;\n").unwrap(),
            "The nearest text is at line 2 (· space, → tab, ␍ carriage return):\n2: →let·x·=·1;\n3: →let·y·=·2;"
        );
    }

    #[test]
    fn a_misremembered_line_is_found() {
        let content = "one\nlet total = compute(values);\ntwo\n";
        assert!(region(content, "let total = compute_all(values)").unwrap().contains("line 2 "));
        assert_eq!(region(content, "something else altogether, far away"), None);
        assert_eq!(region("", "x"), None);
    }

    #[test]
    fn huge_files_and_texts_stay_bounded() {
        let content = "let some_value = other_value + 1;\n".repeat(200_000);
        let old = "let some_valve = another_value - 2;\n".repeat(5_000);
        let started = Instant::now();
        let near = region(&content, &old).unwrap();
        assert!(started.elapsed() < Duration::from_secs(60));
        assert!(near.len() < 4000);
    }

    #[test]
    fn occurrences_are_numbered_and_few() {
        assert_eq!(lines_of(b"a\nb\na a\n", &[0, 4, 6]), "1, 3, 3");
        let starts: Vec<usize> = (0..50).map(|line| line * 2).collect();
        assert_eq!(lines_of("a\n".repeat(50).as_bytes(), &starts), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …");
    }
}
