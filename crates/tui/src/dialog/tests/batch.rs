//! Calls that were asked for together.

use zdx_protocol::{CallOrigin, ToolCode, ToolOutput};

use super::*;

fn requested(dialogs: &mut Dialogs, number: u64) {
    dialogs.apply(&Event::ToolRequested {
        id: format!("call_{number}"),
        name: "bash".into(),
        input: serde_json::json!({}),
        raw: None,
        signature: None,
        origin: CallOrigin::Model,
        parent: None,
    });
}

#[test]
fn of_several_calls_it_says_which_one_it_is_about() {
    let now = Instant::now();
    let mut dialogs = empty();
    (1..=3).for_each(|number| requested(&mut dialogs, number));
    for number in [1, 3] {
        dialogs.approval(command(number, "make"));
        let drawn = text(&show(&mut dialogs, now));
        assert!(drawn.contains(&format!("approval · call {number} of 3 ─")), "{drawn}");
        dialogs.withdrawn(RequestId(number));
        let over = ToolOutput::error(ToolCode::Interrupted, "over");
        dialogs.apply(&Event::ToolFinished {
            id: format!("call_{number}"),
            name: "bash".into(),
            origin: CallOrigin::Model,
            result: over,
            diff: None,
            duration_ms: 1,
            beside: Default::default(),
            reads: None,
        });
    }
    // The next one came alone.
    requested(&mut dialogs, 4);
    dialogs.approval(command(4, "make"));
    let drawn = text(&show(&mut dialogs, now));
    assert!(drawn.contains("── approval ──"), "{drawn}");
}
