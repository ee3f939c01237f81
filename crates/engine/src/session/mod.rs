//! Session files: append, recover, list.
