//! cp, install, rsync, scp, ln: which operand is written, and where links will lead.

use crate::shell::programs::effects::{Effect, Effects};
use crate::shell::programs::generic::is_remote;
use crate::shell::programs::options::Call;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// The last operand is written: a file, or a folder that gets the names of the others.
pub(crate) fn copy(call: &Call<'_>, out: &mut Effects) {
    let files = &call.operands;
    if call.name.ends_with("install") && (call.has("d") || call.has("directory")) {
        files.iter().for_each(|folder| out.changes(folder, FileEffect::Alter));
        return;
    }
    let keeps =
        ["n", "no-clobber", "ignore-existing"].iter().any(|name| call.has(name)) && call.name != "rsync";
    let change = if keeps || call.has("ignore-existing") { FileEffect::Alter } else { FileEffect::Overwrite };
    let (sources, target) = match (call.values("target-directory").pop(), files.split_last()) {
        (Some(target), _) => (files.as_slice(), target),
        (None, Some((target, sources))) => (sources, target.clone()),
        (None, None) => return,
    };
    let local: Vec<Arg> = sources.iter().filter(|arg| !is_remote(&arg.text)).cloned().collect();
    if is_remote(&target.text) {
        local.iter().for_each(|source| out.reads(source));
        return;
    }
    let fetched = local.len() < sources.len();
    out.push(Effect::Copies { sources: local, target: target.clone(), change });
    if fetched {
        out.push(Effect::Fetches(target));
    }
}

pub(crate) fn link(call: &Call<'_>, out: &mut Effects) {
    let folder = call.values("target-directory").pop();
    let (targets, link) = match (folder, call.operands.split_last()) {
        (Some(folder), _) => (call.operands.clone(), Some(folder)),
        (None, Some((only, []))) => (vec![only.clone()], None),
        (None, Some((link, targets))) => (targets.to_vec(), Some(link.clone())),
        (None, None) => return,
    };
    let symbolic = call.has("symbolic") || call.has("s");
    let forced = call.has("force") || call.has("f");
    out.push(Effect::Links { targets, link, symbolic, forced });
}
