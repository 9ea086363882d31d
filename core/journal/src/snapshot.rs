//! Snapshots: the whole state at one position, as a file.
//!
//! ```text
//! "TSSNAPSH" | format u16 | head, by postcard | the hub's own snapshot | checksum of all before
//! ```
//!
//! A snapshot is the boundary between versions of the core: the hub's own bytes name their form, and
//! the records behind a snapshot of a clean stop are none.

use chat_core::{Hub, Position, RestoreError, VERSION};
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::link::Link;
use crate::record::Chain;

/// The first bytes of every snapshot.
const MAGIC: &[u8; 8] = b"TSSNAPSH";

/// The version of the form of snapshot files.
const FORMAT: u16 = 1;

#[derive(Serialize, Deserialize)]
struct Head<'a> {
    core: &'a str,
    origin: Link,
    chain: Chain,
    digest: u64,
}

/// A state that can be gone on from.
#[derive(Debug)]
pub struct Snapshot {
    /// The end of the journal at this state.
    pub chain: Chain,
    /// The state.
    pub hub: Hub,
}

/// Why bytes are no snapshot of a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The bytes are not those that were written.
    #[error("its checksum is wrong")]
    Checksum,
    /// The file is of another form.
    #[error("its format is {0}, and this version reads format {FORMAT}")]
    Format(u16),
    /// It belongs to another journal.
    #[error("it belongs to another journal")]
    Identity,
    /// The checksum is right, and the content is no state: another version's, or a bug.
    #[error("version {core} wrote it: {error}")]
    State {
        /// The version of the core that wrote it.
        core: String,
        /// What is wrong.
        error: RestoreError,
    },
    /// The state is not the one that was written: a bug.
    #[error("the state that it holds differs from the one that was written")]
    Digest,
    /// The checksum is right, and the head is none: a bug.
    #[error("its checksum is right, but its head is not readable: {0}")]
    Head(String),
}

impl Snapshot {
    /// The file that holds this state, which is the one at the end of `chain`.
    ///
    /// # Panics
    /// When the state is at another position than the chain: a bug.
    #[must_use]
    pub fn write(identity: &Identity, chain: &Chain, hub: &Hub) -> Vec<u8> {
        assert_eq!(
            hub.position(),
            chain.last(),
            "the state and the chain end at one position"
        );
        let head = Head {
            core: VERSION,
            origin: identity.origin(),
            chain: *chain,
            digest: hub.digest(),
        };
        let mut bytes = Vec::from(*MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        let mut bytes = postcard::to_extend(&head, bytes).expect("a head serialises");
        bytes.extend_from_slice(&hub.snapshot());
        Link::NONE.close(&mut bytes);
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Why nothing can be gone on from it.
    pub fn read(identity: &Identity, file: &[u8]) -> Result<Self, SnapshotError> {
        let (content, _) = Link::NONE.open(file).ok_or(SnapshotError::Checksum)?;
        let rest = content.strip_prefix(MAGIC);
        let (format, rest) = rest
            .and_then(|rest| rest.split_first_chunk::<2>())
            .ok_or_else(|| SnapshotError::Head("it is no snapshot".into()))?;
        let format = u16::from_le_bytes(*format);
        if format != FORMAT {
            return Err(SnapshotError::Format(format));
        }
        let (head, state) = postcard::take_from_bytes::<Head<'_>>(rest)
            .map_err(|error| SnapshotError::Head(error.to_string()))?;
        if head.origin != identity.origin() {
            return Err(SnapshotError::Identity);
        }
        let hub = Hub::restore(state).map_err(|error| SnapshotError::State {
            core: head.core.into(),
            error,
        })?;
        if hub.digest() != head.digest || hub.position() != head.chain.last() {
            return Err(SnapshotError::Digest);
        }
        Ok(Self {
            chain: head.chain,
            hub,
        })
    }

    /// The position of a file's state, without reading the state. None where the file is damaged.
    #[must_use]
    pub fn position_of(identity: &Identity, file: &[u8]) -> Option<Position> {
        let (content, _) = Link::NONE.open(file)?;
        let rest = content.strip_prefix(MAGIC)?.get(2..)?;
        let (head, _) = postcard::take_from_bytes::<Head<'_>>(rest).ok()?;
        (head.origin == identity.origin()).then_some(head.chain.last())
    }
}
