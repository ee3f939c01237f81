use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use zdx_protocol::Standing;

use super::*;
use crate::library::{AgentLibrary, CommandLibrary};
use crate::paths::Environment;
use crate::trust::{TrustError, TrustStore};

struct World {
    _dir: tempfile::TempDir,
    env: Environment,
    paths: AppPaths,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let (home, base, root) = (real.join("home"), real.join("zdx"), real.join("project"));
        for dir in [&home, &root] {
            fs::create_dir_all(dir).unwrap();
        }
        let env = Environment::from_pairs([("HOME", home), ("ZDX_HOME", base)]);
        Self { _dir: dir, paths: AppPaths::from_env(&env).unwrap(), env, root }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn project(&self) -> ProjectFiles {
        ProjectFiles::read(&self.paths, &self.env, &self.root).unwrap()
    }

    fn wants(&self) -> Vec<String> {
        self.project().wants().iter().map(ToString::to_string).collect()
    }

    fn store(&self) -> TrustStore {
        TrustStore::new(self.paths.trust_file())
    }

    fn standing(&self) -> Standing {
        self.store().status(&self.root, &self.project().digest()).unwrap()
    }
}

#[test]
fn commands_and_agents_are_listed_by_what_they_want() {
    let world = World::new();
    world.write(
        ".claude/commands/ops/deploy.md",
        "---\nmodel: other/m\n---\n\nSay !`git push` and @~/.ssh/id_rsa, not x!`` nor !`open",
    );
    world.write(
        ".zdx/agents/root.md",
        "---\npermission:\n  bash: allow\n  edit: deny\ntools: [bash]\n---\nallow all",
    );
    world.write(".opencode/agent/one.md", "---\n\"permission\": allow\nModel-Override: m\n---\n");
    world.write(".eidolon/commands/plain.md", "just text with @src/main.rs and allow");
    world.write(".agents/agents/calm.md", "---\npermission:\n  bash: deny\nmodel: inherit\n---\n");
    world.write(".claude/skills/x/SKILL.md", "---\nallowed-tools: Bash(*)\n---\n!`touch x`");
    assert_eq!(
        world.wants(),
        [
            ".claude/commands/ops/deploy.md:2: /ops:deploy: have the model other/m answer",
            ".claude/commands/ops/deploy.md:5: /ops:deploy: run git push",
            ".claude/commands/ops/deploy.md:5: /ops:deploy: send the model ~/.ssh/id_rsa",
            ".zdx/agents/root.md:2: agent root: allow without asking: bash",
            ".opencode/agent/one.md:2: agent one: allow without asking: everything",
            ".opencode/agent/one.md:3: agent one: have the model m answer",
        ]
    );
}

#[test]
fn trust_is_for_the_exact_content() {
    let world = World::new();
    world.write(".zdx/config.toml", "validation.command = \"make\"");
    world.write(".claude/commands/a.md", "!`ls`");
    assert_eq!(world.standing(), Standing::Unknown);
    world.store().trust(&world.root, &world.project().trusted_files()).unwrap();
    assert_eq!(world.standing(), Standing::Trusted);

    let changes: [(&str, &str); 4] = [
        (".zdx/config.toml", "validation.command = \"make \""),
        (".claude/commands/a.md", "!`lz`"),
        (".claude/commands/b.md", "!`ls`"),
        (".agents/agents/a.md", "---\npermission: allow\n---"),
    ];
    for (path, text) in changes {
        let before = fs::read_to_string(world.root.join(path)).ok();
        world.write(path, text);
        assert_eq!(world.standing(), Standing::Changed, "{path}");
        let changed = world.store().changed(&world.root, &world.project().trusted_files()).unwrap();
        assert_eq!(changed, [PathBuf::from(path)]);
        match before {
            Some(before) => world.write(path, &before),
            None => fs::remove_file(world.root.join(path)).unwrap(),
        }
        assert_eq!(world.standing(), Standing::Trusted, "{path}");
    }
    // The same content under another name is something else.
    fs::rename(world.root.join(".claude/commands/a.md"), world.root.join(".claude/commands/c.md")).unwrap();
    assert_eq!(world.standing(), Standing::Changed);
    // What asks for nothing changes nothing.
    fs::rename(world.root.join(".claude/commands/c.md"), world.root.join(".claude/commands/a.md")).unwrap();
    world.write(".claude/commands/text.md", "only words");
    assert_eq!(world.standing(), Standing::Trusted);
}

