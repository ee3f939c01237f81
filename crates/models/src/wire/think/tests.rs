use proptest::prelude::*;

use super::*;
use crate::StopReason;

/// A decoder whose frames are deltas of text, ended by a frame without any.
struct Plain;

impl Decode for Plain {
    fn frame(&mut self, frame: &Frame, out: Out) -> Result<(), ModelError> {
        out.push(ModelEvent::Text(frame.data.clone()));
        Ok(())
    }

    fn whole(&mut self, _: &[u8], _: Out) -> Result<(), ModelError> {
        Ok(())
    }

    fn finish(&mut self, out: Out) -> Result<(), ModelError> {
        out.push(ModelEvent::Stop(StopReason::EndTurn));
        Ok(())
    }
}

fn events(deltas: &[&str]) -> Vec<ModelEvent> {
    let mut split = ThinkSplit::new(Box::new(Plain), Wire::OpenaiChat, "m");
    let mut out = Vec::new();
    for delta in deltas {
        split.frame(&Frame { event: None, data: (*delta).to_owned() }, &mut out).unwrap();
    }
    split.finish(&mut out).unwrap();
    assert_eq!(out.pop(), Some(ModelEvent::Stop(StopReason::EndTurn)));
    out
}

/// What was thought, streamed and as a whole, and what was said; `|` where what was said before turned out as thinking.
fn read(deltas: &[&str]) -> (String, String, String) {
    let (mut streamed, mut thought, mut said) = (String::new(), String::new(), String::new());
    for event in events(deltas) {
        match event {
            ModelEvent::Text(text) => said.push_str(&text),
            ModelEvent::ReasoningDelta(text) => streamed.push_str(&text),
            ModelEvent::Reasoning(reasoning) => thought.push_str(&reasoning.text),
            ModelEvent::WasThinking => said.push('|'),
            other => panic!("{other:?}"),
        }
    }
    (streamed, thought, said)
}

#[test]
fn a_leading_block_is_thinking() {
    for (text, thought, said) in [
        ("<think>I should look.</think>\n\nHere.", "I should look.", "Here."),
        (" \n<think>\na\n\nb\n</think>Here.", "a\n\nb", "Here."),
        ("<think>\n\n</think>\n\nHere.", "", "Here."),
        ("<think>a</think>\n\n    code", "a", "    code"),
        ("<think>a</think> Here.", "a", "Here."),
        ("<think>a</think>\n \n", "a", ""),
        // Never closed: it thought to the end.
        ("<think>and then", "and then", ""),
        ("<think>and then</thi", "and then</thi", ""),
        ("<think>a < b </ c</think>d", "a < b </ c", "d"),
        // No block, or none that leads.
        ("Hello", "", "Hello"),
        ("\n\nHello ", "", "\n\nHello "),
        ("<thinly>", "", "<thinly>"),
        ("<th", "", "<th"),
        ("  ", "", "  "),
        ("", "", ""),
        ("Use <think>x</think> so.", "", "Use <think>x</think> so."),
        ("<think>a</think>b\n</think>\n<think>c", "a", "b\n</think>\n<think>c"),
    ] {
        let expected = (thought.to_owned(), thought.to_owned(), said.to_owned());
        assert_eq!(read(&[text]), expected, "{text:?}");
    }
}

/// The template opened it, so the text comes at once: what it was is said when it is known, and the tag is never shown.
#[test]
fn a_block_that_only_ends_says_what_the_text_was() {
    for (text, said) in [
        ("I think.\n</think>\n\nHere.", "I think.\n|Here."),
        ("I think.\r\n</think>\r\nHere.", "I think.\r\n|Here."),
        ("I think.\n</think>", "I think.\n|"),
        ("</think>\n\nHere.", "Here."),
        ("\n</think>Here.", "Here."),
        // Talked about, not used.
        ("I think.\n</think> ends it", "I think.\n</think> ends it"),
        ("It ends with </think>\nso", "It ends with </think>\nso"),
        ("Write:\n<think>\nx\n</think>\nso", "Write:\n<think>\nx\n</think>\nso"),
        ("a\n</thin", "a\n</thin"),
    ] {
        assert_eq!(read(&[text]).2, said, "{text:?}");
    }
}

#[test]
fn text_is_held_back_only_where_a_tag_may_begin() {
    let text = |text: &str| ModelEvent::Text(text.to_owned());
    assert_eq!(events(&["Hel", "lo\n", "<b", "> a </think"]), ["Hel", "lo\n", "<b", "> a </think"].map(text));
    assert_eq!(events(&["Hi\n", "</", "p>"]), ["Hi\n", "</p>"].map(text));
    assert_eq!(
        events(&["<think>a", " b", "\n</think>c", "<think>"])[..2],
        [ModelEvent::ReasoningDelta("a".to_owned()), ModelEvent::ReasoningDelta(" b".to_owned())]
    );
}

#[test]
fn a_server_that_tells_thinking_apart_is_left_alone() {
    let mut split = ThinkSplit::new(Box::new(Plain), Wire::OpenaiChat, "m");
    split.decoded.push(ModelEvent::ReasoningDelta("hm".to_owned()));
    let mut out = Vec::new();
    split.split(&mut out);
    split.frame(&Frame { event: None, data: "<think> is a tag".to_owned() }, &mut out).unwrap();
    assert_eq!(out[1], ModelEvent::Text("<think> is a tag".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// The pieces an answer comes in do not change what it says.
    #[test]
    fn any_split_reads_alike(
        words in proptest::collection::vec(
            prop_oneof![
                Just("<think>"), Just("</think>"), Just("<"), Just("</"), Just("think>"), Just("\n"), Just("\r\n"),
                Just(" "), Just("a"), Just("ü"),
            ],
            0..12,
        ),
        cuts in proptest::collection::vec(0..64usize, 0..12),
    ) {
        let text = words.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| *at <= text.len() && text.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let mut at = 0;
        let pieces: Vec<&str> = cuts.iter().map(|cut| &text[std::mem::replace(&mut at, *cut)..*cut]).collect();
        let whole = read(&[&text]);
        prop_assert_eq!(&read(&pieces), &whole, "{:?}", pieces);
        prop_assert_eq!(&whole.0, &whole.1, "what streamed is what was thought");
    }
}
