//! What holds in a folder whose own files want more than they get: a person is asked, and the answer is kept.

use std::path::Path;
use std::sync::Arc;

use zdx_protocol::{Command, ErrorKind, Event, NoticeLevel, RequestId, Sent, Standing, TrustRequest};

use super::{Host, OpenError, SessionTarget};
use crate::engine::failed;
use zdx_config::EffectiveConfig;
use zdx_config::trust::TrustStore;

impl Host {
    /// Asks about the folder's own files again, and goes on with the session by what holds then.
    pub(super) async fn decide_trust(&mut self) -> Result<(), OpenError> {
        self.declined = None;
        let root = self.root().to_owned();
        let before = self.read_config(&root).await?.standing;
        let configured = self.configured(&root).await?;
        if configured.standing == before {
            if configured.wants.is_empty() {
                let message = nothing_to_trust(before).to_owned();
                let _ =
                    self.events.send(Event::Notice { level: NoticeLevel::Info, message, kept: false }).await;
            }
            return Ok(());
        }
        match &self.session {
            Some(_) => self.go_on(configured, Vec::new()).await,
            None => {
                let target = SessionTarget::of(self.root().to_owned(), self.new_session());
                self.begin(target, configured).await
            }
        }
    }

    /// What holds in a folder, after a person was asked about files that want more than they get.
    pub(super) async fn configured(&mut self, root: &Path) -> Result<EffectiveConfig, OpenError> {
        let setup = Arc::clone(&self.setup);
        let place = setup.place(root);
        let configured = self.read_config(root).await?;
        let digest = configured.files.digest();
        if !setup.person || configured.wants.is_empty() || self.declined == Some(digest) {
            return Ok(configured);
        }
        let request = self.approvals.number();
        let question = TrustRequest { request, state: configured.state(place) };
        let _ = self.events.send(Event::TrustRequested(question)).await;
        let trusted = self.trust_answer(request).await?;
        if trusted {
            TrustStore::new(setup.paths.trust_file()).trust(root, &configured.files)?;
        } else {
            self.declined = Some(digest);
        }
        let _ = self.events.send(Event::TrustResolved { request, trusted }).await;
        if !trusted {
            return Ok(configured);
        }
        // By the store again: files that changed while the question stood are not those that were shown.
        self.read_config(root).await
    }

    async fn trust_answer(&mut self, asked: RequestId) -> Result<bool, OpenError> {
        loop {
            match self.inbox.fresh().await {
                Some(Sent { id, command: Command::AnswerTrust { request, trust } }) => {
                    let mine = request == asked;
                    let end = match mine {
                        true => Event::Done { id },
                        false => failed(id, ErrorKind::Session, "that question is no longer open"),
                    };
                    let _ = self.events.send(end).await;
                    if mine {
                        return Ok(trust);
                    }
                }
                sent => self.meanwhile(sent)?,
            }
        }
    }
}

/// Why nobody was asked.
fn nothing_to_trust(standing: Standing) -> &'static str {
    match standing {
        Standing::Trusted => {
            "this folder's files are trusted as they are; `zdx trust --revoke` takes that back"
        }
        Standing::Unknown | Standing::Changed => "nothing in this folder asks for trust",
    }
}
