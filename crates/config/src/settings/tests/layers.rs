use super::*;

#[test]
fn each_layer_beats_the_one_before_it() {
    let world = World::new();
    assert_eq!(source_of(&world.resolve().unwrap(), "max_tokens"), "default");
    let world = world.global("config.toml", "\nmodel = \"global\"\nmax_tokens = 1");
    let resolved = world.resolve().unwrap();
    assert_eq!(resolved.config.model.as_deref(), Some("global"));
    assert_eq!(source_of(&resolved, "model"), format!("{}:2", world.global_file("config.toml")));
    let world = world.project("config.json", "{\"model\": \"project\"}").trusted();
    let resolved = world.resolve().unwrap();
    assert_eq!((resolved.config.model.as_deref(), resolved.config.max_tokens), (Some("project"), 1));
    assert_eq!(source_of(&resolved, "model"), format!("{}:1", world.project_file("config.json")));
    let world = world.var("AGENT_MODEL", "agent");
    assert_eq!(world.config().model.as_deref(), Some("agent"));
    let world = world.var("ZDX_MODEL", "zdx");
    let resolved = world.resolve().unwrap();
    assert_eq!(resolved.config.model.as_deref(), Some("zdx"));
    assert_eq!(source_of(&resolved, "model"), "environment ZDX_MODEL");
    let world = world.flags(ConfigFlags { model: Some("flag".to_owned()), ..ConfigFlags::default() });
    let resolved = world.resolve().unwrap();
    assert_eq!(resolved.config.model.as_deref(), Some("flag"));
    assert_eq!(source_of(&resolved, "model"), "flag --model");
}

#[test]
fn the_environment_sets_provider_address_and_cache() {
    let world = World::new()
        .var("ZDX_PROVIDER", "lab")
        .var("AGENT_BASE_URL", "http://127.0.0.1:9/v1")
        .var("ZDX_CACHE", "/cache");
    let config = world.config();
    assert_eq!(config.provider.as_deref(), Some("lab"));
    assert_eq!(config.base_url.as_deref(), Some("http://127.0.0.1:9/v1"));
    assert_eq!(config.cache.dir, Some(PathBuf::from("/cache")));
    let error = World::new().var("ZDX_BASE_URL", "localhost:9").error();
    assert_eq!(
        error,
        "environment ZDX_BASE_URL: base_url: expected an address that begins with http:// or https://"
    );
}

#[test]
fn an_empty_variable_or_text_is_not_set() {
    let world = World::new()
        .global("config.toml", "model = \"m\"\nanthropic_base_url = \"\"\nsystem_prompt = \"\"")
        .var("ZDX_MODEL", "");
    let config = world.config();
    assert_eq!(config.model.as_deref(), Some("m"));
    assert!(config.providers.is_empty());
    assert_eq!(config.system_prompt, SystemPrompt::BuiltIn);
}

#[test]
fn every_flag_reaches_its_field() {
    let flags = ConfigFlags {
        model: Some("m".to_owned()),
        provider: Some("p".to_owned()),
        system_prompt: Some("s".to_owned()),
        temperature: Some(1.5),
        top_p: Some(0.1),
        max_tokens: Some(7),
        max_steps: Some(0),
        tool_timeout_secs: Some(3),
        stream: Some(false),
        approval: Some(zdx_protocol::Approval::Paranoid),
        mcp: Vec::new(),
    };
    let text = "temperature = 0\ntop_p = 1\nmax_tokens = 9\nmax_steps = 9\ntool_timeout_secs = 9\nstream = true\n\
                approval = \"yolo\"\n[models.m]\nmax_tokens = 5";
    let config = World::new().global("config.toml", text).flags(flags).config();
    assert_eq!((config.model.as_deref(), config.provider.as_deref()), (Some("m"), Some("p")));
    assert_eq!(config.system_prompt, SystemPrompt::Text("s".to_owned()));
    assert_eq!((config.temperature, config.top_p, config.max_tokens), (Some(1.5), Some(0.1), 7));
    assert_eq!((config.max_steps, config.stream), (None, false));
    assert_eq!(config.tool_timeout, Some(std::time::Duration::from_secs(3)));
    assert_eq!(config.approval, Some(zdx_protocol::Approval::Paranoid));
    // Asked for on the command line, it holds for every model.
    assert_eq!(config.model_entry("p", "m").max_tokens, None);
    let error = World::new().flags(ConfigFlags { temperature: Some(9.0), ..ConfigFlags::default() }).error();
    assert_eq!(error, "flag --temperature: temperature: expected a number from 0 to 2, found 9.0");
}

