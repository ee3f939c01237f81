use std::io::Write;

use zdx_protocol::Transcript;

use super::*;
use crate::session::file::SessionFileHandle;
use crate::session::load::scan_lines;

/// Short lines: the test below reads them some ten thousand times.
fn two_hundred_records() -> Vec<Record> {
    let mut records = vec![meta(SessionId::random(), "/p")];
    for n in 0..20 {
        let id = format!("c{n}");
        records.extend([user("你好"), call(&id), done(&id), assistant("a\nb"), user("b"), assistant("c")]);
        records.extend([
            Record::Interrupted(record::Interrupted::at(ts())),
            user("d"),
            assistant("e"),
            user("f"),
        ]);
    }
    records.truncate(200);
    records
}

fn bytes_of(records: &[Record]) -> Vec<u8> {
    records.iter().flat_map(|record| record.to_line().unwrap()).collect()
}

#[test]
fn cut_at_every_byte_every_complete_record_comes_back_and_the_next_append_is_valid() {
    let (_base, store) = store();
    let records = two_hundred_records();
    let bytes = bytes_of(&records);
    assert_eq!(records.len(), 200);
    let mut transcript = Transcript::default();
    let mut expected = vec![transcript.clone()];
    for record in &records {
        transcript.apply(record);
        let mut whole = transcript.clone();
        transcript.interrupted_results(ts()).into_iter().for_each(|result| whole.absorb(result));
        expected.push(whole);
    }
    std::fs::create_dir_all(store.dir()).unwrap();
    let check = |cuts: std::ops::Range<usize>| {
        let id = SessionId::random();
        std::fs::write(path_of(&store, id), &bytes).unwrap();
        // Downwards, so that each cut is just that, and takes what was appended after the last one along.
        for cut in cuts.rev() {
            cut_and_go_on(&store, id, &records, &bytes, &expected, cut);
        }
    };
    let middle = bytes.len() * 7 / 10;
    std::thread::scope(|scope| {
        scope.spawn(|| check(0..middle));
        check(middle..bytes.len() + 1);
    });
}

fn cut_and_go_on(
    store: &SessionStore,
    id: SessionId,
    records: &[Record],
    bytes: &[u8],
    expected: &[Transcript],
    cut: usize,
) {
    let path = path_of(store, id);
    std::fs::File::options().write(true).open(&path).unwrap().set_len(cut as u64).unwrap();
    let newlines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
    let torn = cut > 0 && bytes[cut - 1] != b'\n';
    // A record whose newline alone is missing is complete.
    let only_newline_missing = torn && bytes.get(cut) == Some(&b'\n');
    let complete = newlines + usize::from(only_newline_missing);
    let ResumedSession { mut log, transcript, bad_lines, .. } = store.open(id).unwrap();
    assert_eq!(transcript, expected[complete], "at {cut}");
    assert_eq!(bad_lines, u64::from(torn && !only_newline_missing), "at {cut}");
    assert_eq!(log.append(&user("next")), SaveOutcome::Yes);
    drop(log);

    let after = std::fs::read(&path).unwrap();
    assert_eq!(after[..cut], bytes[..cut], "at {cut}: bytes were changed");
    let added = std::str::from_utf8(&after[cut..]).unwrap();
    let lines =
        added.strip_prefix(if torn { "\n" } else { "" }).unwrap_or_else(|| panic!("at {cut}: {added}"));
    let added: Vec<Record> = lines.lines().map(|line| Record::parse(line.as_bytes()).unwrap()).collect();
    let answered = usize::from(matches!(records[..complete].last(), Some(Record::ToolUse(_))));
    assert_eq!((added.len(), added.last(), lines.ends_with('\n')), (answered + 1, Some(&user("next")), true));
}

