//! What could be meant by the word at the caret (autocomplete popup): asks as somebody types, keeps the answer to the last question
//! only, and says what is to be put where. Knows what a candidate looks like and does, not what it means.

mod draw;

#[cfg(test)]
mod tests;

use std::ops::Range;

use zdx_protocol::Query;
use zdx_protocol::query::{Candidate, Completions, Then};

use crate::key::{Key, KeyCode};

/// How often more is asked for while the engine still looks: it takes its time for each answer.
const MOST_AGAIN: usize = 20;
/// Rows that are shown at most.
pub(crate) const MOST_ROWS: usize = 8;

/// The number of a question. An answer to an older one is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation(u64);

/// What becomes of a key or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The popup took the key; the text stays.
    Nothing,
    /// Goes into the text, which is then asked about anew.
    Text { replace: Range<usize>, text: String },
    /// Goes into the text, and the text is sent.
    Send { replace: Range<usize>, text: String },
}

/// What an answer leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answered {
    /// Tab was pressed before it came.
    pub chosen: Option<Chosen>,
    /// More may be known by now: to be asked at once.
    pub again: Option<(Generation, Query)>,
}

#[derive(Debug, Default)]
pub(crate) struct Popup {
    generation: Generation,
    asked: Option<Asked>,
    found: Completions,
    /// `found` belongs to the text as it is now.
    fresh: bool,
    selected: usize,
    /// Somebody chose a row, not just saw the first.
    moved: bool,
    /// A folder was put in: what is in it is offered, and Enter does not mean it.
    folder: Folder,
    /// The word that was left with Esc.
    closed: Option<Word>,
    /// A command line for the shell: Tab asked, and Enter runs what stands there.
    shell: bool,
}

/// How a folder came to stand before the caret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Folder {
    /// It was typed, or there is none.
    #[default]
    Typed,
    /// It is being put in.
    Chosen,
    /// It was put in, and nothing was typed since.
    Stands,
}

#[derive(Debug)]
struct Asked {
    line: String,
    cursor: usize,
    /// Tab was pressed since.
    tab: bool,
    again: usize,
}

/// Where a word begins, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    start: usize,
    mark: char,
}

impl Popup {
    /// To be called whenever text or caret changed. A question for the engine, where there is something to complete.
    pub(crate) fn ask(&mut self, line: &str, cursor: usize) -> Option<(Generation, Query)> {
        let word = line.get(..cursor).and_then(word);
        if word.is_none() || self.closed.is_some() && self.closed != word {
            self.closed = None;
        }
        if word.is_none() || self.closed.is_some() {
            self.clear();
            return None;
        }
        if self.fresh
            && self.asked.as_ref().is_some_and(|asked| (asked.line.as_str(), asked.cursor) == (line, cursor))
        {
            return None;
        }
        self.folder = if self.folder == Folder::Chosen { Folder::Stands } else { Folder::Typed };
        self.asked = Some(Asked { line: line.to_owned(), cursor, tab: false, again: 0 });
        // What was found stays in sight until there is something better, but is not taken any more.
        (self.fresh, self.moved) = (false, false);
        self.question()
    }

    /// Tab in a command line for the shell, where nothing is offered as one types.
    pub(crate) fn ask_shell(&mut self, line: &str, cursor: usize) -> Option<(Generation, Query)> {
        self.clear();
        self.asked = Some(Asked { line: line.to_owned(), cursor, tab: true, again: 0 });
        self.shell = true;
        self.question()
    }

    fn question(&mut self) -> Option<(Generation, Query)> {
        let asked = self.asked.as_ref()?;
        self.generation.0 += 1;
        Some((self.generation, Query::Completions { line: asked.line.clone(), cursor: asked.cursor }))
    }

