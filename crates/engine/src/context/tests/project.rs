use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use zdx_config::Environment;
use zdx_config::{ConfigLayer, ValueSource};

/// `home/work/repo` is the project, `zdx` zdx's own folder beside home.
struct World {
    _dir: tempfile::TempDir,
    top: PathBuf,
    home: PathBuf,
    root: PathBuf,
    paths: AppPaths,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (home, base) = (top.join("home"), top.join("zdx"));
        let root = home.join("work/repo");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir(&base).unwrap();
        let env = Environment::from_pairs([("HOME", &home), ("ZDX_HOME", &base)]);
        let paths = AppPaths::from_env(&env).unwrap();
        Self { _dir: dir, top, home, root, paths }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.top.join(path);
        fs::write(&path, text).unwrap();
        path
    }

    fn load(&self) -> ProjectContext {
        load_project_context(&self.paths, &self.root, &[])
    }
}

#[test]
fn files_are_joined_from_the_farthest_to_the_closest() {
    let world = World::new();
    let expected = [
        world.write("zdx/AGENTS.md", "global\n"),
        world.write("home/AGENTS.md", "\nhome"),
        world.write("home/work/AGENTS.md", "work\n\n"),
        world.write("home/work/repo/AGENTS.md", "repo"),
    ];
    let context = world.load();
    assert_eq!(context.loaded, expected);
    assert_eq!(context.notices, Vec::<String>::new());
    let [a, b, c, d] = expected.map(|path| path.display().to_string());
    assert_eq!(
        context.text,
        format!(
            "# Project Context\n\n{PRECEDENCE}\n\n## {a}\n\nglobal\n\n## {b}\n\nhome\n\n## {c}\n\nwork\n\n\
             ## {d}\n\nrepo\n"
        )
    );
    assert!(PRECEDENCE.contains("closer") && PRECEDENCE.contains("overrides"));
}

#[test]
fn a_root_outside_home_leaves_home_and_ancestors_out() {
    let mut world = World::new();
    world.root = world.top.join("else/where");
    fs::create_dir_all(&world.root).unwrap();
    world.write("home/AGENTS.md", "home");
    world.write("else/AGENTS.md", "ancestor");
    world.write("AGENTS.md", "above everything");
    let expected = [world.write("zdx/AGENTS.md", "global"), world.write("else/where/AGENTS.md", "root")];
    assert_eq!(world.load().loaded, expected);
}

#[test]
fn a_name_that_only_begins_like_home_is_not_under_home() {
    let mut world = World::new();
    world.root = world.top.join("homestead");
    fs::create_dir(&world.root).unwrap();
    world.write("home/AGENTS.md", "home");
    assert_eq!(world.load(), ProjectContext::default());
}

#[test]
fn home_reached_through_a_link_is_still_home() {
    let mut world = World::new();
    let link = world.top.join("link");
    symlink(&world.home, &link).unwrap();
    let env = Environment::from_pairs([("HOME", &link), ("ZDX_HOME", &world.top.join("zdx"))]);
    world.paths = AppPaths::from_env(&env).unwrap();
    let expected = [world.write("home/AGENTS.md", "h"), world.write("home/work/repo/AGENTS.md", "r")];
    assert_eq!(world.load().loaded, expected);
    world.root = link.join("work/repo");
    assert_eq!(world.load().loaded, expected);
}

#[test]
fn home_as_the_project_is_read_once() {
    let mut world = World::new();
    world.root = world.home.clone();
    let file = world.write("home/AGENTS.md", "home");
    assert_eq!(world.load().loaded, [file]);
}

#[test]
fn nothing_and_empty_files_say_nothing() {
    let world = World::new();
    assert_eq!(world.load(), ProjectContext::default());
    world.write("zdx/AGENTS.md", "");
    world.write("home/work/repo/AGENTS.md", " \n\t\n");
    assert_eq!(world.load(), ProjectContext::default());
}

