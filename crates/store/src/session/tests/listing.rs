use std::time::{Duration, Instant, SystemTime};

use super::*;

fn set_age(store: &SessionStore, id: SessionId, seconds: u64) {
    let file = std::fs::File::options().append(true).open(path_of(store, id)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000 - seconds)).unwrap();
}

fn started_in(store: &SessionStore, root: &str, age: u64) -> SessionId {
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&meta(id, root));
    log.append(&user("hi"));
    drop(log);
    set_age(store, id, age);
    id
}

#[test]
fn newest_first_with_what_a_user_knows_it_by() {
    let (_base, store) = store();
    let old =
        saved(&store, &[user(" \n first\tline \n\nwhat came on stdin"), assistant("x"), user("second")]);
    let new = saved(&store, &[user("newer")]);
    set_age(&store, old, 100);
    set_age(&store, new, 50);
    let list = store.list(None).unwrap();
    assert_eq!(
        list.iter().map(|summary| summary.id.clone()).collect::<Vec<_>>(),
        [new.to_string(), old.to_string()]
    );
    let expected = zdx_protocol::query::SessionSummary {
        id: old.to_string(),
        when: Timestamp::from_second(2_000_000_000 - 100).unwrap(),
        bytes: std::fs::metadata(path_of(&store, old)).unwrap().len(),
        root: Some("/project".into()),
        model: Some("lab/qwen".to_owned()),
        works_for: None,
        one_prompt: false,
        in_use: false,
        fault: None,
        first_prompt: Some("first line".to_owned()),
    };
    assert_eq!(list[1], expected);
    assert_eq!(store.list(Some(1)).unwrap().len(), 1);
}

#[test]
fn only_sessions_are_listed() {
    let (_base, store) = store();
    assert_eq!(store.list(None).unwrap(), []);
    let id = saved(&store, &[user("hi")]);
    std::fs::create_dir(store.companion_dir(id)).unwrap();
    std::fs::create_dir(store.dir().join(format!("{}.jsonl", SessionId::random()))).unwrap();
    for other in ["notes.jsonl", "x", "550e8400e29b41d4a716446655440000.jsonl", ".jsonl"] {
        std::fs::write(store.dir().join(other), "{}").unwrap();
    }
    assert_eq!(store.list(None).unwrap().len(), 1);
}

#[test]
fn long_and_damaged_beginnings_are_listed_too() {
    let (_base, store) = store();
    let long = saved(&store, &[user(&"你好 \u{1F600}\" ".repeat(20_000))]);
    let shown = store.list(None).unwrap().remove(0).first_prompt.unwrap();
    assert!(shown.starts_with("你好 😀\" 你好 😀\""), "{shown}");
    assert_eq!(shown.chars().count(), 201, "200 and a mark that there is more");
    std::fs::write(path_of(&store, long), [0xff; 100]).unwrap();
    let summary = store.list(None).unwrap().remove(0);
    assert_eq!(
        (summary.id, summary.bytes, summary.first_prompt, summary.root),
        (long.to_string(), 100, None, None)
    );
}

/// The head of a file is folded like the whole of it.
#[test]
fn a_session_is_known_by_the_first_prompt_that_stands() {
    let (_base, store) = store();
    let hidden = || {
        Record::Message(record::Message { hidden: true, ..record::Message::new(Role::User, "psst", ts()) })
    };
    let system = || Record::Message(record::Message::new(Role::System, "a file", ts()));
    let revert = || Record::Revert(record::Revert { turn: 1, files: Vec::new(), left: None, ts: ts() });
    let redo = || Record::Redo(record::Redo { files: Vec::new(), ts: ts() });
    for (records, first) in [
        (vec![hidden()], None),
        (vec![system(), hidden(), user("asked"), user("more")], Some("asked")),
        (vec![user("slip"), revert()], None),
        (vec![user("slip"), assistant("x"), revert(), hidden(), user("meant")], Some("meant")),
        (vec![user("slip"), revert(), redo()], Some("slip")),
        (vec![user("slip"), revert(), user(&"long ".repeat(10_000))], Some("long long")),
    ] {
        let id = saved(&store, &records);
        let listed =
            store.list(None).unwrap().into_iter().find(|summary| summary.id == id.to_string()).unwrap();
        let shown = listed.first_prompt.as_deref();
        let whole = store.read(id).unwrap().transcript.first_prompt;
        assert_eq!(shown.is_some(), whole.is_some());
        assert_eq!(shown.map(|shown| shown.get(..9).unwrap_or(shown)), first, "{records:?}");
    }
}

