//! How it is to behave.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Default)]
pub struct Options {
    /// Further tools besides its own.
    pub tools: usize,
    /// Before it answers the handshake.
    pub sleep: Duration,
    /// It never answers the handshake.
    pub silent: bool,
    /// It writes what is no message.
    pub garbage: bool,
    /// Megabytes on stdout, in one line, before anything else; on stderr.
    pub flood: usize,
    pub shout: usize,
    /// It ends at once.
    pub exit: Option<i32>,
    /// It goes on when its stdin is closed.
    pub stays: bool,
    /// Its tools describe themselves otherwise.
    pub changed: bool,
    /// Where every line is noted that it was sent.
    pub log: Option<PathBuf>,
}

impl Options {
    pub fn read(mut words: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).expect("a number");
            match word.as_str() {
                "--tools" => options.tools = number(),
                "--sleep" => options.sleep = Duration::from_millis(number() as u64),
                "--silent" => options.silent = true,
                "--garbage" => options.garbage = true,
                "--flood" => options.flood = number(),
                "--shout" => options.shout = number(),
                "--exit" => options.exit = i32::try_from(number()).ok(),
                "--stays" => options.stays = true,
                "--changed" => options.changed = true,
                "--log" => options.log = words.next().map(PathBuf::from),
                other => panic!("unknown option {other}"),
            }
        }
        options
    }
}
