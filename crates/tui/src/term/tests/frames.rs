//! Single frames: what they show, and what they cost.

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};
use zdx_testkit::TerminalEmulator;

use crate::term::painter::Painter;
use crate::theme::Depth;

fn lines(text: &[&str]) -> Vec<Line<'static>> {
    text.iter().map(|line| Line::from((*line).to_owned())).collect()
}

fn terminal(rows: u16, columns: u16) -> TerminalEmulator {
    TerminalEmulator::new(rows, columns, 1_000)
}

struct Both {
    painter: Painter,
    screen: TerminalEmulator,
}

impl Both {
    fn new(columns: u16, rows: u16) -> Self {
        let mut painter = Painter::new(columns, rows, Depth::True, true);
        painter.synchronised = true;
        Self { painter, screen: terminal(rows, columns) }
    }

    fn frame(&mut self, history: &[&str], live: &[&str], cursor: Option<(u16, u16)>) -> String {
        self.lines(&lines(history), &lines(live), cursor)
    }

    fn lines(
        &mut self,
        history: &[Line<'static>],
        live: &[Line<'static>],
        cursor: Option<(u16, u16)>,
    ) -> String {
        let bytes = self.painter.frame(history, live, cursor);
        self.screen.process(&bytes);
        assert!(!String::from_utf8_lossy(&bytes).contains("2J"));
        String::from_utf8(bytes).unwrap()
    }

    fn shown(&self) -> Vec<String> {
        self.screen.screen().contents().lines().map(str::to_owned).collect()
    }
}

#[test]
fn nothing_new_costs_nothing() {
    let mut both = Both::new(40, 10);
    both.frame(&["hello"], &["tail", "> ", "status"], Some((2, 1)));
    assert_eq!(both.frame(&[], &["tail", "> ", "status"], Some((2, 1))), "");
    assert_eq!(both.shown(), ["hello", "tail", ">", "status"]);
    assert_eq!(both.screen.screen().cursor_position(), (2, 2));
}

/// A window that gets lower cuts off what is below the cursor first: see the painter.
#[test]
fn a_cursor_that_is_not_shown_stands_at_the_top_of_the_region() {
    let mut both = Both::new(40, 10);
    both.frame(&["hello"], &["may it?", "  y  yes", "▸ n  no", "status"], None);
    assert_eq!(both.shown(), ["hello", "may it?", "  y  yes", "▸ n  no", "status"]);
    assert_eq!(both.screen.screen().cursor_position(), (1, 0));
    both.frame(&["more"], &["> ", "status"], Some((2, 0)));
    assert_eq!(both.shown(), ["hello", "more", ">", "status"]);
}

#[test]
fn rows_that_only_move_up_are_moved_and_not_written_again() {
    let text: Vec<String> =
        (0..40).map(|n| format!("{n} {}", "some words of a long paragraph ".repeat(2))).collect();
    for (from, by) in [(0, 1), (3, 2), (5, 3)] {
        let mut both = Both::new(80, 24);
        let frame = |from: usize| -> Vec<&str> {
            let tail = text[from..from + 10].iter().map(String::as_str);
            ["doing this"].into_iter().chain(tail).chain(["", "> draft", "status"]).collect()
        };
        both.frame(&["before"], &frame(from), Some((7, 12)));
        let bytes = both.frame(&[], &frame(from + by), Some((7, 12)));
        assert!(bytes.len() < 60 + by * 80, "{} bytes: {bytes:?}", bytes.len());
        let shown: Vec<String> = frame(from + by).iter().map(|row| row.trim_end().to_owned()).collect();
        assert_eq!(both.shown()[1..], shown);
        assert_eq!(both.shown()[0], "before");
        assert_eq!(both.screen.screen().cursor_position(), (13, 7));
    }
}

#[test]
fn a_streaming_tail_costs_what_is_new_and_two_moves() {
    let mut both = Both::new(80, 24);
    let mut tail = String::from("The answer");
    let mut most = 0;
    both.frame(&["before"], &[&tail, "", "> ", "model · agent"], Some((2, 2)));
    for word in [" is", " to", " look", " at", " the", " file", " again", " 中文", " soon"] {
        tail.push_str(word);
        let cost = both.frame(&[], &[&tail, "", "> ", "model · agent"], Some((2, 2)));
        assert!(cost.contains(word.trim()), "{cost:?}");
        most = most.max(cost.len());
    }
    assert!(most <= 40, "{most} bytes");
    assert_eq!(both.shown()[1], tail);
}

#[test]
fn a_key_costs_itself() {
    let mut both = Both::new(80, 24);
    both.frame(&[], &["> a", "status"], Some((3, 0)));
    assert_eq!(both.frame(&[], &["> ab", "status"], Some((4, 0))), "\x1b[?7lb\x1b[?7h");
    assert_eq!(both.frame(&[], &["> a", "status"], Some((3, 0))), "\x1b[?7l\x08\x1b[K\x1b[?7h");
}

#[test]
fn what_settles_where_it_stands_is_not_written_again() {
    let mut both = Both::new(40, 10);
    both.frame(&[], &["one", "two", "> ", "status"], Some((2, 2)));
    assert_eq!(both.frame(&["one"], &["two", "> ", "status"], Some((2, 1))), "");
    // And at the bottom of the screen lines are inserted above, the region is not drawn again.
    for n in 0..20 {
        let cost = both.frame(&[&format!("line {n}")], &["two", "> ", "status"], Some((2, 1)));
        assert!(!cost.contains("status"), "{cost:?}");
    }
    assert_eq!(both.shown()[5..], ["line 18", "line 19", "two", ">", "status"]);
}

#[test]
fn a_region_that_shrinks_leaves_nothing_behind() {
    let mut both = Both::new(40, 10);
    both.frame(&["h"], &["a", "b", "c", "d", "> "], Some((2, 4)));
    both.frame(&[], &["a", "> "], Some((2, 1)));
    assert_eq!(both.shown(), ["h", "a", ">"]);
    both.frame(&["x"], &[], None);
    assert_eq!(both.shown(), ["h", "x"]);
    assert!(both.screen.screen().hide_cursor());
}

#[test]
fn styles_are_set_once_and_end_with_the_frame() {
    let mut both = Both::new(40, 10);
    let red = Style::new().fg(Color::Red).bold();
    let line = Line::from(vec![Span::styled("ab", red), Span::styled("cd", red), Span::raw(" x")]);
    let cost = both.lines(&[], &[line], None);
    assert_eq!(cost.matches("\x1b[1;31m").count(), 1, "{cost:?}");
    assert_eq!(cost.matches("\x1b[m").count(), 1, "{cost:?}");
    assert!(both.screen.screen().cell(0, 3).unwrap().bold());
    assert!(!both.screen.screen().cell(0, 5).unwrap().bold());
}

#[test]
fn colours_are_what_the_terminal_knows() {
    let line = || Line::from(Span::styled("x", Style::new().fg(Color::Rgb(250, 10, 10)).dim()));
    let code = |depth| {
        let bytes = Painter::new(40, 10, depth, true).frame(&[], &[line()], None);
        let text = String::from_utf8(bytes).unwrap();
        text.split_once('x').unwrap().0.rsplit_once('\x1b').unwrap().1.to_owned()
    };
    assert_eq!(code(Depth::True), "[2;38;2;250;10;10m");
    assert_eq!(code(Depth::Many), "[2;38;5;196m");
    assert_eq!(code(Depth::Sixteen), "[2;31m");
    assert_eq!(code(Depth::None), "[2m");
}

#[test]
fn what_follows_an_emoji_stands_where_it_belongs() {
    let mut both = Both::new(40, 10);
    // This terminal takes the family for six columns.
    both.frame(&[], &["a👨‍👩‍👧b·c⚠️d", "> "], Some((2, 1)));
    let screen = both.screen.screen();
    let at = |column| screen.cell(0, column).unwrap().contents().to_owned();
    assert_eq!((at(3), at(5), at(8)), ("b".into(), "c".into(), "d".into()));
    assert_eq!(screen.cursor_position(), (1, 2));
}

#[test]
fn wide_characters_give_way_as_a_whole() {
    let mut both = Both::new(10, 5);
    for text in ["中文字", "a中文b", "ab", "中b文", "xxxxxxxxxx", "xxxx中文xx", "中文字中文", ""]
    {
        both.frame(&[], &[text, "> "], Some((2, 1)));
        let first = both.screen.screen().rows(0, 10).next().unwrap();
        assert_eq!(first.trim_end(), text);
    }
}

#[test]
fn the_last_column_is_a_column_like_the_others() {
    let mut both = Both::new(10, 5);
    let full = "0123456789";
    for n in 0..12 {
        both.frame(&[full, &format!("line {n}")], &[full, full, "> "], Some((2, 2)));
    }
    assert_eq!(both.shown(), [full, "line 11", full, full, ">"]);
}

#[test]
fn a_terminal_without_inserted_lines_shows_the_same() {
    let mut screen = terminal(8, 20);
    let mut painter = Painter::new(20, 8, Depth::None, false);
    for n in 0..30 {
        let bytes =
            painter.frame(&lines(&[&format!("line {n}")]), &lines(&["tail", "> ", "status"]), Some((2, 1)));
        assert!(!bytes.contains(&b'L'));
        screen.process(&bytes);
    }
    let shown: Vec<String> = screen.screen().contents().lines().map(str::to_owned).collect();
    assert_eq!(shown[4..], ["line 29", "tail", ">", "status"]);
}

#[test]
fn a_large_frame_is_shown_at_once() {
    let mut both = Both::new(80, 24);
    let long = "x".repeat(80);
    let cost = both.frame(&[long.as_str(); 10], &["> "], Some((2, 0)));
    assert!(cost.starts_with("\x1b[?2026h") && cost.ends_with("\x1b[?2026l"));
}

/// Words one by one, wrapped and settled as they come, each drawn at once: the dearest way to stream.
#[test]
fn a_long_answer_costs_little_more_than_its_text() {
    let mut both = Both::new(80, 24);
    let (mut tail, mut total, mut text, deltas) = (String::new(), 0, 0, 5_000);
    for n in 0..deltas {
        let word = ["words ", "and ", "more, ", "code() ", "中文 "][n % 5];
        let settled = if tail.len() + word.len() > 76 { vec![std::mem::take(&mut tail)] } else { Vec::new() };
        tail.push_str(word);
        text += word.len();
        let settled: Vec<&str> = settled.iter().map(String::as_str).collect();
        total += both.frame(&settled, &[&tail, "", "> ", "model · agent · ask"], Some((2, 2))).len();
    }
    println!("{deltas} deltas of {} bytes: {} bytes each", text / deltas, total / deltas);
    assert!(total / deltas <= 50, "{}", total / deltas);
}

/// `cargo test -p zdx-tui --lib what_a_slow_stream_costs -- --ignored --nocapture`
#[test]
#[ignore = "prints how long things take"]
fn what_a_slow_stream_costs() {
    use crate::look::Look;
    use crate::write::markdown::Stream;
    use std::time::{Duration, Instant};

    let (theme, mut stream) = (crate::theme::Theme::new(Depth::True, false), Stream::default());
    let look = Look { width: 100, theme: &theme };
    let mut painter = Painter::new(100, 30, Depth::True, true);
    let below = lines(&["", "› describe a task", "writing 3 s · 120 out        fake/scripted · build"]);
    let (mut set, mut drawn, mut bytes) = (Duration::ZERO, Duration::ZERO, 0);
    for n in 0..200 {
        stream.push(&format!("word{n} "));
        let begun = Instant::now();
        let history = stream.settled(look);
        let mut live = stream.tail(look);
        live.drain(..live.len().saturating_sub(12));
        set += begun.elapsed();
        live.extend_from_slice(&below);
        let begun = Instant::now();
        bytes += painter.frame(&history, &live, Some((2, 0))).len();
        drawn += begun.elapsed();
    }
    eprintln!("set {set:?}, drawn {drawn:?}, {bytes} bytes");
}

#[test]
fn what_is_printed_for_good_leaves_no_blanks_behind_it() {
    let mut both = Both::new(40, 10);
    both.painter.keeps_blanks = true;
    let wide = "x".repeat(40);
    both.frame(&[], &["one", &wide, "> ", "status"], Some((2, 2)));
    both.frame(&[], &["one", "two", "> ", "status"], Some((2, 2)));
    // It stands there already, but the row was written to its end once.
    let bytes = both.frame(&["one", "two"], &["> ", "status"], Some((2, 0)));
    assert!(bytes.contains("\r\x1b[Ktwo") && !bytes.contains("one"), "{bytes:?}");
    assert_eq!(both.shown(), ["one", "two", ">", "status"]);
}

/// The terminal changed its size after it was read and before the frame came: the status row must not go on in the next one,
/// or the caret, and with it the whole region, would be a row lower than is known.
#[test]
fn a_frame_that_meets_a_narrower_terminal_leaves_all_rows_where_they_are() {
    let mut both = Both::new(100, 10);
    let status = "=".repeat(100);
    both.frame(&["hello"], &["> ", &status], Some((2, 0)));
    both.screen.set_size(10, 80);
    both.frame(&["go"], &["tail", "> ", &"-".repeat(100)], Some((2, 1)));
    assert_eq!(both.shown(), ["hello", "go", "tail", ">", &"-".repeat(80)]);
    assert_eq!(both.screen.screen().cursor_position(), (3, 2));
}

/// The same with one that got lower: no row of the region may be pushed out at the top.
#[test]
fn a_frame_that_meets_a_lower_terminal_leaves_no_copy_of_the_region() {
    let mut both = Both::new(40, 24);
    let live = ["tail", "> ", "status"];
    both.frame(&[], &live, Some((2, 1)));
    both.screen.set_size(14, 40);
    let history: Vec<String> = (0..18).map(|n| format!("line {n}")).collect();
    let history: Vec<&str> = history.iter().map(String::as_str).collect();
    both.frame(&history, &live, Some((2, 1)));
    both.screen.screen_mut().set_scrollback(7);
    assert_eq!(both.shown()[..8], history[..8]);
    both.screen.screen_mut().set_scrollback(0);
    assert_eq!(both.shown(), [&history[7..], &["tail", ">", "status"]].concat());
}

/// Rows below the caret may be gone from such a terminal: history that stood there already is written all the same.
#[test]
fn history_that_stood_in_a_question_is_in_a_lower_terminal_too() {
    let mut both = Both::new(40, 12);
    both.frame(&["hello"], &["- one", "+ two", "+ three", "may it?"], None);
    both.screen.set_size(3, 40);
    both.frame(&["- one", "+ two", "+ three"], &["> "], Some((2, 0)));
    both.screen.screen_mut().set_scrollback(2);
    assert_eq!(both.shown(), ["hello", "- one", "+ two"]);
    both.screen.screen_mut().set_scrollback(0);
    assert_eq!(both.shown(), ["+ two", "+ three", ">"]);
}
