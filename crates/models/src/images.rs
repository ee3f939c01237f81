//! The images that a request carries. Wires are pure, so the bytes are put here before a request is encoded.

use std::collections::HashMap;
use std::sync::Arc;

use zdx_protocol::ImageRef;

/// Images by their hash, as base64 text, or the reason why the model is sent none.
#[derive(Clone, Debug)]
pub enum RequestImages {
    Sent(HashMap<String, Arc<str>>),
    /// The model takes no images, as far as is known; names the setting that says otherwise.
    NotTaken {
        setting: String,
    },
}

impl RequestImages {
    /// For requests whose messages name no image.
    pub fn none() -> &'static Self {
        static NONE: RequestImages = RequestImages::NotTaken { setting: String::new() };
        &NONE
    }

    /// The base64 text of an image, or the note that is sent in its place.
    pub(crate) fn find(&self, image: &ImageRef) -> Result<&str, String> {
        match self {
            Self::Sent(images) => match images.get(&image.blob.sha256) {
                Some(base64) => Ok(base64),
                None => Err(format!("[image not sent: {}; its content is no longer kept]", image.summary())),
            },
            Self::NotTaken { setting } => Err(not_taken(image, setting)),
        }
    }
}

/// The note for a model without eyes: name, size and the setting.
fn not_taken(image: &ImageRef, setting: &str) -> String {
    format!(
        "[image not sent: {}; this model is not known to take images; the user can set {setting} = true if it does]",
        image.summary()
    )
}

impl Default for RequestImages {
    fn default() -> Self {
        Self::Sent(HashMap::new())
    }
}
