//! Texts that the tests of this part share.

use ratatui_core::text::Line;

pub(super) const RICH: &str = r#"# A title with `code`

A paragraph of *some* length that is **wrapped at words**, has ~~mistakes~~ and a [link](https://example.com/docs/a/b) in it; <https://example.com> is one too. See /home/somebody/projects/zdx/crates/tui/src/write/markdown.rs for more.
Short lines
stay as they are.

## 1. Lists

Steps:
1. First, with a text that is long enough to be wrapped at eighty columns, and hangs below itself
2. Second
   - nested, and again long enough for a second row when the window is narrow
     - deeper
   - [ ] open task
   - [x] done task

   A paragraph of the second item.

   ```sh
   cargo test --workspace -- --nocapture some::very::long::test::name::that::does::not::fit
   ```
10. Last

- loose

- items

> A quote with **weight** that goes on for a while so that it must be wrapped somewhere.
>
> - and a list in it
> > and a quote in the quote

---

```rust title="src/main.rs"
// A comment.
fn main() {
    let text = "a string"; // trailing
	println!("{text} {}", 42);
}
```

| Name | Size | What it is for |
|:-----|-----:|:---------------|
| wrap | 1.25 | breaks styled lines into rows of a given width |
| `diff` | 12.5 | shows a change with numbers, signs and marks |
| 漢字 | 100 | [docs](https://example.com/) |

<details>
<summary>HTML</summary>
</details>

Text with <b>tags</b> and a footnote[^1], a ![picture](a/b.png) and [a reference][ref].

[^1]: The footnote, which is long enough to be wrapped in a narrow window and hangs.

[ref]: https://example.com/reference

Setext
======

    indented code

The end\
of it.
"#;

pub(super) const CJK: &str = "\
## 中文排版

这是一个很长的段落，用来检查换行：标点（例如逗号、句号）不能出现在行首，“引号”也是。使用cargo test运行测试，路径是/home/user/项目/源代码/main.rs。

- 列表项目很长的时候，第二行应该和第一行的文字对齐，而不是和项目符号对齐。
  1. 嵌套的列表，日本語のテキストもあります。「カッコ」は行末に来ない。

| 名称 | 大小 | 说明 |
|---|--:|---|
| 换行 | 12 | 把带样式的文字分成若干行，宽度按终端计算 |
| 한국어 | 3 | 단어 단위로 줄을 바꿉니다 |

这一行是手工换行的，长度超过了六十列，所以下一行应该直接接上来，
不应该有空格。👩‍👩‍👧 family 👍🏽 emoji.
";

pub(super) const HOSTILE: &str = "\
# title \x1b]0;pwned\x07with \x1b[31mcolour

entities: &#27;[2J &#x202e;abc &#7; &#10;- x, \u{202e}bidi\u{2066} zero\u{200b}width \u{9b}31mc1 \x08\x08 [link&#27;](http://e/&#27;]8;;x) end\r\nafter\rreturn

```\x1b[5m
code \x1b]52;c;cm0gLXJm\x07\tafter\x00
```

| a\x1b[1m | b |
|---|---|
| &#27;c | \x1b(0x |

<b \x1b[2J>&#27;</b>
<div>&#27; \x07</div>
";

pub(super) fn text(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

/// Nothing that a terminal obeys, nothing hidden, no tab.
pub(super) fn is_safe(lines: &[Line<'_>]) -> bool {
    let bad = |c: char| {
        c.is_control() || zdx_protocol::display::is_obeyed(c) || matches!(c, '\u{200b}' | '\u{2060}')
    };
    lines.iter().flat_map(|line| &line.spans).all(|span| !span.content.contains(bad))
}
