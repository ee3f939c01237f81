use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use zdx_acp::{RpcError, code};

use super::super::{HostEvent, Reach};
use super::{Place, text};

async fn read(place: &Place, path: impl AsRef<Path>) -> Result<String, RpcError> {
    let answer = place.ask("fs/read_text_file", json!({"sessionId": "s", "path": path.as_ref()})).await?;
    Ok(answer["content"].as_str().unwrap().to_owned())
}

async fn write(place: &Place, path: impl AsRef<Path>) -> Result<Value, RpcError> {
    let params = json!({"sessionId": "s", "path": path.as_ref(), "content": "new\n"});
    place.ask("fs/write_text_file", params).await
}

const ALL: [Reach; 3] = [Reach::Default, Reach::Write, Reach::Yolo];

#[tokio::test]
async fn the_table_decides_about_files() {
    for reach in ALL {
        let mut place = Place::new(reach);
        let (inside, outside) = (place.write("a.txt", "in\n"), place.outside.join("secret.txt"));
        assert_eq!(read(&place, &inside).await.unwrap(), "in\n");
        assert_eq!(read(&place, &outside).await.is_ok(), reach == Reach::Yolo, "{reach:?}");
        assert_eq!(write(&place, &inside).await.is_ok(), reach != Reach::Default, "{reach:?}");
        assert_eq!(write(&place, &outside).await.unwrap_err().code, code::INVALID_REQUEST);
        assert_eq!(text(&outside), "secret\n");
        assert_eq!(text(&inside), if reach == Reach::Default { "in\n" } else { "new\n" });
        let refused = place.told().into_iter().filter(|event| {
            matches!(event, HostEvent::Permission { allowed: false, what } if what.contains(".txt: "))
        });
        assert_eq!(
            refused.count(),
            if reach == Reach::Default { 3 } else { 2 - usize::from(reach == Reach::Yolo) }
        );
    }
}

#[tokio::test]
async fn what_steers_programs_or_agents_is_not_written_whatever_the_flags() {
    let place = Place::new(Reach::Yolo);
    for name in [".git/config", ".zdx/config.toml", ".envrc", "AGENTS.md", "sub/.vscode/tasks.json"] {
        let refused = write(&place, place.root.join(name)).await.unwrap_err();
        assert_eq!(refused.code, code::INVALID_REQUEST, "{name}");
        assert!(!place.root.join(name).exists());
    }
    let refused = read(&place, "/etc/shadow").await.unwrap_err();
    assert!(refused.message.starts_with("not allowed: "), "{refused}");
}

