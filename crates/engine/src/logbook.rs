//! A log beside each session, for finding out later what went on: bounded, rotated, 0600.
//! Holds no conversation: that is the session file's. A log that cannot be written is done without.
//! (The field says debug log, diagnostics.)

use std::path::Path;

use zdx_protocol::{Event, NoticeLevel, record};

use zdx_config::LogSettings;
use zdx_store::RotatingFile;

const LONGEST: usize = 2_000;
const HELD: usize = 16 << 10;

/// How much is written down, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

pub(crate) struct Logbook {
    log: RotatingFile,
    most: Level,
    broken: bool,
    /// Lines from before anything was said: a session in which nothing is leaves no file.
    held: Option<String>,
}

impl Logbook {
    /// None where nothing is to be written: logs are off, or the session is not saved.
    pub(crate) fn beside(folder: Option<&Path>, settings: &LogSettings) -> Option<Self> {
        let most = match settings.level.as_str() {
            "error" => Level::Error,
            "warn" => Level::Warn,
            "info" => Level::Info,
            "debug" | "trace" => Level::Debug,
            _ => return None,
        };
        let log = RotatingFile::new(folder?.join("log"), settings.max_bytes, settings.files);
        Some(Self { log, most, broken: false, held: Some(String::new()) })
    }

    pub(crate) fn note(&mut self, event: &Event) {
        let Some((level, text)) = line(event) else { return };
        if level > self.most || self.broken {
            return;
        }
        let text: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = format!("{} {level:?} {text}\n", record::written(record::now()));
        match &mut self.held {
            Some(held) if !matches!(event, Event::TurnStarted { .. }) => {
                if held.len() < HELD {
                    held.push_str(&line);
                }
            }
            _ => {
                let before = self.held.take().unwrap_or_default();
                self.broken = self.log.append((before + &line).as_bytes()).is_err();
            }
        }
    }
}

