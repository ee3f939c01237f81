//! Proxies that the environment names: they carry everything but what is on this machine.

use std::process::Command;

use zdx_net::Http;
use zdx_testkit::{ModelServer, Reply};

use crate::talk::{PATIENT, post, said};

/// Set in the process that a test starts to run itself once more, with a proxy in its environment.
const PROXIED: &str = "ZDX_TEST_PROXIED";

fn is_proxied() -> bool {
    std::env::var_os(PROXIED).is_some()
}

/// Runs the test of that name, in this file, in a process of its own with these variables.
fn with_proxy(test: &str, variables: &[(&str, &str)]) {
    let module = module_path!().split_once("::").unwrap().1;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{module}::{test}"), "--nocapture"]).env(PROXIED, "1");
    for name in
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "REQUEST_METHOD"]
    {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn saying(text: &str) -> Reply {
    Reply::status(200).body("text/plain", text)
}

#[tokio::test]
async fn proxies_of_the_environment_never_catch_loopback() {
    if !is_proxied() {
        return with_proxy(
            "proxies_of_the_environment_never_catch_loopback",
            &[("http_proxy", "http://127.0.0.1:9"), ("ALL_PROXY", "http://127.0.0.1:9")],
        );
    }
    let http = Http::new(PATIENT);
    let server = ModelServer::start_with([saying("direct"), saying("direct")]);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/x", server.port());
        assert_eq!(said(&http, post(&url, None)).await.unwrap(), "direct", "{host}");
    }
}

#[tokio::test]
async fn proxies_of_the_environment_carry_the_rest() {
    if is_proxied() {
        let answer = said(&Http::new(PATIENT), post("http://lab.invalid/v1/x", None)).await;
        assert_eq!(answer.unwrap(), "proxied");
        return;
    }
    let proxy = ModelServer::start_with([saying("proxied")]);
    with_proxy("proxies_of_the_environment_carry_the_rest", &[("http_proxy", &proxy.url())]);
    let [request] = proxy.calls().try_into().unwrap();
    assert!(request.path.ends_with("/v1/x"), "{}", request.path);
    assert_eq!(request.header("host"), Some("lab.invalid"));
}
