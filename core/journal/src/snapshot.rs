//! Snapshots: the whole state at one position, as a file.
//!
//! ```text
//! "TSSNAPSH" | format u16 | head, by postcard | the hub's own snapshot | checksum of all before
//! ```
//!
//! A new version of the core starts from a snapshot: the hub's own bytes contain the version of
//! their format, and after a clean shutdown no records follow the last snapshot.

use chat_core::{Hub, Position, RestoreError, VERSION};
use serde::{Deserialize, Serialize};

use crate::identity::Origin;
use crate::link::{Form, Link};
use crate::record::Chain;

/// The version of the format of snapshot files.
const FORMAT: u16 = 1;

/// The first bytes of every snapshot.
const FORM: Form = Form(b"TSSNAPSH", FORMAT);

#[derive(Serialize, Deserialize)]
struct Head<'a> {
    core: &'a str,
    origin: Link,
    chain: Chain,
    digest: u64,
}

/// A state to continue from.
#[derive(Debug)]
pub struct Snapshot {
    /// The end of the journal at this state.
    pub chain: Chain,
    /// The state.
    pub hub: Hub,
}

/// Why bytes are not a usable snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The bytes were changed.
    #[error("its checksum is wrong")]
    Checksum,
    /// The file has another format.
    #[error("its format is {0}, and this version reads format {FORMAT}")]
    Format(u16),
    /// It belongs to another journal.
    #[error("it belongs to another journal")]
    Identity,
    /// The checksum matches, but the content is not a state: it is from another version of the core, which
    /// is named, or there is a bug.
    #[error("version {0} wrote it: {1}")]
    State(String, RestoreError),
    /// The state differs from the written one, which is a bug.
    #[error("the state that it holds differs from the one that was written")]
    Digest,
    /// The checksum matches, but the head cannot be parsed, which is a bug.
    #[error("its checksum is right, but its head is not readable: {0}")]
    Head(String),
}

impl Snapshot {
    /// The file of this state, which is the state at the end of `chain`.
    ///
    /// # Panics
    /// The position of the state differs from the chain's, which is a bug.
    #[must_use]
    pub fn write(origin: &Origin, chain: &Chain, hub: &Hub) -> Vec<u8> {
        assert_eq!(
            hub.position(),
            chain.last(),
            "the state and the chain end at one position"
        );
        let head = Head {
            core: VERSION,
            origin: origin.link,
            chain: *chain,
            digest: hub.digest(),
        };
        let mut bytes = postcard::to_extend(&head, FORM.begin()).expect("a head serialises");
        bytes.extend_from_slice(&hub.snapshot());
        Link::NONE.close(&mut bytes);
        bytes
    }

    /// Parses a file.
    ///
    /// # Errors
    /// The file is not a usable snapshot.
    pub fn read(origin: &Origin, file: &[u8]) -> Result<Self, SnapshotError> {
        let (head, state) = open(origin, file)?;
        let hub = Hub::restore(state);
        let hub = hub.map_err(|error| SnapshotError::State(head.core.into(), error))?;
        if hub.digest() != head.digest || hub.position() != head.chain.last() {
            return Err(SnapshotError::Digest);
        }
        Ok(Self {
            chain: head.chain,
            hub,
        })
    }

    /// The position and the digest of a file's state, without parsing the state. `None` if the file
    /// is damaged, or belongs to another journal.
    #[must_use]
    pub fn head_of(origin: &Origin, file: &[u8]) -> Option<(Position, u64)> {
        let (head, _) = open(origin, file).ok()?;
        Some((head.chain.last(), head.digest))
    }
}

/// Parses the head of a file; returns the bytes of the state, too.
fn open<'f>(origin: &Origin, file: &'f [u8]) -> Result<(Head<'f>, &'f [u8]), SnapshotError> {
    let (content, _) = Link::NONE.open(file).ok_or(SnapshotError::Checksum)?;
    let rest = FORM.rest(content);
    let rest = rest.ok_or_else(|| SnapshotError::Head("it is no snapshot".into()))?;
    let rest = rest.map_err(SnapshotError::Format)?;
    let (head, state) = postcard::take_from_bytes::<Head<'_>>(rest)
        .map_err(|error| SnapshotError::Head(error.to_string()))?;
    match head.origin == origin.link {
        true => Ok((head, state)),
        false => Err(SnapshotError::Identity),
    }
}
