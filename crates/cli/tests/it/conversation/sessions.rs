//! One engine and its sessions: one after the other, refused ones, and those that are told again.

use super::*;

#[test]
fn one_engine_opens_one_session_after_another() {
    let server = ModelServer::start();
    server.always(|request| Reply::chat().text(&format!("answer {}", request.messages().len())).done());
    let zdx = with_model(&server);
    std::fs::create_dir(zdx.root().join("sub")).unwrap();
    talk(&zdx, |mut talk| async move {
        let first = talk.open(Open::New).await;
        let info = (first.agent.as_str(), first.approval, first.saved, first.resumed);
        assert_eq!(info, ("build", Approval::Balanced, true, false));
        talk.prompt("one").await;
        // What cannot be opened leaves what is open as it is.
        let lost = talk.carry_out(Command::Open(Open::Resume(SessionPick::Id("ffff".into())))).await;
        assert!(is_error(&lost, ErrorKind::Session), "{lost:?}");
        talk.prompt("two").await;
        assert_eq!(server_prompts(&server), ["one", "two"]);

        let from = talk.told.len();
        let fork = talk.open(Open::Fork { turn: Some(2) }).await;
        assert_eq!(fork.parent.as_ref(), Some(&first.session));
        assert_eq!(retold(&talk.told[from..]), ["1> one", "answer 2"]);
        talk.prompt("three").await;
        assert_eq!(server_prompts(&server), ["one", "three"]);

        let from = talk.told.len();
        let back = talk.open(Open::Resume(SessionPick::Id(first.session[..8].to_owned()))).await;
        assert_eq!((back.session.as_str(), back.resumed), (first.session.as_str(), true));
        assert_eq!(retold(&talk.told[from..]), ["1> one", "answer 2", "2> two", "answer 4"]);
        // The one that is open can be opened again.
        assert_eq!(talk.open(Open::Resume(SessionPick::LatestHere)).await.session, fork.session);
        assert_eq!(talk.open(Open::Resume(SessionPick::LatestHere)).await.session, fork.session);

        let elsewhere = talk.open(Open::Root("sub".into())).await;
        assert!(elsewhere.root.ends_with("sub") && !elsewhere.resumed, "{elsewhere:?}");
        talk.prompt("four").await;
        assert_eq!(server_prompts(&server), ["four"]);
    });
}

/// What the user is seen to have said in the last request.
fn server_prompts(server: &ModelServer) -> Vec<String> {
    let request = server.calls().pop().expect("a request");
    let said = request.messages().iter().filter(|message| message["role"] == "user");
    said.map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn what_is_sent_behind_a_wish_to_leave_is_for_the_next_session() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["some", "thing"]).done(), "thing", &gate));
    server.push(Reply::chat().text("in the new one").done());
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let first = talk.engine.send(Command::Prompt("one".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        let overtaken = talk.engine.send(Command::Open(Open::New)).await;
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let second = talk.engine.send(Command::Prompt("two".into())).await;
        for id in [first, opening, second] {
            let end = talk.over(id).await;
            assert!(matches!(end, Event::Done { .. }), "{end:?}");
        }
        let end = talk.over(overtaken).await;
        assert!(is_error(&end, ErrorKind::Interrupted), "{end:?}");
        gate.open();
    });
    assert_eq!(server_prompts(&server), ["two"], "a session of its own");
}

#[test]
fn what_was_sent_for_a_session_that_is_not_opened_is_not_done_in_another_one() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let root = zdx.root().to_owned();
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        std::fs::create_dir(root.join(".zdx")).unwrap();
        std::fs::write(root.join(".zdx/config.toml"), "[env]\npass = [\"SECRET\"]\n").unwrap();
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let prompt = talk.engine.send(Command::Prompt("for the new one".into())).await;
        talk.carry_out(Command::Interrupt).await;
        for id in [opening, prompt] {
            let end = talk.over(id).await;
            assert!(is_error(&end, ErrorKind::Interrupted), "{end:?}");
        }
    });
    assert_eq!(server.calls().len(), 0);
}

/// A mistyped id must not cost the turn that runs.
#[test]
fn what_cannot_be_opened_interrupts_nothing() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["some", "thing"]).done(), "thing", &gate));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("one".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        for open in [Open::Resume(SessionPick::Id("ffff".into())), Open::Root("nowhere".into())] {
            let end = talk.carry_out(Command::Open(open)).await;
            assert!(matches!(end, Event::Error { .. }), "{end:?}");
        }
        gate.open();
        talk.over(prompt).await;
        let summary = finished(&talk.told).unwrap();
        assert_eq!((summary.outcome, summary.text.as_str()), (Outcome::Completed, "something"));
    });
}

#[test]
fn a_session_that_cannot_go_on_as_trusted_goes_on_as_it_was() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("said").done());
    let zdx = with_model(&server);
    // Trusted, it names a provider that is not there.
    zdx.write(".zdx/config.toml", "model = \"nowhere/x\"\n[providers.nowhere]\nwire = \"openai-chat\"\n");
    talk(&zdx, |mut talk| async move {
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let answer = |event: Event, trust: bool| match event {
            Event::TrustRequested(question) => Command::AnswerTrust { request: question.request, trust },
            other => panic!("{other:?}"),
        };
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        talk.engine.send(answer(asked, false)).await;
        talk.over(opening).await;
        talk.prompt("one").await;
        talk.carry_out(Command::SetApproval(Approval::Paranoid)).await;
        let deciding = talk.engine.send(Command::Trust).await;
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        talk.engine.send(answer(asked, true)).await;
        talk.over(deciding).await;
        talk.prompt("two").await;
        match talk.ask(Query::Grants).await {
            Told::Grants(grants) => {
                assert_eq!(grants.approval, Approval::Paranoid, "what was chosen stays chosen")
            }
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(server_prompts(&server), ["one", "two"]);
    let saved = zdx.records();
    assert!(saved.iter().any(|record| record["text"] == "two"), "{saved:?}");
}

#[test]
fn a_compacted_session_is_told_again_too() {
    let server = ModelServer::start();
    server.always(|request| match request.body.to_string().contains("Write a summary") {
        true => Reply::chat().text("a summary of what was said so far, long enough").done(),
        false => Reply::chat().text(&"an answer ".repeat(400)).done(),
    });
    let zdx = with_model(&server);
    for prompt in ["first", "second", "third"] {
        zdx.run(["exec", "-c", "-p", prompt]).code.filter(|code| *code == 0).unwrap_or_else(|| {
            zdx.run(["exec", "-p", prompt]).success();
            0
        });
    }
    zdx.command().args(["-c"]).stdin("/compact\n").run().success();
    talk(&zdx, |mut talk| async move {
        talk.open(Open::Resume(SessionPick::Latest)).await;
        let past = talk.told.iter().filter(|event| matches!(event, Event::Replayed { .. })).count();
        assert!(past > 0, "{:?}", talk.told);
    });
}
