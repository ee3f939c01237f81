//! Loads the images that the next request names, and tells the user of those that the model is not sent.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zdx_models::RequestImages;
use zdx_protocol::{Content, ImageCost, ImageRef, Message, NoticeLevel};
use zdx_workspace::ContentStore;

use super::Native;
use crate::call::TurnIo;

/// Base64 text of images by their hash.
type EncodedImages = HashMap<String, Arc<str>>;

impl Native {
    /// Prepares `images` for a request with the messages as they are now.
    pub(super) async fn load_images(&mut self, io: &TurnIo) {
        let named = {
            let mut transcript = io.session.events.transcript();
            transcript.set_image_cost(self.image_cost());
            match transcript.size().has_images {
                true => images_of(transcript.messages()),
                false => Vec::new(),
            }
        };
        if !self.takes_images() {
            let setting = format!("models.\"{}\".images", self.endpoint().label());
            self.tell_unsent(&named, &setting, io).await;
            self.images = RequestImages::NotTaken { setting };
            return;
        }
        let mut loaded = match std::mem::take(&mut self.images) {
            RequestImages::Sent(loaded) => loaded,
            RequestImages::NotTaken { .. } => EncodedImages::new(),
        };
        loaded.retain(|hash, _| named.iter().any(|image| image.blob.sha256 == *hash));
        let missing: Vec<String> = named.into_iter().map(|image| image.blob.sha256).collect();
        let missing: Vec<String> = missing.into_iter().filter(|hash| !loaded.contains_key(hash)).collect();
        if !missing.is_empty() {
            let store = Arc::clone(&io.session.state.tools.content);
            let read = tokio::task::spawn_blocking(move || encode(missing, &store));
            loaded.extend(read.await.unwrap_or_default());
        }
        self.images = RequestImages::Sent(loaded);
    }

    fn takes_images(&self) -> bool {
        self.seed.picker.takes_images(self.endpoint())
    }

    fn image_cost(&self) -> ImageCost {
        if self.takes_images() { self.endpoint().wire.image_cost() } else { ImageCost::Note }
    }

    /// Each image is told of once for a model.
    async fn tell_unsent(&mut self, named: &[ImageRef], setting: &str, io: &TurnIo) {
        for image in named {
            if self.told_unsent.insert((self.endpoint().label(), image.blob.sha256.clone())) {
                let message = format!(
                    "{}: the model gets a note instead of this image, because {} is not known to take images; set \
                     {setting} = true if it does",
                    image.summary(),
                    self.endpoint().label()
                );
                io.session.events.notice(NoticeLevel::Warning, message).await;
            }
        }
    }
}

/// Each image once.
fn images_of(messages: &[Message]) -> Vec<ImageRef> {
    let content = messages.iter().flat_map(|message| &message.parts).flat_map(|part| part.content());
    let mut images: Vec<ImageRef> = Vec::new();
    for image in content.filter_map(Content::image) {
        if images.iter().all(|known| known.blob.sha256 != image.blob.sha256) {
            images.push(image.clone());
        }
    }
    images
}

/// Leaves out those that are gone.
fn encode(hashes: Vec<String>, store: &ContentStore) -> EncodedImages {
    let encoded = |hash: String| {
        let bytes = store.get(&hash).ok()?;
        Some((hash, STANDARD.encode(bytes).into()))
    };
    hashes.into_iter().filter_map(encoded).collect()
}
