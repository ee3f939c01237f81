//! The policy of one session: rules, approval mode, grants and open approval requests. A changed mode holds at once: for
//! the next call, for open requests, and for subagents at work.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use zdx_guard::{PolicyContext, Rules};
use zdx_protocol::Approval;

use crate::approvals::Approvals;
use crate::grants::Granted;

/// Folders readable in this session wherever they lie: those of the skills it loaded.
#[derive(Clone, Default)]
pub(crate) struct LentFolders(Arc<Mutex<Vec<PathBuf>>>);

impl LentFolders {
    pub(crate) fn extend<'a>(&self, folders: impl IntoIterator<Item = &'a Path>) {
        let mut lent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in folders {
            if !lent.iter().any(|known| known == folder) {
                lent.push(folder.to_owned());
            }
        }
    }

    pub(crate) fn folders(&self) -> Arc<[PathBuf]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_slice().into()
    }
}

/// Decides what a session may do. Clones share one state; a subagent's has stricter rules over the same mode and grants.
#[derive(Clone)]
pub(crate) struct SessionPolicy {
    shared: Arc<SharedPolicy>,
    now: watch::Receiver<PolicyContext>,
    /// The rules of a subagent, in place of the session's.
    rules: Option<Arc<Rules>>,
    /// A person has answered already what would be asked.
    answered: bool,
    pub grants: Granted,
    pub approvals: Approvals,
}

struct SharedPolicy {
    now: watch::Sender<PolicyContext>,
    lent: LentFolders,
    /// The mode, if the user chose one in this session over the configured one.
    chosen: Mutex<Option<Approval>>,
}

impl SessionPolicy {
    pub(crate) fn new(
        context: PolicyContext,
        lent: LentFolders,
        grants: Granted,
        approvals: Approvals,
    ) -> Self {
        let (now, receiver) = watch::channel(context);
        let shared = Arc::new(SharedPolicy { now, lent, chosen: Mutex::default() });
        Self { shared, now: receiver, rules: None, answered: false, grants, approvals }
    }

    pub(crate) fn chosen(&self) -> Option<Approval> {
        *self.shared.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn approval(&self) -> Approval {
        self.now.borrow().approval
    }

    pub(crate) fn set_approval(&self, approval: Approval) {
        *self.shared.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(approval);
        self.shared.now.send_if_modified(|context| {
            let changed = context.approval != approval;
            context.approval = approval;
            changed
        });
    }

    pub(crate) fn set_rules(&self, rules: Arc<Rules>) {
        self.shared.now.send_modify(|context| context.rules = rules);
    }

    pub(crate) fn lent(&self) -> &LentFolders {
        &self.shared.lent
    }

    /// Returns the policy of a call that a person has just allowed. What must be confirmed is still asked.
    pub(crate) fn answered(&self) -> Self {
        Self { answered: true, ..self.clone() }
    }

    /// Returns the policy of a subagent with these rules.
    pub(crate) fn under(&self, rules: Arc<Rules>) -> Self {
        Self { rules: Some(rules), ..self.clone() }
    }

    pub(crate) fn now(&self) -> PolicyContext {
        self.with_own(self.now.borrow().clone())
    }

    /// Returns the current context; `changed` waits for a later one.
    pub(crate) fn seen(&mut self) -> PolicyContext {
        let context = self.now.borrow_and_update().clone();
        self.with_own(context)
    }

    pub(crate) async fn changed(&mut self) {
        // Never fails: the sender lives as long as this receiver.
        if self.now.changed().await.is_err() {
            std::future::pending().await
        }
    }

    fn with_own(&self, context: PolicyContext) -> PolicyContext {
        let rules = self.rules.as_ref().unwrap_or(&context.rules);
        let approval = if self.answered { Approval::Yolo } else { context.approval };
        PolicyContext { rules: Arc::clone(rules), lent: self.lent().folders(), approval, ..context }
    }
}
