//! Where the fakes are: built when first needed, since a test of one package does not build another's programs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The path of `zdx-mcp-fake`, an MCP server.
pub fn mcp_fake() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| build("zdx-mcp-fake"))
}

/// The path of `zdx-acp-fake`, an ACP agent that plays a script.
pub fn acp_fake() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| build("zdx-acp-fake"))
}

fn build(program: &str) -> String {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--manifest-path", manifest, "--bin", program]);
    let built = build.output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // Beside the folder that tests lie in.
    let test = std::env::current_exe().expect("a test has a path");
    let folder: PathBuf = test.ancestors().nth(2).expect("target/debug").to_owned();
    folder.join(program).to_str().expect("a path that is text").to_owned()
}
