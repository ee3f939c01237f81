//! `zdx acp --replay FILE`: plays the agent of a recording (`proxy`). Requests are answered as they were then, in that order and
//! under the asker's ids; what the agent asked is asked again, and its answer awaited. Where the asker does something else,
//! that is said, and it ends.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::task::JoinHandle;
use zdx_acp::{Asked, CallError, Frame, Heard, Id, Inbox, Peer, RpcError, code, connect};

use crate::exit::{Ending, Failure, reason};
use crate::pump::unless_signalled;
use crate::signals::Signals;
use crate::stdio;

const LARGEST: u64 = 512 << 20;
/// What an asker that went astray gets to read why.
const PARTING: Duration = Duration::from_secs(2);

/// One line of a recording.
#[derive(Deserialize)]
struct Written {
    dir: String,
    #[serde(default)]
    frame: Option<Value>,
    #[serde(default)]
    text: Option<String>,
}

enum Step {
    Client(Frame),
    Agent(Frame),
    /// What the agent said that was no frame.
    Noise(String),
}

pub async fn run(file: &Path) -> Result<Ending, Failure> {
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let steps = read(file)?;
    let (stdout, written) = stdio::stdout().map_err(Failure::runtime)?;
    let (peer, inbox) = connect(stdio::stdin().map_err(Failure::runtime)?, stdout, None);
    let player = Player {
        peer,
        inbox: Some(inbox),
        asked: HashMap::new(),
        asking: HashMap::new(),
        notes: Vec::new(),
        requests: Vec::new(),
    };
    let played = unless_signalled(&mut signals, player.play(steps)).await;
    let _ = tokio::time::timeout(PARTING, written).await;
    match played {
        Ok(Ok(())) => Ok(Ending::Completed),
        Ok(Err(why)) => Err(Failure::runtime(format!("{}: {why}", file.display()))),
        Err(caught) => Ok(Ending::Signalled(caught)),
    }
}

/// Each with its line.
fn read(file: &Path) -> Result<Vec<(usize, Step)>, Failure> {
    let place = file.display();
    let cannot = |error: io::Error| Failure::usage(format!("cannot read {place}: {}", reason(&error)));
    let opened = std::fs::File::open(file).map_err(cannot)?;
    if opened.metadata().map_err(cannot)?.len() > LARGEST {
        return Err(Failure::usage(format!("{place} is larger than {} MiB", LARGEST >> 20)));
    }
    let mut lines = BufReader::new(opened.take(LARGEST)).split(b'\n').enumerate().peekable();
    let mut steps = Vec::new();
    while let Some((at, line)) = lines.next() {
        let (line, number) = (line.map_err(cannot)?, at + 1);
        match serde_json::from_slice::<Written>(&line) {
            Ok(written) => steps.extend(step(written).map(|step| (number, step))),
            // Torn off by a full disk or on its way here: what is before it can be played.
            Err(error) if error.is_eof() && lines.peek().is_none() => {}
            Err(error) => {
                return Err(Failure::usage(format!("{place}:{number}: no line of a recording: {error}")));
            }
        }
    }
    Ok(steps)
}

fn step(written: Written) -> Option<Step> {
    let frame = written.frame.as_ref().and_then(|frame| Frame::read(frame.to_string().as_bytes()).ok());
    match (written.dir.as_str(), frame) {
        ("client", Some(frame)) => Some(Step::Client(frame)),
        ("agent", Some(frame)) => Some(Step::Agent(frame)),
        ("agent", None) => {
            written.text.or_else(|| written.frame.map(|frame| frame.to_string())).map(Step::Noise)
        }
        // What the client said that was no frame nobody has to say again.
        _ => None,
    }
}

struct Player {
    peer: Peer,
    inbox: Option<Inbox>,
    /// By the ids of the recording.
    asked: HashMap<Id, Asked>,
    asking: HashMap<Id, JoinHandle<Result<Value, CallError>>>,
    /// Heard, and not yet played.
    notes: Vec<String>,
    requests: Vec<Asked>,
}

/// How the recording and the asker part.
enum Parted {
    /// The asker is gone.
    Left,
    Astray(String),
}

