//! What stdin, stdout and stderr are connected to, looked at once. Reads and writes nothing on them.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use zdx_protocol::display::{plain, text::hang};

use crate::style::Style;

#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    /// stdout and stderr are drawn on one and the same screen.
    pub shared: bool,
    /// The terminal understands cursor movement.
    pub smart: bool,
    /// Colours of the model's own may show on stdout.
    pub coloured_text: bool,
    pub style: Style,
}

impl Terminal {
    pub fn detect(no_colour: bool, term: Option<&str>) -> Self {
        let stdout = std::io::stdout().is_terminal();
        let stderr = std::io::stderr().is_terminal();
        let smart = !matches!(term, None | Some("" | "dumb" | "cons25" | "emacs"));
        Self {
            stdin: std::io::stdin().is_terminal(),
            stdout,
            stderr,
            shared: stdout && stderr && device(&std::io::stdout()) == device(&std::io::stderr()),
            smart,
            coloured_text: stdout && smart && !no_colour,
            style: Style { colour: stderr && smart && !no_colour },
        }
    }

    /// A text for stderr, safe to print: on a terminal broken between words as wide as it is now, anywhere else in the
    /// lines it came in.
    pub fn fit(self, text: &str) -> String {
        if self.stderr { hang(text, width()).join("\n") } else { plain(text).into_owned() }
    }
}

fn device(stream: &impl AsFd) -> Option<u64> {
    rustix::fs::fstat(stream).ok().map(|stat| stat.st_rdev)
}

/// Columns of the terminal behind stderr.
pub fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
    }
}
