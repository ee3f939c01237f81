//! Rules, then the approval mode, then the floors, then whether anybody can be asked: in this order, for every door.
//! Pure: the disk is only seen through the context's file view.

mod binding;
mod folders;
mod grants;
mod instead;
mod outputs;
mod words;

use std::path::Path;

use serde::Serialize;
use zdx_protocol::display::approval::grant_words;
use zdx_protocol::facts;
use zdx_protocol::{Action, Approval, Granting, Level, Origin, ReasonCode, Target, Verdict};

use super::PolicyContext;
use super::limits::{Budget, MAX_RULE_STEPS};
use super::pattern::UNKNOWN;
use super::protected::{
    holds_credentials, is_anothers_memory, is_instruction, is_protected, is_raw_device,
    may_be_anothers_memory, may_hold_memory,
};
use super::rules::{EXTERNAL, Ruling};
use super::shell::syntax::text::Raw;
use super::shell::{self, Concern, Inspection, Part, Proof, Surroundings};

pub use folders::folder_grant;
pub use grants::{grant_key, is_covered, wider_grant};

/// One thing that was weighed: a part of a command line, or the action as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFinding {
    pub text: String,
    pub verdict: Level,
    pub code: ReasonCode,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// A verdict with everything that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub verdict: Verdict,
    pub parts: Vec<PartFinding>,
    /// It is proven to change nothing, whatever was decided about it.
    pub reads: bool,
}

impl Explanation {
    /// The level that rules, approval mode, floors and wider grants give, before exact grants and whether anybody can be asked.
    pub fn strictest(&self) -> Level {
        self.parts.iter().map(|part| part.verdict).max().unwrap_or(Level::Allow)
    }

    /// Whether `--allow-dangerous` answers where it has to be confirmed and nobody can be asked.
    pub fn yields_to_option(&self) -> bool {
        yields_to_option(&self.parts)
    }

    /// Whether a yes to what was asked here also says yes to what the same action would mean `now`.
    pub fn covers(&self, now: &Explanation) -> bool {
        let asked = |part: &PartFinding| part.verdict == Level::Allow || self.parts.contains(part);
        now.verdict.level() < self.verdict.level()
            || (now.verdict.level() == self.verdict.level() && now.parts.iter().all(asked))
    }
}

pub fn judge(action: &Action, cx: &PolicyContext) -> Verdict {
    weigh(action, cx).verdict
}

/// The same decision, part by part.
pub fn weigh(action: &Action, cx: &PolicyContext) -> Explanation {
    let weigher = Weigher::new(cx, is_lenient(action, cx));
    let (parts, reads) = weigher.findings(action);
    Explanation { verdict: weigher.conclude(action, &parts), parts, reads }
}

/// The same decision about a command line in the root.
pub fn explain(command: &str, origin: Origin, cx: &PolicyContext) -> Explanation {
    weigh(&Action::Command { command: command.to_owned(), cwd: cx.root.clone(), origin }, cx)
}

/// A user who types a command wants it run: only floors and written denials stand against it.
fn is_lenient(action: &Action, cx: &PolicyContext) -> bool {
    cx.approval == Approval::Yolo || matches!(action, Action::Command { origin: Origin::User, .. })
}

/// The one who wants an action.
fn asked_by(action: &Action) -> Origin {
    match action {
        Action::Command { origin, .. } => *origin,
        Action::Read { .. }
        | Action::Write { .. }
        | Action::Mcp { .. }
        | Action::Fetch { .. }
        | Action::Remote { .. }
        | Action::Skill { .. }
        | Action::Task { .. }
        | Action::Todo => Origin::Model,
    }
}

/// The reason for a change of what agents are told, which is at least asked about in every approval mode.
pub(crate) const STEERS_AGENTS: &str =
    "it changes what agents are told, which is at least asked about, whatever rules say";

/// Why the approval mode `balanced` lets a part pass that no rule allows.
const ONLY_READS: &str = "it only reads, inside the workspace";

/// Nothing but that floor asks.
fn only_instructions(findings: &[PartFinding]) -> bool {
    findings
        .iter()
        .filter(|finding| finding.verdict == Level::Ask)
        .all(|asks| asks.code == ReasonCode::Instructions)
}

