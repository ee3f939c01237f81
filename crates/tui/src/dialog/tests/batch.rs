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
            content: Vec::new(),
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

/// What a task's agent asks for.
fn of_task(number: u64, task: u64) -> ApprovalRequest {
    let (agent, id) = (Some("general".to_owned()), format!("call_{task}/c"));
    ApprovalRequest { agent, id, ..command(number, &format!("make {number}")) }
}

#[test]
fn questions_come_in_the_order_of_their_rows_unless_one_is_in_view() {
    let now = Instant::now();
    let order =
        |dialogs: &Dialogs| dialogs.waiting.iter().filter_map(Asked::request).map(|id| id.0).collect();
    let mut dialogs = empty();
    (1..=3).for_each(|number| requested(&mut dialogs, number));
    for (number, task) in [(10, 3), (11, 2), (12, 3), (13, 1)] {
        dialogs.approval(of_task(number, task));
    }
    let waiting: Vec<u64> = order(&dialogs);
    assert_eq!(waiting, [13, 11, 10, 12], "and of one row as they came");
    show(&mut dialogs, now);
    dialogs.withdrawn(RequestId(13));
    show(&mut dialogs, now);
    dialogs.approval(of_task(14, 1));
    let waiting: Vec<u64> = order(&dialogs);
    assert_eq!(waiting, [11, 14, 10, 12], "what is in view stays");
}