#[test]
fn scripts_that_are_named_are_part_of_what_is_trusted() {
    let world = World::new();
    let config = "validation.command = \"sh check.sh\"\n\
                  [mcp.db]\ncommand = [\"${HOME}/../project/db.sh\"]\nenvironment = { NODE_OPTIONS = \"-r ./hook.js\" }\n\
                  [acp.agents.x]\ncommand = [\"node\", \"agent.js\"]\n";
    world.write(".zdx/config.toml", config);
    world.write(".claude/commands/a.md", "!`npm run deploy`");
    let scripts = ["check.sh", "db.sh", "hook.js", "agent.js", "package.json"];
    scripts.iter().for_each(|script| world.write(script, "as it was"));
    world.store().trust(&world.root, &world.project().trusted_files()).unwrap();
    for script in scripts {
        world.write(script, "changed");
        assert_eq!(world.standing(), Standing::Changed, "{script}");
        let changed = world.store().changed(&world.root, &world.project().trusted_files()).unwrap();
        assert_eq!(changed, [PathBuf::from(script)]);
        world.write(script, "as it was");
        assert_eq!(world.standing(), Standing::Trusted, "{script}");
    }
    world.write("other.sh", "nobody names it");
    assert_eq!(world.standing(), Standing::Trusted);
}

/// The loaders ask about the bytes they read: what changed since the user was asked, and what never was part of it, only
/// informs.
#[test]
fn loaders_believe_only_the_content_that_was_trusted() {
    let world = World::new();
    world.write(".claude/commands/a.md", "---\nmodel: other/m\n---\n!`ls`");
    world.write(".zdx/agents/a.md", "---\nmodel_override: other/m\npermission: {bash: allow}\n---\nx");
    let places = || LibraryFolders::new(&world.root, &world.paths);
    let seen = |trusted: TrustedFiles| {
        let places = places().trusting(trusted);
        let (commands, _) = CommandLibrary::load(&places, &[]);
        let (agents, _) = AgentLibrary::load(&places, &serde_json::Map::new());
        let agent = agents.get("a").unwrap();
        let rules = agent.permission[0].scope.may_grant();
        (commands.get("a").unwrap().expand("").unwrap().shells().count(), agent.model.clone(), rules)
    };
    let model = Some("other/m".to_owned());
    assert_eq!(seen(TrustedFiles::default()), (0, None, false));
    let trusted = world.project().trusted_files();
    assert_eq!(seen(trusted.clone()), (1, model.clone(), true));
    world.write(".claude/commands/a.md", "!`lz`");
    assert_eq!(seen(trusted.clone()), (0, model, true));
    world.write(".zdx/agents/a.md", "---\nmodel: other/n\npermission: {bash: allow}\n---\nx");
    assert_eq!(seen(trusted), (0, None, false));
}

#[test]
fn links_that_lead_out_loops_and_special_files_are_left_out() {
    let world = World::new();
    let outside = world.root.parent().unwrap().join("outside");
    fs::create_dir_all(outside.join("commands")).unwrap();
    fs::write(outside.join("commands/evil.md"), "!`evil`").unwrap();
    fs::write(outside.join("config.toml"), "validation.command = \"evil\"").unwrap();
    symlink(&outside, world.root.join(".claude")).unwrap();
    symlink(&outside, world.root.join(".zdx")).unwrap();
    fs::create_dir_all(world.root.join(".agents/commands")).unwrap();
    symlink("..", world.root.join(".agents/commands/loop")).unwrap();
    symlink(outside.join("commands/evil.md"), world.root.join(".agents/commands/link.md")).unwrap();
    let pipe = world.root.join(".agents/commands/pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let project = world.project();
    assert_eq!((project.wants(), project.config()), (&[][..], None));
    let notices = project.notices().join("\n");
    assert!(notices.contains(".zdx/config.toml"), "{notices}");
}

#[test]
fn the_store_is_private_revocable_and_never_overwrites_what_it_cannot_read() {
    let world = World::new();
    world.write(".zdx/config.toml", "");
    let store = world.store();
    assert_eq!(store.list().unwrap(), []);
    assert!(!store.revoke(&world.root).unwrap());
    let digest = world.project().digest();
    let files = world.project().trusted_files();
    store.trust(&world.root, &files).unwrap();
    store.trust(Path::new("/other"), &files).unwrap();
    let file = world.paths.trust_file();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let roots: Vec<_> = store.list().unwrap().into_iter().map(|entry| entry.root).collect();
    assert_eq!(roots, [PathBuf::from("/other"), world.root.clone()]);
    assert!(store.revoke(&world.root).unwrap());
    assert_eq!(world.standing(), Standing::Unknown);

    for damaged in ["{", "[]", "{\"version\":2,\"projects\":{}}"] {
        fs::write(&file, damaged).unwrap();
        assert!(matches!(store.status(&world.root, &digest), Err(TrustError::Damaged { .. })));
        assert!(matches!(store.trust(&world.root, &files), Err(TrustError::Damaged { .. })));
        assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
    }
}

#[test]
fn two_that_trust_at_once_are_both_remembered() {
    let world = World::new();
    let files = world.project().trusted_files();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (store, files) = (world.store(), &files);
            scope.spawn(move || store.trust(Path::new(&format!("/p{n}")), files).unwrap());
        }
    });
    assert_eq!(world.store().list().unwrap().len(), 8);
}
