//! Snapshots of a place in the log, with the state there.
//!
//! ```text
//! "TSCLSNAP" | format u16 | the place, by postcard | a snapshot of the journal | link of all before
//! ```

use chat_core::Hub;
use chat_journal::{Link, Origin, Snapshot, SnapshotError};
use serde::{Deserialize, Serialize};

use crate::envelope::at_once;
use crate::place::Place;

const MAGIC: &[u8; 8] = b"TSCLSNAP";
const FORMAT: u16 = 2;

/// The link before a snapshot, which belongs to no chain.
fn start(origin: &Origin) -> Link {
    origin.link.over(MAGIC)
}

/// A state of the cluster, from which a member follows the log.
#[derive(Debug)]
pub struct LogSnapshot {
    pub(crate) place: Place,
    pub(crate) hub: Hub,
}

/// Why bytes are not a usable snapshot of the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogSnapshotError {
    /// The bytes were changed, or belong to another cluster.
    #[error("its checksum is wrong, or it belongs to another cluster")]
    Checksum,
    /// Another version of this crate wrote it.
    #[error("its format is {0}, and this version reads format {FORMAT}")]
    Format(u16),
    /// The checksum matches, but the content cannot be parsed, which is a bug.
    #[error("its checksum is right, but {0}")]
    Content(String),
    /// The state in it is not usable.
    #[error("its state is not usable: {0}")]
    State(SnapshotError),
}

#[derive(Serialize, Deserialize)]
struct Written<'a> {
    place: Place,
    #[serde(serialize_with = "at_once")]
    state: &'a [u8],
}

impl LogSnapshot {
    /// This state at this place in the log. `None` if the state is of another position.
    #[must_use]
    pub fn new(place: Place, hub: Hub) -> Option<Self> {
        (hub.position() == place.chain.last()).then_some(Self { place, hub })
    }

    /// The place in the log.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The place, and the state.
    #[must_use]
    pub fn into_parts(self) -> (Place, Hub) {
        (self.place, self.hub)
    }

    /// The state with its place, as bytes.
    #[must_use]
    pub fn to_bytes(&self, origin: &Origin) -> Vec<u8> {
        Self::write(origin, &self.place, &self.hub)
    }

    /// The sequence of the last record that the state contains.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.place.sequence
    }

    /// The state.
    #[must_use]
    pub const fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(crate) fn write(origin: &Origin, place: &Place, hub: &Hub) -> Vec<u8> {
        let mut bytes = Vec::from(*MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        let written = Written {
            place: place.clone(),
            state: &Snapshot::write(origin, &place.chain, hub),
        };
        let mut bytes = postcard::to_extend(&written, bytes).expect("a place serialises");
        start(origin).close(&mut bytes);
        bytes
    }

    /// Parses a snapshot of the cluster with this origin.
    ///
    /// # Errors
    /// The bytes are not a usable snapshot.
    pub fn read(origin: &Origin, bytes: &[u8]) -> Result<Self, LogSnapshotError> {
        let (content, _) = start(origin)
            .open(bytes)
            .ok_or(LogSnapshotError::Checksum)?;
        let content_error = |why: String| LogSnapshotError::Content(why);
        let (format, rest) = content
            .strip_prefix(MAGIC)
            .and_then(|rest| rest.split_first_chunk::<2>())
            .ok_or_else(|| content_error("it is no snapshot of a log".into()))?;
        let format = u16::from_le_bytes(*format);
        if format != FORMAT {
            return Err(LogSnapshotError::Format(format));
        }
        let written: Written<'_> =
            postcard::from_bytes(rest).map_err(|error| content_error(error.to_string()))?;
        let Snapshot { chain, hub } =
            Snapshot::read(origin, written.state).map_err(LogSnapshotError::State)?;
        if chain != written.place.chain {
            return Err(content_error("its state is of another place".into()));
        }
        Ok(Self {
            place: written.place,
            hub,
        })
    }
}
