//! Snapshots: the whole state as bytes, and back. A new version of the core starts from a snapshot.

use std::sync::Arc;

use super::Hub;
use crate::digest::fingerprint;
use crate::name::room_key;
use crate::room::Kind;
use crate::table::Table;
use chat_types::{Event, RoomId, RoomSeq};

/// The first bytes of a snapshot: format and version.
const FORMAT: &str = "talking-stick hub 7";

/// Most participants and rooms take less space in a snapshot. To grow it costs as much as to write
/// it.
const USUAL_BYTES: usize = 1_024;

/// The bytes of a snapshot while it is written.
struct Bytes(Vec<u8>);

impl postcard::ser_flavors::Flavor for Bytes {
    type Output = Vec<u8>;

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        // Most numbers are of one byte.
        match bytes {
            [byte] => self.0.push(*byte),
            _ => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.0)
    }
}

/// Why a snapshot cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The first bytes are not those of this format and version.
    #[error("its state has another format than \"{FORMAT}\", which this build reads")]
    Format,
    /// The first bytes are right, but the rest is damaged.
    #[error("damaged snapshot: {0}")]
    Damaged(String),
}

impl Hub {
    /// The whole state as bytes. The cost is linear in its size.
    ///
    /// # Panics
    /// If the state cannot be serialised, which is a bug.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let bytes = Vec::with_capacity((self.users.len() + self.rooms.len()) * USUAL_BYTES);
        let snapshot = postcard::serialize_with_flavor(&(FORMAT, self), Bytes(bytes));
        snapshot.expect("the core's state serialises")
    }

    /// Restores the Hub from a snapshot. It continues exactly as the original would.
    ///
    /// # Errors
    /// If the bytes are of another version, or damaged.
    pub fn restore(snapshot: &[u8]) -> Result<Self, RestoreError> {
        let state = match postcard::take_from_bytes::<&str>(snapshot) {
            Ok((FORMAT, state)) => state,
            _ => return Err(RestoreError::Format),
        };
        let (mut hub, rest): (Self, _) = postcard::take_from_bytes(state)
            .map_err(|error| RestoreError::Damaged(error.to_string()))?;
        if !rest.is_empty() {
            let why = format!("{} bytes too many", rest.len());
            return Err(RestoreError::Damaged(why));
        }
        let checked = hub.config.check();
        checked.map_err(|error| RestoreError::Damaged(error.to_string()))?;
        for room in hub.rooms.sorted_keys() {
            // Another version of the core may have had another key.
            if let Kind::Named { name, key, .. } = &mut hub.room_mut(room).kind {
                *key = room_key(name);
            }
        }
        hub.index = hub.indexed();
        hub.queue.reindex();
        hub.share_events();
        hub.rearm();
        hub.start_counters();
        hub.validate_state().map_err(RestoreError::Damaged)?;
        Ok(hub)
    }

    /// A fingerprint of the state: equal for equal states, on every machine. Participants and rooms
    /// that have not changed since the last one cost next to nothing.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let Self {
            config,
            seed,
            now,
            position,
            last_user,
            last_room,
            users,
            rooms,
            queue,
            moderation,
            index: _,
            timers: _,
            effects: _,
            counters: _,
            posted: _,
        } = self;
        let ids = (last_user, last_room);
        let tables = (users.print(), rooms.print());
        fingerprint(&(config, seed, now, position, ids, tables, queue, moderation))
    }

    /// Restores the sharing of events. An event stands in many inboxes, and the snapshot contains a
    /// copy for each.
    fn share_events(&mut self) {
        let mut known: Table<(RoomId, RoomSeq), Arc<Event>> = Table::default();
        let mut share = |event: &mut Arc<Event>| {
            let place = (event.room, event.room_seq);
            match known.get(&place) {
                Some(first) => *event = Arc::clone(first),
                None => _ = known.insert(place, Arc::clone(event)),
            }
        };
        for user in self.users.sorted_keys() {
            self.user_mut(user).inbox.events_mut().for_each(&mut share);
        }
        for room in self.rooms.sorted_keys() {
            self.room_mut(room).history.iter_mut().for_each(&mut share);
        }
    }
}