/// Whether a path outside the workspace does not pass, whatever else there is.
fn holds_outside(findings: &[PartFinding]) -> bool {
    findings.iter().any(|finding| finding.verdict > Level::Allow && finding.code.is_outside())
}

/// Whether nothing in it is beyond what `--allow-dangerous` answers.
fn yields_to_option(findings: &[PartFinding]) -> bool {
    !holds_outside(findings) && !is_unread(findings)
}

/// Whether a part could not be read whole. What is forbidden may stand in the rest, which no option lifts.
pub(super) fn is_unread(findings: &[PartFinding]) -> bool {
    findings.iter().any(|finding| match finding.code {
        ReasonCode::TooLarge | ReasonCode::TooDeep | ReasonCode::Unreadable => true,
        ReasonCode::Allowed
        | ReasonCode::ApprovalRequired
        | ReasonCode::Denied
        | ReasonCode::Forbidden
        | ReasonCode::Internal
        | ReasonCode::PathEscape
        | ReasonCode::SymlinkEscape
        | ReasonCode::ProtectedPath
        | ReasonCode::Instructions
        | ReasonCode::ListedCommand
        | ReasonCode::Destructive
        | ReasonCode::Overwrite
        | ReasonCode::Helper
        | ReasonCode::Opaque
        | ReasonCode::HiddenCharacters => false,
    })
}

struct Weigher<'a> {
    cx: &'a PolicyContext,
    lenient: bool,
    /// Steps of comparing a command with the rules.
    budget: Budget,
}

impl<'a> Weigher<'a> {
    fn new(cx: &'a PolicyContext, lenient: bool) -> Self {
        Self { cx, lenient, budget: Budget::of(MAX_RULE_STEPS) }
    }
}

