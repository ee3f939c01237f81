//! The person's side of a run of `zdx acp`: what the agent says is shown, signals and a broken stdout stop a wait.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use zdx_acp::shapes::{Calls, Update};
use zdx_acp::{AcpObserver, Direction, Frame, Tap};
use zdx_engine::agents::AgentProcess;

use super::host::HostEvent;
use super::render::Stage;
use crate::signals::{Caught, Signals};

/// Time that a reader who takes nothing gets after a signal that a program sent.
const DISMISSED_PATIENCE: Duration = Duration::from_secs(3);
/// The same after a second signal.
const HURRIED_PATIENCE: Duration = Duration::from_millis(300);

/// Why a wait for the agent was stopped.
#[derive(Debug)]
pub enum ScreenStop {
    Signal(Caught),
    /// stdout cannot be written any more.
    Output(io::Error),
}

enum ScreenNews {
    Stop(ScreenStop),
    Host(HostEvent),
    Frame(Vec<u8>),
}

type FrameLines = mpsc::UnboundedReceiver<Vec<u8>>;

pub struct AcpScreen {
    pub stage: Stage,
    pub signals: Signals,
    pub calls: Calls,
    /// An old conversation is being replayed: it is not shown.
    pub is_replay: bool,
    /// A second signal came.
    pub is_hurried: bool,
    /// A wait was stopped; a reader that may never read on keeps nobody now.
    is_stopping: bool,
    /// A program sent a signal, and will not send it twice.
    is_dismissed: bool,
    events: mpsc::UnboundedReceiver<HostEvent>,
    frames: Option<FrameLines>,
}

/// Returns a tap and its lines: frames of both directions in the order of the wire.
pub fn tap() -> (Tap, FrameLines) {
    let (lines, frames) = mpsc::unbounded_channel();
    let tap: Tap = Arc::new(move |direction, line| {
        let is_frame = match direction {
            Direction::Sent => true,
            Direction::Received => Frame::read(line).is_ok(),
        };
        if is_frame {
            // Nobody mirrors any more.
            let _ = lines.send(line.to_vec());
        }
    });
    (tap, frames)
}

impl AcpObserver for AcpScreen {
    type Stop = ScreenStop;

    fn has_room(&self) -> bool {
        self.is_stopping || self.stage.has_room()
    }

    async fn attend(&mut self) -> Result<(), ScreenStop> {
        let room = self.has_room();
        let Self { stage: Stage { page, output, .. }, signals, events, frames, .. } = self;
        let news = tokio::select! {
            biased;
            caught = signals.next() => ScreenNews::Stop(ScreenStop::Signal(caught)),
            error = output.failures.next() => ScreenNews::Stop(ScreenStop::Output(error)),
            slot = output.pages.ready(), if !page.is_empty() => {
                slot.send(page);
                return Ok(());
            }
            Some(event) = events.recv(), if room => ScreenNews::Host(event),
            Some(line) = next_line(frames), if room => ScreenNews::Frame(line),
        };
        match news {
            ScreenNews::Stop(stop) => return Err(self.stopping(stop)),
            ScreenNews::Host(event) => self.stage.host(&event),
            ScreenNews::Frame(line) => {
                self.stage.frame(&line);
                while self.stage.has_room() && self.show_frame() {}
            }
        }
        Ok(())
    }

    async fn update(&mut self, mut update: Update) {
        if let Update::Call(call) = &mut update {
            *call = self.calls.fold(call);
        }
        if !self.is_replay {
            self.stage.update(update);
        }
    }

    async fn permission_requested(&mut self, call: Value) -> Value {
        let call = self.calls.fold(&call);
        if !self.is_replay {
            self.stage.update(Update::Call(call.clone()));
        }
        call
    }

    fn stray(&mut self, line: &str) {
        self.stage.stray(line);
    }

    fn catch_up(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.stage.host(&event);
        }
        while self.show_frame() {}
    }
}

impl AcpScreen {
    pub fn new(
        stage: Stage,
        signals: Signals,
        events: mpsc::UnboundedReceiver<HostEvent>,
        frames: Option<FrameLines>,
    ) -> Self {
        Self {
            stage,
            signals,
            calls: Calls::default(),
            is_replay: false,
            is_hurried: false,
            is_stopping: false,
            is_dismissed: false,
            events,
            frames,
        }
    }

    fn stopping(&mut self, stop: ScreenStop) -> ScreenStop {
        if let ScreenStop::Signal(caught) = &stop {
            self.is_hurried |= self.is_stopping;
            self.is_dismissed |= matches!(caught, Caught::Terminate | Caught::HangUp);
        }
        self.is_stopping = true;
        stop
    }

    fn show_frame(&mut self) -> bool {
        let line = self.frames.as_mut().and_then(|frames| frames.try_recv().ok());
        line.inspect(|line| self.stage.frame(line)).is_some()
    }

    /// Waits until everything said so far is written; a signal means that the reader is not worth waiting for.
    pub async fn settle(&mut self) -> Option<io::Error> {
        self.catch_up();
        let patience = self.patience();
        self.is_hurried |= settle(&mut self.stage, &mut self.signals, patience).await;
        self.stage.output.failures.take()
    }

    /// Time that a reader who takes nothing gets; None is all the time there is.
    fn patience(&self) -> Option<Duration> {
        match (self.is_hurried, self.is_dismissed) {
            (true, _) => Some(HURRIED_PATIENCE),
            (false, true) => Some(DISMISSED_PATIENCE),
            (false, false) => None,
        }
    }

    /// Shows the last frames while the agent is stopped. A signal ends the wait: the supervisor goes on without us.
    pub async fn see_off(mut self, agent: AgentProcess) -> Option<io::Error> {
        tokio::select! {
            () = agent.stop() => {}
            _ = self.signals.next() => return None,
        }
        self.settle().await
    }
}

/// Returns whether a signal ended the wait.
pub async fn settle(stage: &mut Stage, signals: &mut Signals, patience: Option<Duration>) -> bool {
    tokio::select! {
        () = stage.settle() => false,
        _ = signals.next() => true,
        () = tokio::time::sleep(patience.unwrap_or_default()), if patience.is_some() => false,
    }
}

async fn next_line(frames: &mut Option<FrameLines>) -> Option<Vec<u8>> {
    match frames {
        Some(frames) => frames.recv().await,
        None => std::future::pending().await,
    }
}