#[tokio::test]
async fn no_name_leads_out() {
    let place = Place::new(Reach::Write);
    symlink(&place.outside, place.root.join("door")).unwrap();
    symlink(place.outside.join("secret.txt"), place.root.join("link.txt")).unwrap();
    symlink(place.outside.join("unborn.txt"), place.root.join("unborn.txt")).unwrap();
    let ways = ["door/secret.txt", "link.txt", "../outside/secret.txt", "sub/../../outside/secret.txt"];
    for way in ways.map(|way| place.root.join(way)) {
        assert_eq!(read(&place, &way).await.unwrap_err().code, code::INVALID_REQUEST, "{}", way.display());
        assert_eq!(write(&place, &way).await.unwrap_err().code, code::INVALID_REQUEST, "{}", way.display());
    }
    assert!(write(&place, place.root.join("unborn.txt")).await.is_err());
    assert_eq!(text(&place.outside.join("secret.txt")), "secret\n");
    assert!(!place.outside.join("unborn.txt").exists());
    // What stays inside may go through a link, and a relative path is one of the workspace.
    place.write("real/a.txt", "in\n");
    symlink("real", place.root.join("alias")).unwrap();
    assert_eq!(read(&place, "alias/a.txt").await.unwrap(), "in\n");
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_lets_nothing_out() {
    let place = Place::new(Reach::Write);
    place.write("way/secret.txt", "ours\n");
    let (root, outside, stop) = (place.root.clone(), place.outside.clone(), Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop);
    let swaps = std::thread::spawn(move || {
        let (way, aside) = (root.join("way"), root.join("aside"));
        while !stopped.load(Ordering::Relaxed) {
            let _ = std::fs::rename(&way, &aside);
            let _ = symlink(&outside, &way);
            let _ = std::fs::remove_file(&way);
            let _ = std::fs::rename(&aside, &way);
        }
    });
    for _ in 0..300 {
        if let Ok(content) = read(&place, "way/secret.txt").await {
            assert_ne!(content, "secret\n");
        }
        let _ = write(&place, "way/secret.txt").await;
    }
    stop.store(true, Ordering::Relaxed);
    swaps.join().unwrap();
    assert_eq!(text(&place.outside.join("secret.txt")), "secret\n");
    // Once it is quiet, it is served as ever.
    write(&place, "way/secret.txt").await.unwrap();
    assert_eq!(read(&place, "way/secret.txt").await.unwrap(), "new\n");
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_and_nothing_hangs() {
    let place = Place::new(Reach::Yolo);
    let pipe = place.root.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    std::fs::create_dir(place.root.join("folder")).unwrap();
    for path in [pipe.as_path(), &place.root.join("folder"), Path::new("/dev/zero"), Path::new("/dev/tty")] {
        let refused = read(&place, path).await.unwrap_err();
        assert!(refused.message.contains("not a regular file"), "{refused}");
        assert!(write(&place, path).await.is_err());
    }
    for path in ["", "a\0b"] {
        assert_eq!(read(&place, path).await.unwrap_err().code, code::INVALID_PARAMS);
    }
    for params in [json!(null), json!({}), json!({"path": 7}), json!({"path": "a", "line": "x"})] {
        let refused = place.ask("fs/read_text_file", params).await.unwrap_err();
        assert_eq!(refused.code, code::INVALID_PARAMS);
    }
    let params = json!({"path": "a", "content": null});
    assert_eq!(place.ask("fs/write_text_file", params).await.unwrap_err().code, code::INVALID_PARAMS);
}

#[tokio::test]
async fn a_missing_file_is_told_as_agents_know_it() {
    let place = Place::new(Reach::Default);
    let path = place.root.join("none.txt");
    let missing = read(&place, &path).await.unwrap_err();
    assert_eq!(missing.code, code::NOT_FOUND);
    assert_eq!(missing.message, format!("Resource not found: {}", path.display()));
}

#[tokio::test]
async fn lines_are_counted_from_one() {
    let place = Place::new(Reach::Default);
    place.write("a.txt", "one\r\ntwo\nthree");
    for (line, limit, content) in [
        (json!(null), json!(null), "one\r\ntwo\nthree"),
        (json!(1), json!(1), "one\r\n"),
        (json!(2), json!(null), "two\nthree"),
        (json!(2), json!(1), "two\n"),
        (json!(3), json!(9), "three"),
        (json!(0), json!(2), "one\r\ntwo\n"),
        (json!(1), json!(0), ""),
        (json!(4), json!(null), ""),
        (json!(u64::MAX), json!(u64::MAX), ""),
    ] {
        let params = json!({"path": place.root.join("a.txt"), "line": line, "limit": limit});
        let answer = place.ask("fs/read_text_file", params).await.unwrap();
        assert_eq!(answer, json!({"content": content}), "{line} {limit}");
    }
}

#[tokio::test]
async fn a_file_comes_whole_or_not_at_all() {
    let place = Place::new(Reach::Default);
    let large = place.write("large.txt", "line\n".repeat(2_000_000));
    let refused = read(&place, &large).await.unwrap_err();
    assert!(refused.message.contains("`line` and `limit`"), "{refused}");
    let params = json!({"path": large, "line": 1_999_999, "limit": 2});
    assert_eq!(place.ask("fs/read_text_file", params).await.unwrap(), json!({"content": "line\nline\n"}));
    for content in [b"a\xff\n".as_slice(), b"a\0b\n"] {
        let refused = read(&place, place.write("binary", content)).await.unwrap_err();
        assert!(refused.message.ends_with("is no text file"), "{refused}");
    }
}

#[tokio::test]
async fn writing_makes_folders_and_keeps_what_a_file_may_do() {
    let place = Place::new(Reach::Write);
    assert_eq!(write(&place, place.root.join("new/deep/a.txt")).await.unwrap(), json!({}));
    assert_eq!(text(&place.root.join("new/deep/a.txt")), "new\n");
    let script = place.write("run.sh", "old\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
    write(&place, &script).await.unwrap();
    assert_eq!(text(&script), "new\n");
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let left = std::fs::read_dir(&place.root).unwrap().flatten();
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp")).count(), 0);
}