impl Weigher<'_> {
    /// The strictest findings, then exact grants, then nobody to ask.
    fn conclude(&self, action: &Action, findings: &[PartFinding]) -> Verdict {
        let cx = self.cx;
        let Some(level) = findings.iter().map(|finding| finding.verdict).max() else {
            return Verdict::Allow;
        };
        let Some(reason) = words::reason(findings, level) else { return Verdict::Allow };
        match level {
            Level::Allow => Verdict::Allow,
            Level::Deny => Verdict::Deny(words::denied(reason, self.instead(findings, level), cx)),
            Level::Ask if grant_key(action, cx).is_some_and(|key| cx.grants.contains(&key)) => Verdict::Allow,
            Level::Ask if cx.person => Verdict::Ask(reason),
            Level::Confirm if cx.person => Verdict::Confirm(reason),
            Level::Confirm if cx.allow_dangerous && yields_to_option(findings) => Verdict::Allow,
            Level::Ask if cx.allow_dangerous && only_instructions(findings) => Verdict::Allow,
            Level::Ask | Level::Confirm => {
                let instead = self.instead(findings, level);
                Verdict::Deny(words::unanswered(reason, findings, level, instead, asked_by(action)))
            }
        }
    }

    /// The findings about an action, and whether all of it is known to only read.
    fn findings(&self, action: &Action) -> (Vec<PartFinding>, bool) {
        let key = action.key();
        let findings = match action {
            Action::Read { targets, .. } => self.files(key, targets, false),
            Action::Write { targets, .. } => self.files(key, targets, true),
            Action::Command { command, cwd, origin } => {
                let inspection = self.inspect(command, cwd);
                return (self.command(command, *origin, &inspection), inspection.only_reads());
            }
            Action::Mcp { server, tool, .. } => vec![self.other_program(key, server, tool)],
            // Whoever does it chose the title: without a server's name it matches no rule for a server's tools.
            Action::Fetch { title } | Action::Remote { title } => vec![self.other_program(key, "", title)],
            Action::Skill { name } => {
                vec![self.by_rule(name, &self.cx.rules.named(key, &[name]), "it loads a skill")]
            }
            Action::Task { agent } => {
                vec![self.by_rule(agent, &self.cx.rules.named(key, &[agent]), "it starts another agent")]
            }
            Action::Todo => {
                let ruling = self.cx.rules.tool(key);
                let level =
                    if self.lenient && ruling.level == Level::Ask { Level::Allow } else { ruling.level };
                vec![finding(key, level, code(level), "it changes the todo list", ruling.rule)]
            }
        };
        (findings, action.is_read_only())
    }

    fn other_program(&self, key: &str, server: &str, tool: &str) -> PartFinding {
        let name = format!("{server}__{tool}");
        let by_server = format!("{server}/{tool}");
        let ruling = self.strictest(&self.cx.rules.named(key, &[&name, &by_server]), &name);
        self.by_rule(&name, &ruling, "it calls a tool of another program")
    }

    /// An MCP tool may also be named as a tool of its own (`server__tool = "deny"`): the stricter word holds.
    fn strictest(&self, ruling: &Ruling, name: &str) -> Ruling {
        let own = self.cx.rules.tool(name);
        if own.written && own.level > ruling.level { own } else { ruling.clone() }
    }

    /// The approval mode, on a level that rules gave.
    fn under_mode(&self, level: Level) -> Level {
        match (level, self.cx.approval) {
            (Level::Ask, _) if self.lenient => Level::Allow,
            (Level::Allow, Approval::Paranoid) if !self.lenient => Level::Ask,
            (other, _) => other,
        }
    }

    fn by_rule(&self, text: &str, ruling: &Ruling, what: &str) -> PartFinding {
        let level = self.under_mode(ruling.level);
        let reason = match level {
            Level::Allow if ruling.level == Level::Allow => "a rule allows it".to_owned(),
            Level::Allow if self.cx.approval == Approval::Yolo => {
                "the approval mode yolo allows it".to_owned()
            }
            Level::Allow => "who typed it wants it run".to_owned(),
            Level::Ask | Level::Confirm if ruling.level == Level::Allow => {
                format!("{what}{}", words::MODE_ASKS)
            }
            Level::Ask | Level::Confirm => format!("{what}{}", words::RULES_ASK),
            Level::Deny => "a rule denies it".to_owned(),
        };
        finding(text, level, code(level), &reason, ruling.rule.clone())
    }

    fn files(&self, key: &str, targets: &[Target], write: bool) -> Vec<PartFinding> {
        let ruling = self.cx.rules.tool(key);
        let mut findings = Vec::new();
        let what = |exists: bool| match (write, exists) {
            (true, true) => "it changes a file",
            (true, false) => "it creates a file",
            (false, _) => "it looks at files",
        };
        if targets.is_empty() {
            findings.push(self.by_rule(key, &ruling, what(true)));
        }
        for target in targets {
            let shown = target.path.display().to_string();
            if let Some(output) = self.spilled_output(key, &ruling, &target.path) {
                findings.push(output);
                continue;
            }
            let by_rule = self.by_rule(&shown, &ruling, what(target.exists));
            let granted = write && by_rule.verdict == Level::Ask && self.edit_granted(target);
            findings.push(if granted { granted_as(&shown, Granting::Edits) } else { by_rule });
            if write && is_instruction(&target.path) {
                findings.push(finding(&shown, Level::Ask, ReasonCode::Instructions, STEERS_AGENTS, None));
            }
            if is_anothers_memory(&target.path)
                || (key == facts::GREP.permission.key && may_hold_memory(&target.path))
            {
                findings.push(anothers_memory(&shown));
            }
            let lent = !write && self.is_lent(&target.path);
            if !target.inside && !lent && !super::protected::is_harmless_device(&target.path) {
                let code = if target.led_out { ReasonCode::SymlinkEscape } else { ReasonCode::PathEscape };
                findings.push(self.outside(&shown, &target.path, code));
            }
            if !write && holds_credentials(&target.path, &self.cx.root, self.cx.home.as_deref()) {
                let reason = format!("{shown} holds keys or passwords");
                findings.push(finding(&shown, Level::Confirm, ReasonCode::ProtectedPath, &reason, None));
            }
            if write && is_raw_device(&target.path) {
                findings.push(finding(
                    &shown,
                    Level::Deny,
                    ReasonCode::Forbidden,
                    "it writes to a device",
                    None,
                ));
            } else if write && is_protected(&target.path, &self.cx.root, self.cx.own.as_deref()) {
                let reason = format!(
                    "{shown} is a protected path: what is written there runs or steers something later"
                );
                findings.push(finding(&shown, Level::Confirm, ReasonCode::ProtectedPath, &reason, None));
            }
        }
        findings
    }

    fn is_lent(&self, path: &Path) -> bool {
        self.cx.lent.iter().any(|folder| path.starts_with(folder))
    }

    fn outside(&self, text: &str, path: &Path, code: ReasonCode) -> PartFinding {
        let full = path.display().to_string();
        let from_home = self.cx.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let from_home = from_home.map(|rest| format!("~/{}", rest.display()));
        let below = format!("{full}/");
        let mut spellings = vec![full.as_str(), below.as_str()];
        spellings.extend(from_home.as_deref());
        let ruling = self.cx.rules.named(EXTERNAL, &spellings);
        let level = self.under_mode(ruling.level);
        let added = self.cx.added_folders().find(|folder| path.starts_with(folder)).and_then(Path::to_str);
        if let (Level::Ask, Some(folder)) = (level, added) {
            return granted_as(text, Granting::Folder(folder));
        }
        let reason = format!("{full} lies outside the workspace");
        finding(text, level, code, &reason, ruling.rule)
    }

    fn command(&self, command: &str, origin: Origin, inspection: &Inspection) -> Vec<PartFinding> {
        let mut findings = Vec::new();
        self.patterns(command, command, &mut findings);
        findings.extend(inspection.raw.map(|raw| unread(command, raw)));
        let granted_families = self.granted_families(&inspection.parts);
        for (part, granted) in inspection.parts.iter().zip(granted_families) {
            let by_rule = self.part(part, origin, &mut findings);
            let granted = granted.filter(|_| by_rule.verdict == Level::Ask);
            findings.push(match granted {
                Some(grant) => granted_as(&part.text, Granting::of(&grant)),
                None => by_rule,
            });
        }
        if self.budget.is_exceeded() {
            let reason = "comparing it with all the rules takes too long";
            findings.push(finding(command, Level::Confirm, ReasonCode::TooLarge, reason, None));
        }
        findings
    }

    fn inspect(&self, command: &str, cwd: &Path) -> Inspection {
        let home = self.cx.home.as_ref().map(|home| home.to_string_lossy().into_owned());
        let added: Vec<&Path> = self.cx.added_folders().collect();
        let around = Surroundings {
            root: &self.cx.root,
            own: self.cx.own.as_deref(),
            added: &added,
            cwd,
            home: home.as_deref(),
            env: &self.cx.env,
            files: self.cx.files.as_ref(),
        };
        shell::inspect(command, &around)
    }

    /// Regular expressions of the configuration, on the text as given and on each part as it would run.
    fn patterns(&self, text: &str, shown: &str, findings: &mut Vec<PartFinding>) {
        if let Some(rule) = self.cx.rules.blacklisted(text, &self.budget) {
            findings.push(finding(
                shown,
                Level::Deny,
                ReasonCode::Denied,
                "a blacklist pattern covers it",
                Some(rule),
            ));
        }
        if let Some(rule) = self.cx.rules.dangerous(text, &self.budget) {
            findings.push(finding(
                shown,
                Level::Confirm,
                ReasonCode::ListedCommand,
                "a dangerous pattern covers it",
                Some(rule),
            ));
        }
    }

    /// Pushes what stands whatever was granted, and returns what rules and approval mode say.
    fn part(&self, part: &Part, origin: Origin, findings: &mut Vec<PartFinding>) -> PartFinding {
        let text = part.text.as_str();
        for view in &part.views {
            self.patterns(&view.join(" ").replace(UNKNOWN, "…"), text, findings);
        }
        for concern in &part.concerns {
            match concern {
                Concern::Forbidden { why } => findings.push(match origin {
                    Origin::Model => finding(text, Level::Deny, ReasonCode::Forbidden, why, None),
                    Origin::User => finding(text, Level::Confirm, ReasonCode::Forbidden, why, None),
                }),
                Concern::Confirm { code, why } => {
                    findings.push(finding(text, Level::Confirm, *code, why, None))
                }
                Concern::Outside { path, write: false } if self.is_output(path) => {}
                Concern::Outside { path, .. } => {
                    if may_be_anothers_memory(path, text) {
                        findings.push(anothers_memory(text));
                    }
                    findings.push(self.outside(text, path, ReasonCode::PathEscape));
                }
                // Who types a command himself knows what he tells his agents.
                Concern::Instructions if origin == Origin::Model => {
                    findings.push(finding(text, Level::Ask, ReasonCode::Instructions, STEERS_AGENTS, None));
                }
                Concern::Instructions | Concern::Ask { .. } => {}
            }
        }
        let ruling = self.cx.rules.command(&part.views, part.plain, &self.budget);
        let whys = part.concerns.iter().filter_map(|concern| match concern {
            Concern::Ask { why } => Some(why.as_str()),
            Concern::Instructions => Some(STEERS_AGENTS),
            Concern::Forbidden { .. } | Concern::Confirm { .. } | Concern::Outside { .. } => None,
        });
        let about = part.views.iter().find_map(|view| shell::says(view));
        // What only looks around in the workspace is not asked about, unless somebody wrote that it is.
        let passes = self.cx.approval == Approval::Balanced && ruling.level == Level::Ask && !ruling.written;
        if passes && part.proof == Proof::Reads {
            return finding(text, Level::Allow, ReasonCode::Allowed, ONLY_READS, None);
        }
        let mut whys = whys.peekable();
        let why = match (whys.peek(), about) {
            (None, about) => self.plain_words(part, &ruling, about),
            (Some(_), about) => words::several(about.into_iter().chain(whys), "; "),
        };
        self.by_rule(text, &ruling, &why)
    }

    /// The words for a part about which nothing else is known.
    fn plain_words(&self, part: &Part, ruling: &Ruling, about: Option<&str>) -> String {
        let name = part.views.first().and_then(|view| view.first());
        let name = name.filter(|name| name.chars().count() <= 40 && !name.contains(UNKNOWN));
        let Some(name) = name else { return "it runs a command".to_owned() };
        if !part.plain && ruling.level == Level::Ask {
            let plainly = self.cx.rules.command(&part.views, true, &self.budget);
            if plainly.level == Level::Allow {
                return format!(
                    "it runs {name} with words that are not literal, which no allowing rule covers"
                );
            }
        }
        about.map_or_else(|| format!("{}{name}", words::RUNS), str::to_owned)
    }
}

