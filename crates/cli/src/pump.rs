//! Carries events from the engine to the screen while listening for signals, for every kind of run.
//! Knows neither what an event looks like on the screen nor what exit code anything leads to.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};
use zdx_protocol::{ApprovalRequest, Command, CommandId, Decision, EngineHandle, Event, TurnSummary};

use crate::front::{Closing, Front};
use crate::output::{Output, Page};
use crate::signals::{Caught, Signals};

pub const ENGINE_GONE: &str = "the engine stopped without a word; this is a bug in zdx";
/// How long an interrupted engine may take to stop and save.
pub const GRACE: Duration = Duration::from_secs(3);
/// What a reader who does listen needs to take the rest.
const A_LAST_WORD: Duration = Duration::from_millis(200);
/// While this much waits to be written, the engine waits too.
const PAGE_LIMIT: usize = 64 << 10;

/// Who answers when the engine asks.
pub trait Answers {
    /// The answer, or the signal that came instead.
    async fn answer(
        &mut self,
        request: &ApprovalRequest,
        stage: &mut Stage,
        signals: &mut Signals,
    ) -> Result<Command, Caught>;
}

/// The engine does not ask when nobody is there; should it ever, silence must not pass for a yes.
pub struct Nobody;

impl Answers for Nobody {
    async fn answer(
        &mut self,
        request: &ApprovalRequest,
        _: &mut Stage,
        _: &mut Signals,
    ) -> Result<Command, Caught> {
        Ok(Command::Answer { request: request.request, decision: Decision::Deny { word: None } })
    }
}

/// A renderer and what carries its bytes away.
pub struct Stage {
    pub front: Front,
    page: Page,
    output: Output,
    tick: Interval,
    /// Whoever read our stdout has left: to say any more would be noise.
    silent: bool,
    /// A program told us to go, which nobody can be asked to do twice: a reader who stalls is waited for a while only.
    dismissed: bool,
    /// Somebody asked twice to leave: nobody is waited for any more.
    hurried: bool,
}

/// Why a turn is over.
#[derive(Debug)]
pub enum Cause {
    Finished,
    Signal(Caught),
    /// stdout cannot be written any more.
    Output(io::Error),
    EngineGone,
}

#[derive(Debug)]
pub struct TurnEnd {
    pub cause: Cause,
    /// Absent when the engine did not get so far.
    pub summary: Option<TurnSummary>,
}

