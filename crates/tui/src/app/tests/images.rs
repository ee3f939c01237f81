use zdx_protocol::{ImageFormat, ImageInfo};

use super::*;

const PATH: &str = "/tmp/my shot.png";

/// The composer after this was typed, the path pasted, this typed, and the image found.
fn pasted(before: &str, pasted: &str, behind: &str) -> State {
    let (mut state, now) = (state(), Instant::now());
    state.update(Input::Paste(before.into()), now);
    let effects = state.update(Input::Paste(pasted.into()), now);
    let query = Command::Ask(Query::Image { path: PATH.into() });
    assert_eq!(commands(&effects), [&query], "{effects:?}");
    state.update(Input::Paste(behind.into()), now);
    let image = ImageInfo { format: ImageFormat::Png, width: 1280, height: 800 };
    let purpose = Purpose::Image { pasted: pasted.trim().into() };
    state.update(Input::Ended(purpose, reply(Reply::Image(Some(image)))), now);
    state
}

fn shown(state: &mut State) -> String {
    let frame = state.frame(SIZE, Instant::now());
    let row = frame.live.iter().map(ToString::to_string).find(|row| row.starts_with('›'));
    row.unwrap().trim().to_owned()
}

#[test]
fn a_pasted_path_becomes_a_chip_that_stands_for_the_path() {
    for spelled in ["'/tmp/my shot.png'", "/tmp/my\\ shot.png", "\"/tmp/my shot.png\" "] {
        let mut state = pasted("see ", spelled, " and ");
        state.update(Input::Paste("say".into()), Instant::now());
        assert_eq!(state.composer.text(), format!("see {spelled} and say"));
        assert_eq!(shown(&mut state).replace("  ", " "), "› see [Image 1280×800] and say");
    }
}

#[test]
fn other_pastes_ask_for_nothing_and_a_late_answer_changes_nothing() {
    for text in ["/tmp/notes.txt", "see /tmp/a.png", "src/a.png", "/tmp/a.png /tmp/b.png"] {
        let effects = state().update(Input::Paste(text.into()), Instant::now());
        assert_eq!(commands(&effects), [] as [&Command; 0], "{text}");
    }
    let mut state = pasted("", "'/tmp/my shot.png'", "");
    state.composer.set("something else");
    let image = ImageInfo { format: ImageFormat::Png, width: 1, height: 1 };
    let purpose = Purpose::Image { pasted: "'/tmp/my shot.png'".into() };
    state.update(Input::Ended(purpose, reply(Reply::Image(Some(image)))), Instant::now());
    assert_eq!(state.composer.text(), "something else");
}
