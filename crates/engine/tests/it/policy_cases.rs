//! The case tables, run whole: everything that falls short is printed.

use std::path::Path;

use zdx_engine::policy::table::run_table;
use zdx_engine::policy::PolicyContext;
use zdx_protocol::Approval;

fn table(name: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let mut cx = PolicyContext::new("/work", Approval::Balanced);
    cx.home = Some("/home/user".into());
    let report = run_table(&path, &cx).unwrap();
    for miss in &report.missed {
        eprintln!("{} {:?}: expected {}, got {} ({})", miss.id, miss.input, miss.expect, miss.got, miss.reason);
    }
    assert!(report.missed.is_empty(), "{} of {} rows fall short", report.missed.len(), report.judged);
    report.judged
}

#[test]
fn attacks_are_held_back() {
    assert!(table("attack.jsonl") >= 160);
}

#[test]
fn benign_commands_pass() {
    assert!(table("benign.jsonl") >= 49);
}
