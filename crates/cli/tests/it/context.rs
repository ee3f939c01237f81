//! A conversation that does not fit its model: what is asked, what is kept, and that nothing the user said is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Request, Zdx};

use crate::place;

const LIMIT: u64 = 8_192;

/// About what a tokenizer makes of a request.
fn tokens(request: &Request) -> u64 {
    let sent = request.body["messages"].to_string().len() + request.body["tools"].to_string().len();
    sent as u64 / 4
}

/// Refuses like vLLM what is too long for it.
fn refusal(request: &Request, limit: u64) -> Option<Reply> {
    let (prompt, answer) = (tokens(request), request.body["max_tokens"].as_u64().unwrap());
    (prompt + answer > limit).then(|| {
        let message = format!(
            "This model's maximum context length is {limit} tokens. However, you requested {} tokens ({prompt} in the \
             messages, {answer} in the completion).",
            prompt + answer
        );
        Reply::status(400).json(json!({"error": {"message": message, "type": "BadRequestError", "code": 400}}))
    })
}

fn wants_summary(request: &Request) -> bool {
    let last = request.messages().last().unwrap();
    last["role"] == "user" && last["content"].to_string().contains("Write a summary of this conversation")
}

/// A model that reads one file a step, keeps a todo list, and finishes each turn after so many steps.
struct Worker {
    server: ModelServer,
    refused: Arc<AtomicUsize>,
    summaries: Arc<AtomicUsize>,
}

fn todos(done: usize) -> Value {
    let item = |n: usize| {
        let status = match n {
            n if n < done => "completed",
            n if n == done => "in_progress",
            _ => "pending",
        };
        json!({"id": n.to_string(), "content": format!("part {n} of the great migration"), "status": status})
    };
    json!({ "items": (0..6).map(item).collect::<Vec<_>>() })
}

fn worker(steps_a_turn: usize, limit: u64, summary: impl Fn() -> Reply + Send + Sync + 'static) -> Worker {
    let server = ModelServer::start();
    let (refused, summaries) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_refused, count_summaries) = (Arc::clone(&refused), Arc::clone(&summaries));
    let step = AtomicUsize::new(0);
    server.always(move |request| {
        if let Some(refusal) = refusal(request, limit) {
            count_refused.fetch_add(1, Ordering::SeqCst);
            return refusal;
        }
        if wants_summary(request) {
            count_summaries.fetch_add(1, Ordering::SeqCst);
            return summary();
        }
        let n = step.fetch_add(1, Ordering::SeqCst);
        let reply = Reply::chat().usage(tokens(request), 40);
        let id = format!("call_{n}");
        match n % (steps_a_turn + 1) {
            last if last == steps_a_turn => reply.text("this part is done").done(),
            // The list says which tenth of the way it is.
            at if at % 10 == 1 => {
                reply.text("now the list").tool_call(&id, "todowrite", todos(n / 10)).done()
            }
            _ => {
                let said = format!("step {n}: {}", "this file looks like the one before it. ".repeat(12));
                reply.text(&said).tool_call(&id, "read", json!({"path": format!("f{n}")})).done()
            }
        }
    });
    Worker { server, refused, summaries }
}

fn good_summary() -> Reply {
    Reply::chat().text("Files f0 and on were read in order; each holds x. Nothing failed so far.").done()
}

fn files(zdx: &Zdx, count: usize) {
    for n in 0..count {
        // Every ninth is far too large for the context.
        let size = if n % 9 == 5 { 40_000 } else { 2_600 + n * 7 };
        let line = format!("{n} {}\n", "x".repeat(58));
        zdx.write(format!("f{n}"), line.repeat(size / line.len() + 1));
    }
}

fn small(server: &ModelServer) -> Zdx {
    place().chat(server).config_more(&format!("[models.\"test/scripted\"]\ncontext_limit = {LIMIT}"))
}

const FIRST: &str =
    "Migrate all of it.\n  Rule one: never touch legacy/.\nRule two: tabs, not spaces — even in «docs».";
const SECOND: &str = "And keep a changelog; say 'migrated by hand' in every entry.";

fn text_of(request: &Request) -> String {
    request
        .messages()
        .iter()
        .map(|message| format!("{}\n", message["content"].as_str().unwrap_or_default()))
        .collect()
}

