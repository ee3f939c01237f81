//! Where things are measured: a temporary home with a config, and the scripted server as a process of its own.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use portable_pty::CommandBuilder;
use tempfile::TempDir;

use crate::measure::Micros;

pub struct Place {
    pub zdx: PathBuf,
    server: PathBuf,
    dir: TempDir,
}

impl Place {
    pub fn new(zdx: PathBuf) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let zdx = zdx.canonicalize().map_err(|error| format!("no binary at {}: {error}", zdx.display()))?;
        let server = std::env::current_exe().map_err(text)?.with_file_name("zdx-scripted-server");
        let dir = tempfile::tempdir().map_err(text)?;
        for name in ["home", "root"] {
            fs::create_dir(dir.path().join(name)).map_err(text)?;
        }
        Ok(Self { zdx, server, dir })
    }

    /// What the figures depend on besides the build.
    pub fn describe(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned();
        format!("{} on {cores} cores, load {load}", self.zdx.display())
    }

    /// A program in the clean environment of the place.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().current_dir(self.dir.path().join("root"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.dir.path().join("home"));
        command
    }

    /// The binary with arguments only, on an empty home.
    pub fn zdx(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.zdx);
        command.args(args).env("ZDX_HOME", self.dir.path().join("home/zdx"));
        command
    }

    /// An empty folder of that name.
    pub fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.dir.path().join(name);
        fs::create_dir(&path).map_err(|error| error.to_string())?;
        Ok(path)
    }

    pub fn start_server(&self, scenario: &[&str]) -> Result<Server<'_>, String> {
        // A scenario may hold a path or JSON: neither is a file name.
        let name: String =
            scenario.join("-").chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).take(60).collect();
        let (log, home) =
            (self.dir.path().join(format!("{name}.log")), self.dir.path().join(format!("{name}.home")));
        let mut process = Command::new(&self.server)
            .arg("--log")
            .arg(&log)
            .args(scenario)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", self.server.display()))?;
        let mut port = String::new();
        let stdout = process.stdout.take().ok_or("the server has no stdout")?;
        BufReader::new(stdout).read_line(&mut port).map_err(|error| error.to_string())?;
        let server =
            Server { place: self, process, port: port.trim().to_owned(), log, seen: Cell::new(0), home };
        server.configure()?;
        Ok(server)
    }
}

/// The scripted server, playing one scenario. Ends when dropped.
pub struct Server<'a> {
    place: &'a Place,
    process: Child,
    port: String,
    log: PathBuf,
    /// Lines of the log already taken.
    seen: Cell<usize>,
    home: PathBuf,
}

/// One request as the server saw it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub at: Micros,
    pub bytes: u64,
    /// When the answer to the request before it began.
    pub answered: Option<Micros>,
}

impl Server<'_> {
    fn configure(&self) -> Result<(), String> {
        fs::create_dir_all(&self.home).map_err(|error| error.to_string())?;
        let port = &self.port;
        let config = format!(
            "model = \"bench/m\"\nmax_steps = 0\n\n[providers.bench]\nwire = \"openai-chat\"\n\
             base_url = \"http://127.0.0.1:{port}/v1\"\n\n[models.\"bench/m\"]\ncontext_limit = 100000000\n"
        );
        fs::write(self.home.join("config.toml"), config).map_err(|error| error.to_string())
    }

    /// `zdx exec` with a prompt, saving its session as it does for a user.
    pub fn exec(&self) -> Command {
        self.zdx(&["exec", "-p", "hello"])
    }

    /// zdx with these arguments and this server's configuration.
    pub fn zdx(&self, args: &[&str]) -> Command {
        let mut command = self.place.zdx(args);
        command.env("ZDX_HOME", &self.home);
        command
    }

    /// The same for a terminal of its own.
    pub fn on_terminal(&self) -> CommandBuilder {
        self.on_terminal_with(&[])
    }

    pub fn on_terminal_with(&self, args: &[&str]) -> CommandBuilder {
        let command = self.zdx(args);
        let mut on_terminal = CommandBuilder::new(command.get_program());
        on_terminal.args(command.get_args());
        on_terminal.env_clear();
        command.get_envs().for_each(|(name, value)| on_terminal.env(name, value.unwrap_or_default()));
        command.get_current_dir().into_iter().for_each(|folder| on_terminal.cwd(folder));
        on_terminal
    }

    /// Keeps a session file to begin runs with; see [`Self::reset_session`].
    pub fn save_session(
        &self,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), String> {
        let saved = fs::create_dir_all(self.home.join("sessions")).and_then(|()| {
            let mut file = BufWriter::new(File::create(self.home.join("template"))?);
            write(&mut file)?;
            file.flush()
        });
        saved.map_err(|error| error.to_string())
    }

    /// Each run appends to its session, so each gets a copy.
    pub fn reset_session(&self, id: &str) -> Result<(), String> {
        let file = self.home.join("sessions").join(format!("{id}.jsonl"));
        fs::copy(self.home.join("template"), file).map(drop).map_err(|error| error.to_string())
    }

    /// What a script without zdx would do.
    pub fn curl(&self) -> Command {
        let mut command = self.place.command("curl");
        let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
        command.args(["--silent", "--show-error", "--no-buffer", "--noproxy", "*", "--data", body]);
        command.args(["--header", "content-type: application/json"]);
        command.arg(format!("http://127.0.0.1:{}/v1/chat/completions", self.port));
        command
    }

    /// The requests since the last time this was asked.
    pub fn take_log(&self) -> Result<Vec<Asked>, String> {
        let text = fs::read_to_string(&self.log).map_err(|error| error.to_string())?;
        let before = self.seen.replace(text.lines().count());
        let (mut asked, mut answered) = (Vec::new(), None);
        for line in text.lines().skip(before) {
            let words: Vec<&str> = line.split(' ').collect();
            let number =
                |at: usize| words.get(at).and_then(|word| word.parse().ok()).ok_or("a broken log line");
            match words[0] {
                "asked" => {
                    asked.push(Asked { at: Micros(number(1)?), bytes: number(4)?, answered: answered.take() })
                }
                _ => answered = Some(Micros(number(1)?)),
            }
        }
        Ok(asked)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
