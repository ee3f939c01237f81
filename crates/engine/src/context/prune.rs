//! Which old outputs leave the context when it fills up. The newest ones and the last steps stay, and so do skills:
//! their text is an instruction, not a result.

use zdx_protocol::transcript::{ContextSize, pruned_image, pruned_output};
use zdx_protocol::{Content, Message, Part, Transcript, conversation, facts};

use super::budget::Gauge;

/// Steps whose results are never touched: the model is working with them.
const LAST_STEPS: usize = 2;
/// A smaller output is hardly larger than the marker in its place.
const LEAST_OUTPUT: u64 = 400;

/// The newest images are what the model is looking at.
const NEWEST_IMAGES: usize = 2;

#[derive(Default)]
pub(crate) struct Prune {
    pub calls: Vec<String>,
    /// Hashes of images.
    pub images: Vec<String>,
    pub bytes: u64,
}

/// Old images go first, old outputs only where those are not enough. Nothing unless it makes a difference: each time costs
/// the server its cache of the prefix.
pub(crate) fn plan(transcript: &Transcript, gauge: &Gauge) -> Option<Prune> {
    let (messages, size) = (transcript.messages(), transcript.size());
    let is_worth_it = |prune: &Prune| prune.bytes >= gauge.bytes(gauge.limit / 6) as u64;
    let images = if size.has_images { old_images(messages, size) } else { Prune::default() };
    if is_worth_it(&images) {
        return Some(images);
    }
    let outputs = old_outputs(messages, size, gauge);
    let bytes = images.bytes + outputs.bytes;
    Some(Prune { calls: outputs.calls, images: images.images, bytes }).filter(is_worth_it)
}

fn old_images(messages: &[Message], size: ContextSize) -> Prune {
    let content =
        messages.iter().rev().flat_map(|message| message.parts.iter().rev()).flat_map(Part::content);
    let mut newest: Vec<&str> = Vec::new();
    let mut prune = Prune::default();
    for image in content.filter_map(Content::image) {
        let hash = image.blob.sha256.as_str();
        if newest.contains(&hash) {
            continue;
        }
        if newest.len() < NEWEST_IMAGES {
            newest.push(hash);
            continue;
        }
        let note = pruned_image(image).len() as u64;
        prune.bytes += size.image_weight(image).saturating_sub(note);
        if !prune.images.iter().any(|known| known == hash) {
            prune.images.push(hash.to_owned());
        }
    }
    prune.images.reverse();
    prune
}

fn old_outputs(messages: &[Message], size: ContextSize, gauge: &Gauge) -> Prune {
    let mut spare = gauge.bytes(gauge.limit / 5) as u64;
    let mut prune = Prune::default();
    let mut steps = 0;
    for pair in messages.windows(2).rev() {
        let [calling, answering] = pair else { continue };
        let mut any = false;
        for part in &answering.parts {
            let Part::ToolResult { tool_use_id, .. } = part else { continue };
            any = true;
            let weight = size.weight(part);
            let newest = steps < LAST_STEPS || weight <= spare;
            spare = spare.saturating_sub(weight);
            if newest || weight < LEAST_OUTPUT || is_skill(calling, tool_use_id) {
                continue;
            }
            let marker = Part::result(tool_use_id, pruned_output());
            prune.calls.push(tool_use_id.clone());
            prune.bytes += weight - size.weight(&marker).min(weight);
        }
        steps += usize::from(any);
    }
    prune.calls.reverse();
    prune
}

/// Whether this call of a message loaded a skill.
fn is_skill(message: &Message, call: &str) -> bool {
    let mut calls = conversation::calls(std::slice::from_ref(message));
    calls.any(|called| called.id == call && facts::SKILL.is(called.name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zdx_protocol::record::{self, Record};
    use zdx_protocol::{ContentOrigin, ImageCost, ImageFormat, ImageInfo, ImageRef, ToolOutput};

    use super::super::budget::limited;
    use super::*;

    fn step(transcript: &mut Transcript, n: usize, name: &str, bytes: usize) {
        let (id, ts) = (format!("c{n}"), record::now());
        let input = json!({ "name": "x" });
        transcript.absorb(Record::ToolUse(record::ToolUse::new(&id, name, input, ts)));
        let output = ToolOutput::Ok(json!({ "content": "x".repeat(bytes) }));
        transcript.absorb(Record::ToolResult(record::ToolResult::new(id, output, ts)));
    }

    #[test]
    fn old_outputs_go_and_new_ones_skills_and_short_ones_stay() {
        let mut transcript = Transcript::default();
        transcript.absorb(Record::Message(record::Message::new(
            zdx_protocol::Role::User,
            "go",
            record::now(),
        )));
        for n in 0..10 {
            let (name, bytes) = match n {
                1 => ("skill", 2_000),
                2 => ("read", 100),
                _ => ("read", 2_000),
            };
            step(&mut transcript, n, name, bytes);
        }
        // A fifth of the context is about two and a half of them.
        let gauge = Gauge::new(&limited(8192), "", &[], transcript.size());
        let plan = plan(&transcript, &gauge).unwrap();
        assert_eq!(plan.calls, ["c0", "c3", "c4", "c5", "c6", "c7"][..plan.calls.len()]);
        assert!((4..=6).contains(&plan.calls.len()), "{:?}", plan.calls);
        let before = transcript.size().total();
        let ts = record::now();
        transcript.apply(&Record::Prune(record::Prune {
            calls: plan.calls.clone(),
            images: Vec::new(),
            bytes: plan.bytes,
            ts,
        }));
        assert_eq!(before - transcript.size().total(), plan.bytes);
        assert!(super::plan(&transcript, &gauge).is_none(), "once is enough");
    }

    #[test]
    fn old_images_go_first_and_the_newest_two_stay() {
        let mut transcript = Transcript::default();
        transcript.set_image_cost(ImageCost::Area);
        let info = ImageInfo { format: ImageFormat::Png, width: 1500, height: 1000 };
        for (n, name) in ["a", "b", "a", "c", "d"].into_iter().enumerate() {
            let image = ImageRef::new(name.to_owned(), 9, info, name, ContentOrigin::Mention);
            let content = Content::Image(Box::new(image));
            transcript.absorb(Record::Message(record::Message::attached(&content, record::now())));
            step(&mut transcript, n, "read", 2_000);
        }
        let gauge = Gauge::new(&limited(16_384), "", &[], transcript.size());
        let plan = super::plan(&transcript, &gauge).unwrap();
        assert_eq!((plan.images.clone(), plan.calls.len()), (vec!["b".to_owned(), "a".to_owned()], 0));
        let before = transcript.size().total();
        let (images, bytes, ts) = (plan.images, plan.bytes, record::now());
        transcript.apply(&Record::Prune(record::Prune { calls: Vec::new(), images, bytes, ts }));
        assert_eq!(before - transcript.size().total(), bytes);
        assert!(super::plan(&transcript, &gauge).is_none(), "once is enough");
    }
}
