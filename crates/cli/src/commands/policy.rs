//! `zdx policy`: what the guard would say, and what it was told to remember. Runs none of what it judges.

mod check;
mod grants;

use std::path::Path;

use serde_json::json;
use zdx_engine::run_table;
use zdx_guard::{Explanation, PartFinding, PolicyContext, explain};
use zdx_protocol::display::text::wrap;
use zdx_protocol::display::{format, visible, visible_line};
use zdx_protocol::{Approval, Level, Origin};

use super::{json_line, print};
use crate::args::{Format, PolicyCommand};
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::{start, terminal};

pub fn run(settings: &Settings, command: &PolicyCommand) -> Result<Ending, Failure> {
    if let PolicyCommand::Grants { everywhere, revoke, revoke_all } = command {
        return grants::run(settings, *everywhere, revoke, *revoke_all);
    }
    let (context, warnings) = start::guard(settings)?;
    super::warn(settings, &warnings);
    match command {
        PolicyCommand::Explain { command } => explained(settings, command, &context),
        PolicyCommand::Check => check::run(context),
        PolicyCommand::Test { file } => test(settings, file, &context),
        PolicyCommand::Grants { .. } => Ok(Ending::Completed),
    }
}

fn explained(settings: &Settings, command: &str, context: &PolicyContext) -> Result<Ending, Failure> {
    let explanation = explain(command, Origin::Model, context);
    print(match settings.format {
        Format::Json => {
            let reason = explanation.verdict.reason();
            let line = json!({
                "command": command,
                "approval": context.approval,
                "verdict": explanation.verdict.level(),
                "code": reason.map(|reason| reason.code),
                "reason": reason.map(|reason| &reason.message),
                "rule": reason.and_then(|reason| reason.rule.as_ref()),
                "parts": explanation.parts,
            });
            json_line(&line)
        }
        Format::Text => {
            let columns = if settings.terminal.stdout { terminal::width() } else { usize::MAX };
            in_words(command, &explanation, context.approval, columns)
        }
    })
}

/// The decision first, then each part of the command with everything that was weighed about it.
fn in_words(command: &str, explanation: &Explanation, approval: Approval, columns: usize) -> String {
    let mut page = Page { columns, text: String::new() };
    page.text.push_str(&format!("{}\n", visible(command)));
    let verdict = &explanation.verdict;
    page.labelled("verdict", &format!("{}: {}", verdict.level(), meaning(explanation)));
    page.labelled("approval", preset(approval));
    if let Some(reason) = verdict.reason() {
        page.labelled("why", &reason.message);
        page.labelled("code", reason.code.as_str());
        if let Some(rule) = &reason.rule {
            page.labelled("rule", rule);
        }
    }
    if verdict.level() == Level::Allow && explanation.parts.iter().any(|part| part.verdict > Level::Allow) {
        page.labelled("why", "exactly this was allowed for good; `zdx policy grants` lists and revokes that");
    }
    for findings in explanation.parts.chunk_by(|a, b| a.text == b.text) {
        let Some(first) = findings.first() else { continue };
        page.text.push_str(&format!("\n  {}\n", visible_line(&first.text)));
        for (at, finding) in findings.iter().enumerate() {
            if !findings[..at].contains(finding) {
                page.labelled(finding.verdict.name(), &weighed(finding));
            }
        }
    }
    page.text
}

fn weighed(finding: &PartFinding) -> String {
    match &finding.rule {
        Some(rule) => format!("{}; rule: {rule}", finding.reason),
        None => finding.reason.clone(),
    }
}

/// Says in words where a verdict leads, with a person there and without.
fn meaning(explanation: &Explanation) -> &'static str {
    match explanation.verdict.level() {
        Level::Allow => "it runs unasked",
        Level::Ask => "a person is asked, and may allow it for good; with nobody to ask it is denied",
        Level::Confirm if !explanation.yields_to_option() => {
            "a person is asked every time; with nobody to ask it is denied"
        }
        Level::Confirm => {
            "a person is asked every time; with nobody to ask it is denied unless --allow-dangerous is given"
        }
        Level::Deny => "it does not run",
    }
}

fn preset(approval: Approval) -> &'static str {
    match approval {
        Approval::Yolo => "yolo",
        Approval::Balanced => "balanced",
        Approval::Paranoid => "paranoid",
    }
}

/// Words in two columns, wrapped below themselves.
struct Page {
    columns: usize,
    text: String,
}

impl Page {
    fn labelled(&mut self, label: &str, text: &str) {
        const LABEL: usize = 14;
        let lines = wrap(&visible_line(text), self.columns.saturating_sub(LABEL).max(20));
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.text.push_str(&format!("    {label:10}{line}\n"));
        }
    }
}

fn test(settings: &Settings, file: &Path, context: &PolicyContext) -> Result<Ending, Failure> {
    let report = run_table(file, context).map_err(Failure::runtime)?;
    print(match settings.format {
        Format::Json => json_line(&json!(report)),
        Format::Text => {
            let mut text = String::new();
            for miss in &report.missed {
                let (id, input) = (visible_line(&miss.id), visible_line(&miss.input));
                text.push_str(&format!("{id}: expected {}, got {}: {input}\n", miss.expect, miss.got));
                if !miss.reason.is_empty() {
                    text.push_str(&format!("    {}\n", visible_line(&miss.reason)));
                }
            }
            let skipped = match report.skipped.len() {
                0 => String::new(),
                count => format!(", {count} not about a single decision and left out"),
            };
            let judged = format::count(report.judged, "row");
            text.push_str(&format!("{judged} judged, {} fell short{skipped}\n", report.missed.len()));
            text
        }
    })?;
    Ok(if report.missed.is_empty() { Ending::Completed } else { Ending::Failed })
}
