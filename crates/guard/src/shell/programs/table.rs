//! What is known of programs: one row each, in the text files of `table/`. Nothing about programs is written anywhere
//! else, but for the few whose words need a function of their own (`special`).
//!
//! A row: `name, alias … | words "why"`, and below it, indented, its options. A subcommand is a row of its own
//! (`git push`). The words: a floor (`forbidden listed destructive helper secret`), what happens to operands (`files=…`), what it
//! runs (`wraps=… scans=…`: the rest, or some word, is a command), [`WORDS`], `special=…`. `subs`: the first operand is a
//! subcommand. An option: `-x`, `-xyz` (three flags), `-o/--output=write` (a value, and what
//! it does), `--stat?` (a value if attached), `--arg==` (two values), `-f:destroys` (a flag with an effect), `-#` (digits).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::pattern::{among, glob};

/// An enum whose values the table gives by a word.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$meta])*
        pub(crate) enum $name { $($(#[$doc])* $value,)* }

        impl $name {
            fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$value),)*
                    _ => None,
                }
            }
        }
    };
}

/// What holds for a program whatever its words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Floor {
    None,
    Forbidden,
    /// On the mandatory list.
    Listed,
    Destructive,
    /// Runs what its options or settings name.
    Helper,
    /// Shows somebody's keys.
    Secret,
}

named! {
    /// What its operands are, and what happens to them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Files {
        /// A path only where it looks like one: the rest is not known.
        Loose = "loose",
        None = "none",
        Read = "read",
        /// The first one is a pattern.
        Pattern = "pattern",
        /// The first is read, what follows are patterns.
        First = "first",
        /// The second is written.
        Second = "second",
        Write = "write",
        Alter = "alter",
        Folders = "folders",
        /// Read, and changed in a way that only matters for protected names.
        Protects = "protects",
        Remove = "remove",
        /// The first is a mode or an owner.
        Mode = "mode",
        /// Changed; a device among them is forbidden.
        Device = "device",
        /// Formats that begin with a plus; anything else sets the clock.
        Plus = "plus",
        /// Sets something of the machine.
        Sets = "sets",
        /// Revisions and paths of a repository.
        Git = "git",
        /// The same behind a pattern.
        GitPattern = "gitpattern",
        /// Names of references: with any, one is made.
        GitCreate = "gitcreate",
    }
}

named! {
    /// What an option does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    OptionEffect {
        None = "",
        /// It prints names of files, and only these.
        Names = "names",
        /// What it prints is not, or no longer, whole names.
        Shapes = "shapes",
        /// It comes across hidden names too.
        Hidden = "hidden",
        /// Cancels the floor of the row: it only shows what it would do.
        Spares = "spares",
        /// The pattern, so that no operand is.
        Pattern = "pattern",
        PatternFile = "patternfile",
        Read = "read",
        /// The second of two values is a file that is read.
        ReadsSecond = "reads2",
        Chdir = "chdir",
        /// Read, and it names more to be read.
        More = "more",
        /// A format of git's, which may name a helper.
        Format = "format",
        /// Follows links, wherever they lead.
        Links = "links",
        /// Looks at files outside of any repository.
        Outside = "outside",
        /// Changes something small.
        Unproven = "unproven",
        /// Operands are changed in place.
        InPlace = "inplace",
        Alter = "alter",
        Log = "log",
        Write = "write",
        /// Runs a configured helper.
        Helper = "helper",
        /// A setting `key=value` of git or cargo.
        Config = "config",
        Cargo = "cargo",
        /// A method of HTTP, one of which deletes.
        Method = "method",
        /// A file of code to run.
        Code = "code",
        /// Shell text, a debugger's command, words of a command.
        Shell = "shell",
        Debugger = "debugger",
        Command = "command",
        /// Chooses a program or code to run.
        Program = "program",
        Sets = "sets",
        Destroys = "destroys",
        /// The same, whatever spares.
        Insists = "insists",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    One,
    Two,
    /// Only when it is attached.
    Maybe,
}

#[derive(Clone, Debug)]
pub(crate) struct Opt {
    pub short: Option<char>,
    pub long: Option<&'static str>,
    pub takes: Takes,
    pub effect: OptionEffect,
}

impl Opt {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.long == Some(name) || self.short.is_some_and(|c| name.chars().eq([c]))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    pub floor: Floor,
    pub files: Files,
    /// The rest of the words, behind so many operands, is a command.
    pub wraps: Option<usize>,
    /// A command stands somewhere behind so many words.
    pub scans: Option<usize>,
    pub special: Option<&'static str>,
    /// Words that make it final: `delete`.
    pub finals: Vec<&'static str>,
    /// Words that make it show somebody's keys: `secrets`.
    pub secrets: Vec<&'static str>,
    pub digits: bool,
    pub why: &'static str,
    pub options: Vec<Opt>,
    flags: Vec<&'static str>,
}

