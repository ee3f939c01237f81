//! What a terminal can do: from its environment at once, from its own answers later. Reads no variable itself.

use super::Report;
use crate::theme::Depth;

/// The variables that tell about a terminal, as they are set.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub term: Option<String>,
    pub colorterm: Option<String>,
    pub no_color: Option<String>,
    pub agent_no_color: Option<String>,
    pub tmux: Option<String>,
    pub colorfgbg: Option<String>,
    pub xterm_version: Option<String>,
}

impl Environment {
    /// From any source of variables.
    pub fn from(of: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| of(name).filter(|value| !value.is_empty());
        Self {
            term: set("TERM"),
            colorterm: set("COLORTERM"),
            no_color: set("NO_COLOR"),
            agent_no_color: set("AGENT_NO_COLOR"),
            tmux: set("TMUX"),
            colorfgbg: set("COLORFGBG"),
            xterm_version: set("XTERM_VERSION"),
        }
    }
}

/// What a terminal makes of rows that no longer fit when it gets narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reflow {
    /// Cuts them off (xterm, the Linux console).
    Cut,
    /// Breaks what stands in them (VTE, kitty, iTerm and most others).
    Content,
    /// Breaks them where they were ever written to since the whole row was cleared (tmux).
    Written,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub depth: Depth,
    pub light: bool,
    pub tmux: bool,
    /// Mode 2026: nothing is shown until the frame is complete.
    pub synchronised: bool,
    /// Lines can be inserted and deleted; a true VT100 cannot.
    pub insert_lines: bool,
    /// May be asked without printing rubbish.
    pub answers: bool,
    pub reflow: Reflow,
}

impl Capabilities {
    pub(crate) fn new(env: &Environment) -> Self {
        let term = env.term.as_deref().unwrap_or_default();
        let old = ["vt52", "vt100", "vt102", "vt220", "dumb", "ansi"].contains(&term);
        let tmux = env.tmux.is_some();
        let reflow = match () {
            () if tmux => Reflow::Written,
            () if term == "linux" || old || env.xterm_version.is_some() => Reflow::Cut,
            () => Reflow::Content,
        };
        Self {
            depth: depth(env, term),
            light: env.colorfgbg.as_deref().is_some_and(light),
            tmux,
            synchronised: false,
            insert_lines: !matches!(term, "vt52" | "vt100" | "dumb" | "ansi"),
            answers: !old && term != "linux" && !term.is_empty(),
            reflow,
        }
    }

    /// Whether the report told something new.
    pub(crate) fn learn(&mut self, report: &Report) -> bool {
        let before = self.clone();
        match report {
            Report::Synchronised(known) => self.synchronised = *known,
            Report::Background(red, green, blue) => self.light = is_light(*red, *green, *blue),
            Report::Version(name) if name.starts_with("XTerm") => self.reflow = Reflow::Cut,
            Report::Version(name) if name.starts_with("tmux") => self.reflow = Reflow::Written,
            Report::Version(_)
            | Report::Attributes
            | Report::KittyKeys(_)
            | Report::Cursor(..)
            | Report::Size(..) => {}
        }
        *self != before
    }
}

fn depth(env: &Environment, term: &str) -> Depth {
    let true_colour = ["kitty", "alacritty", "foot", "wezterm", "ghostty", "direct"];
    if env.no_color.is_some() || env.agent_no_color.is_some() || matches!(term, "" | "dumb") {
        return Depth::None;
    }
    if matches!(env.colorterm.as_deref(), Some("truecolor" | "24bit"))
        || true_colour.iter().any(|name| term.contains(name))
    {
        return Depth::True;
    }
    match term {
        _ if term.contains("256color") => Depth::Many,
        "vt52" | "vt100" | "vt102" | "vt220" => Depth::None,
        _ => Depth::Sixteen,
    }
}

/// `15;0` or `0;default;15`: the last is the background, in the sixteen colours.
fn light(colorfgbg: &str) -> bool {
    matches!(colorfgbg.rsplit(';').next(), Some("7" | "15"))
}

fn is_light(red: u8, green: u8, blue: u8) -> bool {
    let weigh = |part: u8, weight: u32| u32::from(part) * weight;
    // As bright as the eye takes them.
    weigh(red, 299) + weigh(green, 587) + weigh(blue, 114) > 127_500
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Capabilities {
        let of = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Capabilities::new(&Environment::from(of))
    }

    #[test]
    fn colours_are_as_many_as_the_environment_says() {
        let depth = |set: &[(&str, &str)]| with(set).depth;
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Depth::Many);
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Depth::True);
        assert_eq!(depth(&[("TERM", "xterm-kitty")]), Depth::True);
        assert_eq!(depth(&[("TERM", "linux")]), Depth::Sixteen);
        assert_eq!(depth(&[("TERM", "xterm-kitty"), ("NO_COLOR", "1")]), Depth::None);
        assert_eq!(depth(&[("TERM", "xterm-kitty"), ("AGENT_NO_COLOR", "1")]), Depth::None);
        // Set but empty means not set: no-color.org.
        assert_eq!(depth(&[("TERM", "xterm-kitty"), ("NO_COLOR", "")]), Depth::True);
        assert_eq!(depth(&[]), Depth::None);
    }

    #[test]
    fn a_light_background_is_told_by_variable_or_answer() {
        assert!(with(&[("TERM", "rxvt"), ("COLORFGBG", "0;default;15")]).light);
        assert!(!with(&[("TERM", "rxvt"), ("COLORFGBG", "15;0")]).light);
        let mut seen = with(&[("TERM", "xterm")]);
        assert!(seen.learn(&Report::Background(0xfd, 0xf6, 0xe3)) && seen.light);
        assert!(seen.learn(&Report::Background(0, 0x2b, 0x36)) && !seen.light);
        assert!(!seen.learn(&Report::Attributes));
    }

    #[test]
    fn what_becomes_of_long_rows_depends_on_the_terminal() {
        assert_eq!(with(&[("TERM", "xterm-256color")]).reflow, Reflow::Content);
        assert_eq!(with(&[("TERM", "xterm"), ("XTERM_VERSION", "XTerm(379)")]).reflow, Reflow::Cut);
        assert_eq!(with(&[("TERM", "screen"), ("TMUX", "/tmp/x,1,0")]).reflow, Reflow::Written);
        let mut far = with(&[("TERM", "xterm-256color")]);
        far.learn(&Report::Version("XTerm(379)".into()));
        assert_eq!(far.reflow, Reflow::Cut);
        assert!(!with(&[("TERM", "linux")]).answers);
    }
}
