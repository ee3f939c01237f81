//! Every key zdx knows: its type, its default, the variables that set it, and who may set it.
//! A new key is a line here and a field in `Config`; nothing else lists keys.

/// One key. In `path`, `*` stands for a name the user chose.
#[derive(Debug)]
pub struct SettingKey {
    pub path: &'static str,
    pub kind: ValueKind,
    pub setter: SettingOwner,
    /// JSON.
    pub default: Option<&'static str>,
    /// Variables that set it, the first one set wins.
    pub env: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    Text,
    Url,
    /// A file or folder, relative to the configuration file that names it; `~/` is the user's home.
    Path,
    Flag,
    Whole {
        min: u64,
        max: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    OneOf(&'static [&'static str]),
    /// How much may happen unasked. `god_mode` is another agent's word for the first of them.
    Preset,
    Wire,
    /// A list of texts that replaces a weaker layer's.
    Texts,
    /// A list of texts that is added to a weaker layer's.
    MoreTexts,
    /// A list of files that is added to a weaker layer's.
    MorePaths,
    /// One or more names of environment variables.
    Variables,
    Header,
    /// A table of permission rules, in written order.
    Rules,
    /// A table that its own part reads, in written order.
    Open,
}

/// Who may set a key. What a project may do before the user trusts it is decided here and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOwner {
    /// The user; a project only once it is trusted.
    User,
    /// No file at all.
    Environment,
    /// Anyone: it neither runs, sends nor permits anything.
    Anyone,
    /// An untrusted project may only lower the number; zero means no limit.
    Lower,
    /// An untrusted project may only choose a stricter value.
    Stricter,
    /// An untrusted project may add to it: more entries only tighten.
    Add,
    /// An untrusted project's rules are kept as such, and policy lets them only raise a verdict.
    Raise,
    /// An untrusted project's text, or a file of its own, is told to the model; it replaces nothing.
    Inform,
}

const fn key(path: &'static str, kind: ValueKind, setter: SettingOwner) -> SettingKey {
    SettingKey { path, kind, setter, default: None, env: &[] }
}

impl SettingKey {
    const fn default(self, json: &'static str) -> Self {
        Self { default: Some(json), ..self }
    }

    const fn env(self, names: &'static [&'static str]) -> Self {
        Self { env: names, ..self }
    }

    pub fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('.')
    }
}

const ANY_U32: ValueKind = ValueKind::Whole { min: 0, max: u32::MAX as u64 };
const AT_LEAST_1: ValueKind = ValueKind::Whole { min: 1, max: u32::MAX as u64 };
/// A year: longer is a slip of the pen, and no timer has to cope with it.
const SECONDS_OR_NONE: ValueKind = ValueKind::Whole { min: 0, max: 31_536_000 };
const SECONDS: ValueKind = ValueKind::Number { min: 0.001, max: 31_536_000.0 };

use SettingOwner::{Add, Anyone, Environment, Inform, Lower, Raise, Stricter, User};
use ValueKind::{
    Flag, Header, MorePaths, MoreTexts, Number, OneOf, Open, Path, Preset, Rules, Text, Texts, Url,
    Variables, Whole, Wire,
};

