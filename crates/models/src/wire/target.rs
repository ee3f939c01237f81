//! Where a request goes: what a wire asks for below a base URL (HTTP's request target), and the one place where the
//! two are joined.

use std::borrow::Cow;

use zdx_net::Url;

use super::Wire;

/// What is asked for below a base URL. Nothing in it is escaped yet: a model's name goes in as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub path: Cow<'static, str>,
    pub query: Vec<(&'static str, Cow<'static, str>)>,
}

impl Target {
    /// One that depends on nothing.
    pub const fn fixed(path: &'static str) -> Self {
        Self { path: Cow::Borrowed(path), query: Vec::new() }
    }

    /// The whole address. What the base URL has as a query stays, and wins: whoever wrote it there meant it.
    pub(crate) fn under(&self, base: &Url, wire: Wire) -> Url {
        let mut url = base.clone();
        url.set_path(wire.root(base.path()));
        // Only an address without a host has no segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            // Each is escaped on its own, and `..` is left out: a name cannot lead elsewhere.
            segments.pop_if_empty().extend(self.path.split('/').filter(|segment| !segment.is_empty()));
        }
        for (name, value) in &self.query {
            if base.query_pairs().all(|(given, _)| given != *name) {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(wire: Wire, base: &str, target: &Target) -> String {
        target.under(&Url::parse(base).unwrap(), wire).to_string()
    }

    /// As a wire writes it that names the model in its path.
    fn of_model(model: &str) -> Target {
        let path = format!("/v1beta/models/{model}:streamGenerateContent");
        Target { path: path.into(), query: vec![("alt", "sse".into())] }
    }

    #[test]
    fn base_urls_are_tolerated_in_every_spelling() {
        for base in [
            "http://h:8000/v1",
            "http://h:8000/v1/",
            "http://h:8000",
            "http://h:8000/",
            "http://h:8000/v1/chat/completions",
            // The wire was changed and the address left as it was.
            "http://h:8000/v1/messages",
        ] {
            let target = Target::fixed("/chat/completions");
            assert_eq!(joined(Wire::OpenaiChat, base, &target), "http://h:8000/v1/chat/completions");
        }
        for base in [
            "https://a.example",
            "https://a.example/",
            "https://a.example/v1",
            "https://a.example/v1/messages/",
            "https://a.example/v1/chat/completions",
        ] {
            let target = Target::fixed("/v1/messages");
            assert_eq!(joined(Wire::Anthropic, base, &target), "https://a.example/v1/messages");
        }
        let models = Target::fixed("/models");
        for (base, expected) in [
            ("https://d.example/compatible-mode/v1", "https://d.example/compatible-mode/v1/models"),
            ("https://z.example/x?api-version=1", "https://z.example/x/models?api-version=1"),
            ("https://z.example/my%20lab/", "https://z.example/my%20lab/models"),
        ] {
            assert_eq!(joined(Wire::OpenaiChat, base, &models), expected);
        }
    }

    #[test]
    fn a_path_and_a_query_may_depend_on_the_model() {
        let stream = "models/gemini-x:streamGenerateContent?alt=sse";
        assert_eq!(
            joined(Wire::Anthropic, "https://g.example", &of_model("gemini-x")),
            format!("https://g.example/v1beta/{stream}")
        );
        let keyed = joined(Wire::Anthropic, "https://g.example/proxy/?key=a%2Fb", &of_model("gemini-x"));
        assert_eq!(
            keyed,
            "https://g.example/proxy/v1beta/models/gemini-x:streamGenerateContent?key=a%2Fb&alt=sse"
        );
        let own = joined(Wire::Anthropic, "https://g.example/?alt=json", &of_model("gemini-x"));
        assert!(own.ends_with("?alt=json"), "{own}");
    }

    #[test]
    fn a_model_name_cannot_lead_elsewhere() {
        for (model, escaped) in [
            ("a?b#c", "a%3Fb%23c"),
            ("a%2fb", "a%252fb"),
            ("a b", "a%20b"),
            ("vendor/a", "vendor/a"),
            ("../../x", "x"),
            ("http://evil/x", "http:/evil/x"),
        ] {
            assert_eq!(
                joined(Wire::Anthropic, "https://g.example", &of_model(model)),
                format!("https://g.example/v1beta/models/{escaped}:streamGenerateContent?alt=sse")
            );
        }
    }
}
