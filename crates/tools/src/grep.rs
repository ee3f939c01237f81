//! `grep`: lines that match, with ripgrep's own search.
//! Shows the first by path, however many threads found them in whatever order.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use zdx_protocol::facts::GREP;
use zdx_protocol::{Action, Target, ToolError, ToolSpec};

use super::input::{ToolInput, invalid};
use super::walk::{self, FileKind, FileTree, GlobPatterns, SortKey, WalkStep};
use super::{PreparedCall, Tool, ToolContext, ToolRunContext};
use zdx_workspace::text::first;
use zdx_workspace::workspace::{FileError, Workspace};

mod hits;
mod lines;

use hits::GrepHits;
use lines::LineSink;

const LIMIT: u64 = 100;
const MOST_LIMIT: u64 = 1000;
const MOST_CONTEXT: u64 = 20;
/// A single line beyond this is not searched.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
const REGEX_SIZE: usize = 10 * 1024 * 1024;

const LOSSY: &str = "lines with bytes that are not UTF-8 are shown with U+FFFD for these: change such a line with edit, which \
                     keeps them (leave U+FFFD out of `old` and `new`)";

pub(super) struct GrepTool {
    spec: ToolSpec,
}

impl Default for GrepTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(GREP.name),
            description: Cow::Borrowed(
                "Search file contents for a regex, a line at a time. What .gitignore names, dot files and binary files are \
                 left out. Result: each file, then its lines as number:text (number-text is context).",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "path": {"type": "string", "description": "File or folder; the working folder if absent."},
                    "glob": {"type": "string", "description": "Only these files: *.rs, src/**, !*.md"},
                    "literal": {"type": "boolean", "description": "The pattern is plain text."},
                    "ignore_case": {"type": "boolean"},
                    "context": {"type": "integer", "description": "Lines around each match."},
                    "limit": {"type": "integer", "default": LIMIT},
                    "hidden": {"type": "boolean", "description": "Dot files too."}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

/// What is looked for, and where.
struct GrepQuery {
    matcher: RegexMatcher,
    target: Target,
    globs: Option<GlobPatterns>,
    context: usize,
    limit: usize,
    hidden: bool,
}

impl Tool for GrepTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let query = GrepQuery::read(ToolInput::new(&GREP, input), &cx.workspace)?;
        let action =
            Action::Read { tool: GREP.permission.key.to_owned(), targets: vec![query.target.clone()] };
        let cx = cx.clone();
        let run = move |run: ToolRunContext| {
            walk::search(cx, run, move |workspace, stop| query.run(workspace, stop)).boxed()
        };
        Ok(PreparedCall::looking(action, Box::new(run)))
    }
}

impl GrepQuery {
    fn read(mut input: ToolInput, workspace: &Workspace) -> Result<Self, ToolError> {
        let pattern = input.text("pattern")?;
        let literal = input.flag("literal")?.unwrap_or(false);
        let ignore_case = input.flag("ignore_case")?.unwrap_or(false);
        let path = input.optional_text("path")?.unwrap_or_else(|| ".".to_owned());
        let target = workspace.resolve(&path)?;
        let globs = match input.any("glob") {
            Some(globs) => {
                Some(walk::globs(globs)?).filter(|globs| globs.iter().any(|glob| !glob.is_empty()))
            }
            None => None,
        };
        Ok(Self {
            matcher: matcher(&pattern, literal, ignore_case)?,
            globs: globs.map(|globs| GlobPatterns::new(&target.path, &globs)).transpose()?,
            target,
            context: input.number("context", 0)?.unwrap_or(0).min(MOST_CONTEXT) as usize,
            limit: input.count("limit")?.unwrap_or(LIMIT).min(MOST_LIMIT) as usize,
            hidden: input.flag("hidden")?.unwrap_or(false),
        })
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .before_context(self.context)
            .after_context(self.context)
            .line_number(true)
            .memory_map(MmapChoice::never())
            .heap_limit(Some(LONGEST_LINE))
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }

