//! How it looks, and where the cursor is.

use super::*;

/// What a terminal shows of it, and where its cursor stands.
fn screen(composer: &Composer, width: u16, rows: usize) -> String {
    let drawn = draw(composer, width, rows);
    let height = u16::try_from(drawn.lines.len()).unwrap();
    let mut terminal = vt100::Parser::new(height.try_into().unwrap(), width.try_into().unwrap(), 0);
    for (n, line) in drawn.lines.iter().enumerate() {
        assert!(line.width() <= usize::from(width), "{line:?}");
        terminal.process(format!("\x1b[{};1H{line}", n + 1).as_bytes());
    }
    let (column, row) = drawn.cursor.unwrap();
    assert!(column < width && row < height);
    let contents = terminal.screen().contents();
    let rows = (0..height).map(|n| contents.lines().nth(n.into()).unwrap_or_default().to_owned());
    format!("{}\ncursor: column {column}, row {row}\n", rows.collect::<Vec<_>>().join("\n"))
}

#[test]
fn at_forty_and_eighty_columns() {
    let mut all = String::new();
    for width in [40, 80] {
        let mut show = |what: &str, composer: &Composer| {
            all.push_str(&format!("--- {what}, {width} columns\n{}", screen(composer, width, 6)));
        };
        show("empty", &composer());
        show("words", &typed("explain why the second test of the parser fails when the input ends early"));
        show(
            "chinese",
            &typed("请解释一下为什么解析器的第二个测试会失败，输入提前结束的时候。看看@src/main.rs吧"),
        );
        show("lines", &typed("one\n\tthree\x1b[2J\n\u{202e}four"));
        show("shell", &typed("!ls -la"));
        let mut chip = typed("see ");
        chip.paste("x\n".repeat(312));
        press(&mut chip, &" and tell".chars().map(Key::char).collect::<Vec<_>>());
        show("chip", &chip);
        show("many", &typed(&"row\n".repeat(20)));
        let mut search = typed("draft");
        search.remember("cargo test --workspace".into());
        press(&mut search, &[Key::ctrl('r'), Key::char('t'), Key::char('e')]);
        show("search", &search);
        search.key(Key::char('x'));
        show("nothing found", &search);
    }
    insta::assert_snapshot!("composer", all);
}

#[test]
fn the_cursor_is_at_the_caret_in_columns() {
    for (text, cursor) in
        [("", (2, 0)), ("ab", (4, 0)), ("你好", (6, 0)), ("👩‍👩‍👧x", (5, 0)), ("a\n你", (4, 1)), ("!", (2, 0))]
    {
        assert_eq!(draw(&typed(text), 20, 5).cursor, Some(cursor), "{text}");
    }
    // A full row: the caret has a column of its own, and goes to the next with the next letter.
    assert_eq!(draw(&typed("1234567"), 10, 5).cursor, Some((9, 0)));
    assert_eq!(draw(&typed("12345678"), 10, 5).cursor, Some((3, 1)));
    assert_eq!(draw(&typed("1234567 "), 10, 5).cursor, Some((2, 1)));
    // Before the mark of a command is on it.
    let mut shell = typed("!ls");
    shell.key(Key::ctrl('a'));
    assert_eq!(draw(&shell, 20, 5).cursor, Some((0, 0)));
}

#[test]
fn rows_stay_where_they_are_while_the_caret_is_in_sight() {
    let mut composer = typed(&(0..20).map(|n| format!("{n}\n")).collect::<String>());
    let first = |composer: &Composer| draw(composer, 20, 5).lines[0].to_string();
    assert_eq!(first(&composer), "⋮ 16");
    press(&mut composer, &[UP; 4]);
    assert_eq!(first(&composer), "⋮ 16");
    composer.key(UP);
    assert_eq!(first(&composer), "⋮ 15");
    assert_eq!(draw(&composer, 20, 5).lines[4].to_string(), "⋮ 19");
}
