//! Owner, extended attributes and permissions of a file, given to what takes its place. Where not all of them can be kept,
//! the new file permits less than the old one did, never more.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::fs::{fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use zdx_protocol::{FileAccess, FileState};

/// An access list; where there is one, the group bits of the mode are its mask.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// Attributes besides that one. What says something of the content (`security.ima`) must not go on to another.
const KEPT: [&str; 3] = ["user.", "security.capability", "security.selinux"];
/// Attributes that are saved with a change. The label of SELinux is not: a file that is made anew gets that of its place.
const SAVED: [&str; 2] = ["user.", "security.capability"];
/// Bytes of attributes that are saved with a change; what is longer is no note about a file.
const MOST_SAVED: usize = 16 * 1024;
/// The kernel allows no more for a value, and for the list of names.
const LARGEST: usize = 64 * 1024;

const ALL: u32 = 0o7777;
const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;
const GROUP: u32 = 0o070;
const OTHERS: u32 = 0o007;

/// Gives `new` what `old` has, but for its mode. Returns the mode bits that `new` may have without permitting more than
/// `old` does; they must be set after this, as setting an access list changes the mode.
pub(super) fn copy(old: impl AsFd, found: &Stat, new: &File) -> rustix::io::Result<u32> {
    let mut allowed = own(found, new)?;
    for name in names(&old).into_iter().filter(|name| KEPT.iter().any(|kept| name.starts_with(kept))) {
        if let Ok(Some(value)) = get(&old, &name) {
            // One that cannot be kept is no reason not to write.
            let _ = fsetxattr(new, &*name, &value, XattrFlags::empty());
        }
    }
    let list = get(&old, ACCESS_LIST);
    match &list {
        Ok(Some(list)) if fsetxattr(new, ACCESS_LIST, list, XattrFlags::empty()).is_ok() => {}
        Ok(Some(list)) => allowed &= without_inherited(new) & without_list(list).unwrap_or(!(GROUP | OTHERS)),
        Ok(None) => allowed &= without_inherited(new),
        Err(_) => allowed &= without_inherited(new) & !(GROUP | OTHERS),
    }
    Ok(allowed)
}

/// Owner, access list and attributes of a file, where they are not what any new file has.
pub(super) fn access(file: impl AsFd) -> Option<FileAccess> {
    let found = fstat(&file).ok()?;
    let acl = get(&file, ACCESS_LIST).ok()?.map(|list| to_hex(&list));
    let attributes = saved_attributes(&file);
    let is_ours = found.st_uid == geteuid().as_raw() && found.st_gid == getegid().as_raw();
    let is_plain = acl.is_none() && attributes.is_empty() && found.st_mode & (SET_USER | SET_GROUP) == 0;
    (!is_ours || !is_plain).then_some(FileAccess { uid: found.st_uid, gid: found.st_gid, acl, attributes })
}

fn saved_attributes(file: impl AsFd) -> BTreeMap<String, String> {
    let mut left = MOST_SAVED;
    let mut saved = BTreeMap::new();
    for name in names(&file).into_iter().filter(|name| SAVED.iter().any(|saved| name.starts_with(saved))) {
        let Ok(Some(value)) = get(&file, &name) else { continue };
        if let Some(rest) = left.checked_sub(name.len() + value.len()) {
            left = rest;
            saved.insert(name, to_hex(&value));
        }
    }
    saved
}

/// Gives a new file what an earlier state had, content aside, as far as that is allowed. Returns its mode.
pub(super) fn restore(new: &File, state: &FileState) -> rustix::io::Result<u32> {
    let mut allowed = ALL;
    match &state.access {
        Some(access) => {
            let mut found = fstat(new)?;
            (found.st_uid, found.st_gid, found.st_mode) = (access.uid, access.gid, state.mode);
            allowed &= own(&found, new)?;
        }
        // An earlier version did not save whose these bits are for.
        None => allowed &= !(SET_USER | SET_GROUP),
    }
    for (name, value) in state.access.iter().flat_map(|access| &access.attributes) {
        let is_saved = SAVED.iter().any(|saved| name.starts_with(saved));
        if let Some(value) = from_hex(value).filter(|_| is_saved) {
            // One that cannot be given back is no reason to leave the file out.
            let _ = fsetxattr(new, name, &value, XattrFlags::empty());
        }
    }
    let acl = state.access.as_ref().and_then(|access| access.acl.as_deref());
    match acl.map(|acl| from_hex(acl).unwrap_or_default()) {
        // To set an empty one would take away the list that there is.
        Some(list) if !list.is_empty() && fsetxattr(new, ACCESS_LIST, &list, XattrFlags::empty()).is_ok() => {
        }
        Some(list) => allowed &= without_inherited(new) & without_list(&list).unwrap_or(!(GROUP | OTHERS)),
        None => allowed &= without_inherited(new),
    }
    fchmod(new, Mode::from_raw_mode(state.mode & allowed))?;
    Ok(fstat(new)?.st_mode)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2).map(std::str::from_utf8);
    pairs.map(|pair| u8::from_str_radix(pair.ok()?, 16).ok()).collect()
}

/// Owner and group as they were, as far as that is allowed.
fn own(found: &Stat, new: &File) -> rustix::io::Result<u32> {
    let (owner, group) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
    if fchown(new, Some(owner), Some(group)).is_err() {
        let _ = fchown(new, None, Some(group));
    }
    Ok(allowed_to(found, &fstat(new)?))
}

