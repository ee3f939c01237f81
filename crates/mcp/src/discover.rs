//! Asks a server what it has, page by page and never without end, and reads it into a `Listing`.

use std::time::Duration;

use rmcp::model::{PaginatedRequestParams, Prompt, Resource, Tool};
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::time::timeout;
use zdx_protocol::display::is_obeyed;

use super::listing::{ListedPrompt, ListedResource, ListedTool, ServerListing};
use super::relay::TASK_MARK;

const MOST_TOOLS: usize = 2_000;
const MOST_PROMPTS: usize = 200;
const MOST_RESOURCES: usize = 1_000;
/// A server whose list has no end is cut off here.
const MOST_PAGES: usize = 100;
/// What prompts and resources are waited for, each.
const EXTRAS: Duration = Duration::from_secs(2);
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

/// Its tools decide, and why there are none is told; what else it has is left out where it cannot be had soon.
pub async fn discover(peer: &Peer<RoleClient>, limit: Duration) -> Result<ServerListing, String> {
    let info = peer.peer_info();
    let can = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
    let version = info.as_ref().and_then(|info| info.server_info.as_ref());
    let version = version.map(|own| format!("{} {}", own.name, own.version));
    let tools = match can.tools.is_some() {
        true => match timeout(limit, tools(peer)).await {
            Ok(listed) => listed.map_err(|error| format!("it did not list its tools: {error}"))?,
            Err(_) => {
                let limit = limit.as_millis();
                return Err(format!("it did not list its tools within {limit} ms (timeout_ms)"));
            }
        },
        false => Vec::new(),
    };
    let prompts = if can.prompts.is_some() { soon(limit, prompts(peer)).await } else { Vec::new() };
    let resources = if can.resources.is_some() { soon(limit, resources(peer)).await } else { Vec::new() };
    let tools = tools.into_iter().filter(|tool| tool.name.len() <= LONGEST_NAME).map(tool).collect();
    let prompts =
        prompts.into_iter().filter(|prompt| prompt.name.len() <= LONGEST_NAME).map(prompt).collect();
    let resources =
        resources.into_iter().filter(|resource| can_be_typed(&resource.uri)).map(resource).collect();
    let version = version.map(|text| text.chars().take(LONGEST_NAME).collect());
    Ok(ServerListing { version, tools, prompts, resources }.sorted())
}

/// What a server is not judged by: nothing where it fails, or takes too long.
async fn soon<T>(limit: Duration, asked: impl Future<Output = Result<Vec<T>, ServiceError>>) -> Vec<T> {
    match timeout(limit.min(EXTRAS), asked).await {
        Ok(listed) => listed.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
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

/// A blank would cut a mention in two, and what a terminal obeys is not shown as it is.
fn can_be_typed(uri: &str) -> bool {
    uri.len() <= LONGEST_NAME && !uri.contains(|c: char| c.is_whitespace() || is_obeyed(c))
}

fn tool(tool: Tool) -> ListedTool {
    let reads_only = tool.annotations.as_ref().and_then(|hints| hints.read_only_hint).unwrap_or_default();
    ListedTool {
        description: tool.description.or(tool.title.map(Into::into)).unwrap_or_default().into_owned(),
        schema: ListedTool::schema_of(std::sync::Arc::unwrap_or_clone(tool.input_schema)),
        reads_only,
        needs_task: tool.meta.is_some_and(|meta| meta.get(TASK_MARK).is_some()),
        name: tool.name.into_owned(),
    }
}

fn prompt(prompt: Prompt) -> ListedPrompt {
    let arguments = prompt.arguments.unwrap_or_default();
    ListedPrompt {
        description: prompt.description.or(prompt.title).unwrap_or_default(),
        arguments: arguments.into_iter().map(|one| (one.name, one.required.unwrap_or_default())).collect(),
        name: prompt.name,
    }
}

fn resource(resource: Resource) -> ListedResource {
    ListedResource { name: resource.title.unwrap_or(resource.name), uri: resource.uri }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_not_needed_is_not_waited_for() {
        let none: Vec<()> = soon(Duration::from_millis(1), std::future::pending()).await;
        assert!(none.is_empty());
        assert_eq!(soon(Duration::from_secs(30), async { Ok(vec![1]) }).await, [1]);
        let failed = async { Err::<Vec<()>, _>(ServiceError::TransportClosed) };
        assert!(soon(Duration::from_secs(30), failed).await.is_empty());
    }

    #[test]
    fn only_what_can_be_typed_is_a_resource() {
        assert!(can_be_typed("memo://büro/1"));
        let long = "x".repeat(LONGEST_NAME + 1);
        for uri in ["a b", "a\nb", "a\u{1b}[31mb", "a\u{202e}b", "a\u{9b}b", long.as_str()] {
            assert!(!can_be_typed(uri), "{uri:?}");
        }
    }
}
