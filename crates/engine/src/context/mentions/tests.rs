use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use zdx_protocol::mentions::{self, MentionAuthor, TypedInput, mentions_in};
use zdx_workspace::{ContentStore, Workspace};

use super::attach::{Attached, attach};

struct Desk {
    _dir: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
    workspace: Workspace,
    images: ContentStore,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, home) = (base.join("root"), base.join("home"));
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
        fs::write(root.join("a b.txt"), "spaced").unwrap();
        fs::write(home.join("notes.md"), "mine").unwrap();
        fs::write(base.join("outside.txt"), "secret").unwrap();
        let workspace = Workspace::open(&root).unwrap().with_home(Some(home.clone()));
        Self { _dir: dir, root, home, workspace, images: ContentStore::new(None, 100) }
    }

    fn attach(&self, text: &str) -> Attached {
        attach(&mentions_in(text), &self.workspace, &self.images)
    }

    fn texts(&self, text: &str) -> Vec<String> {
        let attached = self.attach(text);
        assert_eq!(attached.notices, [] as [&str; 0], "{text}");
        attached.attachments.into_iter().map(|one| one.content.text().into_owned()).collect()
    }

    /// Nothing is attached, and the one notice says why.
    fn refused(&self, text: &str) -> String {
        let attached = self.attach(text);
        assert_eq!(attached.attachments, [], "{text}");
        assert_eq!(attached.notices.len(), 1, "{text}: {:?}", attached.notices);
        attached.notices[0].clone()
    }
}

#[test]
fn a_decorator_is_text_because_no_such_file_exists() {
    let desk = Desk::new();
    for text in ["@property\ndef x(self): pass", "@Override", "@types/node", "@\"verbatim\""] {
        assert_eq!(desk.attach(text), Attached::default(), "{text}");
    }
}

