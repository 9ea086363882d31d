//! What members send one another, as bytes.

use chat_core::{Address, Call, Earlier, Reader, Seq};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use server_chat::driver::{Answered, CallerContext, Delivery};

/// The version of the form. A member answers no other, so that its caller tries again until all
/// members are of one version.
const FORMAT: u8 = 4;

/// The kind of call that the owner alone serves.
pub(super) const CALL: &str = "call";

/// The kind of call that every member answers.
pub(super) const STATUS: &str = "status";

/// The kind of call that asks the owner to resign. Its answer is the owner's name and its epoch.
pub(super) const RESIGN: &str = "resign";

/// The kind of call that the owner serves for one stream.
pub(super) fn stream(id: u64) -> String {
    format!("stream.{id:016x}")
}

/// A question to the owner.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    Call {
        /// The last record that the door has applied.
        sequence: u64,
        from: Address,
        call: Call,
    },
    Open {
        from: Address,
        reader: Reader,
        after: Option<Seq>,
    },
}

/// The owner's answer. `sequence` is that of a record of the log whose state contains all that the
/// answer says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Answered {
        sequence: u64,
        answered: Box<Answered>,
    },
    Opened {
        sequence: u64,
        stream: u64,
        context: CallerContext,
    },
    /// The member is not the owner.
    Moved(Earlier),
}

/// The answer to a request for the next delivery of a stream, which has the number of those that were
/// received.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Pushed {
    Delivery {
        sequence: u64,
        delivery: Delivery,
    },
    /// There is none yet.
    Nothing,
}

/// What a member says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MemberStatus {
    pub(super) member: String,
    pub(super) role: String,
    pub(super) sequence: u64,
    pub(super) epoch: u64,
    pub(super) owner: Option<String>,
    pub(super) position: u64,
    pub(super) digest: u64,
    pub(super) version: String,
}

pub(super) fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(message, vec![FORMAT]).expect("a message serialises")
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (&FORMAT, rest) = bytes.split_first()? else {
        return None;
    };
    postcard::from_bytes(rest).ok()
}
