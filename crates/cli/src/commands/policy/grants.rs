//! `zdx policy grants`: what was allowed for good, by project, and taking it back.

use std::path::Path;

use serde_json::json;
use zdx_engine::GrantStore;
use zdx_protocol::display::approval::{grant_words, names_grant};
use zdx_protocol::display::format;

use crate::args::Format;
use crate::commands::{json_line, print, say};
use crate::exit::{Ending, Failure};
use crate::settings::Settings;

/// A project and what it was granted.
type Project = (String, Vec<String>);

pub fn run(
    settings: &Settings,
    everywhere: bool,
    revoke: &[String],
    revoke_all: bool,
) -> Result<Ending, Failure> {
    let store = GrantStore::new(settings.paths.grants_file());
    let mut projects: Vec<Project> = store.all().map_err(Failure::runtime)?.into_iter().collect();
    if !everywhere {
        let here = settings.root.to_string_lossy();
        projects.retain(|(root, _)| *root == here);
    }
    if revoke_all {
        return take_back(&store, &projects, |_| true);
    }
    if revoke.is_empty() {
        return list(settings, &projects, everywhere);
    }
    // All of them are looked up first, so that a typing error takes nothing back.
    for key in revoke {
        if !projects.iter().flat_map(|(_, grants)| grants).any(|grant| names_grant(key, grant, None)) {
            return Err(Failure::runtime(format!(
                "nothing like {key:?} was granted here; `zdx policy grants` lists what was"
            )));
        }
    }
    take_back(&store, &projects, |grant| revoke.iter().any(|key| names_grant(key, grant, None)))
}

fn take_back(
    store: &GrantStore,
    projects: &[Project],
    wanted: impl Fn(&str) -> bool,
) -> Result<Ending, Failure> {
    let mut text = String::new();
    for (root, grants) in projects {
        for grant in grants.iter().filter(|grant| wanted(grant)) {
            store.revoke(Path::new(root), Some(grant)).map_err(Failure::runtime)?;
            text.push_str(&format!("revoked {}\n", grant_words(grant, Some(Path::new(root)))));
        }
    }
    print(text)
}

fn list(settings: &Settings, projects: &[Project], everywhere: bool) -> Result<Ending, Failure> {
    if projects.is_empty() {
        let place = if everywhere { "any project" } else { "this project; --everywhere lists all of them" };
        say(settings, &format!("nothing was granted for good in {place}"));
    }
    let mut text = String::new();
    for (root, grants) in projects {
        match settings.format {
            Format::Json => {
                for grant in grants {
                    text.push_str(&json_line(&json!({"root": root, "grant": grant})));
                }
            }
            Format::Text => {
                if everywhere {
                    text.push_str(&format!("{}\n", format::path(Path::new(root), settings.paths.home())));
                }
                let indent = if everywhere { "  " } else { "" };
                for grant in grants {
                    text.push_str(&format!("{indent}{}\n", grant_words(grant, Some(Path::new(root)))));
                }
            }
        }
    }
    print(text)
}