#[test]
fn files_come_with_their_names_as_typed_and_once() {
    let desk = Desk::new();
    let main = "@file:src/main.rs\nfn main() {}\n";
    assert_eq!(desk.texts("@src/main.rs and @file:src/main.rs, @./src/main.rs"), [main]);
    assert_eq!(desk.texts("(see @src/main.rs)."), [main]);
    assert_eq!(desk.texts("@file:src/main.rs?"), [main]);
    assert_eq!(desk.texts("解释@src/main.rs的内容"), [main]);
    assert_eq!(desk.texts(r#"@"a b.txt""#), ["@file:a b.txt\nspaced"]);
    assert_eq!(desk.attach("@src/main.rs,").attachments[0].label, "src/main.rs");
}

#[test]
fn a_named_file_that_is_missing_is_reported() {
    let desk = Desk::new();
    assert!(desk.refused("@file:src/nope.rs.").starts_with("@src/nope.rs: there is no such file"));
    assert!(desk.refused("@file:src/main.rs/x").contains("no such file"));
}

#[test]
fn a_relative_mention_never_leaves_the_root() {
    let desk = Desk::new();
    symlink(desk.root.join("../outside.txt"), desk.root.join("link")).unwrap();
    symlink(desk.root.join("loop"), desk.root.join("loop")).unwrap();
    for text in ["@../outside.txt", "@src/../../outside.txt", "@link", "@file:../outside.txt", "@../"] {
        assert!(desk.refused(text).contains("leaves the project"), "{text}");
    }
    assert_eq!(desk.attach("@loop"), Attached::default());
    assert!(desk.refused("@file:loop").contains("no such file"));
}

#[test]
fn what_the_user_types_in_full_is_honoured_with_a_word() {
    let desk = Desk::new();
    let notes = desk.home.join("notes.md");
    for text in
        ["@~/notes.md".to_owned(), format!("@{}", notes.display()), format!("@file:{}", notes.display())]
    {
        let attached = desk.attach(&text);
        assert_eq!(attached.attachments.len(), 1, "{text}");
        assert!(attached.attachments[0].content.text().ends_with("\nmine"));
        assert_eq!(attached.notices, [format!("attached {}, which is outside the project", notes.display())]);
    }
    // Inside, an absolute path is nothing special.
    let inside = format!("@{}", desk.root.join("src/main.rs").display());
    assert_eq!(desk.texts(&inside).len(), 1);
}

#[test]
fn a_projects_file_may_not_name_what_is_outside() {
    let desk = Desk::new();
    let mut mentions = mentions_in("@~/notes.md @src/main.rs");
    for mention in &mut mentions {
        mention.author = MentionAuthor::File;
    }
    let attached = attach(&mentions, &desk.workspace, &desk.images);
    assert_eq!(attached.attachments.len(), 1);
    assert_eq!(attached.attachments[0].label, "src/main.rs");
    assert!(attached.notices[0].contains("not you"), "{:?}", attached.notices);
}

#[test]
fn folders_are_listed_sorted_and_bounded() {
    let desk = Desk::new();
    fs::create_dir(desk.root.join("src/sub")).unwrap();
    fs::create_dir(desk.root.join("empty")).unwrap();
    assert_eq!(desk.texts("@src/"), ["@file:src/\nmain.rs\nsub/"]);
    assert_eq!(desk.texts("@empty"), ["@file:empty\n[empty folder]"]);
    assert_eq!(desk.texts("@./"), ["@file:./\na b.txt\nempty/\nsrc/"]);
    let many = desk.root.join("many");
    fs::create_dir(&many).unwrap();
    (0..250).for_each(|n| fs::write(many.join(format!("{n:03}")), "").unwrap());
    let [listing] = desk.texts("@many").try_into().unwrap();
    assert!(listing.ends_with("199\n[cut: 50 more entries]"), "{listing}");
}

#[test]
fn what_is_no_text_is_refused_without_waiting() {
    let desk = Desk::new();
    fs::write(desk.root.join("image.png"), b"\x89PNG\0\0").unwrap();
    assert!(desk.refused("@image.png").contains("not a text file"));
    let pipe = desk.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(desk.refused("@pipe").contains("named pipe"));
    assert!(desk.refused("@/dev/null").contains("a device"));
    fs::write(desk.root.join("latin1"), b"caf\xe9").unwrap();
    let texts = desk.texts("@latin1");
    assert!(texts[0].starts_with("@file:latin1\ncaf\u{fffd}\n[1 byte on line 1 is not UTF-8"), "{texts:?}");
}

#[test]
fn a_large_file_is_cut_and_the_rest_of_too_many_left_out() {
    let desk = Desk::new();
    let write = |name: &str, size: usize| fs::write(desk.root.join(name), "é".repeat(size / 2)).unwrap();
    write("exact", 64 * 1024);
    assert_eq!(desk.texts("@exact")[0].len(), "@file:exact\n".len() + 64 * 1024);
    write("big", 64 * 1024 + 2);
    let attached = desk.attach("@big");
    assert!(
        attached.attachments[0]
            .content
            .text()
            .ends_with("é\n[cut: 65536 of 65538 bytes; read the file for the rest]")
    );
    assert!(attached.notices[0].contains("only the first 65536 of its 65538 bytes"));
    (1..=5).for_each(|n| write(&format!("f{n}"), 60 * 1024));
    let attached = desk.attach("@f1 @f2 @f3 @f4 @f5 @src/main.rs");
    let labels: Vec<&str> = attached.attachments.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels, ["f1", "f2", "f3", "f4", "f5"]);
    let total: usize = attached.attachments.iter().map(|one| one.content.text().len()).sum();
    assert!(total < 257 * 1024, "{total}");
    assert!(attached.notices[0].starts_with("@f5: only the first 16384"), "{:?}", attached.notices);
    assert!(
        attached.notices[1].starts_with("@src/main.rs: not attached: too much"),
        "{:?}",
        attached.notices
    );
}

#[test]
fn agents_and_links_come_apart_from_files() {
    let desk = Desk::new();
    let attached = desk.attach("@agent:plan look at @https://example.org and @agent:build");
    assert_eq!(attached.agent.as_deref(), Some("plan"));
    assert_eq!(attached.links, ["https://example.org"]);
    assert_eq!(attached.notices, ["one agent at a time: `plan` is used, `build` is not"]);
    assert_eq!(attached.attachments, []);
}

#[test]
fn the_root_itself_is_not_followed_by_name_alone() {
    let desk = Desk::new();
    assert!(Path::new(&desk.root).is_absolute());
    let text = format!("@{}/../outside.txt", desk.root.display());
    // Typed in full: honoured, although it starts with the root's own path.
    assert_eq!(desk.attach(&text).attachments.len(), 1);
}

#[test]
fn lines_can_be_named() {
    let desk = Desk::new();
    fs::write(desk.root.join("lib.rs"), "one\ntwo\nthree\nfour\n").unwrap();
    assert_eq!(desk.texts("see @lib.rs:2-3, please"), ["@file:lib.rs:2-3\ntwo\nthree\n"]);
    assert_eq!(desk.texts("@lib.rs:4"), ["@file:lib.rs:4\nfour\n"]);
    assert_eq!(desk.texts("@lib.rs:1-1 @lib.rs:1-1 @lib.rs:3-9").len(), 2);
    assert_eq!(desk.texts("@lib.rs @lib.rs:1-2").len(), 1, "the whole has its lines in it");
    assert_eq!(desk.refused("@lib.rs:7-9"), "@lib.rs:7-9: not attached: it has 4 lines");
    fs::write(desk.root.join("odd:1-2"), "a name").unwrap();
    assert_eq!(desk.texts("@odd:1-2"), ["@file:odd:1-2\na name"], "a file of that very name comes first");
    fs::write(desk.root.join("wide"), "w".repeat(200_000)).unwrap();
    let attached = desk.attach("@wide:1-1");
    assert!(
        attached.attachments[0].content.text().len() < 70_000
            && attached.attachments[0].content.text().contains("[cut: 65536 bytes")
    );
}

#[test]
fn a_name_that_nothing_has_is_told_if_it_was_meant_for_a_file() {
    let desk = Desk::new();
    assert_eq!(
        desk.refused("explain @src/mian.rs"),
        "@src/mian.rs: there is no such file; nothing was attached; near names: main.rs"
    );
    for text in ["@typo.rs", "@typo.rs:1-3", "@./nothing", "@~/nothing", "look at @notes.md."] {
        assert!(desk.refused(text).contains("there is no such file"), "{text}");
    }
    for text in ["@someone", "@app.route(\"/x\")", "@types/node", "@functools.wraps", "@media", "@v1.2"] {
        assert_eq!(desk.attach(text), Attached::default(), "{text}");
    }
}

/// 1,280 × 800.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03 \x08\x02\0\0\0";

#[test]
fn an_image_is_attached_as_one_and_kept() {
    let desk = Desk::new();
    fs::write(desk.root.join("shot.png"), PNG).unwrap();
    fs::write(desk.root.join("named.txt"), PNG).unwrap();
    for name in ["shot.png", "named.txt"] {
        let attached = desk.attach(&format!("look at @{name}, please"));
        let image = attached.attachments[0].content.image().unwrap();
        assert_eq!(image.summary(), format!("{name}, PNG 1280×800, 29 B"));
        assert_eq!(desk.images.get(&image.blob.sha256).unwrap(), PNG);
    }
    fs::write(desk.root.join("huge.png"), [PNG, &[0; 100]].concat()).unwrap();
    assert_eq!(
        desk.refused("@huge.png"),
        "@huge.png: not attached: it has 129 B, more than the limit of 100 B (max_image_bytes)"
    );
    fs::write(desk.root.join("broken.png"), &PNG[..12]).unwrap();
    assert!(desk.refused("@broken.png").contains("not a PNG, JPEG, GIF or WebP image"));
}

#[test]
fn a_dropped_path_is_attached_only_when_it_is_an_image() {
    let desk = Desk::new();
    fs::create_dir(desk.home.join("my shots")).unwrap();
    fs::write(desk.home.join("my shots/one.PNG"), PNG).unwrap();
    fs::write(desk.home.join("text.png"), "text").unwrap();
    let home = desk.home.display();
    let found = |line: &str| {
        let Ok(TypedInput::Prompt { mentions, .. }) = mentions::parse(line) else { panic!("{line}") };
        let attached = attach(&mentions, &desk.workspace, &desk.images);
        attached.attachments.into_iter().map(|one| one.label).collect::<Vec<_>>()
    };
    let path = format!("{home}/my shots/one.PNG");
    for line in [
        format!("why is '{path}' blue"),
        format!("why is \"{path}\" blue"),
        format!("{home}/my\\ shots/one.PNG why is it blue"),
        "see ~/my\\ shots/one.PNG".to_owned(),
    ] {
        let expected = if line.contains('~') { "~/my shots/one.PNG".to_owned() } else { path.clone() };
        assert_eq!(found(&line), [expected], "{line}");
    }
    for line in [
        format!("{home}/text.png is no image"),
        format!("{home}/nothing.png"),
        "src/one.png is relative".to_owned(),
        format!("save it as {home}/notes.md"),
    ] {
        assert_eq!(found(&line), [] as [&str; 0], "{line}");
    }
}
