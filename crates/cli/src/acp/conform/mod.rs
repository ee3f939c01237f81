//! `zdx acp --conform`: is this a good agent? A checklist that any agent can be held against, over connections of its own.
//! Every item passes, fails with the frame that it fails by, or is skipped with why. Prints nothing.

mod handshake;
mod line;
mod record;
mod report;
mod sessions;
mod settings;
#[cfg(test)]
mod tests;
mod turn;
mod wellformed;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zdx_acp::{Host, Inbox, Peer, Tap};

pub use report::Report;

use line::Line;
use report::Outcome;

/// How the agent is reached; it is started anew for some of the items.
pub trait Dial {
    /// The agent itself, for as long as the connection holds.
    type Agent;

    fn dial(&self, tap: Tap) -> impl Future<Output = Result<(Self::Agent, Peer, Inbox), String>>;

    /// Its stdin is closed by now.
    fn hang_up(&self, agent: Self::Agent) -> impl Future<Output = ()>;
}

/// What the agent is told.
pub struct Ground {
    pub cwd: PathBuf,
    /// The method by which it is logged in to.
    pub auth: Option<String>,
    /// For the turn that is played.
    pub prompt: String,
    /// What any answer may take, and what a turn may, or somebody who logs in.
    pub limit: Duration,
    pub turn_limit: Duration,
}

/// Goes through the whole list.
pub async fn run(dial: &impl Dial, host: Arc<impl Host>, ground: &Ground) -> Report {
    let mut report = Report::default();
    let mut line = match Line::open(dial, &host, ground).await {
        Ok(line) => line,
        Err(why) => {
            report.add("start", Outcome::fail(why));
            return report;
        }
    };
    let welcome = handshake::initialize(&mut report, &mut line).await;
    let mut strays = Vec::new();
    if let Some(welcome) = welcome {
        handshake::manners(&mut report, &line).await;
        let session = sessions::new(&mut report, &line).await;
        if let Some((session, answer)) = session {
            sessions::strangers(&mut report, &line, &welcome).await;
            turn::play(&mut report, &line, &session).await;
            settings::set(&mut report, &line, &session, &answer).await;
            sessions::list(&mut report, &line, &welcome).await;
            turn::cancel(&mut report, &line, &session).await;
            sessions::close(&mut report, &line, &welcome, &session).await;
            strays.extend(line.hang_up(dial).await);
            strays.extend(sessions::again(&mut report, dial, &host, ground, &welcome, &session).await);
        } else {
            strays.extend(line.hang_up(dial).await);
        }
        strays.extend(handshake::versions(&mut report, dial, &host, ground).await);
        strays.extend(handshake::garbage(&mut report, dial, &host, ground).await);
    } else {
        strays.extend(line.hang_up(dial).await);
    }
    report.add(
        "nothing but frames on stdout",
        match strays.into_iter().next() {
            None => Outcome::Pass,
            Some(line) => Outcome::by("it wrote what is no frame", line),
        },
    );
    report
}
