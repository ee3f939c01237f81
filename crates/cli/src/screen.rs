//! The conversation on a capable terminal: starts the engine, hands its channels to the front end there, and says how it
//! ended. What is drawn is `zdx_tui`'s business.

use std::time::Duration;

use tokio::sync::mpsc;
use zdx_protocol::display::sessions::short_id;
use zdx_protocol::{ErrorKind, Open};
use zdx_tui::{Closed, Ended, Environment, HistoryLoader, Left, Setup, Stop};

use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::output;
use crate::pump::ENGINE_GONE;
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::start::{self, Audience};

/// What a terminal gets to take a last line.
const PATIENCE: Duration = Duration::from_millis(200);

/// Whether there is a terminal to draw on, and nobody asked for lines.
pub fn is_there(settings: &Settings) -> bool {
    let terminal = settings.terminal;
    !settings.plain
        && settings.format == Format::Text
        && terminal.stdin
        && terminal.stdout
        && terminal.stderr
        && terminal.smart
}

/// `first` is what was said on the command line.
pub async fn converse(settings: &Settings, open: Open, first: Option<String>) -> Result<Ending, Failure> {
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let (send, mut stops) = mpsc::channel(4);
    let listening = tokio::spawn(async move { while send.send(signals.next().await).await.is_ok() {} });
    let engine = start::engine(settings, Audience::Screen);
    let env = |name: &str| settings.env.get(name).map(str::to_owned);
    let setup = Setup {
        open,
        first,
        home: settings.home().map(ToOwned::to_owned),
        history: settings.prompt_history().map(|history| Box::new(move || history.load()) as HistoryLoader),
        terminal: Environment::from(env),
        editor: env("VISUAL").or_else(|| env("EDITOR")),
    };
    let closed = zdx_tui::run(engine, setup, &mut stops).await;
    listening.abort();
    let Closed { why, session } =
        closed.map_err(|error| Failure::runtime(format!("cannot draw on the terminal: {error}")))?;
    if let Some(id) = session {
        say(settings, &format!("\nresume with: zdx sessions resume {}", short_id(&id)));
    }
    match why {
        Ended::Left(Left::Meant) => Ok(Ending::Completed),
        Ended::Left(Left::Interrupted) => Ok(Ending::Signalled(Caught::Interrupt)),
        Ended::Left(Left::Refused(kind, why)) => Err(Failure::Refused(kind, why)),
        Ended::Left(Left::EngineGone) => Err(Failure::Refused(ErrorKind::Internal, ENGINE_GONE.to_owned())),
        Ended::Stopped(caught) => Ok(Ending::Signalled(caught)),
    }
}

fn say(settings: &Settings, text: &str) {
    let line = format!("{}\n", settings.terminal.style.dim(text));
    // The terminal may be gone, or take nothing any more: nobody stays for its sake.
    if output::has_room(rustix::stdio::stderr(), PATIENCE) {
        let _ = output::write_all(rustix::stdio::stderr(), line.as_bytes());
    }
}

impl Stop for Caught {
    fn is_interrupt(&self) -> bool {
        *self == Self::Interrupt
    }
}