    /// The engine's answer; nothing comes of one to an older question.
    pub(crate) fn answer(&mut self, generation: Generation, mut found: Completions) -> Answered {
        let Some(asked) = self.asked.as_mut().filter(|_| generation == self.generation) else {
            return Answered::default();
        };
        // A folder that stands there already leads nowhere; what is in it does.
        if let Some(typed) = asked.line.get(found.replace.clone())
            && found.candidates.len() > 1
        {
            found.candidates.retain(|one| one.then != Then::Part || one.text != typed);
        }
        let (tab, more) = (std::mem::take(&mut asked.tab), found.timed_out && asked.again < MOST_AGAIN);
        asked.again += 1;
        // Who chose a row keeps it when more come.
        let kept = self.moved.then(|| self.found.candidates.get(self.selected).cloned()).flatten();
        let place = |kept: Candidate| found.candidates.iter().position(|one| one.text == kept.text);
        let place = kept.and_then(place);
        (self.moved, self.selected) = (place.is_some(), place.unwrap_or_default());
        (self.found, self.fresh) = (found, true);
        // Of several files the shell's word is completed as far as they agree; then they are listed.
        let listed = self.shell && self.found.candidates.len() > 1 && self.common().is_none();
        let chosen = if tab && self.is_open() && !listed { self.tab() } else { None };
        Answered { again: if more && chosen.is_none() { self.question() } else { None }, chosen }
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.found.candidates.is_empty()
    }

    /// Whether Tab may complete the word at the caret: something is offered, asked for, or could be.
    pub(crate) fn may_complete(&self, line: &str, cursor: usize) -> bool {
        if self.is_open() || self.asked.is_some() && !self.fresh {
            return true;
        }
        let word = line.get(..cursor).and_then(word);
        word.is_some() && self.closed != word && self.is_unasked()
    }

    /// Whether nothing was asked about the word at the caret.
    pub(crate) fn is_unasked(&self) -> bool {
        self.asked.is_none()
    }

    /// Closed until the next word: a message was sent, or something else came up.
    pub(crate) fn clear(&mut self) {
        // No answer under way finds its question.
        self.generation.0 += 1;
        (self.asked, self.found) = (None, Completions::default());
        (self.fresh, self.moved, self.selected) = (false, false, 0);
        (self.folder, self.shell) = (Folder::Typed, false);
    }

    /// Nothing when the key is not for the popup.
    pub(crate) fn key(&mut self, key: Key) -> Option<Chosen> {
        let plain = !key.ctrl && !key.alt && !key.shift;
        if key.code == KeyCode::Tab && plain {
            // An answer that is still to come is waited for.
            return match &mut self.asked {
                Some(asked) if !self.fresh => {
                    asked.tab = true;
                    Some(Chosen::Nothing)
                }
                _ => self.tab(),
            };
        }
        if !self.is_open() {
            return None;
        }
        match key.code {
            KeyCode::Up if plain => self.step(false),
            KeyCode::Down if plain => self.step(true),
            KeyCode::Char('p') if key.ctrl && !key.alt => self.step(false),
            KeyCode::Char('n') if key.ctrl && !key.alt => self.step(true),
            KeyCode::Esc if plain => {
                self.closed = self.asked.as_ref().and_then(|asked| word(asked.line.get(..asked.cursor)?));
                self.clear();
                Some(Chosen::Nothing)
            }
            KeyCode::Enter if plain && self.fresh => self.enter(),
            KeyCode::Char(_)
            | KeyCode::Enter
            | KeyCode::Tab
            | KeyCode::Backspace
            | KeyCode::Delete
            | KeyCode::Esc
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Insert
            | KeyCode::F(_) => None,
        }
    }

    fn step(&mut self, down: bool) -> Option<Chosen> {
        let rows = self.found.candidates.len();
        self.selected = if down { (self.selected + 1) % rows } else { (self.selected + rows - 1) % rows };
        self.moved = true;
        Some(Chosen::Nothing)
    }

    /// What all have in common that begin like this, and only then one of them.
    fn tab(&mut self) -> Option<Chosen> {
        if !self.moved
            && let Some(text) = self.common()
        {
            let folder = self.found.candidates.iter().any(|one| one.then == Then::Part && one.text == text);
            self.folder = if folder { Folder::Chosen } else { Folder::Typed };
            return Some(Chosen::Text { replace: self.found.replace.clone(), text });
        }
        self.take(false)
    }

