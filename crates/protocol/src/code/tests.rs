use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{from_value, json, to_value};

use super::*;
use crate::Operation;

/// Every word of a closed or open set: it is written and read back as itself, and no other is spelled like it.
macro_rules! assert_spelled {
    ($name:ident) => {
        let words: HashSet<&str> = $name::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(words.len(), $name::ALL.len());
        for code in $name::ALL {
            assert_eq!(to_value(code).unwrap(), json!(code.as_str()));
            assert_eq!(from_value::<$name>(json!(code.as_str())).unwrap(), *code);
            assert_eq!(code.to_string(), code.as_str());
        }
    };
}

#[test]
fn every_spelling_is_read_back_and_belongs_to_one() {
    assert_spelled!(ToolCode);
    assert_spelled!(ReasonCode);
    assert_spelled!(Operation);
}

/// The spellings are a contract: they are named here a second time, so that none changes by accident.
#[test]
fn spellings_are_those_of_the_contract() {
    let words = |codes: &[ToolCode]| codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(ToolCode::ALL),
        "invalid_input unknown_tool duplicate_id interrupted not_run timeout internal rejected denied forbidden \
         approval_required path_escape protected_path ENOENT ENOTDIR EACCES EIO ELOOP ENAMETOOLONG not_regular \
         symlink_escape too_large path_error read_error write_error mkdir_error changed_since old_not_found \
         replacement_count_mismatch patch_rejected exec_error unknown_agent model_error task_failed unknown_skill \
         skill_error mcp_unavailable mcp_error"
    );
    let words: Vec<&str> = ReasonCode::ALL.iter().map(ReasonCode::as_str).collect();
    assert_eq!(
        words.join(" "),
        "allowed approval_required denied internal forbidden path_escape symlink_escape protected_path instructions \
         listed_command destructive overwrite helper opaque unreadable hidden_characters too_large too_deep"
    );
}

#[test]
fn a_code_of_somebody_else_survives_reading_and_writing() {
    let code: ToolCode = from_value(json!("-32602 Bad Params")).unwrap();
    assert!(matches!(code, ToolCode::Other(_)));
    assert_eq!(code, ToolCode::from("-32602 Bad Params"));
    assert_eq!(to_value(&code).unwrap(), json!("-32602 Bad Params"));
    assert_eq!(ToolCode::from("rejected"), ToolCode::Rejected);
    // Spelling counts to the letter.
    assert!(matches!(ToolCode::from("enoent"), ToolCode::Other(_)));
    assert!(from_value::<ReasonCode>(json!("newer")).is_err());
}

/// What the guard denies with reaches a model under the same word, or as a plain denial.
#[test]
fn a_denial_keeps_its_word() {
    for &code in ReasonCode::ALL {
        let expected = ToolCode::find(code.as_str()).unwrap_or(ToolCode::Denied);
        assert_eq!(ToolCode::from(code), expected, "{code}");
    }
}

/// A word that can only be a code must not be written out beside the table: it would decide unchecked.
#[test]
fn codes_are_spelled_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for name in ["protocol", "models", "engine", "cli"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 100, "{}", files.len());
    let is_code = |word: &&str| word.contains('_') || word.chars().all(|c| c.is_ascii_uppercase());
    let tools = ToolCode::ALL.iter().map(ToolCode::as_str);
    let words: Vec<String> = tools
        .chain(ReasonCode::ALL.iter().map(ReasonCode::as_str))
        .filter(is_code)
        .map(|word| format!("\"{word}\""))
        .collect();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in &words {
            assert!(!text.contains(word.as_str()), "{}: {word}", file.display());
        }
    }
}

/// All but tests, which may name what they expect, and the table.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, files);
        } else if name.ends_with(".rs") && !["tests.rs", "testing.rs", "code.rs"].contains(&name.as_str()) {
            files.push(path);
        }
    }
}
