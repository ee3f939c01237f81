//! How long a person was waited for: what a turn took is told without that, as it was at its end.

use jiff::Timestamp;

use super::Told;
use crate::record::Record;

/// When somebody answered a question that the record is about.
pub(super) fn answered(record: &Record) -> Option<Timestamp> {
    let Record::Approval(approval) = record else { return None };
    approval.by.is_none().then_some(approval.ts)
}

impl Told {
    /// The call stands right before its question in the session: what lies between is the person's time.
    pub(super) fn waited(&mut self, until: Option<Timestamp>) {
        let (Some(until), Some(last), Some(began)) = (until, self.last, self.began) else { return };
        if until > last
            && let Ok(began) = began.checked_add(until.duration_since(last))
        {
            (self.began, self.last) = (Some(began), Some(until));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::conversation::Role;
    use crate::event::Event;
    use crate::policy::Decision;
    use crate::record::{self, Message, Record};
    use crate::retold::Retold;

    #[test]
    fn the_time_of_a_question_is_not_the_turns() {
        let at = |ms| jiff::Timestamp::from_millisecond(ms).unwrap();
        let approval = |by: Option<&str>, ts| {
            let decision = Decision::AllowOnce;
            let (tool_use_id, by) = ("c".to_owned(), by.map(str::to_owned));
            Record::Approval(record::ApprovalRecord { tool_use_id, decision, grant: None, by, ts })
        };
        for (by, took) in [(None, 3_000), (Some("--allow-dangerous"), 63_000)] {
            let mut retold = Retold::of(5);
            retold.note(Record::Message(Message::new(Role::User, "go", at(0))));
            retold.note(Record::Message(Message::new(Role::Assistant, "so", at(1_000))));
            retold.note(approval(by, at(61_000)));
            retold.note(Record::Message(Message::new(Role::Assistant, "done", at(63_000))));
            let ended = retold.events().into_iter().find_map(|event| match event {
                Event::TurnFinished(end) => Some(end.duration_ms),
                _ => None,
            });
            assert_eq!(ended, Some(took));
        }
    }
}
