//! Lists to pick from.

use super::*;

#[test]
fn a_list_that_comes_late_takes_no_key_of_somebody_who_types() {
    let mut state = state();
    type_in(&mut state, "next");
    let late = reply(Reply::Agents(Vec::new()));
    state.update(Input::Ended(Purpose::Choose(Choice::Agent), late), Instant::now());
    assert!(state.overlays.in_front(false).is_none());
    assert_eq!(state.composer.text(), "next");
}

#[test]
fn a_list_opens_on_what_is_in_use() {
    let mut state = state();
    let offer = |name: &str| zdx_protocol::query::ModelOffer { name: name.into(), context_limit: None };
    let offers = ["test/a", "test/model", "test/z"].map(offer).into();
    state.update(Input::Ended(Purpose::Choose(Choice::Model), reply(Reply::Models(offers))), Instant::now());
    let effects = press(&mut state, Key::plain(KeyCode::Enter));
    assert_eq!(commands(&effects), [&Command::SetModel("test/model".into())]);
}

#[test]
fn a_page_stands_before_a_request_and_a_request_before_a_list() {
    let mut state = state();
    let now = Instant::now();
    let head = |state: &mut State| state.page(SIZE, now).map(|page| page.lines[0].to_string());
    let offer = zdx_protocol::query::ModelOffer { name: "test/a".into(), context_limit: None };
    let offers = reply(Reply::Models(vec![offer]));
    state.update(Input::Ended(Purpose::Choose(Choice::Model), offers.clone()), now);
    let list = head(&mut state);
    assert!(list.is_some());
    state.update(Input::Event(Event::ApprovalRequested(question())), now);
    assert_eq!(head(&mut state), None, "the request is drawn on the main screen");
    press(&mut state, Key::ctrl('o'));
    assert!(head(&mut state).is_some_and(|page| Some(page) != list), "the conversation");
    // A list that comes now waits behind both.
    state.update(Input::Ended(Purpose::Choose(Choice::Model), offers), now);
    assert_ne!(head(&mut state), list);
    press(&mut state, Key::char('q'));
    assert_eq!(head(&mut state), None, "the request again");
    let gone = Event::ApprovalWithdrawn { request: RequestId(7), id: "call_1".into() };
    state.update(Input::Event(gone), now);
    assert_eq!(head(&mut state), list);
    press(&mut state, Key::plain(KeyCode::Esc));
    assert_eq!(head(&mut state), None, "there was one list only");
}

#[test]
fn a_model_that_nobody_lists_is_doubted() {
    let mut state = state();
    let now = Instant::now();
    assert_eq!(commands(&send(&mut state, "/model test/modle")), [&Command::SetModel("test/modle".into())]);
    state.update(Input::Event(Event::ModelChanged { model: "test/modle".into() }), now);
    let asked = state.update(Input::Ended(Purpose::Switch, done()), now);
    assert_eq!(commands(&asked), [&Command::Ask(Query::Models)]);
    let offer = |name: &str| zdx_protocol::query::ModelOffer { name: name.into(), context_limit: None };
    let mut told = |names: &[&str]| {
        let offers = names.iter().map(|name| offer(name)).collect();
        state.update(Input::Ended(Purpose::Offered, reply(Reply::Models(offers))), now);
        let frame = state.frame(SIZE, now);
        frame.history.iter().chain(&frame.live).map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let doubted = told(&["test/other", "test/model"]);
    assert!(doubted.contains("did you mean   test/model?"), "{doubted}");
    assert!(!told(&["test/modle"]).contains("did you mean"), "it is listed");
    assert!(!told(&[]).contains("did you mean"), "no list says nothing");
}
