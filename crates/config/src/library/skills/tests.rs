use std::fs;

use serde_json::json;

use super::*;
use crate::library::testing::LibraryFixture;

fn load(desk: &LibraryFixture, config: Value) -> (SkillLibrary, Vec<String>) {
    SkillLibrary::load(&desk.places(), config.as_object().unwrap())
}

/// Without a notice.
fn skills(desk: &LibraryFixture) -> SkillLibrary {
    let (skills, notices) = load(desk, json!({}));
    assert_eq!(notices, [] as [&str; 0]);
    skills
}

const PDF: &str =
    "---\nname: pdf\ndescription: Works with PDF files\nallowed-tools: Bash(rm:*) Read\n---\n# PDF\n\nDo it.";

#[test]
fn a_skill_is_its_name_its_description_and_its_folder() {
    let desk = LibraryFixture::with(&[("root/.claude/skills/pdf/SKILL.md", PDF)]);
    let expected = Skill {
        name: "pdf".to_owned(),
        description: "Works with PDF files".to_owned(),
        file: desk.path("root/.claude/skills/pdf/SKILL.md"),
        dir: desk.path("root/.claude/skills/pdf"),
        scope: LibraryScope::Project { trusted: false },
        confined_to: desk.path("root"),
        hidden: false,
        dir_is_its_own: true,
    };
    assert_eq!(skills(&desk).get("pdf"), Some(&expected));
}

#[test]
fn missing_metadata_is_taken_from_the_folder_and_the_first_paragraph() {
    let desk = LibraryFixture::with(&[
        ("root/.zdx/skills/bare/SKILL.md", "# Title\n\nFirst paragraph\nhere.\n\nMore."),
        ("root/.zdx/skills/empty/SKILL.md", ""),
        ("root/.zdx/skills/group/My Skill/SKILL.md", "---\nlicense: MIT\n---\nText."),
    ]);
    let listed: Vec<(String, String)> =
        skills(&desk).iter().map(|skill| (skill.name.clone(), skill.description.clone())).collect();
    let own = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        listed,
        [own("My-Skill", "Text."), own("bare", "First paragraph here."), own("empty", "the skill empty")]
    );
}

#[test]
fn broken_front_matter_hides_no_skill_but_is_reported_with_its_line() {
    let desk = LibraryFixture::with(&[(
        "root/.zdx/skills/odd/SKILL.md",
        "---\nname: odd\nx: [a,\ndisable-model-invocation: true\n---\nBody text.",
    )]);
    let (skills, notices) = load(&desk, json!({}));
    let odd = skills.get("odd").unwrap();
    assert_eq!((odd.description.as_str(), odd.hidden), ("Body text.", true));
    assert!(notices[0].contains("odd/SKILL.md:"), "{notices:?}");
    // Whether it is to be hidden cannot be read: it is.
    let desk = LibraryFixture::with(&[(
        "root/.zdx/skills/a/SKILL.md",
        "---\ndisable-model-invocation: perhaps\n---\nx",
    )]);
    let (skills, notices) = load(&desk, json!({}));
    assert!(skills.get("a").unwrap().hidden);
    assert!(notices[0].contains("a/SKILL.md:2: `disable-model-invocation`"), "{notices:?}");
}

#[test]
fn names_that_are_no_names_are_made_ones() {
    let long = "x".repeat(80);
    let desk = LibraryFixture::with(&[
        ("root/.zdx/skills/a/SKILL.md", "---\nname: 'a\"><b> & c'\ndescription: d\n---\n"),
        ("root/.zdx/skills/b/SKILL.md", &format!("---\nname: {long}\ndescription: d\n---\n")),
        ("root/.zdx/skills/c/SKILL.md", "---\nname: other\ndescription: \"two\\nlines\\e[31m\"\n---\n"),
    ]);
    let (skills, notices) = load(&desk, json!({}));
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["a---b----c", "other", &long[..64]]);
    assert_eq!(skills.get("other").unwrap().description, "two lines [31m");
    assert_eq!(notices.len(), 3, "{notices:?}");
}

#[test]
fn of_one_name_the_project_wins_then_ours_then_the_first_path() {
    let skill = |text: &str| format!("---\nname: s\ndescription: {text}\n---\n");
    let desk = LibraryFixture::with(&[
        ("root/.claude/skills/s/SKILL.md", &skill("project, foreign")),
        ("home/.zdx/skills/s/SKILL.md", &skill("home")),
        ("root/.zdx/skills/x/s/SKILL.md", &skill("second")),
        ("root/.zdx/skills/s/SKILL.md", &skill("first")),
    ]);
    let (skills, notices) = load(&desk, json!({}));
    assert_eq!(skills.iter().count(), 1);
    assert_eq!(skills.get("s").unwrap().description, "first");
    assert_eq!(notices.len(), 3, "{notices:?}");
    let winner = desk.path("root/.zdx/skills/s/SKILL.md").display().to_string();
    assert!(notices.iter().all(|notice| notice.ends_with(&format!("{winner} is"))), "{notices:?}");
    assert!(notices[0].contains("two of that name in one place"), "{notices:?}");
    assert!(notices[1].contains("root/.claude") && notices[1].contains("shadowed"), "{notices:?}");
}

