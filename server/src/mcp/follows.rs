//! The inboxes that a session follows, and the form of their pushes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use server_chat::identity::{Handle, ReaderId};
use server_storage::lock;
use tokio::sync::watch;

use super::listing::MAX_FOLLOWED;

/// A followed inbox.
#[derive(Clone, Debug)]
pub(super) struct Follow {
    /// Its reader id.
    pub(super) reader: ReaderId,
    /// The handle of its participant, if the participant calls in this session.
    pub(super) handle: Option<Handle>,
    /// Whether the participant is present while the session's stream is open.
    is_present: bool,
    /// The address of a subscription to it.
    pub(super) subscribed: Option<String>,
}

impl Follow {
    /// The secret by which the session's stream reads the inbox; none if it need not read it.
    pub(super) const fn by(&self) -> Option<By> {
        match (self.is_present, &self.subscribed) {
            (true, _) => Some(By::Handle),
            (false, Some(_)) => Some(By::ReaderId),
            (false, None) => None,
        }
    }
}

/// The secret by which an inbox is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The participant's handle, which makes it present.
    Handle,
    /// The reader id, which only reads.
    ReaderId,
}

/// The inboxes of one session.
#[derive(Debug, Default)]
pub(super) struct Follows {
    list: Mutex<Vec<Follow>>,
    /// Whether the client declared that it takes events as notifications of their own.
    takes_events: AtomicBool,
    changed: watch::Sender<()>,
}

impl Follows {
    /// Records that the client declared that it takes events.
    pub(super) fn take_events(&self) {
        self.takes_events.store(true, Ordering::Relaxed);
    }

    /// Whether events are pushed as notifications of their own.
    pub(super) fn takes_events(&self) -> bool {
        self.takes_events.load(Ordering::Relaxed)
    }

    /// Records a call of the participant of this inbox in this session.
    ///
    /// Some clients open a session for each call. If the stream of such a session made its
    /// participant present, each call would be an arrival and a departure. So the stream does so
    /// from the second call on, unless the client takes events or subscribed to the inbox.
    ///
    /// Beyond the limit, an inbox is not followed, but can be read.
    pub(super) fn called(&self, reader: &ReaderId, handle: &Handle) {
        let takes_events = self.takes_events();
        let is_followed = self.change(reader, |follow| {
            follow.is_present |=
                follow.handle.is_some() || follow.subscribed.is_some() || takes_events;
            follow.handle = Some(handle.clone());
        });
        if !is_followed {
            tracing::debug!("a session has more participants than are pushed to");
        }
    }

    /// Marks the participant of this inbox as present while the inbox is followed.
    pub(super) fn is_of(&self, reader: &ReaderId, handle: &Handle) {
        // An inbox that is not followed needs no mark.
        if self.of(reader).is_some() {
            self.change(reader, |follow| {
                follow.handle = Some(handle.clone());
                follow.is_present = true;
            });
        }
    }

    /// Adds a subscription to this inbox, unless too many are followed.
    pub(super) fn subscribe(&self, reader: &ReaderId, uri: &str) -> bool {
        self.change(reader, |follow| {
            follow.subscribed = Some(uri.into());
            follow.is_present |= follow.handle.is_some();
        })
    }

    /// Removes the subscription.
    pub(super) fn unsubscribe(&self, reader: &ReaderId) {
        lock(&self.list).retain_mut(|follow| {
            if follow.reader == *reader {
                follow.subscribed = None;
            }
            follow.subscribed.is_some() || follow.handle.is_some()
        });
        self.changed.send_replace(());
    }

    /// Removes an inbox that does not exist any more.
    pub(super) fn forget(&self, reader: &ReaderId) {
        lock(&self.list).retain(|follow| follow.reader != *reader);
        self.changed.send_replace(());
    }

    /// The followed inbox, if it is followed.
    pub(super) fn of(&self, reader: &ReaderId) -> Option<Follow> {
        let list = lock(&self.list);
        list.iter().find(|follow| follow.reader == *reader).cloned()
    }

    /// All followed inboxes.
    pub(super) fn all(&self) -> Vec<Follow> {
        lock(&self.list).clone()
    }

    /// Notifies of changes of the list.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Changes what is followed of an inbox. Returns whether it is followed.
    fn change(&self, reader: &ReaderId, change: impl FnOnce(&mut Follow)) -> bool {
        {
            let mut list = lock(&self.list);
            if let Some(follow) = list.iter_mut().find(|follow| follow.reader == *reader) {
                let before = follow.by();
                change(follow);
                if before != follow.by() {
                    self.changed.send_replace(());
                }
                return true;
            }
            if list.len() >= MAX_FOLLOWED {
                return false;
            }
            let mut follow = Follow {
                reader: reader.clone(),
                handle: None,
                is_present: false,
                subscribed: None,
            };
            change(&mut follow);
            list.push(follow);
        }
        self.changed.send_replace(());
        true
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
        follows.subscribe(&reader(1), "uri");
        follows.called(&reader(1), &Handle::given("1"));
        follows.unsubscribe(&reader(1));
        let follow = follows.of(&reader(1)).unwrap();
        assert_eq!((follow.by(), follow.subscribed), (Some(By::Handle), None));
        follows.subscribe(&reader(2), "uri");
        follows.unsubscribe(&reader(2));
        let all = follows.all();
        assert_eq!((all.len(), &all[0].reader), (1, &reader(1)));
    }

    #[test]
    fn one_call_makes_nobody_present_and_the_second_does() {
        let follows = Follows::default();
        let by = || follows.of(&reader(1)).and_then(|follow| follow.by());
        follows.called(&reader(1), &Handle::given("1"));
        assert_eq!(by(), None);
        follows.called(&reader(1), &Handle::given("1"));
        assert_eq!(by(), Some(By::Handle));
    }

    #[test]
    fn a_client_that_asks_for_pushes_is_present_from_its_first_call() {
        let follows = Follows::default();
        follows.take_events();
        follows.called(&reader(1), &Handle::given("1"));
        let subscribes = Follows::default();
        subscribes.called(&reader(1), &Handle::given("1"));
        subscribes.subscribe(&reader(1), "uri");
        for follows in [follows, subscribes] {
            let by = follows.of(&reader(1)).and_then(|follow| follow.by());
            assert_eq!(by, Some(By::Handle));
        }
    }

    #[test]
    fn there_is_a_limit() {
        let follows = Follows::default();
        for n in 0..MAX_FOLLOWED {
            assert!(follows.subscribe(&reader(n), "uri"));
        }
        assert!(!follows.subscribe(&reader(999), "uri"));
        follows.called(&reader(999), &Handle::given("999"));
        assert_eq!(follows.all().len(), MAX_FOLLOWED);
    }
}
