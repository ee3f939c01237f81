//! What a command must not see of zdx: its environment and its memory, where the keys of providers are.
//!
//! Three locks, as one is not enough for everybody. A process that is not dumpable shows neither to others of the same user.
//! Root may look all the same by a capability: no command gets that one from us. Newer kernels show the environment to who
//! has another, which root needs for too much else: so secrets are taken out of it (`scrub`). Root is left with the rest of
//! its power: this holds against looking, not against somebody who loads modules or replaces programs to get there.

/// For zdx and for its supervisors, before anything else. It ends with the next `exec`: what they run can be debugged as
/// ever.
#[cfg(target_os = "linux")]
pub fn keep_private() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Known to every Linux there is; without it zdx works as well.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// From here on, nothing that this process starts may look into processes that it could not look into as a user: it loses
/// the capability for that, and can get it back from no program.
#[cfg(target_os = "linux")]
pub(super) fn give_up_looking() {
    use rustix::thread::{
        CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
    };
    const LOOK: CapabilitySet = CapabilitySet::SYS_PTRACE;
    // Who may not do this has no such capability to give up.
    let _ = remove_capability_from_bounding_set(LOOK);
    if let Ok(mut sets) = capabilities(None) {
        sets.effective.remove(LOOK);
        sets.permitted.remove(LOOK);
        sets.inheritable.remove(LOOK);
        let _ = set_capabilities(None, sets);
    }
}

#[cfg(not(target_os = "linux"))]
pub fn keep_private() {}

#[cfg(not(target_os = "linux"))]
pub(super) fn give_up_looking() {}
