//! Changes to the user's own configuration file that leave its comments and order as they are. Never writes a project's.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use toml_edit::{DocumentMut, Item, value};
use zdx_workspace::own_files::{ensure_dir, lock_beside};

use crate::paths::AppPaths;
use crate::settings::{ConfigError, find_config_file};

#[derive(Debug, thiserror::Error)]
pub enum UserFileError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{} cannot be read as it is: {why}; put it right first", file.display())]
    Syntax { file: PathBuf, why: String },
    #[error("cannot write {}: {source}", file.display())]
    Write { file: PathBuf, source: io::Error },
}

/// Reads the user's file, changes it, and puts it back whole or not at all. One that a link leads to stays behind it.
/// Returns the file as the user knows it.
pub fn edit_user_file<E: From<UserFileError>>(
    paths: &AppPaths,
    change: impl FnOnce(&Path, &str) -> Result<String, E>,
) -> Result<PathBuf, E> {
    let file = match paths.named_config() {
        Some((_, file)) => file.to_owned(),
        None => find_config_file(paths.base())
            .map_err(UserFileError::from)?
            .unwrap_or_else(|| paths.default_config_file()),
    };
    let failed = |source: io::Error| UserFileError::Write { file: file.clone(), source };
    let target = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
    let before = fs::metadata(&target).ok();
    // `/dev/null` stands for "no configuration", and must stay what it is.
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        return Err(failed(io::Error::other("it is no regular file")).into());
    }
    let folder = target.parent().unwrap_or(Path::new("/"));
    ensure_dir(folder).map_err(failed)?;
    let _lock = lock_beside(&target).map_err(failed)?;
    let text = match fs::read_to_string(&target) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error).into()),
    };
    let changed = change(&file, &text)?;
    let mut written = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    written.write_all(changed.as_bytes()).map_err(failed)?;
    // New ones are the user's alone, as temporary files are.
    if let Some(before) = before {
        let mode = fs::Permissions::from_mode(before.permissions().mode());
        written.as_file().set_permissions(mode).map_err(failed)?;
    }
    written.as_file().sync_all().map_err(failed)?;
    let _: File = written.persist(&target).map_err(|error| failed(error.error))?;
    Ok(file)
}

/// Makes a model the one that new sessions begin with. Returns the file that was changed.
pub fn set_default_model(paths: &AppPaths, model: &str) -> Result<PathBuf, UserFileError> {
    edit_user_file(paths, |file, text| {
        let changed = if is_json(file, text) { json_model(text, model) } else { toml_model(text, model) };
        changed.map_err(|why| UserFileError::Syntax { file: file.to_owned(), why })
    })
}

pub fn is_json(file: &Path, text: &str) -> bool {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => false,
        Some("json" | "jsonc") => true,
        Some(_) | None => text.trim_start().starts_with('{'),
    }
}

/// The error says why in words that quote nothing of the text, which may hold a secret.
pub fn parse_toml(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())
}

/// The error says why in words that quote nothing of the text.
pub fn parse_json(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| format!("line {}: {}", error.line_display(), error.kind()))
}

fn toml_model(text: &str, model: &str) -> Result<String, String> {
    let mut document = parse_toml(text)?;
    match document.get_mut("model").map(Item::as_value_mut) {
        // A comment behind the old value stays.
        Some(Some(old)) => {
            let decor = old.decor().clone();
            *old = model.into();
            *old.decor_mut() = decor;
        }
        Some(None) => return Err("`model` is no text".to_owned()),
        None => drop(document.insert("model", value(model))),
    }
    Ok(document.to_string())
}

fn json_model(text: &str, model: &str) -> Result<String, String> {
    let root = parse_json(text)?;
    let top = root.object_value_or_create().ok_or_else(|| "it is no object".to_owned())?;
    let model = CstInputValue::String(model.to_owned());
    match top.get("model") {
        Some(old) => old.set_value(model),
        None => drop(top.insert(0, "model", model)),
    }
    Ok(root.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Environment;

    /// The file `name` after `zdx` made `lab/big` the default in it, or why it did not.
    fn with_default(name: &str, text: &str) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap();
        let paths = AppPaths::from_env(&Environment::from_pairs([("ZDX_HOME", home)])).unwrap();
        let file = dir.path().join(name);
        fs::write(&file, text).unwrap();
        let result = set_default_model(&paths, "lab/big");
        let after = fs::read_to_string(&file).unwrap();
        match result {
            Ok(changed) => {
                assert_eq!(changed, file);
                Ok(after)
            }
            Err(error) => {
                assert_eq!(after, text, "an error loses nothing");
                Err(error.to_string())
            }
        }
    }

    #[test]
    fn the_default_model_is_set_and_nothing_else_changes() {
        let new = |name: &str, text: &str| with_default(name, text).unwrap();
        let toml = "# mine\nmodel = \"a/b\" # the one\n\n# more\n[ui]\ncolor = true\n";
        assert_eq!(new("config.toml", toml), toml.replace("a/b", "lab/big"));
        let toml = "# mine\nprovider = \"lab\"\n\n# more\n[ui]\ncolor = true\n";
        let provider = "provider = \"lab\"\n";
        let expected = toml.replace(provider, &format!("{provider}model = \"lab/big\"\n"));
        assert_eq!(new("config.toml", toml), expected);
        // A table above it would make the key its own.
        let table = new("config.toml", "[ui]\ncolor = true\n");
        assert!(table.starts_with("model = \"lab/big\"\n"), "{table}");
        assert_eq!(new("config.toml", ""), "model = \"lab/big\"\n");
        let json = "{\n  // mine\n  \"model\": \"a/b\", // the one\n  \"ui\": { \"color\": true }\n}\n";
        assert_eq!(new("config.jsonc", json), json.replace("a/b", "lab/big"));
        let json = new("config.json", "{\n  \"ui\": { \"color\": true }\n}\n");
        assert_eq!(json, "{\n  \"model\": \"lab/big\",\n  \"ui\": { \"color\": true }\n}\n");
    }

    #[test]
    fn a_file_that_cannot_be_changed_stays_as_it_is() {
        for (name, text) in
            [("config.toml", "model = ["), ("config.toml", "[model]\nx = 1\n"), ("config.json", "[1]")]
        {
            let why = with_default(name, text).unwrap_err();
            assert!(why.contains("put it right first"), "{text}: {why}");
        }
        let named = Environment::from_pairs([("HOME", "/h"), ("ZDX_CONFIG", "/dev/null")]);
        let why = set_default_model(&AppPaths::from_env(&named).unwrap(), "lab/big").unwrap_err().to_string();
        assert_eq!(why, "cannot write /dev/null: it is no regular file");
    }
}
