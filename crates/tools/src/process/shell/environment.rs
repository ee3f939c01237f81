//! Which variables a command sees: an allow-list, so that keys and tokens stay with zdx unless configured otherwise.
//! Built once a session; reads nothing of the process itself.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Exact names.
const ALLOWED: &[&str] = &[
    // who and where
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "NO_COLOR",
    "CI",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
    "DOCKER_HOST",
    "KUBECONFIG",
    // the way out
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    // toolchains
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "MANPATH",
    "INFOPATH",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUSTC_WRAPPER",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOPROXY",
    "GOFLAGS",
    "GOCACHE",
    "GOMODCACHE",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "JAVA_OPTS",
    "JDK_HOME",
    "MAVEN_OPTS",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_OPTS",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "NODE_PATH",
    "NODE_ENV",
    "NODE_OPTIONS",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_ROOT",
    "PERL5LIB",
    "PERL_LOCAL_LIB_ROOT",
    "DOTNET_ROOT",
    "COMPOSER_HOME",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "SDKMAN_DIR",
    "DEVELOPER_DIR",
    "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET",
    "IN_NIX_SHELL",
    // who commits
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "EMAIL",
];

/// Families of names.
const FAMILIES: &[&str] = &[
    "LC_",
    "XDG_",
    "CARGO_",
    "RUSTUP_",
    "NVM_",
    "FNM_",
    "VOLTA_",
    "PYENV_",
    "CONDA_",
    "UV_",
    "PIP_",
    "POETRY_",
    "NPM_CONFIG_",
    "npm_config_",
    "HOMEBREW_",
    "NIX_",
    "CMAKE_",
    "CCACHE_",
    "SCCACHE_",
    "CUDA_",
    "GUIX_",
];

/// Words in a name that make it a secret, whatever family it is of (`CARGO_REGISTRY_TOKEN`).
const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];

/// Run by a shell before the command, or loaded into every program: not even when asked for.
const NEVER: &[&str] = &["ENV", "BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"];

/// What programs that would wait for a person are told.
const SET: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

const DEFAULT: &[(&str, &str)] = &[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TERM", "dumb")];

pub(super) fn allowed(env: Vec<(OsString, OsString)>, pass: &[String]) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<_> = env
        .into_iter()
        .filter(|(name, _)| name.to_str().is_some_and(|name| is_allowed(name, pass)))
        .filter(|(name, _)| SET.iter().all(|(set, _)| name != set))
        .collect();
    for (name, value) in DEFAULT {
        if kept.iter().all(|(known, _)| known != name) {
            kept.push((name.into(), value.into()));
        }
    }
    kept.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    kept
}

/// The same as text, for whoever reads commands before they run.
pub fn child_variables(env: Vec<(OsString, OsString)>, pass: &[String]) -> BTreeMap<String, String> {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    allowed(env, pass).into_iter().filter_map(text).collect()
}

fn is_allowed(name: &str, pass: &[String]) -> bool {
    if NEVER.contains(&name) {
        return false;
    }
    let passed = pass.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    });
    passed
        || ALLOWED.contains(&name)
        || FAMILIES.iter().any(|family| name.starts_with(family)) && !is_secret(name)
}

pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(env: &[&str], pass: &[&str]) -> Vec<String> {
        let env = env.iter().map(|name| (name.into(), "value".into())).collect();
        let pass: Vec<String> = pass.iter().map(|&name| name.to_owned()).collect();
        allowed(env, &pass).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn secrets_and_strangers_stay_behind() {
        let env = [
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "FOO",
            "npm_config__authToken",
            "ENV",
            "BASH_ENV",
            "LD_PRELOAD",
            "PATH",
            "TERM",
            "LC_ALL",
            "CARGO_HOME",
        ];
        let kept = names(&env, &[]);
        assert_eq!(kept[..4], ["PATH", "TERM", "LC_ALL", "CARGO_HOME"]);
        assert_eq!(kept.len(), 4 + SET.len());
    }

    #[test]
    fn what_is_configured_passes_but_never_what_shells_would_run() {
        let kept = names(&["GITHUB_TOKEN", "MY_A", "MY_B", "ENV"], &["GITHUB_TOKEN", "MY_*", "ENV"]);
        assert_eq!(kept[..3], ["GITHUB_TOKEN", "MY_A", "MY_B"]);
        assert!(!kept.contains(&"ENV".to_owned()));
    }

    #[test]
    fn pagers_are_switched_off_whatever_was_set() {
        let env = allowed(vec![("PAGER".into(), "less".into())], &["PAGER".to_owned()]);
        let pagers: Vec<_> = env.iter().filter(|(name, _)| name == "PAGER").collect();
        assert_eq!(pagers, [&("PAGER".into(), "cat".into())]);
    }
}
