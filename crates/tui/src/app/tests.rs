mod approval_focus;
mod calm;
mod images;
mod lists;
mod outputs;
mod sessions;
mod streams;
mod typing;
mod waiting;

use std::path::PathBuf;

use zdx_protocol::display::text::width;
use zdx_protocol::query::Named;
use zdx_protocol::{
    Action, Approval, ApprovalRequest, CommandId, Danger, Decision, Origin, Preview, Reason, ReasonCode,
    Reply, RequestId, TurnState, TurnSummary, Usage,
};

use super::*;
use crate::composer::History;
use crate::key::KeyCode;
use crate::theme::Depth;

const SIZE: Size = Size { columns: 80, rows: 24 };

fn state() -> State {
    let theme = Theme::new(Depth::None, false);
    let mut state = State::new(theme, None, Composer::new(History::default()), None);
    let now = Instant::now();
    state.update(Input::Event(Event::SessionStarted(info())), now);
    state.update(Input::Ended(Purpose::Begin, done()), now);
    state
}

fn info() -> SessionInfo {
    SessionInfo {
        session: "0123456789".into(),
        root: PathBuf::from("/work/app"),
        model: "test/model".into(),
        agent: "build".into(),
        approval: Approval::Balanced,
        context_limit: None,
        resumed: false,
        saved: true,
        parent: None,
        task: None,
        one_prompt: false,
        last: None,
    }
}

fn done() -> Event {
    Event::Done { id: CommandId(1) }
}

fn reply(answer: Reply) -> Event {
    Event::Reply { id: CommandId(1), answer }
}

/// Types this and presses Enter.
fn send(state: &mut State, text: &str) -> Vec<Effect> {
    type_in(state, text);
    press(state, Key::plain(KeyCode::Enter))
}

fn type_in(state: &mut State, text: &str) {
    for c in text.chars() {
        press(state, Key::char(c));
    }
}

fn press(state: &mut State, key: Key) -> Vec<Effect> {
    state.update(Input::Key(key), Instant::now())
}

/// Without what is asked for the history and the status row.
fn commands(effects: &[Effect]) -> Vec<&Command> {
    let command = |effect| match effect {
        &Effect::Send(Purpose::Remember | Purpose::Status | Purpose::Complete(_), _) => None,
        Effect::Send(_, command) => Some(command),
        _ => None,
    };
    effects.iter().filter_map(command).collect()
}

fn prompt(text: &str) -> Command {
    Command::Prompt(text.into())
}

