use std::io::Write;

use zdx_protocol::compaction::{Author, Dropped, State, Trigger};
use zdx_protocol::{Compaction, Message, Part, Transcript, Usage};

use super::recovery::Random;
use super::*;

fn compaction(transcript: &Transcript, kept: Vec<Message>) -> Record {
    Record::Compaction(Box::new(Compaction {
        trigger: Trigger::Auto,
        author: Author::Session,
        summary: "what was done\nso far".to_owned(),
        instructions: vec!["do it".to_owned()],
        instructions_omitted: 0,
        objective: "do it".to_owned(),
        files: Vec::new(),
        todos: transcript.todos.clone(),
        risks: Vec::new(),
        next_steps: Vec::new(),
        skills: Vec::new(),
        skills_omitted: Vec::new(),
        kept,
        dropped: Dropped { messages: 3, bytes: 99, ..Dropped::default() },
        state: State {
            root: transcript.root.as_ref().map(|root| root.display().to_string()),
            model: transcript.model.clone(),
            agent: transcript.agent.clone(),
            first_prompt: transcript.first_prompt.clone(),
            turns: transcript.turns,
            usage: transcript.usage,
            grants: transcript.grants.clone(),
            approval: transcript.approval,
            measured: transcript.size().learnt,
            checks: transcript.checks.clone(),
        },
        ts: ts(),
    }))
}

fn seven_turns() -> Transcript {
    let mut transcript = Transcript::default();
    transcript.turns = 7;
    transcript
}

/// A conversation as it may happen, with compactions and prunings in it.
fn conversation(random: &mut Random, records: usize) -> Vec<Record> {
    let mut transcript = Transcript::default();
    let mut all = vec![meta(SessionId::random(), "/project")];
    transcript.apply(&all[0]);
    for n in 0..records {
        let id = format!("c{n}");
        let next = match random.below(12) {
            0..3 => vec![user(&format!("prompt {n} 你好"))],
            3..5 => vec![assistant("an answer\nof two lines")],
            5..8 => vec![call(&id), done(&id)],
            8 => vec![Record::Usage(record::UsageRecord {
                usage: Usage { input_tokens: 100 + n as u64, output_tokens: 7, ..Usage::default() },
                ts: ts(),
            })],
            9 => vec![Record::Model(record::Model { model: format!("lab/m{n}"), ts: ts() })],
            10 => {
                let calls = zdx_protocol::conversation::calls(transcript.messages());
                let pruned = calls.map(|call| call.id.to_owned()).take(3).collect();
                vec![Record::Prune(record::Prune { calls: pruned, images: Vec::new(), bytes: 1, ts: ts() })]
            }
            _ if transcript.open_calls().is_empty() && random.below(3) == 0 => {
                let kept: Vec<Message> = transcript.messages().iter().rev().take(2).rev().cloned().collect();
                let begins = |message: &Message| {
                    !message.parts.iter().any(|part| matches!(part, Part::ToolResult { .. }))
                };
                vec![compaction(
                    &transcript,
                    if kept.first().is_some_and(begins) { kept } else { Vec::new() },
                )]
            }
            _ => vec![call(&id)],
        };
        next.iter().for_each(|record| transcript.apply(record));
        all.extend(next);
    }
    all
}

fn write(store: &SessionStore, records: &[Record]) -> SessionId {
    let id = SessionId::random();
    std::fs::create_dir_all(store.dir()).unwrap();
    let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_line().unwrap()).collect();
    std::fs::write(path_of(store, id), bytes).unwrap();
    id
}

#[test]
fn reading_from_the_last_compaction_gives_what_reading_everything_gives() {
    let (_base, store) = store();
    let mut random = Random(0x7a11);
    let mut compacted = 0;
    for round in 0..300 {
        let records = conversation(&mut random, 5 + round / 4);
        compacted += usize::from(records.iter().any(|record| matches!(record, Record::Compaction(_))));
        let mut live = Transcript::default();
        records.iter().for_each(|record| live.apply(record));
        live.interrupted_results(ts()).into_iter().for_each(|result| live.absorb(result));
        let id = write(&store, &records);
        assert_eq!(store.open(id).unwrap().transcript, live, "round {round}");
    }
    assert!(compacted > 100, "{compacted}");
}

#[test]
fn what_lies_before_the_last_compaction_is_not_read() {
    let (_base, store) = store();
    let transcript = seven_turns();
    let records =
        [meta(SessionId::random(), "/p"), user("old"), compaction(&transcript, Vec::new()), user("new")];
    let id = write(&store, &records);
    let path = path_of(&store, id);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"old\"", "damaged")).unwrap();
    let opened = store.open(id).unwrap();
    assert_eq!((opened.bad_lines, opened.transcript.turns, opened.transcript.id.is_some()), (0, 8, true));
    assert_eq!(opened.transcript.prompts_since_compaction(), ["new"]);
}

#[test]
fn a_torn_or_damaged_compaction_is_passed_over() {
    let (_base, store) = store();
    let transcript = seven_turns();
    let whole = compaction(&transcript, Vec::new()).to_line().unwrap();
    let cuts: Vec<usize> = (1..whole.len()).step_by(97).chain([whole.len() - 1]).collect();
    for cut in cuts {
        let id = write(
            &store,
            &[meta(SessionId::random(), "/p"), compaction(&transcript, Vec::new()), user("one")],
        );
        let mut file = std::fs::File::options().append(true).open(path_of(&store, id)).unwrap();
        file.write_all(&whole[..cut]).unwrap();
        let opened = store.open(id).unwrap();
        // Without its newline alone it is complete.
        let complete = cut == whole.len() - 1;
        assert_eq!(opened.transcript.turns, if complete { 7 } else { 8 }, "at {cut}");
        assert_eq!(opened.bad_lines, u64::from(!complete), "at {cut}");
    }
}

#[test]
fn a_type_is_found_across_the_border_of_two_blocks() {
    let (_base, store) = store();
    let transcript = seven_turns();
    let line = compaction(&transcript, Vec::new()).to_line().unwrap();
    for shift in 0..40 {
        let id = write(&store, &[meta(SessionId::random(), "/p")]);
        // The rest of the file after the first bytes of the line is just one block.
        let empty = user("").to_line().unwrap().len();
        let filler = user(&"x".repeat((1 << 20) + shift - line.len() - empty)).to_line().unwrap();
        let mut file = std::fs::File::options().append(true).open(path_of(&store, id)).unwrap();
        file.write_all(b"damage\n").unwrap();
        file.write_all(&line).unwrap();
        file.write_all(&filler).unwrap();
        let opened = store.open(id).unwrap();
        assert_eq!((opened.transcript.turns, opened.bad_lines), (8, 0), "at {shift}");
    }
}

#[test]
fn a_revert_after_it_means_reading_everything() {
    let (_base, store) = store();
    let transcript = seven_turns();
    let id =
        write(&store, &[meta(SessionId::random(), "/p"), user("old"), compaction(&transcript, Vec::new())]);
    let path = path_of(&store, id);
    let text = std::fs::read_to_string(&path).unwrap().replace("\"old\"", "damaged");
    std::fs::write(&path, text + "{\"type\":\"revert\",\"ts\":\"2025-12-17T03:21:09Z\"}\n").unwrap();
    // A revert that this test writes by hand may itself be unreadable; the damage before must be seen.
    assert!(store.open(id).unwrap().bad_lines >= 1);
}
