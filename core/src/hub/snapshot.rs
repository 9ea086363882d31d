//! Snapshots: the whole state as bytes, and back. A new version of the core starts from a snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use postcard::ser_flavors::Flavor;
use serde::{Deserialize, Serialize};

use super::Hub;
use crate::digest::fingerprint;
use crate::name::room_key;
use crate::room::Kind;
use chat_types::{Event, RoomId, RoomSeq};

/// The first bytes of a snapshot: format and version.
const FORMAT: &str = "talking-stick hub 6";

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

/// Compares what is written with the rest of a snapshot. The result is whether they are equal.
struct Rest<'a>(&'a [u8]);

impl Flavor for Rest<'_> {
    type Output = bool;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        let rest = self.0.strip_prefix(bytes);
        self.0 = rest.ok_or(postcard::Error::SerializeBufferFull)?;
        Ok(())
    }

    fn finalize(self) -> postcard::Result<bool> {
        Ok(self.0.is_empty())
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
        postcard::to_stdvec(&self.written()).expect("the core's state serialises")
    }

    /// Whether these bytes are the snapshot of this state, without a second copy of them.
    pub(crate) fn is_snapshot(&self, bytes: &[u8]) -> bool {
        postcard::serialize_with_flavor(&self.written(), Rest(bytes)).is_ok_and(|same| same)
    }

    const fn written(&self) -> Written<'_> {
        Written {
            format: FORMAT,
            hub: self,
        }
    }

    /// Restores the Hub from a snapshot. It continues exactly as the original would.
    ///
    /// # Errors
    /// If the bytes are of another version, or damaged.
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
            // Another version of the core may have had another key.
            if let Kind::Named { name, key, .. } = &mut hub.room_mut(room).kind {
                *key = room_key(name);
                let key = key.clone();
                hub.index.rooms.insert(key, room);
            }
        }
        hub.queue.reindex();
        hub.share_events();
        hub.rearm();
        hub.start_counters();
        hub.validate().map_err(RestoreError::Damaged)?;
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