#[test]
fn sixty_steps_on_a_small_context_lose_no_instruction_and_no_todo() {
    let worker = worker(30, LIMIT, good_summary);
    let zdx = small(&worker.server);
    files(&zdx, 70);
    zdx.run(["exec", "-p", FIRST]).success();
    let out = zdx.run(["-c", "exec", "-p", SECOND]).success();

    let calls = worker.server.calls();
    let asked: Vec<&Request> = calls.iter().filter(|request| !wants_summary(request)).collect();
    assert!(asked.len() >= 62, "{} requests", asked.len());
    assert_eq!(worker.refused.load(Ordering::SeqCst), 0, "the server never had to refuse");
    let compactions = out.records_of("compaction");
    assert!(compactions.len() >= 3, "{} compactions", compactions.len());
    assert!(!out.records_of("prune").is_empty(), "old outputs went first");
    assert!(worker.summaries.load(Ordering::SeqCst) >= 1);

    let last = text_of(asked.last().unwrap());
    assert!(last.contains(FIRST), "{last}");
    assert!(last.contains(SECOND), "{last}");
    for line in todos(5)["items"].as_array().unwrap() {
        let mark = match line["status"].as_str().unwrap() {
            "completed" => "[x]",
            "in_progress" => "[~]",
            _ => "[ ]",
        };
        let line = format!("{mark} {}", line["content"].as_str().unwrap());
        assert!(last.contains(&line), "{line} in {last}");
    }
    assert!(last.contains("Files f0 and on were read"), "the model's own summary: {last}");
    for request in &asked {
        assert_well_formed(request);
    }
    // Nothing was taken from the file.
    assert_eq!(out.records_of("tool_result").len(), 60);
    assert!(
        out.records_of("tool_result").iter().any(|r| r.to_string().contains("left out to fit the context"))
    );
}

/// Every call has its result directly after it, and no result is without its call.
fn assert_well_formed(request: &Request) {
    let mut open: Vec<String> = Vec::new();
    for message in request.messages() {
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                assert_eq!(open.first().map(String::as_str), Some(id), "{}", request.body);
                open.remove(0);
            }
            _ => {
                assert!(open.is_empty(), "unanswered {open:?}");
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                open = calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect();
            }
        }
    }
    assert!(open.is_empty());
    let last = request.messages().last().unwrap()["role"].as_str().unwrap();
    assert!(last == "tool" || last == "user", "{last}");
}

#[test]
fn a_useless_summary_is_replaced_by_what_the_session_says() {
    let useless: [fn() -> Reply; 5] = [
        || Reply::chat().text("").done(),
        || Reply::chat().text("Let me look.").tool_call("s1", "read", json!({"path": "f1"})).done(),
        || Reply::status(500).json(json!({"error": {"message": "no"}})),
        || Reply::chat().text(&"so much to say ".repeat(4_000)).done(),
        || Reply::chat().text("cut in the middle of a sen").finish("length").done(),
    ];
    for summary in useless {
        let worker = worker(16, LIMIT, summary);
        let zdx = small(&worker.server).config_more("[compaction]\nprune = false");
        files(&zdx, 20);
        let out = zdx.run(["exec", "-p", FIRST]).success();
        assert!(worker.summaries.load(Ordering::SeqCst) >= 1);
        let compactions = out.records_of("compaction");
        assert!(!compactions.is_empty());
        assert!(compactions.iter().all(|record| record["author"] == "session"), "{compactions:?}");
        let last = text_of(worker.server.calls().last().unwrap());
        assert!(last.contains(FIRST) && last.contains("step 1"), "{last}");
        assert!(
            !out.stdout.contains("so much to say") && !out.stdout.contains("Let me look"),
            "{}",
            out.stdout
        );
    }
}

#[test]
fn the_prefix_breaks_exactly_where_it_is_told() {
    let worker = worker(40, LIMIT, good_summary);
    let zdx = small(&worker.server);
    files(&zdx, 50);
    let out = zdx.run(["exec", "-p", FIRST, "--format", "json"]).success();
    let mut breaks = 0;
    let calls = worker.server.calls();
    for pair in calls.windows(2) {
        assert_eq!(pair[0].body["tools"], pair[1].body["tools"]);
        let (before, after) = (pair[0].messages(), pair[1].messages());
        // The request for a summary goes on from the last one, and the next one does not go on from it.
        let before = if wants_summary(&pair[0]) { &before[..before.len() - 1] } else { before };
        let goes_on = after.len() > before.len() && before.iter().zip(after).all(|(a, b)| a == b);
        breaks += usize::from(!goes_on);
    }
    let events = out.json_lines();
    let told =
        events.iter().filter(|event| event["type"] == "compacted" || event["type"] == "pruned").count();
    assert!(told >= 3, "{told}");
    // Both at once, before one request, is one break.
    assert!(breaks <= told && breaks >= told.div_ceil(2), "{breaks} breaks, {told} told");
    let usage = events.iter().rfind(|event| event["type"] == "context_usage").unwrap();
    assert_eq!(usage["limit"], LIMIT);
    assert!(
        usage["used"].as_u64().unwrap() <= LIMIT && usage["breakdown"]["summary"].as_u64().unwrap() > 0,
        "{usage}"
    );
}