#[test]
fn ten_thousand_flipped_bytes_and_no_panic() {
    let (_base, store) = store();
    let records = &two_hundred_records()[..25];
    let bytes = bytes_of(records);
    let id = SessionId::random();
    let path = path_of(&store, id);
    std::fs::create_dir_all(store.dir()).unwrap();
    let mut random = Random(0x5eed);
    for round in 0..10_000 {
        let mut damaged = bytes.clone();
        let flips = 1 + random.below(4);
        for _ in 0..flips {
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
        }
        if round % 10 != 0 {
            let mut count = 0;
            let scan = scan_lines(damaged.as_slice(), |_| count += 1).unwrap();
            assert_eq!(scan.records, count);
            // A flip harms its own line, and the next one when it was the newline; or it splits a line in two.
            assert!(count + 2 * flips as u64 >= 25, "{count} records after {flips} flips");
            continue;
        }
        std::fs::write(&path, &damaged).unwrap();
        match store.open(id) {
            Ok(opened) => assert!(opened.bad_lines <= 2 * flips as u64),
            Err(SessionOpenError::Newer { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Small, seeded and reproducible: all a fault test needs.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn a_second_writer_is_refused_until_the_first_leaves() {
    let (_base, store) = store();
    let id = SessionId::random();
    let mut first = store.create(id);
    first.append(&user("hi"));
    assert!(matches!(store.open(id), Err(SessionOpenError::InUse(other)) if other == id));
    assert_eq!(store.read(id).unwrap().transcript.turns, 1, "but it may be looked at");
    drop(first);
    let resumed = store.open(id).unwrap();
    assert!(matches!(store.open(id), Err(SessionOpenError::InUse(_))));
    drop(resumed);
    store.open(id).unwrap();
}

#[test]
fn a_child_being_started_does_not_keep_the_lock() {
    let (_base, store) = store();
    let id = saved(&store, &[user("hi")]);
    let file = std::fs::File::options().append(true).open(path_of(&store, id)).unwrap();
    // What a child has between fork and exec: the same open file.
    let childs = file.try_clone().unwrap();
    drop(SessionFileHandle::locked(file, true).unwrap());
    store.open(id).unwrap();
    drop(childs);
}

#[test]
fn a_newer_schema_is_read_and_never_appended_to() {
    let (_base, store) = store();
    let headers = [
        r#"{"type":"meta","schema_version":2,"ts":"2025-12-17T03:21:09Z"}"#,
        r#"{"type":"meta","schema_version":2,"when":17}"#,
    ];
    for header in headers {
        let id = saved(&store, &[user("hi")]);
        let path = path_of(&store, id);
        // Torn on purpose: not even the newline may be added.
        let content =
            format!("{header}\n{}", String::from_utf8(user("hi").to_line().unwrap()).unwrap().trim_end());
        std::fs::write(&path, &content).unwrap();
        let refused = store.open(id).unwrap_err();
        assert!(matches!(refused, SessionOpenError::Newer { found: 2, .. }), "{refused}");
        assert!(refused.to_string().contains("schema 2, this one knows 1"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        let loaded = store.read(id).unwrap();
        assert_eq!(loaded.transcript.first_prompt.as_deref(), Some("hi"));
        assert!(loaded.notices.iter().any(|notice| notice.contains("newer zdx")), "{:?}", loaded.notices);
    }
}

#[test]
fn a_missing_header_is_tolerated() {
    let (_base, store) = store();
    let id = saved(&store, &[]);
    std::fs::create_dir_all(store.dir()).unwrap();
    std::fs::write(path_of(&store, id), user("hi").to_line().unwrap()).unwrap();
    let ResumedSession { mut log, transcript, notices, .. } = store.open(id).unwrap();
    assert_eq!((transcript.turns, transcript.root, notices), (1, None, vec![]));
    assert_eq!(log.append(&user("on")), SaveOutcome::Yes);
}

#[test]
fn the_recorded_folder_and_model_come_back() {
    let (_base, store) = store();
    let id = saved(&store, &[user("hi")]);
    let transcript = store.open(id).unwrap().transcript;
    assert_eq!(transcript.root, Some("/project".into()));
    assert_eq!(transcript.model.as_deref(), Some("lab/qwen"));
    assert_eq!(transcript.id, Some(id.to_string()));
}

#[test]
fn unknown_types_stay_and_are_no_damage() {
    let (_base, store) = store();
    let id = saved(&store, &[user("hi")]);
    let path = path_of(&store, id);
    let foreign = r#"{"type":"weather","degrees":1.50,"ts":"2025-12-17T03:21:09Z"}"#;
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    writeln!(file, "{foreign}").unwrap();
    drop(file);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(store.open(id).unwrap().bad_lines, 0);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let kept = records_of(&store, id)
        .into_iter()
        .any(|record| matches!(record, Record::Unknown(unknown) if unknown.as_str() == foreign));
    assert!(kept);
}

#[test]
fn damaged_lines_are_counted_told_and_left_where_they_are() {
    let (_base, store) = store();
    let id = saved(&store, &[user("one")]);
    let path = path_of(&store, id);
    let mut content = std::fs::read(&path).unwrap();
    content.extend(b"\0\0\0\0\n\n\xff\xfe\n{\"type\":\"mess\n");
    content.extend(user("two").to_line().unwrap());
    std::fs::write(&path, &content).unwrap();
    let ResumedSession { transcript, notices, bad_lines, .. } = store.open(id).unwrap();
    assert_eq!((transcript.turns, bad_lines), (2, 3), "an empty line is no damage");
    assert_eq!(notices, ["3 damaged lines of this session were skipped; they stay in the file"]);
    assert_eq!(std::fs::read(&path).unwrap(), content);
}

#[test]
fn a_line_without_end_is_skipped_in_bounded_memory() {
    use std::io::{BufReader, Read, repeat};
    let next = user("two").to_line().unwrap();
    for (tail, torn) in [(&b"\n"[..], false), (&b""[..], true)] {
        let line = repeat(b'x').take((64 << 20) + 5).chain(tail).chain(if torn { &b""[..] } else { &next });
        let mut read = Vec::new();
        let scan = scan_lines(BufReader::with_capacity(1 << 20, line), |record| read.push(record)).unwrap();
        assert_eq!((scan.bad_lines, scan.torn), (1, torn));
        assert_eq!(read.len(), usize::from(!torn));
    }
}

#[test]
fn cut_off_calls_are_answered_in_the_file_once() {
    let (_base, store) = store();
    let id = saved(&store, &[user("do"), call("a"), call("b"), done("b")]);
    let opened = store.open(id).unwrap();
    assert!(opened.transcript.open_calls().is_empty());
    assert_eq!(opened.notices.len(), 1, "{:?}", opened.notices);
    drop(opened);
    let after = records_of(&store, id);
    let last = after.last().unwrap().to_line().unwrap();
    let last: Value = serde_json::from_slice(&last).unwrap();
    assert_eq!(
        (&last["type"], &last["tool_use_id"], &last["ok"]),
        (&json!("tool_result"), &json!("a"), &json!(false))
    );
    assert_eq!(last["output"]["error"]["code"], "interrupted");
    let again = store.open(id).unwrap();
    assert_eq!(again.notices, Vec::<String>::new());
    drop(again);
    assert_eq!(records_of(&store, id), after);
}

#[test]
fn what_is_not_there_or_no_file_is_said_so() {
    let (_base, store) = store();
    let id = SessionId::random();
    assert!(matches!(store.open(id), Err(SessionOpenError::NotFound(_))));
    assert!(matches!(store.read(id), Err(SessionOpenError::NotFound(_))));
    std::fs::create_dir_all(path_of(&store, id)).unwrap();
    assert!(matches!(store.open(id), Err(SessionOpenError::Unreadable { .. })));
}
