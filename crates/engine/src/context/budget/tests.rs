use zdx_protocol::record::{self, Record, UsageRecord};
use zdx_protocol::{Role, Transcript};

use super::*;

fn gauge(budget: &Budget, transcript: &Transcript) -> Gauge {
    Gauge::new(budget, "", &[], transcript.size())
}

fn said(role: Role, bytes: usize) -> Record {
    Record::Message(record::Message::new(role, "x".repeat(bytes), record::now()))
}

fn reported(input_tokens: u64, output_tokens: u64) -> Record {
    let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
    Record::Usage(UsageRecord { usage, ts: record::now() })
}

fn fold(records: &[Record]) -> Transcript {
    let mut transcript = Transcript::default();
    records.iter().for_each(|record| transcript.apply(record));
    transcript
}

#[test]
fn a_refusal_teaches_what_is_left() {
    let mut budget = Budget {
        limit: None,
        guessed: false,
        configured: None,
        max_tokens: 8192,
        dense: None,
        refused: None,
    };
    let message = "This model's maximum context length is 4096 tokens. However, you requested 8292 tokens \
                   (100 in the messages, 8192 in the completion).";
    let empty = gauge(&budget, &Transcript::default());
    let (Lesson::AskForLess(less), Some(4096)) = budget.learn(message, &empty) else { panic!("it fits") };
    assert!((3000..3996).contains(&less), "{less}");
    assert_eq!(budget.limit, Some(4096));
    assert_eq!(
        budget.learn("maximum context length is 4096 tokens, 4090 in the messages", &empty),
        (Lesson::TooFull, Some(4096))
    );
    let answer = "max_tokens=8192 cannot be greater than max_model_len=4096.";
    let (Lesson::AskForLess(less), Some(4096)) = budget.learn(answer, &empty) else { panic!("it fits") };
    assert!(less < 4096, "{less}");
}

/// 42 kB of digits, a token each, at a limit that nobody knew.
#[test]
fn a_refusal_teaches_what_a_token_weighs() {
    let digits = fold(&[said(Role::User, 42_000)]);
    let mut budget = Budget {
        limit: None,
        guessed: false,
        configured: None,
        max_tokens: 8192,
        dense: None,
        refused: None,
    };
    let thought = gauge(&budget, &digits);
    assert!(thought.used < 15_000);
    let message =
        "request (42024 tokens) exceeds the available context size (4096 tokens), try increasing it";
    assert_eq!(budget.learn(message, &thought), (Lesson::TooFull, Some(4096)));
    let known = gauge(&budget, &digits);
    assert!((41_000..44_000).contains(&known.used), "{}", known.used);
    assert!(known.input_bytes() < 2_100, "{}", known.input_bytes());
    (0..9).for_each(|_| budget.relax());
    assert!(gauge(&budget, &digits).used < 15_000, "what is light again is believed to be");
}

/// vLLM stops counting behind its limit: each refusal of what should have fitted halves what a token is thought to weigh.
#[test]
fn a_bound_teaches_by_halves() {
    let message =
        "maximum context length is 4096 tokens. However, your prompt contains at least 4097 input tokens";
    let mut budget = limited(4096);
    let mut sizes = Vec::new();
    let mut bytes = 42_000;
    for _ in 0..4 {
        let full = gauge(&budget, &fold(&[said(Role::User, bytes)]));
        assert_eq!(budget.learn(message, &full).0, Lesson::TooFull);
        bytes = gauge(&budget, &Transcript::default()).input_bytes();
        sizes.push(bytes);
    }
    assert_eq!(sizes, [6144, 1542, 1024, 1024], "down to half a byte a token");
}

#[test]
fn a_configured_limit_is_never_raised() {
    let mut budget = Budget { configured: Some(4096), ..limited(4096) };
    budget.set_limit(32_768);
    assert_eq!(budget.limit, Some(4096));
    budget.set_limit(2_048);
    assert_eq!(budget.limit, Some(2_048));
}

