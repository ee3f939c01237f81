use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::library::testing::LibraryFixture;
use zdx_protocol::mentions::{MentionAuthor, MentionTarget};

fn load(desk: &LibraryFixture) -> (CommandLibrary, Vec<String>) {
    CommandLibrary::load(&desk.places(), &["help", "exit"])
}

fn command(template: &str, scope: LibraryScope) -> CustomCommand {
    CustomCommand {
        name: "x".to_owned(),
        description: String::new(),
        hint: None,
        agent: None,
        model: None,
        template: template.to_owned(),
        scope,
        source: PathBuf::new(),
    }
}

fn expanded(template: &str, arguments: &str) -> ExpandedCommand {
    command(template, LibraryScope::User).expand(arguments).unwrap()
}

/// With every shell span answered by its number.
fn text(template: &str, arguments: &str) -> String {
    let expanded = expanded(template, arguments);
    let outputs: Vec<String> = (0..expanded.shells().count()).map(|n| format!("<{n}>")).collect();
    expanded.fill(&outputs)
}

#[test]
fn the_path_is_the_name() {
    let desk = LibraryFixture::with(&[
        ("root/.zdx/commands/apply.md", "x"),
        ("root/.zdx/commands/openspec/commands/apply.md", "x"),
        ("root/.eidolon/commands/kaleido/tools/run.md", "x"),
        ("root/.zdx/commands/v1.2.md", "x"),
        ("root/.zdx/commands/commands.md", "x"),
        ("home/.claude/commands/git/commit.md", "x"),
        ("root/.zdx/commands/two words.md", "x"),
        ("root/.zdx/commands/help.md", "x"),
    ]);
    let (commands, notices) = load(&desk);
    let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["apply", "commands", "git:commit", "kaleido:tools:run", "openspec:apply", "v1.2"]);
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].contains("/help is one of zdx's own"), "{notices:?}");
    assert!(notices[1].contains("two words.md is no command"), "{notices:?}");
}

#[test]
fn the_front_matter_says_who_answers() {
    let desk = LibraryFixture::with(&[
        (
            "root/.zdx/commands/fix.md",
            "---\ndescription: Fix an issue\nargument-hint: [number] [priority]\nagent: plan\nmodel: local/m\n---\nFix $1.",
        ),
        ("root/.zdx/commands/bare.md", "# Bare\n\nDoes a thing."),
        ("root/.zdx/commands/broken.md", "---\nagent: plan\nx: [a,\n---\nText"),
    ]);
    let (commands, notices) = load(&desk);
    let fix = commands.get("fix").unwrap();
    assert_eq!(
        (fix.description.as_str(), fix.hint.as_deref()),
        ("Fix an issue", Some("[number] [priority]"))
    );
    let called = fix.expand("7").unwrap();
    assert_eq!((called.agent.as_deref(), fix.model.as_deref()), (Some("plan"), Some("local/m")));
    assert_eq!(called.fill(&[]), "Fix 7.");
    assert_eq!(commands.get("bare").unwrap().description, "Does a thing.");
    assert_eq!(commands.get("broken").unwrap().agent.as_deref(), Some("plan"));
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("broken.md:"), "{notices:?}");
}

#[test]
fn of_one_name_the_first_place_counts() {
    let desk = LibraryFixture::with(&[
        ("root/.zdx/commands/a/x.md", "first"),
        ("root/.zdx/commands/a/commands/x.md", "zeroth by path"),
        ("home/.zdx/commands/a/x.md", "home"),
    ]);
    let (commands, notices) = load(&desk);
    assert_eq!(commands.get("a:x").unwrap().template, "zeroth by path");
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].contains("command `/a:x`") && notices[0].contains("in one place"), "{notices:?}");
    assert!(notices[1].contains("shadowed"), "{notices:?}");
}

#[test]
fn arguments_take_their_places() {
    for (template, arguments, expected) in [
        ("Do $ARGUMENTS now", "a 'b c'", "Do a 'b c' now"),
        ("$1 then $2", "a 'b c' d", "a then b c"),
        ("[$1][$3]", "a", "[a][]"),
        ("$10 and $1", "a", " and a"),
        ("No place", "for this", "No place\n\nfor this"),
        ("No place", "  ", "No place"),
        ("", "only", "only"),
        ("costs $100, $0 and $x $", "arg", "costs $100, $0 and $x $\n\narg"),
        ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ("ü$1ü", "é", "üéü"),
    ] {
        assert_eq!(text(template, arguments), expected, "{template} {arguments}");
    }
}

