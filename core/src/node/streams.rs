//! Event streams: each has a cursor of its own, and is read as fast as its reader takes it.
//!
//! Nothing is buffered here. A slow reader's stream just stays behind, and finds a gap when the
//! inbox's limit has overtaken it.

use super::Ticket;
use crate::id::{Seq, UserId};
use crate::table::Table;

/// The open streams, and those being opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    open: Table<Ticket, Stream>,
    by_user: Table<UserId, Vec<Ticket>>,
    /// Whether somebody still waits for the stream to open.
    opening: Table<Ticket, bool>,
}

/// Who holds a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The participant, by its handle: it is there as long as the stream is open.
    Owner,
    /// One that knows its reader id.
    Reader,
}

#[derive(Clone, Debug)]
struct Stream {
    user: UserId,
    holder: Holder,
    /// The last event sent.
    cursor: Seq,
    /// The shell knows that there is something to read.
    signalled: bool,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn opening(&mut self, ticket: Ticket) {
        self.opening.insert(ticket, true);
    }

    pub(super) fn cancel_opening(&mut self, ticket: Ticket) {
        if let Some(wanted) = self.opening.get_mut(&ticket) {
            *wanted = false;
        }
    }

    /// The opening is decided: whether somebody still waits for it.
    pub(super) fn opened(&mut self, ticket: Ticket) -> bool {
        self.opening.remove(&ticket).unwrap_or(false)
    }

    /// How many streams of the participant others hold, by its reader id.
    pub(super) fn readers(&self, user: UserId) -> usize {
        let held = self
            .of(user)
            .iter()
            .filter_map(|ticket| self.open.get(ticket));
        held.filter(|stream| stream.holder == Holder::Reader)
            .count()
    }

    pub(super) fn open(&mut self, ticket: Ticket, user: UserId, (cursor, holder): (Seq, Holder)) {
        self.open.insert(
            ticket,
            Stream {
                user,
                holder,
                cursor,
                signalled: false,
            },
        );
        match self.by_user.get_mut(&user) {
            Some(streams) => streams.push(ticket),
            None => {
                self.by_user.insert(user, vec![ticket]);
            }
        }
    }

    /// Closes a stream: whose it was, and who held it.
    pub(super) fn close(&mut self, ticket: Ticket) -> Option<(UserId, Holder)> {
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
        self.open
            .get(&ticket)
            .map(|stream| (stream.user, stream.cursor))
    }

    pub(super) fn advance(&mut self, ticket: Ticket, cursor: Seq, unread: u64) {
        if let Some(stream) = self.open.get_mut(&ticket) {
            stream.cursor = cursor;
            stream.signalled = unread > 0;
        }
    }

    /// There is something to read: whether the shell did not know yet.
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

    /// The participant is gone: its streams, which are closed.
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
