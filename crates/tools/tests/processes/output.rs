//! What a command says, and how its end is told.

use std::time::Duration;

use libtest_mimic::Trial;
use tokio::sync::mpsc;
use zdx_tools::{CommandEnd, RunOptions};
use zdx_workspace::text::LIMIT;

use crate::kit::{Bench, stdout, trial};
use crate::wait::living_in;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("both_streams_and_the_exit_code_come_back", both_streams),
        trial("a_command_runs_in_the_folder_with_nothing_to_read", folder_and_stdin),
        trial("a_death_by_signal_is_told_as_shells_do", death_by_signal),
        trial("a_replaced_shell_and_closed_streams_are_no_problem", replaced_and_closed),
        trial("a_flood_is_read_to_its_end_in_bounded_memory", flood),
        trial("one_huge_line_is_cut_like_many", huge_line),
        trial("binary_output_is_marked", binary),
        trial("progress_comes_while_the_command_runs", progress),
        trial("variables_that_are_secrets_stay_here", environment),
        trial("a_command_too_long_for_a_shell_is_refused", too_long),
        trial("many_children_at_once_are_all_waited_for", many_children),
    ]
}

async fn both_streams() {
    let bench = Bench::new();
    let output = bench.run("echo out; echo err >&2; exit 7").await;
    assert_eq!((output.stdout.text.as_str(), output.stderr.text.as_str()), ("out\n", "err\n"));
    assert_eq!(output.end, CommandEnd::Exited(7));
    assert!(!output.background && !output.stdout.truncated && output.stdout.file.is_none());
}

async fn folder_and_stdin() {
    let bench = Bench::new();
    let output = bench.run("pwd -P; cat; ps -o tty= -p $$ 2>/dev/null || true").await;
    let root = bench.dir.path().canonicalize().unwrap();
    assert_eq!(stdout(&output).lines().next(), root.to_str());
    let output = bench.run("-x").await;
    assert_eq!(output.end, CommandEnd::Exited(127), "{output:?}");
}

async fn death_by_signal() {
    let bench = Bench::new();
    assert_eq!(bench.run("kill -9 $$").await.end, CommandEnd::Signalled(9));
    // The script's own group is not its supervisor's.
    assert_eq!(bench.run("kill 0; sleep 5").await.end, CommandEnd::Signalled(15));
}

async fn replaced_and_closed() {
    let bench = Bench::new();
    assert_eq!(stdout(&bench.run("exec echo replaced").await), "replaced\n");
    let output = bench.run("exec >&- 2>&-; sleep 0.1; exit 3").await;
    assert_eq!(output.end, CommandEnd::Exited(3));
    assert!(!output.background);
}

async fn flood() {
    let bench = Bench::new();
    let output = bench.run("yes | head -c 200000000; echo end >&2").await;
    assert_eq!(output.end, CommandEnd::Exited(0));
    assert_eq!(output.stdout.bytes, 200_000_000);
    assert!(output.stdout.truncated && output.stdout.text.len() <= LIMIT);
    let file = output.stdout.file.unwrap();
    let kept = std::fs::read(file).unwrap();
    let said = b"\n[zdx: no more than the first 64 MiB of this output are kept]\n";
    assert_eq!((kept.len(), output.stdout.is_file_cut), (64 * 1024 * 1024 + said.len(), true));
    assert!(kept.ends_with(said));
    assert_eq!(output.stderr.text, "end\n");

    let endless = "yes | head -c 200000; yes | head -c 200000 >&2; touch ready; yes & yes >&2";
    let endless = bench.run_until_ready(endless).await;
    assert!(endless.stdout.truncated && endless.stderr.truncated);
    assert_eq!(living_in(bench.dir.path()), [""; 0]);
}

async fn huge_line() {
    let bench = Bench::new();
    let output = bench.run("head -c 5000000 /dev/zero | tr '\\0' x").await;
    let text = stdout(&output);
    assert!(text.len() <= LIMIT && text.contains("\n[zdx: ") && text.ends_with("xxx"));
    assert!(!output.stdout.binary);
}

async fn binary() {
    let bench = Bench::new();
    let output = bench.run(r"printf 'a\000b\377c'").await;
    assert!(output.stdout.binary);
    assert_eq!(stdout(&output), "a\u{fffd}b\u{fffd}c");
}

async fn progress() {
    let bench = Bench::new();
    let (to, mut from) = mpsc::channel(16);
    let options = RunOptions { progress: Some(to), ..bench.options() };
    // It waits for the file, which is made only after the progress came.
    let command = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second; sleep 1000 &";
    let reader = async {
        assert_eq!(from.recv().await.as_deref(), Some("first\n"));
        std::fs::write(bench.path("go"), "").unwrap();
        assert_eq!(from.recv().await.as_deref(), Some("second\n"));
        // The queue closes with the call, though a child still holds the pipe.
        let end = tokio::time::timeout(Duration::from_secs(60), from.recv()).await;
        assert_eq!(end, Ok(None));
    };
    let (output, ()) = tokio::join!(bench.shell.run(command, options), reader);
    assert!(output.unwrap().background);
    bench.shell.stop_background(&[]).await;
}

async fn environment() {
    use zdx_tools::{Shell, ShellSettings};
    let bench = Bench::new();
    let shell = Shell::new(ShellSettings {
        supervisor: std::env::current_exe().unwrap(),
        env: [("PATH", "/usr/bin:/bin"), ("ANTHROPIC_API_KEY", "sk"), ("ENV", "/evil"), ("DEPLOY_KEY", "k")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
        env_pass: vec!["DEPLOY_KEY".to_owned()],
        spill_dir: None,
        redactor: std::sync::Arc::new(zdx_protocol::redact::Redactor::new::<&str>([]).unwrap()),
    });
    let output = shell.run("env", bench.options()).await.unwrap();
    let names: Vec<&str> = stdout(&output).lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"DEPLOY_KEY") && names.contains(&"GIT_PAGER"), "{names:?}");
    assert!(!names.contains(&"ANTHROPIC_API_KEY") && !names.contains(&"ENV"), "{names:?}");
}

async fn too_long() {
    let bench = Bench::new();
    let fits = format!("true {}", "x".repeat(100_000));
    assert_eq!(bench.run(&fits).await.end, CommandEnd::Exited(0));
    let error = bench.shell.run(&"x".repeat(200_000), bench.options()).await.unwrap_err();
    assert!(error.to_string().contains("200000 bytes long"), "{error}");
}

async fn many_children() {
    let bench = Bench::new();
    let output = bench.run("for i in $(seq 100); do (echo $i) & done; wait").await;
    assert_eq!(stdout(&output).lines().count(), 100);
    assert!(!output.background);
}
