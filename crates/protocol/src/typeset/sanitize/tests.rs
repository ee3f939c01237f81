use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

/// What must never be in an output, checked without the code under test.
fn check(out: &str) -> Result<(), String> {
    let bytes = out.as_bytes();
    let mut at = 0;
    while let Some(found) =
        bytes[at..].iter().position(|b| (*b < 0x20 && *b != b'\n' && *b != b'\t') || *b == 0x7f)
    {
        let start = at + found;
        let sequence = &bytes[start..];
        let end = sequence.iter().position(|b| *b == b'm');
        match (sequence.starts_with(b"\x1b["), end) {
            (true, Some(end))
                if end <= 80 && sequence[2..end].iter().all(|b| b.is_ascii_digit() || *b == b';') =>
            {
                at = start + end + 1;
            }
            _ => return Err(format!("control byte {:#x} in {out:?}", bytes[start])),
        }
    }
    let foreign = |c: &char| {
        matches!(c, '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{3164}'
            | '\u{e0000}'..='\u{e001f}' | '\u{e0080}'..='\u{e00ff}')
    };
    match out.chars().find(foreign) {
        Some(c) => Err(format!("{c:?} in {out:?}")),
        None => Ok(()),
    }
}

/// Every text in pieces of every kind that matters here, mixed.
struct Generator(u64);

impl Generator {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % below
    }

    fn piece(&mut self, text: &mut String) {
        const PIECES: &[&str] = &[
            "\x1b[",
            "\x1b]",
            "\x1b]52;c;",
            "\x1b]8;;http://x",
            "\x1bP",
            "\x1b_",
            "\x1bX",
            "\x1b^",
            "\x1b\\",
            "\x1b",
            "\x07",
            "\u{9b}",
            "\u{9d}",
            "\u{90}",
            "\u{9c}",
            "\u{85}",
            "31",
            "0",
            ";",
            ":",
            "38;5;",
            "38:2::1:2:3",
            "48;2;1;2;3",
            "m",
            "m",
            "m",
            "8",
            "5",
            "J",
            "H",
            "A",
            "?1049h",
            "?",
            ">",
            "$",
            " ",
            "c",
            "#8",
            "\n",
            "\r",
            "\r\n",
            "\t",
            "\t\t\t\t\t\t\t\t\t",
            "\0",
            "\x08",
            "\x7f",
            "\x18",
            "\x1a",
            "text",
            "żółw",
            "漢字",
            "👩",
            "\u{200d}",
            "👩\u{200d}🚀",
            "\u{fe0f}",
            "\u{200c}",
            "می",
            "\u{301}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{feff}",
            "\u{a0}",
            "\u{2028}",
            "\u{e0072}",
            "\u{1f3f4}",
            "\u{e007f}",
            "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}",
            "\u{fffe}",
            "\u{e0100}",
        ];
        if self.next(8) == 0 {
            text.extend(char::from_u32(self.next(0x11_0000) as u32));
        } else {
            text.push_str(PIECES[self.next(PIECES.len())]);
        }
    }

    fn text(&mut self, pieces: usize) -> String {
        let mut text = String::new();
        (0..pieces).for_each(|_| self.piece(&mut text));
        text
    }
}

fn stream<'a>(chunks: impl IntoIterator<Item = &'a str>) -> String {
    let mut sanitizer = Sanitizer::default();
    let mut out: String = chunks.into_iter().map(|chunk| sanitizer.push(chunk)).collect();
    out.push_str(sanitizer.finish());
    out
}

#[test]
fn a_million_random_inputs_leave_no_control_behind() {
    let mut generator = Generator(0x9e37_79b9_7f4a_7c15);
    let mut sanitizer = Sanitizer::default();
    let mut out = String::new();
    for _ in 0..1_000_000 {
        let text = generator.text(8);
        out.clear();
        sanitizer.push_into(&text, &mut out);
        out.push_str(sanitizer.finish());
        check(&out).unwrap();
    }
}

