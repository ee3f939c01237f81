use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::library::testing::LibraryFixture;
use crate::paths::Environment;

/// Relative to the desk.
fn gathered(desk: &LibraryFixture, kind: LibraryKind) -> (Vec<String>, Vec<String>) {
    let GatheredFiles { found, notices } = desk.places().gather(kind, &[]);
    let short = |found: &LibraryFile| {
        found.document.path.strip_prefix(desk.path("")).unwrap().to_str().unwrap().to_owned()
    };
    (found.iter().map(short).collect(), notices)
}

#[test]
fn the_project_beats_home_and_ours_beats_foreign() {
    let desk = LibraryFixture::with(&[]);
    let short = |place: &LibraryFolder| {
        let dir = place.dir.strip_prefix(desk.path("")).unwrap().to_str().unwrap().to_owned();
        (dir, place.scope)
    };
    let listed: Vec<(String, LibraryScope)> = desk.places().iter().map(short).collect();
    let project = FOLDERS.map(|name| (format!("root/{name}"), LibraryScope::Project { trusted: false }));
    let home = FOLDERS.map(|name| (format!("home/{name}"), LibraryScope::User));
    let base = [("home/.config/zdx".to_owned(), LibraryScope::User)];
    assert_eq!(listed, [&project[..], &base, &home].concat());
}

#[test]
fn who_works_in_his_home_has_no_project_there() {
    let desk = LibraryFixture::with(&[]);
    let env = Environment::from_pairs([("HOME", desk.path("home")), ("ZDX_HOME", desk.path("own"))]);
    let places = LibraryFolders::new(&desk.path("home"), &AppPaths::from_env(&env).unwrap());
    assert!(places.iter().all(|place| place.scope == LibraryScope::User));
    assert_eq!(places.iter().next().unwrap().dir, desk.path("own"));
}

