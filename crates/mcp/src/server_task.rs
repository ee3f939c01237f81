//! One server's life: started, listed, listened to, started again after a crash, given up in the end.
//! (The field says lifecycle, health check, restart policy.)

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use zdx_protocol::McpState;
use zdx_protocol::record::millis;

use super::ServerEnvironment;
use super::discover::discover;
use super::entry::ServerEntry;
use super::link::{RunningServer, ServerLink, StartFault};
use super::listing::ServerListing;

/// A server whose list is known is not needed before the model has answered: the first request goes first.
const HEAD_START: Duration = Duration::from_millis(200);
/// After a crash, and after the next.
const BACKOFF: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(8)];
/// One that ran this long was well: its next crash is the first again.
const STEADY: Duration = Duration::from_secs(60);
/// Servers announce changes in bursts.
const BURST: Duration = Duration::from_millis(100);

pub struct ServerTask {
    /// What it is called in tools' names, rules and mentions.
    pub id: String,
    pub entry: ServerEntry,
    now: watch::Sender<ServerStatus>,
    /// Somebody waits for it.
    wanted: Notify,
}

/// How it is at this moment.
#[derive(Clone)]
pub struct ServerStatus {
    pub state: McpState,
    pub link: Option<ServerLink>,
    pub listing: Option<Arc<ServerListing>>,
    /// The listing is from an earlier run.
    pub cached: bool,
    pub start_ms: Option<u64>,
    pub error: Option<String>,
}

/// How much is done for a server.
#[derive(Clone, Copy)]
pub struct ConnectMode {
    pub restarts: usize,
    /// What was listed before counts, and there is no hurry.
    pub remembers: bool,
}

impl ConnectMode {
    pub const SESSION: Self = Self { restarts: BACKOFF.len(), remembers: true };
    pub const LOOK: Self = Self { restarts: 0, remembers: false };
}

/// Whom it tells that it has changed.
pub type ChangeSender = mpsc::Sender<usize>;

impl ServerTask {
    pub fn new(id: String, entry: ServerEntry, ground: &ServerEnvironment, manner: ConnectMode) -> Self {
        let listing =
            manner.remembers.then(|| ground.cache.get::<ServerListing>(&cache_key(&entry))).flatten();
        let now = ServerStatus {
            state: McpState::Starting,
            link: None,
            cached: listing.is_some(),
            listing: listing.map(Arc::new),
            start_ms: None,
            error: None,
        };
        Self { id, entry, now: watch::Sender::new(now), wanted: Notify::new() }
    }

    pub fn now(&self) -> ServerStatus {
        self.now.borrow().clone()
    }

    /// Neither seen in an earlier run nor heard of yet in this one.
    pub fn is_unknown(&self) -> bool {
        let now = self.now.borrow();
        now.listing.is_none() && now.state == McpState::Starting
    }

    /// Returns once it is known what it has, or that it has failed.
    pub async fn settled(&self) {
        let mut now = self.now.subscribe();
        let _ = now.wait_for(|now| now.listing.is_some() || now.state != McpState::Starting).await;
    }

    /// Returns once it is up, or has failed for the first time.
    pub async fn answered(&self) {
        let mut now = self.now.subscribe();
        let _ = now.wait_for(|now| now.state != McpState::Starting).await;
    }

    /// For asking it, as soon as it is up; else why it is not.
    pub async fn link(&self) -> Result<ServerLink, String> {
        if self.now.borrow().link.is_none() {
            self.wanted.notify_one();
        }
        let mut now = self.now.subscribe();
        let up = now.wait_for(|now| now.link.is_some() || now.state == McpState::Failed);
        match tokio::time::timeout(self.entry.timeout, up).await {
            Ok(Ok(now)) => now.link.clone().ok_or_else(|| now.error.clone().unwrap_or_default()),
            Ok(Err(_)) => Err("zdx is leaving".to_owned()),
            Err(_) => {
                let limit = self.entry.timeout.as_millis();
                let why = self.now.borrow().error.clone();
                Err(why.unwrap_or_else(|| format!("it is not up after {limit} ms (timeout_ms)")))
            }
        }
    }

    /// Whether it lists this very tool in this run, as far as it has said.
    pub fn lists(&self, tool: &str, digest: &str) -> bool {
        let now = self.now.borrow();
        let mut tools = now.listing.iter().flat_map(|listing| &listing.tools);
        tools.any(|listed| listed.name == tool && listed.digest() == digest)
    }

