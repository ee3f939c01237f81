use super::*;

#[test]
fn without_any_file_the_documented_defaults_hold() {
    let config = World::new().config();
    assert_eq!(config.max_tokens, 8192);
    assert_eq!(config.max_steps, Some(200));
    assert_eq!(config.tool_timeout, Some(std::time::Duration::from_secs(120)));
    assert_eq!(config.retry.max_attempts, 10);
    assert!(config.stream && config.compaction.auto && config.compaction.prune);
    assert_eq!(config.timeouts, zdx_models::Timeouts::default());
    assert_eq!(config.system_prompt, SystemPrompt::BuiltIn);
    assert_eq!((config.model, config.provider, config.approval, config.base_url), (None, None, None, None));
    assert!(config.providers.is_empty() && config.permission.is_empty());
}

/// Every key at once: the schema and `Config` must not drift apart.
const EVERYTHING: &str = r#"
model = "lab/qwen"
provider = "lab"
max_tokens = 100
temperature = 0
top_p = 0.5
thinking_budget = 2048
stream = false
tool_timeout_secs = 0
max_steps = 0
retries = 0
system_prompt = "hi"
instructions = ["a.md", "~/b.md", "/c.md"]
approval = "god_mode"
dangerous_patterns = ["x"]
blacklist_patterns = ["y"]
whitelist = ["z"]
openai_base_url = "https://proxy.example/v1"
permission = { bash = { "*" = "ask", "a *" = "allow" }, "*" = "deny", read = "allow" }

[timeouts]
connect_secs = 0.5
first_byte_secs = 2
idle_secs = 3.25

[env]
pass = ["A", "B"]

[providers.lab]
wire = "openai-chat"
base_url = "http://127.0.0.1:8000/v1"
base_url_env = ["LAB_URL", "LAB_URL_2"]
api_key_env = "LAB_KEY"
ca_file = "ca.pem"
headers = { x-team = "a" }

[models."lab/qwen3.5"]
context_limit = 32768
max_tokens = 1000

[compaction]
auto = false
prune = false

[validation]
command = "make test"
max_attempts = 1
timeout_secs = 9

[mcp.zeta]
command = ["z"]
[mcp.alpha]
command = ["a"]

[agent.review]
mode = "primary"

[skills]
paths = ["s"]

[logs]
level = "debug"
max_bytes = 9999
files = 2

[cache]
dir = "~/kept"
ttl_hours = 1
"#;

