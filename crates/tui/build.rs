//! Tells the tests whether tmux is installed, so that those that need it are reported as ignored where it is not.

use std::path::Path;

fn main() {
    println!("cargo:rustc-check-cfg=cfg(has_tmux)");
    println!("cargo:rerun-if-env-changed=PATH");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    match folders.iter().map(|folder| folder.join("tmux")).find(|program| program.is_file()) {
        Some(program) => {
            println!("cargo:rustc-cfg=has_tmux");
            println!("cargo:rerun-if-changed={}", program.display());
        }
        // Installed later, it appears in one of these.
        None => folders.iter().filter(|folder| Path::is_dir(folder)).for_each(|folder| {
            println!("cargo:rerun-if-changed={}", folder.display());
        }),
    }
}
