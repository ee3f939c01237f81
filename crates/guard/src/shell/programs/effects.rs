//! What a call does, as plain values: `generic` and the functions of `special` make them from words and a row, and only
//! the walker, which knows files, folders and what feeds a command, turns them into findings.

use zdx_protocol::ReasonCode;

use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Where and how an inner command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    /// The rest of the words, unchanged: an allowing pattern may look through.
    Transparent,
    /// In other surroundings.
    Changed,
    /// In folders that are not followed.
    Elsewhere,
    /// With words out of its input, as far as these are known.
    Fed,
    /// With words, and maybe input, that are not known.
    Listed,
    /// In a container, with our input: only what would have to be confirmed anywhere counts.
    Contained,
    /// The same, perhaps, with input that is not known.
    Perhaps,
}

/// What a program does with what it reads on standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Shell,
    Code,
    /// A shell on another machine.
    Remote,
    /// Orders for an editor or a debugger.
    Orders,
    /// Text that may be a script.
    Perhaps,
    /// Lines for a database's shell.
    Database,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Ask(String),
    Confirm(ReasonCode, String),
    Forbid(String),
    /// It cannot be shown to only read.
    Unproven,
    /// No allowing pattern covers it.
    NotPlain,
    Reads(Arg),
    Changes(Arg, FileEffect),
    /// Changed in a way that only matters for protected names.
    Protects(Arg),
    /// A path only where it looks like one.
    Loose {
        arg: Arg,
        write: bool,
    },
    /// Whatever program this is, it may write what it is given.
    MayWrite {
        by: String,
        arg: Arg,
    },
    /// Removed, with all that is in it or not.
    Removes {
        arg: Arg,
        recursive: bool,
    },
    /// Searched by something that deletes what it finds.
    Empties(Arg),
    Device(Arg),
    /// Given to a container, which may change what is in it.
    Mounts {
        arg: Arg,
        read_only: bool,
    },
    Copies {
        sources: Vec<Arg>,
        target: Arg,
        change: FileEffect,
    },
    Links {
        targets: Vec<Arg>,
        link: Option<Arg>,
        symbolic: bool,
        forced: bool,
    },
    MakesFolder(Arg),
    Fetches(Arg),
    /// Files come out of an archive, into the folder it runs in.
    Unpacks(Vec<Arg>),
    /// For the rest of this call.
    Chdir(Arg),
    Sets(String, Option<String>),
    Runs(Vec<Arg>, Inner),
    /// Words that are joined and given to a shell.
    Shell(Vec<Arg>),
    /// The same on another machine, whose files are not ours.
    Remote(Vec<Arg>),
    /// Text that may be a command: what would have to be confirmed is.
    Perhaps(String),
    /// Text out of code of another language: a listed command in it counts.
    Listed(String),
    /// The program of sed or awk, whatever it turns out to be.
    Program(Arg, ProgramKind),
    Code(Arg),
    CodeFile(Arg),
    /// What a program of sed or awk is read from.
    ProgramFile(Arg, ProgramKind),
    Input(Input),
    /// It runs what files of the project say.
    Project,
    Makefile(Arg),
    /// It prints the environment, where keys are.
    ShowsEnvironment,
    /// What it is given goes to another machine.
    Sends,
    /// Throws away changes if this names a file.
    Discards(Arg),
    /// It only reads the repository, if its settings run nothing.
    Repository,
    /// git's settings of the user.
    UserSettings,
    /// Variables may stand before the command.
    Arguments(Vec<Arg>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    Sed,
    Awk,
}

/// The effects of one call, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects(pub Vec<Effect>);

impl Effects {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    pub(crate) fn ask(&mut self, why: impl Into<String>) {
        self.push(Effect::Ask(why.into()));
    }

    pub(crate) fn confirm(&mut self, code: ReasonCode, why: impl Into<String>) {
        self.push(Effect::Confirm(code, why.into()));
    }

    pub(crate) fn helper(&mut self, why: impl Into<String>) {
        self.confirm(ReasonCode::Helper, why);
    }

    pub(crate) fn reads(&mut self, arg: &Arg) {
        self.push(Effect::Reads(arg.clone()));
    }

    pub(crate) fn changes(&mut self, arg: &Arg, change: FileEffect) {
        self.push(Effect::Changes(arg.clone(), change));
    }

    pub(crate) fn writes(&mut self, arg: &Arg) {
        self.push(Effect::NotPlain);
        self.changes(arg, FileEffect::Overwrite);
    }

    pub(crate) fn loose(&mut self, arg: &Arg) {
        self.push(Effect::Loose { arg: arg.clone(), write: false });
    }
}