#[test]
fn files_come_by_place_then_by_path() {
    let desk = LibraryFixture::with(&[]);
    for name in [
        "home/.zdx/agents/h.md",
        "home/.config/zdx/agents/own.md",
        "root/.claude/agents/c.md",
        "root/.opencode/agent/o.md",
        "root/.zdx/agents/b.md",
        "root/.zdx/agents/a.md",
        "root/.zdx/agents/README.md",
        "root/.zdx/agents/.x.md",
        "root/.zdx/agents/x.txt",
        "root/.zdx/agents/deep/d.md",
    ] {
        desk.write(name, "text");
    }
    let expected = [
        "root/.zdx/agents/a.md",
        "root/.zdx/agents/b.md",
        "root/.claude/agents/c.md",
        "root/.opencode/agent/o.md",
        "home/.config/zdx/agents/own.md",
        "home/.zdx/agents/h.md",
    ];
    assert_eq!(gathered(&desk, LibraryKind::Agents), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn the_walk_is_bounded_in_depth_and_skips_what_is_no_ones_words() {
    let desk = LibraryFixture::with(&[]);
    desk.write("root/.zdx/skills/1/2/3/4/5/6/SKILL.md", "deep");
    desk.write("root/.zdx/skills/1/2/3/4/5/6/7/SKILL.md", "too deep");
    desk.write("root/.zdx/skills/node_modules/x/SKILL.md", "");
    desk.write("root/.zdx/skills/.git/x/SKILL.md", "");
    desk.write("root/.zdx/skills/x/skill.md", "wrong name");
    assert_eq!(gathered(&desk, LibraryKind::Skills).0, ["root/.zdx/skills/1/2/3/4/5/6/SKILL.md"]);
}

#[test]
fn links_count_once_and_never_lead_out() {
    let desk = LibraryFixture::with(&[]);
    desk.write("root/.claude/skills/a/SKILL.md", "a");
    desk.write("elsewhere/SKILL.md", "secret");
    desk.write("elsewhere/x.md", "secret");
    let agents = desk.path("root/.agents");
    fs::create_dir_all(agents.join("skills")).unwrap();
    symlink("../../.claude/skills/a", agents.join("skills/same")).unwrap();
    symlink("..", agents.join("skills/loop")).unwrap();
    symlink("../../../elsewhere", agents.join("skills/out")).unwrap();
    symlink("nowhere", agents.join("skills/dangling")).unwrap();
    fs::create_dir_all(desk.path("root/.zdx/commands")).unwrap();
    symlink("../../../elsewhere/x.md", desk.path("root/.zdx/commands/x.md")).unwrap();
    symlink("../elsewhere", desk.path("root/.eidolon")).unwrap();
    let (found, notices) = gathered(&desk, LibraryKind::Skills);
    assert_eq!(found, ["root/.agents/skills/same/SKILL.md"], "reached twice, read once");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("skills/out is left out: it is a link that leads out of"), "{notices:?}");
    let (found, notices) = gathered(&desk, LibraryKind::Commands);
    assert_eq!(found, [] as [&str; 0]);
    assert!(notices[0].contains("commands/x.md is left out"), "{notices:?}");
}

#[test]
fn a_whole_place_that_is_a_link_out_is_left_out() {
    let desk = LibraryFixture::with(&[]);
    desk.write("elsewhere/agents/x.md", "x");
    symlink("../elsewhere", desk.path("root/.claude")).unwrap();
    let (found, notices) = gathered(&desk, LibraryKind::Agents);
    assert_eq!((found.len(), notices.len()), (0, 1), "{notices:?}");
}

#[test]
fn files_that_cannot_be_used_cost_a_notice_each() {
    let desk = LibraryFixture::with(&[]);
    desk.write("root/.zdx/commands/a.md", "fine");
    desk.write("root/.zdx/commands/bin.md", "a\0b");
    desk.write("root/.zdx/commands/huge.md", &"x".repeat(256 * 1024 + 1));
    let pipe = desk.path("root/.zdx/commands/pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (found, notices) = gathered(&desk, LibraryKind::Commands);
    assert_eq!(found, ["root/.zdx/commands/a.md"]);
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(notices.iter().all(|notice| notice.contains("/commands/") && notice.ends_with("it is left out")));
}

#[test]
fn too_many_folders_and_files_end_with_a_notice() {
    let desk = LibraryFixture::with(&[]);
    for n in 0..MOST_FILES + 1 {
        desk.write(&format!("root/.zdx/commands/{n:04}.md"), "x");
    }
    let (found, notices) = gathered(&desk, LibraryKind::Commands);
    assert_eq!((found.len(), notices.len()), (MOST_FILES, 1));
    assert!(notices[0].contains("1000.md and what follows is left out"), "{notices:?}");
    for n in 0..MOST_DIRS {
        fs::create_dir_all(desk.path(&format!("root/.zdx/skills/{n:04}"))).unwrap();
    }
    desk.write("root/.zdx/skills/0000/SKILL.md", "first");
    desk.write("root/.zdx/skills/1999/SKILL.md", "beyond");
    let (found, notices) = gathered(&desk, LibraryKind::Skills);
    assert_eq!(found, ["root/.zdx/skills/0000/SKILL.md"]);
    assert!(notices[0].contains("more than 2000 folders"), "{notices:?}");
}

#[test]
fn out_of_patience_what_was_found_counts() {
    let (sender, receiver) = mpsc::sync_channel(2);
    let document = MarkdownDocument::parse(Path::new("a.md"), "x");
    let found = LibraryFile {
        document,
        scope: LibraryScope::User,
        base: PathBuf::new(),
        confined_to: PathBuf::new(),
    };
    sender.send(SearchMessage::Found(Box::new(found))).unwrap();
    // The walk still holds its end, and never says another word.
    let GatheredFiles { found, notices } = collect(&receiver, LibraryKind::Agents, Duration::from_millis(10));
    assert_eq!(found.len(), 1);
    assert_eq!(notices, ["looking for agents took longer than 0.01 s; some may be missing"]);
    drop(sender);
    assert_eq!(collect(&receiver, LibraryKind::Agents, Duration::from_millis(10)).notices, [] as [&str; 0]);
}

#[test]
fn a_named_folder_is_relative_to_the_root_or_home_and_must_exist() {
    let desk = LibraryFixture::with(&[]);
    let places = desk.places();
    assert_eq!(places.named("x"), desk.path("root/x"));
    assert_eq!(places.named("~/x"), desk.path("home/x"));
    assert_eq!(places.named("/x"), Path::new("/x"));
    let GatheredFiles { notices, .. } = places.gather(LibraryKind::Skills, &[desk.path("none")]);
    assert!(notices[0].contains("there is no such folder"), "{notices:?}");
    assert!(places.is_wide(&desk.path("home")) && places.is_wide(Path::new("/")));
    assert!(!places.is_wide(&desk.path("home/.zdx/skills/a")));
}
