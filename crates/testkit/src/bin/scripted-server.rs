//! The scripted model server as a program, for clients that are not written in Rust.
//! Prints its port on stdout and plays one scenario on both wires until its stdin is closed.

use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use zdx_testkit::{ModelServer, Moment, Scenario};

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::from(2)
        }
    }
}

fn run(mut args: Vec<String>) -> Result<(), String> {
    let log = match args.first().map(String::as_str) {
        Some("--log") if args.len() >= 2 => {
            let path = args.remove(1);
            args.remove(0);
            Some(File::create(&path).map_err(|error| format!("cannot write the log {path}: {error}"))?)
        }
        _ => None,
    };
    let scenario = Scenario::parse(&args)
        .map_err(|error| format!("{error}\nusage: zdx-scripted-server [--log FILE] SCENARIO"))?;
    let server = ModelServer::start();
    server.forget_requests();
    server.always(move |request| scenario.reply(request));
    if let Some(log) = log {
        let log = Mutex::new(log);
        server.observe(move |moment| write_line(&log, moment));
    }
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", server.port()).map_err(|error| error.to_string())?;
    // Whoever started the server holds the other end of this pipe: when it goes, so do we.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// `asked MICROSECONDS METHOD PATH BYTES` or `answering MICROSECONDS`, counted from 1970.
fn write_line(log: &Mutex<File>, moment: Moment) {
    let line = match moment {
        Moment::Asked(request) => {
            let now = micros().saturating_sub(request.at.elapsed().as_micros());
            format!("asked {now} {} {} {}\n", request.method, request.path, request.raw.len())
        }
        Moment::Answering => format!("answering {}\n", micros()),
    };
    if let Ok(mut log) = log.lock() {
        let _ = log.write_all(line.as_bytes());
    }
}

fn micros() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_micros()).unwrap_or_default()
}
