//! The rules and the preset that hold at this moment. A preset that changes holds at once: for the next call, for
//! questions that are open, and for agents at work.
//! (The field says permission mode, approval policy.)

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use zdx_guard::{PolicyContext, Rules};
use zdx_protocol::Approval;

/// Folders that were lent for reading in this session, wherever they lie: those of the skills it loaded.
#[derive(Clone, Default)]
pub(crate) struct Lent(Arc<Mutex<Vec<PathBuf>>>);

impl Lent {
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

/// The session's own hand on it.
pub(crate) struct Ruler {
    now: watch::Sender<PolicyContext>,
    lent: Lent,
    /// The preset, if the user chose one here above what configuration says.
    chosen: Mutex<Option<Approval>>,
}

impl Ruler {
    pub(crate) fn new(context: PolicyContext, lent: Lent) -> Self {
        Self { now: watch::Sender::new(context), lent, chosen: Mutex::default() }
    }

    pub(crate) fn chosen(&self) -> Option<Approval> {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn approval(&self) -> Approval {
        self.now.borrow().approval
    }

    pub(crate) fn set_approval(&self, approval: Approval) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(approval);
        self.now.send_if_modified(|context| {
            let changed = context.approval != approval;
            context.approval = approval;
            changed
        });
    }

    pub(crate) fn set_rules(&self, rules: Arc<Rules>) {
        self.now.send_modify(|context| context.rules = rules);
    }

    pub(crate) fn in_force(&self) -> InForce {
        InForce { now: self.now.subscribe(), rules: None, answered: false, lent: self.lent.clone() }
    }
}

/// For whoever is judged by it.
#[derive(Clone)]
pub struct InForce {
    now: watch::Receiver<PolicyContext>,
    /// An agent's own, where it works under stricter ones than the session.
    rules: Option<Arc<Rules>>,
    /// A person has answered already what would be asked.
    answered: bool,
    lent: Lent,
}

impl InForce {
    /// For a call that a person has just said yes to. What has to be confirmed still has to be.
    pub(crate) fn answered(&self) -> Self {
        Self { answered: true, ..self.clone() }
    }

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
        let approval = if self.answered { Approval::Yolo } else { context.approval };
        PolicyContext { rules: Arc::clone(rules), lent: self.lent.folders(), approval, ..context }
    }
}
