//! Which tools of servers an agent has: what its rules and the configuration leave, and of that what a model is told of.
//! A server whose tools take too much room is found by searching, all of it: half a server would look like the whole.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;
use zdx_protocol::display::format::{count, size};
use zdx_protocol::{McpServer, ToolSpec};

use super::listing::ServerListing;
use super::names;
use super::server_task::{ServerStatus, ServerTask};
use super::servers::{ServerSet, ToolBudget};
use super::tool::McpTool;
use zdx_tools::Tool;
use zdx_tools::mcp_call::McpCallTool;
use zdx_tools::registry::DynamicTools;
use zdx_tools::tool_search::{SearchableTools, ToolSearchTool};

/// Whether an agent may have a tool: by the name that a model calls it, by server and tool as rules name it.
pub type ToolPermission = Box<dyn Fn(&str, &str, &str) -> bool + Send + Sync>;

pub struct McpToolCatalog {
    servers: Arc<ServerSet>,
    may: ToolPermission,
    stock: Mutex<Option<Arc<CatalogSnapshot>>>,
    /// Servers of which was said that they are searched.
    said: Mutex<HashSet<String>>,
}

/// What is there, as of certain lists.
struct CatalogSnapshot {
    /// What it was made of: as long as these are what servers list, it holds.
    made_of: Vec<Option<Arc<ServerListing>>>,
    told: Vec<Arc<dyn Tool>>,
    all: Arc<AllTools>,
    counts: Vec<ServerToolCount>,
}

struct AllTools(Vec<Arc<dyn Tool>>);

impl SearchableTools for AllTools {
    fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.0
    }
}

/// Of one server.
#[derive(Clone, Copy, Default)]
struct ServerToolCount {
    tools: usize,
    bytes: usize,
    left_out: usize,
    searched: bool,
}

impl McpToolCatalog {
    pub fn new(servers: Arc<ServerSet>, may: ToolPermission) -> Self {
        Self { servers, may, stock: Mutex::default(), said: Mutex::default() }
    }

    /// Made anew only where a list has changed.
    fn stock(&self) -> Arc<CatalogSnapshot> {
        let lists: Vec<Option<Arc<ServerListing>>> =
            self.servers.list().iter().map(|server| server.now().listing).collect();
        let mut kept = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |stock: &&Arc<CatalogSnapshot>| {
            stock.made_of.len() == lists.len() && stock.made_of.iter().zip(&lists).all(|(a, b)| is_same(a, b))
        };
        if let Some(stock) = kept.as_ref().filter(same) {
            return Arc::clone(stock);
        }
        let stock = Arc::new(self.make(lists));
        *kept = Some(Arc::clone(&stock));
        stock
    }

    fn make(&self, made_of: Vec<Option<Arc<ServerListing>>>) -> CatalogSnapshot {
        let room = self.servers.plan().room;
        let (mut used, mut used_bytes) = (0, 0);
        let (mut told, mut all) = (Vec::<Arc<dyn Tool>>::new(), Vec::<Arc<dyn Tool>>::new());
        let mut counts: Vec<ServerToolCount> = Vec::new();
        let mut searched = Vec::new();
        for (server, listing) in self.servers.list().iter().zip(&made_of) {
            let (tools, mut count) = self.tools_of(server, listing.as_deref());
            let fits = count.tools <= room.tools
                && count.bytes <= room.bytes
                && used + count.tools <= room.total_tools
                && used_bytes + count.bytes <= room.total_bytes;
            all.extend(tools.iter().cloned());
            match fits {
                true => {
                    used += count.tools;
                    used_bytes += count.bytes;
                    told.extend(tools);
                }
                false => {
                    count.searched = true;
                    searched.push(server.id.clone());
                }
            }
            counts.push(count);
        }
        let all = Arc::new(AllTools(all));
        if !searched.is_empty() {
            let catalogue = Arc::clone(&all) as Arc<dyn SearchableTools>;
            told.push(Arc::new(ToolSearchTool::new(&searched, Arc::clone(&catalogue))));
            told.push(Arc::new(McpCallTool::new(catalogue)));
        }
        CatalogSnapshot { made_of, told, all, counts }
    }

