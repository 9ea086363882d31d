//! Refusals on the wire.

use chat_core::{Code, Earlier, Reject};
use serde::Serialize;

use crate::user::User;

/// A refusal: a code for programs, and a sentence to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The code.
    pub code: &'static str,
    /// What was wrong, and what to do.
    pub message: String,
    /// The delay after which to retry, if that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What is known of earlier attempts with the call's request key, if it can be retried: `none`
    /// has taken effect, or it is `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_attempt: Option<&'static str>,
    /// What the caller needs to call again, and the code does not say.
    #[serde(flatten)]
    pub facts: Option<Box<RefusalFacts>>,
}

/// What a refusal says beside its code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RefusalFacts {
    /// Why an operator banned the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The caller's rooms, if the call named none of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rooms: Vec<OwnRoom>,
    /// When a taken name is free at the latest, if nobody speaks for its holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_at: Option<String>,
    /// How long the holder of a taken name has to be away until the name is free, if it is of another
    /// address, to which its presence is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_after_away_seconds: Option<u64>,
}

/// A room that the caller is in, with what it is called by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnRoom {
    /// Its id.
    pub room_id: String,
    /// Its name, as its opener gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The other member of a pair room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner: Option<User>,
}

impl From<Reject> for Refusal {
    fn from(reject: Reject) -> Self {
        Self {
            retry_after_ms: reject.retry_after().map(|span| span.as_millis().max(1)),
            ..Self::new(reject.code(), reject.to_string()).after(reject.earlier())
        }
    }
}

impl Refusal {
    /// All codes.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        // The core does not know of searches.
        Code::NAMES.iter().copied().chain(["search_unavailable"])
    }

    /// A refusal that only says what was wrong.
    #[must_use]
    pub const fn new(code: &'static str, message: String) -> Self {
        Self {
            code,
            message,
            retry_after_ms: None,
            earlier_attempt: None,
            facts: None,
        }
    }

    /// A refusal of a caller whom an operator banned.
    #[must_use]
    pub fn banned(reject: Reject, reason: &str) -> Self {
        Self::new(reject.code(), Reject::Blocked.to_string()).with(RefusalFacts {
            reason: Some(reason.into()),
            ..RefusalFacts::default()
        })
    }

    /// The refusal with these facts.
    #[must_use]
    pub fn with(self, facts: RefusalFacts) -> Self {
        let facts = Some(Box::new(facts));
        Self { facts, ..self }
    }

    /// A refusal of invalid arguments.
    #[must_use]
    pub const fn invalid(message: String) -> Self {
        Self::new("invalid_arguments", message)
    }

    /// A refusal because of overload.
    #[must_use]
    pub fn overloaded(message: String, retry_after_ms: u64) -> Self {
        Self {
            retry_after_ms: Some(retry_after_ms),
            ..Self::new("overloaded", message)
        }
    }

    /// Adds what is known of earlier attempts.
    #[must_use]
    pub fn after(mut self, earlier: Earlier) -> Self {
        self.message.push_str(match earlier {
            Earlier::Unasked => "",
            Earlier::None => ". No attempt with this request_key has taken effect",
            Earlier::Unknown => {
                ". If you sent this before, it may have been delivered: repeat it with the same \
                 request_key, do not send it as a new one"
            }
        });
        self.earlier_attempt = earlier.as_str();
        self
    }

    /// The HTTP status of the code, also of those of plain HTTP alone.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.code {
            "handle_required" | "unknown_handle" | "token_required" | "token_unknown"
            | "token_expired" | "operator_required" => 401,
            "not_in_room" | "muted" | "blocked" | "host_not_allowed" | "origin_not_allowed"
            | "site_not_allowed" => 403,
            "room_not_found" | "user_not_found" | "not_found" => 404,
            "method_not_allowed" => 405,
            "body_too_slow" => 408,
            "chat_ended" | "room_ambiguous" | "stick_required" | "no_stick" | "stick_held"
            | "already_waiting" | "already_chatting" | "user_id_taken" | "name_taken"
            | "request_key_reused" | "draft_empty" | "draft_full" => 409,
            "message_too_long" | "body_too_large" => 413,
            "body_encoded" => 415,
            "rate_limited" => 429,
            "search_unavailable" => 501,
            "queue_full"
            | "room_full"
            | "address_full"
            | "server_full"
            | "overloaded"
            | "storage_unavailable"
            | "shutting_down" => 503,
            _ => 400,
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_core::Span;

    use super::*;

    #[test]
    fn the_protocol_lists_every_code_with_its_status() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
        let page = std::fs::read_to_string(page).expect("the protocol");
        let (_, section) = page.split_once("### 16.3 Refusals").expect("the section");
        let (section, _) = section.split_once("\n### ").expect("a section after it");
        let listed = section.lines().filter_map(|line| {
            let (code, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((code, rest.split_once(' ')?.0.parse().expect("a status")))
        });
        let mut listed: Vec<(&str, u16)> = listed.collect();
        let status = |code| (code, Refusal::new(code, String::new()).status());
        let mut known: Vec<(&str, u16)> = Refusal::codes().map(status).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn a_retry_delay_is_never_zero() {
        let refusal = Refusal::from(Reject::overloaded(Span(3)));
        assert_eq!(refusal.retry_after_ms, Some(1));
    }

    /// Its sentence is tested as a text for models.
    #[test]
    fn a_refusal_that_can_be_tried_again_says_what_is_known_of_earlier_attempts() {
        for (earlier, word) in [
            (Earlier::Unasked, None),
            (Earlier::None, Some("none")),
            (Earlier::Unknown, Some("unknown")),
        ] {
            let reject = Reject::overloaded(Span::secs(2)).with_earlier(earlier);
            let shown = serde_json::to_value(Refusal::from(reject)).unwrap();
            assert_eq!(
                shown.get("earlier_attempt").and_then(|word| word.as_str()),
                word
            );
            assert_eq!(
                (&shown["code"], &shown["retry_after_ms"]),
                (&"overloaded".into(), &2_000.into())
            );
            let fields = shown.as_object().map(serde_json::Map::len);
            assert_eq!(fields, Some(3 + usize::from(word.is_some())));
        }
    }
}
