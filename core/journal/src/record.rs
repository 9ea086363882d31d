//! Records: each is one batch of the node, as bytes.
//!
//! ```text
//! "TSJOURNL" | format u16 | head and entries, by postcard | link of all before
//! ```
//!
//! The link is checked before anything else is parsed, so that damaged bytes are never parsed.

use chat_core::{Entry, Position, Time, VERSION};
use serde::{Deserialize, Serialize};

use crate::identity::Origin;
use crate::link::{Form, Link};

/// The version of the record format. Format 1 had one more command, so that its numbers of commands
/// are others. In format 2 *resumed* did not say whether a life is lost. In format 3 a configuration had
/// no share of delayed answers, and no entry was *stepped*. In format 4 nobody called `speak`, and no message
/// had addressees.
pub const FORMAT: u16 = 5;

/// The first bytes of every record.
const FORM: Form = Form(b"TSJOURNL", FORMAT);

/// The part before the entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head<'a> {
    /// The version of the core that wrote it.
    core: &'a str,
    realm: u128,
    /// The number of the journal's owner that wrote it; 1 if there is one machine.
    owner: u64,
    batch: u64,
    first: Position,
    at: Time,
}

/// A record that was read, and whose link matches its predecessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The position of the first entry.
    pub first: Position,
    /// The instant of all entries.
    pub at: Time,
    /// The entries, at least one.
    pub entries: Vec<Entry>,
}

/// A batch as a record, before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The position of the first entry: the key under which the record is stored.
    pub first: Position,
    /// The bytes to write.
    pub bytes: Vec<u8>,
    /// The chain after this record. It is valid once the bytes are durable.
    pub after: Chain,
}

/// Why bytes are not the next record of a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The bytes were changed, or follow other records.
    #[error("its checksum does not continue the record before it")]
    Link,
    /// The record has another format.
    #[error("another build wrote it, in format {0}, and this build reads format {FORMAT}")]
    Format(u16),
    /// Another version of the core wrote it.
    #[error(
        "version {0} of the core wrote it, and this is version {VERSION}: start that version once and stop it cleanly, which leaves a snapshot to go on from"
    )]
    Version(String),
    /// The checksum matches, but the content is not the next record, which is a bug.
    #[error("its checksum is right, but {0}")]
    Content(String),
}

/// The end of a journal, where the next record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    realm: u128,
    owner: u64,
    batches: u64,
    last: Position,
    tip: Link,
}

impl Chain {
    /// The end of the empty journal.
    #[must_use]
    pub const fn new(origin: &Origin) -> Self {
        Self {
            realm: origin.realm,
            owner: 1,
            batches: 0,
            last: Position(0),
            tip: origin.link,
        }
    }

    /// The position of the last entry; 0 if there is none.
    #[must_use]
    pub const fn last(&self) -> Position {
        self.last
    }

    /// The link of the last record.
    #[must_use]
    pub const fn tip(&self) -> Link {
        self.tip
    }

    /// The number of the owner that wrote the last record; 1 if there is one machine.
    #[must_use]
    pub const fn owner(&self) -> u64 {
        self.owner
    }

    /// Returns this end with `owner` as the writer of the next record. A later owner has a larger
    /// number.
    #[must_use]
    pub const fn owned_by(self, owner: u64) -> Self {
        Self { owner, ..self }
    }

    /// The number of records of the journal so far.
    #[must_use]
    pub const fn batches(&self) -> u64 {
        self.batches
    }

    /// Makes the batch, with one instant for all entries, the next record.
    ///
    /// # Panics
    /// There is no entry, or one cannot be serialised: these are bugs.
    #[must_use]
    pub fn seal(&self, at: Time, entries: &[Entry]) -> Sealed {
        assert!(!entries.is_empty(), "the node appends no empty batch");
        let first = self.last.next();
        let head = Head {
            core: VERSION,
            realm: self.realm,
            owner: self.owner,
            batch: self.batches + 1,
            first,
            at,
        };
        let bytes = postcard::to_extend(&(head, entries), FORM.begin());
        let mut bytes = bytes.expect("entries serialise");
        let tip = self.tip.close(&mut bytes);
        let after = self.behind(first, entries.len(), tip);
        Sealed {
            first,
            bytes,
            after,
        }
    }

    /// Reads the next record, and advances past it. On an error, the chain is unchanged.
    ///
    /// # Errors
    /// The bytes are not the next record.
    pub fn follow(&mut self, bytes: &[u8]) -> Result<Record, Broken> {
        let (content, tip) = self.tip.open(bytes).ok_or(Broken::Link)?;
        let rest = FORM.rest(content);
        let rest = rest.ok_or_else(|| Broken::Content("it is no record".into()))?;
        let rest = rest.map_err(Broken::Format)?;
        let unread = |error: postcard::Error| Broken::Content(error.to_string());
        // The version is first, because this version of the core may not know the format of the
        // rest.
        let (core, _) = postcard::take_from_bytes::<&str>(rest).map_err(unread)?;
        if core != VERSION {
            return Err(Broken::Version(core.into()));
        }
        let ((head, entries), rest) =
            postcard::take_from_bytes::<(Head<'_>, Vec<Entry>)>(rest).map_err(unread)?;
        let expected = Head {
            core: VERSION,
            realm: self.realm,
            owner: head.owner.max(self.owner),
            batch: self.batches + 1,
            first: self.last.next(),
            at: head.at,
        };
        if head != expected || entries.is_empty() || !rest.is_empty() {
            return Err(Broken::Content(format!("its head is {head:?}")));
        }
        let chain = self.owned_by(head.owner);
        *self = chain.behind(head.first, entries.len(), tip);
        Ok(Record {
            first: head.first,
            at: head.at,
            entries,
        })
    }

    fn behind(&self, first: Position, entries: usize, tip: Link) -> Self {
        Self {
            batches: self.batches + 1,
            last: Position(first.0 + entries as u64 - 1),
            tip,
            ..*self
        }
    }
}
