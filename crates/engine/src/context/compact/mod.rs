//! What a compaction keeps, decided from the transcript alone: no model is asked here and nothing is written.
//! Instructions and todos come first, word for word; the rest shares what room there is.

pub(crate) mod summary;

use std::collections::HashSet;

use zdx_protocol::compaction::{Author, Dropped, DroppedCall, LoadedSkill, State, Trigger};
use zdx_protocol::conversation::calls;
use zdx_protocol::display::text::one_line;
use zdx_protocol::transcript::{ContextSize, OpenInput};
use zdx_protocol::{Compaction, Message, Part, Role, Todo, TodoStatus, Transcript, path_text, record};
use zdx_workspace::text;

use super::budget::Gauge;
use super::cap;
use crate::activity::{CALL_COLUMNS, CallActivity};

const LEAST_SUMMARY: usize = 600;
const MOST_SUMMARY: usize = 12_000;
const OBJECTIVE: usize = 600;
const MOST_CHANGED: usize = 60;
/// Fewer than changed files: one that was only read can be found again.
const MOST_READ: usize = 12;
const MOST_RISKS: usize = 6;
const MOST_CALLS: usize = 200;
/// The todo list itself is kept whole beside these.
const MOST_STEPS: usize = 8;

/// How hard a compaction tries. What one of them leaves too large the next one makes smaller: no conversation is ever
/// stuck because its summary does not fit either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Squeeze {
    Ease,
    Tight,
    /// Oldest and largest go, whatever they are.
    Last,
}

impl Squeeze {
    pub(crate) const ALL: [Self; 3] = [Self::Ease, Self::Tight, Self::Last];

    /// What a compacted context should take, so that there is room to work in before the next one.
    fn target_percent(self) -> u64 {
        match self {
            Self::Ease => 60,
            Self::Tight => 40,
            Self::Last => 20,
        }
    }

    /// What the user's own words may take of the context, as a fraction of it.
    fn instructions(self) -> u64 {
        match self {
            Self::Ease => 3,
            Self::Tight => 8,
            Self::Last => 24,
        }
    }

    fn least_summary(self) -> usize {
        match self {
            Self::Ease => LEAST_SUMMARY,
            Self::Tight => LEAST_SUMMARY / 2,
            Self::Last => LEAST_SUMMARY / 4,
        }
    }
}

/// What goes on of a prompt that was answered.
const MOST_PROMPT: usize = 4 << 10;

/// A compaction that only lacks its summary.
pub(crate) struct CompactionPlan {
    compaction: Compaction,
    /// What the summary may weigh.
    pub summary_bytes: usize,
    /// Prompts of which only beginning and end go on.
    pub shortened: usize,
}

/// Nothing when there is nothing to drop, or when dropping it would not make the context smaller. What the user says and
/// attaches in the turn that begins is no conversation yet: without anything before it there is nothing to sum up.
pub(crate) fn plan(
    transcript: &Transcript,
    gauge: &Gauge,
    trigger: Trigger,
    squeeze: Squeeze,
) -> Option<CompactionPlan> {
    let messages = transcript.messages();
    let carried = transcript.compaction();
    let first = usize::from(carried.is_some());
    let open = transcript.open_input();
    if open.as_ref().is_some_and(|open| open.first) {
        return None;
    }
    let attached = open.map_or_else(Vec::new, |open| attached(messages, &open));
    let size = transcript.size();
    let lead_in = weigh(&attached, size);
    let fresh = transcript.prompts_since_compaction();
    let most = gauge.bytes(gauge.limit / squeeze.instructions());
    let (prompts, shortened) = prompts(carried, &fresh, trigger);
    let (instructions, instructions_omitted) = instructions(carried, &prompts, most);
    let done = CallActivity::of_messages(messages.get(first..).unwrap_or_default(), carried);
    let files = done.newest_files(MOST_CHANGED, MOST_READ);
    let room = room(gauge, &instructions, transcript, lead_in, squeeze);
    let (skills, skills_omitted) = fit_skills(done.skills, room * 3 / 10);
    let taken: usize = skills.iter().map(|skill| skill.content.len()).sum();
    let most = most_kept(transcript, gauge, trigger);
    let share = (room * 4 / 10 + (room * 3 / 10).saturating_sub(taken)).min(most);
    let from = kept_from(transcript, first, share + lead_in);
    let mut kept = kept(transcript, first, from, (room * 4 / 10).min(most));
    let dropped = dropped(transcript, first, messages.len() - kept.len(), done.calls);
    if kept.is_empty() {
        kept = attached;
    }
    // A summary that is too large itself is made smaller, but not at every step by a little.
    if dropped.messages == 0 && (carried.is_none() || squeeze == Squeeze::Ease) {
        return None;
    }
    let risks = done.risks[done.risks.len().saturating_sub(MOST_RISKS)..].to_vec();
    let compaction = Compaction {
        trigger,
        author: Author::Session,
        summary: String::new(),
        objective: objective(&instructions),
        instructions,
        instructions_omitted,
        files,
        todos: transcript.todos.clone(),
        risks,
        next_steps: next_steps(&transcript.todos),
        skills,
        skills_omitted,
        kept,
        dropped,
        state: State::default(),
        ts: record::now(),
    };
    let plan = CompactionPlan {
        compaction,
        summary_bytes: match trigger {
            Trigger::Auto | Trigger::Refused => (room * 3 / 10).clamp(squeeze.least_summary(), MOST_SUMMARY),
            // A person who asks has a reason, also where there is room: the summary is in proportion to what it replaces.
            Trigger::Asked => {
                let most = usize::try_from(transcript.size().total() / 3).unwrap_or(MOST_SUMMARY);
                (room * 3 / 10).min(most).clamp(squeeze.least_summary(), MOST_SUMMARY)
            }
        },
        shortened,
    };
    let (weight, total) = (plan.weight(size), size.total());
    let worth_it = match trigger {
        Trigger::Auto | Trigger::Refused => weight * 20 < total * 19,
        Trigger::Asked => true,
    };
    worth_it.then_some(plan)
}

