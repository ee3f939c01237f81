//! Markdown as it streams: it ends as the whole would be drawn, and costs little on the way.

use super::*;

/// All lines of a stream, asked for after every delta.
fn streamed(deltas: &[&str], look: Look<'_>) -> Vec<Line<'static>> {
    let mut stream = Stream::default();
    let mut lines = Vec::new();
    for delta in deltas {
        stream.push(delta);
        lines.extend(stream.settled(look));
        let _ = stream.tail(look);
    }
    // What is shown before the end is the same, but for a mark that waits for its line, and one that waits for its other half.
    let tail = (!is_mark(&stream.reader.pending)).then(|| stream.tail_with(look, str::to_owned));
    stream.finish();
    let rest = stream.settled(look);
    assert!(tail.is_none_or(|tail| tail == rest), "the tail is not what it ends as");
    lines.extend(rest);
    lines
}

fn pieces<'a>(text: &'a str, cuts: &[usize]) -> Vec<&'a str> {
    let mut cuts: Vec<usize> =
        cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

#[test]
fn samples_stream_as_they_are_drawn() {
    let theme = dark();
    for source in [RICH, CJK, HOSTILE] {
        for width in [20, 40, 80, 120] {
            let look = Look { width, theme: &theme };
            let every: Vec<usize> = (0..source.len()).collect();
            assert_eq!(streamed(&pieces(source, &every), look), render(source, look));
        }
    }
}

#[test]
fn what_is_long_is_given_away_in_parts() {
    let theme = dark();
    let look = Look { width: 80, theme: &theme };
    let paragraph = "some words of *it* ".repeat(2_000);
    let lines = "a line of a paragraph that is long\n".repeat(1_000);
    let rows = format!("|a|b|\n|-|-|\n{}", "| one | two |\n".repeat(1_000));
    let list = "- item with words\n  - nested\n".repeat(1_000);
    let code = format!("```rust\n{}", "let x = 1; // why\n".repeat(1_000));
    let one_line = format!("```\n{}\n```", "x".repeat(50_000));
    for source in [paragraph, lines, rows, list, code, one_line] {
        let mut stream = Stream::default();
        let mut settled = Vec::new();
        for piece in pieces(&source, &(0..200).map(|at| at * 997).collect::<Vec<_>>()) {
            stream.push(piece);
            settled.extend(stream.settled(look));
            assert!(stream.tail(look).len() <= 500);
        }
        assert!(settled.len() > 300, "{}", &source[..40]);
        settled.extend(stream.tail(look));
        assert_eq!(settled, render(&source, look));
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        let fence = if source.starts_with("```rust") { 4 } else { 0 };
        assert_eq!(letters(&text(&settled)), letters(&source) - fence);
    }
}

#[test]
fn nothing_is_made_slow_on_purpose() {
    let theme = dark();
    let look = Look { width: 80, theme: &theme };
    let bits = [
        "[", "![", "*a ", "**a_ ", "`", "`` ` ", "<", "<a ", "~~a", "|", "\\", "&", "> ", "- ", "1. ", "[](",
        "(((", "\"\\\\",
    ];
    for bit in bits {
        let line = bit.repeat(8_000 / bit.len());
        let lines = format!("{bit}\n").repeat(3_000);
        let code =
            format!("```js\n{}\n{}\n```", bit.repeat(1_900 / bit.len()), bit.repeat(1_900 / bit.len()));
        for source in [line.repeat(3), lines, code] {
            let started = Instant::now();
            let drawn = render(&source, look);
            assert!(drawn.iter().all(|line| line.width() <= 80));
            assert!(started.elapsed() < Duration::from_secs(60), "{bit} {:?}", started.elapsed());
        }
    }
}