    fn tools_of(
        &self,
        server: &Arc<ServerTask>,
        listing: Option<&ServerListing>,
    ) -> (Vec<Arc<dyn Tool>>, ServerToolCount) {
        let Some((listing, wanted)) = listing.zip(server.entry.tools.compiled()) else {
            return Default::default();
        };
        let (mut taken, mut tools, mut bytes) = (HashSet::new(), Vec::<Arc<dyn Tool>>::new(), 0);
        for info in &listing.tools {
            // Named first: which of them an agent may have must not change what the others are called.
            let name = names::tool(&server.id, &info.name, &mut taken);
            let full = names::full(&server.id, &name);
            let usable = !info.needs_task && wanted.has(&info.name);
            if usable && (self.may)(&full, &server.id, &name) {
                let tool = McpTool::new(Arc::clone(server), info, name, full);
                bytes += size_of(tool.spec());
                tools.push(Arc::new(tool));
            }
        }
        let count = ServerToolCount {
            tools: tools.len(),
            bytes,
            left_out: listing.tools.len() - tools.len(),
            searched: false,
        };
        (tools, count)
    }

    /// Every server, those that are not started too.
    pub fn view(&self) -> Vec<McpServer> {
        let stock = self.stock();
        let running =
            self.servers.list().iter().zip(&stock.counts).map(|(server, count)| seen(server, *count));
        running.chain(self.servers.plan().others.iter().cloned()).collect()
    }

    /// Said once of each server that takes too much room.
    fn remarks(&self) -> Vec<String> {
        let stock = self.stock();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let searched = self.servers.list().iter().zip(&stock.counts).filter(|(_, count)| count.searched);
        let fresh = searched.filter(|(server, _)| said.insert(server.id.clone()));
        let ToolBudget { tools, bytes, .. } = self.servers.plan().room;
        fresh
            .map(|(server, count)| {
                format!(
                    "MCP server {} has {} ({}), more than a request has room for (mcp.max_tools {tools}, \
                     mcp.max_schema_bytes {bytes}): the model finds them with tool_search",
                    server.id,
                    count_of(count.tools),
                    size(count.bytes as u64)
                )
            })
            .collect()
    }
}

fn count_of(tools: usize) -> String {
    count(tools, "tool")
}

fn is_same(a: &Option<Arc<ServerListing>>, b: &Option<Arc<ServerListing>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// What a tool takes of a request.
fn size_of(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.schema.to_string().len()
}

fn seen(server: &ServerTask, count: ServerToolCount) -> McpServer {
    let ServerStatus { state, listing, cached, start_ms, error, .. } = server.now();
    let (told, searched) = if count.searched { (0, count.tools) } else { (count.tools, 0) };
    McpServer {
        version: listing.as_ref().and_then(|listing| listing.version.clone()),
        tools: told,
        searched,
        left_out: count.left_out,
        schema_bytes: count.bytes,
        prompts: listing.as_ref().map_or(0, |listing| listing.prompts.len()),
        resources: listing.as_ref().map_or(0, |listing| listing.resources.len()),
        start_ms,
        cached,
        error,
        ..McpServer::new(&server.id, state)
    }
}

impl DynamicTools for McpToolCatalog {
    fn told(&self) -> Vec<Arc<dyn Tool>> {
        self.stock().told.clone()
    }

    fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let stock = self.stock();
        stock.told.iter().chain(&stock.all.0).find(|tool| tool.spec().name == name).cloned()
    }

    fn settle<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Vec<String>> {
        async move {
            let waited = self.servers.first_wait(cancel).await;
            waited.into_iter().chain(self.remarks()).collect()
        }
        .boxed()
    }
}
