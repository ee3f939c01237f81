use std::fs;
use std::path::PathBuf;

use serde_json::json;
use zdx_protocol::{ToolCode, ToolOutput};

use super::*;
use zdx_config::library::LibraryFolders;
use zdx_config::{AppPaths, Environment};
use zdx_tools::{Shell, ShellSettings};
use zdx_workspace::Workspace;

struct Desk {
    _dir: tempfile::TempDir,
    home: PathBuf,
    skills: SkillLibrary,
    cx: ToolContext,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, home) = (base.join("root"), base.join("home"));
        fs::create_dir_all(&root).unwrap();
        for (name, text) in [
            ("review", "---\ndescription: Reviews code\nallowed-tools: Bash\n---\nLook closely."),
            ("release", "---\ndescription: Makes a release\n---\nTag it."),
            ("secret", "---\ndisable-model-invocation: true\n---\nNot for models."),
        ] {
            let folder = home.join(".zdx/skills").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("SKILL.md"), text).unwrap();
        }
        let paths = AppPaths::from_env(&Environment::from_pairs([("HOME", &home)])).unwrap();
        let (skills, notices) = SkillLibrary::load(&LibraryFolders::new(&root, &paths), &Map::new());
        assert_eq!(notices, [] as [&str; 0]);
        let settings = ShellSettings {
            supervisor: PathBuf::from("/nonexistent"),
            env: Vec::new(),
            env_pass: Vec::new(),
            spill_dir: None,
            redactor: std::sync::Arc::new(zdx_protocol::redact::Redactor::new::<&str>([]).unwrap()),
        };
        let cx = ToolContext {
            workspace: Arc::new(Workspace::open(&root).unwrap()),
            shell: Arc::new(Shell::new(settings)),
            todos: Arc::default(),
            content: Arc::default(),
            timeout: None,
        };
        Self { _dir: dir, home, skills, cx }
    }

    fn tool(&self, lent: &LentFolders) -> SkillTool {
        SkillTool::new(&self.skills, |_| true, lent.clone()).unwrap()
    }

    fn prepare(&self, tool: &SkillTool, input: Value) -> Result<PreparedCall, ToolError> {
        tool.prepare(input.as_object().unwrap().clone(), &self.cx)
    }
}

fn run(prepared: PreparedCall) -> ToolOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (progress, _chunks) = tokio::sync::mpsc::channel(1);
    let cancel = tokio_util::sync::CancellationToken::new();
    runtime.block_on((prepared.run)(ToolRunContext {
        id: "t".to_owned(),
        cancel,
        progress,
        beside: Default::default(),
        images: Default::default(),
    }))
}

#[test]
fn a_model_is_told_what_there_is_and_no_more() {
    let desk = Desk::new();
    let tool = desk.tool(&LentFolders::default());
    assert!(
        tool.spec().description.ends_with("Skills:\n- release: Makes a release\n- review: Reviews code\n")
    );
    assert_eq!(tool.spec().schema["properties"]["name"]["enum"], json!(["release", "review"]));
    let tool = SkillTool::new(&desk.skills, |name| name != "review", LentFolders::default()).unwrap();
    assert!(!tool.spec().description.contains("review"));
    assert!(desk.prepare(&tool, json!({"name": "review"})).is_err(), "what is denied is not there");
}

#[test]
fn without_skills_there_is_no_tool() {
    let desk = Desk::new();
    assert!(SkillTool::new(&desk.skills, |_| false, LentFolders::default()).is_none());
    assert!(SkillTool::new(&SkillLibrary::default(), |_| true, LentFolders::default()).is_none());
}

#[test]
fn a_skill_is_judged_by_its_name_and_read_only_when_run() {
    let desk = Desk::new();
    let lent = LentFolders::default();
    let tool = desk.tool(&lent);
    let folder = desk.home.join(".zdx/skills/review");
    for input in [json!({"name": "review"}), json!({"skill": " review "}), json!({"name": "/review"})] {
        let prepared = desk.prepare(&tool, input).unwrap();
        assert_eq!(prepared.action, Action::Skill { name: "review".to_owned() });
        assert!(matches!(prepared.preview, Preview::Text { ref text } if !text.contains("Look closely")));
    }
    assert!(lent.folders().is_empty(), "nothing was lent yet");
    let output = run(desk.prepare(&tool, json!({"name": "review"})).unwrap());
    let ToolOutput::Ok(data) = output else { panic!("{output:?}") };
    assert_eq!(data["name"], "review");
    assert_eq!(data["directory"], json!(folder));
    assert!(
        data["content"].as_str().unwrap().starts_with("<skill_content name=\"review\">\nLook closely.\n")
    );
    assert_eq!(*lent.folders(), *std::slice::from_ref(&folder));
    run(desk.prepare(&tool, json!({"name": "review"})).unwrap());
    assert_eq!(*lent.folders(), [folder]);
}

#[test]
fn without_a_name_all_are_listed() {
    let desk = Desk::new();
    let tool = desk.tool(&LentFolders::default());
    for input in [json!({}), json!({"name": null}), json!({"name": ""})] {
        let prepared = desk.prepare(&tool, input).unwrap();
        assert_eq!(prepared.action, Action::Read { tool: "list".to_owned(), targets: vec![] });
        let ToolOutput::Ok(data) = run(prepared) else { panic!() };
        assert_eq!(
            data,
            json!({"count": 2, "skills": "- release: Makes a release\n- review: Reviews code\n"})
        );
    }
}

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    let desk = Desk::new();
    let tool = desk.tool(&LentFolders::default());
    let error = |input: Value| desk.prepare(&tool, input).err().unwrap();
    let reviews = error(json!({"name": "reviews"}));
    assert_eq!(reviews.code, ToolCode::UnknownSkill);
    assert!(reviews.message.contains("near names: review"), "{reviews}");
    assert!(error(json!({"name": "zzz"})).message.contains("without a name"));
    assert!(error(json!({"name": "secret"})).message.starts_with("there is no skill `secret`"));
    assert_eq!(error(json!({"name": 1})).code, ToolCode::InvalidInput);
    assert_eq!(error(json!({"name": "x".repeat(300)})).code, ToolCode::InvalidInput);
}

#[test]
fn a_file_that_went_away_is_an_error() {
    let desk = Desk::new();
    let tool = desk.tool(&LentFolders::default());
    let prepared = desk.prepare(&tool, json!({"name": "review"})).unwrap();
    fs::remove_file(desk.home.join(".zdx/skills/review/SKILL.md")).unwrap();
    let ToolOutput::Err(error) = run(prepared) else { panic!() };
    assert_eq!(error.code, ToolCode::SkillError);
}
