//! `read`: a file, or some lines of it, or an image.
//! Reads little more than it shows: what lies before the first line asked for, and the rest of a file that is no large one, so
//! that it is known what the model has seen.

use std::borrow::Cow;
use std::io;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use zdx_protocol::facts::READ;
use zdx_protocol::{
    Action, ContentOrigin, ImageRef, Target, ToolCode, ToolError, ToolOutput, ToolSpec, path_text,
};

use super::input::{ToolInput, invalid};
use super::{PreparedCall, ResultImages, Tool, ToolContext, ToolRunContext};
use zdx_workspace::HashingReader;
use zdx_workspace::text::{InvalidUtf8, LIMIT, before_cut, decode, first, is_utf16};
use zdx_workspace::workspace::{FileError, OpenedFile, near_names};

pub(super) struct ReadTool {
    spec: ToolSpec,
}

impl Default for ReadTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(READ.name),
            description: Cow::Borrowed(
                "Read a text file. At most 50 KiB come back; for more, or for a part, give `offset` (first line, from 1) \
                 and `limit` (lines). For folders use list.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, or relative to the working folder."},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line to read."},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read."}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

/// Which lines are wanted.
#[derive(Clone, Copy)]
struct LineRange {
    offset: u64,
    limit: Option<u64>,
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let mut input = ToolInput::new(&READ, input);
        let target = cx.workspace.resolve(&input.text("path")?)?;
        let offset = input.count("offset")?;
        let lines = LineRange { offset: offset.unwrap_or(1), limit: input.count("limit")? };
        let action = Action::Read { tool: READ.permission.key.to_owned(), targets: vec![target.clone()] };
        let cx = cx.clone();
        let run = move |run: ToolRunContext| run_read(cx, run, target, lines).boxed();
        Ok(PreparedCall { line: offset, ..PreparedCall::looking(action, Box::new(run)) })
    }
}

/// On a thread of its own, as a file system may hang; what hangs there is left behind and ends at its next step.
async fn run_read(cx: ToolContext, run: ToolRunContext, target: Target, lines: LineRange) -> ToolOutput {
    let timeout = cx.timeout;
    let stop = run.cancel.child_token();
    let _stops_the_thread = stop.clone().drop_guard();
    let (path, images) = (target.path.display().to_string(), run.images.clone());
    let reading = tokio::task::spawn_blocking(move || read(&cx, &target, lines, &images, &stop));
    tokio::select! {
        done = reading => match done {
            Ok(result) => result.into(),
            Err(_) => ToolOutput::error(ToolCode::Eio, format!("reading {path} failed")),
        },
        () = run.cancel.cancelled() => ToolOutput::error(ToolCode::Interrupted, format!("reading {path} was interrupted")),
        () = super::expired(timeout) => {
            let seconds = timeout.unwrap_or_default().as_secs_f64();
            ToolOutput::error(ToolCode::Timeout, format!("reading {path} took longer than {seconds} s"))
        }
    }
}

fn read(
    cx: &ToolContext,
    target: &Target,
    lines: LineRange,
    images: &ResultImages,
    stop: &CancellationToken,
) -> Result<Value, ToolError> {
    let OpenedFile { file, size } =
        cx.workspace.open_file(target).map_err(|error| not_opened(error, target))?;
    let name = target.path.display().to_string();
    if let Some(image) = cx.content.add_image_file(&file, size, &name, ContentOrigin::Tool) {
        let image = image.map_err(|error| ToolError::new(ToolCode::ReadError, format!("{name}: {error}")))?;
        let data = describe_image(target, &image);
        images.add(image);
        return Ok(data);
    }
    let mut file = HashingReader::new(file, size);
    let slice = FileSlice::read(&mut file, lines, stop)
        .map_err(|source| FileError::Io { path: target.path.clone(), source })?;
    let data = slice.describe(target, size, lines)?;
    cx.workspace.ledger().note_seen(&target.path, file.version());
    Ok(data)
}

fn describe_image(target: &Target, image: &ImageRef) -> Value {
    json!({
        "path": path_text::encode(&target.path),
        "media_type": image.blob.media_type,
        "width": image.width,
        "height": image.height,
        "bytes": image.blob.bytes,
        "note": "the image comes with this result",
    })
}

