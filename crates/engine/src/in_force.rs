//! The rules and the preset that hold at this moment. A preset that changes holds at once: for the next call, for
//! questions that are open, and for agents at work.

use std::sync::Arc;

use tokio::sync::watch;
use zdx_guard::{PolicyContext, Rules};
use zdx_protocol::Approval;

use crate::tools::skill::LoadedSkills;

/// The session's own hand on it.
pub struct Ruler {
    now: watch::Sender<PolicyContext>,
    skills: LoadedSkills,
}

impl Ruler {
    /// Where `skills` lie may be read from the moment they are loaded.
    pub fn new(context: PolicyContext, skills: LoadedSkills) -> Self {
        Self { now: watch::Sender::new(context), skills }
    }

    pub fn set_approval(&self, approval: Approval) {
        self.now.send_if_modified(|context| {
            let changed = context.approval != approval;
            context.approval = approval;
            changed
        });
    }

    pub fn set_rules(&self, rules: Arc<Rules>) {
        self.now.send_modify(|context| context.rules = rules);
    }

    pub fn in_force(&self) -> InForce {
        InForce { now: self.now.subscribe(), rules: None, skills: self.skills.clone() }
    }
}

/// For whoever is judged by it.
#[derive(Clone)]
pub struct InForce {
    now: watch::Receiver<PolicyContext>,
    /// An agent's own, where it works under stricter ones than the session.
    rules: Option<Arc<Rules>>,
    skills: LoadedSkills,
}

impl InForce {
    /// The same for somebody with rules of his own.
    pub fn under(&self, rules: Arc<Rules>) -> Self {
        Self { rules: Some(rules), ..self.clone() }
    }

    pub fn now(&self) -> PolicyContext {
        self.with_own(self.now.borrow().clone())
    }

    /// What holds now; `changed` waits for what comes after it.
    pub fn seen(&mut self) -> PolicyContext {
        let context = self.now.borrow_and_update().clone();
        self.with_own(context)
    }

    pub async fn changed(&mut self) {
        // A session that is gone changes nothing any more.
        if self.now.changed().await.is_err() {
            std::future::pending().await
        }
    }

    fn with_own(&self, context: PolicyContext) -> PolicyContext {
        let rules = self.rules.as_ref().unwrap_or(&context.rules);
        PolicyContext { rules: Arc::clone(rules), lent: self.skills.folders(), ..context }
    }
}