#[test]
fn a_named_file_replaces_the_global_one_and_must_exist() {
    let world = World::new().global("config.toml", "model = \"usual\"\nretries = 9");
    let other = world.home.join("other.conf");
    fs::write(&other, "{\"model\": \"named\"}").unwrap();
    let config = world.var("ZDX_CONFIG", &other).config();
    assert_eq!((config.model.as_deref(), config.retry.max_attempts), (Some("named"), 10));
    let error = World::new().var("AGENT_CONFIG", "/nowhere/c.toml").error();
    assert!(error.starts_with("cannot read /nowhere/c.toml: ") && error.contains("AGENT_CONFIG"), "{error}");
    let world = World::new().global("config.toml", "model = \"usual\"").var("ZDX_CONFIG", "/dev/null");
    assert_eq!(world.config().model, None);
}

#[test]
fn a_project_that_is_zdx_home_is_read_once_and_as_the_users_own() {
    let mut world = World::new().project("config.toml", "model = \"m\"\n[permission]\nread = \"allow\"");
    world.base = world.root.join(".zdx");
    let resolved = world.resolve().unwrap();
    assert_eq!(resolved.config.model.as_deref(), Some("m"));
    assert_eq!((resolved.notices.len(), resolved.config.permission.len()), (0, 1));
}

#[test]
fn tables_merge_field_by_field_and_rules_stay_apart() {
    let world = World::new()
        .global(
            "config.toml",
            "[providers.lab]\nwire = \"anthropic\"\nbase_url = \"http://a\"\n[permission]\nbash = \"ask\"\n\
             [mcp.one]\ncommand = [\"1\"]\nenabled = true",
        )
        .project(
            "config.toml",
            "[providers.lab]\nbase_url = \"http://b\"\n[permission]\nbash = \"allow\"\n[mcp.one]\ncommand = [\"2\"]",
        )
        .trusted();
    let config = world.config();
    assert_eq!(config.providers["lab"].wire, Some(zdx_models::wire::Wire::Anthropic));
    assert_eq!(config.providers["lab"].base_url.as_deref(), Some("http://b"));
    // A server is one thing: half of one file's and half of another's would be neither.
    assert_eq!(config.mcp.servers["one"], serde_json::json!({ "command": ["2"] }));
    let rules: Vec<_> = config
        .permission
        .iter()
        .map(|rules| (rules.source.layer(), rules.trusted, rules.value["bash"].clone()))
        .collect();
    assert_eq!(
        rules,
        [(ConfigLayer::Global, true, "ask".into()), (ConfigLayer::Project, true, "allow".into())]
    );
}

#[test]
fn lists_that_tighten_grow_and_others_are_replaced() {
    let world = World::new()
        .global(
            "config.toml",
            "dangerous_patterns = [\"a\", \"b\"]\nwhitelist = [\"a\"]\ninstructions = [\"g.md\"]",
        )
        .project(
            "config.toml",
            "dangerous_patterns = [\"b\", \"c\"]\nwhitelist = [\"z\"]\ninstructions = [\"p.md\"]",
        )
        .trusted();
    let config = world.config();
    assert_eq!(config.dangerous_patterns, ["a", "b", "c"]);
    assert_eq!(config.whitelist, ["z"]);
    let files = instruction_files(&config);
    assert_eq!(files, [world.base.join("g.md"), world.root.join("p.md")]);
}

