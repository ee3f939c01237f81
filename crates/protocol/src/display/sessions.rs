//! A list of sessions, in columns.

use jiff::Timestamp;

use crate::query::SessionSummary;
use crate::typeset::format;
use crate::typeset::text::{one_line, truncate_width, width as columns};

/// Enough of a session's id to find it again.
const SHORT_ID: usize = 8;

pub fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// With a width, lines are cut to fit a screen and ids are short; without one everything is there.
pub fn table(
    sessions: &[SessionSummary],
    now: Timestamp,
    home: Option<&std::path::Path>,
    width: Option<usize>,
) -> String {
    let id = |session: &SessionSummary| match width {
        Some(_) => short_id(&session.id).to_owned(),
        None => session.id.clone(),
    };
    let row = |session: &SessionSummary| {
        let clean = |text: &str| one_line(text, usize::MAX);
        [
            format!("{}{}", if session.works_for.is_some() { "  " } else { "" }, id(session)),
            format::ago(session.when, now),
            format::size(session.bytes),
            session.root.as_deref().map_or("-".to_owned(), |root| folder(&format::path(root, home), width)),
            session.model.as_deref().map_or("-".to_owned(), clean),
            told(session),
        ]
    };
    let rows: Vec<_> = sessions.iter().map(row).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = columns(cell).max(*widest);
        }
    }
    let kept = kept(&widths, width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths).zip(kept).filter_map(|(cell, kept)| kept.then_some(cell))
        {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - columns(cell) + 2));
        }
        line.push_str(&row[5]);
        text.push_str(&truncate_width(line.trim_end(), width.unwrap_or(usize::MAX)));
        text.push('\n');
    }
    text
}

/// Which columns stand before what was said, by which a person knows a session: model, size and folder make room for it, in
/// this order.
fn kept(widths: &[usize; 5], width: Option<usize>) -> [bool; 5] {
    const LEAST: usize = 24;
    const GIVE_WAY: [usize; 3] = [4, 2, 3];
    let mut kept = [true; 5];
    for column in GIVE_WAY {
        let taken: usize =
            widths.iter().zip(kept).filter(|(_, kept)| *kept).map(|(width, _)| width + 2).sum();
        kept[column] = width.is_none_or(|width| taken + LEAST <= width);
    }
    kept
}

/// On a screen no more than a quarter of it: the end of a path tells folders apart, and what was said needs the room.
fn folder(path: &str, width: Option<usize>) -> String {
    let most = width.map_or(usize::MAX, |width| (width / 4).max(12));
    let mut kept = path;
    while columns(kept) >= most
        && let Some(first) = kept.chars().next()
    {
        kept = &kept[first.len_utf8()..];
    }
    if columns(path) <= most { path.to_owned() } else { format!("…{kept}") }
}

/// What it began with, behind what is wrong with it, who has it and what kind it is.
pub fn told(session: &SessionSummary) -> String {
    let prompt = session.first_prompt.as_deref().map(|prompt| one_line(prompt, usize::MAX));
    let fault = session.fault.as_ref().map(|fault| format!("({fault})"));
    let kind = session.one_prompt.then(|| "(exec)".to_owned());
    let in_use = session.in_use.then(|| "(open in another zdx)".to_owned());
    fault.into_iter().chain(in_use).chain(kind).chain(prompt).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn session(prompt: &str) -> SessionSummary {
        SessionSummary {
            id: "550e8400-e29b-41d4-a716-446655440000".to_owned(),
            when: Timestamp::from_second(1_000).unwrap(),
            bytes: 2_048,
            root: Some("/home/me/项目".into()),
            model: None,
            works_for: None,
            one_prompt: false,
            in_use: false,
            fault: None,
            first_prompt: Some(prompt.into()),
        }
    }

    #[test]
    fn a_screen_gets_short_lines_and_a_pipe_gets_everything() {
        let sessions = [session("hello\x1b[2J world"), session("x")];
        let now = Timestamp::from_second(1_000 + 7_200).unwrap();
        let home = Some(Path::new("/home/me"));
        assert_eq!(
            table(&sessions[..1], now, home, Some(42)),
            "550e8400  2 h ago  hello world\n",
            "what it is known by goes first"
        );
        let far = SessionSummary { root: Some("/srv/a/very/long/way/项目/app".into()), ..session("x") };
        assert_eq!(table(&[far], now, home, Some(60)), "550e8400  2 h ago  …g/way/项目/app  x\n");
        let piped = table(&sessions, now, home, None);
        assert!(piped.starts_with("550e8400-e29b-41d4-a716-446655440000  2 h ago  2.0 kB  ~/项目  -  hello"));
        assert!(!piped.contains('\x1b'));
        assert!(piped.lines().nth(1).unwrap().ends_with("-  x"));
    }
}