    /// Why it ended, as soon as that is known.
    pub async fn end(&self) -> String {
        let mut now = self.now.subscribe();
        let ended = now.wait_for(|now| now.error.is_some());
        match tokio::time::timeout(Duration::from_millis(500), ended).await {
            Ok(Ok(now)) => now.error.clone().unwrap_or_default(),
            Ok(Err(_)) | Err(_) => "it closed its stdout".to_owned(),
        }
    }

    /// Until it is given up, or nobody needs it any more.
    pub async fn attend(
        self: Arc<Self>,
        at: usize,
        ground: Arc<ServerEnvironment>,
        manner: ConnectMode,
        bell: ChangeSender,
        stop: CancellationToken,
    ) {
        if self.now.borrow().cached {
            self.pause(HEAD_START, &stop).await;
        }
        let mut crashes = 0;
        while !stop.is_cancelled() {
            let began = Instant::now();
            let up = tokio::select! {
                up = self.up(&ground) => up,
                () = stop.cancelled() => return,
            };
            let fault = match up {
                Ok((running, listing)) => {
                    // A call that waits for the link goes by the list of this run.
                    self.list(listing, &ground);
                    self.ready(began, &running.link);
                    ring(&bell, at);
                    let Some(fault) = self.serve(running, &ground, &bell, at, &stop).await else { return };
                    if began.elapsed() > STEADY {
                        crashes = 0;
                    }
                    fault
                }
                Err(fault) => fault,
            };
            crashes += 1;
            let gives_up = fault.lasting || crashes > manner.restarts;
            self.now.send_modify(|now| {
                now.link = None;
                now.state = if gives_up { McpState::Failed } else { McpState::Restarting };
                now.error = Some(match gives_up && crashes > 1 {
                    true => format!("{}; given up after {crashes} times", fault.why),
                    false => fault.why,
                });
            });
            ring(&bell, at);
            if gives_up {
                return;
            }
            self.pause(BACKOFF[(crashes - 1).min(BACKOFF.len() - 1)], &stop).await;
        }
    }

    /// For so long, unless somebody waits for it or nobody ever will.
    async fn pause(&self, time: Duration, stop: &CancellationToken) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.wanted.notified() => {}
            () = stop.cancelled() => {}
        }
    }

    /// Healthy is who shakes hands and lists his tools in time.
    async fn up(&self, ground: &ServerEnvironment) -> Result<(RunningServer, ServerListing), StartFault> {
        let running = RunningServer::start(&self.entry, &self.id, ground).await?;
        match discover(&running.link.peer, self.entry.timeout).await {
            Ok(listing) => Ok((running, listing)),
            Err(why) => {
                running.stop().await;
                Err(StartFault { why, lasting: false })
            }
        }
    }

    fn ready(&self, began: Instant, link: &ServerLink) {
        self.now.send_modify(|now| {
            now.state = McpState::Ready;
            now.link = Some(link.clone());
            now.start_ms = Some(millis(began.elapsed()));
            now.error = None;
        });
    }

    /// The same list as before is the same value: nobody has to look at it again.
    fn list(&self, listing: ServerListing, ground: &ServerEnvironment) {
        ground.cache.put(&cache_key(&self.entry), &listing);
        self.now.send_modify(|now| {
            now.cached = false;
            if now.listing.as_deref() != Some(&listing) {
                now.listing = Some(Arc::new(listing));
            }
        });
    }

    /// While it runs. Why it ended; nothing when it was stopped.
    async fn serve(
        &self,
        mut running: RunningServer,
        ground: &ServerEnvironment,
        bell: &ChangeSender,
        at: usize,
        stop: &CancellationToken,
    ) -> Option<StartFault> {
        let changed = Arc::clone(&running.changed);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    running.stop().await;
                    return None;
                }
                fault = running.ended() => {
                    self.now.send_modify(|now| now.link = None);
                    running.stop().await;
                    return Some(fault);
                }
                () = changed.notified() => {}
            }
            let peer = running.link.peer.clone();
            let listed = async {
                tokio::time::sleep(BURST).await;
                discover(&peer, self.entry.timeout).await
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    running.stop().await;
                    return None;
                }
                listed = listed => if let Ok(listing) = listed {
                    self.list(listing, ground);
                    ring(bell, at);
                }
            }
        }
    }
}

/// A full queue has somebody on the way already.
fn ring(bell: &ChangeSender, at: usize) {
    let _ = bell.try_send(at);
}

/// What else starts, with other variables too, is another server.
fn cache_key(entry: &ServerEntry) -> String {
    format!("mcp listing 2 {:?} {:?}", entry.command, entry.environment)
}
