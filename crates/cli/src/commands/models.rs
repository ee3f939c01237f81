//! `zdx models`: what the provider offers.

use super::print;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::start;

pub async fn run(settings: &Settings) -> Result<Ending, Failure> {
    let (names, notices) = start::models(settings).await?;
    super::warn(settings, &notices);
    print(names.iter().map(|name| format!("{name}\n")).collect::<String>())
}
