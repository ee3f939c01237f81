//! awk: its programs are looked through for what they run and write; nothing of them is interpreted.

use crate::shell::programs::effects::{Effect, Effects, ProgramKind};
use crate::shell::programs::options::Call;
use crate::shell::programs::special::awk_code;
use crate::shell::programs::special::code::strings_of;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

pub(crate) fn awk(call: &Call<'_>, out: &mut Effects) {
    let given = ["file", "exec", "source"].iter().any(|name| call.has(name));
    let (first, words) = call.operands.split_at(usize::from(!given).min(call.operands.len()));
    for file in call.values("file").into_iter().chain(call.values("exec")) {
        out.push(Effect::ProgramFile(file, ProgramKind::Awk));
    }
    for program in call.values("source").into_iter().chain(first.to_vec()) {
        out.push(Effect::Program(program, ProgramKind::Awk));
    }
    let libraries: Vec<Arg> = call.values("include").into_iter().chain(call.values("load")).collect();
    let in_place = libraries.iter().any(|library| library.text == "inplace");
    if libraries.iter().any(|library| library.text != "inplace") {
        out.ask("it loads a library");
    }
    // Others make it write what it read, or load more.
    let known = ["assign", "field-separator", "source"];
    let plain = call.found.iter().all(|found| known.iter().any(|name| found.option.is(name)));
    if !plain || !call.unknown.is_empty() || call.doubtful {
        out.push(Effect::Unproven);
    }
    for file in words.iter().filter(|word| !word.text.contains('=') || word.text.contains('/')) {
        out.reads(file);
        if in_place {
            out.push(Effect::Protects(file.clone()));
        }
    }
}

/// What one program does, as far as its text shows.
pub(crate) fn program(program: &Arg) -> Effects {
    let mut out = Effects::default();
    let code = program.text.as_str();
    let bare = awk_code::code(code);
    if program.has_unknown() || bare.as_deref().is_none_or(|bare| !awk_code::only_prints(bare)) {
        out.push(Effect::Unproven);
    }
    let bare = bare.unwrap_or_else(|| code.to_owned());
    if awk_code::runs_commands(&bare) {
        out.helper("the awk program runs other commands");
        out.0.extend(strings_of(code).into_iter().map(Effect::Perhaps));
    }
    // `> "file"` after print opens a file; a comparison has no string behind it.
    let prints = bare.contains("print");
    for (index, _) in code.match_indices('>').filter(|_| prints) {
        let after = &code[index + 1..];
        if let Some(rest) = after.trim_start().strip_prefix('"') {
            let file = rest.split('"').next().unwrap_or(rest);
            out.push(Effect::NotPlain);
            out.changes(&Arg::literal(file), FileEffect::Overwrite);
        }
    }
    let writes =
        |rest: &str| rest.split([';', '}', '\n']).next().unwrap_or("").contains('>') && !rest.contains('(');
    if bare.split("print").skip(1).any(writes) {
        out.ask("the awk program may write files");
    }
    out
}
