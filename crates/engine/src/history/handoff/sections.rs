//! A model's answer, taken apart into the sections that were asked for. Pure text in, text out; what is no use is
//! nothing.

const MOST: usize = 15;
/// Less than this is no prompt that anybody could start from.
const SHORTEST_STARTER: usize = 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sections {
    starter: String,
    files: String,
    tasks: String,
    commands: String,
}

#[derive(Clone, Copy)]
enum Section {
    Goal,
    Starter,
    Files,
    Tasks,
    Commands,
}

impl Sections {
    pub(super) fn parse(answer: &str) -> Self {
        let mut sections = Self::default();
        let mut current = None;
        let mut fence: Option<&str> = None;
        for line in unwrapped(answer).lines() {
            let heading = if fence.is_none() { heading(line) } else { None };
            fence = fence_after(line, fence);
            match heading {
                Some(found) => current = Some(found),
                None => {
                    let body = match current {
                        Some(Section::Starter) => &mut sections.starter,
                        Some(Section::Files) => &mut sections.files,
                        Some(Section::Tasks) => &mut sections.tasks,
                        Some(Section::Commands) => &mut sections.commands,
                        Some(Section::Goal) | None => continue,
                    };
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
        sections
    }

    pub(super) fn starter(&self) -> Option<String> {
        let text = self.starter.trim();
        let fenced = is_fence(text.lines().next().unwrap_or_default())
            && text.lines().count() > 2
            && text.lines().last().is_some_and(is_fence);
        let text = match fenced {
            true => {
                let inner: Vec<&str> = text.lines().collect();
                inner[1..inner.len() - 1].join("\n")
            }
            false => {
                let unquoted = |line: &str| {
                    line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line).to_owned()
                };
                text.lines().map(unquoted).collect::<Vec<_>>().join("\n")
            }
        };
        let text = text.trim().to_owned();
        let words = text.split_whitespace().count();
        (text.len() >= SHORTEST_STARTER && words >= 3).then_some(text)
    }

    /// Paths as they were named; whether there is anything to them is not known here.
    pub(super) fn files(&self) -> Vec<String> {
        let path = |item: &str| {
            let quoted = item.split('`').nth(1);
            let bare = || item.split([' ', '\t']).next().map(|word| word.trim_end_matches([':', ',', ';']));
            quoted.or_else(bare).map(str::trim).filter(|path| !path.is_empty()).map(str::to_owned)
        };
        items(&self.files).filter_map(|item| path(&item)).take(2 * MOST).collect()
    }

    /// Those that are still to be done.
    pub(super) fn tasks(&self) -> Vec<String> {
        let open = |item: String| match item.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((mark, _)) if mark.trim().eq_ignore_ascii_case("x") => None,
            Some((mark, task)) if mark.trim().is_empty() || mark == "~" => Some(task.trim().to_owned()),
            Some(_) | None => Some(item),
        };
        items(&self.tasks).filter_map(open).filter(|task| useful(task)).take(MOST).collect()
    }

    pub(super) fn commands(&self) -> Vec<String> {
        let mut fence = None;
        let mut fenced = Vec::new();
        for line in self.commands.lines() {
            let was = fence;
            fence = fence_after(line, fence);
            if was.is_some() && fence.is_some() {
                fenced.push(line);
            }
        }
        let command = |line: &str| {
            let line = line.trim_end();
            line.strip_prefix("$ ").unwrap_or(line).to_owned()
        };
        let commands: Vec<String> = match fenced.is_empty() {
            false => fenced.into_iter().map(command).collect(),
            true => items(&self.commands).filter_map(|item| item.split('`').nth(1).map(command)).collect(),
        };
        match commands.iter().any(|line| useful(line) && !line.trim_start().starts_with('#')) {
            true => commands.into_iter().filter(|line| !line.is_empty()).take(2 * MOST).collect(),
            false => Vec::new(),
        }
    }
}

/// Some models put the whole answer into one block of code.
fn unwrapped(answer: &str) -> &str {
    let trimmed = answer.trim();
    let inner = trimmed.strip_prefix("```markdown").or(trimmed.strip_prefix("```md"));
    inner.map_or(trimmed, |inner| inner.strip_suffix("```").unwrap_or(inner))
}

/// `## Open tasks`, `**Open tasks:**`, `3. Open tasks`.
fn heading(line: &str) -> Option<Section> {
    let line = line.trim();
    let marked =
        line.starts_with('#') || (line.starts_with("**") && line.trim_end_matches(':').ends_with("**"));
    if !marked {
        return None;
    }
    let words = line.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
    match words.as_str() {
        "goal" => Some(Section::Goal),
        "starter prompt" => Some(Section::Starter),
        "relevant files" => Some(Section::Files),
        "open tasks" => Some(Section::Tasks),
        "repro commands" => Some(Section::Commands),
        _ => None,
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

/// The fence that is open after this line.
fn fence_after<'a>(line: &'a str, open: Option<&'a str>) -> Option<&'a str> {
    let line = line.trim();
    match open {
        None if is_fence(line) => {
            let mark = if line.starts_with('`') { '`' } else { '~' };
            Some(&line[..line.len() - line.trim_start_matches(mark).len()])
        }
        Some(fence) if line.starts_with(fence) && line.trim_matches(['`', '~']).is_empty() => None,
        open => open,
    }
}

/// The entries of a list, without their bullets.
fn items(body: &str) -> impl Iterator<Item = String> {
    body.lines().filter_map(|line| {
        let line = line.trim();
        let bullet = line.strip_prefix("- ").or(line.strip_prefix("* ")).or(line.strip_prefix("+ "));
        let numbered = || {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or(rest.strip_prefix(") "))).flatten()
        };
        bullet.or_else(numbered).map(|item| item.trim().to_owned()).filter(|item| !item.is_empty())
    })
}

fn useful(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    !matches!(text.as_str(), "" | "…" | ".." | "none" | "n/a" | "na" | "todo" | "-" | "(none)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_answer_is_taken_apart() {
        let sections = Sections::parse(
            "Sure!\n## Goal\nship\n## Starter prompt\n```text\nGo on with the parser.\n## not a heading\n```\n\
             ## Relevant files\n- `src/a.rs`: the parser\n- src/b.rs - helper\n1. src/c.rs\n\n\
             **Open tasks:**\n- [ ] write a test\n- [x] done\n* [~] half\n- N/A\n\
             ### Repro commands\n```sh\n$ cargo test\n\ncargo run\n```\n",
        );
        assert_eq!(sections.starter().unwrap(), "Go on with the parser.\n## not a heading");
        assert_eq!(sections.files(), ["src/a.rs", "src/b.rs", "src/c.rs"]);
        assert_eq!(sections.tasks(), ["write a test", "half"]);
        assert_eq!(sections.commands(), ["cargo test", "cargo run"]);
    }

    #[test]
    fn what_is_no_use_is_nothing() {
        let sections = Sections::parse(
            "## Starter prompt\ngo\n## Relevant files\nnone\n## Open tasks\n- none\n## Repro commands\n```sh\n# nothing\n```",
        );
        assert_eq!(sections.starter(), None);
        assert!(sections.files().is_empty() && sections.tasks().is_empty() && sections.commands().is_empty());
        assert_eq!(Sections::parse("I cannot do that."), Sections::default());
    }

    #[test]
    fn other_shapes_are_understood() {
        let sections = Sections::parse(
            "```markdown\n# Starter prompt\n> Continue with the parser,\n> then test it.\n# Repro commands\n- `make`\n- `make test`\n```",
        );
        assert_eq!(sections.starter().unwrap(), "Continue with the parser,\nthen test it.");
        assert_eq!(sections.commands(), ["make", "make test"]);
    }
}
