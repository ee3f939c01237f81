//! Text typed and pasted around a request: before it, instead of an answer, as the reason of a denial.

use super::*;

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
fn a_marked_paste_is_no_answer_even_with_enter_behind_it() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("kept", "");
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("rm kept"));
    wait_for_question(&pty);
    pty.send("\x1b[200~y\r\x1b[201~");
    pty.wait_for_text("answer: y", SOON);
    pty.send("\x15n\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    assert!(zdx.root().join("kept").exists());
    leave(pty);
}

/// A pasted text of several lines, one of which would be an answer by itself.
#[test]
fn a_line_of_prose_is_kept_for_the_next_prompt_and_answers_nothing() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("kept", "");
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("rm kept"));
    server.push(Reply::chat().text("so it is"));
    wait_for_question(&pty);
    pty.send("make it so\ry\r");
    pty.wait_for_text("kept for the next prompt", SOON);
    pty.wait_for_text("typed too quickly to be an answer", SOON);
    wait_for_question(&pty);
    pty.send("n\r");
    pty.wait_for_text("so it is", SOON);
    assert_eq!(code(&chat_results(&server.calls()[call - 1])[0].1), "rejected");
    assert_eq!(prompt_of(&server.calls()[call]), "make it so");
    assert!(zdx.root().join("kept").exists());
    wait_for_prompt(&pty);
    leave(pty);
}

/// A line that was begun before the request stands in the answer, where it can be taken back.
#[test]
fn a_line_begun_before_the_request_never_answers() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(bash("touch made").done(), "\"bash\"", &gate));
    server.push(Reply::chat().text("heard it"));
    server.push(Reply::chat().text("to what came next"));
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    pty.send("go\r");
    gate.wait_reached(SOON);
    pty.send("ye");
    gate.open();
    pty.wait_for_text("answer: ye", SOON);
    pty.send("s\r");
    pty.wait_for_text("kept for the next prompt", SOON);
    wait_for_question(&pty);
    assert!(!zdx.root().join("made").exists());
    pty.send("\r");
    pty.wait_for_text("to what came next", SOON);
    assert!(zdx.root().join("made").exists(), "Enter allows an ordinary request");
    assert_eq!(prompt_of(&server.calls()[2]), "yes");
    wait_for_prompt(&pty);
    leave(pty);
}

#[test]
fn a_denial_reaches_the_model_with_the_users_word() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("m\r");
    pty.wait_for_text("Reason for the model", SOON);
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
fn a_terminal_that_knows_only_lines_can_be_asked_too() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(bash("touch made").done(), "\"bash\"", &gate));
    server.push(Reply::chat().text("heard it"));
    server.push(Reply::chat().text("to what came next"));
    server.push(Reply::chat().text("to what came last"));
    let zdx = with_model(&server);
    let mut pty = zdx.command().env("TERM", "dumb").line_mode(40, 80);
    pty.wait_for_text("\n>", SOON);
    pty.send("go\r");
    gate.wait_reached(SOON);
    // Typed ahead, as a whole line and as half of one.
    pty.send("y\ry");
    gate.open();
    pty.wait_for_text("answer: y", SOON);
    // Neither its end nor what an edit makes of it is an answer.
    pty.send("\r");
    pty.wait_for(|screen| screen.contents().matches("[y] yes, once").count() == 2, SOON);
    assert!(!zdx.root().join("made").exists());
    pty.send("n\r");
    pty.wait_for_text("to what came last", SOON);
    assert_eq!(code(&chat_results(&server.calls()[1])[0].1), "rejected");
    assert_eq!(prompt_of(&server.calls()[2]), "y");
    assert_eq!(prompt_of(&server.calls()[3]), "y", "the half of a line is kept as well");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert!(!pty.raw().contains(&0x1b));
}
