//! Typed text never answers a request: neither at any speed, nor whatever it says, nor wherever it was typed.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use zdx_protocol::display::approval::ANSWER_PAUSE;
use zdx_protocol::query::AgentInfo;
use zdx_protocol::{Standing, TrustRequest, TrustState, Want};

use super::*;

const ENTER: Key = Key::plain(KeyCode::Enter);
const UP: Key = Key::plain(KeyCode::Up);
const DOWN: Key = Key::plain(KeyCode::Down);
const TAB: Key = Key::plain(KeyCode::Tab);
const BACKSPACE: Key = Key::plain(KeyCode::Backspace);

const CASES: u32 = 1500;

/// A state with a clock of its own.
struct Keyboard {
    state: State,
    now: Instant,
}

impl Keyboard {
    fn new() -> Self {
        let mut state = state();
        let earlier = vec!["an earlier prompt".to_owned()];
        state.update(Input::Remembered(earlier), Instant::now());
        let now = Instant::now();
        Self { state, now }
    }

    fn after(&mut self, gap: u64, input: Input) -> Vec<Effect> {
        self.now += Duration::from_millis(gap);
        let effects = self.state.update(input, self.now);
        self.draw();
        effects
    }

    fn key(&mut self, gap: u64, key: Key) -> Vec<Effect> {
        self.after(gap, Input::Key(key))
    }

    fn keys(&mut self, gap: u64, text: &str) -> Vec<Effect> {
        text.chars().flat_map(|c| self.key(gap, Key::char(c))).collect()
    }

    fn draw(&mut self) {
        if self.state.page(SIZE, self.now).is_none() {
            self.state.frame(SIZE, self.now);
        }
    }

    fn ask(&mut self, request: ApprovalRequest) {
        self.after(0, Input::Event(Event::ApprovalRequested(request)));
    }

    fn shows(&mut self, text: &str) -> bool {
        self.state.frame(SIZE, self.now).live.iter().any(|row| row.to_string().contains(text))
    }

    fn typed(&self) -> String {
        self.state.composer.text()
    }
}

fn dangerous() -> ApprovalRequest {
    ApprovalRequest { danger: Danger::Confirm, ..question() }
}

fn grantable() -> ApprovalRequest {
    let grant = Some("bash make".to_owned());
    ApprovalRequest { grant: grant.clone(), wider: grant, approval: Some(Approval::Balanced), ..question() }
}

fn trust(number: u64) -> Event {
    let want =
        Want { file: ".mcp.json".into(), line: 1, key: "k".into(), what: "start the MCP server `a`".into() };
    let standing = Standing::Unknown;
    let state = TrustState { root: "/work/app".into(), standing, changed: Vec::new(), wants: vec![want] };
    Event::TrustRequested(TrustRequest { request: RequestId(number), state })
}

fn agents() -> Input {
    let agent = |name: &str| AgentInfo {
        name: name.into(),
        description: String::new(),
        in_use: false,
        primary: true,
    };
    let found = ["build", "yes", "plan"].map(agent).into();
    Input::Ended(Purpose::Choose(Choice::Agent), reply(Reply::Agents(found)))
}

#[test]
fn an_arrow_before_the_pause_recalls_history_and_moves_no_choice() {
    let mut keyboard = Keyboard::new();
    keyboard.ask(dangerous());
    assert!(commands(&keyboard.key(300, UP)).is_empty());
    assert_eq!(keyboard.typed(), "an earlier prompt");
    assert!(!grants(&keyboard.key(334, ENTER)), "it is a prompt");
    assert!(keyboard.state.dialogs.is_open());
    keyboard.now += ANSWER_PAUSE;
    assert!(keyboard.shows("▸ n"));
}

#[test]
fn enter_right_behind_an_arrow_confirms_nothing() {
    let mut keyboard = Keyboard::new();
    keyboard.ask(dangerous());
    keyboard.key(700, UP);
    assert!(keyboard.shows("▸ y"));
    assert!(commands(&keyboard.key(334, ENTER)).is_empty());
    assert!(keyboard.shows("key pressed too quickly"));
    assert!(grants(&keyboard.key(600, ENTER)));
}

