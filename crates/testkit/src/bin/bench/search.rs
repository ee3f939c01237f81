//! The search tools beside ripgrep on the same tree: from the answer that calls the tool to the next request, which
//! carries the result.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{self, median};
use crate::place::Place;
use crate::sections::{Rows, millis};
use crate::table::{Row, ms};

const ROUNDS: usize = 11;

struct Case {
    what: String,
    root: PathBuf,
    tool: &'static str,
    input: &'static str,
    rg: &'static [&'static str],
}

pub fn measure(place: &Place) -> Rows {
    let generated = place.folder("tree")?;
    generate(&generated).map_err(|error| error.to_string())?;
    let mut trees = vec![("20,000 files", generated)];
    if let Some(sources) = registry_sources() {
        trees.push(("cargo sources", sources));
    }
    let mut rows = Vec::new();
    for (name, root) in trees {
        for (tool, input, rg) in [
            ("grep", r#"{"pattern":"needle_[a-z]+"}"#, &["--no-require-git", "-n", "needle_[a-z]+"][..]),
            (
                "grep",
                r#"{"pattern":"Error","glob":"lib*.rs"}"#,
                &["--no-require-git", "-n", "-g", "lib*.rs", "Error"],
            ),
            ("glob", r#"{"pattern":"*"}"#, &["--no-require-git", "--files"]),
        ] {
            let what = format!("{tool} {} in {name}", input.split('"').nth(3).unwrap_or_default());
            rows.push(row(place, &Case { what, root: root.clone(), tool, input, rg })?);
        }
    }
    Ok(rows)
}

/// Interleaved, so that a busy moment of the machine hits both; the first round warms up.
fn row(place: &Place, case: &Case) -> Result<Row, String> {
    let server = place.start_server(&["call", case.tool, case.input])?;
    let (mut zdx, mut rg) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let mut exec = server.exec();
        exec.arg("--root").arg(&case.root);
        measure::run(exec)?;
        let [_, result] = server.take_log()?[..] else { return Err("expected two requests".to_owned()) };
        let answered = result.answered.ok_or("the first answer is not in the log")?;
        let cost = measure::run(ripgrep(place, case))?;
        if round > 0 {
            zdx.push(answered.until(result.at));
            rg.push(cost.wall);
        }
    }
    let (zdx, rg) = (median(zdx)?, median(rg)?);
    Ok(Row::new(&case.what, ms(zdx), format!("rg {}", ms(rg))).budget(
        "≤ 1.3 × rg",
        millis(zdx),
        1.3 * millis(rg),
    ))
}

/// Through a shell, as a search that finds nothing is no failure here.
fn ripgrep(place: &Place, case: &Case) -> Command {
    let mut command = place.command("sh");
    command.args(["-c", r#"rg "$@" || [ $? = 1 ]"#, "rg"]).args(case.rg).arg(&case.root);
    command
}

/// A thousand folders of twenty files, one in four hundred with a match.
fn generate(root: &Path) -> std::io::Result<()> {
    fs::write(root.join(".gitignore"), "*.log\ntarget/\n")?;
    let mut seed = 1u32;
    for folder in 0..1000 {
        let folder_path = root.join(format!("pkg{:02}/mod{:02}", folder / 25, folder % 25));
        fs::create_dir_all(&folder_path)?;
        for file in 0..20 {
            let mut text = String::new();
            for line in 0..60 {
                for _ in 0..8 {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    text.push_str(&format!("w{} ", seed >> 20));
                }
                text.push_str(match line == 5 && (folder * 20 + file) % 400 == 0 {
                    true => "needle_in_tree\n",
                    false => "\n",
                });
            }
            fs::write(folder_path.join(format!("file{file:02}.rs")), text)?;
        }
    }
    Ok(())
}

/// What cargo has unpacked on this machine, if anything.
fn registry_sources() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))?;
    fs::read_dir(home.join("registry/src"))
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.is_dir())
}
