//! What a command reads when that is known from the text: literal text through a pipe, a here-document.
//! Only knows commands that print their arguments and nothing else.

use brush_parser::ast;

use crate::limits::MAX_EXPANDED;
use crate::shell::syntax::word::{self, Arg, Effects};
use crate::shell::walk::Walker;
use crate::shell::walk::names::Names;

/// Standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// What tools get: `/dev/null`.
    Nothing,
    Text(String),
    Names(Names),
    Unknown,
}

impl Walker<'_> {
    /// What the next command of a pipe reads.
    pub(crate) fn output_of(&self, command: &ast::Command, before: &Stdin) -> Stdin {
        match command {
            ast::Command::Simple(simple) => match self.prints_names(command, before) {
                Some(names) => Stdin::Names(names),
                None => self.printed_text(simple).map_or(Stdin::Unknown, Stdin::Text),
            },
            ast::Command::Compound(..) | ast::Command::Function(_) | ast::Command::ExtendedTest(..) => {
                Stdin::Unknown
            }
        }
    }

    /// The exact output of a command that only prints literal text.
    fn printed_text(&self, simple: &ast::SimpleCommand) -> Option<String> {
        if simple.prefix.is_some() {
            return None;
        }
        let mut words = Vec::new();
        let mut body = None;
        let name = simple.word_or_name.as_ref()?;
        let items = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut raws = vec![name.value.as_str()];
        for item in items {
            match item {
                ast::CommandPrefixOrSuffixItem::Word(word)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    raws.push(&word.value);
                }
                ast::CommandPrefixOrSuffixItem::IoRedirect(ast::IoRedirect::HereDocument(
                    None | Some(0),
                    doc,
                )) if body.is_none()
                    && (!doc.requires_expansion || !doc.doc.value.contains(['$', '`', '\\'])) =>
                {
                    body = Some(doc.doc.value.clone());
                }
                ast::CommandPrefixOrSuffixItem::IoRedirect(_)
                | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => return None,
            }
        }
        for raw in raws {
            let mut effects = Effects::default();
            for arg in word::evaluate(raw, self, &mut effects).ok()? {
                words.push(arg.known().filter(|_| !arg.braced)?.to_owned());
            }
        }
        let (name, arguments) = words.split_first()?;
        if self.is_shadowed(name) {
            return None;
        }
        match (name.as_str(), body) {
            ("cat", Some(body)) if arguments.is_empty() || arguments == ["-"] => Some(body),
            ("echo", None) => echo(arguments),
            ("printf", None) => printf(arguments),
            _ => None,
        }
        .filter(|text| self.budget.spend(text.len()))
    }

    /// Another meaning was given to this name in the script.
    pub(crate) fn is_shadowed(&self, name: &str) -> bool {
        self.facts.functions.contains(name)
            || self.found.functions.contains(name)
            || self.facts.aliases.contains_key(name)
            || self.found.aliases.contains_key(name)
    }

    /// The text that a substitution yields when it only prints literals: `$(cat <<'E' …)`.
    pub(crate) fn printed_by(&self, script: &str) -> Option<String> {
        let program = self.parse(script).ok()?;
        let [list] = program.complete_commands.as_slice() else { return None };
        let [ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)] = list.0.as_slice() else {
            return None;
        };
        if !and_or.additional.is_empty() || and_or.first.bang {
            return None;
        }
        match and_or.first.seq.as_slice() {
            [ast::Command::Simple(simple)] => self.printed_text(simple),
            _ => None,
        }
    }
}

/// Shells differ on backslashes in `echo`: such text is not known.
fn echo(arguments: &[String]) -> Option<String> {
    let (newline, words) = match arguments.split_first() {
        Some((first, rest)) if first == "-n" => (false, rest),
        _ => (true, arguments),
    };
    if words.iter().any(|word| word.contains('\\')) || words.first().is_some_and(|word| word.starts_with('-'))
    {
        return None;
    }
    let mut text = words.join(" ");
    if newline {
        text.push('\n');
    }
    Some(text)
}

/// Formats without conversions, and `%s` with its arguments.
fn printf(arguments: &[String]) -> Option<String> {
    let (format, values) = arguments.split_first()?;
    let format = format.replace("\\n", "\n");
    if format.contains('\\') || format.starts_with('-') {
        return None;
    }
    if values.is_empty() {
        return (!format.contains('%')).then_some(format);
    }
    let (before, after) = format.split_once("%s")?;
    if before.contains('%') || after.contains('%') {
        return None;
    }
    let around = (before.len() + after.len()) * values.len();
    let whole = around + values.iter().map(String::len).sum::<usize>();
    (whole <= MAX_EXPANDED).then(|| values.iter().map(|value| format!("{before}{value}{after}")).collect())
}

/// An argument list as one script text, for what hands its arguments to a shell.
pub(crate) fn joined(args: &[Arg]) -> Option<String> {
    let words: Option<Vec<&str>> = args.iter().map(Arg::known).collect();
    words.map(|words| words.join(" "))
}
