//! `zdx policy check`: decisions as a stream, one line for each line that came in, in order.

use std::io::{BufRead, BufReader, Read};

use serde_json::json;
use zdx_engine::Checker;
use zdx_guard::PolicyContext;
use zdx_protocol::ToolCode;

use crate::commands::json_line;
use crate::exit::{Ending, Failure, reason};
use crate::output::write_all;

/// A longer line holds no call that a tool would take.
const LINE_LIMIT: usize = 1 << 20;
const BUFFER: usize = 64 << 10;

/// A line that cannot be read is answered with a denial, so that whoever looks at verdicts alone fails safe.
pub fn run(context: PolicyContext) -> Result<Ending, Failure> {
    let checker = Checker::new(context).map_err(Failure::runtime)?;
    let mut input = BufReader::with_capacity(BUFFER, std::io::stdin());
    let mut answers = Vec::new();
    let mut ending = Ending::Completed;
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? {
        let answer = match readable(&line)
            .and_then(|line| checker.line(line).map_err(|error| (error.code(), error.to_string())))
        {
            Ok(answer) => json!({
                "verdict": answer.verdict,
                "code": answer.code,
                "reason": answer.reason,
                "rule": answer.rule,
            }),
            Err((code, why)) => {
                ending = Ending::Failed;
                json!({"verdict": "deny", "code": code, "reason": why, "rule": null})
            }
        };
        answers.extend(json_line(&answer).into_bytes());
        // A program that asks line by line waits for each answer; a whole file is answered in large writes.
        if answers.len() >= BUFFER || !input.buffer().contains(&b'\n') {
            write_all(rustix::stdio::stdout(), &answers)?;
            answers.clear();
        }
    }
    write_all(rustix::stdio::stdout(), &answers)?;
    Ok(ending)
}

/// The next line; false at the end. Of one that is too long only enough is kept to tell.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Failure> {
    let failed = |error: std::io::Error| Failure::runtime(format!("cannot read stdin: {}", reason(&error)));
    line.clear();
    let limit = LINE_LIMIT as u64 + 1;
    if input.by_ref().take(limit).read_until(b'\n', line).map_err(failed)? == 0 {
        return Ok(false);
    }
    if line.last() != Some(&b'\n') && line.len() > LINE_LIMIT {
        input.skip_until(b'\n').map_err(failed)?;
    }
    Ok(true)
}

fn readable(line: &[u8]) -> Result<&str, (ToolCode, String)> {
    let invalid = |why: String| (ToolCode::InvalidInput, why);
    if line.len() > LINE_LIMIT {
        return Err(invalid(format!("the line is longer than {} MiB", LINE_LIMIT >> 20)));
    }
    std::str::from_utf8(line).map(str::trim).map_err(|_| invalid("the line is no UTF-8 text".to_owned()))
}
