//! Refusals: from the core's type to clients' words.

use chat_core::{NameHolder, Reject, Reply, Response};

use sim_model::protocol::{Outcome, Refusal};

/// What the client receives for its call.
pub fn outcome(outcome: Result<Response, Reject>) -> Outcome {
    outcome.map_err(|reject| refusal(&reject))
}

/// The server's decision as its caller reads it.
pub fn decided(outcome: &Result<Reply, Reject>) -> Result<&Reply, Refusal> {
    outcome.as_ref().map_err(refusal)
}

/// A refusal as its client sees it.
fn refusal(reject: &Reject) -> Refusal {
    Refusal {
        code: reject.code(),
        retry_after: reject.retry_after(),
        earlier: reject.earlier(),
        number: number(reject),
    }
}

/// The number in the message, unless it is a delay; a silence in microseconds.
fn number(reject: &Reject) -> Option<u64> {
    if let Reject::RoomAmbiguous { rooms: number }
    | Reject::MessageTooLong { limit: number }
    | Reject::DraftFull { limit: number }
    | Reject::QueueFull { limit: number }
    | Reject::RoomFull { limit: number }
    | Reject::AddressFull { limit: number } = reject
    {
        return Some((*number).into());
    }
    if let Reject::NameTaken {
        holder: NameHolder::SameAddress(silence) | NameHolder::Other(silence),
    } = reject
    {
        return Some(silence.0);
    }
    if let Reject::ChatEnded { ending } = reject {
        return Some(ending.reason as u64);
    }
    if let Reject::InvalidCursor { end } = reject {
        return Some(*end);
    }
    None
}
