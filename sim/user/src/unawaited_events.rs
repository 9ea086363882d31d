//! The events that a client has received and not yet awaited: a count for each type.

use sim_model::names::EVENTS;
use sim_model::protocol::{InboxEvent, StickChange, User};

/// A type of event: its index in `EVENTS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(usize);

impl Kind {
    /// `chatroom.found`.
    pub(super) const FOUND: Self = Self(0);
    /// `stick.granted`.
    pub(super) const GRANTED: Self = Self(10);

    /// The type with this name, if it exists.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        EVENTS.iter().position(|event| *event == name).map(Self)
    }

    /// The protocol's name.
    pub(super) fn name(self) -> &'static str {
        EVENTS[self.0]
    }

    /// Whether only a partner can cause it: `message.received` and `partner.*`.
    pub(super) fn takes_a_partner(self) -> bool {
        (1..=4).contains(&self.0)
    }
}

/// The number of events of each type that no `await` has consumed.
#[derive(Clone, Debug, Default)]
pub(super) struct UnawaitedEvents([u16; EVENTS.len()]);

impl UnawaitedEvents {
    /// Counts an event that `me` receives for the first time. Events that a client caused itself
    /// are not counted: its own joining and leaving, its claims and its releases. Matches and
    /// grants are counted by `Rooms`, which knows whether an answer announced them already.
    pub(super) fn count(&mut self, event: &InboxEvent<'_>, me: User) {
        match event {
            InboxEvent::Found { .. } => {}
            InboxEvent::Member { user, .. } if *user == me => {}
            InboxEvent::Stick { user, change, .. } => match change {
                StickChange::Granted { .. } => {}
                StickChange::Claimed { .. } | StickChange::Released { .. } if *user == me => {}
                StickChange::Claimed { .. }
                | StickChange::Released { .. }
                | StickChange::Expired { .. } => self.add(Kind(event.number())),
            },
            InboxEvent::Message { .. }
            | InboxEvent::Ended { .. }
            | InboxEvent::PartnerAway { .. }
            | InboxEvent::PartnerBack { .. }
            | InboxEvent::Member { .. }
            | InboxEvent::Moderation { .. }
            | InboxEvent::Gap { .. } => self.add(Kind(event.number())),
        }
    }

    /// Adds an event of this type.
    pub(super) fn add(&mut self, kind: Kind) {
        let count = &mut self.0[kind.0];
        *count = count.saturating_add(1);
    }

    /// Removes an event of this type. Returns whether there was one.
    pub(super) fn consume(&mut self, kind: Kind) -> bool {
        let count = &mut self.0[kind.0];
        let had = *count > 0;
        *count = count.saturating_sub(1);
        had
    }
}

#[cfg(test)]
mod tests {
    use chat_types::Span;

    use super::*;
    use sim_model::protocol::{EndReason, Moderated, Presence, Room, Shown};

    const ROOM: Room = Room(1);
    const USER: User = User(2);

    fn of_pairs() -> [InboxEvent<'static>; 5] {
        let (room, room_seq, shown) = (ROOM, 1, Shown::NAMELESS);
        [
            InboxEvent::Found {
                room,
                room_seq,
                partner: USER,
                shown,
            },
            InboxEvent::Message {
                room,
                room_seq,
                sender: USER,
                shown,
                text: "",
                epoch: None,
            },
            InboxEvent::Ended {
                room,
                room_seq,
                reason: EndReason::Left,
            },
            InboxEvent::PartnerAway {
                room,
                room_seq,
                partner: USER,
                shown,
            },
            InboxEvent::PartnerBack {
                room,
                room_seq,
                partner: USER,
                shown,
            },
        ]
    }

    fn member(change: Presence) -> InboxEvent<'static> {
        InboxEvent::Member {
            room: ROOM,
            room_seq: 1,
            user: USER,
            shown: Shown::NAMELESS,
            change,
        }
    }

    fn stick(change: StickChange) -> InboxEvent<'static> {
        InboxEvent::Stick {
            room: ROOM,
            room_seq: 1,
            user: USER,
            shown: Shown::NAMELESS,
            change,
        }
    }

    fn moderation(act: Moderated) -> InboxEvent<'static> {
        InboxEvent::Moderation {
            room: ROOM,
            room_seq: 1,
            user: Some(USER),
            shown: Shown::NAMELESS,
            act,
            reason: "",
        }
    }

    fn one_of_each() -> Vec<InboxEvent<'static>> {
        let lease = Span::ZERO;
        let changes = [
            Presence::Joined,
            Presence::Left,
            Presence::Away,
            Presence::Back,
        ];
        let sticks = [
            StickChange::Claimed { place: 1 },
            StickChange::Granted { epoch: 1, lease },
            StickChange::Released { epoch: 1 },
            StickChange::Expired { epoch: 1 },
        ];
        let acts = [Moderated::Muted, Moderated::Kicked, Moderated::Closed];
        let gap = InboxEvent::Gap {
            from: 1,
            to: 2,
            lost: 1,
            rooms: &[],
        };
        of_pairs()
            .into_iter()
            .chain(changes.map(member))
            .chain(sticks.map(stick))
            .chain(acts.map(moderation))
            .chain([gap])
            .collect()
    }

    #[test]
    fn kinds_agree_with_the_names() {
        let all = one_of_each();
        assert_eq!(all.len(), EVENTS.len());
        for event in &all {
            assert_eq!(Kind::from_name(event.kind()), Some(Kind(event.number())));
        }
        assert_eq!(Kind::FOUND.name(), "chatroom.found");
        assert_eq!(Kind::GRANTED.name(), "stick.granted");
    }

    #[test]
    fn events_that_a_client_caused_are_not_counted() {
        let counted = |me| {
            let mut unawaited = UnawaitedEvents::default();
            one_of_each()
                .iter()
                .for_each(|event| unawaited.count(event, me));
            unawaited.0.iter().map(|n| usize::from(*n)).sum::<usize>()
        };
        // `Rooms` counts matches and grants.
        assert_eq!(counted(User(9)), EVENTS.len() - 2);
        // Four events of joining and leaving, a claim and a release.
        assert_eq!(counted(User(2)), EVENTS.len() - 2 - 6);
    }

    #[test]
    fn each_event_is_consumed_once() {
        let mut unawaited = UnawaitedEvents::default();
        unawaited.add(Kind::FOUND);
        unawaited.add(Kind::FOUND);
        assert!(unawaited.consume(Kind::FOUND) && unawaited.consume(Kind::FOUND));
        assert!(!unawaited.consume(Kind::FOUND));
    }
}
