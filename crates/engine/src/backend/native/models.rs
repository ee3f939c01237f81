//! Publishes the info of a model's backend, and lists the models of the server in use beside a turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;
use tokio::sync::watch;
use zdx_models::{Client, Endpoint, ModelError, ModelInfo, list_models};
use zdx_protocol::query::ModelOffer;

use super::Seed;
use super::limits::Limits;
use crate::backend::{BackendCapabilities, BackendInfo, ContextBudget};
use crate::context::budget::Frame;
use zdx_config::Config;

/// Shared by the backend and by whoever answers `/model` while a turn runs.
#[derive(Clone)]
pub(crate) struct ModelLister {
    client: Client,
    config: Arc<Config>,
    limits: Limits,
    /// The one in use.
    endpoint: Arc<Mutex<Endpoint>>,
    info: watch::Sender<BackendInfo>,
}

impl ModelLister {
    pub(super) fn new(seed: &Seed) -> Self {
        let Seed { config, client, chosen, limits, .. } = seed.clone();
        let capabilities = BackendCapabilities { manages_own_context: false, plays_agent_profiles: true };
        let info = watch::Sender::new(BackendInfo { capabilities, ..BackendInfo::default() });
        Self { client, config, limits, endpoint: Arc::new(Mutex::new(chosen.endpoint)), info }
    }

    pub(super) fn info(&self) -> &watch::Sender<BackendInfo> {
        &self.info
    }

    pub(super) fn publish(&self, endpoint: &Endpoint, frame: Frame) {
        self.endpoint().clone_from(endpoint);
        let (model, models) = (endpoint.label(), self.known(endpoint));
        self.info.send_modify(|info| {
            (info.model, info.models) = (model, Some(models));
            info.context = ContextBudget::Computed(frame);
        });
    }

    /// Asks the server in use for its models. Whoever chooses one of them need not ask again for its context limit.
    pub(crate) async fn offers(&self) -> Result<Vec<ModelOffer>, ModelError> {
        let endpoint = self.endpoint().clone();
        let offer = |model: ModelInfo| {
            let offered = Endpoint { model: model.id, ..endpoint.clone() };
            if let Some(limit) = model.context_limit {
                self.limits.hear(&offered, limit);
            }
            let configured = self.config.model_entry(&offered.provider, &offered.model).context_limit;
            ModelOffer { name: offered.label(), context_limit: configured.or(model.context_limit) }
        };
        Ok(self.list(&endpoint).await?.into_iter().map(offer).collect())
    }

    /// Asks a server for its models and publishes their names.
    pub(super) async fn list(&self, endpoint: &Endpoint) -> Result<Vec<ModelInfo>, ModelError> {
        let models = list_models(&self.client, endpoint).await?;
        self.limits.note_list(endpoint, &models);
        let known = self.known(&self.endpoint());
        self.info.send_modify(|info| info.models = Some(known));
        Ok(models)
    }

    /// Names of the configured models, and of those that the server listed before.
    fn known(&self, endpoint: &Endpoint) -> Vec<String> {
        let listed = self.limits.listed(endpoint).into_iter();
        let labels = listed.map(|model| Endpoint { model, ..endpoint.clone() }.label());
        let names: IndexSet<String> = self.config.models.keys().cloned().chain(labels).collect();
        names.into_iter().collect()
    }

    fn endpoint(&self) -> MutexGuard<'_, Endpoint> {
        self.endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