/// Only until a request is taken: a number that nobody named is no limit.
#[test]
fn a_refusal_without_numbers_makes_this_request_smaller_and_no_later_one() {
    for limit in [Some(100_000), None] {
        let mut budget = Budget { limit, ..limited(0) };
        let long = fold(&[said(Role::User, 60_000)]);
        let full = gauge(&budget, &long);
        assert_eq!(budget.learn("Prompt exceeds max length", &full), (Lesson::TooFull, None));
        assert_eq!(budget.limit, limit);
        let smaller = gauge(&budget, &long);
        assert!((17_000..20_000).contains(&smaller.limit) && smaller.should_compact(), "{}", smaller.limit);
        budget.learn("Prompt exceeds max length", &smaller);
        assert!(gauge(&budget, &long).limit <= smaller.limit);
        budget.accept();
        assert_eq!(gauge(&budget, &long).limit, limit.unwrap_or(ASSUMED_LIMIT));
    }
}

#[test]
fn a_context_that_was_filled_shows_its_size() {
    let filled = |limit: Option<u64>, read: u64, written: u64| {
        let mut budget =
            Budget { limit, guessed: false, configured: None, max_tokens: 8192, dense: None, refused: None };
        let usage = Usage { input_tokens: read, output_tokens: written, ..Usage::default() };
        (budget.learn_full(usage, 8192), budget.limit)
    };
    let full = |size: u64| (Some(size), Some(size));
    assert_eq!(filled(None, 3009, 1087), full(4096));
    assert_eq!(filled(None, 3009, 1086), full(4096), "some stop one token early");
    assert_eq!(filled(Some(32_768), 3009, 1087), full(4096), "whoever said so was wrong");
    assert_eq!(filled(Some(5000), 4000, 1000), full(5000));
    // max_tokens, a limit of answers, a server that does not count, and sizes of no context.
    for (read, written) in [(0, 4096), (4096, 0), (100, 8192), (2048, 2048), (3000, 1000), (100, 156)] {
        assert_eq!(filled(None, read, written), (None, None), "{read} {written}");
    }
}

#[test]
fn an_estimate_is_the_last_report_and_what_came_since() {
    let budget = limited(8192);
    let before = fold(&[said(Role::User, 3000)]);
    assert!((1000..1020).contains(&gauge(&budget, &before).used), "three bytes a token before any report");
    let mut records = vec![said(Role::User, 4000), said(Role::Assistant, 400), reported(1000, 100)];
    assert_eq!(gauge(&budget, &fold(&records)).used, 1100);
    records.push(said(Role::User, 2000));
    let used = gauge(&budget, &fold(&records)).used;
    assert!((1590..1620).contains(&used), "four bytes a token are learnt: {used}");
}

/// As seen: 8 % were shown of a context that the server had counted as nearly full.
#[test]
fn a_servers_count_stands_above_the_estimate() {
    let budget = limited(32_768);
    let mut records = vec![said(Role::User, 8_000), said(Role::Assistant, 100), reported(29_500, 30)];
    let full = gauge(&budget, &fold(&records));
    assert_eq!((full.used, full.usage().percent), (29_530, 91));
    assert!(full.should_compact());
    records.push(said(Role::User, 1_000));
    let later = gauge(&budget, &fold(&records)).used;
    assert!((31_000..32_000).contains(&later), "what comes is weighed by what was counted: {later}");
}

#[test]
fn a_server_that_does_not_count_is_not_believed() {
    let records = [said(Role::User, 30_000), said(Role::Assistant, 30), reported(10, 5)];
    assert!(gauge(&limited(8192), &fold(&records)).used > 10_000);
}

#[test]
fn an_answer_gets_what_is_left() {
    let full = gauge(&limited(8192), &fold(&[said(Role::User, 18_000)]));
    assert!((1500..2000).contains(&full.max_tokens()), "{}", full.max_tokens());
    assert_eq!(gauge(&limited(8192), &fold(&[said(Role::User, 90_000)])).max_tokens(), 256);
}
