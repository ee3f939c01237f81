//! Names that run or steer something later: writing them always needs a person.
//! Only names are judged here, present or not; where a path leads is `files`' answer.

use std::path::Path;

use zdx_protocol::display::is_invisible;

use super::pattern::{among, shell_glob};

/// Folders whose whole content steers git, an editor or an agent.
const FOLDERS: &str = ".git .zdx .claude .opencode .eidolon .codex .cursor .agents .vscode .idea .husky";

/// Outside the workspace also what opens other machines, and what belongs to the system.
const OUTSIDE_FOLDERS: &str = ".ssh .gnupg";
const SYSTEM: &str = "/etc /usr /bin /sbin /lib /lib32 /lib64 /boot /proc /sys /libx32 /libexec /var/spool/cron \
    /var/spool/at /var/at /System /Library /private/etc";

/// Folders in folders that shells, git and desktops read of their own accord.
const PAIRS: &[(&str, &str)] = &[
    (".config", "zdx"),
    (".config", "fish"),
    (".config", "nushell"),
    (".config", "git"),
    (".config", "systemd"),
    (".config", "autostart"),
    (".config", "opencode"),
    ("Library", "LaunchAgents"),
    (".cargo", "config.toml"),
    (".cargo", "config"),
    (".local", "bin"),
];

/// Files that are run or believed without being named: shells, direnv, MCP clients.
const FILES: &str = ".mcp.json .envrc .profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc \
    .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc \
    config.fish .bash_completion .xprofile .xsessionrc .xinitrc .gitconfig .claude.json .npmrc";

/// Device files that take or give bytes and keep none.
const HARMLESS_DEVICES: &str = "null zero full random urandom stdin stdout stderr tty ptmx";

/// Is this path one whose writing is always confirmed? `own` is zdx's own folder.
pub(crate) fn is_protected(path: &Path, root: &Path, own: Option<&Path>) -> bool {
    let outside = !path.starts_with(root);
    let of_zdx = own.is_some_and(|own| path.starts_with(own) && !root.starts_with(own));
    of_zdx || (outside && SYSTEM.split(' ').any(|folder| path.starts_with(folder))) || steers(path, root)
}

/// Is it protected by its name: does it run or steer something later, whatever it is written by?
pub(crate) fn steers(path: &Path, root: &Path) -> bool {
    let (below, outside) = match path.strip_prefix(root) {
        Ok(below) => (below, false),
        Err(_) => (path, true),
    };
    let named = |name: &str| {
        FOLDERS.split(' ').any(|folder| same(name, folder))
            || (outside && OUTSIDE_FOLDERS.split(' ').any(|folder| same(name, folder)))
    };
    has_pair(below)
        || below.components().any(|component| named(&component.as_os_str().to_string_lossy()))
        || below.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            FILES.split(' ').any(|file| same(&name, file))
        })
}

/// Does a wildcard cover one of the protected names?
pub(crate) fn may_name(pattern: &str) -> bool {
    [FOLDERS, OUTSIDE_FOLDERS, FILES]
        .iter()
        .flat_map(|names| names.split(' '))
        .any(|name| shell_glob(pattern, name))
}

/// `*.rs`: what is named like this does not lie in `.git` or among what it stands for.
pub(crate) fn has_extension(pattern: &str) -> bool {
    let (stem, kind) = pattern.rsplit_once('.').unwrap_or((pattern, ""));
    !stem.is_empty() && kind.len() > 1 && kind.chars().all(|c| c.is_ascii_alphanumeric()) && kind != "sample"
}

fn has_pair(path: &Path) -> bool {
    let names: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    names.windows(2).any(|two| PAIRS.iter().any(|pair| same(&two[0], pair.0) && same(&two[1], pair.1)))
}

/// Read by agents as what they are told.
const INSTRUCTIONS: &str = "AGENTS.md CLAUDE.md";

/// Files that instruct agents: a change is at least asked for.
pub(crate) fn is_instruction(path: &Path) -> bool {
    path.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        INSTRUCTIONS.split(' ').any(|file| same(&name, file))
    })
}

/// What shows a process from inside: its environment, where keys are, and its memory.
const INSIDES: &str = "environ mem";

/// Is it the environment or the memory of a process, other than of whoever looks?
pub(crate) fn is_anothers_memory(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("/proc") else { return false };
    let mut names = below.components().map(|part| part.as_os_str().to_string_lossy());
    let own = names.next().is_none_or(|process| process == "self" || process == "thread-self");
    !own && names.next_back().is_some_and(|last| among(INSIDES, &last))
}