#[test]
fn however_it_is_split_the_output_is_the_same() {
    let mut generator = Generator(7);
    for _ in 0..5_000 {
        let text = generator.text(12);
        let whole = stream([text.as_str()]);
        assert_eq!(whole, sanitize(&text), "{text:?}");
        assert_eq!(whole, stream(text.split_inclusive(|_| true)), "{text:?}");
        let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let cut = cuts[generator.next(cuts.len())];
        assert_eq!(whole, stream([&text[..cut], &text[cut..]]), "{text:?} at {cut}");
        assert_eq!(whole, sanitize(&whole), "cleaning twice changes {text:?}");
    }
}

proptest! {
    #[test]
    fn any_string_comes_out_clean(text in "\\PC*|(\\x1b|.|\\s)*") {
        check(&sanitize(&text)).unwrap();
        check(&plain(&text)).unwrap();
        prop_assert!(!plain(&text).contains('\x1b'));
        prop_assert!(!visible(&text).chars().any(|c| c.is_control() && c != '\n'));
        prop_assert!(!visible_line(&text).contains('\n'));
    }
}

#[test]
fn plain_text_is_not_copied() {
    for text in ["", "hello, world\n", "fn main() {\n}\n", "żółw, 漢字, かな, 한글 — “quoted”\n"]
    {
        assert!(matches!(sanitize(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn what_people_write_survives() {
    for text in [
        "👩\u{200d}🚀 👨\u{200d}👩\u{200d}👧\u{200d}👦 ❤\u{fe0f}\u{200d}🔥 👍🏽 🇵🇱 1\u{fe0f}\u{20e3}",
        "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}!",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "e\u{301}\u{323} ไม้",
        "葛\u{e0100}",
        "a\tb\t\tc",
        "\u{e0b0} powerline",
    ] {
        assert_eq!(sanitize(text), text);
    }
}

#[test]
fn hidden_text_does_not() {
    for (text, clean) in [
        ("r\u{200b}m", "rm"),
        ("\u{202e}gnp.exe", "gnp.exe"),
        ("a\u{200d}b", "ab"),
        ("👩\u{200d}\u{200d}b", "👩b"),
        ("x\u{e0072}\u{e006d}", "x"),
        ("🏴\u{e0072}\u{e006d}\u{e007f}", "🏴"),
        ("🙂\u{fe01}\u{fe02}\u{e0101}", "🙂\u{fe01}"),
        ("a\u{a0}b\u{2003}c", "a b c"),
        ("one\u{2028}two\u{85}three\x0cfour", "one\ntwo\nthree\nfour"),
        ("\u{fdd0}\u{50000}", "\u{fffd}\u{fffd}"),
        ("\u{301}a", "a"),
    ] {
        assert_eq!(sanitize(text), clean, "{text:?}");
    }
    assert_eq!(sanitize(&format!("a{}", "\u{301}".repeat(50))).chars().count(), 9);
    assert_eq!(sanitize(&"\t".repeat(5_000)).len(), 16);
}

#[test]
fn colours_stay_in_one_form_and_are_closed() {
    for (text, clean) in [
        ("\x1b[31mred\x1b[0m.", "\x1b[31mred\x1b[0m."),
        ("\x1b[1;31mred\x1b[m.", "\x1b[1;31mred\x1b[0m."),
        ("\x1b[38;5;208mx", "\x1b[38;5;208mx\x1b[0m"),
        ("\x1b[38:2::1:2:3mx\x1b[39m", "\x1b[38;2;1;2;3mx\x1b[39m"),
        ("\u{9b}32mx\x1b[0m", "\x1b[32mx\x1b[0m"),
        ("\x1b[48;5;1m\x1b[97mx\x1b[49;39m", "\x1b[41m\x1b[97mx\x1b[49;39m"),
        ("\x1b[4:3mx\x1b[4:0m", "\x1b[4mx\x1b[24m"),
        // Nothing to change, nothing to say.
        ("\x1b[0mx\x1b[m", "x"),
        // Concealed, blinking, or drawn in the colour of its ground.
        ("\x1b[8mx", "x"),
        ("\x1b[5;6mx", "x"),
        ("\x1b[31;41mx\x1b[0m", "\x1b[31;41;49mx\x1b[0m"),
        // A joiner joins nothing across a change of colour.
        ("👩\u{200d}\x1b[31m🚀\x1b[0m", "👩\x1b[31m🚀\x1b[0m"),
        // Not well formed.
        ("\x1b[38;5mx", "x"),
        ("\x1b[38;5;999mx", "x"),
        ("\x1b[>4;2mx", "x"),
        ("\x1b[?31mx", "x"),
        ("\x1b[31 mx", "x"),
        ("\x1b[3\n1mx", "\n1mx"),
        ("\x1b[3é", "é"),
    ] {
        assert_eq!(sanitize(text), clean, "{text:?}");
    }
    assert_eq!(plain("\x1b[1;31mred\x1b[0m"), "red");
}

#[test]
fn a_line_is_never_overwritten() {
    for (text, clean) in [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\r\r\nb", "a\nb"),
        ("safe\rrm", "safe\nrm"),
        ("10%\r\x1b[K20%\r\x1b[2K30%\n", "10%\n20%\n30%\n"),
        ("\rstart", "start"),
        ("end\r", "end"),
        ("ab\x08\x08xy", "abxy"),
    ] {
        assert_eq!(sanitize(text), clean, "{text:?}");
    }
}

#[test]
fn an_unfinished_string_ends_with_its_line_and_costs_no_memory() {
    assert_eq!(sanitize("a\x1b]0;never ended\nb"), "a\nb");
    assert_eq!(sanitize("a\x1bPq#0;2;0\x1b\\b\x1b_x\x07c"), "abc");
    let mut sanitizer = Sanitizer::default();
    assert_eq!(sanitizer.push("\x1b]52;c;"), "");
    let chunk = "A".repeat(1 << 16);
    let mut out = String::new();
    for _ in 0..64 {
        sanitizer.push_into(&chunk, &mut out);
    }
    assert_eq!(out.capacity(), 0);
    assert_eq!(sanitizer.push("\x07ok"), "ok");
}

#[test]
fn every_output_case_is_neutralised() {
    for row in include_str!("../../../tests/cases/output.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let input = row["input"].as_str().unwrap();
        let spelled = visible(input);
        check(&sanitize(input)).unwrap_or_else(|why| panic!("{}: {why}", row["id"]));
        assert!(!sanitize(input).contains('\x1b'), "{}", row["id"]);
        assert!(!sanitize(input).contains(&"\t".repeat(17)), "{}", row["id"]);
        check(&spelled).unwrap_or_else(|why| panic!("{}: {why}", row["id"]));
        assert!(!spelled.contains(['\x1b', '\t']), "{}", row["id"]);
        if row["kind"] == "output" {
            assert_ne!(spelled, input, "{}: what is dangerous must be seen", row["id"]);
        }
    }
}

#[test]
fn a_judge_sees_everything() {
    for (text, shown) in [
        ("echo ok \x1b[1A\x1b[2K; rm -rf x", "echo ok \\x1b[1A\\x1b[2K; rm -rf x"),
        ("r\u{200b}m\u{a0}x\u{3000}", "r\\u{200b}m\\u{a0}x\\u{3000}"),
        ("a\tb\r\nc\0\u{9b}\x7f", "a\\tb\\r\nc\\x00\\u{9b}\\x7f"),
        ("👩\u{200d}🚀 ❤\u{fe0f} x\u{fe0f}", "👩\\u{200d}🚀 ❤\u{fe0f} x\\u{fe0f}"),
        ("\u{301}e\u{301}", "\\u{301}e\u{301}"),
        ("żółw 漢字", "żółw 漢字"),
    ] {
        assert_eq!(visible(text), shown);
    }
    assert_eq!(visible_line("a\nb\tc"), "a\\nb\\tc");
}
