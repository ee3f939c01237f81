//! A model server that does exactly what a test scripted, byte by byte, and records what it was asked.
//! Knows no model wire: replies come ready made from [`crate::Reply`].

mod connection;
mod gate;
mod http;

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use crate::reply::Reply;
pub use gate::Gate;
pub use http::Request;

/// Nothing the server waits for takes longer: a stall, a gate, a client that does not read.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);

type Script = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;
type Observer = Arc<dyn Fn(Moment) + Send + Sync>;

/// What an observer is told, on the connection's own thread.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A request has been read; its answer is not yet chosen.
    Asked(&'a Request),
    /// The first byte of the answer is about to go out.
    Answering,
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    script: Option<Script>,
    observer: Option<Observer>,
    models: Option<Reply>,
    requests: Vec<Request>,
    forgetful: bool,
    hangups: usize,
    problems: Vec<String>,
    connections: HashMap<usize, TcpStream>,
}

#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
}

/// Lives on its own threads, so sync and async tests use it alike. Its `wait_for_…` methods, and a gate's, block
/// the thread they are called on: in an async test the client must run on another one (`spawn_blocking` the
/// wait, or use a multi-threaded runtime). Dropping it closes every connection, and fails the test if a request
/// came that no reply was scripted for.
pub struct ModelServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
    checked: AtomicBool,
}

impl ModelServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared::default());
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&shared, &listener)
        });
        Self { shared, address, acceptor: Some(acceptor), checked: AtomicBool::new(true) }
    }

    pub fn start_with<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let server = Self::start();
        replies.into_iter().for_each(|reply| server.push(reply));
        server
    }

    /// `http://127.0.0.1:PORT`: the base URL of the Anthropic wire.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of the OpenAI wires: `url()` and `/v1`.
    pub fn openai_base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Scripts the answer to the next request that has none yet.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.shared.lock().replies.push_back(reply.into());
    }

    /// Answers every request for which nothing was pushed.
    pub fn always<R: Into<Reply>>(&self, script: impl Fn(&Request) -> R + Send + Sync + 'static) {
        self.shared.lock().script = Some(Arc::new(move |request| script(request).into()));
    }

    /// Answers `GET …/models` from now on; without it the server offers one model named `scripted`.
    pub fn models(&self, reply: impl Into<Reply>) {
        self.shared.lock().models = Some(reply.into());
    }

    /// Watches requests and answers as they happen.
    pub fn observe(&self, observer: impl Fn(Moment) + Send + Sync + 'static) {
        self.shared.lock().observer = Some(Arc::new(observer));
    }

    /// Stops recording requests, for runs whose bodies would fill the memory.
    pub fn forget_requests(&self) {
        self.shared.lock().forgetful = true;
    }

    /// All requests so far, in the order they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// The requests to a model: every POST so far.
    pub fn calls(&self) -> Vec<Request> {
        let state = self.shared.lock();
        state.requests.iter().filter(|request| request.method == "POST").cloned().collect()
    }

    /// Waits for the `n`th request, counted from 1, and returns it.
    #[track_caller]
    pub fn wait_for_request(&self, n: usize, timeout: Duration) -> Request {
        let found = self.shared.wait(timeout, |state| state.requests.get(n.checked_sub(1)?).cloned());
        found.unwrap_or_else(|| panic!("no request number {n} within {timeout:?}"))
    }

    /// Like [`Self::wait_for_request`], counting POST requests only.
    #[track_caller]
    pub fn wait_for_call(&self, n: usize, timeout: Duration) -> Request {
        let found = self.shared.wait(timeout, |state| {
            state.requests.iter().filter(|request| request.method == "POST").nth(n.checked_sub(1)?).cloned()
        });
        found.unwrap_or_else(|| panic!("no model call number {n} within {timeout:?}"))
    }

    /// Waits until `n` clients went away while their reply was still being played.
    #[track_caller]
    pub fn wait_for_hangups(&self, n: usize, timeout: Duration) {
        let found = self.shared.wait(timeout, |state| (state.hangups >= n).then_some(()));
        assert!(found.is_some(), "fewer than {n} clients went away within {timeout:?}");
    }

    /// For tests that want unscripted requests: neither [`Self::assert_clean`] nor drop complains any more.
    pub fn allow_unscripted(&self) {
        self.checked.store(false, Ordering::SeqCst);
    }

    /// Fails if a request came that nothing was scripted for, or if a script itself went wrong.
    #[track_caller]
    pub fn assert_clean(&self) {
        if !self.checked.load(Ordering::SeqCst) {
            return;
        }
        let problems = std::mem::take(&mut self.shared.lock().problems);
        assert!(problems.is_empty(), "the scripted server met:\n  {}", problems.join("\n  "));
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for connection in self.shared.lock().connections.values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        if !std::thread::panicking() {
            self.assert_clean();
        }
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    for (number, stream) in listener.incoming().enumerate() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let _ = stream.set_nodelay(true);
        let _ = stream.set_write_timeout(Some(LIMIT));
        if let Ok(clone) = stream.try_clone() {
            shared.lock().connections.insert(number, clone);
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            connection::serve(&shared, stream, number);
            // The last descriptor of the socket closes here, and only then is FIN or RST sent.
            shared.lock().connections.remove(&number);
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<T>(&self, timeout: Duration, find: impl Fn(&State) -> Option<T>) -> Option<T> {
        let state = self.lock();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, timeout, |state| find(state).is_none())
            .unwrap_or_else(PoisonError::into_inner);
        find(&state)
    }

    pub(crate) fn problem(&self, what: String) {
        self.lock().problems.push(what);
        self.changed.notify_all();
    }

    fn tell(&self, moment: Moment) {
        let observer = self.lock().observer.clone();
        if let Some(observer) = observer {
            observer(moment);
        }
    }

    fn hangup(&self) {
        self.lock().hangups += 1;
        self.changed.notify_all();
    }

    /// Records the request and picks its reply.
    fn answer(&self, request: Request) -> Reply {
        self.tell(Moment::Asked(&request));
        let mut state = self.lock();
        let reply = if request.lists_models() {
            Some(state.models.clone().unwrap_or_else(default_models))
        } else {
            state.replies.pop_front()
        };
        let script = state.script.clone();
        let kept = (!state.forgetful).then(|| request.clone());
        state.requests.extend(kept);
        drop(state);
        self.changed.notify_all();
        match (reply, script) {
            (Some(reply), _) => reply,
            (None, Some(script)) => self.run_script(&script, &request),
            (None, None) => self.unscripted(format!(
                "{} {} came, but no reply is scripted for it",
                request.method, request.path
            )),
        }
    }

    fn run_script(&self, script: &Script, request: &Request) -> Reply {
        let reply = catch_unwind(AssertUnwindSafe(|| script(request)));
        reply.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            self.unscripted(format!("the script failed: {text}"))
        })
    }

    fn unscripted(&self, problem: String) -> Reply {
        let body = json!({"error": {"type": "unscripted", "message": problem}});
        self.problem(problem);
        // Without this header a client may retry, and the first failure is the telling one.
        Reply::status(500).header("x-should-retry", "false").json(body)
    }
}

fn default_models() -> Reply {
    let model = json!({"id": "scripted", "object": "model", "owned_by": "testkit", "max_model_len": 32_768});
    Reply::status(200).json(json!({"object": "list", "data": [model]}))
}
