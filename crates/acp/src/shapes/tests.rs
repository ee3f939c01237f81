use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn a_call_grows_with_what_is_said_of_it_and_null_takes_nothing_away() {
    let mut calls = Calls::default();
    calls.fold(&json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Edit", "kind": "edit", "status": "pending",
        "locations": [{"path": "/w/x", "line": null}], "rawInput": {"n": 1}}));
    let call = calls
        .fold(&json!({"toolCallId": "a", "title": null, "status": "completed", "locations": null,
        "content": [{"type": "diff", "path": "x", "oldText": null, "newText": "b"}]}));
    assert_eq!(call.get("sessionUpdate"), None);
    let call = Call::read(&call);
    assert_eq!((call.title.as_deref(), call.kind.as_deref()), (Some("Edit"), Some("edit")));
    assert_eq!(call.locations, [Location { path: "/w/x".into(), line: None }]);
    assert_eq!(call.content, [ToolContent::Diff(json!({"path": "x", "oldText": null, "newText": "b"}))]);
    assert_eq!(call.raw_input, Some(json!({"n": 1})));
    assert_eq!(calls.open().count(), 0);
    let call = Call::read(&calls.fold(&json!({"toolCallId": "a", "status": "failed"})));
    assert_eq!(
        (call.title.as_deref(), call.raw_input),
        (Some("Edit"), None),
        "what is over is kept without its bulk"
    );
}

#[test]
fn an_update_of_a_call_that_nobody_announced_makes_it() {
    let mut calls = Calls::default();
    assert_eq!(calls.fold(&json!({"toolCallId": "b", "status": "in_progress"}))["toolCallId"], "b");
    let call = Call::read(&calls.fold(&json!({"toolCallId": "b", "title": "Late"})));
    assert_eq!((call.title.as_deref(), call.status.as_deref()), (Some("Late"), Some("in_progress")));
}

#[test]
fn no_number_of_calls_is_too_many_and_open_ones_stay() {
    let mut calls = Calls::default();
    calls.fold(&json!({"toolCallId": "open"}));
    for n in 0..5000 {
        calls.fold(&json!({"toolCallId": format!("c{n}"), "title": "x", "status": "completed"}));
    }
    assert_eq!(calls.open().map(|call| call.id).collect::<Vec<_>>(), ["open"]);
    assert_eq!(calls.fold(&json!({"toolCallId": "c0"})).get("title"), None, "forgotten");
}

#[test]
fn config_options_win_over_the_modes_and_models_that_they_supersede() {
    let modes =
        json!({"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code"}]});
    let models = json!({"currentModelId": "m1", "availableModels": [{"modelId": "m1"}, {"modelId": "m2"}]});
    let mut choices = Choices::default();
    choices.take(&json!({"modes": modes, "models": models}));
    let mode = choices.mode().unwrap();
    assert_eq!((mode.via, mode.current().as_deref()), (Via::SetMode, Some("ask")));
    assert_eq!(
        mode.set("s", &json!("code")),
        ("session/set_mode", json!({"sessionId": "s", "modeId": "code"}))
    );
    let model = choices.model().unwrap();
    assert_eq!(
        model.set("s", &json!("m2")),
        ("session/set_model", json!({"sessionId": "s", "modelId": "m2"}))
    );
    choices.set_mode("code".into());
    assert_eq!(choices.mode().unwrap().current().as_deref(), Some("code"));

    choices.take(&json!({"configOptions": [
        {"id": "m", "category": "mode", "type": "select", "currentValue": "plan",
         "options": [{"group": "g", "name": "G", "options": [{"value": "plan", "name": "Plan"}, {"value": "build"}]}]},
        {"id": "fast", "type": "boolean", "currentValue": false},
        {"id": "odd", "type": "slider"}
    ]}));
    let mode = choices.mode().unwrap();
    assert_eq!((mode.via, mode.values()), (Via::ConfigOption, vec!["plan", "build"]));
    assert_eq!((mode.find("Build"), mode.find("PLAN")), (None, Some(json!("plan"))));
    let fast = choices.option("fast").unwrap();
    assert_eq!((fast.find("on"), fast.find("maybe")), (Some(json!(true)), None));
    let set = json!({"sessionId": "s", "configId": "fast", "type": "boolean", "value": true});
    assert_eq!(fast.set("s", &json!(true)), ("session/set_config_option", set));
    assert_eq!(choices.option("odd").unwrap().find("7"), Some(json!("7")));
    assert_eq!(choices.model().unwrap().via, Via::SetModel, "no option of that category: the old way");
}

