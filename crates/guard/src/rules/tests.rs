use serde_json::json;

use super::*;

fn rules(layers: &[(&str, bool, Value)]) -> Rules {
    let mut rules = Rules::base();
    for (origin, trusted, permission) in layers {
        rules
            .add(&LayerSource {
                origin: (*origin).to_owned(),
                trusted: *trusted,
                permission: Some(permission),
                ..LayerSource::default()
            })
            .unwrap();
    }
    rules
}

fn bash(rules: &Rules, command: &str) -> Level {
    let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
    rules.command(&[argv], true, &Budget::of(MAX_RULE_STEPS)).level
}

#[test]
fn the_base_table_is_the_offline_default() {
    let rules = Rules::base();
    assert_eq!(rules.tool("read").level, Level::Allow);
    assert_eq!(rules.tool("write").level, Level::Ask);
    assert_eq!(rules.tool("todo").level, Level::Allow);
    assert_eq!(rules.tool("webfetch").level, Level::Ask);
    assert_eq!(rules.named(EXTERNAL, &["/etc"]).level, Level::Ask);
    assert_eq!(bash(&rules, "ls"), Level::Allow);
    assert_eq!(bash(&rules, "catfish x"), Level::Ask);
}

#[test]
fn the_last_match_of_a_layer_wins_and_later_layers_lift_the_base() {
    let rules = rules(&[(
        "global",
        true,
        json!({"bash": {"git *": "allow", "git push *": "ask"}, EXTERNAL: "allow"}),
    )]);
    assert_eq!(bash(&rules, "git status"), Level::Allow);
    assert_eq!(bash(&rules, "git push origin"), Level::Ask);
    assert_eq!(rules.named(EXTERNAL, &["/etc"]).level, Level::Allow);
    let rules = self::rules(&[("global", true, json!({"bash": {"*": "deny", "git *": "allow"}}))]);
    assert_eq!(bash(&rules, "git status"), Level::Allow);
    assert_eq!(bash(&rules, "ls"), Level::Deny);
}

#[test]
fn a_written_deny_stands_and_untrusted_layers_only_raise() {
    let rules = rules(&[
        ("global", true, json!({"bash": {"curl *": "deny"}})),
        ("project", true, json!({"bash": {"curl *": "allow", "make *": "allow"}})),
    ]);
    assert_eq!(bash(&rules, "curl x"), Level::Deny);
    assert_eq!(bash(&rules, "make all"), Level::Allow);
    let rules =
        self::rules(&[("project", false, json!({"bash": "allow", "read": "ask", EXTERNAL: "allow"}))]);
    assert_eq!(bash(&rules, "make all"), Level::Ask);
    assert_eq!(rules.tool("read").level, Level::Ask);
    assert_eq!(rules.named(EXTERNAL, &["/etc"]).level, Level::Ask);
}

#[test]
fn edit_sets_both_writing_keys_and_the_catch_all_never_opens_the_outside() {
    let rules = rules(&[("global", true, json!({"*": "allow", "edit": "deny"}))]);
    assert_eq!(rules.tool("write").level, Level::Deny);
    assert_eq!(rules.tool("patch").level, Level::Deny);
    assert_eq!(rules.tool("anything").level, Level::Allow);
    assert_eq!(rules.named(EXTERNAL, &["/etc"]).level, Level::Ask);
}

#[test]
fn mistakes_name_their_layer_and_key() {
    let mut rules = Rules::base();
    let mut add = |permission: Value| {
        rules.add(&LayerSource {
            origin: "~/.zdx/config.toml".to_owned(),
            trusted: true,
            permission: Some(&permission),
            ..LayerSource::default()
        })
    };
    let error = add(json!({"bash": {"ls *": "sure"}})).unwrap_err().to_string();
    assert_eq!(
        error,
        "~/.zdx/config.toml: `permission.bash.\"ls *\"` must be allow, ask or deny, not \"sure\""
    );
    assert!(add(json!({"read": {"x": "allow"}})).is_err());
    assert!(add(json!([])).is_err());
    assert_eq!(add(json!({"bahs": "allow"})).unwrap().len(), 1);
}

#[test]
fn whitelist_blacklist_and_dangerous_patterns() {
    let mut rules = Rules::base();
    rules
        .add(&LayerSource {
            origin: "global".to_owned(),
            trusted: true,
            whitelist: &["git status".to_owned()],
            blacklist_patterns: &[r"\bnc\b".to_owned()],
            dangerous_patterns: &["^terraform destroy".to_owned()],
            ..LayerSource::default()
        })
        .unwrap();
    assert_eq!(bash(&rules, "git status -s"), Level::Allow);
    assert_eq!(bash(&rules, "git statusx"), Level::Ask);
    let budget = Budget::of(1_000);
    assert!(rules.blacklisted("nc -l 80", &budget).is_some() && rules.blacklisted("sync", &budget).is_none());
    assert!(rules.dangerous("terraform destroy -auto-approve", &budget).is_some());
    assert!(!budget.is_exceeded() && rules.blacklisted("nc -l 80", &Budget::of(7)).is_none());
    assert!(
        rules
            .add(&LayerSource {
                origin: "x".into(),
                blacklist_patterns: &["(".to_owned()],
                ..LayerSource::default()
            })
            .is_err()
    );
}

/// A budget that ends in a later layer takes no `deny` of an earlier one back; before that, a person has to confirm.
#[test]
fn a_deny_that_was_found_outlives_the_budget() {
    let layer = |permission: &Value, rules: &mut Rules| {
        let source = LayerSource { trusted: true, permission: Some(permission), ..LayerSource::default() };
        rules.add(&source).unwrap();
    };
    let mut rules = Rules::base();
    layer(&json!({"bash": {"git push *": "deny"}}), &mut rules);
    let costly = "* a ".repeat(60) + "c";
    layer(&json!({"bash": {"*": "allow", costly: "allow"}}), &mut rules);
    let level = |command: &str, steps: usize| {
        let view: Vec<String> = command.split(' ').map(str::to_owned).collect();
        rules.command(&[view], true, &Budget::of(steps)).level
    };
    let words = "a ".repeat(30) + "b";
    for (steps, pushed, pulled) in [
        (5, Level::Confirm, Level::Confirm),
        (1_000, Level::Deny, Level::Confirm),
        (100_000, Level::Deny, Level::Allow),
    ] {
        assert_eq!(level(&format!("git push {words}"), steps), pushed, "{steps}");
        assert_eq!(level(&format!("git pull {words}"), steps), pulled, "{steps}");
    }
}
