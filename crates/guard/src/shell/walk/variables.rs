//! Variables that choose which program or code runs: setting one is as good as naming the program.

use std::collections::HashSet;
use std::sync::LazyLock;

use zdx_protocol::ReasonCode;

use crate::pattern::among;
use crate::shell::Part;
use crate::shell::syntax::word::{self, Arg, Effects, Nothing};
use crate::shell::walk::Walker;
use crate::shell::walk::files::FileEffect;

/// Names that select a helper, a library, a start-up file or the search path.
const HELPERS: &str = "PATH BASH_CMDS BASH_ALIASES BASH_ENV ENV SHELLOPTS BASHOPTS IFS PS0 PS1 PS2 PS4 PROMPT_COMMAND \
    CDPATH SHELL PAGER MANPAGER MANROFFOPT EDITOR VISUAL FCEDIT BROWSER LESSOPEN LESSCLOSE LESSKEYIN \
    GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS \
    SUDO_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG \
    GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_DIR \
    GIT_ALLOW_PROTOCOL SYSTEMD_PAGER SYSTEMD_EDITOR AWS_PAGER BAT_PAGER DELTA_PAGER GH_PAGER GH_EDITOR \
    KUBE_EDITOR PSQL_PAGER PSQL_EDITOR SVN_EDITOR SVN_SSH HGEDITOR CVS_RSH RSYNC_RSH TAR_OPTIONS \
    PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB PYTHONSTARTUP PYTHONHOME PYTHONINSPECT \
    PYTHONBREAKPOINT LUA_INIT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS RUSTC_WRAPPER \
    RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER RUSTC MAKEFILES GCC_EXEC_PREFIX COMPILER_PATH \
    RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS FPATH ZDOTDIR OPENSSL_CONF OPENSSL_ENGINES \
    GCONV_PATH NODE_REPL_EXTERNAL_MODULE ELECTRON_RUN_AS_NODE PKG_CONFIG GREP_OPTIONS TERMINFO WGETRC \
    CURL_HOME DOCKER_CONFIG HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS VIMINIT EXINIT GVIMINIT VIMRUNTIME \
    EMACSLOADPATH BASH_LOADABLES_PATH INPUTRC RUSTDOC CARGO MAKEFLAGS GNUMAKEFLAGS DOTNET_STARTUP_HOOKS \
    LUA_PATH LUA_CPATH R_PROFILE R_PROFILE_USER PHPRC PHP_INI_SCAN_DIR AWS_CONFIG_FILE \
    RSYNC_CONNECT_PROG SCREENRC BAT_CONFIG_PATH ACKRC APT_CONFIG GIT_WORK_TREE GIT_INDEX_FILE \
    SSH_SK_HELPER TAPE GIT_COMMON_DIR GIT_ALTERNATE_OBJECT_DIRECTORIES NPM_CONFIG_USERCONFIG npm_config_userconfig \
    PIP_CONFIG_FILE CLASSPATH LESSKEY LESSKEY_SYSTEM GIT_ATTR_SOURCE RUBYGEMS_GEMDEPS PYTHONEXECUTABLE SQLITERC";

/// Options of a tool: most are harmless, these words make it run something.
const OPTION_VARIABLES: &[(&str, &[&str])] = &[
    ("NODE_OPTIONS", &["-r", "--require", "--import", "loader"]),
    ("GOFLAGS", &["exec", "overlay"]),
    ("RUSTFLAGS", &["linker"]),
    ("RUSTDOCFLAGS", &["linker", "runtool"]),
    ("LESS", &["!", "|"]),
    ("MORE", &["!"]),
];

/// Their value is a file or folder that a tool writes.
const WRITTEN: &str = "CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR HISTFILE GIT_TRACE GIT_TRACE_PACKET GIT_TRACE_PACKFILE \
    GIT_TRACE_PERFORMANCE GIT_TRACE_SETUP GIT_TRACE_CURL GIT_TRACE_SHALLOW GIT_REDIRECT_STDOUT GIT_REDIRECT_STDERR \
    GIT_TRACE2 GIT_TRACE2_EVENT GIT_TRACE2_PERF GIT_OBJECT_DIRECTORY GOCACHE GOPATH GOBIN GOMODCACHE npm_config_cache \
    npm_config_prefix PIP_CACHE_DIR PYTHONPYCACHEPREFIX PYTHONUSERBASE COVERAGE_FILE LLVM_PROFILE_FILE GCOV_PREFIX \
    CCACHE_DIR MYPY_CACHE_DIR XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME TMPDIR MYSQL_HISTFILE PSQL_HISTORY \
    SQLITE_HISTORY NODE_REPL_HISTORY PYTHON_HISTORY CARGO_HOME CARGO_INSTALL_ROOT RUSTUP_HOME GNUPGHOME";

