//! What the engine answers as rows to pick from.

use std::path::Path;

use jiff::Timestamp;
use zdx_protocol::display::format;
use zdx_protocol::display::sessions::{short_id, told};
use zdx_protocol::display::text::one_line;
use zdx_protocol::query::{AgentInfo, ModelOffer, SessionSummary};

use super::Item;

/// Of what a session began with: the rest of the row says when and where.
const PROMPT: usize = 60;

/// Those that can be gone on with, by what they began with. The open one is none of them.
pub(crate) fn sessions(
    found: &[SessionSummary],
    open: Option<&str>,
    home: Option<&Path>,
    now: Timestamp,
) -> Vec<Item<String>> {
    let other = |session: &&SessionSummary| Some(session.id.as_str()) != open && session.fault.is_none();
    let item = |session: &SessionSummary| {
        let folder = session.root.as_deref().map(|root| format::path(root, home));
        let rest = [Some(format::ago(session.when, now)), folder, Some(short_id(&session.id).to_owned())];
        let prompt = told(session);
        Item {
            id: session.id.clone(),
            label: one_line(if prompt.is_empty() { "(nothing was said)" } else { &prompt }, PROMPT),
            detail: rest.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        }
    };
    found.iter().filter(other).map(item).collect()
}

pub(crate) fn models(found: &[ModelOffer], in_use: Option<&str>) -> Vec<Item<String>> {
    let item = |model: &ModelOffer| {
        let holds = model.context_limit.map(|limit| format!("{} tokens", format::tokens(limit)));
        Item {
            id: model.name.clone(),
            label: model.name.clone(),
            detail: used(holds, in_use == Some(model.name.as_str())),
        }
    };
    found.iter().map(item).collect()
}

/// Those that only work for others cannot be chosen.
pub(crate) fn agents(found: &[AgentInfo]) -> Vec<Item<String>> {
    let item = |agent: &AgentInfo| Item {
        id: agent.name.clone(),
        label: agent.name.clone(),
        detail: used(Some(agent.description.clone()), agent.in_use),
    };
    found.iter().filter(|agent| agent.primary).map(item).collect()
}

fn used(detail: Option<String>, in_use: bool) -> String {
    let mark = in_use.then(|| "in use".to_owned());
    mark.into_iter().chain(detail).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_one_knows_it_by() {
        let session = |id: &str, prompt: Option<&str>, fault: Option<&str>| SessionSummary {
            id: id.to_owned(),
            when: Timestamp::from_second(1_000).unwrap(),
            root: Some("/home/u/work".into()),
            model: None,
            bytes: 1,
            works_for: None,
            one_prompt: false,
            fault: fault.map(str::to_owned),
            first_prompt: prompt.map(str::to_owned),
        };
        let found = [
            session("550e8400-1", Some("why\nso\x1b[2J?"), None),
            session("open", Some("x"), None),
            session("bad", Some("x"), Some("its file is empty")),
            session("silent", None, None),
        ];
        let now = Timestamp::from_second(8_200).unwrap();
        let rows = sessions(&found, Some("open"), Some(Path::new("/home/u")), now);
        let shown: Vec<String> = rows.iter().map(|row| format!("{} | {}", row.label, row.detail)).collect();
        assert_eq!(
            shown,
            ["why so? | 2 h ago · ~/work · 550e8400", "(nothing was said) | 2 h ago · ~/work · silent"]
        );
        let offer = ModelOffer { name: "lab/qwen".to_owned(), context_limit: Some(32_768) };
        assert_eq!(models(&[offer], Some("lab/qwen"))[0].detail, "in use · 32.8k tokens");
        let agent = |primary| AgentInfo {
            name: "plan".to_owned(),
            description: "thinks first".to_owned(),
            in_use: false,
            primary,
        };
        let rows = agents(&[agent(true), agent(false)]);
        assert_eq!((rows.len(), rows[0].detail.as_str()), (1, "thinks first"));
    }
}
