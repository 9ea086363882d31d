//! Event streams: each has its own cursor, and is read as fast as its client takes it.
//!
//! Streams have no buffer. The stream of a slow client stays behind, and reads a gap when the inbox
//! drops events that it has not read.

use std::collections::BTreeSet;

use crate::table::Table;
use chat_types::{Seq, Ticket, UserId};

/// The open streams, and those that are being opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    open: Table<Ticket, Stream>,
    by_user: Table<UserId, Vec<Ticket>>,
    /// Those that are being opened, and whose callers are still connected.
    opening: BTreeSet<Ticket>,
}

/// Who opened a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opener {
    /// The participant, by its handle: it is present while the stream is open.
    Owner,
    /// A caller that knows the participant's reader id.
    Reader,
}

#[derive(Clone, Debug)]
struct Stream {
    user: UserId,
    holder: Opener,
    /// The last event sent.
    cursor: Seq,
    /// Whether the shell knows that there are events to read.
    signalled: bool,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn opening(&mut self, ticket: Ticket) {
        self.opening.insert(ticket);
    }

    pub(super) fn cancel_opening(&mut self, ticket: Ticket) {
        self.opening.remove(&ticket);
    }

    /// Removes a decided opening. Returns whether its caller is still connected.
    pub(super) fn opened(&mut self, ticket: Ticket) -> bool {
        self.opening.remove(&ticket)
    }

    /// The number of the participant's streams that were opened by reader id.
    pub(super) fn readers(&self, user: UserId) -> usize {
        let streams = self.of(user).iter();
        let streams = streams.filter_map(|ticket| self.open.get(ticket));
        let read = streams.filter(|stream| stream.holder == Opener::Reader);
        read.count()
    }

    pub(super) fn open(&mut self, ticket: Ticket, user: UserId, (cursor, holder): (Seq, Opener)) {
        let stream = Stream {
            user,
            holder,
            cursor,
            signalled: false,
        };
        self.open.insert(ticket, stream);
        self.by_user.get_or_default(user).push(ticket);
    }

    /// Closes a stream. Returns its participant and its holder.
    pub(super) fn close(&mut self, ticket: Ticket) -> Option<(UserId, Opener)> {
        let Stream { user, holder, .. } = self.open.remove(&ticket)?;
        if let Some(streams) = self.by_user.get_mut(&user) {
            streams.retain(|stream| *stream != ticket);
            if streams.is_empty() {
                self.by_user.remove(&user);
            }
        }
        Some((user, holder))
    }

    pub(super) fn of(&self, user: UserId) -> &[Ticket] {
        self.by_user.get(&user).map_or(&[], |streams| streams)
    }

    pub(super) fn cursor(&self, ticket: Ticket) -> Option<(UserId, Seq)> {
        let stream = self.open.get(&ticket)?;
        Some((stream.user, stream.cursor))
    }

    pub(super) fn advance(&mut self, ticket: Ticket, cursor: Seq, unread: u64) {
        if let Some(stream) = self.open.get_mut(&ticket) {
            stream.cursor = cursor;
            stream.signalled = unread > 0;
        }
    }

    /// Records that there are events to read. Returns whether the shell did not know yet.
    pub(super) fn signal(&mut self, ticket: Ticket) -> bool {
        self.open
            .get_mut(&ticket)
            .is_some_and(|stream| !std::mem::replace(&mut stream.signalled, true))
    }

    pub(super) fn signal_all(&mut self, user: UserId, mut tell: impl FnMut(Ticket)) {
        let Some(streams) = self.by_user.get(&user) else {
            return;
        };
        for ticket in streams {
            if let Some(stream) = self.open.get_mut(ticket)
                && !std::mem::replace(&mut stream.signalled, true)
            {
                tell(*ticket);
            }
        }
    }

    /// Closes the streams of a participant whose registration ended, and returns them.
    pub(super) fn forget(&mut self, user: UserId) -> Vec<Ticket> {
        let streams = self.by_user.remove(&user).unwrap_or_default();
        for stream in &streams {
            self.open.remove(stream);
        }
        streams
    }

    pub(super) fn close_all(&mut self) -> Vec<Ticket> {
        let streams = self.open.sorted_keys();
        for stream in &streams {
            self.close(*stream);
        }
        streams
    }
}