#[test]
fn commands_come_out_as_data_and_their_output_goes_back_in() {
    let template = "Status: !`git status` and !`git log $1`.";
    let called = expanded(template, "-3");
    assert_eq!(called.shells().collect::<Vec<_>>(), ["git status", "git log -3"]);
    assert_eq!(called.fill(&["clean".to_owned(), "$1 !`x`".to_owned()]), "Status: clean and $1 !`x`.");
    // Not run: it stays to be seen.
    assert_eq!(called.fill(&[]), "Status: !`git status` and !`git log -3`.");
    for (template, shells) in [
        ("!`a`!`b`", 2),
        ("`!` `x`", 0),
        ("Stop!`code`", 0),
        ("!``", 0),
        ("!` `", 0),
        ("!`a\nb`", 0),
        ("!`open", 0),
        ("(!`a`)", 1),
    ] {
        assert_eq!(expanded(template, "").shells().count(), shells, "{template}");
    }
}

#[test]
fn an_argument_never_becomes_a_command() {
    for template in ["$ARGUMENTS", "$1", "no place", "!$1", "!`ls` $ARGUMENTS"] {
        let called = expanded(template, "!`rm x` `rm x`");
        assert!(called.shells().all(|shell| shell == "ls"), "{template}");
    }
}

#[test]
fn of_an_untrusted_projects_command_only_the_text_counts() {
    let mut project = command("Log: !`git log $1` end", LibraryScope::Project { trusted: false });
    project.model = Some("evil/m".to_owned());
    project.agent = Some("plan".to_owned());
    let called = project.expand("-3").unwrap();
    assert_eq!((called.shells().count(), called.withheld), (0, 1));
    assert_eq!(called.fill(&["never".to_owned()]), "Log: !`git log -3` end");
    assert_eq!((called.model.as_deref(), called.agent.as_deref()), (None, Some("plan")));
    project.scope = LibraryScope::Project { trusted: true };
    let called = project.expand("-3").unwrap();
    assert_eq!((called.shells().count(), called.withheld), (1, 0));
    assert_eq!(called.model.as_deref(), Some("evil/m"));
}

#[test]
fn mentions_know_whose_words_they_are() {
    let authors = |template: &str, scope: LibraryScope| -> Vec<(String, MentionAuthor)> {
        let called = command(template, scope).expand("~/mine.txt").unwrap();
        let path = |what: MentionTarget| match what {
            MentionTarget::Path { path, .. } => path,
            other => panic!("{other:?}"),
        };
        called.mentions().into_iter().map(|mention| (path(mention.what), mention.author)).collect()
    };
    let mixed = "@~/.ssh/id and @$1. and @file:$1 @\"$1\" @src/$1";
    let own = |path: &str, author| (path.to_owned(), author);
    let expected = |template| {
        [
            own("~/.ssh/id", template),
            own("~/mine.txt.", MentionAuthor::User),
            own("~/mine.txt", MentionAuthor::User),
            own("~/mine.txt", MentionAuthor::User),
            own("src/~/mine.txt", template),
        ]
    };
    assert_eq!(authors(mixed, LibraryScope::Project { trusted: false }), expected(MentionAuthor::File));
    assert_eq!(authors(mixed, LibraryScope::Project { trusted: true }), expected(MentionAuthor::User));
    assert_eq!(authors(mixed, LibraryScope::User), expected(MentionAuthor::User));
    // What a command printed is nobody's mention.
    let called = expanded("see !`cat x`", "");
    assert_eq!(called.fill(&["@/etc/passwd".to_owned()]), "see @/etc/passwd");
    assert_eq!(called.mentions(), []);
}

#[test]
fn what_grows_without_bound_is_refused() {
    let error =
        command(&"$ARGUMENTS".repeat(1000), LibraryScope::User).expand(&"x".repeat(10_000)).unwrap_err();
    assert!(matches!(&error, ExpandError::TooLong(name) if name == "x"), "{error}");
    let shells = "!`$ARGUMENTS`\n".repeat(20);
    assert!(command(&shells, LibraryScope::User).expand(&"x".repeat(60_000)).is_err());
    let desk = LibraryFixture::with(&[("root/.zdx/commands/many.md", &"!`a`\n".repeat(21))]);
    let (commands, notices) = load(&desk);
    assert!(commands.get("many").is_none());
    assert!(notices[0].contains("more than 20 commands"), "{notices:?}");
}

proptest! {
    /// Any template with any arguments: no panic, and commands come from the template alone.
    #[test]
    fn any_template_takes_any_arguments(template in "[!`$1A@é \n]{0,30}", arguments in "[!`$1'\"\\\\@é ]{0,30}") {
        let called = expanded(&template, &arguments);
        prop_assert_eq!(called.shells().count(), expand::shells(&template).count());
        called.mentions();
        called.fill(&[]);
    }
}