#[test]
fn a_key_typed_into_the_editor_or_the_shell_answers_nothing() {
    for edited in [Ok(String::new()), Err("the editor failed".to_owned())] {
        let mut keyboard = Keyboard::new();
        keyboard.ask(question());
        assert!(matches!(keyboard.key(200, Key::ctrl('g'))[..], [Effect::Edit(_)]));
        // The terminal hands out the keys that the editor did not read before anything is drawn.
        keyboard.now += Duration::from_secs(4);
        keyboard.state.update(Input::Edited(edited), keyboard.now);
        assert!(commands(&keyboard.key(0, Key::char('y'))).is_empty());
        assert!(keyboard.typed().ends_with('y'));
    }
    let mut keyboard = Keyboard::new();
    keyboard.ask(question());
    keyboard.now += Duration::from_secs(4);
    keyboard.state.came_back(keyboard.now);
    assert!(commands(&keyboard.key(0, Key::char('y'))).is_empty());
}

#[test]
fn a_list_or_a_search_that_a_request_covers_keeps_its_keys() {
    let lists: [fn(&mut Keyboard); 3] = [
        |keyboard| drop(keyboard.after(0, agents())),
        |keyboard| drop(keyboard.key(0, Key::ctrl('r'))),
        |keyboard| {
            keyboard.key(0, Key::ctrl('o'));
            keyboard.keys(50, "/m");
        },
    ];
    for open in lists {
        let mut keyboard = Keyboard::new();
        open(&mut keyboard);
        keyboard.key(50, Key::char('s'));
        keyboard.ask(question());
        for key in [Key::char('y'), ENTER] {
            let mut keyboard = Keyboard::new();
            open(&mut keyboard);
            keyboard.ask(question());
            assert!(!grants(&keyboard.key(900, key)), "{key:?}");
        }
    }
    let mut keyboard = Keyboard::new();
    keyboard.after(0, agents());
    keyboard.ask(question());
    keyboard.key(900, TAB);
    assert!(grants(&keyboard.key(600, ENTER)), "Tab and Enter answer");
}

#[test]
fn tab_completes_before_it_moves_the_focus() {
    for text in ["!ls sr", "see @sr", "/mod"] {
        let mut keyboard = Keyboard::new();
        keyboard.keys(50, text);
        keyboard.ask(question());
        let effects = keyboard.key(900, TAB);
        let asks = |effect: &Effect| matches!(effect, Effect::Send(Purpose::Complete(_), _));
        assert!(effects.iter().any(asks), "{text}: {effects:?}");
        assert!(!keyboard.shows("▸"), "{text}");
        assert!(commands(&keyboard.keys(900, "yes")).is_empty());
        assert_eq!(keyboard.typed(), format!("{text}yes"));
    }
}

#[test]
fn letters_go_back_to_the_text_after_tab_and_only_arrows_and_enter_answer() {
    let mut keyboard = Keyboard::new();
    keyboard.keys(50, "please fix");
    keyboard.ask(question());
    keyboard.key(900, TAB);
    assert!(keyboard.shows("▸ y"));
    assert!(commands(&keyboard.keys(900, " yes")).is_empty());
    assert_eq!(keyboard.typed(), "please fix yes");
    assert!(!keyboard.shows("▸"), "the text has the focus again");
    keyboard.key(900, TAB);
    assert!(commands(&keyboard.key(100, ENTER)).is_empty(), "right behind Tab");
    keyboard.key(600, DOWN);
    let effects = keyboard.key(600, ENTER);
    let decision = Decision::Deny { word: None };
    assert_eq!(commands(&effects), [&Command::Answer { request: RequestId(7), decision }]);
    assert_eq!(keyboard.typed(), "please fix yes");
}