/// What of an event is worth a line. Texts of the conversation are not.
fn line(event: &Event) -> Option<(Level, String)> {
    Some(match event {
        Event::SessionStarted(info) => {
            (Level::Info, format!("session {} model={} resumed={}", info.session, info.model, info.resumed))
        }
        Event::TurnStarted { turn, prompt } => {
            (Level::Info, format!("turn {turn} prompt_bytes={}", prompt.len()))
        }
        Event::Checked(checked) => {
            let (level, message) = zdx_protocol::display::labels::checked(checked);
            (if level == NoticeLevel::Warning { Level::Warn } else { Level::Info }, message)
        }
        Event::ToolFinished { id, name, result, duration_ms, .. } => {
            let outcome = match result {
                zdx_protocol::ToolOutput::Ok(_) => "ok",
                zdx_protocol::ToolOutput::Err(error) => error.code.as_str(),
            };
            (Level::Info, format!("tool {name} id={id} {outcome} ms={duration_ms}"))
        }
        Event::ApprovalRequested(question) => (
            Level::Info,
            format!("asked about {} id={}: {}", question.tool, question.id, question.reason.message),
        ),
        Event::ApprovalResolved { id, decision, .. } => {
            (Level::Info, format!("answered id={id} {decision:?}"))
        }
        Event::UsageReported(usage) => (
            Level::Info,
            format!(
                "usage in={} cached={} out={}",
                usage.input_tokens, usage.cache_read_tokens, usage.output_tokens
            ),
        ),
        Event::McpChanged(server) if server.error.is_some() => (Level::Warn, server.fault()),
        Event::McpChanged(server) => {
            let ms = server.start_ms.unwrap_or_default();
            (
                Level::Info,
                format!("mcp {} {} tools={} ms={ms}", server.name, server.state.name(), server.tools),
            )
        }
        Event::ToolsChanged { added, removed } => {
            (Level::Info, format!("tools added={} removed={}", added.len(), removed.len()))
        }
        Event::ModelChanged { model } => (Level::Info, format!("model {model}")),
        Event::FolderAdded { path } => (Level::Info, format!("added the folder {}", path.display())),
        Event::GrantRevoked { grant } => (Level::Info, format!("revoked {grant}")),
        Event::RemoteSession { agent, session } => {
            (Level::Info, format!("answered by {agent}, session {session}"))
        }
        Event::AgentChanged { agent } => (Level::Info, format!("agent {agent}")),
        Event::Pruned { calls, images, bytes } => {
            let (calls, images) = (calls.len(), images.len());
            (Level::Info, format!("pruned calls={calls} images={images} bytes={bytes}"))
        }
        Event::InputCut { cuts } => {
            let was: usize = cuts.iter().map(|cut| cut.was).sum();
            (Level::Info, format!("input cut texts={} bytes={was}", cuts.len()))
        }
        Event::Compacted(_) => (Level::Info, "compacted".to_owned()),
        Event::Retrying { attempt, of, delay_ms, reason, continues } => {
            let way = if *continues { "go on" } else { "retry" };
            (Level::Warn, format!("{way} {attempt}/{of} in_ms={delay_ms}: {reason}"))
        }
        Event::Notice { level: NoticeLevel::Warning, message, kept: false } => (Level::Warn, message.clone()),
        Event::Notice { level: NoticeLevel::Info, message, kept: false } => (Level::Debug, message.clone()),
        Event::Error { kind, message, .. } => (Level::Error, format!("{kind:?}: {message}")),
        Event::Interrupted => (Level::Info, "interrupted".to_owned()),
        Event::TurnFinished(summary) => (
            Level::Info,
            format!("turn ended {:?} ms={} denied={}", summary.outcome, summary.duration_ms, summary.denied),
        ),
        Event::StateChanged { state } => (Level::Debug, format!("state {state:?}")),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn notice(text: &str) -> Event {
        Event::Notice { level: NoticeLevel::Warning, message: text.to_owned(), kept: false }
    }

    #[test]
    fn a_log_is_bounded_and_rotated() {
        let dir = tempfile::tempdir().unwrap();
        let settings = LogSettings { level: "info".to_owned(), max_bytes: 4096, files: 3 };
        let mut log = Logbook::beside(Some(&dir.path().join("s")), &settings).unwrap();
        log.note(&Event::TurnStarted { turn: 1, prompt: "p".to_owned() });
        for n in 0..400 {
            log.note(&notice(&format!("line {n}\nwith a break")));
        }
        let mut sizes: Vec<(String, u64)> = fs::read_dir(dir.path().join("s"))
            .unwrap()
            .flatten()
            .map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().len()))
            .collect();
        sizes.sort();
        assert_eq!(
            sizes.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["log", "log.1", "log.2"]
        );
        assert!(sizes.iter().all(|(_, size)| *size <= 4096), "{sizes:?}");
        let last = fs::read_to_string(dir.path().join("s/log")).unwrap();
        assert!(last.lines().last().unwrap().ends_with("Warn line 399 with a break"), "{last}");
    }

    #[test]
    fn the_level_decides_and_off_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |level: &str| LogSettings { level: level.to_owned(), max_bytes: 1 << 20, files: 2 };
        assert!(Logbook::beside(Some(dir.path()), &at("off")).is_none());
        assert!(Logbook::beside(None, &at("info")).is_none());
        let mut log = Logbook::beside(Some(dir.path()), &at("error")).unwrap();
        log.note(&notice("quiet"));
        assert!(!dir.path().join("log").exists());
        let mut log = Logbook::beside(Some(dir.path()), &at("info")).unwrap();
        log.note(&notice("early"));
        assert!(!dir.path().join("log").exists(), "nothing was said yet");
        log.note(&Event::TurnStarted { turn: 1, prompt: "p".to_owned() });
        let text = fs::read_to_string(dir.path().join("log")).unwrap();
        assert!(text.contains("Warn early") && text.contains("turn 1 prompt_bytes=1"), "{text}");
    }
}