    fn run(self, workspace: &Workspace, stop: &CancellationToken) -> Result<Value, ToolError> {
        let hits = GrepHits::new(self.limit);
        let counts = GrepCounts::default();
        match self.target.path.symlink_metadata() {
            Ok(found) if found.is_dir() => self.folder(workspace, stop, &hits, &counts)?,
            Ok(_) => self.file(workspace, stop, &hits, &counts)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(walk::missing(&self.target)),
            Err(source) => return Err(FileError::Io { path: self.target.path, source }.into()),
        }
        let shown = hits.render(|key| walk::shown(workspace, &self.target.path.join(key.path())));
        let mut data = json!({
            "matches": shown.matches,
            "files": shown.files,
            "truncated": shown.truncated,
            "text": shown.text,
        });
        // Tells "nothing matches" from "nothing was looked at".
        if shown.lossy {
            data["lossy"] = json!(true);
            data["note"] = json!(LOSSY);
        }
        if shown.matches == 0 {
            data["searched"] = json!(counts.searched.into_inner());
        }
        let unreadable = counts.unreadable.into_inner();
        if unreadable > 0 && !shown.truncated {
            data["unreadable"] = json!(unreadable);
        }
        Ok(data)
    }

    /// A file that was named is searched whatever it is.
    fn file(
        &self,
        workspace: &Workspace,
        stop: &CancellationToken,
        hits: &GrepHits,
        counts: &GrepCounts,
    ) -> Result<(), ToolError> {
        let file = workspace.open_file(&self.target)?.file;
        let mut searcher = self.searcher();
        searcher.set_binary_detection(BinaryDetection::convert(0));
        let mut lines = LineSink::new(&self.matcher, self.limit);
        counts.searched.fetch_add(1, Ordering::Relaxed);
        searcher
            .search_reader(&self.matcher, CancellableReader { file, stop }, &mut lines)
            .map_err(|source| FileError::Io { path: self.target.path.clone(), source })?;
        // Joined to a path, this is the path itself.
        hits.add(SortKey::new(&self.target.path), lines);
        Ok(())
    }

    fn folder(
        &self,
        workspace: &Workspace,
        stop: &CancellationToken,
        hits: &GrepHits,
        counts: &GrepCounts,
    ) -> Result<(), ToolError> {
        let folder = workspace.open_folder(&self.target)?;
        let unreadable = FileTree::new(workspace, &self.target, self.hidden).walk(stop, || {
            let mut searcher = self.searcher();
            let folder = &folder;
            move |entry| {
                let is_folder = entry.kind == FileKind::Folder;
                let wanted = self.globs.as_ref().is_none_or(|globs| match is_folder {
                    true => !globs.excludes(entry.path, true),
                    false => globs.matches(entry.path, false),
                });
                let key = SortKey::new(entry.relative);
                if !wanted || hits.is_behind(&key) {
                    return WalkStep::Skip;
                }
                if entry.kind != FileKind::File {
                    return WalkStep::Continue;
                }
                counts.searched.fetch_add(1, Ordering::Relaxed);
                let mut lines = LineSink::new(&self.matcher, self.limit);
                let searched = folder.open_file(entry.relative).map_err(drop).and_then(|file| {
                    searcher
                        .search_reader(&self.matcher, CancellableReader { file, stop }, &mut lines)
                        .map_err(drop)
                });
                match searched {
                    Ok(()) => hits.add(key, lines),
                    Err(()) => {
                        counts.unreadable.fetch_add(1, Ordering::Relaxed);
                    }
                }
                WalkStep::Continue
            }
        });
        counts.unreadable.fetch_add(unreadable, Ordering::Relaxed);
        Ok(())
    }
}

#[derive(Default)]
struct GrepCounts {
    searched: AtomicU64,
    unreadable: AtomicU64,
}

/// A file that ends early when nobody wants the result any more.
struct CancellableReader<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl io::Read for CancellableReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_cancelled() {
            true => Ok(0),
            false => self.file.read(buffer),
        }
    }
}

fn matcher(pattern: &str, literal: bool, ignore_case: bool) -> Result<RegexMatcher, ToolError> {
    if pattern.is_empty() {
        return Err(invalid("`pattern` is empty: it would match every line"));
    }
    let built = RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .fixed_strings(literal)
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(REGEX_SIZE)
        .build(pattern);
    built.map_err(|error| {
        let hint = match (pattern.contains('\n') || pattern.contains("\\n"), literal) {
            (true, _) => "; a match cannot span lines: search for one line, with `context`",
            (false, false) => "; to search for the text as it stands, set `literal` to true",
            (false, true) => "",
        };
        let error = error.to_string();
        invalid(format!("`pattern` is no valid regex: {}{hint}", first(error.trim_end(), 800)))
    })
}