fn unread(command: &str, raw: Raw) -> PartFinding {
    let text: String = command.chars().take(200).collect();
    match raw {
        Raw::Nul => {
            finding(&text, Level::Deny, ReasonCode::Denied, "the command holds a NUL character", None)
        }
        Raw::TooLong => {
            finding(&text, Level::Confirm, ReasonCode::TooLarge, "the command is too long to be judged", None)
        }
        Raw::Hidden(c) => {
            let reason =
                format!("the command holds the invisible or control character U+{:04X}", u32::from(c));
            finding(&text, Level::Confirm, ReasonCode::HiddenCharacters, &reason, None)
        }
    }
}

fn code(level: Level) -> ReasonCode {
    match level {
        Level::Allow => ReasonCode::Allowed,
        Level::Ask | Level::Confirm => ReasonCode::ApprovalRequired,
        Level::Deny => ReasonCode::Denied,
    }
}

fn anothers_memory(text: &str) -> PartFinding {
    let reason = "it reads the environment or the memory of another process, where keys are";
    finding(text, Level::Confirm, ReasonCode::ProtectedPath, reason, None)
}

fn granted_as(text: &str, granting: Granting<'_>) -> PartFinding {
    let reason = format!("{} was allowed", grant_words(&granting.spelled(), None));
    finding(text, Level::Allow, ReasonCode::Allowed, &reason, None)
}

fn finding(text: &str, verdict: Level, code: ReasonCode, reason: &str, rule: Option<String>) -> PartFinding {
    PartFinding { text: text.to_owned(), verdict, code, reason: reason.to_owned(), rule }
}

#[cfg(test)]
mod tests;
