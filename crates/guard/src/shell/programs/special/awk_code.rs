//! The code of an awk program apart from its strings, regular expressions and comments.
//! Where these cannot be told apart for certain there is no answer: then the whole text has to count as code.

/// Behind these words a slash begins a regular expression; behind any other it divides.
const BEFORE_PATTERN: &[&str] = &["print", "printf", "return", "in", "do", "else", "case", "exit"];

/// The program with an empty string for each string and each regular expression in it.
pub(crate) fn code(program: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = program;
    let mut divided = false;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => {
                out.push_str("\"\"");
                string_length(rest)?
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '/' => slash(rest, &mut out, &mut divided)?,
            '\\' if rest[1..].starts_with('\n') => {
                out.push(' ');
                2
            }
            '\\' => return None,
            _ => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Some(out)
}

/// Does the code, as [`code`] gives it, start another command?
pub(crate) fn runs_commands(code: &str) -> bool {
    let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.into_iter().any(|word| word == "system") || code.replace("||", "").contains(['|', '@'])
}

/// Does the code read only the files it was given, and write only what it prints?
pub(crate) fn only_prints(code: &str) -> bool {
    let redirects = |rest: &str| rest.split([';', '}', '\n']).next().unwrap_or("").contains('>');
    !runs_commands(code)
        && !["getline", "ARGV", "ARGC"].iter().any(|word| code.contains(word))
        && !code.split("print").skip(1).any(redirects)
}

/// From a quote to the end of its string, which is on the same line.
fn string_length(text: &str) -> Option<usize> {
    let end = unescaped(&text[1..], '"')?;
    Some(end + 2)
}

/// A division, or a whole regular expression. Where something stands before that may be divided or not, it is taken
/// for a division, and from then on nothing is certain.
fn slash(rest: &str, out: &mut String, divided: &mut bool) -> Option<usize> {
    let Some(end) = unescaped(&rest[1..], '/') else {
        out.push('/');
        return Some(1);
    };
    let between = &rest[1..=end];
    let pattern = starts_pattern(out);
    // If it were the other thing after all, strings and comments would begin at different places.
    if (*divided || !pattern) && between.contains(['"', '#']) {
        return None;
    }
    if !pattern {
        *divided = true;
        out.push('/');
        return Some(1);
    }
    let matters = ["print", "getline", "system(", "system ", "@"].iter().any(|word| between.contains(word));
    // A slash in brackets ends the expression for some awks only.
    if (*divided && matters) || ends_in_brackets(between) {
        return None;
    }
    out.push_str("\"\"");
    Some(end + 2)
}

/// Is a `[…` still open at the end of this part of a regular expression?
fn ends_in_brackets(pattern: &str) -> bool {
    let mut open = false;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' if !open => {
                open = true;
                chars.next_if_eq(&'^');
                // First in brackets it stands for itself.
                chars.next_if_eq(&']');
            }
            ']' => open = false,
            _ => {}
        }
    }
    open
}

/// Where `wanted` stands without a backslash, on this line.
fn unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == wanted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Nothing that could be divided stands before it.
fn starts_pattern(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    let word_at = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
    match before.chars().last() {
        None => true,
        Some(c) if c.is_ascii_alphanumeric() || c == '_' => {
            before.get(word_at..).is_some_and(|word| BEFORE_PATTERN.contains(&word))
        }
        Some('+') => !before.ends_with("++"),
        Some('-') => !before.ends_with("--"),
        Some(c) => "\n{};,(!~&|=<>?:*%^".contains(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(program: &str) -> bool {
        runs_commands(&code(program).unwrap_or_else(|| program.to_owned()))
    }

    #[test]
    fn patterns_strings_and_comments_run_nothing() {
        for program in [
            "/ERROR|WARN/ {c++} END {print c}",
            "/filesystem/ {print}",
            "$1 == \"system\" && /a|b/",
            "{ print $1 \"|\" $2 } # a | b",
            "$1 ~ /^(a|b)$/ || !/c|d/ { print $2 / $3 }",
            "{ filesystem = $1 / 2; print filesystem }",
            "/\"type\":\"error\"/ || /panic|abort/ {print FILENAME\": \"$0}",
            "/^\\[dep|x\\]/ {f=1} /[|]/",
        ] {
            assert!(!runs(program), "{program}");
        }
    }

    #[test]
    fn other_files_are_not_taken_for_printing() {
        let prints = |program: &str| code(program).is_some_and(|code| only_prints(&code));
        for program in
            ["{print $1}", "$3 > 5 {n++} END {print n}", "{ if ($1 > 2) printf \"%s\", $2 }", "/a>b/"]
        {
            assert!(prints(program), "{program}");
        }
        for program in [
            "{print > \"x\"}",
            "{print $1 >> f}",
            "BEGIN{while ((getline l < \"/etc/passwd\") > 0) print l}",
            "BEGIN{ARGV[1]=\"/etc/passwd\"; ARGC=2}",
            "{printf \"%s\", $1 > f}",
        ] {
            assert!(!prints(program), "{program}");
        }
    }

    #[test]
    fn what_runs_a_command_is_not_taken_for_a_pattern() {
        for program in [
            "BEGIN{system(\"rm x\")}",
            "{print | \"sh\"}",
            "/\"/ {system(\"rm x\")}",
            "# it is \"\n{system(\"rm x\")}",
            "{ a++ / 2; print | c; b = 1 / 3 }",
            "{ a / 2; system(c) / 3 }",
            "{ if (a) /b+/; system($0) / 1 }",
            "{ print /\"/; system(\"rm x\") }",
            "{ if (a) /b+/ ; print $0 | c ; y = 1 / 2 }",
            "BEGIN { f = \"system\"; @f(\"rm x\") }",
            "/[/]/ {system(\"rm x\")} /x/",
            "/\\][\"/]/ {system(\"rm x\")}",
            "/[]/\"]/ {system(\"rm x\")} /\"/",
            "{ if (a) /b+/ ; x = \"/\" ; system(\"rm y\") }",
        ] {
            assert!(runs(program), "{program}");
        }
    }
}
