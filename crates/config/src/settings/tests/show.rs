use super::*;

#[test]
fn every_value_is_listed_with_its_source() {
    let world = World::new()
        .global("config.toml", "[providers.lab]\nbase_url = \"http://a\"\n[permission]\nread = \"deny\"")
        .var("ZDX_MODEL", "m");
    let listed: Vec<_> = describe(&world.resolve().unwrap())
        .into_iter()
        .map(|setting| (setting.key, setting.value, setting.source.to_string()))
        .collect();
    let line = |key: &str, value: &str, source: String| (key.to_owned(), value.to_owned(), source);
    let file = world.global_file("config.toml");
    for expected in [
        line("model", "\"m\"", "environment ZDX_MODEL".to_owned()),
        line("provider", "unset", "default".to_owned()),
        line("max_tokens", "8192", "default".to_owned()),
        line("providers.lab.base_url", "\"http://a\"", format!("{file}:2")),
        line("permission", "{\"read\":\"deny\"}", format!("{file}:3")),
    ] {
        assert!(listed.contains(&expected), "{expected:?} is missing in {listed:?}");
    }
}

/// The file with every example switched on.
fn uncommented() -> String {
    init_text()
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => setting,
            Some(_) | None => "",
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_initial_file_changes_nothing_as_it_is() {
    let resolved = World::new().global("config.toml", init_text()).resolve().unwrap();
    assert_eq!(resolved.notices, Vec::<String>::new());
    assert_eq!(resolved.config, World::new().config());
}

#[test]
fn the_initial_file_is_right_in_every_line_and_names_every_key() {
    let resolved = World::new().global("config.toml", &uncommented()).resolve().unwrap();
    assert_eq!(resolved.notices, Vec::<String>::new());
    for key in schema::KEYS {
        let name = key.segments().filter(|segment| *segment != "*").last().unwrap();
        let is_other_parts = key.kind == schema::ValueKind::Open;
        let is_variable = key.setter == schema::SettingOwner::Environment;
        let is_former = key.path == "retries";
        assert!(
            is_other_parts || is_variable || is_former || uncommented().contains(name),
            "{} is missing",
            key.path
        );
    }
}

#[test]
fn defaults_in_the_initial_file_are_the_real_ones() {
    let world = World::new().global("config.toml", &uncommented());
    let (mut of_file, real) = (world.config(), World::new().config());
    // It differs between servers unless it is set.
    assert_eq!(of_file.timeouts.first_byte.take().map(|limit| limit.as_secs()), Some(120));
    assert_eq!(
        (of_file.max_tokens, of_file.max_steps, of_file.tool_timeout, of_file.retry, of_file.timeouts),
        (real.max_tokens, real.max_steps, real.tool_timeout, real.retry, real.timeouts)
    );
    assert_eq!((of_file.logs, of_file.compaction), (real.logs, real.compaction));
    assert_eq!(of_file.cache.ttl_hours, real.cache.ttl_hours);
    assert_eq!(of_file.validation.max_attempts, real.validation.max_attempts);
    assert_eq!(of_file.validation.timeout, real.validation.timeout);
}
