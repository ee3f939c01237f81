//! `zdx models`: what the provider offers.

use serde_json::json;
use zdx_protocol::display::plain;
use zdx_protocol::query::ModelOffer;

use super::{json_line, print};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::start;

pub async fn run(settings: &Settings) -> Result<Ending, Failure> {
    let (offered, notices) = start::models(settings).await?;
    super::warn(settings, &notices);
    let line = |model: &ModelOffer| match settings.format {
        Format::Text => format!("{}\n", plain(&model.name)),
        Format::Json => json_line(&json!({"model": model.name, "context_limit": model.context_limit})),
    };
    print(offered.iter().map(line).collect::<String>())
}