#[test]
fn every_key_reaches_its_field() {
    use std::time::Duration;
    let world = World::new().global("config.toml", EVERYTHING);
    let resolved = world.resolve().unwrap();
    assert_eq!(resolved.notices, Vec::<String>::new());
    assert_eq!(resolved.files, [world.base.join("config.toml")]);
    let config = resolved.config;
    assert_eq!(config.model.as_deref(), Some("lab/qwen"));
    assert_eq!(config.provider.as_deref(), Some("lab"));
    assert_eq!((config.max_tokens, config.temperature, config.top_p), (100, Some(0.0), Some(0.5)));
    assert_eq!((config.thinking_budget, config.stream), (Some(2048), false));
    assert_eq!((config.tool_timeout, config.max_steps, config.retry.max_attempts), (None, None, 0));
    assert_eq!(config.timeouts.connect, Duration::from_millis(500));
    assert_eq!(config.timeouts.idle, Duration::from_millis(3250));
    assert_eq!(config.system_prompt, SystemPrompt::Text("hi".to_owned()));
    let instructions = instruction_files(&config);
    assert_eq!(instructions, [world.base.join("a.md"), world.home.join("b.md"), PathBuf::from("/c.md")]);
    assert_eq!(config.approval, Some(zdx_protocol::Approval::Yolo));
    let lab = &config.providers["lab"];
    assert_eq!(lab.wire, Some(zdx_models::wire::Wire::OpenaiChat));
    assert_eq!(lab.base_url.as_deref(), Some("http://127.0.0.1:8000/v1"));
    assert_eq!(lab.base_url_env, ["LAB_URL", "LAB_URL_2"]);
    assert_eq!(lab.api_key_env, ["LAB_KEY"]);
    assert_eq!(lab.ca_file, Some(world.base.join("ca.pem")));
    assert_eq!(lab.headers["x-team"], "a");
    assert_eq!(config.providers["openai"].base_url.as_deref(), Some("https://proxy.example/v1"));
    let model = ModelEntry { context_limit: Some(32768), max_tokens: Some(1000), images: None };
    assert_eq!(config.model_entry("lab", "qwen3.5"), model);
    assert_eq!(config.model_entry("other", "qwen3.5"), ModelEntry::default());
    assert_eq!(config.env.pass, ["A", "B"]);
    assert_eq!(config.validation.command.as_deref(), Some("make test"));
    assert_eq!(
        (config.validation.max_attempts, config.validation.timeout),
        (1, Some(Duration::from_secs(9)))
    );
    assert_eq!(config.mcp.servers.keys().collect::<Vec<_>>(), ["zeta", "alpha"]);
    assert_eq!(config.agent["review"]["mode"], "primary");
    assert_eq!(config.skills["paths"][0], "s");
    assert_eq!((config.logs.level.as_str(), config.logs.max_bytes, config.logs.files), ("debug", 9999, 2));
    assert_eq!((config.cache.dir, config.cache.ttl_hours), (Some(world.home.join("kept")), 1));
    assert_eq!((config.compaction.auto, config.compaction.prune), (false, false));
    assert_eq!(config.dangerous_patterns, ["x"]);
    assert_eq!(config.blacklist_patterns, ["y"]);
    assert_eq!(config.whitelist, ["z"]);
    // "Last match wins" needs the order in which the rules were written, in both levels.
    let rules = serde_json::to_string(&config.permission[0].value).unwrap();
    assert_eq!(rules, r#"{"bash":{"*":"ask","a *":"allow"},"*":"deny","read":"allow"}"#);
}

#[test]
fn toml_json_and_jsonc_say_the_same() {
    let toml = "model = \"m\"\n[permission.bash]\n\"z *\" = \"deny\"\n\"a *\" = \"ask\"\n";
    let json = r#"{"model": "m", "permission": {"bash": {"z *": "deny", "a *": "ask"}}}"#;
    let jsonc = "{\n // why\n \"model\": \"m\", /* and */\n \"permission\": {\"bash\": {\"z *\": \"deny\", \"a *\": \"ask\",},},\n}";
    let of = |name, text| {
        let config = World::new().global(name, text).config();
        (config.model.clone(), serde_json::to_string(&config.permission[0].value).unwrap())
    };
    let expected = (Some("m".to_owned()), r#"{"bash":{"z *":"deny","a *":"ask"}}"#.to_owned());
    assert_eq!(of("config.toml", toml), expected);
    assert_eq!(of("config.json", json), expected);
    assert_eq!(of("config.jsonc", jsonc), expected);
}

#[test]
fn two_files_in_one_folder_are_an_error_that_names_both() {
    let world = World::new().global("config.toml", "").global("config.jsonc", "{}");
    let error = world.error();
    assert!(error.contains(&world.global_file("config.toml")), "{error}");
    assert!(error.contains(&world.global_file("config.jsonc")), "{error}");
    let world = World::new().project("config.json", "{}").project("config.jsonc", "{}");
    assert!(matches!(world.resolve(), Err(ConfigError::TwoFiles { .. })));
}

#[test]
fn a_wrong_type_is_an_error_with_file_line_and_expectation() {
    let world = World::new().global("config.toml", "# one\n\nmax_tokens = \"many\"\n");
    assert_eq!(
        world.error(),
        format!("{}:3: max_tokens: expected a whole number, found text", world.global_file("config.toml"))
    );
    let world =
        World::new().global("config.jsonc", "{\n // c\n \"timeouts\": {\n  \"idle_secs\": [1]\n }\n}");
    assert_eq!(
        world.error(),
        format!(
            "{}:4: timeouts.idle_secs: expected a number, found a list",
            world.global_file("config.jsonc")
        )
    );
    let cases = [
        ("providers = 3", "1: providers: expected a table, found a number"),
        ("\n[providers]\nlab = \"x\"", "3: providers.lab: expected a table, found text"),
        ("stream = 1", "1: stream: expected true or false, found a number"),
        ("max_tokens = 1.5", "1: max_tokens: expected a whole number, found a fraction"),
        ("max_tokens = 0", "1: max_tokens: expected a whole number from 1 to 4294967295, found 0"),
        ("retries = -1", "1: retries: expected a whole number from 0 to 100, found -1"),
        ("temperature = 3", "1: temperature: expected a number from 0 to 2, found 3"),
        ("approval = \"lax\"", "1: approval: expected one of yolo, balanced, paranoid, found \"lax\""),
        ("whitelist = \"ls\"", "1: whitelist: expected a list of texts, found text"),
        ("whitelist = [\n \"ls\",\n 3,\n]", "3: whitelist: expected text, found a number"),
        (
            "[permission.bash]\n\"ls *\" = \"yes\"",
            "2: permission: expected one of allow, ask, deny, found \"yes\"",
        ),
        (
            "openai_base_url = \"host:80\"",
            "1: openai_base_url: expected an address that begins with http:// or https://",
        ),
        (
            "[models.\"a/b.c\"]\ncontext_limit = true",
            "2: models.\"a/b.c\".context_limit: expected a whole number, found true or false",
        ),
    ];
    for (text, expected) in cases {
        let world = World::new().global("config.toml", text);
        assert_eq!(world.error(), format!("{}:{expected}", world.global_file("config.toml")), "{text}");
    }
    let error = World::new().global("config.toml", "[providers.x]\nwire = \"soap\"").error();
    assert!(error.contains(":2: providers.x.wire: ") && error.contains("openai-chat"), "{error}");
}

#[test]
fn broken_syntax_is_an_error_with_its_line() {
    let line_of = |name: &str, text: &str| match World::new().global(name, text).resolve() {
        Err(ConfigError::Syntax { line, .. }) => line,
        other => panic!("{text:?} gave {other:?}"),
    };
    assert_eq!(line_of("config.toml", "a = 1\nb = \n"), 2);
    assert_eq!(line_of("config.toml", "model = \"a\"\n\nmodel = \"b\"\n"), 3);
    assert_eq!(line_of("config.jsonc", "{\n \"a\": 1,\n \"b\" 2\n}"), 3);
    assert_eq!(line_of("config.jsonc", "{\n \"model\": \"a\",\n \"model\": \"b\"\n}"), 3);
    assert_eq!(line_of("config.json", "[1]"), 1);
    assert_eq!(line_of("config.json", &format!("{{\"a\":{}", "[".repeat(100_000))), 1);
    assert_eq!(line_of("config.toml", &format!("a = {}", "[".repeat(100_000))), 1);
    let world = World::new();
    fs::write(world.base.join("config.toml"), b"a = 1\nb = \"\xff\"\n").unwrap();
    assert!(matches!(world.resolve(), Err(ConfigError::Syntax { line: 2, .. })));
}

#[test]
fn an_unknown_key_warns_with_the_nearest_known_one() {
    let notice = |text: &str| {
        let world = World::new().global("config.toml", text);
        let notices = world.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        notices[0].replace(&world.global_file("config.toml"), "F")
    };
    assert_eq!(notice("modle = \"x\""), "F:1: unknown key modle is ignored; did you mean model?");
    assert_eq!(notice("\nmaxTokens = 5"), "F:2: unknown key maxTokens is ignored; did you mean max_tokens?");
    assert_eq!(
        notice("[providers.lab]\nbaseurl = \"http://x\""),
        "F:2: unknown key providers.lab.baseurl is ignored; did you mean providers.lab.base_url?"
    );
    assert_eq!(
        notice("base_url = \"http://x\""),
        "F:1: unknown key base_url is ignored; did you mean providers.<name>.base_url?"
    );
    assert_eq!(notice("[frobnicate]\nx = 1"), "F:1: unknown key frobnicate is ignored");
}

#[test]
fn a_flood_of_unknown_keys_is_counted_not_listed() {
    let text: String = (0..500).map(|n| format!("unheard_of_{n} = 1\n")).collect();
    let notices = World::new().global("config.toml", &text).notices();
    assert_eq!(notices.len(), 11);
    assert!(notices[10].contains("490 more"), "{}", notices[10]);
}

#[test]
fn a_file_that_is_no_file_or_too_large_is_refused() {
    let world = World::new();
    let file = world.base.join("config.toml");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert!(matches!(world.resolve(), Err(ConfigError::Unreadable { .. })));
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    assert!(matches!(world.resolve(), Err(ConfigError::Unreadable { .. })));
    let world = World::new().global("config.toml", &"#".repeat((1 << 20) + 1));
    assert!(matches!(world.resolve(), Err(ConfigError::TooLarge { .. })));
}

#[test]
fn a_byte_order_mark_is_no_syntax_error() {
    assert_eq!(
        World::new().global("config.toml", "\u{feff}model = \"m\"").config().model.as_deref(),
        Some("m")
    );
}
