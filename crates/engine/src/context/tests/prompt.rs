use std::fs;

use super::*;
use zdx_config::{AppPaths, Environment};
use zdx_config::{ConfigFlags, ResolveInput, resolve};

fn project(text: &str) -> ProjectContext {
    ProjectContext { text: text.to_owned(), ..ProjectContext::default() }
}

/// The system text that this configuration gives, with this project context.
fn assembled(dir: &Path, config: &str, flag: Option<&str>, context: &str) -> Result<String, PromptError> {
    fs::write(dir.join("config.toml"), config).unwrap();
    let env = Environment::from_pairs([("ZDX_HOME", dir)]);
    let paths = AppPaths::from_env(&env).unwrap();
    let flags = ConfigFlags { system_prompt: flag.map(str::to_owned), ..ConfigFlags::default() };
    let root = dir.join("root");
    let input = ResolveInput {
        paths: &paths,
        root: &root,
        env: &env,
        flags: &flags,
        project: None,
        foreign: &[],
        trusted: false,
    };
    assemble(&resolve(&input).unwrap().config, &root, &project(context))
}

#[test]
fn the_built_in_prompt_stands_when_none_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    let text = assembled(dir.path(), "", None, "").unwrap();
    assert_eq!(text, built_in(&dir.path().join("root")));
    let text = assembled(dir.path(), "", None, "# Project Context\n").unwrap();
    assert!(text.starts_with("You are zdx") && text.ends_with(".\n\n# Project Context\n"), "{text}");
}

#[test]
fn a_configured_prompt_replaces_it_and_the_file_wins() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(assembled(dir.path(), "system_prompt = \"mine\"", None, "").unwrap(), "mine");
    assert_eq!(assembled(dir.path(), "system_prompt = \"mine\"", None, "ctx").unwrap(), "mine\n\nctx");
    fs::write(dir.path().join("p.md"), "\u{feff}from file\n").unwrap();
    let both = "system_prompt = \"mine\"\nsystem_prompt_file = \"p.md\"";
    assert_eq!(assembled(dir.path(), both, None, "ctx").unwrap(), "from file\n\nctx");
    assert_eq!(assembled(dir.path(), both, Some("flag"), "ctx").unwrap(), "flag\n\nctx");
}

#[test]
fn an_empty_flag_leaves_the_project_context_alone() {
    let dir = tempfile::tempdir().unwrap();
    let both = "system_prompt = \"mine\"\nsystem_prompt_file = \"gone.md\"";
    assert_eq!(assembled(dir.path(), both, Some(""), "ctx").unwrap(), "ctx");
    assert_eq!(assembled(dir.path(), "", Some(""), "").unwrap(), "");
}

#[test]
fn an_unreadable_prompt_file_is_an_error_that_says_where_it_was_named() {
    let dir = tempfile::tempdir().unwrap();
    let error =
        assembled(dir.path(), "\nsystem_prompt_file = \"gone.md\"", None, "").unwrap_err().to_string();
    for part in ["gone.md", "config.toml:2", "--system-prompt"] {
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
    fs::write(dir.path().join("big.md"), "x".repeat(LARGEST_FILE + 1)).unwrap();
    let error = assembled(dir.path(), "system_prompt_file = \"big.md\"", None, "").unwrap_err().to_string();
    assert!(error.contains("256 KiB"), "{error}");
}

#[test]
fn the_built_in_prompt_is_short_stable_and_names_its_surroundings() {
    let root = Path::new("/srv/app");
    let text = built_in(root);
    assert!(text.len() < 2500, "{} bytes", text.len());
    assert_eq!(text, built_in(root));
    for part in ["/srv/app", "read", "edit", "write", "bash", "dash", "language"] {
        assert!(text.contains(part), "{part}");
    }
}
