//! A moment as it is written: in records, in the JSON stream, in lists.
//! Knows no clock but the system's.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serializer;

/// Now, to the millisecond: what records and the JSON stream carry.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// How long something took, as records and the JSON stream carry it.
pub fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// A time as it is written: always with three digits behind the second, so that times sort as text.
pub fn written(ts: Timestamp) -> String {
    format!("{ts:.3}")
}

/// For a field that holds a time.
pub fn stamp<S: Serializer>(ts: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&written(*ts))
}
