//! `session/list`: the saved sessions, newest first, page by page. They are everybody's: what `zdx sessions list` shows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use zdx_acp::{Asked, RpcError, code};
use zdx_protocol::query::SessionSummary;

use super::params;
use crate::settings::Settings;
use crate::start;

const PAGE: usize = 50;

pub async fn answer(settings: Arc<Settings>, asked: Asked) {
    let params = asked.params.clone();
    // Files are looked into.
    let listed = tokio::task::spawn_blocking(move || listed(&settings, &params)).await;
    let failed = || Err(RpcError::new(code::INTERNAL, "the sessions could not be listed"));
    asked.answer(listed.unwrap_or_else(|_| failed())).await;
}

fn listed(settings: &Settings, params: &Value) -> Result<Value, RpcError> {
    if !settings.save {
        return Err(RpcError::method_not_found("session/list"));
    }
    let folder = match &params["cwd"] {
        Value::Null => None,
        _ => Some(params::folder(params::text(params, "cwd")?)?),
    };
    let after = match &params["cursor"] {
        Value::Null => None,
        _ => Some(params::text(params, "cursor")?),
    };
    let saved = start::saved(settings)
        .map_err(|failure| RpcError::new(code::INTERNAL, failure.message().unwrap_or_default()))?;
    page(saved, folder.as_deref(), after)
}

/// A cursor is the last session of the page before.
fn page(saved: Vec<SessionSummary>, folder: Option<&Path>, after: Option<&str>) -> Result<Value, RpcError> {
    let rooted = saved.into_iter().filter_map(|summary| Some((summary.root.clone()?, summary)));
    let mut wanted = rooted.filter(|(root, _)| folder.is_none_or(|folder| root == folder));
    if let Some(after) = after
        && !wanted.any(|(_, summary)| summary.id == after)
    {
        return Err(RpcError::invalid_params("`cursor` is none of ours, or its session is gone"));
    }
    let page: Vec<(PathBuf, SessionSummary)> = wanted.by_ref().take(PAGE).collect();
    let sessions: Vec<Value> = page.iter().map(|(root, summary)| shown(root, summary)).collect();
    let mut answer = json!({"sessions": sessions});
    if let (Some((_, last)), Some(_)) = (page.last(), wanted.next()) {
        answer["nextCursor"] = json!(last.id);
    }
    Ok(answer)
}

fn shown(root: &Path, summary: &SessionSummary) -> Value {
    let mut session = json!({
        "sessionId": summary.id,
        "cwd": root.to_string_lossy(),
        "updatedAt": summary.when.to_string(),
    });
    if let Some(prompt) = &summary.first_prompt {
        session["title"] = json!(prompt);
    }
    session
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(n: usize, root: &str) -> SessionSummary {
        SessionSummary {
            id: format!("s{n}"),
            when: jiff::Timestamp::UNIX_EPOCH,
            root: Some(root.into()),
            model: None,
            bytes: 1,
            works_for: None,
            one_prompt: false,
            in_use: false,
            fault: None,
            first_prompt: Some(format!("prompt {n}")),
        }
    }

    fn ids(answer: &Value) -> Vec<&str> {
        answer["sessions"].as_array().unwrap().iter().map(|one| one["sessionId"].as_str().unwrap()).collect()
    }

    #[test]
    fn pages_follow_each_other_and_the_last_has_no_cursor() {
        let saved = || (0..PAGE + 2).map(|n| summary(n, "/w")).chain([summary(900, "/other")]).collect();
        let folder = Some(Path::new("/w"));
        let first = page(saved(), folder, None).unwrap();
        assert_eq!((ids(&first).len(), &first["nextCursor"]), (PAGE, &json!("s49")));
        let second = page(saved(), folder, Some("s49")).unwrap();
        assert_eq!(ids(&second), ["s50", "s51"]);
        assert_eq!(second.get("nextCursor"), None);
        assert_eq!(second["sessions"][0]["title"], "prompt 50");
        assert!(page(saved(), folder, Some("s900")).is_err());
        assert_eq!(ids(&page(saved(), None, Some("s51")).unwrap()), ["s900"]);
    }
}
