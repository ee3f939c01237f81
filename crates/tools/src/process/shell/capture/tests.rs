use std::path::Path;

use zdx_protocol::redact::Redactor;

use super::*;

const SECRET: &str = "planted-secret";

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new([SECRET]).unwrap())
}

fn captured(chunks: &[&[u8]], dir: Option<&Path>) -> CapturedStream {
    let mask = RedactStream::new(redactor());
    let spill = SpillSink::new(dir.map(SpillFolder::new).as_ref(), "call 1/..", "stdout");
    let mut capture = StreamCapture::new(spill, mask, None, (StreamOrder::default(), OutputStream::Out));
    for chunk in chunks {
        capture.push(chunk);
    }
    capture.finish(false)
}

#[test]
fn short_output_is_whole_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let captured = captured(&[b"one\n", b"two\n"], Some(dir.path()));
    assert_eq!(captured, CapturedStream { text: "one\ntwo\n".into(), bytes: 8, ..CapturedStream::default() });
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn output_of_exactly_the_limit_is_not_cut() {
    let bytes = vec![b'x'; LIMIT];
    assert!(!captured(&[&bytes], None).truncated);
    assert!(captured(&[&bytes, b"y"], None).truncated);
}

#[test]
fn long_output_keeps_head_and_tail_and_the_whole_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let whole: Vec<u8> = (0..200_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    for size in [1, 7, 4096, CHUNK, whole.len()] {
        let chunks: Vec<&[u8]> = whole.chunks(size).collect();
        let captured = captured(&chunks, Some(dir.path()));
        assert!(captured.truncated && captured.text.len() <= LIMIT, "{} at {size}", captured.text.len());
        assert!(captured.text.starts_with("0\n1\n2\n"));
        assert!(captured.text.ends_with("\n199998\n199999\n"));
        let missing = whole.len() - HEAD - TAIL;
        let path = captured.file.unwrap();
        // All that are shown, but for the marker itself; of the last one before it and the first behind it only a part is.
        let lines = 200_000 - (captured.text.lines().count() - 1);
        let marker = format!(
            "[zdx: {missing} of {} bytes ({lines} lines) left out here; the whole is in {}]",
            whole.len(),
            path.display()
        );
        assert!(captured.text.contains(&marker), "{size}");
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        assert_eq!(path.parent(), Some(dir.path()));
    }
    let first = dir.path().join("call_1___.stdout");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(first).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_cut_never_splits_a_character() {
    let whole = "é€😀".repeat(20_000);
    for shift in 0..4 {
        let text = format!("{}{whole}", "x".repeat(shift));
        let captured = captured(&[text.as_bytes()], None);
        assert!(captured.truncated && !captured.text.contains('\u{fffd}'));
        assert!(!captured.binary);
    }
}

#[test]
fn bytes_that_are_no_text_stay_within_the_limit() {
    let captured = captured(&[&vec![0xff; LIMIT - 1]], None);
    assert!(captured.truncated && captured.text.len() <= LIMIT);
    let captured = self::captured(&[b"a\0b"], None);
    assert_eq!((captured.text.as_str(), captured.binary), ("a\u{fffd}b", true));
}

#[test]
fn a_file_that_cannot_be_made_costs_nothing_but_the_file() {
    let dir = tempfile::NamedTempFile::new().unwrap();
    let captured = captured(&[&vec![b'x'; LIMIT + 1]], Some(dir.path()));
    assert!(captured.truncated && captured.file.is_none());
}

#[test]
fn the_file_is_capped_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let chunk = vec![b'x'; 8 * 1024 * 1024];
    let mut chunks = vec![&chunk[..]; 9];
    let end = format!("{} {SECRET}\n", "y".repeat(TAIL));
    chunks.push(end.as_bytes());
    let captured = captured(&chunks, Some(dir.path()));
    assert!(captured.text.ends_with("yyy [redacted]\n"));
    let path = captured.file.unwrap();
    let kept = std::fs::read(&path).unwrap();
    assert_eq!(kept.len() as u64, SPILL_LIMIT + CUT_FILE.len() as u64);
    assert!(kept.ends_with(CUT_FILE.as_bytes()) && captured.is_file_cut);
    assert!(captured.text.contains("; the first 64 MiB are in "));
    assert_eq!(captured.bytes, 72 * 1024 * 1024 + (end.len() - SECRET.len() + "[redacted]".len()) as u64);
}

#[test]
fn progress_holds_back_half_a_character_and_drops_when_nobody_reads() {
    let (to, mut from) = mpsc::channel(2);
    let mut progress = OutputProgress::new(to, redactor());
    for byte in "a€".as_bytes() {
        progress.push(&[*byte]);
    }
    progress.push(b"dropped");
    assert_eq!(from.try_recv().unwrap(), "a");
    assert_eq!(from.try_recv().unwrap(), "€");
    assert!(from.try_recv().is_err());
}

#[test]
fn no_cut_leaves_a_secret_or_half_of_one() {
    let dir = tempfile::tempdir().unwrap();
    for at in [HEAD - 5, LIMIT - 5, CHUNK - 5, 3 * CHUNK - 5] {
        let whole = format!("{}{SECRET}{}", "x".repeat(at), "y".repeat(4 * CHUNK));
        for size in [1, CHUNK, whole.len()] {
            let chunks: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
            let captured = captured(&chunks, Some(dir.path()));
            let file = std::fs::read_to_string(captured.file.unwrap()).unwrap();
            assert_eq!(file.find("[redacted]"), Some(at));
            assert!(!file.contains("plant") && !captured.text.contains("plant"), "{at} {size}");
        }
    }
}
