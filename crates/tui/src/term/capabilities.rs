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
    pub term_program: Option<String>,
    /// GNU screen.
    pub sty: Option<String>,
    /// One of [`REFLOWING`] is set.
    pub reflows: bool,
}

/// Set by terminals that break long rows when they get narrower, and by nobody else.
const REFLOWING: [&str; 8] = [
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "WEZTERM_PANE",
    "ALACRITTY_WINDOW_ID",
    "WT_SESSION",
    "GHOSTTY_RESOURCES_DIR",
    "ZELLIJ",
];
/// The same, by the names they give themselves.
const REFLOWING_NAMES: [&str; 11] = [
    "kitty",
    "VTE",
    "foot",
    "WezTerm",
    "iTerm",
    "ghostty",
    "Konsole",
    "alacritty",
    "Apple_Terminal",
    "vscode",
    "contour",
];

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
            term_program: set("TERM_PROGRAM"),
            sty: set("STY"),
            reflows: REFLOWING.iter().any(|name| set(name).is_some()),
        }
    }
}

/// What a terminal makes of rows that no longer fit when it gets narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reflow {
    /// Cuts them off (xterm, PuTTY, GNU screen, mosh, the Linux console).
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
    /// There is an alternate screen, and what stood on the main one is there again behind it.
    pub own_screen: bool,
    /// Knows more than what every terminal does.
    talks: bool,
}

impl Capabilities {
    pub(crate) fn new(env: &Environment) -> Self {
        let term = env.term.as_deref().unwrap_or_default();
        let old = ["vt52", "vt100", "vt102", "vt220", "dumb", "ansi"].contains(&term);
        let tmux = env.tmux.is_some();
        let named = [term, env.term_program.as_deref().unwrap_or_default()];
        let reflow = match () {
            () if tmux => Reflow::Written,
            () if env.sty.is_none() && (env.reflows || named.into_iter().any(is_reflowing)) => {
                Reflow::Content
            }
            // Who is wrong about this leaves a piece of the live region behind; who is wrong about the other loses history.
            () => Reflow::Cut,
        };
        Self {
            depth: depth(env, term),
            light: env.colorfgbg.as_deref().is_some_and(light),
            tmux,
            synchronised: false,
            insert_lines: !matches!(term, "vt52" | "vt100" | "dumb" | "ansi"),
            answers: !old && term != "linux" && !term.is_empty(),
            reflow,
            // GNU screen has one only if told so in its settings, and does not say; far away only its name tells.
            own_screen: !old && term != "linux" && (tmux || env.sty.is_none() && !term.starts_with("screen")),
            talks: false,
        }
    }

    /// Whether the report told something new.
    pub(crate) fn learn(&mut self, report: &Report) -> bool {
        let before = self.clone();
        match report {
            // mosh, which has no second screen and leaves what is drawn on it.
            Report::Attributes => self.own_screen &= self.talks,
            Report::Synchronised(_)
            | Report::Background(..)
            | Report::KittyKeys(_)
            | Report::Version(_)
            | Report::Size(..) => self.talks = true,
            Report::Cursor(..) => {}
        }
        match report {
            Report::Synchronised(known) => self.synchronised = *known,
            Report::Background(red, green, blue) => self.light = is_light(*red, *green, *blue),
            Report::Version(name) if name.starts_with("XTerm") => self.reflow = Reflow::Cut,
            Report::Version(name) if name.starts_with("tmux") => {
                self.reflow = Reflow::Written;
                self.own_screen = true;
            }
            Report::Version(name) if is_reflowing(name) => self.reflow = Reflow::Content,
            Report::Version(_)
            | Report::Attributes
            | Report::KittyKeys(_)
            | Report::Cursor(..)
            | Report::Size(..) => {}
        }
        *self != Self { talks: self.talks, ..before }
    }
}

fn is_reflowing(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    REFLOWING_NAMES.iter().any(|known| name.contains(&known.to_ascii_lowercase()))
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
        let reflow = |set: &[(&str, &str)]| with(set).reflow;
        assert_eq!(reflow(&[("TERM", "xterm-256color")]), Reflow::Cut);
        assert_eq!(reflow(&[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")]), Reflow::Content);
        assert_eq!(reflow(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]), Reflow::Content);
        assert_eq!(reflow(&[("TERM", "xterm-kitty")]), Reflow::Content);
        assert_eq!(
            reflow(&[("TERM", "screen"), ("TMUX", "/tmp/x,1,0"), ("VTE_VERSION", "1")]),
            Reflow::Written
        );
        assert_eq!(reflow(&[("TERM", "screen"), ("STY", "1.pts"), ("VTE_VERSION", "1")]), Reflow::Cut);
        // Far away only the terminal itself tells.
        let mut far = with(&[("TERM", "xterm-256color")]);
        for (name, is) in
            [("kitty(0.36)", Reflow::Content), ("XTerm(379)", Reflow::Cut), ("tmux 3.3a", Reflow::Written)]
        {
            far.learn(&Report::Version(name.into()));
            assert_eq!(far.reflow, is);
        }
        assert!(!with(&[("TERM", "linux")]).answers);
    }

    #[test]
    fn who_has_no_second_screen_is_told_by_name_or_by_silence() {
        let own = |set: &[(&str, &str)]| with(set).own_screen;
        assert!(own(&[("TERM", "xterm-256color")]) && own(&[("TERM", "screen"), ("TMUX", "/tmp/x,1,0")]));
        assert!(!own(&[("TERM", "screen"), ("STY", "1.pts")]) && !own(&[("TERM", "linux")]));
        let after = |term, reports: &[Report]| {
            let mut seen = with(&[("TERM", term)]);
            for report in reports {
                seen.learn(report);
            }
            seen.own_screen
        };
        assert!(!after("xterm-256color", &[Report::Attributes]));
        assert!(after("xterm-256color", &[Report::Size(24, 80), Report::Attributes]));
        assert!(after("screen-256color", &[Report::Version("tmux 3.3a".into()), Report::Attributes]));
        assert!(!after("screen", &[Report::Size(24, 80), Report::Attributes]));
    }
}
