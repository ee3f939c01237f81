//! What models can hold, where neither configuration nor catalogue says: asked of their servers once, after the first
//! answer and between two requests, kept for a while, and put right by what refusals name; and which models a server listed
//! then. Shared with the agents that a session launches. Never while an answer streams: llama-cpp-python breaks it off as soon as anybody asks for anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use zdx_models::{Endpoint, ModelInfo};

use super::models::ModelLister;
use zdx_store::DiskCache;

/// Nobody asks longer for a list of models.
const ASK_LIMIT: Duration = Duration::from_secs(5);
/// What a request waits for it that can go without.
const PATIENCE: Duration = Duration::from_millis(500);

/// What came of asking. `None` as long as nothing has.
type LimitKnown = Option<Known>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Limit(u64),
    /// The server was asked and does not say.
    Untold,
}

#[derive(Clone, Default)]
pub(crate) struct Limits {
    cache: Option<DiskCache>,
    asked: Arc<Mutex<HashMap<String, watch::Receiver<LimitKnown>>>>,
    /// By where the server is.
    listed: Arc<Mutex<HashMap<String, Vec<String>>>>,
}

impl Limits {
    pub(crate) fn new(cache: DiskCache) -> Self {
        Self { cache: Some(cache), ..Self::default() }
    }

    /// What is known without asking anybody.
    pub(super) fn known(&self, endpoint: &Endpoint) -> Option<u64> {
        let key = key(endpoint);
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.get(&key).map_or_else(|| limit(self.cached(&key)), |answer| limit(*answer.borrow()))
    }

    /// The limit that a refusal named in an earlier session. Since then the server may have been started with more: its list is
    /// asked again, and has the last word.
    pub(super) fn hint(&self, endpoint: &Endpoint) -> Option<u64> {
        self.cache.as_ref()?.get(&hint_key(&key(endpoint))).filter(|limit| *limit > 0)
    }

    /// What is known now. Starts to ask, if nobody has.
    fn look_up(&self, lister: &ModelLister, endpoint: &Endpoint) -> Option<u64> {
        if endpoint.is_demo() {
            return None;
        }
        let key = key(endpoint);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = asked.entry(key).or_insert_with_key(|key| match self.cached(key) {
            Some(known) => watch::channel(Some(known)).1,
            None => self.ask(lister, endpoint, key),
        });
        limit(*answer.borrow())
    }

    /// The same, with a little patience when it asks: a server on this machine answers at once.
    pub(super) async fn soon(&self, lister: &ModelLister, endpoint: &Endpoint) -> Option<u64> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&key(endpoint));
        if asked {
            return self.known(endpoint);
        }
        tokio::time::timeout(PATIENCE, self.await_answer(lister, endpoint)).await.ok().flatten()
    }

    /// The same, but waits for a server that was asked and has not answered yet: when there is no way on without it.
    pub(super) async fn await_answer(&self, lister: &ModelLister, endpoint: &Endpoint) -> Option<u64> {
        self.look_up(lister, endpoint);
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).get(&key(endpoint)).cloned();
        let mut answer = asked?;
        let answer = answer.wait_for(Option::is_some).await.ok()?;
        limit(*answer)
    }

    /// A server named it in a refusal: in this session that is the truth, in the next one a hint.
    pub(super) fn learn(&self, endpoint: &Endpoint, limit: u64) {
        let key = key(endpoint);
        if let Some(cache) = &self.cache {
            cache.put(&hint_key(&key), &limit);
        }
        self.settle(key, Known::Limit(limit));
    }

    /// It stands in a list that somebody else asked for.
    pub(super) fn hear(&self, endpoint: &Endpoint, limit: u64) {
        if self.known(endpoint).is_none() {
            let key = key(endpoint);
            self.keep(&key, Known::Limit(limit));
            self.settle(key, Known::Limit(limit));
        }
    }

    fn settle(&self, key: String, known: Known) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert(key, watch::channel(Some(known)).1);
    }

    /// These are what the server has.
    pub(super) fn note_list(&self, endpoint: &Endpoint, models: &[ModelInfo]) {
        let names = models.iter().map(|model| model.id.clone()).collect();
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.insert(endpoint.base_url.clone(), names);
    }

    /// What its server listed when it was last asked; nothing as long as nobody has.
    pub(super) fn listed(&self, endpoint: &Endpoint) -> Vec<String> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.get(&endpoint.base_url).cloned().unwrap_or_default()
    }

    fn ask(&self, lister: &ModelLister, endpoint: &Endpoint, key: &str) -> watch::Receiver<LimitKnown> {
        let (tell, answer) = watch::channel(None);
        let (lister, endpoint, key, limits) =
            (lister.clone(), endpoint.clone(), key.to_owned(), self.clone());
        tokio::spawn(async move {
            let listed = tokio::time::timeout(ASK_LIMIT, lister.list(&endpoint)).await;
            let known = match listed {
                Ok(Ok(models)) => {
                    // A server with one model answers to any name.
                    let named = models.iter().find(|model| model.id == endpoint.model);
                    let model = named.or(models.first().filter(|_| models.len() == 1));
                    let known =
                        model.and_then(|model| model.context_limit).map_or(Known::Untold, Known::Limit);
                    limits.keep(&key, known);
                    known
                }
                // Another session may ask again: a server that starts up has no list yet.
                Ok(Err(_)) | Err(_) => Known::Untold,
            };
            let _ = tell.send(Some(known));
        });
        answer
    }

    /// Nothing where a refusal said otherwise since.
    fn cached(&self, key: &str) -> Option<Known> {
        let cache = self.cache.as_ref()?;
        if cache.get(&hint_key(key)).is_some_and(|hint: u64| hint > 0) {
            return None;
        }
        let limit: u64 = cache.get(key)?;
        Some(if limit == 0 { Known::Untold } else { Known::Limit(limit) })
    }

    /// A list that says nothing leaves the hint as it is.
    fn keep(&self, key: &str, known: Known) {
        if let Some(cache) = &self.cache {
            let limit: u64 = limit(Some(known)).unwrap_or_default();
            cache.put(key, &limit);
            if limit > 0 {
                cache.forget(&hint_key(key));
            }
        }
    }
}

fn limit(answer: LimitKnown) -> Option<u64> {
    match answer {
        Some(Known::Limit(limit)) => Some(limit),
        Some(Known::Untold) | None => None,
    }
}

fn hint_key(key: &str) -> String {
    format!("refused {key}")
}

fn key(endpoint: &Endpoint) -> String {
    format!("context-limit {} {}", endpoint.base_url, endpoint.label())
}
