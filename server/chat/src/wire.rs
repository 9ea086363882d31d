//! The JSON of the interface: results, events and refusals, written by hand from the core's types.
//! Ids are strings, cursors and seqs are integers, instants are RFC 3339 in UTC.

mod event;
mod outcome;
mod result;

use chat_core::Time;
use chrono::{DateTime, SecondsFormat};

pub use crate::user::{User, public_id};
pub use event::{SeenItem, SeenNotice, SeenPast, events};
pub use outcome::{CallOutcome, Done, HandleUse, refused};
pub use result::past;

/// An instant on the wire: `2026-11-20T18:29:13.250Z`.
#[must_use]
pub fn timestamp(at: Time) -> String {
    let micros = i64::try_from(at.0).unwrap_or(i64::MAX);
    DateTime::from_timestamp_micros(micros)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_in_utc_with_milliseconds() {
        assert_eq!(timestamp(Time(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            timestamp(Time(1_795_199_353_250_999)),
            "2026-11-20T18:29:13.250Z"
        );
    }
}
