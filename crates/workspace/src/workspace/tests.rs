use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::replace::WrittenFile;
use super::*;

struct Place {
    _dir: tempfile::TempDir,
    outside: PathBuf,
    root: PathBuf,
    workspace: Workspace,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (root, outside) = (base.join("root"), base.join("outside"));
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::write(root.join("sub/file"), "content").unwrap();
    let workspace = Workspace::open(&root).unwrap().with_home(Some(base.clone()));
    Place { _dir: dir, outside, root, workspace }
}

fn resolved(place: &Place, named: &str) -> (PathBuf, bool, bool) {
    let target = place.workspace.resolve(named).unwrap();
    (target.path, target.inside, target.exists)
}

#[test]
fn errors_name_a_path_that_is_not_utf8_as_tools_take_it() {
    use std::os::unix::ffi::OsStrExt;
    let error = FileError::Missing(PathBuf::from(OsStr::from_bytes(b"/x/caf\xe9")));
    assert_eq!(error.to_string(), "//x/caf\\xE9 does not exist");
}

#[test]
fn bytes_that_are_no_text_are_not_replaced_by_what_stands_for_them() {
    let place = place();
    let target = place.workspace.resolve("sub/file").unwrap();
    let latin1 = [b"caf\xe9\n".repeat(2), vec![b'x'; 33 << 20]];
    for old in [latin1[0].clone(), latin1.concat()] {
        fs::write(&target.path, &old).unwrap();
        for written in [
            place.workspace.replace_locked(&target, "caf\u{fffd}\n".as_bytes()),
            place.workspace.replace(&target, "caf\u{fffd}\n".as_bytes()).map(drop),
        ] {
            assert_eq!(written.unwrap_err().code(), ToolCode::WriteError);
        }
        assert!(fs::read(&target.path).unwrap() == old);
    }
    place.workspace.replace_locked(&target, b"cafe\n").unwrap();
    place.workspace.replace_locked(&target, "caf\u{fffd}\n".as_bytes()).unwrap();
}

#[test]
fn paths_mean_what_the_kernel_takes_them_for() {
    let place = place();
    let Place { root, outside, .. } = &place;
    symlink("sub", root.join("inner")).unwrap();
    symlink(outside, root.join("outer")).unwrap();
    symlink(root.join("sub/file"), root.join("absolute")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let file = root.join("sub/file");
    for (named, path, inside, exists) in [
        ("sub/file", file.clone(), true, true),
        ("./sub//file", file.clone(), true, true),
        ("inner/file", file.clone(), true, true),
        ("absolute", file.clone(), true, true),
        ("sub/../sub/file", file.clone(), true, true),
        ("dangling", root.join("nowhere"), true, false),
        ("new/deep/file", root.join("new/deep/file"), true, false),
        ("outer/secret", outside.join("secret"), false, true),
        // Up from where the link leads, not from where it lies.
        ("outer/../root/sub/file", file.clone(), true, true),
        ("inner/../sub/file", file.clone(), true, true),
        ("../outside/secret", outside.join("secret"), false, true),
        ("~/outside/secret", outside.join("secret"), false, true),
        ("~user", root.join("~user"), true, false),
        (file.to_str().unwrap(), file.clone(), true, true),
        ("/", PathBuf::from("/"), false, true),
        (".", root.clone(), true, true),
    ] {
        assert_eq!(resolved(&place, named), (path, inside, exists), "{named}");
    }
    // A name that merely begins like the root is not inside.
    let beside = format!("{}-beside/x", root.display());
    assert!(!place.workspace.resolve(&beside).unwrap().inside);
}

#[test]
fn odd_paths_are_told_apart() {
    let place = place();
    symlink("loop", place.root.join("loop")).unwrap();
    let code = |named: &str| place.workspace.resolve(named).unwrap_err().code();
    assert_eq!(code(""), ToolCode::InvalidInput);
    assert_eq!(code("a\0b"), ToolCode::InvalidInput);
    assert_eq!(code("$HOME/x"), ToolCode::InvalidInput);
    assert_eq!(code("${TMPDIR}"), ToolCode::InvalidInput);
    for literal in ["./$HOME/x", "$lang/page.tsx", "$id.tsx", "a/$HOME", "$"] {
        assert!(place.workspace.resolve(literal).unwrap().inside, "{literal}");
    }
    assert_eq!(code("loop"), ToolCode::Eloop);
    assert_eq!(code("sub/file/below"), ToolCode::Enotdir);
    assert_eq!(code(&"x".repeat(300)), ToolCode::Enametoolong);
}

#[cfg(target_os = "linux")]
#[test]
fn only_regular_files_are_opened_and_nothing_waits() {
    let place = place();
    let fifo = place.root.join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for named in ["fifo", "sub", ".", "/dev/zero", "/"] {
        let target = place.workspace.resolve(named).unwrap();
        let error = place.workspace.open_file(&target).err().unwrap();
        assert_eq!(error.code(), ToolCode::NotRegular, "{named}");
    }
}

#[test]
fn a_write_replaces_the_entry_and_keeps_its_mode() {
    let place = place();
    let path = place.root.join("script");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    fs::hard_link(&path, place.root.join("other name")).unwrap();
    let target = place.workspace.resolve("script").unwrap();
    assert_eq!(place.workspace.replace(&target, b"new").unwrap(), WrittenFile { created: false });
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o754);
    assert_eq!(fs::read(place.root.join("other name")).unwrap(), b"old");
    assert_eq!(leftovers(&place.root), 0);
}