impl CompactionPlan {
    /// About what the context will weigh.
    fn weight(&self, size: ContextSize) -> u64 {
        let kept = weigh(&self.compaction.kept, size);
        (self.compaction.context_text().len() + self.summary_bytes + kept) as u64
    }

    /// The whole record. The state is read last, so that it counts what asking for the summary has used.
    pub(crate) fn finish(self, model_said: Option<String>, transcript: &Transcript) -> Compaction {
        let (author, summary) = match model_said {
            Some(text) => (Author::Model, text),
            None => (Author::Session, summary::from_session(transcript, self.summary_bytes)),
        };
        let state = State {
            root: transcript.root.as_deref().map(|root| path_text::encode(root).into_owned()),
            model: transcript.model.clone(),
            agent: transcript.agent.clone(),
            first_prompt: transcript.first_prompt.clone(),
            turns: transcript.turns,
            usage: transcript.usage,
            grants: transcript.grants.clone(),
            approval: transcript.approval,
            measured: transcript.size().learnt,
            checks: transcript.checks.clone(),
        };
        Compaction { author, summary, state, ..self.compaction }
    }
}

/// What was attached to the prompt of the turn that begins. The prompt itself is among the instructions.
fn attached(messages: &[Message], open: &OpenInput) -> Vec<Message> {
    let is_attached = |at: &&(usize, usize)| messages[at.0].role == Role::System;
    let part = |(message, part): &(usize, usize)| messages[*message].parts[*part].clone();
    let parts: Vec<Part> = open.content.iter().filter(is_attached).map(part).collect();
    if parts.is_empty() { Vec::new() } else { vec![Message { role: Role::System, parts }] }
}

/// Counts images as the context's size does.
fn weigh(messages: &[Message], size: ContextSize) -> usize {
    let weight: u64 = messages.iter().flat_map(|message| &message.parts).map(|part| size.weight(part)).sum();
    usize::try_from(weight).unwrap_or(usize::MAX)
}

/// Bytes for everything but instructions, todos and what was just attached.
fn room(
    gauge: &Gauge,
    instructions: &[String],
    transcript: &Transcript,
    lead_in: usize,
    squeeze: Squeeze,
) -> usize {
    let todos: usize = transcript.todos.iter().map(|todo| todo.content.len() + 8).sum();
    let verbatim: usize = instructions.iter().map(|text| text.len() + 16).sum::<usize>() + todos + lead_in;
    let target = gauge.limit * squeeze.target_percent() / 100;
    let left = target.saturating_sub(gauge.fixed_tokens() + gauge.tokens(verbatim));
    let least = match squeeze {
        Squeeze::Ease => gauge.limit / 10,
        Squeeze::Tight => gauge.limit / 20,
        Squeeze::Last => gauge.limit / 40,
    };
    gauge.bytes(left.max(least))
}

/// A quarter of the context; whoever asks for a compaction wants most of what there is to go.
fn most_kept(transcript: &Transcript, gauge: &Gauge, trigger: Trigger) -> usize {
    let quarter = gauge.bytes(gauge.limit / 4);
    match trigger {
        Trigger::Auto | Trigger::Refused => quarter,
        Trigger::Asked => quarter.min(usize::try_from(transcript.size().total() / 4).unwrap_or(quarter)),
    }
}

/// What the user said so far. A long prompt is mostly something that was pasted: once it was answered, beginning and end do.
/// The one that is worked on stays as it is; whoever asks for a compaction is between two turns. Also how many are shorter now.
fn prompts(carried: Option<&Compaction>, fresh: &[&str], trigger: Trigger) -> (Vec<String>, usize) {
    let earlier = carried.into_iter().flat_map(|carried| carried.instructions.iter().cloned());
    let mut all: Vec<String> = earlier.chain(fresh.iter().map(|text| (*text).to_owned())).collect();
    let answered = match trigger {
        Trigger::Asked => all.len(),
        Trigger::Auto | Trigger::Refused => all.len().saturating_sub(1),
    };
    let long: Vec<&mut String> = all[..answered].iter_mut().filter(|text| text.len() > MOST_PROMPT).collect();
    let shortened = long.len();
    long.into_iter()
        .for_each(|text| *text = text::shorten(text, MOST_PROMPT, "; the session file has it whole"));
    (all, shortened)
}

