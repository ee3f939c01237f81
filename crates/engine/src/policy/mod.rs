//! The one decision about every action: may it run?

pub mod trust;

use zdx_protocol::{Action, Approval, Verdict};

pub struct PolicyContext {
    approval: Approval,
}

impl PolicyContext {
    pub fn new(approval: Approval) -> Self {
        Self { approval }
    }

    pub fn set_approval(&mut self, approval: Approval) {
        self.approval = approval;
    }
}

pub fn judge(action: &Action, cx: &PolicyContext) -> Verdict {
    let _ = (action, cx.approval);
    Verdict::Allow
}