#[test]
fn a_resumed_session_has_the_context_it_was_left_with() {
    let worker = worker(14, LIMIT, good_summary);
    let zdx = small(&worker.server).config_more("[compaction]\nprune = false");
    files(&zdx, 40);
    let out = zdx.run(["exec", "-p", FIRST]).success();
    assert!(!out.records_of("compaction").is_empty());
    let before = worker.server.calls().len();
    zdx.run(["-c", "exec", "-p", SECOND]).success();
    let calls = worker.server.calls();
    let (left, resumed) = (calls[before - 1].messages(), calls[before].messages());
    assert!(resumed.len() > left.len());
    assert_eq!(resumed[..left.len()], *left);
}

#[test]
fn a_refusal_is_answered_by_compacting_once() {
    // Nobody knows the limit, and the server names none.
    let server = ModelServer::start();
    let step = AtomicUsize::new(0);
    server.always(move |request| {
        if tokens(request) > 7_000 {
            let message =
                json!({"error": {"message": "prompt is too long", "type": "invalid_request_error"}});
            return Reply::status(400).json(message);
        }
        let n = step.fetch_add(1, Ordering::SeqCst);
        let reply = Reply::chat().no_usage();
        let input = json!({"path": format!("f{n}")});
        if n == 14 {
            reply.text("done").done()
        } else {
            reply.tool_call(&format!("c{n}"), "read", input).done()
        }
    });
    let zdx = place().chat(&server);
    for n in 0..15 {
        zdx.write(format!("f{n}"), format!("{n} {}\n", "x".repeat(40)).repeat(60));
    }
    let out = zdx.run(["exec", "-p", FIRST]).success();
    assert_eq!(out.stdout, "done\n");
    assert_eq!(out.records_of("compaction")[0]["trigger"], "refused");
    assert!(text_of(server.calls().last().unwrap()).contains(FIRST));
}

#[test]
fn a_conversation_that_can_never_fit_fails_after_one_try() {
    let server = ModelServer::start();
    server.always(|_| Reply::status(400).json(json!({"error": {"message": "prompt is too long"}})));
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "-p", "hi"]).expect_code(1);
    assert!(out.stderr.contains("/compact"), "{}", out.stderr);
    assert!(server.calls().len() <= 2, "{}", server.calls().len());
}