pub const KEYS: &[SettingKey] = &[
    key("model", Text, User).env(&["ZDX_MODEL", "AGENT_MODEL"]),
    key("provider", Text, User).env(&["ZDX_PROVIDER"]),
    key("base_url", Url, Environment).env(&["ZDX_BASE_URL", "AGENT_BASE_URL"]),
    key("max_tokens", AT_LEAST_1, Lower).default("8192"),
    key("temperature", Number { min: 0.0, max: 2.0 }, Anyone),
    key("top_p", Number { min: 0.0, max: 1.0 }, Anyone),
    key("thinking_budget", ANY_U32, User),
    key("stream", Flag, Anyone).default("true"),
    key("tool_timeout_secs", SECONDS_OR_NONE, Lower).default("120"),
    key("max_steps", ANY_U32, Lower).default("200"),
    key("max_image_bytes", Whole { min: 0, max: 1 << 30 }, Lower).default("5242880"),
    key("retry.max_attempts", Whole { min: 0, max: 100 }, User).default("10"),
    key("retry.max_seconds", Whole { min: 0, max: 86_400 }, User).default("300"),
    key("retries", Whole { min: 0, max: 100 }, User),
    key("timeouts.connect_secs", SECONDS, User).default("10"),
    key("timeouts.first_byte_secs", SECONDS, User),
    key("timeouts.idle_secs", SECONDS, User).default("90"),
    key("system_prompt", Text, Inform),
    key("system_prompt_file", Path, Inform),
    key("instructions", MorePaths, Inform).default("[]"),
    key("approval", Preset, Stricter),
    key("permission", Rules, Raise),
    key("dangerous_patterns", MoreTexts, Add).default("[]"),
    key("blacklist_patterns", MoreTexts, Add).default("[]"),
    key("whitelist", Texts, User).default("[]"),
    key("env.pass", Texts, User).default("[]"),
    key("anthropic_base_url", Url, User),
    key("openai_base_url", Url, User),
    key("openrouter_base_url", Url, User),
    key("gemini_base_url", Url, User),
    key("providers.*.wire", Wire, User),
    key("providers.*.base_url", Url, User),
    key("providers.*.base_url_env", Variables, User),
    key("providers.*.api_key_env", Variables, User),
    key("providers.*.auth", OneOf(&["bearer", "x-api-key"]), User),
    key("providers.*.headers.*", Header, User),
    key("providers.*.ca_file", Path, User),
    key("models.*.context_limit", Whole { min: 1, max: u64::MAX }, User),
    key("models.*.max_tokens", AT_LEAST_1, User),
    key("models.*.images", Flag, User),
    key("compaction.auto", Flag, User).default("true"),
    key("compaction.prune", Flag, User).default("true"),
    key("validation.enabled", Flag, User).default("true"),
    key("validation.command", Text, User),
    key("validation.max_attempts", Whole { min: 1, max: 20 }, User).default("3"),
    key("validation.timeout_secs", SECONDS_OR_NONE, User).default("300"),
    key("tasks.max_parallel", Whole { min: 1, max: 64 }, User).default("4"),
    // Before the servers: what stands here is no server's name.
    key("mcp.first_wait_ms", Whole { min: 0, max: 600_000 }, User).default("2000"),
    key("mcp.max_tools", ANY_U32, User).default("32"),
    key("mcp.max_schema_bytes", ANY_U32, User).default("16384"),
    key("mcp.total_tools", ANY_U32, User).default("64"),
    key("mcp.total_schema_bytes", ANY_U32, User).default("32768"),
    key("mcp.*", Open, User),
    key("acp.agents.*", Open, User),
    key("agent.*", Open, User),
    key("skills.*", Open, User),
    key("logs.level", OneOf(&["off", "error", "warn", "info", "debug", "trace"]), User).default("\"info\""),
    key("logs.max_bytes", Whole { min: 4096, max: 1 << 40 }, User).default("5242880"),
    key("logs.files", Whole { min: 1, max: 100 }, User).default("3"),
    key("cache.dir", Path, User).env(&["ZDX_CACHE", "AGENT_CACHE"]),
    key("cache.ttl_hours", Whole { min: 0, max: 87_600 }, User).default("168"),
];

/// Keys that are short, or former, names of others.
pub const ALIASES: &[(&str, &[&str])] = &[
    ("retries", &["retry", "max_attempts"]),
    ("anthropic_base_url", &["providers", "anthropic", "base_url"]),
    ("openai_base_url", &["providers", "openai", "base_url"]),
    ("openrouter_base_url", &["providers", "openrouter", "base_url"]),
    ("gemini_base_url", &["providers", "gemini", "base_url"]),
];

/// What the schema says about a path.
pub enum KeyMatch {
    Leaf(&'static SettingKey),
    /// A table with known keys below.
    Branch,
    Unknown,
}

pub fn lookup(path: &[String]) -> KeyMatch {
    let mut branch = false;
    for key in KEYS.iter().filter(|key| key.setter != Environment) {
        let mut pattern = key.segments();
        let fits = path.iter().all(|name| pattern.next().is_some_and(|p| p == "*" || p == name));
        match (fits, pattern.next()) {
            (true, None) => return KeyMatch::Leaf(key),
            (true, Some(_)) => branch = true,
            (false, _) => {}
        }
    }
    if branch { KeyMatch::Branch } else { KeyMatch::Unknown }
}

/// The full path of the known key that an unknown one most resembles.
pub fn suggest(path: &[String]) -> Option<String> {
    let (name, parents) = path.split_last()?;
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(name);
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    let siblings = KEYS.iter().filter(|key| key.setter != Environment).filter_map(|key| {
        let mut pattern = key.segments();
        parents.iter().all(|name| pattern.next().is_some_and(|p| p == "*" || p == name)).then_some(())?;
        pattern.next().filter(|segment| *segment != "*")
    });
    let nearest = siblings
        .map(|segment| (strsim::damerau_levenshtein(&plain(segment), &wanted), segment))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= allowed);
    if let Some((_, segment)) = nearest {
        let path: Vec<String> = parents.iter().cloned().chain([segment.to_owned()]).collect();
        return Some(super::layer::shown(&path));
    }
    // Right word, wrong place: `base_url` belongs into a provider's table.
    let elsewhere = KEYS.iter().find(|key| {
        key.setter != Environment && key.segments().last().is_some_and(|last| plain(last) == wanted)
    })?;
    Some(elsewhere.path.replace('*', "<name>"))
}
