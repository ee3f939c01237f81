//! What is typed and pasted around a question: before it, instead of an answer, as a word with a no.

use super::*;

/// What a key is given to be heard, when it may fall into the silence after a paste.
const A_MOMENT: std::time::Duration = std::time::Duration::from_millis(500);

/// What waited for a turn that somebody stops is perhaps not wanted any more.
#[test]
fn behind_a_turn_that_was_stopped_what_was_typed_waits_for_enter() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(bash("rm kept").done(), "\"bash\"", &gate));
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    pty.send("go\r");
    gate.wait_reached(SOON);
    pty.send("then this\r");
    gate.open();
    wait_for_question(&pty);
    pty.send("\x03");
    pty.wait_for_text("\n> then this", SOON);
    server.push(Reply::chat().text("done so"));
    pty.send(" too\r");
    pty.wait_for_text("done so", SOON);
    assert_eq!(prompt_of(&server.calls()[1]), "then this too");
    leave(pty);
}

#[test]
fn a_paste_never_answers() {
    for paste in ["\x1b[200~y\r\x1b[201~", "yes\r"] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        zdx.write("kept", "");
        let pty = open(&zdx, 80, &[]);
        let call = begin(&server, &pty, bash("rm kept"));
        wait_for_question(&pty);
        pty.send(paste);
        // A key too soon after a paste is taken for a part of it.
        let heard = (0..40).any(|_| {
            pty.send("n");
            pty.saw_text(&over(call), A_MOMENT)
        });
        assert!(heard, "{}", pty.contents());
        assert_eq!(code(&chat_results(&server.calls()[call - 1])[0].1), "rejected", "{paste:?}");
        assert!(zdx.root().join("kept").exists());
    }
}

#[test]
fn a_denial_reaches_the_model_with_the_users_word() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("m");
    pty.wait_for_text("what the model should know", SOON);
    wait_for_prompt(&pty);
    pty.send("make a note instead\r");
    // The turn goes on: the model is told, and answers.
    let result = told(&server, call, &pty);
    assert_eq!(code(&result), "rejected");
    assert_eq!(result["error"]["message"], "the user said no: make a note instead");
    assert!(!zdx.root().join("made").exists());
    leave(pty);
}

#[test]
fn an_enter_behind_the_key_is_no_answer_to_what_it_asks() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    assert!(pty.contents().contains("one key, no Enter: [y] yes, once"), "{}", pty.contents());
    pty.send("m");
    pty.wait_for_text("what the model should know:", SOON);
    wait_for_prompt(&pty);
    pty.send("\r");
    pty.wait_for_text("Enter once more denies without a word", SOON);
    wait_for_prompt(&pty);
    pty.send("make a note\r");
    assert_eq!(told(&server, call, &pty)["error"]["message"], "the user said no: make a note");

    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("m");
    pty.wait_for(|screen| screen.contents().matches("what the model should know:").count() == 2, SOON);
    wait_for_prompt(&pty);
    pty.send("\r");
    pty.wait_for(|screen| screen.contents().matches("Enter once more").count() == 2, SOON);
    wait_for_prompt(&pty);
    pty.send("\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    leave(pty);
}

#[test]
fn a_terminal_that_knows_only_lines_can_be_asked_too() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(bash("touch made").done(), "\"bash\"", &gate));
    server.push(Reply::chat().text("heard it"));
    server.push(Reply::chat().text("to what came next"));
    let zdx = with_model(&server);
    let mut pty = zdx.command().env("TERM", "dumb").line_mode(40, 80);
    pty.wait_for_text("\n>", SOON);
    pty.send("go\r");
    gate.wait_reached(SOON);
    // Typed ahead, as a whole line and as half of one.
    pty.send("y\ry");
    gate.open();
    wait_for_question(&pty);
    pty.send("nonsense\r");
    pty.wait_for(|screen| screen.contents().matches("[y] yes, once").count() == 2, SOON);
    pty.send("n\r");
    pty.wait_for_text("heard it", SOON);
    assert_eq!(code(&chat_results(&server.calls()[1])[0].1), "rejected");
    pty.wait_for_text("to what came next", SOON);
    assert_eq!(prompt_of(&server.calls()[2]), "y", "the line was kept, the half of one is gone");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert!(!pty.raw().contains(&0x1b));
}
