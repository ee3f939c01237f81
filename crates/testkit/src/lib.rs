//! What zdx is tested against and with: a scripted model server, a runner for the real binary, a terminal
//! screen to assert on. For tests only: nothing here reaches past loopback or outlives the test that made it.
//!
//! ```no_run
//! use serde_json::json;
//! use zdx_testkit::{ModelServer, Reply, Zdx};
//!
//! let server = ModelServer::start();
//! server.push(Reply::chat().tool_call("call_1", "read", json!({"path": "a.txt"})));
//! server.push(Reply::chat().text("it says hello"));
//!
//! let zdx = Zdx::new("target/debug/zdx").chat(&server);
//! zdx.write("a.txt", "hello");
//! let output = zdx.run(["exec", "-p", "what does a.txt say?"]);
//!
//! assert_eq!(output.stdout, "it says hello\n");
//! assert_eq!(server.calls().len(), 2);
//! ```

// A broken expectation in here is a failed test, and a panic is how a test fails.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod ability;
mod emulator;
mod fakes;
mod reply;
mod run;
mod scenario;
mod server;

pub use ability::{Ability, AbilityTest, access_list, run_ability_tests};
pub use emulator::TerminalEmulator;
pub use fakes::{acp_fake, mcp_fake};
pub use reply::{AnthropicReply, ChatReply, Framing, Reply, Step, quirks, sse};
pub use run::{Output, Pty, Run, Running, Signal, Zdx};
pub use scenario::Scenario;
pub use server::{Gate, ModelServer, Moment, Request};