/// The same where only the beginning of a path is known, by the text it is named in.
pub(crate) fn may_be_anothers_memory(path: &Path, text: &str) -> bool {
    let cut = path == Path::new("/proc") || path.parent() == Some(Path::new("/proc"));
    let own = path.starts_with("/proc/self") || path.starts_with("/proc/thread-self");
    is_anothers_memory(path)
        || (cut && !own && INSIDES.split(' ').any(|file| text.contains(&format!("/{file}"))))
}

/// Who searches here comes across them.
pub(crate) fn may_hold_memory(folder: &Path) -> bool {
    folder.starts_with("/proc") || folder == Path::new("/")
}

/// Files and folders of the home that hold keys, tokens or passwords.
const CREDENTIALS: &str = ".ssh .gnupg .aws .azure .kube .config/gcloud .config/gh .config/hub .config/op .docker/config.json \
    .git-credentials .config/git/credentials .netrc .npmrc .pypirc .pgpass .my.cnf .cargo/credentials \
    .cargo/credentials.toml .gem/credentials .terraform.d/credentials.tfrc.json .password-store \
    .local/share/keyrings .mozilla .config/google-chrome .config/chromium Library/Keychains";

/// The same files of the machine.
const MACHINE_CREDENTIALS: [&str; 4] = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh"];

/// Whether keys, tokens or passwords are kept in this folder, somewhere below it or right above it.
pub(crate) fn encloses_credentials(folder: &Path, home: Option<&Path>) -> bool {
    let touches = |place: &Path| place.starts_with(folder) || folder.starts_with(place);
    home.is_some_and(|home| CREDENTIALS.split_whitespace().any(|place| touches(&home.join(place))))
        || MACHINE_CREDENTIALS.iter().any(|place| touches(Path::new(place)))
}

/// Does reading it give away somebody's keys? What lies in the workspace is the project's own.
pub(crate) fn holds_credentials(path: &Path, root: &Path, home: Option<&Path>) -> bool {
    let of_home = home.and_then(|home| path.strip_prefix(home).ok()).is_some_and(|below| {
        let public = below.extension().is_some_and(|kind| kind == "pub") || below.ends_with("known_hosts");
        !public && CREDENTIALS.split(' ').any(|place| below.starts_with(place))
    });
    let of_machine = MACHINE_CREDENTIALS.iter().any(|place| path.starts_with(place));
    !path.starts_with(root) && (of_home || of_machine)
}

/// File systems that fold case, drop trailing dots and ignore invisible characters must not hide a name.
fn same(name: &str, wanted: &str) -> bool {
    if name.eq_ignore_ascii_case(wanted) {
        return true;
    }
    let plain: String = name
        .trim_end_matches(['.', ' '])
        .chars()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .collect();
    plain == wanted.to_lowercase()
}

/// `/dev/null` and its like: neither outside nor overwritten.
pub(crate) fn is_harmless_device(path: &Path) -> bool {
    let named = |name: &str| among(HARMLESS_DEVICES, name) || name == PIPE;
    descriptor(path).is_some()
        || path.strip_prefix("/dev").is_ok_and(|below| below.to_str().is_some_and(named))
}

/// What the shell puts in place of `<(…)`: no such entry exists, so nobody else's words can mean it.
const PIPE: &str = "fd/pipe";

/// The open file that a name in `/dev` or `/proc/self` stands for. Opening it again opens whatever file that is.
pub(crate) fn descriptor(path: &Path) -> Option<i32> {
    let below = path.strip_prefix("/dev").or_else(|_| path.strip_prefix("/proc/self")).ok()?;
    match below.to_str()? {
        "stdin" => Some(0),
        "stdout" => Some(1),
        "stderr" => Some(2),
        text => text.strip_prefix("fd/").filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?.parse().ok(),
    }
}

/// Writing here stops or suspends the machine, or changes its memory.
fn is_kernel_lever(path: &Path) -> bool {
    path == Path::new("/proc/sysrq-trigger")
        || path == Path::new("/proc/kcore")
        || path.starts_with("/sys/power")
        || (path.starts_with("/proc") && path.file_name().is_some_and(|name| name == "mem"))
}