#[test]
fn twenty_thousand_deltas_cost_little() {
    let theme = dark();
    let look = Look { width: 80, theme: &theme };
    let source = CJK.repeat(150);
    let mut stream = Stream::default();
    let started = Instant::now();
    let cuts: Vec<usize> = (0..20_000).map(|at| at * 5).collect();
    let mut deltas = pieces(&source, &cuts).into_iter();
    for at in 0..20_000 {
        stream.push(deltas.next().unwrap_or("more "));
        if at % 1_000 == 0 {
            let _ = (stream.settled(look), stream.tail(look));
        }
    }
    // Not a benchmark: without optimisation and on a loaded machine; a quadratic cost would take minutes.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

/// What this thread took of a processor, whatever else ran meanwhile.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// For people: `cargo test --release -p zdx-tui figures -- --ignored --nocapture`.
#[test]
#[ignore = "prints how long things take"]
fn figures() {
    let theme = dark();
    let look = Look { width: 80, theme: &theme };
    let started = cpu();
    crate::write::code::warm();
    println!("load syntaxes {:?}", cpu() - started);
    let code = "fn name(x: &str) -> Result<u32, Error> { let y = \"text\"; call(y, 42) } // why\n";
    let prose = "Some words of an answer, with `code`, **weight** and a [link](http://e.example). ";
    let sources = [
        ("rich", RICH.repeat(60)),
        ("rich once more", RICH.repeat(60)),
        ("prose, one paragraph", prose.repeat(2_500)),
        ("list", format!("- {prose}\n  - {prose}\n").repeat(1_250)),
        ("table", format!("|a|b|\n|-|-|\n{}", "| one cell | another, longer one |\n".repeat(5_000))),
        ("rust", format!("```rust\n{}", code.repeat(2_500))),
        ("rust, 10,000 lines", format!("```rust\n{}", code.repeat(10_000))),
        ("chinese", CJK.repeat(150)),
    ];
    for (name, source) in sources {
        let size = source.len().div_ceil(20_000);
        let cuts: Vec<usize> = (0..20_000).map(|at| at * size).filter(|cut| *cut < source.len()).collect();
        let pieces = pieces(&source, &cuts);
        let started = cpu();
        let mut stream = Stream::default();
        let (mut rows, mut slowest) = (0, Duration::ZERO);
        for (at, piece) in pieces.iter().enumerate() {
            stream.push(piece);
            if at % 1_000 == 999 {
                let frame = cpu();
                rows += stream.settled(look).len();
                let _ = stream.tail(look);
                slowest = slowest.max(cpu() - frame);
            }
        }
        let streamed = cpu() - started;
        rows += stream.tail(look).len();
        let started = cpu();
        let _ = render(&source, look);
        let (kib, deltas) = (source.len() / 1024, pieces.len());
        println!(
            "{name}: {kib} KiB, {deltas} deltas {streamed:?}, slowest frame {slowest:?}, {rows} rows; whole {:?}",
            cpu() - started
        );
    }
}

const BITS: &[&str] = &[
    "word",
    "words and more",
    " ",
    "  ",
    "    ",
    "\n",
    "\n\n",
    "\n",
    "- ",
    "1. ",
    "2) ",
    "* ",
    "> ",
    "# ",
    "## ",
    "```",
    "```rust",
    "~~~",
    "`",
    "**",
    "*",
    "_",
    "~~",
    "[a](b)",
    "[",
    "]",
    "(",
    ")",
    "<b>",
    "<div>",
    "</div>",
    "<!--",
    "-->",
    "|",
    "|-|",
    "|-|-|",
    "| a | b |",
    "---",
    "===",
    "\t",
    "\\",
    "&#27;",
    "&amp;",
    "漢字",
    "，",
    "👩\u{200d}👧",
    "\x1b[31m",
    "\r",
    "\r\n",
    "[^1]",
    "[^1]: ",
    "[x]: y",
    "- [ ] ",
    "- [x] ",
    "fn main() {",
    "https://example.com/a/b?c=d",
];

proptest! {
    #[test]
    fn a_stream_ends_as_the_whole(bits in prop::collection::vec(prop::sample::select(BITS), 0..60), cuts in prop::collection::vec(0usize..4_000, 0..12), width in 2u16..90) {
        let theme = dark();
        let look = Look { width, theme: &theme };
        let source = bits.concat();
        let whole = render(&source, look);
        prop_assert_eq!(&streamed(&pieces(&source, &cuts), look), &whole);
        prop_assert!(is_safe(&whole), "{:?}", whole);
        for line in &whole {
            prop_assert!(line.width() <= usize::from(width), "{} {:?}", width, line);
        }
    }

    #[test]
    fn nothing_is_lost_at_any_width(bits in prop::collection::vec(prop::sample::select(BITS), 0..60), one in 12u16..40, other in 40u16..120) {
        let theme = dark();
        let source = bits.concat();
        // Tables name their columns again and again when they are stacked.
        let words = |width| text(&render(&source, Look { width, theme: &theme })).matches("漢").count();
        prop_assert!(words(one) >= words(other));
        if !source.contains("|-") {
            prop_assert_eq!(words(one), source.matches("漢").count());
        }
        let mut stream = Stream::default();
        let mut seen = String::new();
        for (at, piece) in pieces(&source, &[10, 50, 90, 200]).into_iter().enumerate() {
            stream.push(piece);
            seen += &text(&stream.settled(Look { width: if at % 2 == 0 { one } else { other }, theme: &theme }));
        }
        seen += &text(&stream.tail(Look { width: other, theme: &theme }));
        if !source.contains("|-") {
            prop_assert_eq!(seen.matches("漢").count(), source.matches("漢").count());
        }
    }
}

/// A table stays one, and a sentence stays a sentence, while the next line is only a mark.
#[test]
fn a_mark_whose_line_has_yet_to_come_changes_nothing() {
    let theme = dark();
    let so_far = |text: &str| {
        let mut stream = Stream::default();
        stream.push(text);
        stream.tail(Look { width: 60, theme: &theme })
    };
    let table = "| a | b |\n|---|---|\n| one | two |\n";
    for mark in ["|", "| ", "-"] {
        assert_eq!(so_far(&format!("{table}{mark}")), so_far(table), "{mark:?}");
    }
    for mark in ["-", "- ", "=", "--"] {
        assert_eq!(so_far(&format!("Here they are:\n{mark}")), so_far("Here they are:\n"), "{mark:?}");
    }
    assert_eq!(drawn(&format!("{table}|"), 60), drawn(table, 60));
}