#[test]
fn a_permission_is_picked_by_kind_alone() {
    let params = json!({"options": [
        {"optionId": "1", "name": "Allow", "kind": "reject_always"},
        {"optionId": "2", "name": "No", "kind": "allow_always"},
        {"optionId": "3", "name": "?", "kind": "allow_once"},
        {"optionId": 4, "kind": "reject_once"}
    ]});
    let options = PermissionOption::of(&params);
    let picked = |answer| pick(&options, answer).map(|option| option.id.as_str());
    assert_eq!((picked(Answer::Allow), picked(Answer::Reject)), (Some("3"), Some("1")));
    assert_eq!(pick(&options[..1], Answer::Allow), None);
    assert_eq!(outcome(None), json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn what_a_welcome_says_is_read_however_it_is_said() {
    let welcome = Welcome::read(
        &json!({"protocolVersion": 1, "agentInfo": {"name": "a", "title": null, "version": "2"},
        "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"list": {}, "resume": true, "close": null},
            "mcpCapabilities": {"http": true}, "auth": {"logout": {}}},
        "authMethods": [{"id": "k", "name": "Key", "type": "env_var", "vars": [{"name": "A_KEY"}, "B_KEY"]},
            {"id": "t", "type": "terminal", "args": ["login"]}, {"id": "w"}, {"name": "no id"}]}),
    );
    assert_eq!((welcome.version, welcome.name.as_deref()), (Some(1), Some("a")));
    assert!(
        welcome.loads() && welcome.offers("list") && welcome.offers("resume") && !welcome.offers("close")
    );
    assert!(welcome.takes_mcp("http") && welcome.takes_mcp("stdio") && !welcome.takes_mcp("sse"));
    assert!(welcome.offers_logout());
    let kinds: Vec<AuthKind> = welcome.auth_methods.into_iter().map(|method| method.kind).collect();
    let variables = AuthKind::Variables(vec!["A_KEY".into(), "B_KEY".into()]);
    assert_eq!(kinds, [variables, AuthKind::Terminal { args: vec!["login".into()] }, AuthKind::Agent]);
    assert_eq!(Welcome::read(&json!({"protocolVersion": "1"})).version, None);
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "text",
        "content",
        "diff",
        "select",
        "boolean",
        "agent_message_chunk",
        "tool_call",
        "plan",
        "config_option_update",
        "notice",
        "end_turn",
        "terminal",
        "env_var",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "sessionId",
        "update",
        "sessionUpdate",
        "content",
        "type",
        "text",
        "toolCallId",
        "title",
        "locations",
        "line",
        "path",
        "rawInput",
        "status",
        "configOptions",
        "options",
        "groups",
        "id",
        "modes",
        "models",
        "availableModes",
        "availableCommands",
        "authMethods",
        "agentCapabilities",
        "sessionCapabilities",
        "list",
        "agentInfo",
        "stopReason",
        "resource",
        "vars",
        "optionId",
        "kind",
    ]);
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read(value in any_json()) {
        let read = SessionUpdate::read(value.clone());
        if let Value::String(kind) = &value["update"]["sessionUpdate"]
            && kind == "agent_message_chunk" {
            assert!(matches!(read.update, Update::Message(_)));
        }
        Update::read(value.clone());
        Welcome::read(&value);
        StopReason::read(&value);
        PermissionOption::of(&value);
        Block::read(&value);
        ToolContent::read(&value);
        let mut choices = Choices::default();
        choices.take(&value);
        for option in choices.options() {
            option.set("s", &Value::Null);
        }
        let mut calls = Calls::default();
        calls.fold(&value);
        assert_eq!(Call::read(&calls.fold(&value)), Call::read(&value), "twice the same is the same");
    }
}
