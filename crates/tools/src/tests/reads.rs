use super::*;
use zdx_workspace::text;

#[test]
fn a_file_comes_whole() {
    let desk = Desk::with(&[("a.txt", "one\ntwo\n")]);
    assert_eq!(
        desk.ok("read", json!({"file_path": "a.txt"})),
        json!({
            "path": desk.path("a.txt"), "content": "one\ntwo\n", "truncated": false, "bytes": 8, "total_lines": 2
        })
    );
}

#[test]
fn lines_are_picked_and_the_way_on_is_told() {
    let lines: String = (1..=10).map(|n| format!("line {n}\n")).collect();
    let desk = Desk::with(&[("ten", &lines)]);
    let some = desk.ok("read", json!({"path": "ten", "offset": "3", "limit": 2}));
    assert_eq!(some["content"], "line 3\nline 4\n");
    assert_eq!((&some["next_offset"], &some["truncated"]), (&json!(5), &json!(false)));
    assert_eq!(some["bytes"], lines.len());
    let rest = desk.ok("read", json!({"path": "ten", "offset": 10}));
    assert_eq!((&rest["content"], &rest["total_lines"]), (&json!("line 10\n"), &json!(10)));
    assert!(rest.get("next_offset").is_none());
    let exact = desk.ok("read", json!({"path": "ten", "limit": 10}));
    assert!(exact.get("next_offset").is_none());
    let (code, message) = desk.err("read", json!({"path": "ten", "offset": 11}));
    assert_eq!(code, ToolCode::InvalidInput);
    assert!(message.ends_with("has 10 lines"), "{message}");
}

#[test]
fn reading_on_from_each_offset_gives_every_line_once() {
    let whole: String = (0..9000).map(|n| format!("{n} ünïcode ✓\r\n")).collect();
    let desk = Desk::with(&[("big", &whole)]);
    let (mut offset, mut got) = (1, String::new());
    loop {
        let part = desk.ok("read", json!({"path": "big", "offset": offset}));
        let content = part["content"].as_str().unwrap();
        assert!(content.len() <= text::LIMIT);
        let Some(next) = part["next_offset"].as_u64() else {
            got.push_str(content);
            break;
        };
        assert_eq!(part["truncated"], true);
        got.push_str(&content[..=content.rfind('\n').unwrap()]);
        offset = next;
    }
    assert!(got == whole);
}

#[test]
fn a_cut_falls_between_characters_and_tells_the_full_size() {
    let text = format!("x{}", "é".repeat(60_000));
    let desk = Desk::with(&[("long", &text)]);
    let data = desk.ok("read", json!({"path": "long"}));
    assert_eq!((&data["truncated"], &data["bytes"]), (&json!(true), &json!(120_001)));
    let content = data["content"].as_str().unwrap();
    assert_eq!(content.len(), text::LIMIT - 1);
    assert!(text.starts_with(content));
    // One line only: the way on leads past it.
    assert_eq!((&data["next_offset"], &data["long_line"]), (&json!(2), &json!(true)));
}

#[test]
fn exactly_the_limit_is_whole() {
    let desk = Desk::with(&[("limit", &"x".repeat(text::LIMIT)), ("over", &"x".repeat(text::LIMIT + 1))]);
    assert_eq!(desk.ok("read", json!({"path": "limit"}))["truncated"], false);
    let over = desk.ok("read", json!({"path": "over"}));
    assert_eq!(over["truncated"], true);
    assert_eq!(over["content"].as_str().unwrap().len(), text::LIMIT);
}

#[test]
fn bytes_that_are_no_text_are_marked_and_bounded() {
    let desk = Desk::new();
    fs::write(desk.path("bin"), b"a\0\xff").unwrap();
    let data = desk.ok("read", json!({"path": "bin"}));
    assert_eq!((&data["content"], &data["binary"]), (&json!("a\u{fffd}\u{fffd}"), &json!(true)));
    fs::write(desk.path("noise"), vec![0xff; 40_000]).unwrap();
    let data = desk.ok("read", json!({"path": "noise"}));
    assert!(data["content"].as_str().unwrap().len() <= text::LIMIT);
    assert_eq!((&data["truncated"], &data["bytes"]), (&json!(true), &json!(40_000)));
}

