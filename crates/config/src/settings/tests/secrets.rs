use super::*;

#[test]
fn a_key_in_a_file_is_refused_and_never_repeated() {
    let cases = [
        "api_key = \"sk-planted\"",
        "ANTHROPIC_API_KEY = \"sk-planted\"",
        "[providers.lab]\napi_key = \"sk-planted\"",
        "[providers.lab]\napiKey = \"sk-planted\"",
        "[providers.lab]\napi_key_env = \"sk-planted\"",
        "[providers.lab]\napi_key_env = [\"LAB\", \"sk-planted\"]",
        "[providers.lab]\ntoken = \"sk-planted\"",
        "[providers.lab.headers]\nAuthorization = \"Bearer sk-planted\"",
        "[providers.lab.headers]\nx-api-key = \"sk-planted\"",
        "[unheard.of]\napi_key = \"sk-planted\"",
        "[provider.lab.options]\napiKey = \"sk-planted\"",
        "[providers.lab.headers]\nX-Gateway-Token = \"planted\"",
        "[providers.lab.headers]\nx-portkey-auth = \"a-planted-9f8e7d6c5b\"",
        "[providers.lab.headers]\nX-Forward = \"Bearer planted\"",
        "[providers.lab.headers]\nX-Forward = \"basic planted\"",
        "[providers.lab.headers]\nx-team = \"sk-ant-api03-planted0123456789planted0123456789\"",
        "openai_base_url = \"http://me:planted@host/v1\"",
        "[providers.lab]\nbase_url = \"https://me:planted@host/v1\"",
        "[provider.lab.options]\nbaseURL = \"https://me:planted@host/v1\"",
        "[mcp.s]\nurl = \"https://u:planted@h\"",
        "[mcp.s.headers]\nAuthorization = \"Bearer planted\"",
    ];
    for text in cases {
        let world = World::new().global("config.toml", text);
        let error = world.error();
        assert!(matches!(world.resolve(), Err(ConfigError::Secret { .. })), "{text}: {error}");
        assert!(error.contains("environment variable") && error.contains("config.toml:"), "{error}");
        assert!(!error.contains("planted"), "{error}");
    }
}

#[test]
fn a_syntax_error_does_not_quote_the_line_it_is_on() {
    for (name, text) in [
        ("config.toml", "api_key = \"sk-planted\" oops"),
        ("config.toml", "api_key = sk-planted"),
        ("config.json", "{\"api_key\": \"sk-planted\" oops}"),
        ("config.json", "{\"api_key\": sk-planted}"),
    ] {
        let error = World::new().global(name, text).error();
        assert!(!error.contains("planted"), "{error}");
    }
}

#[test]
fn show_hides_what_might_be_a_secret() {
    let text = "[providers.lab.headers]\nx-id = \"planted\"\n\
                [mcp.s]\ncommand = [\"run\"]\napi_key = \"planted\"\n\
                [mcp.s.environment]\nA = \"planted\"";
    // A variable may hold one: that is what it is for.
    let world = World::new().global("config.toml", text).var("ZDX_BASE_URL", "http://me:planted@host/v1");
    let resolved = world.resolve().unwrap();
    let shown = format!("{:?}", describe(&resolved));
    assert!(!shown.contains("planted"), "{shown}");
    assert!(shown.contains("run") && shown.contains("host/v1"), "{shown}");
}
