//! Slash commands in line mode: what they ask of the engine is sent, and what comes of it is shown in a few lines.

use jiff::Timestamp;
use zdx_protocol::display::listing::{self, Place};
use zdx_protocol::slash::{LocalAction, SlashAction};
use zdx_protocol::{Command, Query, Reply, Standing};

use super::open::Opened;
use super::{Chat, Step};
use crate::exit::Failure;
use crate::terminal;

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
    pub(super) async fn slash(&mut self, action: SlashAction) -> Result<Step, Failure> {
        match action {
            SlashAction::Send(command) if command.takes_turn() => return Ok(self.turn(command).await),
            SlashAction::Send(command @ Command::Open(_)) => return self.switch(command).await,
            SlashAction::Send(Command::Trust) => return self.trust().await,
            SlashAction::Send(command) => self.carry_out(command).await,
            SlashAction::Ask(query) => {
                if let Some(reply) = self.ask(query).await {
                    self.say(&reply);
                }
            }
            SlashAction::Local(LocalAction::Help) => self.stage.say(&help()),
            SlashAction::Local(LocalAction::Exit) => return Ok(Step::Leave(self.ending())),
            SlashAction::Local(LocalAction::PickSession) => self.offer_sessions().await,
            SlashAction::Local(LocalAction::ShowApprovalMode) => {
                if let Some(Reply::Grants(grants)) = self.ask(Query::Grants).await {
                    self.stage.say(&format!("approval: {}", grants.approval.name()));
                }
            }
            SlashAction::Local(LocalAction::Copy(_)) => {
                self.stage.say("there is no clipboard in line mode; /export writes a file");
            }
        }
        Ok(Step::Stay)
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
