//! What happens in turns while a front end waits, reads late, or does not read at all.

use super::*;

/// Whoever thinks about an answer does not make the command slow.
#[test]
fn the_time_of_a_check_is_not_that_of_the_question_about_it() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "a.rs", "content": "x"})));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server).config_more("[validation]\ncommand = \"rm -f gone\"");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        talk.engine.send(Command::Prompt("go".into())).await;
        let mut answered = Instant::now();
        for thinks in [Duration::ZERO, Duration::from_millis(500)] {
            let asked = talk.until(|event| matches!(event, Event::ApprovalRequested(_))).await;
            let Event::ApprovalRequested(question) = asked else { unreachable!() };
            tokio::time::sleep(thinks).await;
            answered = Instant::now();
            let (request, decision) = (question.request, Decision::AllowOnce);
            talk.engine.send(Command::Answer { request, decision }).await;
        }
        let is_check = |event: &Event| matches!(event, Event::ToolFinished { origin: CallOrigin::Check, .. });
        let Event::ToolFinished { duration_ms, .. } = talk.until(is_check).await else { unreachable!() };
        let since = answered.elapsed();
        assert!(u128::from(duration_ms) <= since.as_millis(), "{duration_ms} ms, of {since:?}");
        talk.leave().await;
    });
}

#[test]
fn what_waits_behind_an_interrupted_turn_is_not_begun_and_says_so() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["some", "thing"]).done(), "thing", &gate));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let first = talk.engine.send(Command::Prompt("one".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        let second = talk.engine.send(Command::Prompt("two".into())).await;
        let agent = talk.engine.send(Command::SetAgent("plan".into())).await;
        talk.carry_out(Command::Interrupt).await;
        for id in [second, agent] {
            let end = talk.over(id).await;
            assert!(is_error(&end, ErrorKind::Interrupted), "{end:?}");
        }
        assert!(matches!(talk.over(first).await, Event::Done { .. }));
        assert_eq!(finished(&talk.told).unwrap().outcome, Outcome::Interrupted);
        let told = talk.leave().await;
        assert!(!told.iter().any(|event| matches!(event, Event::AgentChanged { .. })));
        gate.open();
    });
    assert_eq!(server.calls().len(), 1);
}

/// Whoever sends a lot before he reads must find everything answered, and the turn unharmed.
#[test]
fn a_front_end_that_reads_late_misses_nothing() {
    let server = ModelServer::start();
    let words: Vec<String> = (0..3_000).map(|n| format!("w{n} ")).collect();
    server.push(Reply::chat().text_deltas(words.clone()).done().split_every(200));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("a lot".into())).await;
        let mut asked = Vec::new();
        for n in 0..50 {
            let command = match n % 3 {
                0 => Command::Ask(Query::Context),
                1 => Command::SetApproval(Approval::Paranoid),
                _ => Command::Ask(Query::Agents),
            };
            asked.push(talk.engine.send(command).await);
            tokio::task::yield_now().await;
        }
        for id in asked {
            talk.over(id).await;
        }
        talk.over(prompt).await;
        let streamed: String = talk
            .told
            .iter()
            .filter_map(|event| match event {
                Event::AssistantDelta { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(streamed, words.concat());
    });
}

#[test]
fn a_call_is_announced_while_its_arguments_stream_under_the_id_it_keeps() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let call = || Reply::chat().tool_call_deltas("call_0", "shell", ["{\"command\": ", "\"true\"}"]);
    server.push(hold_before(call().done(), "true", &gate));
    server.push(call().done());
    server.push(Reply::chat().text("done").done());
    let zdx = place().chat(&server).config_more("approval = \"yolo\"");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("go".into())).await;
        talk.until(|event| matches!(event, Event::ToolAnnounced { .. })).await;
        assert!(!talk.told.iter().any(|event| matches!(event, Event::ToolRequested { .. })));
        gate.open();
        talk.over(prompt).await;
        let life: Vec<String> = talk
            .told
            .iter()
            .filter_map(|event| match event {
                Event::ToolAnnounced { id, name } => Some(format!("announced {id} {name}")),
                Event::ToolRequested { id, name, .. } => Some(format!("requested {id} {name}")),
                Event::ToolStarted { id, .. } => Some(format!("started {id}")),
                Event::ToolFinished { id, .. } => Some(format!("finished {id}")),
                _ => None,
            })
            .collect();
        // The second one has an id of its own from its first sign of life on.
        let first = ["announced call_0 bash", "requested call_0 bash", "started call_0", "finished call_0"];
        let second =
            ["announced call_0-2 bash", "requested call_0-2 bash", "started call_0-2", "finished call_0-2"];
        assert_eq!(life, [&first[..], &second[..]].concat());
    });
}

/// Whoever waits to be heard must not keep others from it: neither when idle nor at the end of a turn.
#[test]
fn a_full_queue_of_events_blocks_nobody_for_good() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("said").done());
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let mut sent = Vec::new();
        for n in 0..300 {
            let preset = if n % 2 == 0 { Approval::Paranoid } else { Approval::Balanced };
            sent.push(talk.engine.send(Command::SetApproval(preset)).await);
            tokio::task::yield_now().await;
        }
        sent.push(talk.engine.send(Command::SetModel("test/scripted".into())).await);
        sent.push(talk.engine.send(Command::Prompt("hi".into())).await);
        sent.push(talk.engine.send(Command::Compact).await);
        for _ in 0..40 {
            sent.push(talk.engine.send(Command::Ask(Query::Context)).await);
            tokio::task::yield_now().await;
        }
        for id in sent {
            talk.over(id).await;
        }
        talk.prompt("and again").await;
    });
}

#[test]
fn one_large_result_among_small_ones_is_not_cut() {
    let server = ModelServer::start();
    let reply = (0..8).fold(Reply::chat(), |reply, n| {
        let path = if n == 0 { "large.txt" } else { "small.txt" };
        reply.tool_call(&format!("c{n}"), "read", json!({"path": path, "limit": 1000 + n}))
    });
    server.push(reply.done());
    server.push(Reply::chat().text("read").done());
    let zdx = with_model(&server);
    zdx.write("large.txt", "0123456789abcde\n".repeat(1_000));
    zdx.write("small.txt", "x\n");
    zdx.run(["exec", "-p", "read them"]).success();
    let results = crate::results(&server.calls()[1]);
    assert_eq!(results[0]["data"]["content"].as_str().unwrap().len(), 16_000, "{}", results[0]);
}
