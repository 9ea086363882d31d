//! Envelopes: the records of the log, as bytes.
//!
//! ```text
//! "TSCLUSTR" | format u16 | head and body, by postcard | link of all before
//! ```
//!
//! The link continues the previous record's, and is checked before anything else is parsed. So a
//! record at the wrong place, or with a changed bit, is never parsed.

use chat_core::Position;
use chat_journal::{Broken, Form, Link};
use serde::{Deserialize, Serialize, Serializer};

/// The version of the format of records.
pub const FORMAT: u16 = 2;

/// The first bytes of every record.
const FORM: Form = Form(b"TSCLUSTR", FORMAT);

/// The size limit of a record. The log must accept messages of this size.
pub const MAX_ENVELOPE_BYTES: usize = 8 << 20;

/// A member, from one start of its process to the end of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MemberId {
    /// The number of the member in its cluster.
    pub number: u64,
    /// A number drawn at the start of the process, so that an append of the process before it is
    /// never taken for its own.
    pub incarnation: u64,
}

/// The part before the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) realm: u128,
    /// The sequence of the record: one more than its append expects as the last.
    pub(crate) sequence: u64,
    /// The epoch: the number of the claim that made the owner.
    pub(crate) epoch: u64,
    pub(crate) author: MemberId,
}

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Body<'a> {
    /// The author is the owner from here on.
    Claim {
        /// The address at which other members reach it.
        address: &'a str,
    },
    /// A batch of the owner's node: a record of the journal.
    Batch {
        #[serde(borrow, serialize_with = "at_once")]
        record: &'a [u8],
    },
    /// The owner is there.
    Heartbeat {
        /// The position of the last entry.
        position: Position,
        /// The digest of the state there.
        digest: u64,
    },
    /// The owner is no longer the owner.
    Resigned,
    /// Stands where an append of unknown outcome would have stood, which is thereby absent.
    Noop,
}

/// Why bytes are not the next record of the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The bytes were changed, or belong to another place.
    #[error("its checksum does not continue the record before it")]
    Link,
    /// Another version of this crate wrote it.
    #[error("its format is {0}, and this version reads format {FORMAT}")]
    Format(u16),
    /// The batch is not one that this version reads.
    #[error("its batch is not usable: {0}")]
    Batch(Broken),
    /// The checksum matches, but the content is not the next record, which is a bug.
    #[error("its checksum is right, but {0}")]
    Content(String),
}

/// Serialises bytes at once. Postcard writes the same for a sequence of bytes, but one by one.
pub(crate) fn at_once<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// Makes a record that follows the one with link `tip`. Returns its own link, too.
pub(crate) fn seal(tip: Link, head: Head, body: Body<'_>) -> (Vec<u8>, Link) {
    let bytes = postcard::to_extend(&(head, body), FORM.begin());
    let mut bytes = bytes.expect("a record serialises");
    let link = tip.close(&mut bytes);
    (bytes, link)
}

/// Parses a record that follows the one with link `tip`. Returns its own link, too.
pub(crate) fn open(tip: Link, bytes: &[u8]) -> Result<(Head, Body<'_>, Link), Unfit> {
    let (content, link) = tip.open(bytes).ok_or(Unfit::Link)?;
    let rest = FORM.rest(content);
    let rest = rest.ok_or_else(|| Unfit::Content("it is no record of a cluster".into()))?;
    let rest = rest.map_err(Unfit::Format)?;
    let ((head, body), rest) = postcard::take_from_bytes::<(Head, Body<'_>)>(rest)
        .map_err(|error| Unfit::Content(error.to_string()))?;
    if !rest.is_empty() {
        return Err(Unfit::Content(format!("{} bytes follow it", rest.len())));
    }
    Ok((head, body, link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct OneByOne<'a>(&'a [u8]);

    #[derive(Serialize)]
    struct AtOnce<'a>(#[serde(serialize_with = "at_once")] &'a [u8]);

    #[test]
    fn bytes_at_once_are_the_bytes_of_a_sequence() {
        for length in [0, 1, 127, 128, 70_000] {
            let bytes = vec![0xc3; length];
            let one_by_one = postcard::to_stdvec(&OneByOne(&bytes)).unwrap();
            assert_eq!(postcard::to_stdvec(&AtOnce(&bytes)).unwrap(), one_by_one);
        }
    }
}
