//! What is written above a table that is removed: only the comment that touches it goes with it, for `toml_edit` counts all
//! since the line before it as the table's own. Decides on no table.

use toml_edit::{DocumentMut, Item, Table};

/// Gives what stood above a table that was removed, and above those in it, to what comes next.
pub fn keep(document: &mut DocumentMut, gone: &Table) {
    let mut above = Vec::new();
    each(gone, &mut |table| above.extend(table.position().map(|at| (at, apart(prefix(table)).to_owned()))));
    // The last first: each is put before what is there.
    above.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, text) in above.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        let mut next = None;
        each(document.as_table(), &mut |table| {
            let behind = table.position().filter(|other| *other > at && !table.is_implicit());
            next = [next, behind].into_iter().flatten().min();
        });
        match next {
            Some(next) => put_before(document.as_table_mut(), next, &text),
            None => {
                let rest = document.trailing().as_str().unwrap_or_default().to_owned();
                document.set_trailing(text + &rest);
            }
        }
    }
}

/// All but the lines of comment right above the table.
fn apart(prefix: &str) -> &str {
    let mut end = prefix.len();
    for line in prefix.split_inclusive('\n').rev() {
        if !line.trim_start().starts_with('#') {
            break;
        }
        end -= line.len();
    }
    &prefix[..end]
}

fn prefix(table: &Table) -> &str {
    table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default()
}

/// The table and all in it that have a line of their own.
fn each(table: &Table, see: &mut impl FnMut(&Table)) {
    see(table);
    for (_, item) in table {
        match item {
            Item::Table(inner) => each(inner, see),
            Item::ArrayOfTables(list) => list.iter().for_each(|inner| each(inner, see)),
            Item::None | Item::Value(_) => {}
        }
    }
}

fn put_before(table: &mut Table, at: isize, text: &str) {
    if table.position() == Some(at) && !table.is_implicit() {
        let whole = format!("{text}{}", prefix(table));
        table.decor_mut().set_prefix(whole);
        return;
    }
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(inner) => put_before(inner, at, text),
            Item::ArrayOfTables(list) => list.iter_mut().for_each(|inner| put_before(inner, at, text)),
            Item::None | Item::Value(_) => {}
        }
    }
}
