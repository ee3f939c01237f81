//! What a model thought, while it thinks and afterwards.

use super::*;

#[test]
fn thinking_is_a_line_when_it_is_over() {
    let mut shown = Shown::new(40);
    shown.tell([prompt("go"), Event::ReasoningDelta { text: "one\ntwo\nthree\nfour".into() }]);
    shown.now += Duration::from_secs(4);
    assert_eq!(shown.live(), ["", "∴ thinking 4 s", "  two", "  three", "  four"]);
    let (text, wire, model, opaque) = ("one\ntwo\nthree\nfour".into(), String::new(), String::new(), None);
    shown.tell([
        Event::ReasoningFinal(Reasoning { text, wire, model, opaque, took_ms: None }),
        delta("So."),
        over(Outcome::Completed),
    ]);
    assert_eq!(shown.settled, ["› go", "", "∴ thought for 4.0 s", "", "So.", "— ANSWER · 0.01 s"]);
    assert_eq!(shown.whole()[2..5], ["∴ thought for 4.0 s", "  one", "  two"]);
}

#[test]
fn thoughts_in_a_row_are_one_line() {
    let mut shown = Shown::new(60);
    shown.tell([prompt("go")]);
    for text in ["one", "two"] {
        shown.tell([Event::ReasoningDelta { text: text.into() }]);
        shown.now += Duration::from_secs(2);
        let (text, wire, model, opaque) = (text.into(), String::new(), String::new(), None);
        shown.tell([Event::ReasoningFinal(Reasoning { text, wire, model, opaque, took_ms: None })]);
    }
    shown.tell([delta("So."), said("So."), over(Outcome::Completed)]);
    assert_eq!(shown.settled, ["› go", "", "∴ thought for 4.0 s", "", "So.", "— ANSWER · 0.01 s"]);
    assert_eq!(shown.whole()[3..6], ["  one", "", "  two"]);
}

#[test]
fn a_thought_is_told_once_and_a_short_one_not_at_all() {
    let whole = |text: &str| {
        let (text, wire, model, opaque) = (text.to_owned(), String::new(), String::new(), None);
        Event::ReasoningFinal(Reasoning { text, wire, model, opaque, took_ms: None })
    };
    let mut shown = Shown::new(60);
    shown.tell([prompt("go"), Event::ReasoningDelta { text: "hm".into() }]);
    // The call is announced before the thought is given whole.
    shown.tell([announced("bash", None, None), whole("hm")]);
    shown.tell(ran("1", "make", "", 0));
    shown.tell([Event::ReasoningDelta { text: "so".into() }, delta("Done."), whole("so"), said("Done.")]);
    shown.tell([over(Outcome::Completed)]);
    assert_eq!(shown.settled, ["› go", "", "• Ran make · 2.1 s · exit 0", "", "Done.", "— ANSWER · 0.01 s"]);
    assert_eq!(shown.whole().iter().filter(|row| row.starts_with("∴")).count(), 2, "{:?}", shown.whole());

    let mut resumed = Shown::new(60);
    let past = |event| Event::Replayed { event: Box::new(event) };
    let long = "a long thought ".repeat(40);
    resumed
        .tell([prompt("go"), whole("hm"), said("One."), prompt("on"), whole(&long), said("Two.")].map(past));
    assert_eq!(resumed.settled.iter().filter(|row| row.starts_with("∴")).count(), 1, "{:?}", resumed.settled);
}
