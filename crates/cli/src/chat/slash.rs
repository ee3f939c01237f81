//! Our own slash commands in line mode: each becomes a command or a question to the engine, and its answer a few lines.

use jiff::Timestamp;
use zdx_protocol::display::listing::{self, Place};
use zdx_protocol::slash::Slash;
use zdx_protocol::{CheckChoice, Command, Query, Reply, Standing};

use super::open::Opened;
use super::{Chat, Step};
use crate::exit::Failure;
use crate::terminal;

const LISTED_SESSIONS: usize = 20;

const MARKS: [(&str, &str); 2] = [
    ("!COMMAND", "run a command yourself; the model reads along"),
    ("@FILE", "put a file before the prompt; Tab completes it"),
];
const KEYS: &str = "\
A line that ends with \\ goes on in the next one; Alt-Enter and Ctrl-J begin a new line.
Ctrl-C interrupts a turn or clears the line; twice on an empty line it leaves.";

/// The table of commands, and what else can be typed.
pub fn help() -> String {
    format!("{}{KEYS}", zdx_protocol::slash::help(&MARKS))
}

impl Chat<'_> {
    pub(super) async fn slash(&mut self, slash: Slash) -> Result<Step, Failure> {
        match slash {
            Slash::Help => self.stage.say(&help()),
            Slash::Exit => return Ok(Step::Leave(self.ending())),
            Slash::Compact => return Ok(self.turn(Command::Compact).await),
            Slash::Open(open) => return self.switch(Command::Open(open)).await,
            Slash::Trust => return self.trust().await,
            Slash::Model(Some(name)) => self.carry_out(Command::SetModel(name)).await,
            Slash::Agent(Some(name)) => self.carry_out(Command::SetAgent(name)).await,
            Slash::Approval(Some(approval)) => self.carry_out(Command::SetApproval(approval)).await,
            Slash::Revoke(Some(grant)) => self.carry_out(Command::Revoke { grant }).await,
            Slash::Check(choice @ Some(CheckChoice::Run)) => {
                return Ok(self.turn(Command::Check(choice)).await);
            }
            Slash::Check(choice) => self.carry_out(Command::Check(choice)).await,
            Slash::AddDir(Some(path)) => self.carry_out(Command::AddFolder { path }).await,
            Slash::AddDir(None) => self.tell(Query::AddedFolders).await,
            Slash::Revert { turn, keep_files } => self.carry_out(Command::Revert { turn, keep_files }).await,
            Slash::Retry => return Ok(self.turn(Command::Retry).await),
            Slash::Resume => self.offer_sessions().await,
            Slash::Redo => self.carry_out(Command::Redo).await,
            Slash::Export(path) => self.carry_out(Command::Export { path }).await,
            Slash::Copy(_) => self.stage.say("there is no clipboard in line mode; /export writes a file"),
            Slash::Model(None) => self.tell(Query::Models).await,
            Slash::Agent(None) => self.tell(Query::Agents).await,
            Slash::Approval(None) => {
                if let Some(Reply::Grants(grants)) = self.ask(Query::Grants).await {
                    self.stage.say(&format!("approval: {}", grants.approval.name()));
                }
            }
            Slash::Policy | Slash::Revoke(None) => self.tell(Query::Grants).await,
            Slash::Todos => self.tell(Query::Todos).await,
            Slash::Skills => self.tell(Query::Skills).await,
            Slash::Commands => self.tell(Query::Commands).await,
            Slash::Mcp => self.tell(Query::Mcp).await,
            Slash::Sessions => self.tell(Query::Sessions { limit: LISTED_SESSIONS }).await,
            Slash::Files => self.tell(Query::FilesChanged).await,
            Slash::Config => self.tell(Query::Config).await,
            Slash::Context => self.tell(Query::Context).await,
            Slash::Summarize => self.tell(Query::Summary).await,
            Slash::Handoff(goal) => self.tell(Query::Handoff { goal }).await,
        }
        Ok(Step::Stay)
    }

    /// Asks, and says what is answered.
    async fn tell(&mut self, query: Query) {
        if let Some(reply) = self.ask(query).await {
            self.say(&reply);
        }
    }

    fn say(&mut self, reply: &Reply) {
        let place = Place { columns: terminal::width(), home: self.settings.home(), now: Timestamp::now() };
        listing::lines(reply, place).iter().for_each(|line| self.stage.say(line));
    }

    /// Goes on with another session, or stays where it cannot.
    pub(super) async fn switch(&mut self, command: Command) -> Result<Step, Failure> {
        Ok(match self.open(command).await? {
            Opened::Yes => Step::Stay,
            Opened::Refused(_, why) => {
                self.stage.fail(&why);
                Step::Stay
            }
            Opened::Leave(ending) => Step::Leave(ending),
        })
    }

    /// What the folder's own files want; where they do not get it, the question again.
    async fn trust(&mut self) -> Result<Step, Failure> {
        let Some(Reply::Trust(state)) = self.ask(Query::Trust).await else { return Ok(Step::Stay) };
        if state.standing == Standing::Trusted || state.wants.is_empty() {
            self.say(&Reply::Trust(state));
            return Ok(Step::Stay);
        }
        self.switch(Command::Trust).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command_and_the_marks() {
        let help = help();
        for name in zdx_protocol::slash::COMMANDS.iter().map(|command| command.name) {
            assert!(help.contains(&format!("/{name}")), "{name}");
        }
        assert!(help.contains("!COMMAND") && help.contains("@FILE"));
    }
}