#[test]
fn a_vendors_address_is_its_providers_base_url() {
    let text = r#"{"providers": {"anthropic": {"base_url": "http://table"}},
        "anthropic_base_url": "http://short", "openrouter_base_url": "http://r"}"#;
    let config = World::new().global("config.json", text).config();
    assert_eq!(config.providers["anthropic"].base_url.as_deref(), Some("http://table"));
    assert_eq!(config.providers["openrouter"].base_url.as_deref(), Some("http://r"));
    let world = World::new()
        .global("config.toml", "[providers.anthropic]\nbase_url = \"http://table\"")
        .project("config.toml", "anthropic_base_url = \"http://short\"")
        .trusted();
    let resolved = world.resolve().unwrap();
    assert_eq!(resolved.config.providers["anthropic"].base_url.as_deref(), Some("http://short"));
    assert_eq!(
        source_of(&resolved, "providers.anthropic.base_url"),
        format!("{}:1", world.project_file("config.toml"))
    );
}

#[test]
fn the_former_name_of_a_key_still_holds() {
    let attempts = |text: &str| World::new().global("config.toml", text).config().retry.max_attempts;
    assert_eq!(attempts("retries = 3"), 3);
    assert_eq!(
        attempts("retries = 3\n[retry]\nmax_attempts = 4"),
        4,
        "the key itself is the more explicit one"
    );
    let config = World::new().global("config.toml", "[retry]\nmax_seconds = 7").config();
    assert_eq!((config.retry.max_attempts, config.retry.max_time.as_secs()), (10, 7));
}

#[test]
fn the_system_prompt_comes_from_the_strongest_layer_and_there_from_the_file() {
    let both = "system_prompt = \"text\"\nsystem_prompt_file = \"p.md\"";
    let world = World::new().global("config.toml", both);
    let SystemPrompt::File(file) = world.config().system_prompt else { panic!("expected the file") };
    assert_eq!((file.path, file.confined_to), (world.base.join("p.md"), None));
    let world = world.project("config.toml", "system_prompt = \"project\"").trusted();
    assert_eq!(world.config().system_prompt, SystemPrompt::Text("project".to_owned()));
    let flag = |text: &str| ConfigFlags { system_prompt: Some(text.to_owned()), ..ConfigFlags::default() };
    let world = world.flags(flag("mine"));
    assert_eq!(world.config().system_prompt, SystemPrompt::Text("mine".to_owned()));
    assert_eq!(world.flags(flag("")).config().system_prompt, SystemPrompt::Nothing);
}

#[test]
fn provider_may_be_a_text_or_a_table() {
    let of = |text: &str| {
        let resolved = World::new().global("config.jsonc", text).resolve().unwrap();
        assert_eq!(resolved.notices, Vec::<String>::new(), "{text}");
        resolved.config
    };
    assert_eq!(of(r#"{"provider": "openai"}"#).provider.as_deref(), Some("openai"));

    let one = of(r#"{"provider": {"name": "vllm", "base_url": "http://127.0.0.1:8000/v1",
        "models": {"qwen": {"context_limit": 4096, "max_tokens": 512}}}}"#);
    assert_eq!(one.provider.as_deref(), Some("vllm"));
    assert_eq!(one.providers["vllm"].base_url.as_deref(), Some("http://127.0.0.1:8000/v1"));
    let expected = ModelEntry { context_limit: Some(4096), max_tokens: Some(512), images: None };
    assert_eq!(one.model_entry("vllm", "qwen"), expected);

    let nameless = of(r#"{"provider": {"baseURL": "http://h/v1", "models": ["a", "b"]}}"#);
    assert_eq!(nameless.provider.as_deref(), Some("local"));
    assert_eq!(nameless.providers["local"].base_url.as_deref(), Some("http://h/v1"));

    let many = of(r#"{"provider": {
        "a": {"npm": "x", "name": "A", "options": {"baseURL": "http://a/v1"},
              "models": {"m": {"name": "M", "limit": {"context": 4096, "output": 512}}}},
        "b": {"wire": "anthropic"}}}"#);
    assert_eq!(many.provider, None);
    assert_eq!(many.providers.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(many.providers["a"].base_url.as_deref(), Some("http://a/v1"));
    assert_eq!(many.model_entry("a", "m"), expected);

    let world = World::new().global("config.jsonc", "{\n\"provider\": {\n \"a\": 3}}");
    assert_eq!(
        world.error(),
        format!("{}:3: providers.a: expected a table, found a number", world.global_file("config.jsonc"))
    );
    let world = World::new().global("config.json", "{\"provider\": 3}");
    assert!(world.error().ends_with(":1: provider: expected text, found a number"));
}
