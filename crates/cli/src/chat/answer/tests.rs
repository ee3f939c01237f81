use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

const CASES: u32 = 4000;

fn parse(line: &str) -> Option<char> {
    match line {
        "" | "y" | "yes" => Some('y'),
        "n" | "no" => Some('n'),
        _ => None,
    }
}

#[test]
fn an_early_choice_is_dropped_and_everything_else_is_kept() {
    for (before, typed, early, kept) in [
        ("", "y", true, ""),
        ("", "yes\r", true, ""),
        ("", "\r", false, ""),
        ("", "y\ry", false, "y"),
        ("", "you", false, "you"),
        ("then ", "y", false, "then y"),
    ] {
        let mut ahead = Ahead::default();
        ahead.keep(before.as_bytes());
        assert_eq!(keep_early(typed.as_bytes(), &mut ahead, &parse), early, "{typed:?}");
        assert_eq!(ahead.begun(), kept, "{typed:?}");
    }
}

/// The answer of a line that stands there as `begun`, and is typed on in these bursts.
fn answer(begun: &str, bursts: &[&str]) -> Option<char> {
    let mut line = LineReader::new(begun);
    for burst in bursts {
        if let LineStep::Line(line) = line.feed(burst.as_bytes()) {
            return answer_of(&line, &parse);
        }
    }
    None
}

#[test]
fn only_a_line_begun_after_the_pause_answers() {
    for (begun, bursts, expected) in [
        ("", &["y\r"][..], Some('y')),
        ("", &[" ", "n", "o", " \r"], Some('n')),
        ("", &["\r"], Some('y')),
        ("", &["yes please\r"], None),
        ("", &["y\x1b\r", "\r"], None),
        ("ye", &["s\r"], None),
        ("ys", &["\x7f", "es\r"], None),
        ("no", &["\x7f", "\x7f\x7f", "n\r"], Some('n')),
        // Nobody saw that it was empty.
        ("no", &["\x15n\r"], None),
        ("then remove it", &["\x15", "\r"], Some('y')),
        ("then remove it", &["\x7f\r"], None),
    ] {
        assert_eq!(answer(begun, bursts), expected, "{begun:?} {bursts:?}");
    }
}

#[test]
fn input_ends_only_in_an_empty_line() {
    assert!(matches!(LineReader::new("").feed(b"\x04"), LineStep::End));
    let mut line = LineReader::new("a");
    assert!(matches!(line.feed(b"\x04"), LineStep::More));
    line.feed(b"\x7f");
    assert!(matches!(line.feed(b"\x04"), LineStep::End));
}

/// A burst of bytes, and the time since the one before.
fn burst() -> impl Strategy<Value = (String, u64)> {
    let typed = prop_oneof![
        6 => "[yno e]{1,2}",
        3 => Just("\r".to_owned()),
        2 => Just("\x7f".to_owned()),
        1 => prop::sample::select(vec!["\x15", "\x17", "\x1b\r", "\x1b[200~y\r\x1b[201~", "yes\ry\r", "y\rn"])
            .prop_map(str::to_owned),
    ];
    (typed, prop_oneof![2 => 0_u64..300, 2 => 300_u64..620, 3 => 620_u64..1500])
}

/// A person's view of the line: its text, and since when it was typed. Knows nothing of the code that it judges.
#[derive(Default)]
struct Witness {
    line: String,
    is_begun_before: bool,
}

impl Witness {
    /// Takes a burst, and returns the first line that it ended.
    fn take(&mut self, burst: &str) -> Option<(String, bool)> {
        let mut lines = Ahead::default();
        lines.keep(self.line.replace('\n', "\x1b\r").as_bytes());
        lines.keep(burst.as_bytes());
        let ended = lines.line();
        self.line = lines.clone().begun();
        let before = self.is_begun_before;
        self.is_begun_before &= !self.line.is_empty();
        ended.map(|line| (line, before))
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(char::is_ascii_alphabetic).count()
}

/// Runs the reader over bursts with a clock: what comes within the pause of the burst before is early, everything else is
/// typed into the line.
#[test]
fn no_line_answers_that_was_begun_before_the_pause_was_over() {
    let answered = Cell::new(0_u32);
    let strategy = ("[yno ]{0,3}", prop::collection::vec(burst(), 1..30));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(CASES));
    let result = runner.run(&strategy, |(before, bursts)| {
        let mut ahead = Ahead::default();
        ahead.keep(before.as_bytes());
        let mut reader = ChoiceReader::new(parse);
        let mut line: Option<LineReader> = None;
        let mut witness = Witness { line: before, is_begun_before: true };
        let pause = u64::try_from(ANSWER_PAUSE.as_millis()).unwrap();
        for (typed, gap) in bursts {
            if line.is_none() && gap >= pause {
                let (begun, early) = reader.start(&mut ahead);
                witness = Witness { is_begun_before: !begun.is_empty(), line: begun.clone() };
                prop_assert!(!early || begun.is_empty());
                line = Some(LineReader::new(&begun));
            }
            let Some(reading) = &mut line else {
                reader.type_early(typed.as_bytes());
                continue;
            };
            let step = reading.feed(typed.as_bytes());
            let ended = witness.take(&typed);
            let LineStep::Line(typed_line) = step else {
                prop_assert!(ended.is_none(), "{typed:?} ended a line");
                continue;
            };
            let (text, begun_before) = ended.expect("a line was ended");
            prop_assert_eq!(&typed_line.text, &text);
            let mut kept = Ahead::default();
            let finished = reader.finish(typed_line, &mut kept);
            match finished {
                Finished::Answer(answer) => {
                    prop_assert!(!begun_before, "{text:?} was begun before");
                    prop_assert_eq!(Some(answer), parse(text.trim()));
                    answered.set(answered.get() + 1);
                    return Ok(());
                }
                Finished::Kept => prop_assert_eq!(kept.line(), Some(text.clone())),
                Finished::Empty => prop_assert_eq!(letters(&text), 0),
            }
            ahead.keep(&kept.into_bytes());
            if letters(&text) > 0 {
                ahead.keep_line(&text);
            }
            line = None;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(answered.get() > CASES / 4, "only {} of {CASES} answered", answered.get());
}

proptest! {
    /// Text typed before and during the pause answers nothing, however it is cut, and none of it is lost.
    #[test]
    fn text_from_before_the_pause_is_kept(before in "[yno \r]{0,8}", during in "[a-z \r]{0,12}") {
        let mut ahead = Ahead::default();
        ahead.keep(before.as_bytes());
        let mut reader = ChoiceReader::new(parse);
        reader.type_early(during.as_bytes());
        let (begun, early) = reader.start(&mut ahead);
        prop_assert!(begun.is_empty() || answer(&begun, &["\r"]).is_none());
        let words = |text: &str| text.replace(['\r', ' '], "");
        let mut lines: Vec<String> = std::iter::from_fn(|| ahead.line()).collect();
        lines.push(begun);
        let kept = if early { before } else { format!("{before}{during}") };
        prop_assert_eq!(words(&lines.concat()), words(&kept));
    }
}
