//! `zdx models`: what the provider offers.

use serde_json::json;
use zdx_protocol::display::{plain, text::width};
use zdx_protocol::query::ModelOffer;

use super::{json_line, print};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::start;

pub async fn run(settings: &Settings) -> Result<Ending, Failure> {
    let (offered, notices) = start::models(settings).await?;
    super::warn(settings, &notices);
    let widest = offered.iter().map(|model| width(&plain(&model.name))).max().unwrap_or_default();
    let line = |model: &ModelOffer| match settings.format {
        Format::Text => row(model, widest),
        Format::Json => json_line(&json!({"model": model.name, "context_limit": model.context_limit})),
    };
    print(offered.iter().map(line).collect::<String>())
}

/// `lab/qwen3  32768 tokens`; the name alone where nobody says how much it holds.
fn row(model: &ModelOffer, widest: usize) -> String {
    let name = plain(&model.name);
    match model.context_limit {
        Some(limit) => format!("{name}{}  {limit} tokens\n", " ".repeat(widest.saturating_sub(width(&name)))),
        None => format!("{name}\n"),
    }
}