/// The bits that permit nobody more where owner or group are others now.
fn allowed_to(found: &Stat, now: &Stat) -> u32 {
    let mut allowed = ALL;
    if now.st_uid != found.st_uid {
        allowed &= !SET_USER;
    }
    if now.st_gid != found.st_gid {
        // Who is in the new group was one of the others.
        allowed &= !SET_GROUP & (!GROUP | (found.st_mode & OTHERS) << 3);
    }
    allowed
}

/// Takes away the access list that a folder gives to new files.
fn without_inherited(new: &File) -> u32 {
    match fremovexattr(new, ACCESS_LIST) {
        Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => ALL,
        // Its mask keeps everybody out whom it names.
        Err(_) => !GROUP,
    }
}

/// The bits that permit nobody more than this access list does, when there is none any more; None for no such list.
fn without_list(list: &[u8]) -> Option<u32> {
    const VERSION: [u8; 4] = 2u32.to_le_bytes();
    const USER: u16 = 0x02;
    const OWNING_GROUP: u16 = 0x04;
    const NAMED_GROUP: u16 = 0x08;
    const MASK: u16 = 0x10;
    let (mut named, mut group, mut mask) = (7, 7, 7);
    for entry in list.strip_prefix(&VERSION)?.chunks(8) {
        let [tag0, tag1, permissions, ..] = *entry else { return None };
        let permissions = u32::from(permissions);
        match u16::from_le_bytes([tag0, tag1]) {
            USER | NAMED_GROUP => named &= permissions,
            OWNING_GROUP => group = permissions,
            MASK => mask = permissions,
            _ => {}
        }
    }
    // Whoever is named falls among the group or the others.
    let others = if named == 7 { 7 } else { named & mask };
    Some(!(GROUP | OTHERS) | (group & mask & others) << 3 | others)
}

fn names(file: impl AsFd) -> Vec<String> {
    let mut names = vec![0; LARGEST];
    let length = flistxattr(file, &mut names[..]).unwrap_or_default();
    let names = names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect()
}

fn get(file: impl AsFd, name: &str) -> rustix::io::Result<Option<Vec<u8>>> {
    let mut value = vec![0; LARGEST];
    match fgetxattr(file, name, &mut value[..]) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::workspace::{StagedFile, Workspace};

    /// Entries of tag, permissions and id, as the kernel reads them.
    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |(tag, permissions, id): &(u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
    }

    const NOBODY: u32 = u32::MAX;

    fn place() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        (dir, workspace)
    }

    fn restored(workspace: &Workspace, state: &FileState) -> u32 {
        let target = workspace.resolve("again").unwrap();
        let _ = std::fs::remove_file(&target.path);
        let target = workspace.resolve("again").unwrap();
        workspace.stage_state(&target, b"x", state).and_then(StagedFile::commit).unwrap();
        std::fs::metadata(&target.path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_file_that_is_made_anew_runs_as_nobody_else_than_before() {
        let (dir, workspace) = place();
        std::fs::write(dir.path().join("f"), "x").unwrap();
        let set_mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(dir.path().join("f"), permissions).unwrap();
        };
        let target = workspace.resolve("f").unwrap();
        set_mode(0o644);
        assert_eq!(workspace.access(&target), None);
        set_mode(0o6755);
        let access = workspace.access(&target);
        let known = FileState { sha256: None, mode: 0o6755, access };
        assert_eq!(restored(&workspace, &known), 0o6755);
        let earlier = FileState { access: None, ..known.clone() };
        assert_eq!(restored(&workspace, &earlier), 0o755, "whose it was nobody saved");
        let mut other = known.access.clone().unwrap();
        (other.uid, other.gid) = (other.uid + 1, other.gid + 1);
        let theirs = restored(&workspace, &FileState { access: Some(other.clone()), ..known });
        let now = workspace.access(&workspace.resolve("again").unwrap());
        match now == Some(other) {
            true => assert_eq!(theirs, 0o6755),
            false => assert_eq!(theirs, 0o755),
        }
    }

    #[test]
    fn without_its_access_list_a_file_permits_nobody_more() {
        let bits = |entries: &[(u16, u16, u32)]| without_list(&list(entries)).map(|bits| bits & 0o777);
        let base = [(1, 6, NOBODY), (4, 4, NOBODY), (16, 6, NOBODY), (32, 4, NOBODY)];
        assert_eq!(bits(&base), Some(0o747), "the group is no longer its mask");
        assert_eq!(bits(&[&base[..], &[(2, 6, 7)]].concat()), Some(0o746));
        assert_eq!(bits(&[&base[..], &[(2, 0, 7)]].concat()), Some(0o700), "somebody who is kept out");
        assert_eq!(bits(&[&base[..], &[(8, 5, 7)]].concat()), Some(0o744));
        assert_eq!(without_list(b"\x02\0\0"), None);
        assert_eq!(without_list(b"\x02\0\0\0\x01"), None);
    }

    #[test]
    fn a_group_that_cannot_be_kept_leaves_no_more_than_others_had() {
        let now = fstat(tempfile::tempfile().unwrap()).unwrap();
        let mut found = now;
        found.st_mode = 0o106664;
        assert_eq!(allowed_to(&found, &now), ALL);
        found.st_gid += 1;
        assert_eq!(found.st_mode & ALL & allowed_to(&found, &now), 0o4644);
        (found.st_uid, found.st_gid) = (found.st_uid + 1, now.st_gid);
        assert_eq!(found.st_mode & ALL & allowed_to(&found, &now), 0o2664);
    }
}
