//! The steps that a prompt asks for, read from its form alone: for the draft of a todo list.

use zdx_protocol::Prompt;

/// Returns the items of the list in the user's own words. Nested items and blocks of code are left out.
pub(super) fn listed_steps(prompt: &Prompt) -> Vec<&str> {
    let mut in_code = false;
    let mut items: Vec<(usize, &str)> = Vec::new();
    for line in prompt.typed().lines() {
        let text = line.trim_start();
        if text.starts_with("```") {
            in_code = !in_code;
        } else if let Some(item) = list_item(text).filter(|_| !in_code) {
            items.push((line.len() - text.len(), item));
        }
    }
    let outermost = items.iter().map(|(indent, _)| *indent).min().unwrap_or_default();
    items.into_iter().filter(|(indent, _)| *indent == outermost).map(|(_, item)| item).collect()
}

/// Whether the user's own words ask for work of several steps, judged by their form: lists, joined clauses, length. A
/// single question never does.
pub(super) fn is_multi_step(prompt: &Prompt) -> bool {
    const JOINTS: [&str; 9] =
        [" and then ", " then ", "after that", "afterwards", "finally", "然后", "接着", "最后", "之后"];
    let text = prompt.typed().trim().to_lowercase();
    if listed_steps(prompt).len() >= 2 {
        return true;
    }
    let sentences = text.split(['.', '!', ';', '。', '！', '；', '\n']);
    let clauses = sentences.filter(|part| part.chars().count() > 12).count();
    let joints = JOINTS.iter().filter(|joint| text.contains(**joint)).count();
    let is_question = text.ends_with(['?', '？']) && clauses <= 2;
    !is_question && (joints >= 1 || clauses >= 3)
}

/// Returns the text behind the mark of a list item: `- x`, `* x`, `• x`, `1. x`, `1) x`, `- [ ] x`.
fn list_item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match (digits.len() < line.len(), digits.chars().next()?) {
        (true, mark @ ('.' | ')' | '、')) => {
            digits.strip_prefix(mark).filter(|item| !item.starts_with(char::is_numeric))
        }
        (false, '•') => line.strip_prefix('•'),
        (false, mark @ ('-' | '*' | '+')) => {
            line.strip_prefix(mark).filter(|item| item.starts_with(char::is_whitespace))
        }
        (_, _) => None,
    }?;
    let item = item.trim();
    let item = item.strip_prefix("[ ]").map_or(item, str::trim_start);
    Some(item).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_several_steps_is_told_by_its_form() {
        for text in [
            "1. add a test\n2. fix the bug",
            "- rename it\n- update the docs",
            "add a flag --all and then document it",
            "Read the parser carefully. Fix the off-by-one error. Add a regression test for it.",
            "先修复这个错误，然后添加测试",
        ] {
            assert!(is_multi_step(&Prompt::from(text)), "{text}");
        }
        for text in [
            "what does this project do?",
            "hello",
            "fix the typo in README.md",
            "why does `cargo test` fail?",
        ] {
            assert!(!is_multi_step(&Prompt::from(text)), "{text}");
        }
        let piped =
            Prompt::with_data("why?", "1. add a test\n2. fix the bug\nthen go on. Finally do that, too.");
        assert!(!is_multi_step(&piped), "data asks for nothing");
    }

    #[test]
    fn a_list_is_read_without_its_marks_and_what_is_in_it() {
        let listed = |text: &str| listed_steps(&Prompt::from(text)).join("|");
        assert_eq!(listed("Please:\n1. add a test\n2) fix it\n10、ship"), "add a test|fix it|ship");
        assert_eq!(listed("- [ ] one\n  - deeper\n* two\n+ three\n• four"), "one|two|three|four");
        assert_eq!(listed("-rf is bad\n--all too\n**bold**\n1.5 times\n- \n"), "");
        assert_eq!(listed("```diff\n- old\n- older\n```\n- real"), "real");
        assert_eq!(listed_steps(&Prompt::with_data("- mine", "- theirs")), ["mine"]);
    }
}
