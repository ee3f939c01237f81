//! A call that changes files while its arguments stream (tool call deltas): which file it is about, and how much has come. Reads
//! each byte once, and keeps none but those of a name and a path.

use zdx_protocol::Event;
use zdx_protocol::facts::{self, ToolFacts};

/// No sooner is it worth telling that more has come, nor before so much more of what there is.
const STEP: u64 = 1 << 10;
const PART: u64 = 16;
/// Longer than any path.
const LONGEST: usize = 4 << 10;

pub(super) struct Growing {
    /// The server's own id of it.
    wanted: String,
    id: String,
    facts: &'static ToolFacts,
    path: Option<String>,
    scan: Scan,
    bytes: u64,
    /// How much must have come before it is told again.
    next: u64,
}

impl Growing {
    /// Nothing for a call whose arguments are short, or are none of our business.
    pub(super) fn new(wanted: &str, id: &str, name: &str) -> Option<Self> {
        let facts = facts::facts(name).filter(|facts| facts.changes_files())?;
        Some(Self {
            wanted: wanted.to_owned(),
            id: id.to_owned(),
            facts,
            path: None,
            scan: Scan::default(),
            bytes: 0,
            next: STEP,
        })
    }

    pub(super) fn is(&self, wanted: &str) -> bool {
        self.wanted == wanted
    }

    /// More of the arguments: what there is to tell of it, if anything.
    pub(super) fn more(&mut self, more: &str) -> Option<Event> {
        self.bytes += more.len() as u64;
        let mut tells = self.bytes >= self.next;
        if self.path.is_none() {
            self.path = self.scan.find(more, |key| self.facts.names_changed(key));
            tells |= self.path.is_some();
        }
        if !tells {
            return None;
        }
        self.next = self.bytes + STEP.max(self.bytes / PART);
        Some(Event::ToolGrew { id: self.id.clone(), path: self.path.clone(), bytes: self.bytes })
    }
}

/// Follows a JSON object as it comes, for one text of its own fields.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// Behind the colon of a field.
    value: bool,
    /// The value of this field is what is looked for.
    wanted: bool,
    /// The string that is being read, with its quotes, if anybody wants it.
    text: Vec<u8>,
}

impl Scan {
    fn find(&mut self, more: &str, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        more.bytes().find_map(|byte| self.step(byte, &is_wanted))
    }

    fn step(&mut self, byte: u8, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    return self.ended(is_wanted);
                }
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text.clear();
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if self.depth == 1 => self.value = true,
            b',' if self.depth == 1 => (self.value, self.wanted) = (false, false),
            _ => {}
        }
        None
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && (!self.value || self.wanted) && self.text.len() < LONGEST {
            self.text.push(byte);
        }
    }

    /// A string is over: a field's name, or its value. What was too long to be kept is no JSON any more, and nothing.
    fn ended(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        let text: Option<String> = serde_json::from_slice(&self.text).ok();
        if self.depth != 1 || self.value {
            return text.filter(|text| self.depth == 1 && self.wanted && !text.is_empty());
        }
        self.wanted = text.is_some_and(|name| is_wanted(&name));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told when arguments come in pieces of this size.
    fn told(name: &str, arguments: &str, size: usize) -> Vec<(Option<String>, u64)> {
        let mut growing = Growing::new("c", "c-2", name).unwrap();
        let letters: Vec<char> = arguments.chars().collect();
        let pieces = letters.chunks(size).map(|piece| piece.iter().collect::<String>());
        let told = pieces.filter_map(|piece| growing.more(&piece));
        told.map(|event| match event {
            Event::ToolGrew { path, bytes, .. } => (path, bytes),
            other => panic!("{other:?}"),
        })
        .collect()
    }

    #[test]
    fn the_path_is_told_once_it_is_whole_and_the_rest_by_its_size() {
        let long = "x".repeat(100_000);
        let arguments = format!(r#"{{"file_path": "src/\"短\"\u0041.rs", "content": "{long}"}}"#);
        for size in [1, 7, 1_000] {
            let told = told("write", &arguments, size);
            let path = r#"src/"短"A.rs"#;
            assert!(told.iter().all(|(known, _)| known.as_deref() == Some(path)), "{told:?}");
            assert!(told.len() < 80 && told.windows(2).all(|two| two[0].1 < two[1].1), "{}", told.len());
            assert!(told.last().unwrap().1 > 90_000);
        }
    }

    #[test]
    fn nothing_but_the_field_itself_is_taken_for_the_path() {
        let nested = r#"{"content": "\"path\": \"a\"", "meta": {"path": "b"}, "list": ["path", "c"], "#;
        assert_eq!(told("write", &format!("{nested}\"path\": 1}}"), 1), []);
        let last = told("write", &format!("{nested}\"path\": \"d\"}}"), 1);
        assert_eq!(last.into_iter().map(|(path, _)| path.unwrap()).collect::<Vec<_>>(), ["d"]);
        let endless = format!("{{\"path\": \"{}\", ", "p".repeat(2 * LONGEST));
        assert!(told("edit", &endless, 5).iter().all(|(path, _)| path.is_none()));
        assert!(Growing::new("c", "c", "bash").is_none());
    }
}
