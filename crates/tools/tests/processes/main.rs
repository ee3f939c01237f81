//! Commands that misbehave, run for real.
//!
//! This binary has a `main` of its own because it is also what the commands run under: started with the supervisor's
//! argument it is the supervisor, as zdx is. `ZDX_STRESS=500` makes the survivor test as long as that.

// Without the usual harness clippy does not see that all of this is a test.
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use zdx_tools::supervisor;

mod envelope;
mod kit;
mod left_behind;
mod output;
mod stopping;
mod streams;
mod wait;

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == supervisor::ARGUMENT {
        return supervisor::run();
    }
    if first == left_behind::PLAY_ZDX {
        left_behind::play_zdx();
        return ExitCode::SUCCESS;
    }
    if first == streams::PLAY_CLIENT {
        streams::play_client();
        return ExitCode::SUCCESS;
    }
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(output::trials());
    trials.extend(envelope::trials());
    trials.extend(stopping::trials());
    trials.extend(left_behind::trials());
    trials.extend(streams::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