#[test]
fn what_cannot_be_read_costs_a_notice_and_nothing_else() {
    let world = World::new();
    fs::create_dir(world.top.join("zdx/AGENTS.md")).unwrap();
    symlink("AGENTS.md", world.home.join("AGENTS.md")).unwrap();
    let pipe = world.home.join("work/AGENTS.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let good = world.write("home/work/repo/AGENTS.md", "good");
    let context = world.load();
    assert_eq!(context.loaded, [good]);
    assert_eq!(context.notices.len(), 3, "{:?}", context.notices);
    for path in ["zdx/AGENTS.md", "home/AGENTS.md", "home/work/AGENTS.md"] {
        let path = world.top.join(path).display().to_string();
        assert!(context.notices.iter().any(|notice| notice.starts_with(&path)), "{path}");
    }
    fs::remove_file(&pipe).unwrap();
    symlink("gone", &pipe).unwrap();
    assert!(world.load().notices.iter().any(|notice| notice.contains("link to nothing")));
}

#[test]
fn a_repository_cannot_hand_over_the_users_files_by_a_link() {
    let world = World::new();
    let secret = world.write("home/credentials", "planted");
    symlink(&secret, world.root.join("AGENTS.md")).unwrap();
    let context = world.load();
    assert_eq!(context.text, "");
    assert!(context.notices[0].contains("leads out of its folder"), "{:?}", context.notices);
    // A link to another name in the same folder is the customary way to share one text.
    fs::remove_file(world.root.join("AGENTS.md")).unwrap();
    world.write("home/work/repo/CLAUDE.md", "shared");
    symlink("CLAUDE.md", world.root.join("AGENTS.md")).unwrap();
    assert!(world.load().text.contains("shared"));
}

#[test]
fn one_file_reached_twice_is_read_once() {
    let world = World::new();
    let above = world.write("home/work/AGENTS.md", "above");
    symlink("../AGENTS.md", world.root.join("AGENTS.md")).unwrap();
    let context = world.load();
    assert_eq!(context.text.matches("\n\nabove").count(), 1, "{}", context.text);
    assert_eq!((context.loaded, context.notices), (vec![above], Vec::new()));
}

#[test]
fn a_large_file_is_cut_at_a_character_and_says_so() {
    let world = World::new();
    let file = world.write("home/work/repo/AGENTS.md", format!("x{}", "é".repeat(LARGEST_FILE)));
    let context = world.load();
    assert!(context.text.len() < LARGEST_FILE + 500);
    assert!(context.text.contains("é\n\n[cut: "), "no marker");
    assert!(!context.text.contains('\u{fffd}'));
    assert_eq!(context.notices.len(), 1);
    assert!(context.notices[0].starts_with(&file.display().to_string()), "{:?}", context.notices);
    world.write("home/work/repo/AGENTS.md", "x".repeat(LARGEST_FILE));
    assert_eq!(world.load().notices, Vec::<String>::new());
}

#[test]
fn other_encodings_are_read_as_well_as_can_be() {
    let world = World::new();
    world.write("zdx/AGENTS.md", b"caf\xe9 rules");
    world.write("home/work/repo/AGENTS.md", "\u{feff}marked");
    let context = world.load();
    assert!(context.text.contains("caf\u{fffd} rules") && context.text.contains("\n\nmarked"));
    assert_eq!(context.notices.len(), 1);
}

#[test]
fn instruction_files_come_last_and_are_missed_when_absent() {
    let world = World::new();
    let agents = world.write("home/work/repo/AGENTS.md", "agents");
    let rules = world.write("home/work/repo/rules.md", "rules");
    let outside = world.write("home/outside.md", "planted");
    let source = ValueSource::File { layer: ConfigLayer::Project, path: "c".into(), line: 1 };
    let file = |path: &Path, confined_to: Option<&Path>| {
        InstructionSource::File(FileRef {
            path: path.to_owned(),
            confined_to: confined_to.map(Path::to_owned),
            source: source.clone(),
        })
    };
    let named = [
        file(&rules, Some(&world.root)),
        file(&world.root.join("gone.md"), None),
        file(&outside, Some(&world.root)),
        InstructionSource::Text { text: "told".to_owned(), source: source.clone() },
    ];
    let context = load_project_context(&world.paths, &world.root, &named);
    assert_eq!(context.loaded, [agents, rules]);
    assert_eq!(context.notices.len(), 2, "{:?}", context.notices);
    assert!(!context.text.contains("planted"));
    assert!(context.text.ends_with("\n\nrules\n\n## c:1\n\ntold\n"), "{}", context.text);
}

#[test]
fn claude_md_stands_in_where_a_folder_has_no_agents_md() {
    let world = World::new();
    let home = world.write("home/CLAUDE.md", "home's");
    world.write("home/work/CLAUDE.md", "passed over");
    let work = world.write("home/work/AGENTS.md", "work's");
    let repo = world.write("home/work/repo/CLAUDE.md", "repo's");
    let context = world.load();
    assert_eq!(context.loaded, [home, work, repo]);
    assert!(context.text.contains("repo's") && !context.text.contains("passed over"), "{}", context.text);
    fs::remove_file(world.root.join("CLAUDE.md")).unwrap();
    let outside = world.write("home/secret.md", "planted");
    symlink(outside, world.root.join("CLAUDE.md")).unwrap();
    let context = world.load();
    assert!(!context.text.contains("planted") && context.notices.len() == 1, "{:?}", context.notices);
}
