//! Names that are dangerous by themselves: forbidden to a model, always confirmed, or destructive; and in words why.

use crate::shell::programs::options::operands;
use crate::shell::syntax::word::Arg;

/// Never for a model: becoming somebody else, stopping the machine.
const FORBIDDEN: &[&str] = &[
    "sudo",
    "sudoedit",
    "sudo-rs",
    "doas",
    "su",
    "pkexec",
    "run0",
    "runuser",
    "gksudo",
    "gksu",
    "kdesudo",
    "kdesu",
    "dzdo",
    "pfexec",
    "ksu",
    "gosu",
    "su-exec",
    "calife",
    "sux",
    "setuidgid",
    "s6-setuidgid",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "openrc-shutdown",
    "runit-init",
];

/// The mandatory list.
const LISTED: &[&str] = &["rm", "mv", "chmod", "chown", "dd", "mkfs"];

/// `dd` under other names.
const DD: &[&str] = &["dd", "gdd", "dcfldd", "dc3dd"];

/// Not on the list, but as final: a person is asked as well.
const DESTRUCTIVE: &[&str] = &[
    "unlink",
    "shred",
    "srm",
    "wipefs",
    "wipe",
    "fdisk",
    "sfdisk",
    "cfdisk",
    "gdisk",
    "sgdisk",
    "parted",
    "mkswap",
    "mke2fs",
    "blkdiscard",
    "hdparm",
    "tune2fs",
    "fsck",
    "cryptsetup",
    "lvremove",
    "vgremove",
    "pvremove",
    "swapoff",
    "swapon",
    "chgrp",
    "chattr",
    "setfacl",
    "setcap",
    "mount",
    "umount",
    "insmod",
    "rmmod",
    "modprobe",
    "kexec",
    "useradd",
    "adduser",
    "deluser",
    "addgroup",
    "delgroup",
    "gpasswd",
    "vipw",
    "rtcwake",
    "killall5",
    "mkntfs",
    "mkdosfs",
    "newfs",
    "mdadm",
    "nwipe",
    "scrub",
    "e2fsck",
    "resize2fs",
    "xfs_repair",
    "userdel",
    "usermod",
    "groupadd",
    "groupdel",
    "passwd",
    "chpasswd",
    "visudo",
    "chsh",
    "iptables",
    "ip6tables",
    "nft",
    "ufw",
    "systemd-run",
    "at",
    "batch",
    "losetup",
    "debugfs",
    "badblocks",
    "nvme",
    "pvcreate",
    "ddrescue",
    "qemu-img",
    "rename",
    "prename",
    "rimraf",
    "atrm",
    "trash",
    "trash-put",
];

/// Units whose start is the end of the session.
pub(crate) const STOPPING_UNITS: &[&str] = &[
    "reboot",
    "poweroff",
    "halt",
    "kexec",
    "suspend",
    "hibernate",
    "rescue",
    "emergency",
    "shutdown",
    "runlevel0",
    "runlevel6",
    "ctrl-alt-del",
    "systemd-reboot",
    "systemd-poweroff",
    "systemd-halt",
    "systemd-kexec",
    "systemd-suspend",
];

pub(crate) fn is_listed(name: &str) -> bool {
    LISTED.contains(&without_g(name)) || DD.contains(&name) || name.starts_with("mkfs.")
}

/// coreutils beside a system's own tools are installed with a g in front.
pub(crate) fn without_g(name: &str) -> &str {
    name.strip_prefix('g').filter(|plain| LISTED.contains(plain)).unwrap_or(name)
}

pub(crate) fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name)
}

/// The same for tools of GNU's that only change or run things.
pub(crate) fn plain_name(name: &str) -> &str {
    const GNU: &[&str] = &[
        "tee", "sort", "truncate", "ln", "install", "shred", "unlink", "nice", "cp", "touch", "split",
        "timeout", "env", "nohup", "stdbuf", "xargs", "find", "sed", "awk", "tar", "mkdir", "link",
    ];
    name.strip_prefix('g').filter(|plain| GNU.contains(plain)).unwrap_or(name)
}

/// `dd`, whatever it is called.
pub(crate) fn copies_raw(name: &str) -> bool {
    DD.contains(&name)
}

/// Whether this call destroys or changes the system, and does not only show how it is.
pub(crate) fn is_destructive(name: &str, argv: &[Arg]) -> bool {
    let words: Vec<&str> = argv.iter().skip(1).map(|arg| arg.text.as_str()).collect();
    let shows = match (name, words.as_slice()) {
        (_, ["--help" | "--version"]) => true,
        ("mount" | "losetup", [] | ["-l"]) | ("losetup", ["-a" | "--all" | "--list"]) => true,
        ("swapon", ["-s" | "--show" | "--summary"]) | ("fdisk" | "sfdisk" | "parted", ["-l"]) => true,
        ("qemu-img", ["info" | "check", ..]) => true,
        ("iptables" | "ip6tables", flags) => {
            !flags.is_empty()
                && flags.iter().all(|flag| matches!(*flag, "-L" | "-S" | "-n" | "-v" | "-nvL" | "-nL"))
        }
        _ => false,
    };
    let trashes = name == "gio" && matches!(words.as_slice(), ["trash" | "remove" | "move", ..]);
    trashes || (DESTRUCTIVE.contains(&name) && !shows)
}

/// What a destructive command does, in words.
pub(crate) fn destructive_effect(name: &str) -> String {
    match name {
        "at" | "batch" | "systemd-run" => format!("{name} runs something without zdx"),
        "unlink" | "shred" | "srm" | "wipe" | "trash" | "trash-put" | "gio" | "rimraf" => {
            format!("{name} removes files")
        }
        "rename" | "prename" => format!("{name} renames files, over others too"),
        _ => format!("{name} changes the system or its disks, which may not be undone"),
    }
}

/// What a listed command does to what, in words.
pub(crate) fn listed_effect(name: &str, argv: &[Arg]) -> String {
    let files: Vec<&Arg> = match name {
        "dd" => Vec::new(),
        // The first word of these is a mode or an owner.
        "chmod" | "chown" => operands(argv).into_iter().skip(1).collect(),
        _ => operands(argv),
    };
    let effect = match name {
        "rm" => "removes",
        "mv" => "moves or replaces",
        "chmod" => "changes the permissions of",
        "chown" => "changes the owner of",
        "dd" => "copies raw data over",
        _ => "makes a new file system on",
    };
    match files.as_slice() {
        _ if files.iter().any(|file| file.has_unknown()) => {
            format!("{name} {effect} files that are not known before it runs")
        }
        [] => format!("{name} {effect} files"),
        [one] if one.text.len() <= 60 => format!("{name} {effect} {}", one.text),
        _ => format!("{name} {effect} {} files", files.len()),
    }
}
