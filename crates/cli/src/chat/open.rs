//! How a chat comes to its session: opened, perhaps after a question about the folder's own files, and told again as far
//! as it went.

use zdx_protocol::{Command, ErrorKind, Event, TrustRequest};

use super::input::Input;
use super::{Chat, Session, trust};
use crate::exit::{Ending, Failure};
use crate::pump::{ENGINE_GONE, unless_signalled};

pub enum Opened {
    Yes,
    /// Why not. The session that was open is still there.
    Refused(ErrorKind, String),
    /// The person would rather not be here.
    Leave(Ending),
}

impl Chat<'_> {
    /// Carries out a command that may lead to another session.
    pub(super) async fn open(&mut self, command: Command) -> Result<Opened, Failure> {
        let id = self.engine.send(command).await;
        loop {
            let event = match unless_signalled(&mut self.signals, self.engine.events.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return Err(Failure::runtime(ENGINE_GONE)),
                Err(caught) => return Ok(Opened::Leave(Ending::Signalled(caught))),
            };
            match event {
                Event::Error { command: Some(over), kind, message, .. } if over == id => {
                    return Ok(Opened::Refused(kind, message));
                }
                event if event.ends() == Some(id) => return Ok(Opened::Yes),
                event if event.ends().is_some() => {}
                Event::TrustRequested(request) => {
                    if let Some(ending) = self.settle_trust(&request).await {
                        return Ok(Opened::Leave(ending));
                    }
                }
                Event::SessionStarted(info) => {
                    let same = self.session.as_ref().filter(|open| open.id == info.session);
                    let turns = same.map_or(0, |open| open.turns);
                    self.session = Some(Session { id: info.session.clone(), saved: info.saved, turns });
                    self.stage.show(&Event::SessionStarted(info));
                }
                event => self.stage.show(&event),
            }
        }
    }

    /// Asks about a folder whose files want more than they get, before anything of them is used. Gives an ending when
    /// the person would rather not be here.
    async fn settle_trust(&mut self, request: &TrustRequest) -> Option<Ending> {
        let trust = match &mut self.input {
            Input::Editor(editor) => {
                let (stage, signals) = (&mut self.stage, &mut self.signals);
                match trust::ask(&request.state, self.settings, &mut editor.keyboard, stage, signals).await {
                    Ok(trust::TrustAnswer::Trust) => true,
                    Ok(trust::TrustAnswer::NotNow) => false,
                    Ok(trust::TrustAnswer::Leave) => return Some(Ending::Completed),
                    Err(caught) => return Some(Ending::Signalled(caught)),
                }
            }
            // A terminal that knows only lines is not asked; the notice says what is left out.
            Input::Keyboard(_) | Input::Lines(_) => false,
        };
        self.engine.send(Command::AnswerTrust { request: request.request, trust }).await;
        None
    }
}