#[test]
fn a_prompt_cut_inside_an_escape_is_still_shown() {
    let (_base, store) = store();
    for shift in 0..13 {
        let text = format!("{}{}", "x".repeat(shift), "\u{1}\u{1F600}\\\"é ".repeat(9000));
        let id = saved(&store, &[user(&text)]);
        let summary =
            store.list(None).unwrap().into_iter().find(|summary| summary.id == id.to_string()).unwrap();
        let shown = summary.first_prompt.unwrap();
        assert!(text.starts_with(shown.trim_end_matches('…')), "{shown}");
        assert_eq!(shown.chars().count(), 201);
    }
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let (_base, store) = store();
    std::fs::create_dir_all(store.dir()).unwrap();
    let ids: Vec<SessionId> = (0..8)
        .map(|n| {
            let id = format!("abcd{n}000-0000-4000-8000-000000000000").parse().unwrap();
            std::fs::write(path_of(&store, id), "").unwrap();
            id
        })
        .collect();
    assert_eq!(store.find("ABCD3"), Ok(ids[3]));
    assert_eq!(store.find(&ids[4].to_string()), Ok(ids[4]));
    let ambiguous = store.find("abcd").unwrap_err();
    let expected =
        SessionFindError::Ambiguous { prefix: "abcd".to_owned(), candidates: ids[..5].to_vec(), total: 8 };
    assert_eq!(ambiguous, expected);
    assert!(ambiguous.to_string().contains(&ids[0].to_string()), "{ambiguous}");
    let absent = SessionId::random().to_string();
    for wrong in ["ffff", "../sessions/abcd3", "abcd3000-0000-4000-8000-000000000000x", &absent] {
        assert_eq!(store.find(wrong), Err(SessionFindError::None(wrong.to_owned())));
    }
}

fn latest(store: &SessionStore, root: Option<&Path>) -> Result<SessionId, SessionFindError> {
    store.latest(root, SessionKind::Any).map(|latest| latest.id)
}

#[test]
fn the_latest_is_known_over_all_and_for_a_folder() {
    let (_base, store) = store();
    assert_eq!(latest(&store, None), Err(SessionFindError::Empty(store.dir().to_owned())));
    let here_old = started_in(&store, "/here", 30);
    let here = started_in(&store, "/here", 20);
    let there = started_in(&store, "/there", 10);
    assert_eq!(latest(&store, None), Ok(there));
    assert_eq!(latest(&store, Some(Path::new("/here"))), Ok(here));
    assert_eq!(latest(&store, Some(Path::new("/her"))), Err(SessionFindError::NoneIn("/her".into())));
    set_age(&store, here_old, 5);
    assert_eq!(latest(&store, Some(Path::new("/here"))), Ok(here_old));
}

#[test]
fn what_is_no_whole_session_is_never_the_latest() {
    let (_base, store) = store();
    let own = started_in(&store, "/here", 40);
    // Before headers named the task, its session was known by the agent right behind the header alone.
    let header = |id: SessionId, task: Option<&str>| {
        let Record::Meta(meta) = meta(id, "/here") else { unreachable!() };
        Record::Meta(Meta { parent: Some(own.to_string()), task: task.map(str::to_owned), ..meta })
    };
    let agent = || Record::Agent(record::Agent { agent: "explore".to_owned(), ts: record::now() });
    let child = |age: u64, task: Option<&str>, then: Record| {
        let id = SessionId::random();
        let mut log = store.create(id);
        [header(id, task), then, user("look")].iter().for_each(|record| drop(log.append(record)));
        drop(log);
        set_age(&store, id, age);
        id
    };
    let (new, old) = (child(30, Some("c1"), agent()), child(20, None, agent()));
    assert_eq!(latest(&store, None), Ok(own));
    let all = store.list_all(None).unwrap();
    assert_eq!(
        all.iter().map(|summary| (summary.id.clone(), summary.works_for.clone())).collect::<Vec<_>>(),
        [own, old, new].map(|id| (id.to_string(), (id != own).then(|| own.to_string())))
    );
    assert_eq!(store.list(None).unwrap().len(), 1);
    let mut children = store.children(own).unwrap();
    children.sort_unstable();
    let mut expected = vec![new, old];
    expected.sort_unstable();
    assert_eq!(children, expected);
    let fork = store.fork(own, None).unwrap();
    set_age(&store, fork, 15);
    assert_eq!(latest(&store, None), Ok(fork), "a fork is a session of its own");

    // As a crash leaves them, newer than all others.
    let (empty, torn) = (SessionId::random(), SessionId::random());
    std::fs::write(path_of(&store, empty), "").unwrap();
    let lines = [b"{\"type\":\"me\n".to_vec(), user("hi").to_line().unwrap()].concat();
    std::fs::write(path_of(&store, torn), lines).unwrap();
    set_age(&store, empty, 11);
    set_age(&store, torn, 10);
    let found = store.latest(Some(Path::new("/here")), SessionKind::Any).unwrap();
    assert_eq!((found.id, found.notices.len()), (fork, 2));
    let listed = store.list(None).unwrap();
    let of = |id: SessionId| listed.iter().find(|summary| summary.id == id.to_string()).unwrap();
    assert_eq!(of(empty).fault.as_deref(), Some("its file is empty"));
    assert_eq!(of(torn).fault.as_deref(), Some("its file has no header"));
    assert_eq!(of(torn).first_prompt.as_deref(), Some("hi"));
    // Gone on with by its name, it gets what it lacks.
    for (id, age) in [(empty, 5), (torn, 1)] {
        let mut opened = store.open(id).unwrap();
        opened.give_header(Path::new("/here"));
        opened.give_header(Path::new("/there"));
        drop(opened);
        set_age(&store, id, age);
        assert_eq!(latest(&store, Some(Path::new("/here"))), Ok(id));
    }
}

