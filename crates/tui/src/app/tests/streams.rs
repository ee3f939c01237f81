//! The whole way of an answer: from the pieces in which a model writes it to what stands in the terminal at last.

use proptest::prelude::*;

use super::*;
use crate::term::tests::streams::InMemory;

const FIRST: &str = "begin:";

fn answered(pieces: &[&str], size: Size) -> Vec<String> {
    let (mut state, mut terminal, now) = (state(), InMemory::new(size.columns, size.rows), Instant::now());
    send(&mut state, "go");
    let mut tell = |event: Event| {
        state.update(Input::Event(event), now);
        terminal.show(&state.frame(size, now));
    };
    tell(Event::TurnStarted { turn: 1, prompt: "go".into() });
    for piece in pieces {
        tell(Event::AssistantDelta { text: (*piece).to_owned() });
    }
    tell(Event::AssistantFinal { text: pieces.concat(), partial: false, continues: false });
    terminal.show(&state.last_frame(size, now));
    terminal.rows()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever way it streams, in whatever window: each of its words stands there once, in order.
    #[test]
    fn an_answer_stands_in_the_terminal_as_it_was_written(
        words in prop::collection::vec("[a-z漢é🦀]{1,9}( |\n|\n\n)", 1..14),
        cuts in prop::collection::vec(1_usize..40, 1..8),
        columns in 12_u16..100,
        rows in 5_u16..40,
    ) {
        let source = format!("{FIRST} {}", words.concat());
        let (mut rest, mut pieces): (&str, Vec<&str>) = (&source, Vec::new());
        for cut in cuts.iter().cycle() {
            let (piece, more) = rest.split_at(rest.ceil_char_boundary((*cut).min(rest.len())));
            pieces.push(piece);
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        let shown = letters(&answered(&pieces, Size { columns, rows }).concat());
        let from = shown.rfind(FIRST).expect("the answer is there");
        prop_assert_eq!(shown.matches(FIRST).count(), 1);
        prop_assert_eq!(&shown[from..], letters(&source));
    }
}
