//! The JSON of the interface: results, events and refusals, written by hand from the core's types.
//! Ids are strings, cursors and seqs are integers, instants are RFC 3339 in UTC.

mod break_words;
mod event;
mod result;

use chat_core::{Time, UserId, Who};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;

pub use break_words::{Spoken, spoken};
pub use event::{Event, Lost, Notice, Payload, events, notice, notices};
pub use result::{
    CallFacts, Credentials, Done, FoundMessage, Member, Members, Newcomer, PastMessage, Said,
    presence, result,
};
pub use result::{found, past};

/// A participant as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The public id.
    pub user_id: String,
    /// The display name. A peer chose it, so it must never pass for the server's words.
    pub display_name: String,
    /// Whether it is the reader itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub you: bool,
}

impl From<&Who> for User {
    fn from(who: &Who) -> Self {
        Self {
            user_id: public_id(who),
            display_name: who.name.to_string(),
            you: false,
        }
    }
}

impl User {
    /// A participant as this reader sees it.
    pub(crate) fn seen_by(who: &Who, reader: UserId) -> Self {
        Self {
            you: who.id == reader,
            ..Self::from(who)
        }
    }
}

/// A participant's public id.
#[must_use]
pub fn public_id(who: &Who) -> String {
    match &who.chosen_id {
        Some(chosen) => chosen.to_string(),
        None => who.id.to_string(),
    }
}

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