impl Row {
    /// Does one of [`WORDS`] stand in the row?
    pub(crate) fn is(&self, word: &str) -> bool {
        debug_assert!(among(WORDS, word), "{word}");
        self.flags.contains(&word)
    }

    /// Runs a command of its words' choice.
    pub(crate) fn runs(&self) -> bool {
        self.wraps.is_some() || self.scans.is_some()
    }

    /// Options end where the first operand stands.
    pub(crate) fn stops_at_operand(&self) -> bool {
        const STOP: &[&str] =
            &["env", "exec", "command", "xargs", "watch", "flock", "script", "parallel", "multicall"];
        self.wraps.is_some() || self.is("subs") || self.special.is_some_and(|name| STOP.contains(&name))
    }

    /// The worst that any of its options does.
    pub(crate) fn worst(&self) -> OptionEffect {
        self.options.iter().map(|option| option.effect).max().unwrap_or(OptionEffect::None)
    }
}

/// What else a row may say, besides a floor and words with a value.
///
/// `reads`: without bad options it provably only reads; `gitreads`: the same where the repository's settings run nothing.
/// `open`: options that are not listed are many, so who
/// allowed the program allowed these too; but never does it pass with one by itself. `words`: what
/// begins with a dash is its text or its expression, no option. `single`: long options have one dash. `project`: it runs
/// what files of the project say. `compiles`: what it writes is made from a source. `transparent`: what it wraps runs
/// unchanged, so an allowing pattern may look through. `assigns`: assignments stand before the command. `logs`, `root`: the
/// operand before the command is a file it writes, or the folder it runs in. `shell`: without a command it starts a shell.
/// `stops`: some of its words stop the machine. `here`: it writes where it runs. `bare`: without any word it only shows.
/// `input=perhaps`: its input may be a script; `input=orders`: it takes orders from it, some of which run programs.
/// `environment`: it shows the environment, where keys are; `sends`: what it is given goes to another machine. `names`: it prints numbers, or words of its own; `files`: names
/// of files, as they lie; `lists`: with some option it does; `visible`: without some option no hidden ones; `filters`: lines
/// as it reads them. `fetches`: what it prints comes from another machine. `unpacks`: it
/// makes files of what it reads.
pub(crate) const WORDS: &str = "reads gitreads open single project compiles transparent assigns logs root shell stops here bare \
    input=perhaps input=orders environment sends subs names files visible lists words filters fetches \
    unpacks";

/// All rows, by every name they have.
struct Table {
    rows: Vec<Row>,
    names: HashMap<&'static str, usize>,
    /// `mkfs.*`
    prefixes: Vec<(&'static str, usize)>,
}

pub(crate) const SOURCES: &[&str] = &[
    include_str!("table/files.txt"),
    include_str!("table/git.txt"),
    include_str!("table/run.txt"),
    include_str!("table/system.txt"),
    include_str!("table/tools.txt"),
];

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { rows: Vec::new(), names: HashMap::new(), prefixes: Vec::new() };
    for source in SOURCES {
        for (names, row) in rows(source) {
            let index = table.rows.len();
            for name in names {
                match name.strip_suffix('*') {
                    Some(prefix) => table.prefixes.push((prefix, index)),
                    None => {
                        table.names.insert(name, index);
                    }
                }
            }
            table.rows.push(row);
        }
    }
    let groups: HashMap<&str, Vec<Opt>> = table
        .rows
        .iter()
        .filter(|row| row.name.starts_with(':'))
        .map(|row| (row.name, row.options.clone()))
        .collect();
    for row in &mut table.rows {
        let used: Vec<&str> = row.flags.iter().filter_map(|flag| flag.strip_prefix("use=")).collect();
        for group in used.iter().flat_map(|names| names.split(',')) {
            row.options.extend(groups.get(group).cloned().unwrap_or_default());
        }
        row.digits |= used.iter().any(|names| names.contains(":gitdiff"));
    }
    table
});

/// Any program that nobody wrote a row for.
static ANY: LazyLock<Row> = LazyLock::new(|| {
    let mut row = parse_row("*", "open files=loose");
    for option in [
        "--output=write --out=write --outfile=write --output-file=write --output-document=write --log-file=write",
        "--logfile=write --dump-header=write --cookie-jar=write --trace=write --trace-ascii=write --stderr=write",
        "--append-output=write --report=write --save=write --help --version",
    ] {
        options(&mut row, option);
    }
    row
});

/// The row of a program, by the lower-case name that runs it.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    let table = &*TABLE;
    let at = |name: &str| table.names.get(name).map(|index| &table.rows[*index]);
    let prefixed =
        || table.prefixes.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, at)| &table.rows[*at]);
    // `python3.12` is python.
    let versioned = || {
        at(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
            .filter(|row| row.special == Some("interpreter"))
    };
    at(name).filter(|row| !row.name.contains(' ') || name.contains(' ')).or_else(prefixed).or_else(versioned)
}