#[test]
fn a_sentence_that_begins_with_the_letter_of_a_grant_stays_a_sentence() {
    for (sentence, gap) in [("always", 90), ("every such", 90), ("pause", 90), ("about", 700), ("a bit", 700)]
    {
        let mut keyboard = Keyboard::new();
        keyboard.ask(grantable());
        keyboard.now += ANSWER_PAUSE;
        assert!(commands(&keyboard.keys(gap, sentence)).is_empty(), "{sentence}");
        assert_eq!(keyboard.typed(), sentence);
    }
    let mut keyboard = Keyboard::new();
    keyboard.after(0, Input::Event(trust(3)));
    assert!(commands(&keyboard.keys(610, "tell")).is_empty());
    assert_eq!(keyboard.typed(), "tell");
    for _ in "tell".chars() {
        keyboard.key(90, BACKSPACE);
    }
    keyboard.now += ANSWER_PAUSE;
    assert!(keyboard.shows("▸ n") || keyboard.shows("▸ t"), "the focus is back");
    // Pasted text and Backspace take the letter along.
    keyboard.key(600, Key::char('t'));
    keyboard.after(600, Input::Paste("hen".into()));
    assert_eq!(keyboard.typed(), "then");
    let mut keyboard = Keyboard::new();
    keyboard.ask(grantable());
    keyboard.key(600, Key::char('a'));
    assert!(keyboard.shows("▸ a") && keyboard.shows("Enter confirms"));
    keyboard.key(100, BACKSPACE);
    keyboard.now += ANSWER_PAUSE;
    assert!(keyboard.shows("▸ y") && keyboard.typed().is_empty());
}

#[test]
fn a_letter_marks_what_grants_more_and_enter_confirms_it() {
    let mut keyboard = Keyboard::new();
    keyboard.after(0, Input::Event(trust(3)));
    assert!(commands(&keyboard.key(600, Key::char('t'))).is_empty());
    assert!(keyboard.shows("▸ t"));
    assert!(commands(&keyboard.key(100, ENTER)).is_empty());
    let answer = Command::AnswerTrust { request: RequestId(3), trust: true };
    assert_eq!(commands(&keyboard.key(600, ENTER)), [&answer]);
}

#[test]
fn an_approval_mode_that_would_run_it_needs_its_end_in_view() {
    let script = format!("{}make install", "# nothing to see here\n".repeat(60));
    let action = Action::Command { command: script.clone(), cwd: "/work/app".into(), origin: Origin::Model };
    for (now, digit) in [(Approval::Balanced, '1'), (Approval::Paranoid, '1'), (Approval::Paranoid, '2')] {
        let mut keyboard = Keyboard::new();
        let (action, preview) = (action.clone(), Preview::Command { command: script.clone() });
        keyboard.ask(ApprovalRequest { action, preview, approval: Some(now), ..question() });
        for key in [Key::char('p'), ENTER, Key::char(digit), ENTER, Key::char('y'), ENTER] {
            assert!(!grants(&keyboard.key(700, key)), "{now:?} {digit}");
            if keyboard.shows("scroll to the end first") {
                break;
            }
        }
        assert!(keyboard.shows("scroll to the end first") && keyboard.shows("# nothing to see here"));
        // Other pages show none of it, however short they are.
        for key in [Key::char('p'), ENTER, Key::char('b'), Key::char('y')] {
            assert!(!grants(&keyboard.key(700, key)), "{key:?}");
        }
        assert!(keyboard.shows("scroll to the end first"));
        keyboard.key(700, Key::plain(KeyCode::End));
        assert!(keyboard.shows("make install"));
        let keys = [Key::char('p'), ENTER, Key::char(digit), ENTER, Key::char('y'), ENTER];
        let sent = keys.into_iter().map(|key| keyboard.key(700, key)).find(|sent| grants(sent));
        let sent = sent.unwrap_or_default();
        assert!(matches!(commands(&sent)[..], [Command::SetApproval(_)]), "{sent:?}");
    }
    // A mode that allows less needs nothing.
    let mut keyboard = Keyboard::new();
    let preview = Preview::Command { command: script };
    keyboard.ask(ApprovalRequest { action, preview, approval: Some(Approval::Balanced), ..question() });
    let keys = [Key::char('p'), ENTER, Key::char('3'), ENTER];
    let sent: Vec<Effect> = keys.into_iter().flat_map(|key| keyboard.key(700, key)).collect();
    assert_eq!(commands(&sent), [&Command::SetApproval(Approval::Paranoid)]);
}

#[test]
fn on_a_page_behind_a_choice_letters_need_no_pause_and_enter_does() {
    let mut keyboard = Keyboard::new();
    keyboard.ask(grantable());
    for key in [Key::char('a'), ENTER] {
        assert!(commands(&keyboard.key(700, key)).is_empty());
    }
    keyboard.key(50, Key::char('p'));
    assert!(keyboard.shows("▸ p"));
    assert!(commands(&keyboard.key(50, ENTER)).is_empty());
    let decision = Decision::AllowAlways { scope: zdx_protocol::GrantScope::Project, wider: false };
    let answer = Command::Answer { request: RequestId(7), decision };
    assert_eq!(commands(&keyboard.key(600, ENTER)), [&answer]);
}