/// What a tool writes to where a variable says is called like this, whatever the tool.
const WRITTEN_LIKE: &str = "TRACE LOG HIST OUTPUT DUMP PROFILE COVERAGE REDIRECT";

const PREFIXES: &str = "LD_ DYLD_ BASH_FUNC_ GIT_CONFIG_KEY_ GIT_CONFIG_VALUE_";

/// Helpers that show or keep what they are given, and nothing else.
const HARMLESS_HELPERS: &[&str] =
    &["", "cat", "less", "more", "true", ":", "vi", "vim", "nano", "less -R", "less -FRX"];

/// Helpers whose harmless values people really use.
const SHOWING: &str = "PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SYSTEMD_PAGER AWS_PAGER \
    BAT_PAGER GH_PAGER PSQL_PAGER DELTA_PAGER BROWSER";

/// The words of a list, to be found at once: scripts may set thousands of variables.
type NameSet = LazyLock<HashSet<&'static str>>;

static HELPER_NAMES: NameSet = LazyLock::new(|| HELPERS.split_whitespace().collect());
static WRITTEN_NAMES: NameSet = LazyLock::new(|| WRITTEN.split_whitespace().collect());

/// Whether setting the variable decides which program or code runs.
pub fn selects_helper(name: &str) -> bool {
    let cargo_tool =
        name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    HELPER_NAMES.contains(name)
        || PREFIXES.split(' ').any(|prefix| name.starts_with(prefix))
        || cargo_tool
        || name.eq_ignore_ascii_case("npm_config_script_shell")
        || name.eq_ignore_ascii_case("npm_config_node_options")
}

/// Values that people really set and that choose nothing.
fn is_harmless_value(name: &str, value: &str) -> bool {
    match name {
        "IFS" => value.chars().all(|c| !c.is_alphanumeric()),
        // Only what is expanded can run.
        "PS1" | "PS2" | "PS4" => !value.contains(['$', '`', '\\']),
        "SHELL" => matches!(value, "/bin/sh" | "/bin/bash" | "/usr/bin/bash" | "/bin/dash"),
        "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM" => value == "/dev/null",
        "BROWSER" if value == "none" => true,
        "MAKEFLAGS" => value.split_whitespace().all(is_make_pace),
        "JAVA_TOOL_OPTIONS" | "JDK_JAVA_OPTIONS" | "_JAVA_OPTIONS" | "MAVEN_OPTS" => {
            value.split_whitespace().all(is_memory_size)
        }
        _ => among(SHOWING, name) && HARMLESS_HELPERS.contains(&value),
    }
}

/// `-j8`, `-k`: how make goes on, and nothing of what it does.
fn is_make_pace(option: &str) -> bool {
    let jobs = option.strip_prefix("-j").is_some_and(|jobs| jobs.chars().all(|c| c.is_ascii_digit()));
    jobs || matches!(option, "-k" | "-s" | "-B" | "--no-print-directory")
}

/// `-Xmx2g` and its like: how much memory a Java program gets.
fn is_memory_size(option: &str) -> bool {
    ["-Xmx", "-Xms", "-Xss", "-Xmn"]
        .iter()
        .find_map(|size| option.strip_prefix(size))
        .is_some_and(|size| !size.is_empty() && size.chars().all(|c| c.is_ascii_alphanumeric()))
}