#[test]
fn a_new_file_gets_its_folders_and_the_usual_mode() {
    let place = place();
    let target = place.workspace.resolve("a/b/c").unwrap();
    assert_eq!(place.workspace.replace(&target, b"x").unwrap(), WrittenFile { created: true });
    fs::write(place.root.join("plain"), "").unwrap();
    let mode = |name: &str| fs::metadata(place.root.join(name)).unwrap().mode();
    assert_eq!(mode("a/b/c"), mode("plain"));
    assert_eq!(mode("a"), mode("sub"));
}

#[test]
fn a_write_through_a_link_leaves_the_link() {
    let place = place();
    symlink("sub/file", place.root.join("link")).unwrap();
    let target = place.workspace.resolve("link").unwrap();
    place.workspace.replace(&target, b"through").unwrap();
    assert!(place.root.join("link").is_symlink());
    assert_eq!(fs::read(place.root.join("sub/file")).unwrap(), b"through");
}

#[test]
fn a_failed_write_leaves_nothing() {
    let place = place();
    let target = place.workspace.resolve("sub").unwrap();
    assert_eq!(place.workspace.replace(&target, b"x").unwrap_err().code(), ToolCode::NotRegular);
    let target =
        Target { path: place.root.join("sub/file/below"), inside: true, exists: false, led_out: false };
    assert_eq!(place.workspace.replace(&target, b"x").unwrap_err().code(), ToolCode::MkdirError);
    assert_eq!(leftovers(&place.root), 0);
    assert_eq!(leftovers(&place.root.join("sub")), 0);
}

fn leftovers(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".zdx-")).count()
}

#[test]
fn a_link_swapped_in_after_the_decision_is_not_followed() {
    let place = place();
    let read = place.workspace.resolve("sub/file").unwrap();
    let write = place.workspace.resolve("sub/new").unwrap();
    fs::rename(place.root.join("sub"), place.root.join("moved")).unwrap();
    symlink(&place.outside, place.root.join("sub")).unwrap();
    fs::write(place.outside.join("file"), "outside").unwrap();
    assert_eq!(place.workspace.open_file(&read).err().unwrap().code(), ToolCode::SymlinkEscape);
    assert_eq!(place.workspace.replace(&write, b"x").unwrap_err().code(), ToolCode::SymlinkEscape);
    assert!(!place.outside.join("new").exists());

    let last = place.workspace.resolve("moved/file").unwrap();
    fs::remove_file(place.root.join("moved/file")).unwrap();
    symlink(place.outside.join("secret"), place.root.join("moved/file")).unwrap();
    assert_eq!(place.workspace.open_file(&last).err().unwrap().code(), ToolCode::SymlinkEscape);
    assert_eq!(place.workspace.replace(&last, b"x").unwrap_err().code(), ToolCode::SymlinkEscape);
    assert_eq!(fs::read(place.outside.join("secret")).unwrap(), b"secret");
}

