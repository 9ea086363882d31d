//! Outcomes of calls, as their clients see them.

use chat_types::reject::NameHolder;
use chat_types::{Code, Earlier, Reject, Reply, Response, Span};

/// A server's refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the protocol, such as `stick_required`.
    pub code: &'static str,
    /// The delay after which to retry, if that helps.
    pub retry_after: Option<Span>,
    /// What the server knows of earlier attempts with the call's request key.
    pub earlier: Earlier,
    /// The number in the message: with `room_ambiguous` that of the caller's rooms, with
    /// `invalid_cursor` the end of the inbox, with `name_taken` a silence in microseconds,
    /// with `chat_ended` the place of the reason among `EndReason`, and otherwise the limit.
    pub number: Option<u64>,
}

impl Refusal {
    /// A refusal with a number in its message.
    #[must_use]
    pub const fn with(code: Code, number: u64) -> Self {
        Self {
            number: Some(number),
            ..Self::of(code)
        }
    }

    /// A refusal with only a code.
    #[must_use]
    pub const fn of(code: Code) -> Self {
        Self::named(code.name())
    }

    /// A refusal with only a code, which may be that of another server.
    #[must_use]
    pub const fn named(code: &'static str) -> Self {
        Self {
            code,
            retry_after: None,
            earlier: Earlier::Unasked,
            number: None,
        }
    }

    /// Whether it has this code.
    #[must_use]
    pub fn is(&self, code: Code) -> bool {
        self.code == code.name()
    }

    /// Whether the call can be repeated and is then decided anew.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        Code::named(self.code).is_some_and(Code::is_retryable)
    }
}

/// A refusal as its client sees it.
impl From<&Reject> for Refusal {
    fn from(reject: &Reject) -> Self {
        use NameHolder::{Other, SameAddress};
        let number = if let Reject::RoomAmbiguous { rooms: number }
        | Reject::MessageTooLong { limit: number }
        | Reject::DraftFull { limit: number }
        | Reject::QueueFull { limit: number }
        | Reject::RoomFull { limit: number }
        | Reject::AddressFull { limit: number } = *reject
        {
            Some(number.into())
        } else if let Reject::NameTaken {
            holder: SameAddress(silence) | Other(silence),
        } = *reject
        {
            Some(silence.0)
        } else if let Reject::ChatEnded { ending } = reject {
            Some(ending.reason as u64)
        } else if let Reject::InvalidCursor { end } = *reject {
            Some(end)
        } else {
            None
        };
        Self {
            code: reject.code(),
            retry_after: reject.retry_after(),
            earlier: reject.earlier(),
            number,
        }
    }
}

/// What a client receives for a call: the answer, or the refusal.
pub type Outcome = Result<Response, Refusal>;

/// The decision on a command or an operator's act.
pub type Decided = Result<Reply, Refusal>;