#[test]
fn who_reads_on_can_answer_at_once() {
    let mut keyboard = Keyboard::new();
    keyboard.ask(question());
    for key in [KeyCode::PageDown, KeyCode::PageDown, KeyCode::PageUp] {
        keyboard.key(250, Key::plain(key));
    }
    assert!(grants(&keyboard.key(50, Key::char('y'))));
}

fn grants(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Send(_, Command::Answer { decision, .. }) => !matches!(decision, Decision::Deny { .. }),
        Effect::Send(_, Command::SetApproval(approval)) => *approval != Approval::Paranoid,
        Effect::Send(_, Command::AnswerTrust { trust, .. }) => *trust,
        _ => false,
    })
}

/// Whether what is granted goes beyond one call.
fn grants_more(effects: &[Effect]) -> bool {
    let once = |effect: &Effect| {
        matches!(effect, Effect::Send(_, Command::Answer { decision: Decision::AllowOnce, .. }))
    };
    grants(effects) && !effects.iter().any(once)
}

fn answers(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Send(
                _,
                Command::Answer { .. }
                    | Command::AnswerTrust { .. }
                    | Command::SetApproval(_)
                    | Command::Interrupt
            )
        )
    })
}

#[derive(Clone, Debug)]
enum Act {
    Key(Key),
    Paste(&'static str),
    /// The editor opens and closes: with a text, or without success.
    Editor(Result<&'static str, ()>),
    Picker,
    Ask {
        dangerous: bool,
        grantable: bool,
    },
    Trust,
}

/// An action, and the time since the one before.
fn action() -> impl Strategy<Value = (Act, u64)> {
    let letter = prop::sample::select("yaenpmswetbqd123 hello?/!@".chars().collect::<Vec<_>>());
    let code = prop::sample::select(vec![
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Backspace,
        KeyCode::Tab,
        KeyCode::Tab,
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::PageDown,
        KeyCode::End,
    ]);
    let held = prop::sample::select(vec![Key::ctrl('r'), Key::ctrl('o'), Key::shift(KeyCode::Tab)]);
    let action = prop_oneof![
        9 => letter.prop_map(|c| Act::Key(Key::char(c))),
        12 => code.prop_map(|code| Act::Key(Key::plain(code))),
        1 => prop_oneof![Just(Key::plain(KeyCode::Esc)), held].prop_map(Act::Key),
        8 => Just(Act::Key(Key::ctrl('u'))),
        1 => prop::sample::select(vec!["y", "yes\n", "a\ny\n"]).prop_map(Act::Paste),
        1 => prop::sample::select(vec![Ok(""), Ok("a text"), Err(())]).prop_map(Act::Editor),
        1 => Just(Act::Picker),
        5 => (any::<bool>(), any::<bool>())
            .prop_map(|(dangerous, grantable)| Act::Ask { dangerous, grantable }),
        2 => Just(Act::Trust),
    ];
    (action, prop_oneof![2 => 0_u64..300, 2 => 300_u64..620, 5 => 620_u64..1500])
}

/// Somebody clears the line and grants something in peace, unless another key of the list hurries in.
fn deliberate() -> impl Strategy<Value = Vec<(Act, u64)>> {
    let letter = prop::sample::select(vec!['y', 'a', 'w', 'p', 't']);
    (letter, 0_u64..400).prop_map(|(letter, gap)| {
        let keys = [Key::ctrl('u'), Key::char(letter), ENTER, ENTER];
        keys.into_iter().map(|key| (Act::Key(key), 400 + gap)).collect()
    })
}

/// What a person did, as far as it decides whether an answer was meant. Knows nothing of the code that it judges.
struct Witness {
    last_input: Instant,
    /// Since when the screen shows what could be answered.
    shown: Instant,
    /// Tab was pressed since then.
    tab: bool,
    /// A key that can mark another choice was pressed since the request came into view.
    moved: bool,
}

impl Witness {
    fn shows_anew(&mut self, now: Instant) {
        (self.shown, self.tab) = (now, false);
    }
}

#[test]
fn nothing_is_granted_but_by_a_confirmation_after_tab_or_after_a_pause_with_nothing_typed() {
    let granted = [Cell::new(0_u32), Cell::new(0)];
    let mut runner = TestRunner::new(ProptestConfig::with_cases(CASES));
    let some = prop_oneof![12 => action().prop_map(|one| vec![one]), 1 => deliberate()];
    let actions = prop::collection::vec(some, 1..70).prop_map(|parts| parts.concat());
    let result = runner.run(&actions, |actions| {
        let mut keyboard = Keyboard::new();
        send(&mut keyboard.state, "go");
        keyboard.now = Instant::now();
        let now = keyboard.now;
        let mut witness = Witness { last_input: now, shown: now, tab: false, moved: false };
        for (number, (action, gap)) in (100..).zip(actions) {
            let was_open = keyboard.state.dialogs.is_open();
            let page_was_open = keyboard.state.overlays.page().is_some();
            match action {
                Act::Key(key) => {
                    let nothing_typed = keyboard.typed().is_empty()
                        && !keyboard.state.composer.is_searching()
                        && !keyboard.state.overlays.has_picker();
                    let effects = keyboard.key(gap, key);
                    let paused = |since: Instant| keyboard.now >= since + ANSWER_PAUSE;
                    if grants(&effects) && key != Key::shift(KeyCode::Tab) {
                        prop_assert!(paused(witness.last_input) && paused(witness.shown), "{key:?}");
                        prop_assert!(nothing_typed || witness.tab, "{key:?}: text stands there");
                        prop_assert!(nothing_typed || key == ENTER, "{key:?} is text");
                        prop_assert!(key == ENTER || key == Key::char('y'), "{key:?}");
                        granted[0].set(granted[0].get() + 1);
                    }
                    if grants_more(&effects) && key != Key::shift(KeyCode::Tab) {
                        prop_assert!(key == ENTER && witness.moved, "{key:?} was not confirmed");
                        granted[1].set(granted[1].get() + 1);
                    }
                    // Those only scroll.
                    if !matches!(key.code, KeyCode::PageDown | KeyCode::End) {
                        witness.last_input = keyboard.now;
                    }
                    witness.tab |= key == TAB;
                    witness.moved |= matches!(key.code, KeyCode::Char(_) | KeyCode::Up | KeyCode::Down);
                    let another = answers(&effects) || !was_open && keyboard.state.dialogs.is_open();
                    witness.moved &= !another;
                    if another || page_was_open && keyboard.state.overlays.page().is_none() {
                        witness.shows_anew(keyboard.now);
                    }
                }
                Act::Paste(text) => {
                    let effects = keyboard.after(gap, Input::Paste(text.to_owned()));
                    prop_assert!(!grants(&effects));
                    witness.last_input = keyboard.now;
                }
                Act::Editor(edited) => {
                    let opened = keyboard.key(gap, Key::ctrl('g'));
                    prop_assert!(!grants(&opened));
                    if matches!(opened[..], [Effect::Edit(_)]) {
                        let edited = edited.map(str::to_owned).map_err(|()| "failed".to_owned());
                        prop_assert!(!grants(&keyboard.after(700, Input::Edited(edited))));
                        witness.shows_anew(keyboard.now);
                    }
                    witness.last_input = keyboard.now;
                }
                Act::Picker => drop(keyboard.after(gap, agents())),
                Act::Ask { dangerous, grantable } => {
                    let request = if grantable { self::grantable() } else { question() };
                    let danger = if dangerous { Danger::Confirm } else { Danger::Ask };
                    keyboard.now += Duration::from_millis(gap);
                    keyboard.ask(ApprovalRequest { request: RequestId(number), danger, ..request });
                    witness.moved &= was_open;
                    witness.shows_anew(keyboard.now);
                }
                Act::Trust => {
                    keyboard.after(gap, Input::Event(trust(number)));
                    witness.moved &= was_open;
                    witness.shows_anew(keyboard.now);
                }
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // Else it would show nothing.
    let [once, more] = granted.map(|count| count.get());
    assert!(once > CASES / 4 && more > CASES / 50, "granted {once} times, {more} of them more than once");
}
