//! What `exec` is asked: the prompt of the command line and whatever is on stdin, put together.
//! Never reads a terminal, never waits for a silent pipe that nobody asked for, never takes more than it can hold.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::oneshot;
use zdx_protocol::Prompt;

use crate::exit::{Failure, reason};

const LIMIT: usize = 10 << 20;
const PATIENCE: Duration = Duration::from_secs(1);

/// What the command line says about the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub prompt: Option<String>,
    /// `-` was given: stdin is wanted, however long it takes.
    pub wait: bool,
}

#[derive(Debug, PartialEq)]
pub struct Gathered {
    pub prompt: Prompt,
    /// What the user should know about how stdin was read.
    pub notices: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Input {
    Data(Vec<u8>),
    /// Open, but nothing came in time.
    Silent,
}

#[derive(Debug)]
enum ReadError {
    TooLong,
    Failed(io::Error),
}

impl Asked {
    pub fn new(option: Option<String>, positional: Option<String>) -> Result<Self, Failure> {
        let dash = |text: &Option<String>| text.as_deref() == Some("-");
        let wait = dash(&option) || dash(&positional);
        match (option.filter(|text| text != "-"), positional.filter(|text| text != "-")) {
            (Some(_), Some(_)) => Err(Failure::usage(
                "there are two prompts, one with -p and one without; give one, quoted as a whole",
            )),
            (option, positional) => Ok(Self { prompt: option.or(positional), wait }),
        }
    }
}

/// Puts the prompt together; without one, what is missing is said in these words.
pub async fn gather(asked: Asked, terminal: bool, otherwise: &str) -> Result<Gathered, Failure> {
    let patient = asked.prompt.is_none() || asked.wait;
    let input = input(terminal && !asked.wait, (!patient).then_some(PATIENCE)).await?;
    join(asked.prompt, input).ok_or_else(|| Failure::usage(otherwise))
}

/// The same where a prompt may be missing: a pipe that stays silent is not waited for.
pub async fn gather_any(asked: Asked, terminal: bool) -> Result<Option<Gathered>, Failure> {
    let input = input(terminal && !asked.wait, (!asked.wait).then_some(PATIENCE)).await?;
    let alone = asked.prompt.is_none() && input == Input::Silent;
    Ok(if alone { None } else { join(asked.prompt, input) })
}

/// Stdin is read on a thread of its own, so that signals are heard meanwhile.
async fn input(nothing: bool, patience: Option<Duration>) -> Result<Input, Failure> {
    if nothing {
        return Ok(Input::Data(Vec::new()));
    }
    let (done, read) = oneshot::channel();
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(move || done.send(read_input(std::io::stdin().as_fd(), patience, LIMIT)))
        .map_err(|error| Failure::runtime(format!("cannot read stdin: {}", reason(&error))))?;
    match read.await {
        Ok(Ok(input)) => Ok(input),
        Ok(Err(ReadError::TooLong)) => Err(Failure::runtime(format!(
            "stdin is longer than {} MiB; give the path of a file instead, the model can read it in parts",
            LIMIT >> 20
        ))),
        Ok(Err(ReadError::Failed(error))) => {
            Err(Failure::runtime(format!("cannot read stdin: {}", reason(&error))))
        }
        Err(_) => Err(Failure::runtime("cannot read stdin: its reader stopped")),
    }
}

fn join(prompt: Option<String>, input: Input) -> Option<Gathered> {
    let mut notices = Vec::new();
    let data = match input {
        Input::Data(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                notices.push("stdin is not UTF-8; what could not be read is shown as \u{fffd}".to_owned());
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        },
        Input::Silent => {
            notices.push(
                "stdin is open but silent: going on without it (`-` waits for it, `</dev/null` closes it)"
                    .to_owned(),
            );
            String::new()
        }
    };
    let given = prompt.filter(|text| !text.trim().is_empty());
    let data = Some(data).filter(|text| !text.trim().is_empty());
    let prompt = match (given, data) {
        (Some(prompt), None) => Prompt::from(prompt),
        (Some(prompt), Some(data)) => Prompt::with_data(&prompt, &data),
        (None, Some(data)) => Prompt::with_data("", data.trim_end_matches(['\n', '\r'])),
        (None, None) => return None,
    };
    Some(Gathered { prompt, notices })
}

fn read_input(fd: BorrowedFd<'_>, patience: Option<Duration>, limit: usize) -> Result<Input, ReadError> {
    if let Some(patience) = patience
        && !has_something(fd, patience).map_err(ReadError::Failed)?
    {
        return Ok(Input::Silent);
    }
    let mut data = Vec::new();
    let mut chunk = [0; 64 << 10];
    loop {
        match rustix::io::read(fd, &mut chunk) {
            Ok(0) => return Ok(Input::Data(data)),
            Ok(count) if data.len() + count > limit => return Err(ReadError::TooLong),
            Ok(count) => data.extend_from_slice(&chunk[..count]),
            Err(Errno::INTR) => {}
            // Somebody else made the shared pipe non-blocking.
            Err(Errno::AGAIN) => drop(has_something(fd, Duration::from_secs(3600))),
            Err(error) => return Err(ReadError::Failed(error.into())),
        }
    }
}

/// Data, or its end.
fn has_something(fd: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
    let timeout =
        Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
    loop {
        let mut wanted = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut wanted, Some(&timeout)) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn data(text: &str) -> Input {
        Input::Data(text.as_bytes().to_vec())
    }

    fn prompt(given: Option<&str>, input: Input) -> Option<String> {
        join(given.map(str::to_owned), input).map(|gathered| gathered.prompt.text)
    }

    #[test]
    fn an_empty_stdin_leaves_the_prompt_alone() {
        assert_eq!(prompt(Some(" why? "), data("")).unwrap(), " why? ");
        assert_eq!(prompt(Some("why?"), data("\n")).unwrap(), "why?");
    }

    #[test]
    fn data_follows_after_a_blank_line_as_it_is() {
        assert_eq!(prompt(Some("why?"), data("a\nb\n")).unwrap(), "why?\n\na\nb\n");
        assert_eq!(prompt(None, data("hello\n")).unwrap(), "hello");
        let gathered = join(Some("why?".to_owned()), data("!a")).unwrap().prompt;
        assert_eq!((gathered.typed(), gathered.data()), ("why?", "!a"));
    }

    #[test]
    fn no_prompt_at_all_is_none() {
        assert_eq!(prompt(None, data(" \n")), None);
        assert_eq!(prompt(Some(" "), data("")), None);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_told() {
        let gathered = join(None, Input::Data(b"a\xffb".to_vec())).unwrap();
        assert_eq!(gathered.prompt, Prompt::with_data("", "a\u{fffd}b"));
        assert_eq!(gathered.notices.len(), 1);
    }

    #[test]
    fn a_dash_asks_for_stdin_in_either_place() {
        let asked = |option: Option<&str>, positional: Option<&str>| {
            Asked::new(option.map(str::to_owned), positional.map(str::to_owned))
        };
        assert_eq!(asked(None, Some("-")).unwrap(), Asked { prompt: None, wait: true });
        assert_eq!(asked(Some("x"), Some("-")).unwrap(), Asked { prompt: Some("x".into()), wait: true });
        assert_eq!(asked(None, Some("x")).unwrap(), Asked { prompt: Some("x".into()), wait: false });
        assert!(matches!(asked(Some("x"), Some("y")), Err(Failure::Usage(_))));
    }

    #[test]
    fn a_silent_pipe_is_left_and_a_full_one_is_read_to_its_end() {
        let (reader, writer) = std::io::pipe().unwrap();
        let silent = read_input(reader.as_fd(), Some(Duration::from_millis(10)), LIMIT).unwrap();
        assert_eq!(silent, Input::Silent);
        (&writer).write_all(b"late").unwrap();
        drop(writer);
        let read = read_input(reader.as_fd(), Some(Duration::from_millis(10)), LIMIT).unwrap();
        assert_eq!(read, data("late"));
    }

    #[test]
    fn more_than_the_limit_is_refused() {
        let (reader, writer) = std::io::pipe().unwrap();
        (&writer).write_all(b"12345").unwrap();
        drop(writer);
        assert!(matches!(read_input(reader.as_fd(), None, 4), Err(ReadError::TooLong)));
    }
}
