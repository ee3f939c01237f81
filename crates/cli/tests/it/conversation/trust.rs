//! The question about a folder, before anything of it is used.

use super::*;

#[test]
fn nothing_of_a_folder_is_used_before_the_question_about_it_is_answered() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".zdx/config.toml", "[agent.mate]\ndescription = \"x\"\nprompt = \"hi\"\nmodel = \"test/other\"\n[env]\npass = [\"SECRET\"]\n");
    talk(&zdx, |mut talk| async move {
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let Event::TrustRequested(question) = asked else { unreachable!() };
        assert_eq!(question.state.standing, Standing::Unknown);
        assert!(!question.state.wants.is_empty());
        assert!(started(&talk.told).is_none(), "no session before the answer");
        let wrong = Command::AnswerTrust { request: RequestId(99), trust: true };
        let wrong = talk.carry_out(wrong).await;
        assert!(is_error(&wrong, ErrorKind::Session), "{wrong:?}");
        talk.carry_out(Command::AnswerTrust { request: question.request, trust: false }).await;
        talk.over(opening).await;
        let warned = |talk: &Talk, from: usize| {
            talk.told[from..].iter().any(
                |event| matches!(event, Event::Notice { message, .. } if message.contains("not trusted")),
            )
        };
        assert!(started(&talk.told).is_some() && warned(&talk, 0));
        // Whoever said "not now" is not asked again, until he asks for it himself.
        let from = talk.told.len();
        talk.open(Open::New).await;
        assert!(!talk.told[from..].iter().any(|event| matches!(event, Event::TrustRequested(_))));
        talk.carry_out(Command::SetApproval(Approval::Paranoid)).await;
        let from = talk.told.len();
        let deciding = talk.engine.send(Command::Trust).await;
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let Event::TrustRequested(question) = asked else { unreachable!() };
        talk.carry_out(Command::AnswerTrust { request: question.request, trust: true }).await;
        talk.over(deciding).await;
        let again = started(&talk.told[from..]).expect("it goes on as trusted");
        assert!(!warned(&talk, from) && again.approval == Approval::Paranoid, "{again:?}");
        match talk.ask(Query::Trust).await {
            Told::Trust(state) => {
                assert_eq!((state.standing, state.wants.is_empty()), (Standing::Trusted, false));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn whoever_leaves_at_the_question_about_trust_leaves() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".zdx/config.toml", "[env]\npass = [\"SECRET\"]\n");
    talk(&zdx, |mut talk| async move {
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let prompt = talk.engine.send(Command::Prompt("never".into())).await;
        talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let told = talk.leave().await;
        for id in [opening, prompt] {
            let end = told.iter().find(|event| event.ends() == Some(id)).expect("an end");
            assert!(is_error(end, ErrorKind::Interrupted), "{end:?}");
        }
        assert!(started(&told).is_none());
    });
    assert_eq!(server.calls().len(), 0);
}

#[test]
fn a_question_about_trust_is_answered_where_there_is_none_and_left_in_plain_words() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let config = zdx.root().join(".zdx/config.toml");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let end = talk.carry_out(Command::Trust).await;
        assert!(matches!(end, Event::Done { .. }), "{end:?}");
        let said = |event: &Event| matches!(event, Event::Notice { message, .. } if message.contains("asks for trust"));
        assert!(talk.told.iter().any(said), "{:?}", talk.told);

        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(config, "[env]\npass = [\"SECRET\"]\n").unwrap();
        let deciding = talk.engine.send(Command::Trust).await;
        talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let told = talk.leave().await;
        let end = told.iter().find(|event| event.ends() == Some(deciding)).expect("an end");
        let Event::Error { message, .. } = end else { panic!("{end:?}") };
        assert!(message.contains("the session is as it was"), "{message}");
    });
}