#[test]
fn a_session_is_listed_with_what_was_asked_and_the_model_in_use() {
    let (_base, store) = store();
    let model = |name: &str| Record::Model(record::Model { model: name.to_owned(), ts: ts() });
    let shell = record::Shell {
        command: "ls".to_owned(),
        end: record::ShellEnd::Interrupted,
        duration_ms: None,
        order: Vec::new(),
    };
    let ran = Record::Message(record::Message {
        shell: Some(shell),
        ..record::Message::new(Role::Assistant, "$ ls", ts())
    });
    let attached = Record::Message(record::Message::new(Role::System, "x".repeat(60 << 10), ts()));
    let listed = |records: &[Record]| {
        let id = saved(&store, records).to_string();
        let found = store.list(None).unwrap().into_iter().find(|summary| summary.id == id).unwrap();
        (found.first_prompt.unwrap(), found.model.unwrap())
    };
    let told = |prompt: &str, model: &str| (prompt.to_owned(), model.to_owned());
    assert_eq!(listed(&[user("!ls"), ran.clone(), attached.clone(), user("why?")]), told("why?", "lab/qwen"));
    assert_eq!(listed(&[user("!ls"), ran]), told("!ls", "lab/qwen"));
    let far = [user("a"), model("b"), model("lab/new"), assistant(&"y".repeat(3 << 20)), attached];
    assert_eq!(listed(&far), told("a", "lab/new"));
}

#[test]
fn deleting_takes_the_companions_along_and_nothing_else() {
    let (base, store) = store();
    let (id, other) = (saved(&store, &[user("hi")]), saved(&store, &[user("hi")]));
    let outside = base.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept"), "").unwrap();
    std::fs::create_dir(store.companion_dir(id)).unwrap();
    std::fs::write(store.companion_dir(id).join("call_1.out"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, store.companion_dir(id).join("link")).unwrap();
    store.delete(id).unwrap();
    let left: Vec<_> = std::fs::read_dir(store.dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [path_of(&store, other)]);
    assert!(outside.join("kept").exists());
    assert_eq!(store.delete(id), Err(SessionDeleteError::NotFound(id)));
}

#[test]
fn a_session_in_use_is_not_deleted() {
    let (_base, store) = store();
    let id = saved(&store, &[user("hi")]);
    let opened = store.open(id).unwrap();
    assert_eq!(store.delete(id), Err(SessionDeleteError::InUse(id)));
    assert!(path_of(&store, id).exists());
    drop(opened);
    store.delete(id).unwrap();
}

#[test]
fn ten_thousand_sessions_are_listed_quickly() {
    let (_base, store) = store();
    std::fs::create_dir_all(store.dir()).unwrap();
    for _ in 0..10_000 {
        let id = SessionId::random();
        let content = [meta(id, "/elsewhere").to_line().unwrap(), user("hi").to_line().unwrap()].concat();
        std::fs::write(path_of(&store, id), content).unwrap();
    }
    let here = started_in(&store, "/here", 1_000_000_000);
    let started = Instant::now();
    assert_eq!(store.list(Some(20)).unwrap().len(), 20);
    let page = started.elapsed();
    assert_eq!(store.list(None).unwrap().len(), 10_001);
    let all = started.elapsed() - page;
    let before = Instant::now();
    assert_eq!(latest(&store, Some(Path::new("/here"))), Ok(here), "the oldest of all");
    let latest = before.elapsed();
    println!("10,001 sessions: a page {page:?}, all {all:?}, the oldest by its folder {latest:?}");
    // Generous: an unoptimised build on a busy machine.
    assert!(page < Duration::from_secs(20) && all < Duration::from_secs(60), "page {page:?}, all {all:?}");
}