fn not_opened(error: FileError, target: &Target) -> ToolError {
    let FileError::Missing(_) = error else {
        return match error {
            FileError::NotRegular { what: "a folder", .. } => {
                ToolError::new(error.code(), format!("{error}: use list"))
            }
            other => other.into(),
        };
    };
    let near = near_names(&target.path);
    let hint =
        if near.is_empty() { String::new() } else { format!("; near names here: {}", near.join(", ")) };
    ToolError::new(error.code(), format!("File not found: {}{hint}", target.path.display()))
}

/// The wanted bytes, and what was learnt on the way.
#[derive(Default)]
struct FileSlice {
    bytes: Vec<u8>,
    /// Line ends passed, those before the slice included.
    passed: u64,
    /// The last byte seen was no line end.
    open_line: bool,
    /// The end of the file was reached.
    at_end: bool,
    /// The file begins with a byte-order mark of UTF-16.
    is_utf16: bool,
}

impl FileSlice {
    fn read(mut file: impl io::Read, lines: LineRange, stop: &CancellationToken) -> io::Result<Self> {
        let mut slice = Self::default();
        let mut buffer = vec![0; 64 * 1024];
        let mut first_read = true;
        let first_wanted = lines.offset - 1;
        let behind = lines.limit.map(|limit| first_wanted.saturating_add(limit));
        loop {
            if stop.is_cancelled() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let count = match file.read(&mut buffer) {
                Ok(0) => {
                    slice.at_end = true;
                    return Ok(slice);
                }
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            slice.is_utf16 |= first_read && is_utf16(&buffer[..count]);
            first_read = false;
            for line in buffer[..count].split_inclusive(|&byte| byte == b'\n') {
                if behind.is_some_and(|behind| slice.passed >= behind) || slice.bytes.len() > LIMIT {
                    return Ok(slice);
                }
                if slice.passed >= first_wanted {
                    slice.bytes.extend_from_slice(line);
                }
                slice.open_line = !line.ends_with(b"\n");
                slice.passed += u64::from(!slice.open_line);
            }
        }
    }

    fn describe(self, target: &Target, size: u64, lines: LineRange) -> Result<Value, ToolError> {
        if self.is_utf16 {
            let message = format!(
                "{} is UTF-16 text: read it with bash (iconv -f UTF-16 -t UTF-8)",
                target.path.display()
            );
            return Err(ToolError::new(ToolCode::ReadError, message));
        }
        let total = self.at_end.then(|| self.passed + u64::from(self.open_line));
        if let Some(total) = total
            && lines.offset > total.max(1)
        {
            let path = target.path.display();
            return Err(invalid(format!("`offset` is {}, but {path} has {total} lines", lines.offset)));
        }
        let cut = before_cut(&self.bytes[..self.bytes.len().min(LIMIT)]);
        let over = self.bytes.len() > LIMIT;
        let shown = if over { cut } else { &self.bytes };
        let decoded = decode(shown);
        let content = first(&decoded, LIMIT);
        let truncated = over || content.len() < decoded.len();
        let whole_lines = content.matches('\n').count() as u64;

        let mut data = Map::new();
        data.insert("path".to_owned(), json!(path_text::encode(&target.path)));
        data.insert("content".to_owned(), json!(content));
        data.insert("truncated".to_owned(), json!(truncated));
        // Files that the kernel makes up have no size until they are read.
        data.insert("bytes".to_owned(), json!(size.max(self.bytes.len() as u64)));
        if truncated || !self.at_end {
            // A line longer than all that is shown is passed over, or a reader would stay there for ever.
            data.insert("next_offset".to_owned(), json!(lines.offset + whole_lines.max(1)));
            if truncated && whole_lines == 0 {
                data.insert("long_line".to_owned(), json!(true));
            }
        }
        if let Some(total) = total {
            data.insert("total_lines".to_owned(), json!(total));
        }
        if self.bytes.contains(&0) {
            data.insert("binary".to_owned(), json!(true));
        } else if let Some(invalid) = InvalidUtf8::find(shown, lines.offset) {
            data.insert("lossy".to_owned(), json!(true));
            data.insert("note".to_owned(), json!(invalid.to_string()));
        }
        Ok(Value::Object(data))
    }
}