#[test]
fn empty_files_and_made_up_ones_are_read() {
    let desk = Desk::with(&[("empty", "")]);
    let data = desk.ok("read", json!({"path": "empty"}));
    assert_eq!((&data["content"], &data["total_lines"]), (&json!(""), &json!(0)));
    #[cfg(target_os = "linux")]
    assert_ne!(desk.ok("read", json!({"path": "/proc/self/status"}))["bytes"], 0);
}

#[test]
fn what_cannot_be_read_says_why() {
    let desk = Desk::with(&[("README.md", "x")]);
    let (code, message) = desk.err("read", json!({"path": "readme.md"}));
    assert_eq!(code, ToolCode::Enoent);
    assert!(message.starts_with("File not found: ") && message.ends_with("README.md"), "{message}");
    let (code, message) = desk.err("read", json!({"path": "."}));
    assert_eq!(code, ToolCode::NotRegular);
    assert!(message.contains("is a folder"), "{message}");
    assert_eq!(desk.err("read", json!({"path": "/dev/zero"})).0, ToolCode::NotRegular);
    assert_eq!(desk.err("read", json!({"path": "README.md/x"})).0, ToolCode::Enotdir);
}

#[test]
fn a_read_without_end_is_cut_off_by_time_and_by_interrupt() {
    let desk = Desk::new();
    // A sparse file: nothing on disk, but hours of zeros to pass before a line would come.
    let file = fs::File::create(desk.path("endless")).unwrap();
    file.set_len(1 << 42).unwrap();
    let mut cx = desk.cx.clone();
    cx.timeout = Some(Duration::from_millis(100));
    let tool = desk.registry.find("read").unwrap();
    let input = || json!({"path": "endless", "offset": 2}).as_object().unwrap().clone();
    let ToolOutput::Err(error) = run(tool.prepare(input(), &cx).unwrap()) else { panic!("it ended") };
    assert_eq!(error.code, ToolCode::Timeout);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (progress, _) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    let call = ToolRunContext {
        id: String::new(),
        cancel: cancel.clone(),
        progress,
        beside: Default::default(),
        images: Default::default(),
    };
    let running = (tool.prepare(input(), &desk.cx).unwrap().run)(call);
    let (output, ()) = runtime.block_on(async { tokio::join!(running, async { cancel.cancel() }) });
    let ToolOutput::Err(error) = output else { panic!("it ended") };
    assert_eq!(error.code, ToolCode::Interrupted);
}

#[test]
fn a_file_that_is_not_utf8_says_so_and_where() {
    let desk = Desk::new();
    fs::write(desk.path("f"), b"one\ncaf\xe9\nok\n\xff\xfe\n").unwrap();
    let data = desk.ok("read", json!({"path": "f"}));
    assert_eq!(
        (&data["content"], &data["lossy"]),
        (&json!("one\ncaf\u{fffd}\nok\n\u{fffd}\u{fffd}\n"), &json!(true))
    );
    let note = data["note"].as_str().unwrap();
    assert!(note.starts_with("3 bytes on lines 2, 4 are not UTF-8") && note.contains("edit"), "{note}");
    let part = desk.ok("read", json!({"path": "f", "offset": 3, "limit": 1}));
    assert_eq!((part.get("lossy"), part.get("note")), (None, None));
    let part = desk.ok("read", json!({"path": "f", "offset": 2, "limit": 1}));
    assert!(part["note"].as_str().unwrap().starts_with("1 byte on line 2 is not UTF-8"), "{part}");
    // Real U+FFFD is text.
    fs::write(desk.path("f"), "\u{fffd}\n").unwrap();
    assert_eq!(desk.ok("read", json!({"path": "f"})).get("lossy"), None);
    for bom in [b"\xff\xfea\0\n\0", b"\xfe\xff\0a\0\n"] {
        fs::write(desk.path("f"), bom).unwrap();
        let (code, message) = desk.err("read", json!({"path": "f", "offset": 1}));
        assert_eq!(code, ToolCode::ReadError);
        assert!(message.contains("UTF-16") && message.contains("iconv"), "{message}");
    }
}