/// A folder and a link to the outside change places all the time; whatever is judged inside must be read and written
/// inside. `ZDX_STRESS` makes it as many rounds as that.
#[cfg(target_os = "linux")]
#[test]
fn no_race_escapes() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let rounds = std::env::var("ZDX_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(500);
    let place = place();
    fs::write(place.outside.join("file"), "outside").unwrap();
    let (folder, link) = (place.root.join("sub"), place.root.join("link"));
    symlink(&place.outside, &link).unwrap();
    let done = AtomicBool::new(false);
    let (mut inside, mut stopped, mut wrong) = (0, 0, None);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        let mut round = 0;
        while wrong.is_none()
            && (round < rounds || (inside == 0 || stopped == 0) && std::time::Instant::now() < deadline)
        {
            round += 1;
            let Ok(target) = place.workspace.resolve("sub/file") else { continue };
            if !target.inside {
                continue;
            }
            match place.workspace.read_file(&target, 100) {
                Ok(content) if content == b"content" => inside += 1,
                Err(FileError::Escape(_)) => stopped += 1,
                other => wrong = Some(format!("read: {other:?}")),
            }
            match place.workspace.replace(&target, b"content") {
                Ok(_) => inside += 1,
                Err(FileError::Escape(_)) => stopped += 1,
                Err(other) => wrong = Some(format!("write: {other}")),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, None);
    assert_eq!(fs::read(place.outside.join("file")).unwrap(), b"outside");
    assert_eq!(leftovers(&place.outside), 0);
    assert!(inside > 0 && stopped > 0, "no race: {inside} inside, {stopped} stopped");
}

#[test]
fn near_names_are_those_a_person_would_mean() {
    let place = place();
    for name in ["README.md", "main.rs", "unrelated"] {
        fs::write(place.root.join(name), "").unwrap();
    }
    assert_eq!(near_names(&place.root.join("readme.md")), ["README.md"]);
    assert_eq!(near_names(&place.root.join("mian.rs")), ["main.rs"]);
    assert_eq!(near_names(&place.root.join("qqqqqq")), [""; 0]);
}

/// Whoever only asks what a call would be resolves as a session does, and touches nothing.
#[test]
fn a_workspace_that_is_seen_resolves_and_opens_nothing() {
    let place = place();
    symlink(&place.outside, place.root.join("outer")).unwrap();
    let seen =
        Workspace::seen(&place.root, Arc::new(zdx_guard::Disk)).with_home(place.workspace.home.clone());
    for named in ["sub/file", "sub/../new", "outer/secret", "../outside/new", "~/x", "outer/../root/sub"] {
        assert_eq!(seen.resolve(named).unwrap(), place.workspace.resolve(named).unwrap(), "{named}");
    }
    let target = seen.resolve("sub/file").unwrap();
    assert_eq!(seen.read_file(&target, 100).unwrap_err().code(), ToolCode::Eio);
    assert!(seen.replace(&target, b"other").is_err() && !seen.is_in_place());
    assert_eq!(fs::read(place.root.join("sub/file")).unwrap(), b"content");

    let mut view = zdx_guard::MapView::default();
    view.insert("/w/link", FileEntry::Link("/etc/x".into()));
    let seen = Workspace::seen(Path::new("/w"), Arc::new(view));
    let target = seen.resolve("link").unwrap();
    assert_eq!((target.path, target.inside, target.exists), (PathBuf::from("/etc/x"), false, false));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the file system takes UTF-8 names only")]
fn names_that_are_not_utf8_are_found_by_their_escapes_and_never_hide_a_literal_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    let bytes = |name: &[u8]| workspace.root().join(OsStr::from_bytes(name));
    fs::create_dir(bytes(b"d\xff")).unwrap();
    let path = |named: &str| workspace.resolve(named).unwrap().path;
    assert_eq!(path(r"d\xFF"), bytes(b"d\xff"));
    assert_eq!(path(r"d\xff/new/file"), bytes(b"d\xff/new/file"), "below a folder that exists");
    assert_eq!(path(r"d\xFE"), bytes(br"d\xFE"), "nothing there is called so");
    assert_eq!(path(r".//d\xFE"), bytes(b"d\xfe"), "the mark says that it is escaped");
    fs::create_dir(bytes(br"d\xFF")).unwrap();
    assert_eq!(path(r"d\xFF"), bytes(br"d\xFF"), "the name as it stands comes first");
    assert_eq!(path(r"../x\xFF"), workspace.root().parent().unwrap().join(r"x\xFF"));
}
