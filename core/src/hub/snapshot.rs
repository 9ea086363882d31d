//! The whole state as bytes, and back. A snapshot is the upgrade boundary between versions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Hub;
use crate::digest::fingerprint;
use crate::event::Event;
use crate::id::{RoomId, RoomSeq};
use crate::room::Kind;

/// Says what the bytes are, and in which form.
const FORMAT: &str = "talking-stick hub 4";

#[derive(Serialize)]
struct Written<'a> {
    format: &'a str,
    hub: &'a Hub,
}

#[derive(Deserialize)]
struct Head<'a> {
    format: &'a str,
}

#[derive(Deserialize)]
struct Found<'a> {
    #[expect(dead_code, reason = "read before the rest, as `Head`")]
    format: &'a str,
    hub: Hub,
}

/// Why bytes are no snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// They begin otherwise.
    #[error("not a snapshot of this version, which begins with \"{FORMAT}\"")]
    Format,
    /// They begin well, but are damaged.
    #[error("damaged snapshot: {0}")]
    Damaged(String),
}

impl Hub {
    /// The whole state. Costs as much as the state is large.
    ///
    /// # Panics
    /// When the state cannot be written, which is a bug.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let written = Written {
            format: FORMAT,
            hub: self,
        };
        postcard::to_stdvec(&written).expect("the core's state serialises")
    }

    /// The Hub whose snapshot this is: it goes on exactly as that one would.
    ///
    /// # Errors
    /// When the bytes are of another version, or damaged.
    pub fn restore(snapshot: &[u8]) -> Result<Self, RestoreError> {
        match postcard::take_from_bytes::<Head<'_>>(snapshot) {
            Ok((head, _)) if head.format == FORMAT => {}
            _ => return Err(RestoreError::Format),
        }
        let (found, rest): (Found<'_>, _) = postcard::take_from_bytes(snapshot)
            .map_err(|error| RestoreError::Damaged(error.to_string()))?;
        if !rest.is_empty() {
            return Err(RestoreError::Damaged(format!(
                "{} bytes too many",
                rest.len()
            )));
        }
        let mut hub = found.hub;
        hub.config
            .check()
            .map_err(|error| RestoreError::Damaged(error.to_string()))?;
        for user in hub.users.sorted_keys() {
            hub.reindex(user);
        }
        for room in hub.rooms.sorted_keys() {
            if let Some(found) = hub.rooms.get(&room)
                && let Kind::Named { folded, .. } = &found.kind
            {
                hub.index.rooms.insert(folded.clone(), room);
            }
        }
        hub.queue.reindex();
        hub.share_events();
        hub.rearm();
        hub.validate().map_err(RestoreError::Damaged)?;
        Ok(hub)
    }

    /// A fingerprint of the state: equal for equal states, on every machine.
    #[must_use]
    pub fn digest(&self) -> u64 {
        fingerprint(self)
    }

    /// One event stands in many inboxes. Each was written out; here they become one again.
    fn share_events(&mut self) {
        let mut known: BTreeMap<(RoomId, RoomSeq), Arc<Event>> = BTreeMap::new();
        let mut share = |event: &mut Arc<Event>| {
            let first = known
                .entry((event.room, event.room_seq))
                .or_insert_with(|| Arc::clone(event));
            *event = Arc::clone(first);
        };
        for user in self.users.sorted_keys() {
            self.user_mut(user).inbox.events_mut().for_each(&mut share);
        }
        for room in self.rooms.sorted_keys() {
            self.room_mut(room).history_mut().for_each(&mut share);
        }
    }
}
