//! What can be asked of a model's backend while it is at work: kept up by it, read by others.

use std::sync::Arc;

use tokio::sync::watch;
use zdx_models::{Client, Endpoint, ModelError, ModelInfo, list_models};
use zdx_protocol::ContextUsage;
use zdx_protocol::query::ModelOffer;
use zdx_protocol::transcript::ContextSize;

use super::Seed;
use super::limits::Limits;
use crate::config::Config;
use crate::context::budget::Frame;

/// The backend's side of it.
pub(super) struct Watched {
    now: watch::Sender<(Endpoint, Frame)>,
}

#[derive(Clone)]
pub(crate) struct View {
    now: watch::Receiver<(Endpoint, Frame)>,
    client: Client,
    limits: Limits,
    config: Arc<Config>,
}

impl Watched {
    pub(super) fn new(seed: &Seed) -> Self {
        Self { now: watch::Sender::new((seed.chosen.endpoint.clone(), Frame::default())) }
    }

    pub(super) fn tell(&self, endpoint: &Endpoint, frame: Frame) {
        self.now.send_modify(|now| {
            now.0.clone_from(endpoint);
            now.1 = frame;
        });
    }

    pub(super) fn view(&self, seed: &Seed) -> View {
        let Seed { client, limits, config, .. } = seed;
        let (client, limits, config) = (client.clone(), limits.clone(), Arc::clone(config));
        View { now: self.now.subscribe(), client, limits, config }
    }
}

impl View {
    pub(crate) fn model(&self) -> String {
        self.now.borrow().0.label()
    }

    pub(crate) fn context_limit(&self) -> Option<u64> {
        self.now.borrow().1.limit()
    }

    pub(crate) fn usage(&self, size: ContextSize) -> ContextUsage {
        self.now.borrow().1.gauge(size).usage()
    }

    pub(crate) fn input_bytes(&self, size: ContextSize) -> usize {
        let gauge = self.now.borrow().1.gauge(size);
        gauge.input_bytes().max(gauge.spare_bytes())
    }

    /// What the provider in use offers. Who chooses of these need not ask again how much one holds.
    pub(crate) async fn models(&self) -> Result<Vec<ModelOffer>, ModelError> {
        let endpoint = self.now.borrow().0.clone();
        let offer = |model: ModelInfo| {
            let offered = Endpoint { model: model.id, ..endpoint.clone() };
            if let Some(limit) = model.context_limit {
                self.limits.hear(&offered, limit);
            }
            let configured = self.config.model_entry(&offered.provider, &offered.model).context_limit;
            ModelOffer { name: offered.label(), context_limit: configured.or(model.context_limit) }
        };
        let models = list_models(&self.client, &endpoint).await?;
        self.limits.note_list(&endpoint, &models);
        Ok(models.into_iter().map(offer).collect())
    }

    /// The names of those that are configured, and of those that the provider listed before.
    pub(crate) fn known_models(&self) -> Vec<String> {
        let endpoint = self.now.borrow().0.clone();
        let listed = self.limits.listed(&endpoint).into_iter();
        let labels = listed.map(|model| Endpoint { model, ..endpoint.clone() }.label());
        let mut names: Vec<String> = self.config.models.keys().cloned().collect();
        for label in labels {
            if !names.contains(&label) {
                names.push(label);
            }
        }
        names
    }
}
