use super::*;

fn none(_: &str) -> Option<String> {
    None
}

fn all_keys(name: &str) -> Option<String> {
    name.ends_with("_KEY").then(|| format!("key of {name}"))
}

fn catalogue(extra: &str) -> Catalogue {
    Catalogue::with(&toml::from_str(extra).unwrap()).unwrap()
}

fn lab() -> Catalogue {
    catalogue(
        "[lab]\nwire = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"LAB_KEY\"",
    )
}

#[track_caller]
fn resolved(model: &str, provider: Option<&str>) -> (String, String) {
    let endpoint = lab().resolve(model, provider, &all_keys).unwrap();
    (endpoint.provider, endpoint.model)
}

#[track_caller]
fn refused(catalogue: &Catalogue, model: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
    match catalogue.resolve(model, None, env).unwrap_err() {
        ModelError::Setup(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_listed_provider_is_there_and_whole() {
    let catalogue = catalogue("");
    for name in [
        "anthropic",
        "openai",
        "openrouter",
        "vllm",
        "llamacpp",
        "ollama",
        "lmstudio",
        "dashscope",
        "dashscope-intl",
        "dashscope-us",
        "siliconflow",
    ] {
        let endpoint = catalogue.resolve("x", Some(name), &all_keys).unwrap();
        assert_eq!((endpoint.provider.as_str(), endpoint.model.as_str()), (name, "x"));
        assert!(!catalogue.provider(name).unwrap().base_url_env.is_empty(), "{name}");
    }
}

#[test]
fn a_first_segment_names_a_provider_only_when_it_is_one() {
    assert_eq!(resolved("lab/qwen3-coder", None), ("lab".into(), "qwen3-coder".into()));
    assert_eq!(resolved("lab/qwen/qwen3-coder", None), ("lab".into(), "qwen/qwen3-coder".into()));
    assert_eq!(
        resolved("lab//models/qwen3", None),
        ("lab".into(), "/models/qwen3".into()),
        "a path, as vLLM lists it"
    );
    assert_eq!(
        resolved("qwen/qwen3-coder", Some("openrouter")),
        ("openrouter".into(), "qwen/qwen3-coder".into())
    );
    assert_eq!(
        resolved("anthropic/claude-x", Some("openrouter")),
        ("openrouter".into(), "anthropic/claude-x".into())
    );
    assert_eq!(resolved("lab/qwen", Some("lab")), ("lab".into(), "qwen".into()));
    assert_eq!(resolved("claude-sonnet-4-5", None), ("anthropic".into(), "claude-sonnet-4-5".into()));
    assert_eq!(resolved("gpt-5-mini", None), ("openai".into(), "gpt-5-mini".into()));
    assert!(lab().resolve("demo", None, &none).unwrap().is_demo());
    assert!(lab().resolve("demo/demo", None, &none).unwrap().is_demo());
    assert!(lab().resolve("anything", Some("demo"), &none).unwrap().is_demo());
}

#[test]
fn what_cannot_be_resolved_says_what_to_write() {
    let catalogue = lab();
    assert!(refused(&catalogue, "mystery", &all_keys).contains("provider/mystery"));
    assert!(refused(&catalogue, "nobody/mystery", &all_keys).contains("lab"));
    assert!(refused(&catalogue, "lab/", &all_keys).contains("lab/<model>"));
    // Open weights are served by many: no guess.
    assert!(refused(&catalogue, "gpt-oss-20b", &all_keys).contains("provider/gpt-oss-20b"));
    let error = catalogue.resolve("x", Some("nobody"), &none).unwrap_err().to_string();
    assert!(error.contains("[providers.nobody]"), "{error}");
}

#[test]
fn a_missing_key_names_the_variable_and_the_way_without_one() {
    let text = refused(&lab(), "anthropic/claude-x", &none);
    assert!(text.contains("ANTHROPIC_API_KEY") && text.contains("ollama"), "{text}");
    assert!(text.lines().count() <= 2, "{text}");
    assert!(refused(&lab(), "lab/x", &none).contains("LAB_KEY"));
}

#[test]
fn keys_fall_back_in_order_and_are_refused_when_broken() {
    let catalogue = lab();
    let env = |name: &str| match name {
        "AGENT_API_KEY" => Some(" ".to_owned()),
        "DASHSCOPE_API_KEY" => Some(" second \n".to_owned()),
        _ => None,
    };
    let endpoint = catalogue.resolve("dashscope/qwen-plus", None, &env).unwrap();
    assert_eq!(endpoint.api_key.unwrap().expose(), "second");
    let both = |name: &str| env(name).map(|_| format!("{name}-value"));
    let endpoint = catalogue.resolve("dashscope/qwen-plus", None, &both).unwrap();
    assert_eq!(endpoint.api_key.unwrap().expose(), "AGENT_API_KEY-value");
    let broken = |name: &str| (name == "LAB_KEY").then(|| "a\nb".to_owned());
    assert!(refused(&catalogue, "lab/x", &broken).contains("LAB_KEY"));
    assert_eq!(catalogue.resolve("vllm/x", None, &none).unwrap().api_key, None);
}

#[test]
fn the_environment_moves_a_base_url_before_the_configuration_does() {
    let catalogue = catalogue("[anthropic]\nbase_url = \"http://configured/\"\nheaders = { x-a = \"1\" }");
    let env = |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some("k".to_owned()),
        "ANTHROPIC_BASE_URL" => Some("http://from-env".to_owned()),
        _ => None,
    };
    let endpoint = catalogue.resolve("anthropic/m", None, &env).unwrap();
    assert_eq!(endpoint.base_url, "http://from-env");
    assert_eq!(endpoint.headers["x-a"], "1");
    let empty = |name: &str| if name == "ANTHROPIC_BASE_URL" { Some(String::new()) } else { env(name) };
    let endpoint = catalogue.resolve("anthropic/m", None, &empty).unwrap();
    assert_eq!(endpoint.base_url, "http://configured/");
    assert_eq!(endpoint.wire, Wire::Anthropic);
}

#[test]
fn half_an_entry_says_what_is_missing() {
    let no_wire = catalogue("[lab]\nbase_url = \"http://h\"");
    assert!(refused(&no_wire, "lab/x", &none).contains("wire"));
    let no_url = catalogue("[lab]\nwire = \"anthropic\"");
    assert!(refused(&no_url, "lab/x", &none).contains("base_url"));
    let bad_url = catalogue("[lab]\nwire = \"anthropic\"\nbase_url = \"lab:1\"");
    assert!(refused(&bad_url, "lab/x", &none).contains("lab:1"));
    let taken = toml::from_str("[demo]\nwire = \"anthropic\"").unwrap();
    assert!(Catalogue::with(&taken).is_err());
}

#[test]
fn context_limits_go_by_the_longest_known_beginning() {
    let catalogue = catalogue("");
    assert_eq!(catalogue.context_limit("claude-sonnet-4-5"), Some(200_000));
    assert_eq!(catalogue.context_limit("openai/gpt-4.1-mini"), Some(1_047_576));
    assert_eq!(catalogue.context_limit("Qwen/Qwen3-Coder-30B-A3B-Instruct"), Some(262_144));
    assert_eq!(catalogue.context_limit("my-finetune"), None);
}
