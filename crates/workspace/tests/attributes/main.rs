//! Attributes and access lists of files that are replaced or made anew. In a binary of its own, whose tests are reported as
//! ignored where the file system has none.

// Without the usual harness clippy does not see that all of this is a test.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use zdx_protocol::{FileAccess, FileState};
use zdx_testkit::{Ability, AbilityTest, access_list as list, run_ability_tests};
use zdx_workspace::workspace::{FilePermissions, StagedFile, Workspace};

const ACCESS_LIST: &str = "system.posix_acl_access";
const NOBODY: u32 = u32::MAX;

fn main() -> ExitCode {
    const BOTH: &[Ability] = &[Ability::UserAttributes, Ability::AccessLists];
    const LISTS: &[Ability] = &[Ability::AccessLists];
    const ATTRIBUTES: &[Ability] = &[Ability::UserAttributes];
    macro_rules! tests {
        ($($needs:ident $name:ident,)*) => {
            [$(AbilityTest { needs: $needs, name: stringify!($name), run: $name },)*]
        };
    }
    run_ability_tests(tests![
        BOTH extended_attributes_and_access_lists_survive_a_write,
        LISTS an_access_list_of_the_folder_gives_nothing_to_a_file_that_had_none,
        LISTS a_file_that_is_made_anew_has_the_access_list_that_it_had,
        ATTRIBUTES a_file_that_is_made_anew_has_the_attributes_that_it_had,
    ])
}

fn place() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    (dir, workspace)
}

fn set(dir: &tempfile::TempDir, file: &str, name: &str, value: &[u8]) {
    setxattr(dir.path().join(file), name, value, XattrFlags::empty()).unwrap();
}

fn value(dir: &tempfile::TempDir, file: &str, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 64 * 1024];
    let length = getxattr(dir.path().join(file), name, &mut value[..]).ok()?;
    value.truncate(length);
    Some(value)
}

fn mode(dir: &tempfile::TempDir, file: &str) -> u32 {
    std::fs::metadata(dir.path().join(file)).unwrap().permissions().mode() & 0o7777
}

fn restored(workspace: &Workspace, state: &FileState) -> u32 {
    let target = workspace.resolve("again").unwrap();
    let _ = std::fs::remove_file(&target.path);
    let target = workspace.resolve("again").unwrap();
    workspace.stage_state(&target, b"x", state).and_then(StagedFile::commit).unwrap();
    std::fs::metadata(&target.path).unwrap().permissions().mode() & 0o7777
}

fn extended_attributes_and_access_lists_survive_a_write() {
    let (dir, workspace) = place();
    std::fs::write(dir.path().join("f"), "old").unwrap();
    let access = list(&[(1, 6, NOBODY), (2, 6, 1), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY)]);
    set(&dir, "f", "user.note", b"kept");
    set(&dir, "f", ACCESS_LIST, &access);
    assert_eq!(mode(&dir, "f"), 0o660);
    let target = workspace.resolve("f").unwrap();
    workspace.replace(&target, b"new").unwrap();
    assert_eq!(value(&dir, "f", "user.note").as_deref(), Some(&b"kept"[..]));
    assert_eq!(value(&dir, "f", ACCESS_LIST), Some(access));
    assert_eq!(mode(&dir, "f"), 0o660);
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"new");
    // The same where it goes by another name.
    let moved = workspace.resolve("moved").unwrap();
    let staged = workspace.stage_like(&moved, &target, b"new", FilePermissions::Like(0o660));
    staged.and_then(StagedFile::commit).unwrap();
    assert!(value(&dir, "moved", ACCESS_LIST).is_some() && value(&dir, "moved", "user.note").is_some());
}

fn an_access_list_of_the_folder_gives_nothing_to_a_file_that_had_none() {
    let (dir, workspace) = place();
    std::fs::write(dir.path().join("f"), "old").unwrap();
    std::fs::set_permissions(dir.path().join("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let default = list(&[(1, 7, NOBODY), (2, 7, 1), (4, 7, NOBODY), (16, 7, NOBODY), (32, 7, NOBODY)]);
    set(&dir, ".", "system.posix_acl_default", &default);
    workspace.replace(&workspace.resolve("f").unwrap(), b"new").unwrap();
    assert_eq!((value(&dir, "f", ACCESS_LIST), mode(&dir, "f")), (None, 0o640));
}

fn a_file_that_is_made_anew_has_the_access_list_that_it_had() {
    let (dir, workspace) = place();
    std::fs::write(dir.path().join("f"), "x").unwrap();
    let acl = list(&[(1, 6, NOBODY), (2, 6, 1), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY)]);
    set(&dir, "f", ACCESS_LIST, &acl);
    let access = workspace.access(&workspace.resolve("f").unwrap());
    let state = FileState { sha256: None, mode: mode(&dir, "f"), access };
    assert_eq!((restored(&workspace, &state), state.mode), (0o660, 0o660));
    assert_eq!(value(&dir, "again", ACCESS_LIST), Some(acl.clone()));
    let read = serde_json::from_value::<FileState>(serde_json::to_value(&state).unwrap()).unwrap();
    assert_eq!(read.access, state.access);
    // A list that nobody can read, or set, permits nobody but the owner anything.
    for acl in ["", "02", "no hex"] {
        let broken = FileAccess { acl: Some(acl.to_owned()), ..state.access.clone().unwrap() };
        let state = FileState { access: Some(broken), ..state.clone() };
        assert_eq!(restored(&workspace, &state), 0o600, "{acl}");
    }
    // Nor does the folder give one to a file that had none.
    set(&dir, ".", "system.posix_acl_default", &acl);
    let plain = FileState { mode: 0o640, access: None, ..state };
    assert_eq!((restored(&workspace, &plain), value(&dir, "again", ACCESS_LIST)), (0o640, None));
}

fn a_file_that_is_made_anew_has_the_attributes_that_it_had() {
    let (dir, workspace) = place();
    std::fs::write(dir.path().join("f"), "x").unwrap();
    let access = || workspace.access(&workspace.resolve("f").unwrap());
    set(&dir, "f", "user.note", b"kept\0\xff");
    set(&dir, "f", "user.empty", b"");
    let state = FileState { sha256: None, mode: 0o600, access: access() };
    let state: FileState = serde_json::from_value(serde_json::to_value(&state).unwrap()).unwrap();
    assert_eq!(restored(&workspace, &state), 0o600);
    assert_eq!(value(&dir, "again", "user.note").as_deref(), Some(&b"kept\0\xff"[..]));
    assert_eq!(value(&dir, "again", "user.empty").as_deref(), Some(&b""[..]));
    // A record of a session gives no file what zdx would not have saved.
    let mut forged = state.clone();
    let attributes = &mut forged.access.as_mut().unwrap().attributes;
    attributes.insert("trusted.x".to_owned(), "00".to_owned());
    attributes.insert("user.broken".to_owned(), "no hex".to_owned());
    restored(&workspace, &forged);
    assert_eq!((value(&dir, "again", "trusted.x"), value(&dir, "again", "user.broken")), (None, None));
}