/// Anything else in `/dev` is a raw device (or pretends to be one), and so are the kernel's own levers.
pub(crate) fn is_raw_device(path: &Path) -> bool {
    if is_kernel_lever(path) {
        return true;
    }
    path.starts_with("/dev")
        && path != Path::new("/dev")
        && !is_harmless_device(path)
        && !path.starts_with("/dev/shm")
        && !path.starts_with("/dev/pts")
}

/// A device that holds a file system: what is written there is gone for good.
pub(crate) fn is_disk(path: &Path) -> bool {
    const DISKS: &[&str] =
        &["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "sr", "mapper"];
    is_raw_device(path)
        && path.strip_prefix("/dev").is_ok_and(|below| {
            let name = below.to_string_lossy();
            DISKS.iter().any(|disk| name.starts_with(disk))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_are_found_in_any_case_and_depth() {
        let root = Path::new("/w");
        for path in [
            "/w/.git/config",
            "/w/sub/.GIT/hooks/x",
            "/w/.zdx",
            "/w/.Mcp.json",
            "/w/a/.bashrc",
            "/w/.git./x",
            "/w/.husky/pre-commit",
            "/w/.cargo/config.toml",
            "/w/.npmrc",
        ] {
            assert!(is_protected(Path::new(path), root, None), "{path}");
        }
        for path in [
            "/etc/passwd",
            "/usr/local/bin/x",
            "/home/me/.ssh/config",
            "/home/me/.bashrc",
            "/proc/1/mem",
            "/home/me/.local/bin/x",
        ] {
            assert!(is_protected(Path::new(path), root, None), "{path}");
        }
        // Who works in a folder of the system's works on his own files there.
        assert!(!is_protected(Path::new("/usr/src/app/x.rs"), Path::new("/usr/src/app"), None));
        let own = Some(Path::new("/home/me/zh"));
        assert!(is_protected(Path::new("/home/me/zh/config.toml"), root, own));
        assert!(!is_protected(Path::new("/home/me/zh/w/x"), Path::new("/home/me/zh/w"), own));
        assert!(is_protected(Path::new("/home/me/.config/zdx/config.toml"), root, None));
        for path in ["/tmp/x", "/home/me/other/x", "/w/.ssh/config"] {
            assert!(!is_protected(Path::new(path), root, None), "{path}");
        }
        for path in ["/w/git/config", "/w/.github/workflows/x.yml", "/w/.gitignore", "/w/zdx"] {
            assert!(!is_protected(Path::new(path), root, None), "{path}");
        }
    }

    #[test]
    fn the_insides_of_other_processes_are_known_by_name() {
        for path in ["/proc/1/environ", "/proc/42/mem", "/proc/42/task/43/environ", "/proc/*/environ"] {
            assert!(is_anothers_memory(Path::new(path)), "{path}");
        }
        for path in
            ["/proc/self/environ", "/proc/environ", "/proc/1/status", "/proc/meminfo", "/w/proc/1/mem"]
        {
            assert!(!is_anothers_memory(Path::new(path)), "{path}");
        }
        assert!(may_be_anothers_memory(Path::new("/proc"), "cat /proc/$p/environ"));
        assert!(!may_be_anothers_memory(Path::new("/proc"), "cat /proc/$p/status"));
        assert!(!may_be_anothers_memory(Path::new("/proc/self"), "cat /proc/self/environ"));
    }

    #[test]
    fn credential_stores_are_known() {
        let (root, home) = (Path::new("/w"), Some(Path::new("/home/me")));
        for path in [
            "/home/me/.ssh/id_ed25519",
            "/home/me/.aws/credentials",
            "/home/me/.netrc",
            "/etc/shadow",
            "/home/me/.ssh",
        ] {
            assert!(holds_credentials(Path::new(path), root, home), "{path}");
        }
        for path in
            ["/home/me/.ssh/id_ed25519.pub", "/home/me/x", "/w/.npmrc", "/home/me/.config/nvim/init.lua"]
        {
            assert!(!holds_credentials(Path::new(path), root, home), "{path}");
        }
    }

    #[test]
    fn devices_are_told_apart() {
        assert!(is_harmless_device(Path::new("/dev/null")) && is_harmless_device(Path::new("/dev/fd/3")));
        assert!(is_raw_device(Path::new("/dev/sda")) && is_raw_device(Path::new("/dev/tcp/h/80")));
        assert!(!is_raw_device(Path::new("/dev/shm/x")) && !is_raw_device(Path::new("/dev/null")));
        assert!(
            is_raw_device(Path::new("/proc/sysrq-trigger")) && is_raw_device(Path::new("/sys/power/state"))
        );
    }
}
