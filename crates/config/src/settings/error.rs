//! Why configuration could not be resolved, each with what to do about it.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}{}", named_by(*variable))]
    Unreadable { path: PathBuf, source: io::Error, variable: Option<&'static str> },
    #[error("{path} is larger than 1 MiB, which no configuration needs: check that it is the right file")]
    TooLarge { path: PathBuf },
    #[error("{path} is a link that leads out of the project; copy the file instead")]
    Outside { path: PathBuf },
    #[error(
        "both {first} and {second} exist, and a folder may have one configuration: merge them, or remove one"
    )]
    TwoFiles { first: PathBuf, second: PathBuf },
    #[error("{path}:{line}: {message}")]
    Syntax { path: PathBuf, line: usize, message: String },
    /// A wrong type, or a value out of range.
    #[error("{place}: {key}: {message}")]
    Value { place: String, key: String, message: String },
    #[error(
        "{place}: {key}: a file is no place for a secret; export it as an environment variable and write only \
         that variable's name, as in api_key_env = \"MY_KEY\" (for an address: base_url_env)"
    )]
    Secret { place: String, key: String },
    /// The schema and `Config` disagree: a mistake of ours.
    #[error("the configuration does not fit together: {0}")]
    Mismatch(String),
}

fn named_by(variable: Option<&'static str>) -> String {
    variable.map_or_else(String::new, |name| format!(" ({name} names this file: correct or unset it)"))
}
