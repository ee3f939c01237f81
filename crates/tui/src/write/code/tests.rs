use ratatui_core::text::Line;
use zdx_protocol::display::plain;

use super::super::wrap::{Margin, fold_in};
use super::*;
use crate::Look;

/// Code as rows; what is wider than the look is folded, and nothing of it is lost.
fn highlight(text: &str, language: &str, look: Look<'_>) -> Vec<Line<'static>> {
    let mut painter = Painter::new(language, usize::MAX);
    let rest = vec![Span::styled(FOLDED, look.theme.dim)];
    let margin = Margin { first: Vec::new(), rest };
    let clean = plain(text);
    let rows = clean.lines().flat_map(|line| {
        let spans = painter.line(&expand_tabs(line), look.theme);
        fold_in(Line::from(spans), look.width, &margin)
    });
    rows.collect()
}

fn colours() -> Theme {
    Theme::new(Depth::Sixteen, false)
}

/// Each stretch with the name of its style.
fn parts(code: &str, language: &str) -> Vec<(String, &'static str)> {
    let theme = colours();
    let name = |style| {
        let syntax = &theme.syntax;
        let named = [
            (theme.text, "text"),
            (syntax.keyword, "keyword"),
            (syntax.string, "string"),
            (syntax.comment, "comment"),
            (syntax.number, "number"),
            (syntax.function, "function"),
            (syntax.kind, "kind"),
            (syntax.attribute, "attribute"),
        ];
        named.iter().find(|(known, _)| *known == style).map_or("other", |(_, name)| *name)
    };
    let lines = highlight(code, language, Look { width: 80, theme: &theme });
    lines
        .iter()
        .flat_map(|line| &line.spans)
        .map(|span| (span.content.trim().to_owned(), name(span.style)))
        .collect()
}

fn is(parts: &[(String, &str)], text: &str, kind: &str) -> bool {
    parts.iter().any(|(part, name)| part.contains(text) && *name == kind)
}

#[test]
fn the_parts_of_code_are_told_apart() {
    let rust = parts("// why\nfn main() { let s: String = \"x\"; call(42); }", "rust");
    let wanted =
        [("why", "comment"), ("fn", "keyword"), ("main", "function"), ("\"x\"", "string"), ("42", "number")];
    for (text, kind) in wanted {
        assert!(is(&rust, text, kind), "{text} {kind}: {rust:?}");
    }
    let python = parts("def f(x):\n    return 'a' # b", "py");
    assert!(
        is(&python, "return", "keyword") && is(&python, "'a'", "string") && is(&python, "# b", "comment")
    );
    let json = parts("{\"key\": [1, true, null, \"text\"]}", "json");
    assert!(is(&json, "1", "number") && is(&json, "\"text\"", "string"), "{json:?}");
}

#[test]
fn a_language_is_found_by_fence_and_by_path() {
    let words = [
        "rust",
        "rs",
        "RUST",
        "python",
        "py",
        "sh",
        "bash",
        "zsh",
        "shell",
        "console",
        "js",
        "javascript",
        "jsx",
        "ts",
        "typescript",
        "tsx",
        "go",
        "golang",
        "c",
        "cpp",
        "c++",
        "c#",
        "csharp",
        "java",
        "kotlin",
        "swift",
        "ruby",
        "rb",
        "php",
        "html",
        "css",
        "scss",
        "json",
        "jsonc",
        "yaml",
        "yml",
        "toml",
        "sql",
        "diff",
        "dockerfile",
        "makefile",
        "lua",
        "zig",
        "nix",
        "haskell",
        "elixir",
        "xml",
        "markdown",
        "md",
        "proto",
        "graphql",
        "vue",
        "svelte",
        "Dockerfile",
    ];
    let missing: Vec<_> = words.iter().filter(|word| find(word).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(find("text").is_none() && find("").is_none() && find("no-such-thing").is_none());
}

#[test]
fn without_colours_code_stays_as_it_is() {
    let theme = Theme::new(Depth::None, false);
    let lines = highlight("fn f() {}\n", "rust", Look { width: 80, theme: &theme });
    assert!(lines[0].spans.iter().all(|span| span.style.fg.is_none()), "{lines:?}");
}

#[test]
fn what_is_too_long_is_plain_and_whole() {
    let theme = colours();
    let look = Look { width: 80, theme: &theme };
    let long = format!("let x = \"{}\";", "y".repeat(LONGEST_LINE));
    let lines = highlight(&long, "rust", look);
    assert!(lines.iter().all(|line| line.width() <= 80));
    let joined: String = lines.iter().map(|line| line.to_string().replace(FOLDED, "")).collect();
    assert_eq!(joined, long);
    let many = "let x = 1;\n".repeat(MOST_LINES + 2);
    let lines = highlight(&many, "rust", look);
    assert_eq!(lines.len(), MOST_LINES + 2);
    assert!(lines[MOST_LINES - 1].spans.len() > 1);
    assert_eq!(lines[MOST_LINES].spans.len(), 1);
}

#[test]
fn nothing_hostile_gets_through() {
    let theme = colours();
    let lines = highlight("a\x1b[2Jb\tc\r\nd\x07\u{202e}e", "rust", Look { width: 80, theme: &theme });
    let text: Vec<String> = lines.iter().map(Line::to_string).collect();
    assert_eq!(text, ["ab  c", "de"]);
}
