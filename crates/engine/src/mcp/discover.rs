//! Asks a server what it has, page by page and never without end, and reads it into a `Listing`.

use rmcp::model::{PaginatedRequestParams, Prompt, Resource, Tool};
use rmcp::{Peer, RoleClient, ServiceError};

use super::listing::{Listing, PromptInfo, ResourceInfo, ToolInfo};
use super::relay::TASK_MARK;

const MOST_TOOLS: usize = 2_000;
const MOST_PROMPTS: usize = 200;
const MOST_RESOURCES: usize = 1_000;
/// A server whose list has no end is cut off here.
const MOST_PAGES: usize = 100;
/// Longer is no name.
const LONGEST_NAME: usize = 512;

/// Pages until there are no more, or enough.
macro_rules! pages {
    ($ask:expr, $items:ident, $most:expr) => {{
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = $ask(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
            all.extend(page.$items);
            cursor = page.next_cursor;
            if cursor.is_none() || all.len() >= $most {
                break;
            }
        }
        all.truncate($most);
        all
    }};
}

/// Its tools decide; what else it has is left out where it cannot be had.
pub(crate) async fn discover(peer: &Peer<RoleClient>) -> Result<Listing, ServiceError> {
    let info = peer.peer_info();
    let can = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
    let version = info.as_ref().and_then(|info| info.server_info.as_ref());
    let version = version.map(|own| format!("{} {}", own.name, own.version));
    let tools = if can.tools.is_some() { tools(peer).await? } else { Vec::new() };
    let prompts = if can.prompts.is_some() { prompts(peer).await.unwrap_or_default() } else { Vec::new() };
    let resources =
        if can.resources.is_some() { resources(peer).await.unwrap_or_default() } else { Vec::new() };
    Ok(Listing {
        version: version.map(|text| text.chars().take(LONGEST_NAME).collect()),
        tools: tools.into_iter().filter(|tool| tool.name.len() <= LONGEST_NAME).map(tool).collect(),
        prompts: prompts.into_iter().filter(|prompt| prompt.name.len() <= LONGEST_NAME).map(prompt).collect(),
        resources: resources
            .into_iter()
            .filter(|resource| resource.uri.len() <= LONGEST_NAME)
            .map(resource)
            .collect(),
    })
}

async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, ServiceError> {
    Ok(pages!(|page| peer.list_tools(page), tools, MOST_TOOLS))
}

async fn prompts(peer: &Peer<RoleClient>) -> Result<Vec<Prompt>, ServiceError> {
    Ok(pages!(|page| peer.list_prompts(page), prompts, MOST_PROMPTS))
}

async fn resources(peer: &Peer<RoleClient>) -> Result<Vec<Resource>, ServiceError> {
    Ok(pages!(|page| peer.list_resources(page), resources, MOST_RESOURCES))
}

fn tool(tool: Tool) -> ToolInfo {
    let reads_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint).unwrap_or_default();
    ToolInfo {
        description: tool.description.or(tool.title.map(Into::into)).unwrap_or_default().into_owned(),
        schema: ToolInfo::schema_of(std::sync::Arc::unwrap_or_clone(tool.input_schema)),
        reads_only,
        needs_task: tool.meta.is_some_and(|meta| meta.get(TASK_MARK).is_some()),
        name: tool.name.into_owned(),
    }
}

fn prompt(prompt: Prompt) -> PromptInfo {
    let arguments = prompt.arguments.unwrap_or_default();
    PromptInfo {
        description: prompt.description.or(prompt.title).unwrap_or_default(),
        arguments: arguments.into_iter().map(|one| (one.name, one.required.unwrap_or_default())).collect(),
        name: prompt.name,
    }
}

fn resource(resource: Resource) -> ResourceInfo {
    ResourceInfo { name: resource.title.unwrap_or(resource.name), uri: resource.uri }
}
