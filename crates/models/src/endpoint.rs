//! Where a model lives and what opens the door: the resolved form of a provider entry.
//! Knows what a base URL must be; what hangs below it is its wire's to say. Never connects.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use zdx_net::Url;

use crate::wire::{Auth, Target, Wire, wants_completion_tokens};
use crate::{ModelError, ThinkingSwitch};

/// The built-in model's provider name; reserved.
pub const DEMO: &str = zdx_protocol::display::demo::NAME;

/// A key. Its `Debug` says nothing, so that it cannot leak into a log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keys are pasted: white space around them is cut, and anything that could break out of a header refused.
    pub fn new(text: &str) -> Result<Self, ModelError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ModelError::Setup("the key is empty".to_owned()));
        }
        if text.chars().any(|c| c.is_control() || !c.is_ascii()) {
            return Err(ModelError::Setup(
                "the key holds control or non-ASCII characters; paste it again without line breaks"
                    .to_owned(),
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Everything needed to ask one model.
#[derive(Clone, PartialEq)]
pub struct Endpoint {
    pub provider: String,
    /// Ignored by the built-in model, which speaks no wire.
    pub wire: Wire,
    pub base_url: String,
    pub api_key: Option<Secret>,
    /// How the key is shown.
    pub auth: Auth,
    pub headers: BTreeMap<String, String>,
    pub ca_file: Option<PathBuf>,
    /// The name the server knows, without the provider.
    pub model: String,
}

impl Endpoint {
    pub fn new(provider: &str, wire: Wire, base_url: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            wire,
            base_url: base_url.to_owned(),
            api_key: None,
            auth: wire.auth(),
            headers: BTreeMap::new(),
            ca_file: None,
            model: model.to_owned(),
        }
    }

    /// The built-in model.
    pub fn demo() -> Self {
        Self::new(DEMO, Wire::OpenaiChat, "", DEMO)
    }

    pub fn is_demo(&self) -> bool {
        self.provider == DEMO
    }

    /// `provider/name`, as sessions and users write it.
    pub fn label(&self) -> String {
        if self.is_demo() { DEMO.to_owned() } else { format!("{}/{}", self.provider, self.model) }
    }

    /// The switch for thinking of who answers here; None where none is known, or none is needed.
    pub fn thinking_switch(&self) -> Option<ThinkingSwitch> {
        let url = self.base().ok().filter(|_| self.wire == Wire::OpenaiChat)?;
        let (host, model) = (url.host_str()?.to_ascii_lowercase(), self.model.to_ascii_lowercase());
        let is_at =
            |hosts: &[&str]| hosts.iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
        Some(match () {
            () if model.contains("gpt-oss") || wants_completion_tokens(&model) => ThinkingSwitch::Effort,
            () if zdx_net::is_private(&host) => ThinkingSwitch::Template,
            () if is_at(&["openrouter.ai"]) => ThinkingSwitch::Reasoning,
            () if is_at(&["aliyuncs.com", "siliconflow.cn", "siliconflow.com"]) => {
                ThinkingSwitch::EnableThinking
            }
            () if is_at(&["bigmodel.cn", "z.ai", "deepseek.com", "moonshot.cn", "moonshot.ai"]) => {
                ThinkingSwitch::ThinkingType
            }
            () => return None,
        })
    }
    /// The address of what its wire asks for.
    pub(crate) fn url(&self, target: &Target) -> Result<Url, ModelError> {
        Ok(target.under(&self.base()?, self.wire))
    }

    /// The base URL, if it is one that requests can be sent to.
    pub(crate) fn base(&self) -> Result<Url, ModelError> {
        let bad = |why: &str| {
            ModelError::Setup(format!("the base URL `{}` of {} {why}", self.base_url, self.provider))
        };
        let url = Url::parse(self.base_url.trim())
            .map_err(|_| bad("cannot be read; write it like http://127.0.0.1:8000/v1"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(bad("must begin with http:// or https:// and name a host"));
        }
        Ok(url)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key)
            .field("auth", &self.auth)
            // Header values may hold tokens too.
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("ca_file", &self.ca_file)
            .field("model", &self.model)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_have_white_space_around_it() {
        let endpoint = Endpoint::new("lab", Wire::OpenaiChat, " http://h:8000/ ", "m");
        assert_eq!(endpoint.url(&Wire::OpenaiChat.models()).unwrap().as_str(), "http://h:8000/v1/models");
    }

    #[test]
    fn a_base_url_that_is_none_is_named() {
        for base in ["", "localhost:8000", "ftp://h/", "127.0.0.1:8000/v1", "http://"] {
            let error = Endpoint::new("lab", Wire::OpenaiChat, base, "m").base().unwrap_err();
            assert!(matches!(&error, ModelError::Setup(text) if text.contains("lab")), "{base}: {error}");
        }
    }

    #[test]
    fn keys_are_trimmed_checked_and_never_printed() {
        let key = Secret::new("  sk-1\n").unwrap();
        assert_eq!(key.expose(), "sk-1");
        let mut endpoint = Endpoint::new("lab", Wire::Anthropic, "http://h", "m");
        endpoint.api_key = Some(key);
        endpoint.headers.insert("x-token".to_owned(), "hidden".to_owned());
        let shown = format!("{endpoint:?}");
        assert!(!shown.contains("sk-1") && !shown.contains("hidden"), "{shown}");
        for bad in ["", " \n", "a\nb", "a\u{0}b", "schlüssel"] {
            assert!(Secret::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn each_place_has_its_switch() {
        for (base, model, expected) in [
            ("http://127.0.0.1:8000/v1", "qwen3-8b", Some(ThinkingSwitch::Template)),
            ("http://192.168.1.5:8080", "glm-4.7", Some(ThinkingSwitch::Template)),
            ("http://127.0.0.1:8000/v1", "gpt-oss-20b", Some(ThinkingSwitch::Effort)),
            ("https://api.openai.com/v1", "o4-mini", Some(ThinkingSwitch::Effort)),
            ("https://api.openai.com/v1", "gpt-4.1", None),
            ("https://openrouter.ai/api/v1", "qwen/qwen3", Some(ThinkingSwitch::Reasoning)),
            ("https://dashscope-intl.aliyuncs.com/x", "qwen-plus", Some(ThinkingSwitch::EnableThinking)),
            ("https://api.z.ai/api/paas/v4", "glm-4.6", Some(ThinkingSwitch::ThinkingType)),
            ("https://fooz.ai/v1", "glm-4.6", None),
        ] {
            let endpoint = Endpoint::new("lab", Wire::OpenaiChat, base, model);
            assert_eq!(endpoint.thinking_switch(), expected, "{base} {model}");
            let other = Endpoint::new("lab", Wire::Anthropic, base, model);
            assert_eq!(other.thinking_switch(), None);
        }
    }
}
