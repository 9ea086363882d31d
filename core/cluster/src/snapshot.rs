//! Snapshots of a place in the log, with the state there.
//!
//! ```text
//! "TSCLSNAP" | format u16 | the place, by postcard | a snapshot of the journal | link of all before
//! ```

use std::fmt::Display;

use chat_core::Hub;
use chat_journal::{Form, Link, Origin, Snapshot};
use serde::{Deserialize, Serialize};

use crate::envelope::at_once;
use crate::place::Place;

const FORMAT: u16 = 2;
const FORM: Form = Form(b"TSCLSNAP", FORMAT);

/// The link before a snapshot, which belongs to no chain.
fn start(origin: &Origin) -> Link {
    origin.link.over(FORM.0)
}

/// A state of the cluster, from which a member follows the log.
#[derive(Debug)]
pub struct LogSnapshot {
    /// The place in the log.
    pub place: Place,
    /// The state there.
    pub hub: Hub,
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

    /// A state with its place, as bytes.
    ///
    /// # Panics
    /// The state is of another position than the place, which is a bug.
    #[must_use]
    pub fn write(origin: &Origin, place: &Place, hub: &Hub) -> Vec<u8> {
        let written = Written {
            place: place.clone(),
            state: &Snapshot::write(origin, &place.chain, hub),
        };
        let mut bytes = postcard::to_extend(&written, FORM.begin()).expect("a place serialises");
        start(origin).close(&mut bytes);
        bytes
    }

    /// Parses a snapshot of the cluster with this origin.
    ///
    /// # Errors
    /// The bytes are not a usable snapshot.
    pub fn read(origin: &Origin, bytes: &[u8]) -> Result<Self, String> {
        let unread = |why: &dyn Display| format!("its checksum is right, but {why}");
        let (content, _) = start(origin)
            .open(bytes)
            .ok_or("its checksum is wrong, or it belongs to another cluster")?;
        let rest = FORM.rest(content);
        let rest = rest.ok_or_else(|| unread(&"it is no snapshot of a log"))?;
        let rest = rest.map_err(|found| {
            format!("its format is {found}, and this version reads format {FORMAT}")
        })?;
        let written: Written<'_> = postcard::from_bytes(rest).map_err(|error| unread(&error))?;
        let Snapshot { chain, hub } = Snapshot::read(origin, written.state)
            .map_err(|error| format!("its state is not usable: {error}"))?;
        if chain != written.place.chain {
            return Err(unread(&"its state is of another place"));
        }
        let place = written.place;
        Ok(Self { place, hub })
    }
}
