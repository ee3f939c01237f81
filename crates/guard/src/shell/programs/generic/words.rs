//! How a call of a program is worded in a reason. Decides nothing.

use zdx_protocol::display::format::count;

use crate::shell::programs::options::{Call, Found};
use crate::shell::programs::table::Files;
use crate::shell::syntax::word::Arg;

/// So many options are named.
const MOST: usize = 4;
/// Longer names than these, together, are counted.
const NAMED: usize = 60;

/// What a listed command does to what, in words.
pub(super) fn listed_words(call: &Call<'_>) -> String {
    let skip = usize::from(call.row.files == Files::Mode);
    let files: Vec<&Arg> = call.operands.iter().skip(skip).filter(|_| call.row.special.is_none()).collect();
    let (name, why) = (call.name, call.row.why);
    match files.as_slice() {
        _ if files.iter().any(|file| file.has_unknown()) => {
            format!("{name} {why} files that are not known before it runs")
        }
        [] => format!("{name} {why} files"),
        // A shell knows no files from folders, and neither do these words.
        [rest @ .., last] => {
            match rest.iter().map(|file| file.text.as_str()).collect::<Vec<_>>().join(", ") {
                rest if rest.len() + last.text.len() > NAMED => {
                    format!("{name} {why} {}", count(files.len(), "path"))
                }
                rest if rest.is_empty() => format!("{name} {why} {}", last.text),
                rest => format!("{name} {why} {rest} and {}", last.text),
            }
        }
    }
}

/// All of them: the one that matters need not be the first.
pub(super) fn not_known(options: &[Arg]) -> String {
    let named = options.iter().take(MOST).map(|option| option.text.as_str()).collect::<Vec<_>>().join(", ");
    match options.len() {
        1 => format!("the option {named} is not known"),
        ..=MOST => format!("the options {named} are not known"),
        all => format!("the options {named} and {} more are not known", all - MOST),
    }
}

pub(super) fn spelled(found: &Found) -> String {
    match (found.option.long, found.option.short) {
        (Some(long), _) => format!("--{long}"),
        (None, short) => format!("-{}", short.unwrap_or('?')),
    }
}
