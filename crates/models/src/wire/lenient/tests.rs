use serde_json::json;

use super::*;

#[test]
fn counts_come_in_many_forms() {
    for (value, expected) in [
        (json!(7), Some(7)),
        (json!(7.0), Some(7)),
        (json!(6.6), Some(7)),
        (json!("7"), Some(7)),
        (json!(" 7.0 "), Some(7)),
        (json!(0), Some(0)),
        (json!(-1), None),
        (json!("-1"), None),
        (json!(-0.4), None),
        (json!(1e300), None),
        (json!(u64::MAX), None),
        (json!("many"), None),
        (json!("NaN"), None),
        (json!(null), None),
        (json!([7]), None),
        (json!({"n": 7}), None),
        (json!(true), None),
    ] {
        assert_eq!(number(&value), expected, "{value}");
    }
}

#[test]
fn an_empty_error_is_none() {
    for value in [json!(null), json!({}), json!(""), json!("  "), json!([]), json!(false)] {
        assert!(!is_error(&value), "{value}");
    }
    for value in [json!("full"), json!({"message": ""}), json!(500), json!(true), json!(["x"])] {
        assert!(is_error(&value), "{value}");
    }
}

#[test]
fn half_a_pair_is_replaced_and_all_else_kept() {
    for (escaped, expected) in [
        (r#""a\ud83eb""#, "a\u{fffd}b"),
        (r#""a\udd80b""#, "a\u{fffd}b"),
        (r#""\ud83e\ud83e\udd80""#, "\u{fffd}\u{1f980}"),
        (r#""\ud83e\udd80""#, "\u{1f980}"),
        (r#""\\ud83e \ud83e""#, "\\ud83e \u{fffd}"),
        (r#""\ud83e""#, "\u{fffd}"),
        (r#""grüße \ud83e""#, "grüße \u{fffd}"),
    ] {
        let value: Value = serde_json::from_str(&without_lone_surrogates(escaped)).unwrap();
        assert_eq!(value, expected, "{escaped}");
    }
    // Text that is no escape at all is left to be found unreadable.
    for broken in ["\"\\", "\"\\u", "\"\\ud8", "\"\\ü\"", ""] {
        assert_eq!(without_lone_surrogates(broken), broken);
    }
}

#[test]
fn arguments_with_half_a_pair_are_read() {
    let read = arguments(r#"{"text":"\ud83e"}"#);
    assert_eq!(read.input(), json!({"text": "\u{fffd}"}));
    assert_eq!(arguments(r#"{"text":"\ud83e""#).raw(), Some(r#"{"text":"\ud83e""#));
}
