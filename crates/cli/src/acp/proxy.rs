//! `zdx acp --proxy FILE -- COMMAND`: sits between an editor and an agent. Bytes pass as they are, both ways, and every line is
//! written down with its time and direction. Understands nothing of it, and answers nothing.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::task::JoinHandle;
use zdx_tools::{ChildProcess, ChildSpec, CommandEnd, Shell, supervisor};

use super::as_usage;
use crate::exit::{Ending, Failure, reason};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::start;
use crate::stdio;

/// What an agent gets to end by itself once the editor is gone.
const GRACE: Duration = Duration::from_secs(2);
/// A line that is longer is written down in parts.
const LONGEST: usize = 64 << 20;

pub async fn run(file: &Path, words: &[String], settings: &Settings) -> Result<Ending, Failure> {
    let mut words = words.iter().map(OsString::from);
    let Some(program) = words.next() else {
        return Err(Failure::usage("--proxy FILE wants the agent's command behind it: -- COMMAND ARGS"));
    };
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let ground = start::ground(settings).map_err(as_usage)?;
    let book = Arc::new(Book::open(file).map_err(|error| {
        Failure::usage(format!("cannot write to {}: {}", file.display(), reason(&error)))
    })?);
    let env = settings.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let shell = Shell::trusting(supervisor::program(), env, ground.redactor);
    let spec = ChildSpec { program, args: words.collect(), cwd: settings.root.clone(), env: Vec::new() };
    let child = shell
        .spawn(spec)
        .await
        .map_err(|error| Failure::runtime(format!("the agent does not start: {}", error.not_started())))?;
    let mut process = child.process;
    let stdin = stdio::stdin().map_err(Failure::runtime)?;
    let (stdout, written) = stdio::stdout().map_err(Failure::runtime)?;
    let (stderr, complained) = stdio::stderr().map_err(Failure::runtime)?;
    let errors = tokio::spawn(pass(child.stderr, stderr, None));
    let mut to_agent = tokio::spawn(pass(stdin, child.stdin, Some((Arc::clone(&book), "client"))));
    let mut to_editor = tokio::spawn(pass(child.stdout, stdout, Some((Arc::clone(&book), "agent"))));
    let ended = tokio::select! {
        caught = signals.next() => Ok(Ending::Signalled(caught)),
        ended = until_one_leaves(&mut process, &mut to_agent, &mut to_editor) => ended,
    };
    to_agent.abort();
    process.stop(GRACE).await;
    let rest = async { tokio::join!(errors, complained, written) };
    let _ = tokio::time::timeout(GRACE, rest).await;
    match book.fault() {
        Some(error) => Err(Failure::runtime(format!("{} is not whole: {}", file.display(), reason(&error)))),
        None => ended,
    }
}

async fn until_one_leaves(
    agent: &mut ChildProcess,
    to_agent: &mut JoinHandle<Left>,
    to_editor: &mut JoinHandle<Left>,
) -> Result<Ending, Failure> {
    let editor_left = tokio::select! {
        left = &mut *to_agent => matches!(left, Ok(Left::Speaker)),
        left = &mut *to_editor => matches!(left, Ok(Left::Hearer)),
        // Something that it started may hold its stdout.
        _ = agent.wait() => false,
    };
    let ended = match editor_left {
        true => None,
        false => Some(tokio::time::timeout(GRACE, agent.wait()).await),
    };
    // The last words of the one still reach the other, and what that says to them is written down.
    if !to_editor.is_finished() {
        let _ = tokio::time::timeout(GRACE, to_editor).await;
    }
    match ended {
        None | Some(Ok(CommandEnd::Exited(0))) => Ok(Ending::Completed),
        Some(Ok(end)) => Err(Failure::runtime(format!("the agent ended ({end})"))),
        Some(Err(_)) => Err(Failure::runtime("the agent closed its stdin or stdout")),
    }
}

/// Who is gone.
enum Left {
    Speaker,
    Hearer,
}

/// Until one of the two ends. The writing side is closed with it.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    noted: Option<(Arc<Book>, &'static str)>,
) -> Left {
    let mut left = Left::Speaker;
    let mut buffer = vec![0; 64 << 10];
    let mut line = Vec::new();
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if let Some((book, direction)) = &noted {
            // Written down first: what an agent dies of is the most wanted line.
            for piece in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(piece);
                if piece.ends_with(b"\n") || line.len() > LONGEST {
                    book.note(direction, &line);
                    line.clear();
                }
            }
        }
        if to.write_all(&buffer[..count]).await.is_err() || to.flush().await.is_err() {
            left = Left::Hearer;
            break;
        }
    }
    if let Some((book, direction)) = noted.filter(|_| !line.is_empty()) {
        book.note(direction, &line);
    }
    let _ = to.shutdown().await;
    left
}

/// Where it is written down.
struct Book {
    began: Instant,
    file: Mutex<(File, Option<io::Error>)>,
}

impl Book {
    /// Behind what is there already.
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
        let mut last = [b'\n'];
        if let Some(at) = file.metadata()?.len().checked_sub(1) {
            file.read_exact_at(&mut last, at)?;
        }
        // Torn off by a full disk: it must not take the next line with it.
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        Ok(Self { began: Instant::now(), file: Mutex::new((file, None)) })
    }

    fn note(&self, direction: &str, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let t_ms = self.began.elapsed().as_millis();
        let written = match std::str::from_utf8(line) {
            // Read as whoever replays it will: half a surrogate pair is no text to us.
            Ok(text) if serde_json::from_str::<Value>(text).is_ok() => {
                format!("{{\"t_ms\":{t_ms},\"dir\":\"{direction}\",\"frame\":{text}}}\n")
            }
            Ok(_) | Err(_) => {
                let text = json!(String::from_utf8_lossy(line));
                format!("{{\"t_ms\":{t_ms},\"dir\":\"{direction}\",\"text\":{text}}}\n")
            }
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // The conversation goes on without; it is said at the end.
        if file.1.is_none() {
            file.1 = file.0.write_all(written.as_bytes()).err();
        }
    }

    fn fault(&self) -> Option<io::Error> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }
}