impl Stage {
    pub fn new(front: Front) -> io::Result<Self> {
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            front,
            page: Page::default(),
            output: Output::start()?,
            tick,
            silent: false,
            dismissed: false,
            hurried: false,
        })
    }

    pub fn show(&mut self, event: &Event) {
        if self.silent {
            return;
        }
        self.front.show(event, &mut self.page);
    }

    pub fn say(&mut self, text: &str) {
        self.front.say(text, &mut self.page);
    }

    pub fn fail(&mut self, message: &str) {
        self.front.fail(message, &mut self.page);
    }

    pub fn ask(&mut self, text: &str) {
        self.front.ask(text, &mut self.page);
    }

    /// Waits until everything said so far stands on the screen.
    pub async fn settle(&mut self) {
        self.output.pages.settle(&mut self.page).await;
    }

    /// The last words. A signal meanwhile means that the reader is not worth waiting for.
    pub async fn close(&mut self, closing: &Closing<'_>, signals: &mut Signals) -> Option<io::Error> {
        self.front.close(closing, &mut self.page);
        let (hurried, dismissed) = (self.hurried, self.dismissed);
        tokio::select! {
            () = self.output.pages.settle(&mut self.page) => {}
            _ = signals.next() => {}
            () = tokio::time::sleep(A_LAST_WORD), if hurried => {}
            () = tokio::time::sleep(GRACE), if dismissed => {}
        }
        self.output.failures.take()
    }

    /// Shows what happens until this command is over. Comes back with the event that ends it, which says nothing on the
    /// screen; with nothing when the engine is gone.
    pub async fn until_over(
        &mut self,
        command: CommandId,
        engine: &mut EngineHandle,
        signals: &mut Signals,
    ) -> Result<Option<Event>, Caught> {
        loop {
            match unless_signalled(signals, engine.events.recv()).await? {
                Some(event) if event.ends() == Some(command) => {
                    // With it, what was told again of an earlier session is complete.
                    if matches!(event, Event::Done { .. } | Event::Reply { .. }) {
                        self.show(&event);
                    }
                    return Ok(Some(event));
                }
                // How something else ended that nobody waits for any more is no news.
                Some(event) if event.ends().is_some() => {}
                Some(event) => self.show(&event),
                None => return Ok(None),
            }
        }
    }

    /// Shows what happens until the turn that this command began is over, or until waiting for that makes no sense any
    /// more.
    pub async fn turn(
        &mut self,
        command: CommandId,
        engine: &mut EngineHandle,
        signals: &mut Signals,
        person: &mut impl Answers,
    ) -> TurnEnd {
        let mut stop: Option<(Cause, Instant)> = None;
        let mut summary = None;
        self.tick.reset();
        loop {
            let deadline = stop.as_ref().map(|(_, deadline)| *deadline);
            let cause = match self.wait(engine, signals, deadline).await {
                Woke::Written => continue,
                Woke::Late => Cause::EngineGone,
                Woke::Stop(cause) => cause,
                Woke::Event(event) => match self.follow(event, command, &mut summary, engine) {
                    Next::More => continue,
                    // It was asked before the turn was called off, and is withdrawn with it.
                    Next::Ask(_) if stop.is_some() => continue,
                    Next::Ask(request) => match person.answer(&request, self, signals).await {
                        Ok(answer) => {
                            engine.send(answer).await;
                            continue;
                        }
                        Err(caught) => Cause::Signal(caught),
                    },
                    Next::Over => {
                        let cause = stop.map_or(Cause::Finished, |(cause, _)| cause);
                        return TurnEnd { cause, summary };
                    }
                    Next::Gone => {
                        let cause = stop.map_or(Cause::EngineGone, |(cause, _)| cause);
                        return TurnEnd { cause, summary };
                    }
                },
            };
            // Whoever asks twice, or waits too long, is not made to wait any longer.
            if let Some((first, _)) = stop {
                self.hurried = true;
                return TurnEnd { cause: first, summary };
            }
            self.dismissed |= matches!(&cause, Cause::Signal(Caught::Terminate | Caught::HangUp));
            self.silent |=
                matches!(&cause, Cause::Output(error) if error.kind() == io::ErrorKind::BrokenPipe);
            stop = Some((cause, Instant::now() + GRACE));
            // A full queue of commands means that the engine is stuck: the deadline deals with that.
            let _ = engine.try_send(Command::Interrupt);
        }
    }

    async fn wait(
        &mut self,
        engine: &mut EngineHandle,
        signals: &mut Signals,
        deadline: Option<Instant>,
    ) -> Woke {
        let Self { front, page, output, tick, .. } = self;
        tokio::select! {
            biased;
            caught = signals.next() => Woke::Stop(Cause::Signal(caught)),
            error = output.failures.next() => Woke::Stop(Cause::Output(error)),
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Woke::Late,
            slot = output.pages.ready(), if !page.is_empty() => {
                slot.send(page);
                Woke::Written
            }
            // A turn that is being stopped must not wait for a reader who may never read on.
            event = engine.events.recv(), if page.len() < PAGE_LIMIT || deadline.is_some() => Woke::Event(event),
            _ = tick.tick(), if front.is_live() => {
                front.tick(std::time::Instant::now(), page);
                Woke::Written
            }
        }
    }

    /// Shows an event and all that already wait behind it, as one page.
    fn follow(
        &mut self,
        event: Option<Event>,
        command: CommandId,
        summary: &mut Option<TurnSummary>,
        engine: &mut EngineHandle,
    ) -> Next {
        let Some(mut event) = event else { return Next::Gone };
        loop {
            let over = event.ends();
            if over.is_none_or(|over| over == command) {
                self.show(&event);
            }
            if over == Some(command) {
                return Next::Over;
            }
            match event {
                Event::TurnFinished(finished) => *summary = Some(finished),
                Event::ApprovalRequested(request) => return Next::Ask(Box::new(request)),
                _ => {}
            }
            if self.page.len() >= PAGE_LIMIT {
                return Next::More;
            }
            match engine.events.try_recv() {
                Ok(next) => event = next,
                Err(_) => return Next::More,
            }
        }
    }

    /// Ends the engine and shows its last words; gives up after a while or at the next signal.
    pub async fn shut_down(&mut self, engine: &mut EngineHandle, signals: &mut Signals) {
        let last_words = async {
            let shutdown = engine.send(Command::Shutdown).await;
            while let Some(event) = engine.events.recv().await {
                match event.ends() {
                    None => self.show(&event),
                    Some(over) if over == shutdown => return,
                    // What becomes of a command is of no interest to somebody who leaves.
                    Some(_) => {}
                }
            }
        };
        let hurried = tokio::select! {
            () = last_words => false,
            () = tokio::time::sleep(GRACE) => false,
            _ = signals.next() => true,
        };
        self.hurried |= hurried;
    }
}

#[expect(clippy::large_enum_variant, reason = "it lives for one match")]
enum Woke {
    Written,
    Stop(Cause),
    /// The engine was told to stop and has not.
    Late,
    Event(Option<Event>),
}

enum Next {
    More,
    Ask(Box<ApprovalRequest>),
    Over,
    Gone,
}

/// Waits for something that takes time, unless a signal says that it is no longer wanted.
pub async fn unless_signalled<T>(signals: &mut Signals, work: impl Future<Output = T>) -> Result<T, Caught> {
    tokio::select! {
        biased;
        caught = signals.next() => Err(caught),
        value = work => Ok(value),
    }
}
