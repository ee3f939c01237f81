use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn frames(pieces: &[&[u8]]) -> Vec<(Option<String>, String)> {
    let mut framer = Framer::default();
    let mut found = Vec::new();
    let mut sink = |frame: &Frame| {
        found.push((frame.event.clone(), frame.data.clone()));
        Ok(())
    };
    for piece in pieces {
        framer.push(piece, &mut sink).unwrap();
    }
    framer.finish(&mut sink).unwrap();
    found
}

fn data(text: &str) -> Vec<String> {
    frames(&[text.as_bytes()]).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn lines_end_in_three_ways() {
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("event: a{end}data: 1{end}{end}data: 2{end}{end}");
        assert_eq!(
            frames(&[text.as_bytes()]),
            [(Some("a".to_owned()), "1".to_owned()), (None, "2".to_owned())],
            "{end:?}"
        );
    }
}

#[test]
fn fields_follow_the_format() {
    assert_eq!(data("data:no space\n\n"), ["no space"]);
    assert_eq!(data("data:  two\n\n"), [" two"]);
    assert_eq!(data("data: a\ndata: b\ndata\ndata:c\n\n"), ["a\nb\n\nc"]);
    assert_eq!(data(": hello\n\n:\ndata: x\n: again\nid: 7\nretry: 10\nother\n\n"), ["x"]);
    assert_eq!(data("\u{feff}data: bom\n\n"), ["bom"]);
    assert_eq!(data("event: only\n\ndata: x\n\n"), ["x"]);
    assert_eq!(data("\n\n\n"), Vec::<String>::new());
}

#[test]
fn the_last_event_may_lack_its_end() {
    assert_eq!(data("data: a\n\ndata: b\n"), ["a", "b"]);
    assert_eq!(data("data: a\n\ndata: b"), ["a", "b"]);
}

#[test]
fn bytes_that_are_no_utf8_do_not_stop_the_stream() {
    assert_eq!(frames(&[b"data: a\xffb\n\n"])[0].1, "a\u{fffd}b");
}

#[test]
fn every_split_gives_the_same_frames() {
    let text = "\u{feff}: hi\r\ndata: grüße 🦀\r\ndata: zwei\r\revent: x\ndata: 3\r\n\r\n\ndata: letzte";
    let whole = frames(&[text.as_bytes()]);
    assert_eq!(whole.len(), 3);
    let bytes = text.as_bytes();
    for a in 0..=bytes.len() {
        for b in a..=bytes.len() {
            assert_eq!(frames(&[&bytes[..a], &bytes[a..b], &bytes[b..]]), whole, "{a} {b}");
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(frames(&single), whole);
}

proptest! {
    #[test]
    fn any_bytes_in_any_split_frame_alike(
        bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>()
        ], 0..200),
        cuts in proptest::collection::vec(0usize..200, 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| *c <= bytes.len()).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let mut pieces = Vec::new();
        let mut at = 0;
        for cut in cuts {
            pieces.push(&bytes[at..cut]);
            at = cut;
        }
        prop_assert_eq!(frames(&pieces), frames(&[&bytes]));
    }
}

#[test]
fn a_large_event_in_single_bytes_is_not_quadratic() {
    let mut body = b"data: ".to_vec();
    body.resize(10 * 1024 * 1024, b'x');
    body.extend_from_slice(b"\n\n");
    let started = Instant::now();
    let mut framer = Framer::default();
    let mut length = 0;
    for byte in body.chunks(1) {
        framer
            .push(byte, &mut |frame| {
                length = frame.data.len();
                Ok(())
            })
            .unwrap();
    }
    assert_eq!(length, 10 * 1024 * 1024 - 6);
    // Linear work takes about a second unoptimised; quadratic work would take hours.
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn an_event_without_end_is_refused_in_time() {
    for piece in [&b"data: xxxxxxxxxxxxxxxx\n"[..], b"xxxxxxxxxxxxxxxxxxxxxx"] {
        let mut framer = Framer { limit: Some(4096), ..Framer::default() };
        let mut pushed = 0;
        let error = loop {
            pushed += piece.len();
            match framer.push(piece, &mut |_| Ok(())) {
                Ok(()) => assert!(pushed < 16 * 4096, "never refused"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ModelError::Protocol(_)));
    }
}
