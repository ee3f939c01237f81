//! One question to the model, outside of any turn: no tools, no retries, and an answer that may well be useless.

use std::sync::Arc;

use zdx_models::{Client, ModelError, ModelEvent, ModelRequest, RequestImages};
use zdx_protocol::{Message, Role};

use crate::acp::PREFIX;
use crate::models::ModelPicker;
use zdx_config::Config;
use zdx_config::Environment;

/// What an answer may have: it is read as a page, not as a book.
const MAX_TOKENS: u32 = 2048;
/// An answer longer than this is cut off: nobody would read it.
const LONGEST: usize = 64 << 10;

pub struct Asker {
    pub config: Arc<Config>,
    pub env: Environment,
    /// Named on the command line or in the environment.
    pub explicit_model: Option<String>,
}

/// Why there is nothing to use.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("no model is configured or reachable")]
    NoModel,
    #[error("{0}")]
    Failed(#[from] ModelError),
    #[error("the model answered with nothing")]
    Empty,
    #[error("the model wanted to call a tool instead of answering")]
    ToolCall,
}

impl Asker {
    /// `recorded` is the model the session used.
    pub async fn ask(&self, recorded: Option<&str>, system: &str, text: &str) -> Result<String, NoAnswer> {
        let client = Client::new(self.config.timeouts);
        let picker = ModelPicker::new(Arc::clone(&self.config), self.env.clone())?;
        // Who answers in place of a model is no model.
        let recorded = recorded.filter(|model| !model.starts_with(PREFIX));
        let chosen = picker.pick(&client, self.explicit_model.as_deref(), recorded).await?;
        if chosen.endpoint.is_demo() {
            return Err(NoAnswer::NoModel);
        }
        let messages = [Message::text(Role::User, text)];
        let request = ModelRequest {
            model: &chosen.endpoint.model,
            system,
            messages: &messages,
            images: RequestImages::none(),
            tools: &[],
            max_tokens: self.config.max_tokens.min(MAX_TOKENS),
            temperature: self.config.temperature,
            top_p: self.config.top_p,
            thinking: None,
            thinking_off: None,
            stream: self.config.stream,
        };
        let mut stream = client.start(&chosen.endpoint, &request).await?;
        let (mut answer, mut called) = (String::new(), false);
        while answer.len() < LONGEST {
            match stream.next().await? {
                Some(ModelEvent::Text(text)) => answer.push_str(&text),
                Some(ModelEvent::WasThinking) => answer.clear(),
                Some(ModelEvent::ToolCall(_)) => called = true,
                Some(
                    ModelEvent::ReasoningDelta(_)
                    | ModelEvent::Reasoning(_)
                    | ModelEvent::ToolCallStarted { .. }
                    | ModelEvent::ToolCallArguments { .. }
                    | ModelEvent::Usage(_)
                    | ModelEvent::Stop(_),
                ) => {}
                None => break,
            }
        }
        match answer.trim().is_empty() {
            false => Ok(answer),
            true if called => Err(NoAnswer::ToolCall),
            true => Err(NoAnswer::Empty),
        }
    }
}