impl Walker<'_> {
    /// A variable is set, to a raw word when it is known which.
    pub(crate) fn set_variable(&mut self, name: &str, raw: Option<&str>, part: &mut Part) {
        let value = raw.and_then(|raw| self.only_value(raw));
        self.set_variable_to(name, value.as_deref(), part);
    }

    /// What a raw word becomes, when it is one word and known.
    pub(crate) fn only_value(&self, raw: &str) -> Option<String> {
        match word::evaluate(raw, self, &mut Effects::default()).ok()?.as_slice() {
            [] => Some(String::new()),
            [only] => only.known().map(str::to_owned),
            _ => None,
        }
    }

    pub(crate) fn set_variable_to(&mut self, name: &str, value: Option<&str>, part: &mut Part) {
        part.doubt();
        part.ask(format!("it sets {}", if name.contains('\0') { "a variable" } else { name }));
        if name.contains('\0') {
            part.confirm(ReasonCode::Opaque, "which variable it sets is not known before it runs");
            return;
        }
        if value.is_some_and(|value| self.runs_in_arithmetic(value)) {
            part.confirm(ReasonCode::Opaque, "the value holds a command that arithmetic would run");
        }
        if let Some((_, words)) = OPTION_VARIABLES.iter().find(|(variable, _)| *variable == name)
            && value.is_none_or(|value| words.iter().any(|word| value.contains(word)))
        {
            part.confirm(ReasonCode::Helper, format!("{name} makes a tool run other code"));
            return;
        }
        self.written_by_tools(name, value, part);
        if !selects_helper(name) {
            return;
        }
        if let Some(value) = value.map(|value| value.trim_start_matches('!').to_owned()) {
            self.only_listed(&value, part);
        }
        if !value.is_some_and(|value| is_harmless_value(name, value)) {
            part.confirm(ReasonCode::Helper, format!("{name} decides which program or code runs"));
        }
    }

    /// What tools write where a variable says is written by whoever sets it.
    fn written_by_tools(&mut self, name: &str, value: Option<&str>, part: &mut Part) {
        let known = WRITTEN_NAMES.contains(name);
        let upper = name.to_ascii_uppercase();
        let called = WRITTEN_LIKE.split(' ').any(|word| upper.contains(word));
        match value {
            Some("" | "0" | "1" | "2" | "true" | "false") => {}
            Some(path) if known => self.changes(&Arg::literal(path), FileEffect::Overwrite, part),
            Some(path) if called && self.is_file(&Arg::literal(path)) => {
                self.changes(&Arg::literal(path), FileEffect::Overwrite, part);
            }
            None if known && !is_folder(name) => {
                let why = format!("which file is written by way of {name} is not known");
                part.confirm(ReasonCode::Opaque, why);
            }
            Some(_) | None => {}
        }
    }

    /// A variable that a tool gets: what it does with a name that steers something is not known.
    pub(crate) fn given_to_tools(&mut self, name: &str, value: Option<&str>, part: &mut Part) {
        self.set_variable_to(name, value, part);
        if let Some(path) = value.filter(|path| !path.is_empty()) {
            self.may_write(name, &Arg::literal(path), part);
        }
    }

    /// A literal that arithmetic would execute: `a[$(…)]` runs when a number is made of it.
    pub(crate) fn suspicious_value(&mut self, raw: &str, part: &mut Part) {
        let literals = &self.facts.literals;
        let opens = raw.contains('[') || literals.iter().any(|literal| literal.contains('['));
        if !opens {
            return;
        }
        let mut effects = Effects::default();
        let args = word::evaluate(raw, &Nothing, &mut effects).unwrap_or_default();
        // Put together out of pieces that the script holds: one with the bracket, one with the command.
        let runs = |text: &String| text.contains("$(") || text.contains('`');
        let assembled = literals.iter().any(runs) && args.iter().any(word::Arg::has_unknown);
        if assembled || args.iter().any(|arg| self.runs_in_arithmetic(&arg.text)) {
            part.confirm(ReasonCode::Opaque, "the value holds a command that arithmetic would run");
        }
    }

    pub(crate) fn runs_in_arithmetic(&self, text: &str) -> bool {
        text.split_once('[').is_some_and(|(_, rest)| rest.contains("$(") || rest.contains('`'))
    }

    /// Words that the script can take a number from later: arguments of its functions, lines that it reads.
    pub(crate) fn numbers_later<'t>(&self, texts: impl IntoIterator<Item = &'t str>, part: &mut Part) {
        if texts.into_iter().any(subscript_runs) {
            part.confirm(ReasonCode::Opaque, "an argument holds a command that arithmetic would run");
        }
    }

    /// Assignments inside arithmetic.
    pub(crate) fn arithmetic_names(&mut self, text: &str, part: &mut Part) {
        for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            if selects_helper(name) {
                part.confirm(ReasonCode::Helper, format!("{name} decides which program or code runs"));
            }
        }
    }
}

/// Its value is a folder, which tools make or fill.
fn is_folder(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["DIR", "HOME", "PATH", "CACHE", "ROOT", "PREFIX", "BASE"].iter().any(|end| name.ends_with(end))
}

/// `name[…$(…)]`: text that runs a command when a number is made of it.
fn subscript_runs(text: &str) -> bool {
    let (mut open, mut before) = (false, ' ');
    for c in text.chars() {
        match c {
            '[' => open |= before.is_ascii_alphanumeric() || before == '_',
            ']' => open = false,
            '`' if open => return true,
            '(' if open && before == '$' => return true,
            _ => {}
        }
        before = c;
    }
    false
}
