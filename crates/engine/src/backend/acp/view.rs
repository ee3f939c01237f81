//! What can be asked of another agent beside its turn: kept up by the backend, read by others.

use tokio::sync::watch;
use zdx_protocol::ContextUsage;
use zdx_protocol::compaction::Breakdown;
use zdx_protocol::query::ModelOffer;

use crate::acp::PREFIX;

#[derive(Clone, Default)]
struct Now {
    label: String,
    model: Option<String>,
    /// Once it has a session.
    offers: Option<Vec<String>>,
    used: Option<Used>,
}

/// What the agent says of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) used: u64,
    pub(super) size: u64,
}

/// The backend's side of it.
pub(super) struct Watched(watch::Sender<Now>);

#[derive(Clone)]
pub(crate) struct View(watch::Receiver<Now>);

impl Watched {
    pub(super) fn new(label: String, model: Option<String>) -> Self {
        Self(watch::Sender::new(Now { label, model, ..Now::default() }))
    }

    pub(super) fn view(&self) -> View {
        View(self.0.subscribe())
    }

    pub(super) fn model(&self, model: &str) {
        self.0.send_modify(|now| now.model = Some(model.to_owned()));
    }

    pub(super) fn offers(&self, offers: Option<Vec<String>>) {
        self.0.send_modify(|now| now.offers = offers);
    }

    pub(super) fn used(&self, used: Option<Used>) {
        if used.is_some() {
            self.0.send_modify(|now| now.used = used);
        }
    }
}

impl View {
    /// `acp:fake`, or `acp:fake/large` where somebody chose a model.
    pub(crate) fn model(&self) -> String {
        let now = self.0.borrow();
        named(&now.label, now.model.as_deref())
    }

    pub(crate) fn agent(&self) -> String {
        let label = &self.0.borrow().label;
        label.strip_prefix(PREFIX).unwrap_or(label).to_owned()
    }

    pub(crate) fn context_limit(&self) -> Option<u64> {
        self.0.borrow().used.map(|used| used.size)
    }

    pub(crate) fn usage(&self) -> Option<ContextUsage> {
        let Used { used, size: limit } = self.0.borrow().used?;
        let percent = used.saturating_mul(100).checked_div(limit).unwrap_or_default();
        Some(ContextUsage { used, limit, percent, assumed: false, breakdown: Breakdown::default() })
    }

    pub(crate) fn models(&self) -> Option<Vec<ModelOffer>> {
        let now = self.0.borrow();
        let offer = |model: &String| ModelOffer { name: named(&now.label, Some(model)), context_limit: None };
        now.offers.as_ref().map(|offers| offers.iter().map(offer).collect())
    }
}

fn named(label: &str, model: Option<&str>) -> String {
    model.map_or_else(|| label.to_owned(), |model| format!("{label}/{model}"))
}
