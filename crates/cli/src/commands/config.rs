//! `zdx config`: where the configuration is, what it says and why, and a first file to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use zdx_config::{AppPaths, EffectiveConfig, describe, find_config_file, init_text};
use zdx_protocol::display::plain;
use zdx_workspace::own_files::ensure_dir;

use super::{json_line, print};
use crate::args::{ConfigCommand, Format};
use crate::exit::{Ending, Failure, reason};
use crate::settings::Settings;
use crate::start;

pub fn run(settings: &Settings, command: &ConfigCommand) -> Result<Ending, Failure> {
    match command {
        ConfigCommand::Path => path(settings),
        ConfigCommand::Init => init(settings),
        ConfigCommand::Show { system_prompt: None } => show(settings),
        ConfigCommand::Show { system_prompt: Some(_) } => system_prompt(settings),
    }
}

fn path(settings: &Settings) -> Result<Ending, Failure> {
    let path = present(&settings.paths)?.unwrap_or_else(|| settings.paths.default_config_file());
    print(format!("{}\n", path.display()))
}

/// The global file, if there is one: where a variable says, else in zdx's own folder.
fn present(paths: &AppPaths) -> Result<Option<PathBuf>, Failure> {
    match paths.named_config() {
        Some((_, path)) => Ok(path.exists().then(|| path.to_owned())),
        None => find_config_file(paths.base()).map_err(Failure::runtime),
    }
}

fn init(settings: &Settings) -> Result<Ending, Failure> {
    if let Some(found) = present(&settings.paths)? {
        return Err(there_already(&found));
    }
    let path = settings.paths.default_config_file();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => there_already(&path),
        _ => Failure::runtime(format!("cannot write {}: {}", path.display(), reason(&error))),
    };
    if let Some(folder) = path.parent() {
        ensure_dir(folder).map_err(failed)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(init_text().as_bytes()).map_err(failed)?;
    print(format!("{}\n", path.display()))
}

fn there_already(path: &Path) -> Failure {
    Failure::runtime(format!(
        "{} is there already and stays as it is; edit it, or move it away",
        path.display()
    ))
}

/// Whatever a session would refuse is refused here too, below the table that helps to find it.
fn show(settings: &Settings) -> Result<Ending, Failure> {
    let configured = start::configured(settings)?;
    let validated = start::validate(settings, &configured);
    let notice = configured.notice();
    let EffectiveConfig { resolved, wants, .. } = configured;
    super::warn(settings, &resolved.notices);
    if let Some(notice) = notice {
        super::warn(settings, &[notice]);
        super::warn(settings, &wants.iter().map(|want| format!("ignored: {want}")).collect::<Vec<_>>());
    }
    if let Ok(warnings) = &validated {
        super::warn(settings, warnings);
    }
    let shown = describe(&resolved);
    let text: String = match settings.format {
        Format::Json => shown
            .iter()
            .map(|setting| {
                let source = setting.source.to_string();
                json_line(&json!({"key": setting.key, "value": setting.value, "source": source}))
            })
            .collect(),
        Format::Text => {
            let widest = |text: fn(&zdx_config::ConfigSetting) -> &str| {
                shown.iter().map(|setting| text(setting).chars().count()).max().unwrap_or(0)
            };
            let (keys, values) = (widest(|s| &s.key), widest(|s| &s.value).min(40));
            shown.iter().map(|s| format!("{:keys$}  {:values$}  {}\n", s.key, s.value, s.source)).collect()
        }
    };
    print(match settings.format {
        Format::Json => text,
        Format::Text => plain(&text).into_owned(),
    })?;
    validated.map(|_| Ending::Completed)
}

fn system_prompt(settings: &Settings) -> Result<Ending, Failure> {
    let (prompt, notices) = start::system_prompt(settings)?;
    super::warn(settings, &notices);
    let text = if prompt.ends_with('\n') || prompt.is_empty() { prompt } else { prompt + "\n" };
    // Instructions of a project are in it. Into a file or a pipe it goes as the model gets it.
    print(if settings.terminal.stdout { plain(&text).into_owned() } else { text })
}