impl Player {
    async fn play(mut self, steps: Vec<(usize, Step)>) -> Result<(), String> {
        for (line, step) in steps {
            let is_beginning =
                matches!(&step, Step::Client(Frame::Request { method, .. }) if method == "initialize");
            let expected = match &step {
                Step::Client(frame) => name(frame),
                Step::Agent(_) | Step::Noise(_) => String::new(),
            };
            if is_beginning {
                self.owes_nothing().await?;
            }
            match self.step(step).await {
                Ok(()) => {}
                // Several runs may stand in one file: who has played one may leave.
                Err(Parted::Left) if is_beginning => return Ok(()),
                Err(Parted::Left) => return Err(format!("line {line}: the client left before {expected}")),
                Err(Parted::Astray(got)) => {
                    let why = format!(
                        "line {line}: the recording goes on with {expected}, and the client sent {got}"
                    );
                    self.part(&why).await;
                    return Err(why);
                }
            }
        }
        self.owes_nothing().await?;
        let request = self.request().await;
        match request {
            Err(_) => Ok(()),
            Ok(asked) => {
                let why = format!("the recording is over, and the client sent {}", asked.method);
                self.requests.push(asked);
                self.part(&why).await;
                Err(why)
            }
        }
    }

    /// Where the agent died the recording just ends; whoever waits for an answer hears of it.
    async fn owes_nothing(&mut self) -> Result<(), String> {
        let Some(asked) = self.asked.values().next() else { return Ok(()) };
        let why = format!("the recording ends before the answer to {}", asked.method);
        self.part(&why).await;
        Err(why)
    }

    async fn step(&mut self, step: Step) -> Result<(), Parted> {
        match step {
            Step::Client(Frame::Request { id, method, .. }) => {
                let asked = self.request().await?;
                if asked.method != method {
                    let got = asked.method.clone();
                    self.requests.push(asked);
                    return Err(Parted::Astray(got));
                }
                self.asked.insert(id, asked);
            }
            Step::Client(Frame::Notification { method, .. }) => self.note(&method).await?,
            Step::Client(Frame::Response { id, .. }) => self.answered(id).await?,
            Step::Agent(Frame::Request { id, method, params }) => {
                let peer = self.peer.clone();
                let asking = tokio::spawn(async move { peer.call(&method, params).await });
                self.asking.insert(id, asking);
                // It is on its way before anything that was said after it.
                tokio::task::yield_now().await;
            }
            Step::Agent(Frame::Notification { method, params }) => {
                self.peer.notify(&method, params).await.map_err(|_| Parted::Left)?;
            }
            Step::Agent(Frame::Response { id, result }) => {
                if let Some(asked) = id.and_then(|id| self.asked.remove(&id)) {
                    asked.answer(result).await;
                }
            }
            Step::Noise(line) => self.peer.say(&line).await.map_err(|_| Parted::Left)?,
        }
        Ok(())
    }

    async fn hear(&mut self) -> Result<(), Parted> {
        let heard = match &mut self.inbox {
            Some(inbox) => inbox.recv().await,
            None => None,
        };
        match heard.ok_or(Parted::Left)? {
            Heard::Request(asked) => self.requests.push(asked),
            Heard::Notification { method, .. } => self.notes.push(method),
            Heard::Stray { .. } => {}
        }
        Ok(())
    }

    /// The next one in the asker's order.
    async fn request(&mut self) -> Result<Asked, Parted> {
        while self.requests.is_empty() {
            self.hear().await?;
        }
        Ok(self.requests.remove(0))
    }

    /// Until it was said; a request in its place is something else.
    async fn note(&mut self, method: &str) -> Result<(), Parted> {
        loop {
            if let Some(at) = self.notes.iter().position(|note| note == method) {
                self.notes.remove(at);
                return Ok(());
            }
            if let Some(asked) = self.requests.first() {
                return Err(Parted::Astray(asked.method.clone()));
            }
            self.hear().await?;
        }
    }

    /// Until what was asked is answered, whatever the answer is.
    async fn answered(&mut self, id: Option<Id>) -> Result<(), Parted> {
        let Some(mut asking) = id.and_then(|id| self.asking.remove(&id)) else { return Ok(()) };
        loop {
            tokio::select! {
                answer = &mut asking => return match answer {
                    Ok(Ok(_) | Err(CallError::Refused(_))) => Ok(()),
                    Ok(Err(CallError::Gone)) | Err(_) => Err(Parted::Left),
                },
                heard = self.hear() => heard?,
            }
        }
    }

    /// Says why to whoever waits, and gives it a moment to read it.
    async fn part(&mut self, why: &str) {
        let waiting = self.asked.drain().map(|(_, asked)| asked).chain(self.requests.drain(..));
        for asked in waiting.collect::<Vec<_>>() {
            asked.answer(Err(RpcError::new(code::INTERNAL, why))).await;
        }
        let gone = async { while self.hear().await.is_ok() {} };
        let _ = tokio::time::timeout(PARTING, gone).await;
    }
}

fn name(frame: &Frame) -> String {
    match frame {
        Frame::Request { method, .. } | Frame::Notification { method, .. } => method.clone(),
        Frame::Response { .. } => "an answer".to_owned(),
    }
}
