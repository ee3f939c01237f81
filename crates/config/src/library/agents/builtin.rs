//! The agents zdx brings along. What they may not do is written as permission rules, so that policy, not a prompt,
//! holds them to it.

use serde_json::{Value, json};

use super::super::places::LibraryScope;
use super::{AgentProfile, AgentRole, AgentRules, ToolSet, blank};

const PLAN: &str = "\
You are planning, not building. Read, search and think; do not change any file. Commands that only look are allowed, \
all others are refused, so do not try them. End with a plan: what to change, where, in which order, how to check it, \
and what could go wrong.";

const GENERAL: &str = "\
You work on one task for another agent, who sees nothing but your last message. Do the whole task, then report: what you \
did or found, the files and lines that matter, and what is left open. Be brief.";

const EXPLORE: &str = "\
You search this project for another agent, who sees nothing but your last message. You can only read. Search widely, then \
read what matters. Answer with files and line numbers, quote only what is needed, and say what you did not find.";

const TITLE: &str = "Give this conversation a title of at most eight words, in the user's language. Answer with the title alone.";

const SUMMARY: &str = "\
Summarise this conversation in the user's language: what was asked, what was done, which files changed, what is open. \
Plain sentences, no preamble.";

const COMPACTION: &str = "\
The conversation gets too long and will go on from your summary alone. Keep, word for word where it matters: the user's \
instructions, the current objective, the files touched, open todos, pending risks, the next steps. Leave out what is \
done with. Call no tools.";

/// `build` first: it is the one a session starts with.
pub(super) fn all() -> Vec<AgentProfile> {
    let hidden = |name, description, prompt| AgentProfile {
        hidden: true,
        mode: AgentRole::Subagent,
        tools: ToolSet::only(&[]),
        permission: rules(json!({"*": "deny"})),
        ..agent(name, description, prompt)
    };
    vec![
        AgentProfile {
            mode: AgentRole::Primary,
            prompt: None,
            ..agent("build", "Does the work: reads, writes, runs, checks.", "")
        },
        AgentProfile {
            mode: AgentRole::Primary,
            permission: rules(json!({"edit": "deny", "patch": "deny", "bash": looking(), "mcp": "deny"})),
            ..agent("plan", "Reads and plans; changes no file.", PLAN)
        },
        AgentProfile {
            mode: AgentRole::Subagent,
            tools: ToolSet::without(&["task"]),
            ..agent("general", "Does a task of several steps on its own and reports.", GENERAL)
        },
        AgentProfile {
            mode: AgentRole::Subagent,
            tools: ToolSet::only(&["read", "list", "grep", "glob"]),
            permission: rules(
                json!({"edit": "deny", "patch": "deny", "bash": "deny", "task": "deny", "mcp": "deny"}),
            ),
            ..agent("explore", "Searches and reads a code base; changes nothing.", EXPLORE)
        },
        hidden("title", "Names a conversation.", TITLE),
        hidden("summary", "Sums up a conversation.", SUMMARY),
        hidden("compaction", "Shortens a conversation that goes on.", COMPACTION),
    ]
}

fn agent(name: &str, description: &str, prompt: &str) -> AgentProfile {
    AgentProfile { description: description.to_owned(), prompt: Some(prompt.to_owned()), ..blank(name) }
}

fn rules(value: Value) -> Vec<AgentRules> {
    vec![AgentRules { scope: LibraryScope::BuiltIn, value }]
}

/// Commands that only look. `deny`, not `ask`, for the rest: some presets turn `ask` into `allow`, and a planner that
/// writes is none.
fn looking() -> Value {
    let mut table = json!({"*": "deny"});
    for command in ["ls", "cat", "head", "tail", "wc", "grep", "pwd", "git status"] {
        table[format!("{command} *")] = json!("allow");
    }
    // They can be told to write a file or to start a helper.
    for command in ["git log", "git diff", "git show", "git blame"] {
        table[format!("{command} *")] = json!("ask");
        // Where `ask` means `allow`, the option that writes a file (`--output`, cut short or not) does not pass.
        table[format!("{command} * --ou*")] = json!("deny");
    }
    table
}
