//! Tests that need what not every machine has. Where it is missing they are reported as ignored. Continuous integration must
//! be able to run all of them: there nothing is ignored, and they fail.

use std::fs::File;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Trial};
use rustix::fs::{XattrFlags, fsetxattr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Mounts of one's own, made in a user namespace.
    Mounts,
    /// Attributes `user.*` in the folder for temporary files.
    UserAttributes,
    /// POSIX access lists there.
    AccessLists,
}

/// A test and what it needs.
pub struct AbilityTest {
    pub needs: &'static [Ability],
    pub name: &'static str,
    pub run: fn(),
}

impl Ability {
    fn name(self) -> &'static str {
        match self {
            Self::Mounts => "mounts",
            Self::UserAttributes => "user attributes",
            Self::AccessLists => "access lists",
        }
    }

    fn is_there(self) -> bool {
        /// Read and write for the owner, for user 1 and up to the mask; read for the group.
        const ACCESS: [(u16, u16, u32); 5] =
            [(1, 6, u32::MAX), (2, 6, 1), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)];
        match self {
            Self::Mounts => can_mount(),
            Self::UserAttributes => can_set("user.zdx", b"x"),
            Self::AccessLists => can_set("system.posix_acl_access", &access_list(&ACCESS)),
        }
    }
}

/// A POSIX access list as the kernel reads it, of tag, permissions and id.
pub fn access_list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry = |(tag, permissions, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
}

fn can_set(name: &str, value: &[u8]) -> bool {
    let file: Option<File> = tempfile::tempfile().ok();
    file.is_some_and(|file| fsetxattr(file, name, value, XattrFlags::empty()).is_ok())
}

fn can_mount() -> bool {
    let Ok(dir) = tempfile::tempdir() else { return false };
    let script = "mount -t tmpfs none . && cd . && touch a b && mount --bind a b";
    let mut unshare = Command::new("unshare");
    unshare.args(["-Urm", "sh", "-c", script]).current_dir(dir.path()).stdin(Stdio::null());
    unshare.output().is_ok_and(|output| output.status.success())
}

/// The `main` of a test binary without the usual harness.
pub fn run_ability_tests(tests: impl IntoIterator<Item = AbilityTest>) -> ExitCode {
    let strict = std::env::var_os("CI").is_some();
    let trials = tests.into_iter().map(|AbilityTest { needs, name, run }| {
        let is_able = strict || needs.iter().all(|ability| ability.is_there());
        let kind = needs.iter().map(|ability| ability.name()).collect::<Vec<_>>().join(", ");
        Trial::test(name, move || {
            run();
            Ok(())
        })
        .with_kind(format!("needs {kind}"))
        .with_ignored_flag(!is_able)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
