use std::collections::HashSet;

use crate::shell::programs::effects::Effect;
use crate::shell::programs::generic::effects_of;
use crate::shell::syntax::word::Arg;

use super::*;

#[test]
fn rows_are_sorted_and_names_are_unique() {
    let mut seen = HashSet::new();
    for source in SOURCES {
        let all = rows(source);
        let first: Vec<&str> = all.iter().map(|(names, _)| names[0]).collect();
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!(first, sorted);
        for (names, row) in &all {
            for name in names {
                assert!(seen.insert(*name), "{name} has two rows");
                assert_eq!(*name, name.to_lowercase(), "names are compared in lower case");
            }
            let known = |flag: &&'static str| {
                const FLOORS: &[&str] =
                    &["forbidden", "listed", "destructive", "helper", "secret", "wraps", "scans"];
                let key = flag.split('=').next().unwrap_or(flag);
                let value = |text: &str| flag.strip_prefix(text);
                among(WORDS, flag)
                    || FLOORS.contains(flag)
                    || matches!(key, "use" | "finals" | "secrets" | "special")
                    || value("files=").is_some_and(|word| Files::named(word).is_some())
                    || (matches!(key, "wraps" | "scans") && flag.ends_with(|c: char| c.is_ascii_digit()))
            };
            assert!(row.flags.iter().all(known), "{}: {:?}", row.name, row.flags);
        }
        for token in source.lines().filter_map(|line| line.strip_prefix("  ")).flat_map(str::split_whitespace)
        {
            assert!(token.starts_with('-') && token.len() > 1, "{token}");
            let tail =
                token.find(['=', '?', ':']).map_or("", |at| token[at..].trim_start_matches(['=', '?', ':']));
            assert!(OptionEffect::named(tail).is_some(), "{token}");
        }
    }
}

/// A name that only a pattern covers is found by that pattern, and no pattern hides behind another.
#[test]
fn no_row_is_shadowed() {
    let prefixes = &TABLE.prefixes;
    for (prefix, _) in prefixes {
        assert_eq!(prefixes.iter().filter(|(other, _)| prefix.starts_with(other)).count(), 1, "{prefix}");
    }
    for row in TABLE.rows.iter().filter(|row| !row.name.starts_with(':')) {
        let name = row.name.strip_suffix('*').unwrap_or(row.name);
        assert_eq!(super::row(name).map(|found| found.name), Some(row.name));
        if let Some((parent, _)) = row.name.rsplit_once(' ') {
            assert!(
                super::row(parent).is_some_and(|parent| parent.is("subs")),
                "{} is never reached",
                row.name
            );
        }
        for group in
            row.flags.iter().filter_map(|flag| flag.strip_prefix("use=")).flat_map(|names| names.split(','))
        {
            assert!(super::row(group).is_some(), "{group}");
        }
    }
}

/// Of two options with one name the second would never be found.
#[test]
fn no_option_is_shadowed() {
    let mut twins = Vec::new();
    for (_, row) in SOURCES.iter().flat_map(|source| rows(source)) {
        for (index, option) in row.options.iter().enumerate() {
            let twin = row.options[..index].iter().find(|other| {
                (option.long.is_some() && option.long == other.long)
                    || (option.short.is_some() && option.short == other.short)
            });
            if twin.is_some_and(|twin| twin.effect != option.effect || twin.takes != option.takes) {
                twins.push(format!("{}: {option:?} and {twin:?}", row.name));
            }
        }
    }
    assert!(twins.is_empty(), "{}", twins.join("\n"));
}

/// Whatever the row: with an option that nobody knows, no program is shown to only read.
#[test]
fn an_option_that_nobody_knows_takes_the_pass_from_every_row() {
    let mut words = Vec::new();
    for row in TABLE.rows.iter().filter(|row| !row.name.starts_with(':')) {
        if row.is("words") {
            words.push(row.name);
            continue;
        }
        let name = row.name.rsplit(' ').next().unwrap_or(row.name);
        for option in ["--unheard-of", "--unheard-of=x", "-\u{2603}", "-\u{2603}x"] {
            for others in [&[][..], &["x"], &["x", "y"]] {
                let argv: Vec<Arg> =
                    [&[name, option][..], others].concat().into_iter().map(Arg::literal).collect();
                let effects = effects_of(row, name, &argv).0;
                let held = |effect: &Effect| {
                    matches!(effect, Effect::Unproven | Effect::Confirm(..) | Effect::Forbid(_))
                };
                // The walker reads shells by itself.
                assert!(effects.iter().any(held) || row.special == Some("shell"), "{} {option}", row.name);
            }
        }
    }
    // What they are given is text to print or to compare, or an expression that is read word by word.
    assert_eq!(words, ["[", "echo", "find", "printf"]);
}