/// All prompts word for word, or, where they alone would fill the context, the first and the newest.
fn instructions(carried: Option<&Compaction>, all: &[String], most: usize) -> (Vec<String>, u32) {
    let omitted = carried.map_or(0, |carried| carried.instructions_omitted);
    if all.iter().map(String::len).sum::<usize>() <= most {
        return (all.to_vec(), omitted);
    }
    let [first, rest @ ..] = all else { return (Vec::new(), omitted) };
    let share = if rest.is_empty() { most } else { most / 2 };
    let first = text::shorten(first, share, "");
    let mut left = most - first.len().min(most);
    let mut newest = Vec::new();
    for text in rest.iter().rev() {
        let fits = text.len() <= left;
        if !fits && !newest.is_empty() {
            break;
        }
        newest.push(text::shorten(text, left, ""));
        left = left.saturating_sub(text.len());
    }
    let skipped = u32::try_from(rest.len() - newest.len()).unwrap_or(u32::MAX);
    newest.push(first);
    newest.reverse();
    (newest, omitted.saturating_add(skipped))
}

fn objective(instructions: &[String]) -> String {
    instructions.last().map(|last| text::shorten(last.trim(), OBJECTIVE, "")).unwrap_or_default()
}

/// The newest skills that fit, and the names of the others.
fn fit_skills(skills: Vec<LoadedSkill>, mut room: usize) -> (Vec<LoadedSkill>, Vec<String>) {
    let (mut fit, mut omitted) = (Vec::new(), Vec::new());
    for skill in skills.into_iter().rev() {
        if skill.content.len() <= room {
            room -= skill.content.len();
            fit.push(skill);
        } else {
            omitted.push(skill.name);
        }
    }
    fit.reverse();
    omitted.reverse();
    (fit, omitted)
}

/// Where the part begins that stays as it is: never between a call and its result.
fn kept_from(transcript: &Transcript, first: usize, room: usize) -> usize {
    let (messages, size) = (transcript.messages(), transcript.size());
    let mut weighed = 0;
    let mut from = messages.len();
    for (at, message) in messages.iter().enumerate().skip(first).rev() {
        weighed += weigh(std::slice::from_ref(message), size);
        if weighed > room {
            break;
        }
        if may_begin(message) {
            from = at;
        }
    }
    from
}

fn may_begin(message: &Message) -> bool {
    let answers = message.parts.iter().any(|part| matches!(part, Part::ToolResult { .. }));
    message.role == Role::Assistant || !answers
}

/// The last messages. If even the last step is too large, its results are cut: the model has not seen them yet.
fn kept(transcript: &Transcript, first: usize, from: usize, room: usize) -> Vec<Message> {
    let (messages, size) = (transcript.messages(), transcript.size());
    if from < messages.len() {
        return messages[from..].to_vec();
    }
    let last = (first..messages.len()).rev().find(|at| may_begin(&messages[*at]));
    let Some(last) = last.filter(|at| messages[*at].role == Role::Assistant) else { return Vec::new() };
    let mut step = messages[last..].to_vec();
    let parts = || step.iter().flat_map(|message| &message.parts);
    let is_result = |part: &&Part| matches!(part, Part::ToolResult { .. });
    let results = parts().filter(is_result).count().max(1);
    let others: u64 = parts().filter(|part| !is_result(part)).map(|part| size.weight(part)).sum();
    let each = room.saturating_sub(usize::try_from(others).unwrap_or(usize::MAX)) / results;
    for part in step.iter_mut().flat_map(|message| &mut message.parts) {
        if let Part::ToolResult { output, .. } = part {
            *output = cap::fit(output.unpack(), each, "").into();
        }
    }
    let fits = weigh(&step, size) <= 2 * room;
    if fits { step } else { Vec::new() }
}

/// Open todos: the one in progress, then those that wait.
fn next_steps(todos: &[Todo]) -> Vec<String> {
    let of = |status: TodoStatus| todos.iter().filter(move |todo| todo.status == status);
    let open = of(TodoStatus::InProgress).chain(of(TodoStatus::Pending));
    open.take(MOST_STEPS).map(|todo| one_line(&todo.content, CALL_COLUMNS)).collect()
}

fn dropped(
    transcript: &Transcript,
    first: usize,
    until: usize,
    lines: Vec<(String, DroppedCall)>,
) -> Dropped {
    let gone = transcript.messages().get(first..until).unwrap_or_default();
    let bytes = weigh(gone, transcript.size()) as u64;
    let ids: HashSet<&str> = calls(gone).map(|call| call.id).collect();
    let mut lines: Vec<DroppedCall> =
        lines.into_iter().filter(|(id, _)| ids.contains(id.as_str())).map(|(_, line)| line).collect();
    let earlier = lines.len().saturating_sub(MOST_CALLS);
    lines.drain(..earlier);
    Dropped { messages: gone.len() as u64, bytes, earlier_calls: earlier as u64, calls: lines }
}

#[cfg(test)]
mod tests;
