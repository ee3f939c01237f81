//! How long the list of steps is pinned.

use super::*;

#[test]
fn todos_are_pinned_until_they_are_done() {
    let todo = |status| Todo { id: "1".into(), content: "build".into(), status };
    let list =
        |status| Event::TodosChanged { items: vec![todo(TodoStatus::Completed), todo(status)], draft: false };
    let pinned =
        |shown: &Shown| text(&shown.conversation.pinned_todos(Look { width: 40, theme: &shown.theme }, 99));
    let mut shown = Shown::new(40);
    shown.tell([prompt("go"), list(TodoStatus::InProgress)]);
    shown.tell(call("1", "todowrite", json!({"items": []}), json!({"checklist": "[x] build"})));
    assert_eq!(pinned(&shown), ["todo · 1 of 2 done", "[x] build", "[~] build"]);
    shown.tell([list(TodoStatus::Completed), over(Outcome::Completed)]);
    assert_eq!(pinned(&shown), Vec::<String>::new());
    let first = ["› go", "", "• Todo · 1 of 2 done", "  [x] build", "  [~] build"];
    assert_eq!(shown.settled[..5], first, "what was planned stays where it was said");
    assert_eq!(shown.settled[5..], ["• Todo · 2 of 2 done", "  [x] build", "  [x] build"]);
    shown.tell([prompt("more"), list(TodoStatus::Pending), over(Outcome::Completed)]);
    assert_eq!(pinned(&shown).len(), 3, "it waits for the next turn");
    shown.tell([prompt("and on")]);
    assert_eq!(pinned(&shown).len(), 3);
    shown.tell([over(Outcome::Completed)]);
    assert_eq!(pinned(&shown), Vec::<String>::new(), "which did not touch it");
}

#[test]
fn a_list_of_a_turn_that_was_stopped_goes_with_the_next_unless_that_takes_it_up() {
    let list = |status| {
        let item = Todo { id: "1".into(), content: "build".into(), status };
        Event::TodosChanged { items: vec![item], draft: false }
    };
    let pinned = |shown: &Shown| {
        text(&shown.conversation.pinned_todos(Look { width: 40, theme: &shown.theme }, 99)).len()
    };
    let mut shown = Shown::new(40);
    shown.tell([prompt("go"), list(TodoStatus::InProgress), Event::Interrupted, over(Outcome::Interrupted)]);
    assert_eq!(pinned(&shown), 2, "nobody said yet what comes next");
    shown.tell([prompt("something else")]);
    assert_eq!(pinned(&shown), 0);
    shown.tell([list(TodoStatus::Pending), over(Outcome::Completed)]);
    assert_eq!(pinned(&shown), 2, "it was taken up");
    shown.tell([prompt("on")]);
    assert_eq!(pinned(&shown), 2, "that turn was not stopped");
}