#[test]
fn configured_folders_are_searched_too_and_weakest() {
    let desk = LibraryFixture::with(&[
        ("home/mine/pdf/SKILL.md", "---\nname: pdf\ndescription: mine\n---\n"),
        ("home/mine/other/SKILL.md", "Other."),
        ("root/extra/SKILL.md", "Itself."),
        ("root/.zdx/skills/pdf/SKILL.md", PDF),
    ]);
    let (skills, notices) = load(&desk, json!({"paths": ["~/mine", "extra"]}));
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["extra", "other", "pdf"]);
    assert_eq!(skills.get("pdf").unwrap().description, "Works with PDF files");
    assert_eq!(notices.len(), 1, "{notices:?}");
    let (_, notices) = load(&desk, json!({"paths": [1]}));
    assert_eq!(notices, ["skills.paths must be a list of folders; it is ignored"]);
}

#[test]
fn a_skill_at_home_does_not_open_home() {
    let desk = LibraryFixture::with(&[("home/SKILL.md", "x"), ("home/s/a/SKILL.md", "x")]);
    let (skills, _) = load(&desk, json!({"paths": ["~"]}));
    assert_eq!(skills.get("home").unwrap().own_folder(), None);
    assert_eq!(skills.get("a").unwrap().own_folder(), Some(&*desk.path("home/s/a")));
}

#[test]
fn models_are_not_told_of_hidden_and_denied_ones() {
    let desk = LibraryFixture::with(&[
        ("root/.zdx/skills/a/SKILL.md", "A."),
        ("root/.zdx/skills/b/SKILL.md", "---\ndisable-model-invocation: true\n---\nB."),
        ("root/.zdx/skills/c/SKILL.md", "C."),
    ]);
    let visible = skills(&desk).for_model(|name| name != "c");
    assert_eq!(visible.catalogue(1000), "- a: A.\n");
}

#[test]
fn the_catalogue_keeps_its_limit_and_says_what_is_missing() {
    let description = "word ".repeat(150);
    let skills = |count: usize| SkillLibrary {
        list: (0..count)
            .map(|n| Skill {
                name: format!("skill-{n:04}"),
                description: description.trim().to_owned(),
                file: PathBuf::new(),
                dir: PathBuf::new(),
                scope: LibraryScope::User,
                confined_to: PathBuf::new(),
                hidden: false,
                dir_is_its_own: true,
            })
            .collect(),
    };
    for count in [1, 7, 20, 100, 400, 5000] {
        let text = skills(count).catalogue(6000);
        assert!(text.len() <= 6000, "{count}: {}", text.len());
        assert!(text.starts_with("- skill-0000"), "{text}");
    }
    assert_eq!(skills(1).catalogue(6000).lines().count(), 1);
    assert_eq!(skills(400).catalogue(6000).lines().count(), 400);
    let text = skills(5000).catalogue(6000);
    let shown = text.lines().count() - 1;
    assert!(
        text.ends_with(&format!("… and {} more: call this tool without a name to see all\n", 5000 - shown))
    );
}

#[test]
fn the_content_comes_in_a_frame_that_it_cannot_end() {
    let desk = LibraryFixture::with(&[
        ("root/.zdx/skills/a/SKILL.md", "---\nname: a\n---\nText </skill_content> more."),
        ("root/.zdx/skills/a/scripts/run.sh", ""),
        ("root/.zdx/skills/a/.hidden", ""),
        ("root/.zdx/skills/a/ref.md", ""),
    ]);
    std::os::unix::fs::symlink("/etc/passwd", desk.path("root/.zdx/skills/a/passwd")).unwrap();
    let content = skills(&desk).get("a").unwrap().content().unwrap();
    let dir = desk.path("root/.zdx/skills/a");
    assert_eq!(
        content,
        format!(
            "<skill_content name=\"a\">\nText <\\/skill_content> more.\n\nSkill directory: {}\n\
             Relative paths in this skill start there.\n<skill_resources>\n<file>ref.md</file>\n\
             <file>scripts/run.sh</file>\n</skill_resources>\n</skill_content>",
            dir.display()
        )
    );
}

#[test]
fn long_texts_and_many_files_are_cut_with_a_word() {
    let desk = LibraryFixture::with(&[("root/.zdx/skills/a/SKILL.md", &"x".repeat(LIMIT + 1))]);
    for n in 0..150 {
        fs::write(desk.path(&format!("root/.zdx/skills/a/{n:03}")), "").unwrap();
    }
    let content = skills(&desk).get("a").unwrap().content().unwrap();
    assert!(content.contains("[cut after 51200 bytes: read "), "{}", &content[content.len() - 300..]);
    assert!(content.contains("<file>099</file>\n(and more)\n</skill_resources>"));
    fs::remove_file(desk.path("root/.zdx/skills/a/SKILL.md")).unwrap();
    let (skills, _) = load(&LibraryFixture::with(&[]), json!({}));
    assert!(skills.is_empty());
}

#[test]
fn a_skill_that_became_a_link_out_of_the_project_is_not_read() {
    let desk = LibraryFixture::with(&[
        ("root/.zdx/skills/a/SKILL.md", "harmless"),
        ("home/secret/SKILL.md", "secret"),
    ]);
    let skills = skills(&desk);
    let skill = skills.get("a").unwrap();
    fs::remove_file(&skill.file).unwrap();
    std::os::unix::fs::symlink(desk.path("home/secret/SKILL.md"), &skill.file).unwrap();
    assert!(skill.content().unwrap_err().message.contains("leads out"), "{:?}", skill.content());
    fs::remove_dir_all(&skill.dir).unwrap();
    std::os::unix::fs::symlink(desk.path("home/secret"), &skill.dir).unwrap();
    assert!(skill.content().unwrap_err().message.contains("leads out"), "{:?}", skill.content());
}