#[test]
fn compact_context_and_what_a_compaction_did() {
    let worker = worker(4, 100_000, good_summary);
    let zdx = place().chat(&worker.server).config_more("[models.\"test/scripted\"]\ncontext_limit = 20000");
    for n in 0..5 {
        zdx.write(format!("f{n}"), format!("{n} {}\n", "x".repeat(90)).repeat(100));
    }
    let input = format!("{}\n/context\n/compact\n/context\n", SECOND);
    let out = zdx.command().stdin(input).run().success();
    let lines: Vec<_> = out.stderr.lines().filter(|line| line.starts_with("context: ")).collect();
    assert_eq!(lines.len(), 2, "{}", out.stderr);
    let percent = |line: &str| -> u64 {
        let at = line.find('(').unwrap();
        line[at + 1..].split(' ').next().unwrap().parse().unwrap()
    };
    assert!(lines[0].contains(" of 20,000 tokens ("), "{lines:?}");
    assert!(percent(lines[1]) < percent(lines[0]), "{lines:?}");
    assert!(out.stderr.contains("context compacted (as asked)"), "{}", out.stderr);
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let shown = zdx.run(["sessions", "compaction", &id[..8]]).success().stdout;
    for part in [
        "compaction 1",
        "asked for",
        "read path=\"f0\" -> ",
        "1 prompt word for word",
        "summary by the model",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let json = zdx.run(["sessions", "compaction", &id, "--format", "json"]).success().json_lines();
    assert_eq!(json[0]["instructions"], json!([SECOND]));
}

#[test]
fn what_was_only_pruned_is_named() {
    let server = ModelServer::start();
    let step = AtomicUsize::new(0);
    server.always(move |request| {
        let n = step.fetch_add(1, Ordering::SeqCst);
        let reply = Reply::chat().usage(tokens(request), 10);
        match n {
            8.. => reply.text("done").done(),
            n => reply.tool_call(&format!("c{n}"), "read", json!({"path": format!("f{n}")})).done(),
        }
    });
    let zdx = small(&server).config_more("[compaction]\nauto = false");
    for n in 0..8 {
        zdx.write(format!("f{n}"), format!("{n} {}\n", "x".repeat(58)).repeat(50));
    }
    let out = zdx.run(["exec", "-p", "read them all"]).success();
    let pruned = out.records_of("prune");
    assert!(!pruned.is_empty() && out.records_of("compaction").is_empty());
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let shown = zdx.run(["sessions", "compaction", &id]).success();
    assert!(!shown.stderr.contains("sees all of it"), "{}", shown.stderr);
    assert_eq!(shown.stderr, "warning: this session was never compacted, only pruned\n");
    let calls = pruned[0]["calls"].as_array().unwrap();
    assert!(shown.stdout.starts_with("pruning 1 · "), "{}", shown.stdout);
    let head = format!("{} old tool outputs", calls.len());
    assert!(shown.stdout.contains(&head), "{head} in {}", shown.stdout);
    for id in calls {
        let line = format!("  read path=\"f{}\"\n", &id.as_str().unwrap()[1..]);
        assert!(shown.stdout.contains(&line), "{line} in {}", shown.stdout);
    }
    let json = zdx.run(["sessions", "compaction", &id, "--format", "json"]).success().json_lines();
    assert_eq!(json.iter().collect::<Vec<_>>(), pruned);

    let untouched = zdx.run(["exec", "-p", "hi"]).success();
    let id = untouched.records_of("meta")[0]["id"].as_str().unwrap().to_owned();
    let shown = zdx.run(["sessions", "compaction", &id]).success();
    assert!(shown.stderr.contains("never compacted: the model still sees all of it"), "{}", shown.stderr);
}

/// In case it cannot be kept from its thoughts.
#[test]
fn a_summary_of_a_model_that_thinks_has_room_for_thoughts() {
    for (thinks, expected) in [(true, true), (false, false)] {
        let server = ModelServer::start();
        server.always(move |request| match (wants_summary(request), thinks) {
            (true, _) => good_summary(),
            (false, true) => Reply::chat().reasoning("hm").text("fine").done(),
            (false, false) => Reply::chat().text("fine").done(),
        });
        place().chat(&server).command().stdin("one\n/compact\n").run().success();
        let calls = server.calls();
        let summary = calls.iter().find(|request| wants_summary(request)).expect("a summary was asked for");
        let most = summary.body["max_tokens"].as_u64().unwrap();
        assert_eq!(most > 4_096, expected, "thinks: {thinks}, max_tokens: {most}");
    }
}

/// A model that thinks first would spend the whole answer on it.
#[test]
fn a_summary_is_asked_for_without_thinking() {
    for knows_switch in [true, false] {
        let server = ModelServer::start();
        server.always(move |request| {
            let results = request.messages().iter().filter(|message| message["role"] == "tool").count();
            let switch = request.body.get("chat_template_kwargs");
            match (wants_summary(request), switch) {
                (true, Some(_)) if !knows_switch => {
                    Reply::status(400).json(json!({"error": {"message": "extra field"}}))
                }
                (true, Some(switch)) if switch["enable_thinking"] == false => good_summary(),
                // Asked again without the switch that it does not know.
                (true, None) if !knows_switch => good_summary(),
                (true, _) => Reply::chat().reasoning("hm").finish("length").done(),
                (false, switch) => {
                    assert_eq!(switch, None, "only a summary does without");
                    let command = format!("seq {} {}", results * 1_000, results * 1_000 + 900);
                    match results {
                        0..8 => {
                            let reply = Reply::chat().reasoning("hm");
                            reply
                                .tool_call(&format!("c{results}"), "bash", json!({ "command": command }))
                                .done()
                        }
                        _ => Reply::chat().text("done").done(),
                    }
                }
            }
        });
        let zdx = place()
            .chat(&server)
            .config_more("[compaction]\nprune = false\n[models.\"test/scripted\"]\ncontext_limit = 16384");
        let out = zdx.run(["exec", "-p", "go", "--max-steps", "9"]);
        let summaries = out.records_of("compaction");
        assert!(!summaries.is_empty(), "{}", out.stderr);
        assert!(summaries.iter().all(|record| record["author"] == "model"), "{knows_switch}: {summaries:?}");
    }
}
