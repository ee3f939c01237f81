//! What a person's "always" would remember, and whether what is remembered covers an action. Nothing here is wider than
//! the words under which it is shown, and nothing that has to be confirmed is ever covered.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use zdx_protocol::{
    Action, Approval, CommandFamily, FamilyBinding, Granting, Level, Origin, Target, facts, path_text,
};

use super::binding::{ProjectFiles, project_files};
use super::folders::offered_folder;
use super::{Explanation, Weigher, weigh};
use crate::PolicyContext;
use crate::families::family;
use crate::limits::MAX_WIDER_GRANTS;
use crate::protected::{is_instruction, is_protected};
use crate::shell::{self, Concern, Part, Proof};

/// Exactly what "always" would remember for this action: this command, this path, nothing wider.
pub fn grant_key(action: &Action, cx: &PolicyContext) -> Option<String> {
    let key = action.key();
    let paths = |targets: &[Target]| {
        // A name that text cannot tell from another one is not remembered.
        let plain =
            |target: &Target| target.path.to_str().filter(|name| !name.contains('\n')).map(str::to_owned);
        let names: Option<Vec<String>> = targets.iter().map(plain).collect();
        names.map(|names| format!("{key} {}", names.join("\n")))
    };
    match action {
        Action::Command { command, cwd, .. } if *cwd == cx.root => {
            Some(format!("{key} {}", shell::normalise(command)))
        }
        Action::Command { command, cwd, .. } => {
            Some(format!("{key} {} (in {})", shell::normalise(command), path_text::encode(cwd)))
        }
        Action::Read { targets, .. } | Action::Write { targets, .. } => paths(targets),
        Action::Mcp { server, tool, digest } if digest.is_empty() => Some(format!("{key} {server}__{tool}")),
        Action::Mcp { server, tool, digest } => Some(format!("{key} {server}__{tool} #{digest}")),
        Action::Fetch { title } | Action::Remote { title } => Some(format!("{key} __{title}")),
        Action::Skill { name } => Some(format!("{key} {name}")),
        Action::Task { agent } => Some(format!("{key} {agent}")),
        Action::Todo => None,
    }
}

/// The wider grant that may be offered beside it: the one with which this action, which is asked about, would not be. Where
/// it leaves the workspace, that is the folder it reaches: with that one, nothing is asked because it lies outside.
pub fn wider_grant(action: &Action, cx: &PolicyContext) -> Option<String> {
    let would_do = |grant: &String| weigh_granted(action, grant, cx).verdict.level() == Level::Allow;
    candidates(action, cx).into_iter().find(would_do).or_else(|| offered_folder(action, cx))
}

/// The decision as it would be with one grant more.
pub(super) fn weigh_granted(action: &Action, grant: &str, cx: &PolicyContext) -> Explanation {
    let mut grants: HashSet<String> = HashSet::clone(&cx.grants);
    grants.insert(grant.to_owned());
    weigh(action, &PolicyContext { grants: Arc::new(grants), ..cx.clone() })
}

/// Whether wider grants cover all that this exact one does.
pub fn is_covered(grant: &str, grants: &[String], cx: &PolicyContext) -> bool {
    let Some((key, what)) = grant.split_once(' ').filter(|_| is_exact(grant)) else { return false };
    let action = if key == facts::BASH.permission.key {
        Action::Command { command: what.to_owned(), cwd: cx.root.clone(), origin: Origin::Model }
    } else if [facts::WRITE.permission.key, facts::PATCH.permission.key].contains(&key) {
        let target = |path: &str| Target {
            path: path.into(),
            inside: Path::new(path).starts_with(&cx.root),
            exists: true,
            led_out: false,
        };
        Action::Write { tool: key.to_owned(), targets: what.split('\n').map(target).collect() }
    } else {
        return false;
    };
    let wider = grants.iter().filter(|grant| !is_exact(grant)).cloned().collect();
    // In the strictest approval mode nothing else lets it pass.
    let approval = Approval::Paranoid;
    let cx = PolicyContext { grants: Arc::new(wider), approval, person: true, ..cx.clone() };
    weigh(&action, &cx).verdict.level() == Level::Allow
}

fn is_exact(grant: &str) -> bool {
    matches!(Granting::of(grant), Granting::Exactly(_))
}

/// More than one family in a script is more than one grant: the first that does is enough, or none is offered.
fn candidates(action: &Action, cx: &PolicyContext) -> Vec<String> {
    match action {
        Action::Command { command, cwd, .. } => {
            let weigher = Weigher::new(cx, false);
            let parts = weigher.inspect(command, cwd).parts;
            let families: BTreeSet<String> = parts.iter().filter_map(|part| weigher.family(part)).collect();
            // Each is tried, which reads the command again.
            families.into_iter().filter(|grant| !cx.grants.contains(grant)).take(MAX_WIDER_GRANTS).collect()
        }
        Action::Write { .. } => vec![Granting::Edits.spelled()],
        Action::Read { .. }
        | Action::Mcp { .. }
        | Action::Fetch { .. }
        | Action::Remote { .. }
        | Action::Skill { .. }
        | Action::Task { .. }
        | Action::Todo => Vec::new(),
    }
}

impl Weigher<'_> {
    /// For each part the grant of its family, if there is one. A command that changes something else may change the
    /// project files before they are read: beside it, no family is covered.
    pub(super) fn granted_families(&self, parts: &[Part]) -> Vec<Option<String>> {
        if !self.cx.grants.iter().any(|grant| matches!(Granting::of(grant), Granting::Commands(_))) {
            return vec![None; parts.len()];
        }
        let granted = |part: &Part| self.family(part).filter(|grant| self.cx.grants.contains(grant));
        let families: Vec<Option<String>> = parts.iter().map(granted).collect();
        let settled =
            |(part, family): (&Part, &Option<String>)| family.is_some() || part.proof == Proof::Reads;
        if parts.iter().zip(&families).all(settled) { families } else { vec![None; parts.len()] }
    }

    /// The grant that would cover it, if its words are exactly what runs, and it runs in the workspace and on its files.
    fn family(&self, part: &Part) -> Option<String> {
        let harmless = |concern: &Concern| match concern {
            Concern::Ask { .. } => true,
            Concern::Forbidden { .. }
            | Concern::Confirm { .. }
            | Concern::Outside { .. }
            | Concern::Instructions => false,
        };
        // A second way to read it is a wrapper, an alias or a path: the command does not begin with these words.
        let [argv] = part.views.as_slice() else { return None };
        let folder = part.folder.as_deref().filter(|folder| folder.starts_with(&self.cx.root))?;
        if !part.plain || !part.concerns.iter().all(harmless) {
            return None;
        }
        let (words, manifests) = family(argv)?;
        let ProjectFiles { folder, names, hash } = project_files(folder, manifests, self.cx)?;
        let binding = FamilyBinding { folder: &folder, files: &names, hash: &hash };
        Some(Granting::Commands(CommandFamily { words: &words, binding: Some(binding) }).spelled())
    }

    /// All edits were granted, and this is one of those that were meant.
    pub(super) fn edit_granted(&self, target: &Target) -> bool {
        (target.inside || self.cx.is_added(&target.path))
            && self.cx.grants.contains(&Granting::Edits.spelled())
            && !is_instruction(&target.path)
            && !is_protected(&target.path, &self.cx.root, self.cx.own.as_deref())
    }
}
