//! The inboxes that a session follows, and the form of their pushes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::identity::{Handle, ReaderId};

/// The largest number of inboxes that one session follows.
pub(super) const MAX_FOLLOWED: usize = 64;

/// A followed inbox.
#[derive(Clone, Debug)]
pub(super) struct Follow {
    /// Its reader id.
    pub(super) reader: ReaderId,
    /// The participant's handle, if it calls in this session: it is present while its inbox is
    /// followed. A session that knows only the reader id only reads.
    pub(super) handle: Option<Handle>,
    /// Whether its participant calls in this session.
    pub(super) participant: Participant,
    /// The address of a subscription to it.
    pub(super) subscribed: Option<String>,
}

/// The place of an inbox's participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Participant {
    /// It calls in this session: events themselves are pushed.
    Here,
    /// It does not: only notifications that the inbox grew are pushed.
    Elsewhere,
}

/// The inboxes of one session.
#[derive(Debug)]
pub(super) struct Follows {
    list: Mutex<Vec<Follow>>,
    changed: watch::Sender<()>,
}

impl Default for Follows {
    fn default() -> Self {
        Self {
            list: Mutex::default(),
            changed: watch::channel(()).0,
        }
    }
}

/// The limit of followed inboxes is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Follows {
    fn list(&self) -> MutexGuard<'_, Vec<Follow>> {
        // No code panics while it holds this lock.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the participant of this inbox calls in this session, with this handle. Beyond
    /// the limit its events are not pushed, but its inbox can be read.
    pub(super) fn participates(&self, reader: &ReaderId, handle: &Handle) {
        let followed = self.change(reader, |follow| {
            follow.participant = Participant::Here;
            follow.handle = Some(handle.clone());
        });
        if followed.is_err() {
            tracing::debug!("a session has more participants than are pushed to");
        }
    }

    /// Marks the participant of this inbox as present while the inbox is followed.
    pub(super) fn is_of(&self, reader: &ReaderId, handle: &Handle) {
        // An inbox that is not followed needs no mark.
        if self.of(reader).is_some() {
            let _ = self.change(reader, |follow| follow.handle = Some(handle.clone()));
        }
    }

    /// Adds a subscription to this inbox.
    pub(super) fn subscribe(&self, reader: &ReaderId, uri: &str) -> Result<(), TooMany> {
        self.change(reader, |follow| follow.subscribed = Some(uri.into()))
    }

    /// Removes the subscription.
    pub(super) fn unsubscribe(&self, reader: &ReaderId) {
        self.list().retain_mut(|follow| {
            if follow.reader == *reader {
                follow.subscribed = None;
            }
            follow.subscribed.is_some() || follow.participant == Participant::Here
        });
        self.changed.send_replace(());
    }

    /// Removes an inbox that does not exist any more.
    pub(super) fn forget(&self, reader: &ReaderId) {
        self.list().retain(|follow| follow.reader != *reader);
        self.changed.send_replace(());
    }

    /// The followed inbox, if it is followed.
    pub(super) fn of(&self, reader: &ReaderId) -> Option<Follow> {
        let list = self.list();
        list.iter().find(|follow| follow.reader == *reader).cloned()
    }

    /// All followed inboxes.
    pub(super) fn all(&self) -> Vec<Follow> {
        self.list().clone()
    }

    /// Notifies of changes of the list.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    fn change(&self, reader: &ReaderId, change: impl FnOnce(&mut Follow)) -> Result<(), TooMany> {
        {
            let mut list = self.list();
            if let Some(follow) = list.iter_mut().find(|follow| follow.reader == *reader) {
                let before = follow.handle.is_some();
                change(follow);
                if before != follow.handle.is_some() {
                    self.changed.send_replace(());
                }
                return Ok(());
            }
            if list.len() >= MAX_FOLLOWED {
                return Err(TooMany);
            }
            let mut follow = Follow {
                reader: reader.clone(),
                handle: None,
                participant: Participant::Elsewhere,
                subscribed: None,
            };
            change(&mut follow);
            list.push(follow);
        }
        self.changed.send_replace(());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(n: usize) -> ReaderId {
        ReaderId::given(&n.to_string())
    }

    #[test]
    fn a_participant_stays_followed_when_its_subscription_ends() {
        let follows = Follows::default();
        follows.subscribe(&reader(1), "uri").unwrap();
        follows.participates(&reader(1), &Handle::given("1"));
        follows.unsubscribe(&reader(1));
        let follow = follows.of(&reader(1)).unwrap();
        assert_eq!(follow.participant, Participant::Here);
        assert_eq!(follow.subscribed, None);
        follows.subscribe(&reader(2), "uri").unwrap();
        follows.unsubscribe(&reader(2));
        let all = follows.all();
        assert_eq!((all.len(), &all[0].reader), (1, &reader(1)));
    }

    #[test]
    fn there_is_a_limit() {
        let follows = Follows::default();
        for n in 0..MAX_FOLLOWED {
            follows.subscribe(&reader(n), "uri").unwrap();
        }
        assert_eq!(follows.subscribe(&reader(999), "uri"), Err(TooMany));
        follows.participates(&reader(999), &Handle::given("999"));
        assert_eq!(follows.all().len(), MAX_FOLLOWED);
    }
}
