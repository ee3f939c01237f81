//! Programs that nothing is known of: what they are given may be written, and what stands in plain sight may be run.

use zdx_protocol::ReasonCode;

use crate::files::Located;
use crate::protected;
use crate::shell::Part;
use crate::shell::programs::commands::basename;
use crate::shell::programs::dangers::is_listed;
use crate::shell::programs::options::pattern_values;
use crate::shell::programs::runners::is_runner;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::Place;

/// Programs that only show what disks there are.
const SHOW_DISKS: &[&str] =
    &["lsblk", "blkid", "smartctl", "udevadm", "findmnt", "df", "file", "stat", "mount", "umount", "lsof"];

impl Walker<'_> {
    pub(crate) fn unknown_program(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let patterns = pattern_values(name, argv);
        for (index, arg) in argv.iter().enumerate().skip(1) {
            if arg.text.starts_with('-') && arg.text != "-" {
                if let Some((option, value)) =
                    arg.text.split_once('=').filter(|(option, _)| !leaves_out(option))
                {
                    let value = Arg { text: value.to_owned(), ..arg.clone() };
                    self.may_write(option, &value, part);
                }
            } else if !patterns.contains(&index) {
                self.loose_path(arg, false, part);
                if !leaves_out(&argv[index - 1].text) {
                    self.may_write(name, arg, part);
                }
            }
        }
        self.listed_inside(name, argv, part);
    }

    /// A program that is not known may write what it is given: a disk, or a name that steers something, is enough.
    fn may_write(&mut self, by: &str, arg: &Arg, part: &mut Part) {
        let Place::At(all) = self.place(arg) else { return };
        for Located { path, .. } in all.into_iter().filter(|_| !arg.glob) {
            if protected::is_disk(&path) && !SHOW_DISKS.contains(&by) {
                part.forbid(format!("{by} may write to the device {}", path.display()));
            } else if protected::steers(&path, self.around.root) {
                part.confirm(
                    ReasonCode::ProtectedPath,
                    format!("{by} may write {}, a protected path", arg.text),
                );
            }
        }
    }

    /// `cmake -E rm x`, `volta run rm x`: whatever runs it, a listed command is in plain sight.
    fn listed_inside(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        const RUNS: &[&str] =
            &["exec", "run", "dlx", "shell", "unshare", "-E", "-c", "-e", "-a", "--", "--wrap"];
        // What these run is the project's own program.
        if is_runner(name) || matches!(name, "cargo" | "go" | "dotnet" | "mix" | "swift" | "zig") {
            return;
        }
        let listed = |two: &&[Arg]| {
            RUNS.contains(&two[0].text.as_str())
                && two[1].known().is_some_and(|word| is_listed(basename(word)))
        };
        if let Some(two) = argv.windows(2).find(listed) {
            part.plain = false;
            part.confirm(ReasonCode::ListedCommand, format!("it may run {}", two[1].text));
        }
    }
}

/// `--exclude .git`: what follows is left alone.
fn leaves_out(option: &str) -> bool {
    matches!(option, "-x" | "-X" | "-I" | "-e" | "-E" | "-i")
        || ["excl", "ignore", "skip", "prune", "omit", "without"].iter().any(|word| option.contains(word))
}
