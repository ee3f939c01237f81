//! Typed text never answers a request: neither at any speed, nor whatever it says.

use proptest::prelude::*;

use super::*;

const PAUSE: Duration = Duration::from_millis(600);

/// A key of a sentence, and the time since the one before.
fn typed_key() -> impl Strategy<Value = (Key, u64)> {
    let key = prop_oneof![
        8 => prop::sample::select("yaenpmswetbq123 hello?/!@".chars().collect::<Vec<_>>()).prop_map(Key::char),
        1 => Just(Key::plain(KeyCode::Enter)),
        1 => Just(Key::plain(KeyCode::Backspace)),
    ];
    (key, prop_oneof![4 => 20_u64..300, 1 => 300_u64..1500])
}

fn requests() -> impl Strategy<Value = Vec<ApprovalRequest>> {
    let request = (1_u64..9, any::<bool>(), any::<bool>()).prop_map(|(number, dangerous, grantable)| {
        let grant = (grantable && !dangerous).then(|| "bash make".to_owned());
        ApprovalRequest {
            request: RequestId(number),
            id: format!("call_{number}"),
            danger: if dangerous { Danger::Confirm } else { Danger::Ask },
            wider: grant.clone(),
            grant,
            approval: Some(Approval::Balanced),
            ..question()
        }
    });
    prop::collection::vec(request, 1..4)
}

fn grants(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Send(_, Command::Answer { decision, .. }) => !matches!(decision, Decision::Deny { .. }),
        Effect::Send(_, Command::SetApproval(approval)) => *approval == Approval::Yolo,
        Effect::Send(_, Command::AnswerTrust { trust, .. }) => *trust,
        _ => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_is_granted_without_an_empty_composer_and_a_pause(
        requests in requests(),
        keys in prop::collection::vec(typed_key(), 1..60),
        comes_up_before in 0_usize..10,
    ) {
        let mut state = state();
        send(&mut state, "go");
        let mut now = Instant::now();
        let mut quiet_since = now;
        for (at, (key, gap)) in keys.into_iter().enumerate() {
            if at == comes_up_before {
                for request in &requests {
                    state.update(Input::Event(Event::ApprovalRequested(request.clone())), now);
                }
                state.frame(SIZE, now);
                quiet_since = now;
            }
            now += Duration::from_millis(gap);
            let may_answer = state.composer.is_empty() && now >= quiet_since + PAUSE;
            let effects = state.update(Input::Key(key), now);
            prop_assert!(may_answer || !grants(&effects), "{key:?}: {effects:?}");
            state.frame(SIZE, now);
            quiet_since = now;
        }
    }
}
