//! What the engine answers as rows to pick from.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use zdx_protocol::display::format;
use zdx_protocol::display::sessions::{short_id, told};
use zdx_protocol::display::text::{one_line, width};
use zdx_protocol::query::{AgentInfo, ModelOffer, SessionSummary};

use super::Item;

/// Of what a session began with: the rest of the row says when and where.
const PROMPT: usize = 60;

/// Where somebody chooses a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here<'a> {
    /// The session that is open.
    pub(crate) open: Option<&'a str>,
    pub(crate) root: Option<&'a Path>,
    pub(crate) home: Option<&'a Path>,
    pub(crate) now: Timestamp,
}

/// Those that can be gone on with, by what they began with. The open one is none of them. A folder is named where it is another.
pub(crate) fn sessions(found: &[SessionSummary], here: Here<'_>) -> Vec<Item<String>> {
    let other = |session: &&SessionSummary| Some(session.id.as_str()) != here.open && session.fault.is_none();
    let elsewhere = |root: &PathBuf| Some(root.as_path()) != here.root;
    let row = |session: &SessionSummary| {
        let folder = session.root.as_ref().filter(|root| elsewhere(root));
        let folder = folder.map(|root| format::path(root, here.home)).unwrap_or_default();
        [format::ago(session.when, here.now), short_id(&session.id).to_owned(), folder]
    };
    let found: Vec<(&SessionSummary, [String; 3])> =
        found.iter().filter(other).map(|session| (session, row(session))).collect();
    let widest = found.iter().map(|(_, [ago, ..])| width(ago)).max().unwrap_or_default();
    let item = |(session, [ago, id, folder]): (&SessionSummary, [String; 3])| {
        let ago = format!("{ago}{}", " ".repeat(widest - width(&ago)));
        let rest = [ago.as_str(), &id, &folder];
        let prompt = told(session);
        Item {
            id: session.id.clone(),
            label: one_line(if prompt.is_empty() { "(nothing was said)" } else { &prompt }, PROMPT),
            detail: rest.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "),
            known_by: format!("{} {folder}", session.id),
        }
    };
    found.into_iter().map(item).collect()
}

pub(crate) fn models(found: &[ModelOffer], in_use: Option<&str>) -> Vec<Item<String>> {
    let item = |model: &ModelOffer| {
        let holds = model.context_limit.map(|limit| format!("{} tokens", format::tokens(limit)));
        let detail = used(holds, in_use == Some(model.name.as_str()));
        Item { id: model.name.clone(), label: model.name.clone(), known_by: detail.clone(), detail }
    };
    found.iter().map(item).collect()
}

/// Those that only work for others cannot be chosen.
pub(crate) fn agents(found: &[AgentInfo]) -> Vec<Item<String>> {
    let item = |agent: &AgentInfo| {
        let detail = used(Some(agent.description.clone()), agent.in_use);
        Item { id: agent.name.clone(), label: agent.name.clone(), known_by: detail.clone(), detail }
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
            in_use: id == "silent",
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
        let here = |root| Here { open: Some("open"), root, home: Some(Path::new("/home/u")), now };
        let rows = sessions(&found, here(None));
        let shown: Vec<String> = rows.iter().map(|row| format!("{} | {}", row.label, row.detail)).collect();
        assert_eq!(
            shown,
            ["why so? | 2 h ago · 550e8400 · ~/work", "(open in another zdx) | 2 h ago · silent · ~/work"]
        );
        assert_eq!(rows[0].known_by, "550e8400-1 ~/work");
        // Where it is the same for all, a folder says nothing.
        let rows = sessions(&found, here(Some(Path::new("/home/u/work"))));
        assert_eq!((rows[0].detail.as_str(), rows[0].known_by.trim()), ("2 h ago · 550e8400", "550e8400-1"));
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
