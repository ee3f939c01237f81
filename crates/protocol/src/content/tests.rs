use serde_json::json;

use super::*;
use crate::Event;
use crate::record::{self, Record};
use crate::transcript::Entry;

fn image() -> ImageRef {
    let info = ImageInfo { format: ImageFormat::Png, width: 1280, height: 800 };
    ImageRef::new("ab".repeat(32), 120_000, info, "shot.png", ContentOrigin::Mention)
}

fn saved_and_read(content: &Content) -> (serde_json::Value, Content) {
    let event = Event::Attached(AttachedContent::new(content.clone()));
    let line = event.record(record::now()).unwrap().to_line().unwrap();
    let Entry::Attached { content } = Entry::from(Record::parse(&line).unwrap()) else { panic!() };
    let mut saved: serde_json::Value = serde_json::from_slice(&line).unwrap();
    saved.as_object_mut().unwrap().remove("ts");
    (saved, content)
}

#[test]
fn attachments_come_back_from_a_record_as_they_were() {
    let text = "@file:a.rs:1-2\nfn main() {}\n";
    let cases = [
        (Content::Text("words".into()), json!({"text": "words"})),
        (
            Content::File(Box::new(FileRef::new("a.rs:1-2", "fn main() {}\n"))),
            json!({"text": text, "content": {"file": {"name": "a.rs:1-2"}}}),
        ),
        (
            Content::Resource(Box::new(ResourceRef::new("docs", "x://1", "inside"))),
            json!({"text": "@docs:x://1\ninside", "content": {"resource": {"name": "docs:x://1", "uri": "x://1"}}}),
        ),
        (
            Content::Image(Box::new(image())),
            json!({
                "text": "[image: shot.png, PNG 1280×800, 120 kB]",
                "content": {"image": {
                    "sha256": "ab".repeat(32), "bytes": 120_000, "media_type": "image/png",
                    "width": 1280, "height": 800, "name": "shot.png", "origin": "mention"
                }}
            }),
        ),
    ];
    for (content, fields) in cases {
        let mut expected = json!({"type": "message", "role": "system"});
        expected.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(saved_and_read(&content), (expected, content));
    }
}

#[test]
fn a_file_of_an_older_session_is_known_by_its_header() {
    let line =
        br#"{"type":"message","role":"system","text":"@file:src/a.rs\nx\n","ts":"2026-01-01T00:00:00Z"}"#;
    let Entry::Attached { content: Content::File(file) } = Entry::from(Record::parse(line).unwrap()) else {
        panic!("no file")
    };
    assert_eq!((file.name.as_str(), file.body()), ("src/a.rs", "x\n"));
}

#[test]
fn the_body_is_what_follows_the_header() {
    assert_eq!(FileRef::new("odd\nname", "x\n").body(), "x\n");
    assert_eq!(ResourceRef::new("s", "u", "").body(), "");
    let cut = FileRef { name: "a".into(), text: "cut".into() };
    assert_eq!(cut.body(), "cut");
}

#[test]
fn an_image_costs_what_its_wire_counts() {
    assert_eq!(ImageCost::Area.tokens(1000, 750), 1000);
    assert_eq!(ImageCost::Area.tokens(8000, 6000), ImageCost::Area.tokens(1568, 1176));
    assert_eq!(ImageCost::Tiles.tokens(512, 512), 255);
    // 2048 × 4096 is fitted to 1024 × 2048, then to 768 × 1536: 2 × 3 squares.
    assert_eq!(ImageCost::Tiles.tokens(2048, 4096), 85 + 170 * 6);
    assert_eq!(ImageCost::Tiles.tokens(0, 0), 255);
}

#[test]
fn an_event_names_the_image_beside_its_note() {
    let event =
        serde_json::to_value(Event::Attached(AttachedContent::new(Content::Image(Box::new(image())))))
            .unwrap();
    assert_eq!(event["type"], "attached");
    assert_eq!(event["image"]["name"], "shot.png");
    assert_eq!(event["text"], "[image: shot.png, PNG 1280×800, 120 kB]");
    let file = Event::Attached(AttachedContent::new(Content::File(Box::new(FileRef::new("a", "x")))));
    assert_eq!(
        serde_json::to_value(file).unwrap(),
        json!({"type": "attached", "label": "a", "text": "@file:a\nx"})
    );
}
