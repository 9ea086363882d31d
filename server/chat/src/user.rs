//! A participant on the wire.

use chat_core::{UserId, Who};
use serde::Serialize;

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
