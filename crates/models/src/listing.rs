//! What a server offers: its list of models, with the context window where the server tells it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::wire::lenient;
use crate::wire::problem::{Problem, brief, looks_like_html, page_summary};
use crate::{Client, DEMO, Endpoint, ModelError, TimeoutPhase};

const MAX_LIST: usize = 16 * 1024 * 1024;
/// A list is a small thing: nobody waits for it as for an answer.
const LIMIT: Duration = Duration::from_secs(30);

/// One model as its server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    pub id: String,
    pub context_limit: Option<u64>,
}

/// Asks an endpoint what it offers, in the server's own order.
pub async fn list_models(client: &Client, endpoint: &Endpoint) -> Result<Vec<ModelInfo>, ModelError> {
    if endpoint.is_demo() {
        return Ok(vec![ModelInfo { id: DEMO.to_owned(), context_limit: None }]);
    }
    match timeout(LIMIT, client.get(endpoint, &endpoint.wire.models(), MAX_LIST)).await {
        Ok(body) => parse(&body?),
        Err(_) => Err(ModelError::Timeout { phase: TimeoutPhase::FirstByte, after: LIMIT }),
    }
}

fn parse(body: &[u8]) -> Result<Vec<ModelInfo>, ModelError> {
    let text = String::from_utf8_lossy(body);
    let unlike = || {
        let what = if looks_like_html(&text) { page_summary(&text) } else { brief(&text) };
        ModelError::Protocol(format!("no list of models: {what}"))
    };
    let value: Value = serde_json::from_str(&text).map_err(|_| unlike())?;
    if let Some(problem) = Problem::in_json(&value) {
        return Err(problem.mid_stream());
    }
    // `{"data":[…]}` almost everywhere, a bare array at Together's and its kin.
    let list = match &value {
        Value::Array(list) => list,
        value => value["data"].as_array().ok_or_else(unlike)?,
    };
    let entry = |value: &Value| {
        Some(ModelInfo { id: lenient::text(&value["id"])?, context_limit: context_limit(value) })
    };
    Ok(list.iter().filter_map(entry).collect())
}

/// Each kind of server has its own name for it.
fn context_limit(entry: &Value) -> Option<u64> {
    const NAMES: [&str; 8] = [
        "/max_model_len",               // vLLM
        "/loaded_context_length",       // LM Studio, as loaded
        "/max_context_length",          // LM Studio, Mistral
        "/top_provider/context_length", // OpenRouter: what the serving host really takes
        "/context_length",              // OpenRouter, Together
        "/max_input_tokens",            // Anthropic
        "/meta/n_ctx",                  // llama.cpp, as started
        "/meta/n_ctx_train",            // llama.cpp, what the model was made for
    ];
    NAMES.iter().find_map(|name| lenient::number(entry.pointer(name)?)).filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_servers_list_is_read() {
        let body = br#"{"object":"list","data":[
            {"id":"a","object":"model","max_model_len":32768},
            {"id":"b","context_length":200000,"top_provider":{"context_length":131072}},
            {"id":"c","meta":{"n_ctx_train":40960}},
            {"id":"d","type":"model","display_name":"D"},
            {"id":"e","max_model_len":null},
            {"id":7,"max_model_len":"4096"},
            {"no":"id"}]}"#;
        let limits: Vec<_> =
            parse(body).unwrap().into_iter().map(|info| (info.id, info.context_limit)).collect();
        let expected = [
            ("a", Some(32768)),
            ("b", Some(131_072)),
            ("c", Some(40960)),
            ("d", None),
            ("e", None),
            ("7", Some(4096)),
        ];
        assert_eq!(limits, expected.map(|(id, limit)| (id.to_owned(), limit)));
        assert_eq!(parse(br#"[{"id":"x"}]"#).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_list_is_an_error() {
        for body in ["<html><title>Home</title>", "{}", "nothing", r#"{"data":7}"#, ""] {
            assert!(matches!(parse(body.as_bytes()), Err(ModelError::Protocol(_))), "{body}");
        }
        assert!(matches!(parse(br#"{"error":{"message":"no"}}"#), Err(ModelError::Api { .. })));
    }
}