/// The row of a subcommand.
pub(crate) fn subcommand(parent: &Row, word: &str) -> Option<&'static Row> {
    TABLE.names.get(format!("{} {word}", parent.name).as_str()).map(|index| &TABLE.rows[*index])
}

/// The worst that any subcommand of it is or does.
pub(crate) fn worst_subcommand(parent: &Row) -> bool {
    let prefix = format!("{} ", parent.name);
    TABLE.rows.iter().filter(|row| row.name.starts_with(&prefix)).any(|row| {
        row.floor != Floor::None || row.runs() || row.worst() >= OptionEffect::Shell || row.special.is_some()
    })
}

/// What holds for programs and options that no row knows.
pub(crate) fn any() -> &'static Row {
    &ANY
}

pub(crate) fn is_listed(name: &str) -> bool {
    row(name).is_some_and(|row| row.floor == Floor::Listed)
}

pub(crate) fn is_forbidden(name: &str) -> bool {
    row(name).is_some_and(|row| row.floor == Floor::Forbidden)
}

pub(crate) fn is_shell(name: &str) -> bool {
    row(name).is_some_and(|row| row.special == Some("shell"))
}

/// Is this word among them?
pub(crate) fn fits(patterns: &[&str], word: &str) -> bool {
    patterns.iter().any(|pattern| glob(pattern, word))
}

fn rows(source: &'static str) -> Vec<(Vec<&'static str>, Row)> {
    let mut out: Vec<(Vec<&'static str>, Row)> = Vec::new();
    for line in source.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match (line.strip_prefix("  "), out.last_mut()) {
            (Some(text), Some((_, row))) => options(row, text),
            _ => {
                let (names, words) = line.split_once(" | ").unwrap_or((line, "listed"));
                let names: Vec<&str> = names.split(", ").collect();
                out.push((names.clone(), parse_row(names[0], words)));
            }
        }
    }
    out
}

fn parse_row(name: &'static str, words: &'static str) -> Row {
    let (words, why) =
        words.split_once('"').map_or((words, ""), |(words, why)| (words, why.trim_end_matches('"')));
    let flags: Vec<&'static str> = words.split_whitespace().collect();
    let value = |key: &str| flags.iter().find_map(|flag| flag.strip_prefix(key)?.strip_prefix('='));
    let number = |key: &str, bare: usize| match value(key) {
        Some(text) => text.parse().ok(),
        None => flags.contains(&key).then_some(bare),
    };
    let floors = [
        ("forbidden", Floor::Forbidden),
        ("listed", Floor::Listed),
        ("destructive", Floor::Destructive),
        ("helper", Floor::Helper),
        ("secret", Floor::Secret),
    ];
    Row {
        name,
        floor: floors.iter().find(|(word, _)| flags.contains(word)).map_or(Floor::None, |(_, floor)| *floor),
        files: value("files").and_then(Files::named).unwrap_or(Files::Loose),
        wraps: number("wraps", 0),
        scans: number("scans", 1),
        special: value("special"),
        finals: value("finals").map(|list| list.split(',').collect()).unwrap_or_default(),
        secrets: value("secrets").map(|list| list.split(',').collect()).unwrap_or_default(),
        digits: false,
        why,
        options: Vec::new(),
        flags,
    }
}

fn options(row: &mut Row, text: &'static str) {
    for token in text.split_whitespace() {
        if token == "-#" {
            row.digits = true;
            continue;
        }
        let end = token.find(['=', '?', ':']).unwrap_or(token.len());
        let (spelling, tail) = token.split_at(end);
        let (takes, word) = match tail.split_at(usize::from(!tail.is_empty())) {
            ("=", word) if word.starts_with('=') => (Takes::Two, &word[1..]),
            ("=", word) => (Takes::One, word),
            ("?", word) => (Takes::Maybe, word),
            (_, word) => (Takes::Nothing, word),
        };
        // A word that nobody knows is the worst; a test finds it.
        let effect = OptionEffect::named(word).unwrap_or(OptionEffect::Insists);
        let (mut short, mut long) = (None, None);
        for name in spelling.split('/') {
            match name.strip_prefix("--") {
                Some(name) => long = Some(name),
                None if name.chars().count() == 2 => short = name.chars().nth(1),
                None => {
                    let each = |c| Opt { short: Some(c), long: None, takes, effect };
                    row.options.extend(name.chars().skip(1).map(each));
                }
            }
        }
        if short.is_some() || long.is_some() {
            row.options.push(Opt { short, long, takes, effect });
        }
    }
}

#[cfg(test)]
mod tests;