    /// What several have in common that begin as it is typed, where that is more.
    fn common(&self) -> Option<String> {
        let typed = self.typed()?;
        let all = self.found.candidates.iter().map(|candidate| candidate.text.as_str());
        let alike: Vec<&str> = all.filter(|text| text.starts_with(typed)).collect();
        let common = alike.iter().copied().reduce(common)?;
        (alike.len() > 1 && common.len() > typed.len()).then(|| common.to_owned())
    }

    /// A command that needs nothing more is sent when it is meant for sure; anything else is put in. What is typed out already
    /// is only sent.
    fn enter(&mut self) -> Option<Chosen> {
        let chosen = self.found.candidates.get(self.selected)?;
        let typed = self.typed()?;
        let whole = typed == chosen.text && chosen.then != Then::Line || !self.moved && self.is_folder();
        // Nothing typed and no row chosen: `/model ` and Enter ask for the list.
        if whole || !self.moved && (typed.is_empty() || self.shell || self.folder == Folder::Stands) {
            return None;
        }
        self.take(self.is_meant())
    }

    /// Whether a command that takes a folder has one behind it, typed out but for the slash.
    fn is_folder(&self) -> bool {
        let Some(typed) = self.typed().filter(|typed| !typed.is_empty()) else { return false };
        let before = self.asked.as_ref().and_then(|asked| asked.line.get(..asked.cursor));
        let argument = before.and_then(word).is_some_and(|word| word.mark == '/');
        let mut folders = self.found.candidates.iter();
        let stands = |one: &Candidate| one.text.strip_suffix('/') == Some(typed);
        argument && folders.clone().all(|one| one.then == Then::Part) && folders.any(stands)
    }

    /// Somebody chose the row, typed it out, or began it as nothing else begins. A guess by a few letters is not run unseen.
    fn is_meant(&self) -> bool {
        let (Some(typed), Some(chosen)) = (self.typed(), self.found.candidates.get(self.selected)) else {
            return false;
        };
        let begins = |one: &Candidate| {
            one.text.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed))
        };
        let only = begins(chosen) && self.found.candidates.iter().filter(|one| begins(one)).count() == 1;
        self.moved || only || chosen.text.eq_ignore_ascii_case(typed)
    }

    /// `send`: where nothing has to come behind it.
    fn take(&mut self, send: bool) -> Option<Chosen> {
        let chosen = self.found.candidates.get(self.selected)?.clone();
        let replace = self.found.replace.clone();
        let asked = self.asked.as_ref()?;
        let behind = asked.line.get(asked.cursor..).unwrap_or_default();
        let sent = send && chosen.then == Then::Line && behind.trim().is_empty();
        let spaced = behind.starts_with(char::is_whitespace);
        let text = match chosen.then {
            Then::Word if !spaced => chosen.text + " ",
            Then::Line if !sent && !spaced => chosen.text + " ",
            Then::Part | Then::Word | Then::Line => chosen.text,
        };
        let folder = chosen.then == Then::Part;
        self.clear();
        if folder {
            self.folder = Folder::Chosen;
        }
        Some(if sent { Chosen::Send { replace, text } } else { Chosen::Text { replace, text } })
    }

    /// What stands where a candidate would.
    fn typed(&self) -> Option<&str> {
        self.asked.as_ref()?.line.get(self.found.replace.clone())
    }
}

/// Where the word begins that something could be offered for: a command that opens the text, or a mention.
fn word(before: &str) -> Option<Word> {
    let indent = before.len() - before.trim_start().len();
    if before[indent..].starts_with('/') && !before.contains('\n') {
        // Behind a command another thing can be offered than for its name.
        let rest = &before[indent..];
        let start = rest.rfind(char::is_whitespace).map_or(indent, |at| indent + at);
        if !rest[start - indent..].contains('@') {
            return Some(Word { start, mark: '/' });
        }
    }
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let start = line + before[line..].rfind('@')?;
    let name = &before[start + 1..];
    let open =
        name.strip_prefix("file:").unwrap_or(name).starts_with('"') || !name.contains(char::is_whitespace);
    // Not in an address; not every script puts blanks between words.
    let begins = before[..start].chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
    (open && begins).then_some(Word { start, mark: '@' })
}

fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let differs = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b);
    let end = differs.map_or(one.len().min(other.len()), |((at, _), _)| at);
    &one[..end]
}
