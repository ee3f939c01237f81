//! Front matter that YAML refuses and people write all the same: `description: use when: …`, `paths: *.rs`.
//! Quotes what is not quoted and changes nothing else; a line that YAML accepts stays as it is.

use super::super::yaml::{YamlEntry, table};

/// The table with the offending values in quotes, if that makes it one.
pub(super) fn quoted(front: &str) -> Option<Vec<YamlEntry>> {
    table(&quote(front)).ok()
}

/// Every key of the outermost table that can be read on its own.
pub(super) fn salvaged(front: &str) -> Vec<YamlEntry> {
    let quoted = quote(front);
    let mut entries: Vec<YamlEntry> = Vec::new();
    let mut block = String::new();
    let mut block_line = 1;
    let mut take = |block: &str, line: usize| {
        if let Ok(found) = table(block)
            && let [only] = found.as_slice()
            && entries.iter().all(|entry| entry.key != only.key)
        {
            entries.push(YamlEntry { line: Some(line), ..only.clone() });
        }
    };
    for (at, line) in quoted.lines().enumerate() {
        if indent(line) == 0 && !line.is_empty() {
            take(&block, block_line);
            block.clear();
            block_line = at + 1;
        }
        block.push_str(line);
        block.push('\n');
    }
    take(&block, block_line);
    entries
}

/// Lines keep their numbers: a value that went on over several is joined on its first, and blank lines follow.
fn quote(front: &str) -> String {
    let lines: Vec<&str> = front.lines().collect();
    let mut out = String::with_capacity(front.len() + 64);
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let Some((key, value)) = key_and_value(line) else {
            push(&mut out, line);
            at += 1;
            continue;
        };
        let deeper = lines[at + 1..]
            .iter()
            .take_while(|next| next.trim().is_empty() || indent(next) > indent(line))
            .count();
        let block = &lines[at..=at + deeper];
        if starts_block(value) || is_structure(value) || value.is_empty() || fine(block) {
            // A block scalar is text; below an empty value the next lines are looked at for themselves.
            let whole = if value.is_empty() && !fine(block) { 1 } else { block.len() };
            block[..whole].iter().for_each(|line| push(&mut out, line));
            at += whole;
            continue;
        }
        let words = std::iter::once(value).chain(block[1..].iter().map(|line| line.trim()));
        let joined = words.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        push(&mut out, &in_quotes(&" ".repeat(indent(line)), key, &joined));
        block[1..].iter().for_each(|_| push(&mut out, ""));
        at += block.len();
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn fine(block: &[&str]) -> bool {
    let by = block.first().map_or(0, |line| indent(line));
    let text: Vec<&str> = block.iter().map(|line| line.get(by..).unwrap_or_default()).collect();
    table(&text.join("\n")).is_ok_and(|entries| !entries.is_empty())
}

fn in_quotes(indent: &str, key: &str, value: &str) -> String {
    let single = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let line = format!("{key}: {}", single(value));
    match table(&line) {
        Ok(_) => format!("{indent}{line}"),
        // `*: deny`: the key is the fault.
        Err(_) => {
            let value = if fine(&[&format!("k: {value}")]) { value.to_owned() } else { single(value) };
            format!("{indent}{}: {value}", single(key))
        }
    }
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let text = line.trim();
    if text.starts_with(['#', '-', '[', '{']) {
        return None;
    }
    let (key, value) = text.split_once(": ").or_else(|| Some((text.strip_suffix(':')?, "")))?;
    Some((key.trim_end(), value.trim()))
}

fn starts_block(value: &str) -> bool {
    let mut chars = value.chars();
    matches!(chars.next(), Some('|' | '>')) && chars.all(|c| matches!(c, '+' | '-' | ' ' | '1'..='9'))
}

/// Meant as a list, a table or an anchor, so never to be read as text: `[a, b`, but not `[file] [mode]`.
fn is_structure(value: &str) -> bool {
    let mut depth = 0usize;
    for (at, c) in value.char_indices() {
        match c {
            '&' if at == 0 => return true,
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at > 0 && value[at + 1..].trim().is_empty() && value.starts_with(['[', '{']);
        }
    }
    depth > 0
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
