//! The events that a client has received and not yet awaited: a count for each type.

use sim_model::protocol::{Body, EVENTS, InboxEvent, User};

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
    pub(super) fn count(&mut self, event: InboxEvent<'_>, me: User) {
        let is_own = match event.body() {
            Some(Body::Found(_) | Body::StickGranted { .. }) => true,
            Some(
                Body::Joined(user)
                | Body::Left(user)
                | Body::Away(user)
                | Body::Back(user)
                | Body::StickClaimed { user, .. }
                | Body::StickReleased { user, .. },
            ) => user.id == me,
            _ => false,
        };
        if !is_own {
            self.add(Kind(event.number()));
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
    use std::sync::Arc;

    use chat_types::{Epoch, Event, Gap, RoomSeq, Seq, Span, Who};
    use sim_model::protocol::{EndReason, Room};

    use super::*;

    /// One event of each type, about this participant, and a gap.
    fn count_one_of_each(mut count: impl FnMut(InboxEvent<'_>)) {
        let user = Who::unnamed(User(2));
        let (epoch, lease, reason) = (Epoch(1), Span::ZERO, Arc::<str>::from(""));
        let who = || Arc::clone(&user);
        let bodies = [
            Body::Found([who(), who()]),
            Body::Message {
                sender: who(),
                text: "".into(),
                epoch: None,
                to: [].into(),
            },
            Body::PartnerDisconnected(EndReason::Left),
            Body::PartnerAway(who()),
            Body::PartnerReconnected(who()),
            Body::Joined(who()),
            Body::Left(who()),
            Body::Away(who()),
            Body::Back(who()),
            Body::StickClaimed {
                user: who(),
                place: 1,
            },
            Body::StickGranted {
                user: who(),
                epoch,
                lease,
            },
            Body::StickReleased { user: who(), epoch },
            Body::StickExpired { user: who(), epoch },
            Body::Muted {
                user: who(),
                reason: Arc::clone(&reason),
            },
            Body::Kicked {
                user: who(),
                reason: Arc::clone(&reason),
            },
            Body::Closed { reason },
        ];
        for body in bodies {
            let event = Event {
                room: Room(1),
                room_seq: RoomSeq(1),
                at: chat_types::Time(0),
                body,
            };
            count(InboxEvent::Event(&event));
        }
        count(InboxEvent::Gap(&Gap {
            from: Seq(1),
            to: Seq(2),
            rooms: Vec::new(),
            rooms_omitted: false,
        }));
    }

    #[test]
    fn kinds_agree_with_the_names() {
        let mut all = 0;
        count_one_of_each(|event| {
            assert_eq!(Kind::from_name(event.kind()), Some(Kind(all)));
            all += 1;
        });
        assert_eq!(all, EVENTS.len());
        assert_eq!(Kind::FOUND.name(), "chatroom.found");
        assert_eq!(Kind::GRANTED.name(), "stick.granted");
    }

    #[test]
    fn events_that_a_client_caused_are_not_counted() {
        let counted = |me| {
            let mut unawaited = UnawaitedEvents::default();
            count_one_of_each(|event| unawaited.count(event, me));
            unawaited.0.iter().map(|n| usize::from(*n)).sum::<usize>()
        };
        // `Rooms` counts matches and grants.
        assert_eq!(counted(User(9)), EVENTS.len() - 2);
        // Four events of joining and leaving, a claim and a release.
        assert_eq!(counted(User(2)), EVENTS.len() - 2 - 6);
    }
}
