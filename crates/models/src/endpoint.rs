//! Where a model lives and what opens the door: the resolved form of a provider entry.
//! Knows how a base URL and a path join; never connects.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use zdx_net::Url;

use crate::ModelError;
use crate::wire::Wire;

/// The built-in model's provider name; reserved.
pub const DEMO: &str = "demo";

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

    /// The address of `path` (as the wire names it) under the base URL, however the base was written: with or
    /// without `/v1`, with a trailing slash, even with the path itself.
    pub fn url(&self, path: &str) -> Result<Url, ModelError> {
        let bad = |why: &str| {
            ModelError::Setup(format!("the base URL `{}` of {} {why}", self.base_url, self.provider))
        };
        let mut url = Url::parse(self.base_url.trim())
            .map_err(|_| bad("cannot be read; write it like http://127.0.0.1:8000/v1"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(bad("must begin with http:// or https:// and name a host"));
        }
        let base = url.path().trim_end_matches('/');
        let base =
            base.strip_suffix("/chat/completions").or_else(|| base.strip_suffix("/messages")).unwrap_or(base);
        let base = match self.wire {
            Wire::Anthropic => base.strip_suffix("/v1").unwrap_or(base),
            // A bare host: every server of this dialect keeps it under /v1.
            Wire::OpenaiChat if base.is_empty() => "/v1",
            Wire::OpenaiChat => base,
        };
        let joined = format!("{base}{path}");
        url.set_path(&joined);
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

    fn url(wire: Wire, base: &str, path: &str) -> String {
        Endpoint::new("lab", wire, base, "m").url(path).unwrap().to_string()
    }

    #[test]
    fn base_urls_are_tolerated_in_every_spelling() {
        for base in [
            "http://h:8000/v1",
            "http://h:8000/v1/",
            "http://h:8000",
            " http://h:8000/ ",
            "http://h:8000/v1/chat/completions",
        ] {
            assert_eq!(url(Wire::OpenaiChat, base, "/chat/completions"), "http://h:8000/v1/chat/completions");
        }
        for base in [
            "https://a.example",
            "https://a.example/",
            "https://a.example/v1",
            "https://a.example/v1/messages/",
        ] {
            assert_eq!(url(Wire::Anthropic, base, "/v1/messages"), "https://a.example/v1/messages");
        }
        assert_eq!(
            url(Wire::OpenaiChat, "https://d.example/compatible-mode/v1", "/models"),
            "https://d.example/compatible-mode/v1/models"
        );
        assert_eq!(
            url(Wire::OpenaiChat, "https://z.example/x?api-version=1", "/models"),
            "https://z.example/x/models?api-version=1"
        );
    }

    #[test]
    fn a_base_url_that_is_none_is_named() {
        for base in ["", "localhost:8000", "ftp://h/", "127.0.0.1:8000/v1", "http://"] {
            let error = Endpoint::new("lab", Wire::OpenaiChat, base, "m").url("/models").unwrap_err();
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
}