fn rows(state: &mut State) -> Vec<String> {
    state.frame(SIZE, Instant::now()).live.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_sent_in_a_turn_waits_for_its_end() {
    let mut state = state();
    assert_eq!(commands(&send(&mut state, "first")), [&prompt("first")]);
    assert!(commands(&send(&mut state, "second")).is_empty());
    assert!(commands(&send(&mut state, "!third")).is_empty());
    assert!(rows(&mut state).iter().any(|row| row.contains("queued: second")), "{:?}", rows(&mut state));
    let next = state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert_eq!(commands(&next), [&prompt("second")]);
    let next = state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert_eq!(commands(&next), [&Command::Shell("!third".into())]);
    assert!(!rows(&mut state).iter().any(|row| row.contains("queued")));
}

#[test]
fn what_waits_can_be_taken_back_and_edited() {
    let mut state = state();
    send(&mut state, "first");
    send(&mut state, "secnod");
    press(&mut state, Key::plain(KeyCode::Up));
    assert_eq!(state.composer.text(), "secnod");
    assert!(state.queue.is_empty());
}

#[test]
fn each_up_takes_back_one_more_and_loses_nothing() {
    let mut state = state();
    for text in ["runs", "one", "two"] {
        send(&mut state, text);
    }
    type_in(&mut state, "three");
    press(&mut state, Key::plain(KeyCode::Up));
    press(&mut state, Key::plain(KeyCode::Up));
    assert_eq!(state.composer.text(), "one\n\ntwo\n\nthree");
    assert!(state.queue.is_empty());
}

#[test]
fn ctrl_c_stops_clears_and_leaves_when_pressed_twice_in_time() {
    let mut state = state();
    let now = Instant::now();
    let ctrl_c = |state: &mut State, after: u64| {
        state.update(Input::Key(Key::ctrl('c')), now + Duration::from_millis(after))
    };
    send(&mut state, "go");
    assert_eq!(commands(&ctrl_c(&mut state, 0)), [&Command::Interrupt]);
    assert_eq!(ctrl_c(&mut state, 100), [Effect::Leave(Left::Interrupted)], "impatient");
    state.update(Input::Ended(Purpose::Turn, done()), now);

    state.warned = None;
    type_in(&mut state, "half a thought");
    assert!(ctrl_c(&mut state, 5_000).is_empty());
    assert!(state.composer.is_empty());
    assert!(ctrl_c(&mut state, 5_100).is_empty());
    assert!(rows(&mut state).last().is_some_and(|row| row.contains("Ctrl-C again leaves")));
    assert!(ctrl_c(&mut state, 9_000).is_empty(), "too late to be the second one");
    state.update(Input::Tick, now + Duration::from_secs(20));
    assert!(!rows(&mut state).last().is_some_and(|row| row.contains("again")));
}

#[test]
fn open_steps_stand_apart() {
    let mut state = state();
    let todo = |content: &str, status| zdx_protocol::Todo { id: "1".into(), content: content.into(), status };
    let items = vec![todo("read", zdx_protocol::TodoStatus::Pending)];
    state.update(Input::Event(Event::TurnStarted { turn: 1, prompt: "go".into() }), Instant::now());
    state.update(Input::Event(Event::AssistantDelta { text: "so".into() }), Instant::now());
    state.update(Input::Event(Event::TodosChanged { items, draft: false }), Instant::now());
    let rows = rows(&mut state);
    let at = rows.iter().position(|row| row.starts_with("todo")).unwrap();
    assert_eq!(rows[at - 2..=at + 1], ["  [ ] read", "", "todo · 0 of 1 done", "[ ] read"]);
}

#[test]
fn nobody_slips_into_yolo() {
    let mut state = state();
    let effects = press(&mut state, Key::shift(KeyCode::Tab));
    assert_eq!(commands(&effects), [&Command::SetApproval(Approval::Paranoid)]);
    state.update(Input::Event(Event::ApprovalChanged { approval: Approval::Paranoid }), Instant::now());
    assert!(press(&mut state, Key::shift(KeyCode::Tab)).is_empty());
    assert!(state.dialogs.is_open());
    // The same key goes on, past yolo.
    let effects = press(&mut state, Key::shift(KeyCode::Tab));
    assert_eq!(commands(&effects), [&Command::SetApproval(Approval::Balanced)]);
    assert!(!state.dialogs.is_open());
    let mut state = self::state();
    assert!(commands(&send(&mut state, "/approval yolo")).is_empty());
    assert!(state.dialogs.is_open());
}

#[test]
fn a_command_of_ones_own_is_sent_if_there_is_one() {
    let mut state = state();
    let effects = send(&mut state, "/ship now");
    let Some(Effect::Send(custom @ Purpose::Custom { .. }, _)) = effects.last() else {
        panic!("{effects:?}")
    };
    let known =
        |name: &str| reply(Reply::Commands(vec![Named { name: name.into(), description: "".into() }]));
    let effects = state.update(Input::Ended(custom.clone(), known("ship")), Instant::now());
    assert_eq!(commands(&effects), [&prompt("/ship now")]);
    let effects = state.update(Input::Ended(custom.clone(), known("shop")), Instant::now());
    assert!(commands(&effects).is_empty());
    let history = state.frame(SIZE, Instant::now()).history;
    assert!(history.iter().any(|line| line.to_string().contains("there is no command /ship")));
}

#[test]
fn a_line_is_remembered_as_it_comes_back_redacted() {
    let mut state = state();
    let effects = send(&mut state, "the key is sk-1");
    let command = Command::Remember { line: "the key is sk-1".into() };
    assert!(effects.contains(&Effect::Send(Purpose::Remember, command)), "{effects:?}");
    assert!(state.composer.is_empty());
    let redacted = reply(Reply::Remembered("the key is [redacted]".into()));
    assert!(state.update(Input::Ended(Purpose::Remember, redacted), Instant::now()).is_empty());
    press(&mut state, Key::plain(KeyCode::Up));
    assert_eq!(state.composer.text(), "the key is [redacted]");
    let failed =
        Event::Error { command: None, kind: ErrorKind::Internal, message: "no".into(), details: None };
    assert!(state.update(Input::Ended(Purpose::Remember, failed), Instant::now()).is_empty());
}

#[test]
fn a_line_that_leaves_is_not_remembered() {
    assert_eq!(send(&mut state(), "/exit"), [Effect::Leave(Left::Meant)]);
}

#[test]
fn the_live_region_leaves_half_of_the_screen_and_the_caret_is_in_it() {
    let mut state = state();
    let now = Instant::now();
    send(&mut state, "go");
    let text = "a line that is said\n\n".repeat(40);
    state.update(Input::Event(Event::StateChanged { state: TurnState::ModelGenerating }), now);
    state.update(Input::Event(Event::AssistantDelta { text }), now);
    type_in(&mut state, &"多行的输入 ".repeat(40));
    for size in
        [SIZE, Size { columns: 40, rows: 10 }, Size { columns: 20, rows: 5 }, Size { columns: 1, rows: 1 }]
    {
        let frame = state.frame(size, now);
        assert!(frame.live.len() <= usize::from(size.rows / 2).max(4), "{size:?}: {}", frame.live.len());
        let (column, row) = frame.cursor.expect("the composer has the caret");
        assert!(
            usize::from(row) < frame.live.len() && column < size.columns.max(2),
            "{size:?}: {column},{row}"
        );
        for line in frame.live.iter().chain(&frame.history) {
            assert!(width(&line.to_string()) <= usize::from(size.columns).max(2), "{size:?}: {line}");
        }
    }
}

fn question() -> ApprovalRequest {
    let command = "make".to_owned();
    ApprovalRequest {
        request: RequestId(7),
        agent: None,
        task: None,
        id: "call_1".into(),
        tool: "bash".into(),
        action: Action::Command { command: command.clone(), cwd: "/work/app".into(), origin: Origin::Model },
        preview: Preview::Command { command },
        danger: Danger::Ask,
        reason: Reason { code: ReasonCode::ApprovalRequired, message: "the rules ask".into(), rule: None },
        grant: None,
        wider: None,
        approval: None,
    }
}

#[test]
fn a_question_is_answered_by_what_was_decided() {
    let mut state = state();
    let request = question();
    let id = request.request;
    let now = Instant::now();
    let effects = state.update(Input::Event(Event::ApprovalRequested(request)), now);
    assert_eq!(effects, [Effect::Bell]);
    state.frame(SIZE, now);
    assert!(state.update(Input::Key(Key::char('y')), now).is_empty(), "not yet");
    assert_eq!(state.composer.text(), "y", "what is typed stays in the composer");
    press(&mut state, Key::plain(KeyCode::Backspace));
    let later = now + Duration::from_secs(3);
    let effects = state.update(Input::Key(Key::char('y')), later);
    let answer = Command::Answer { request: id, decision: Decision::AllowOnce };
    assert_eq!(commands(&effects), [&answer]);
}

#[test]
fn a_queued_command_of_ones_own_is_not_overtaken() {
    let mut state = state();
    send(&mut state, "first");
    let effects = send(&mut state, "/ship");
    let Some(Effect::Send(custom @ Purpose::Custom { .. }, _)) = effects.last() else {
        panic!("{effects:?}")
    };
    let known = reply(Reply::Commands(vec![Named { name: "ship".into(), description: "".into() }]));
    state.update(Input::Ended(custom.clone(), known), Instant::now());
    send(&mut state, "then tag it");
    let effects = state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert_eq!(commands(&effects), [&prompt("/ship")]);
    let effects = state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert_eq!(commands(&effects), [&prompt("then tag it")]);
}

#[test]
fn a_question_is_seen_whatever_page_is_open() {
    let mut state = state();
    press(&mut state, Key::ctrl('o'));
    assert!(state.page(SIZE, Instant::now()).is_some());
    state.update(Input::Event(Event::ApprovalRequested(question())), Instant::now());
    assert!(state.page(SIZE, Instant::now()).is_none());
    assert!(rows(&mut state).iter().any(|row| row.contains("make")));
}

#[test]
fn what_a_model_is_asked_for_can_be_stopped() {
    let mut state = state();
    let effects = send(&mut state, "/summarize");
    assert!(effects.contains(&Effect::Send(Purpose::Draft, Command::Ask(Query::Summary))), "{effects:?}");
    assert_eq!(commands(&press(&mut state, Key::plain(KeyCode::Esc))), [&Command::Interrupt]);
    assert!(commands(&press(&mut state, Key::plain(KeyCode::Esc))).is_empty());
}

#[test]
fn a_draft_is_markdown_and_what_copy_takes() {
    let mut state = state();
    state.update(Input::Event(Event::TurnStarted { turn: 1, prompt: "go".into() }), Instant::now());
    state.update(Input::Event(Event::AssistantDelta { text: "the answer".into() }), Instant::now());
    send(&mut state, "/handoff ship it");
    let drafted = zdx_protocol::query::Drafted { text: "# Goal\n\n**ship** it".into(), note: None };
    state.update(Input::Ended(Purpose::Draft, reply(Reply::Handoff(drafted))), Instant::now());
    assert!(rows(&mut state).iter().any(|row| row == "ship it"), "{:?}", rows(&mut state));
    let effects = send(&mut state, "/copy");
    assert!(effects.contains(&Effect::Copy("# Goal\n\n**ship** it".into())), "{effects:?}");
}

#[test]
fn what_an_editor_wrote_is_not_completed_by_what_was_offered_before() {
    let mut state = state();
    type_in(&mut state, "/mod");
    state.update(Input::Edited(Ok("a whole prompt\n".into())), Instant::now());
    assert_eq!(commands(&press(&mut state, Key::plain(KeyCode::Enter))), [&prompt("a whole prompt")]);
}

#[test]
fn open_steps_do_not_hide_what_goes_on() {
    use zdx_protocol::{Todo, TodoStatus};
    let mut state = state();
    let mut tell = |event: Event| drop(state.update(Input::Event(event), Instant::now()));
    tell(Event::TurnStarted { turn: 1, prompt: "go".into() });
    let item =
        |n: usize| Todo { id: n.to_string(), content: format!("step {n}"), status: TodoStatus::Pending };
    tell(Event::TodosChanged { items: (0..9).map(item).collect(), draft: false });
    let lines: String = (0..20).map(|n| format!("line {n}  \n")).collect();
    tell(Event::AssistantDelta { text: lines });
    send(&mut state, "and this");
    for (rows, told, steps) in [(24, 8, 4), (34, 8, 6), (10, 1, 1)] {
        let size = Size { columns: 80, rows };
        let frame = state.frame(size, Instant::now());
        let live: Vec<String> = frame.live.iter().map(ToString::to_string).collect();
        let count = |word: &str| live.iter().filter(|row| row.contains(word)).count();
        assert!(live.len() <= usize::from(rows) * 3 / 4, "{rows}: {live:?}");
        assert!(count("line ") + count("above") >= told && count("step ") >= steps, "{rows}: {live:#?}");
    }
}

#[test]
fn whoever_takes_a_turn_back_can_word_it_anew() {
    let mut state = state();
    let now = Instant::now();
    let reverted = |turn| Input::Event(Event::Reverted { turn, files: Vec::new(), left: None });
    for (turn, prompt) in [(1, "first"), (2, "second")] {
        state.update(Input::Event(Event::TurnStarted { turn, prompt: prompt.into() }), now);
    }
    assert_eq!(commands(&send(&mut state, "/revert")), [&Command::Revert { turn: None, keep_files: false }]);
    state.update(reverted(2), now);
    assert_eq!(state.composer.text(), "second");
    let told: Vec<String> = state.frame(SIZE, now).history.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|row| row == "› /revert"), "{told:?}");
    assert!(told.iter().any(|row| row.starts_with("back to before turn 2")), "{told:?}");
    // Brought back and taken back once more.
    state.composer.set("");
    state.update(Input::Event(Event::Redone { turn: 2, files: Vec::new() }), now);
    state.update(reverted(2), now);
    assert_eq!(state.composer.text(), "second");
    // What is typed meanwhile is not lost, and what is asked again by itself does not come back either.
    state.update(reverted(1), now);
    assert_eq!(state.composer.text(), "second");
    state.composer.set("");
    state.update(Input::Event(Event::TurnStarted { turn: 1, prompt: "first".into() }), now);
    send(&mut state, "/retry");
    state.update(reverted(1), now);
    assert_eq!(state.composer.text(), "");
}

#[test]
fn a_long_prompt_comes_back_as_a_chip() {
    let mut state = state();
    let now = Instant::now();
    let long: String = (1..=2000).map(|n| format!("line {n}\n")).collect();
    let asked = |prompt: &str| Input::Event(Event::TurnStarted { turn: 1, prompt: prompt.into() });
    let back = || Input::Event(Event::Reverted { turn: 1, files: Vec::new(), left: None });
    state.update(asked(&long), now);
    state.update(back(), now);
    assert_eq!(state.composer.text(), long);
    let frame = state.frame(SIZE, now);
    let live: Vec<String> = frame.live.iter().map(ToString::to_string).collect();
    assert!(live.iter().any(|row| row.contains("[pasted 1999 lines #1]")), "{live:?}");
    // One that is too long to be kept leaves nothing of what the turn was asked before.
    state.composer.set("");
    state.update(asked(&"x".repeat(300 << 10)), now);
    state.update(back(), now);
    assert_eq!(state.composer.text(), "");
}
