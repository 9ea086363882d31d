//! The shape of the state without its contents: what those compare who look for states that are
//! new. Each view walks all of the state, and none costs a command anything.

use chat_types::Time;

use super::{Hub, Muted, PresenceView};
use crate::event::EndReason;
use crate::id::{RoomId, UserId};
use crate::participant::Participant;
use crate::room::{Kind, Room};
use crate::timer::TimerKind;

/// What kind of room it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomKind {
    /// Two who were matched, talking.
    Pair,
    /// Two who were matched, no longer talking.
    Ended(EndReason),
    /// A named room.
    Named,
}

/// A room's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomOutline {
    /// What kind of room it is.
    pub kind: RoomKind,
    /// How many events it had.
    pub events: u64,
    /// How many are in it.
    pub members: usize,
    /// Members whose last stream closed a moment ago, and those who are away; none of an ended
    /// room.
    pub absent: usize,
    /// Members with a draft.
    pub drafts: usize,
    /// Whether the holder of its stick is there; none if nobody holds it.
    pub holder: Option<PresenceView>,
    /// Whether that holder has a draft.
    pub holder_draft: usize,
    /// How many wait for its stick.
    pub claims: usize,
}

/// A participant's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParticipantOutline {
    /// Whether there.
    pub presence: PresenceView,
    /// Streams open.
    pub streams: u32,
    /// Live rooms it is in.
    pub rooms: usize,
    /// How many of them are pair rooms: at most one.
    pub pairs: usize,
    /// Ended rooms that it may still name.
    pub ended: usize,
    /// Whether it waits for a partner, and since when.
    pub waiting_since: Option<Time>,
    /// Sticks that it holds, and sticks that it waits for.
    pub sticks: (usize, usize),
    /// Whom it blocked.
    pub blocks: usize,
    /// Events in its inbox.
    pub inbox: usize,
    /// Whether it may speak.
    pub muted: Muted,
}

impl Hub {
    /// Every room, in the order of their ids.
    pub fn room_outlines(&self) -> impl Iterator<Item = RoomOutline> {
        let rooms = self.rooms.sorted_keys().into_iter();
        rooms.filter_map(|room| Some(self.room_outline(self.rooms.get(&room)?)))
    }

    /// Every participant, in the order of their ids.
    pub fn participant_outlines(&self) -> impl Iterator<Item = ParticipantOutline> {
        let users = self.users.sorted_keys().into_iter();
        users.filter_map(|user| Some(self.participant_outline(user, self.users.get(&user)?)))
    }

    /// Of which kind the next timer is that fires, and when.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Time, TimerKind)> {
        let (at, timer) = self.due().min()?;
        Some((at, timer.kind().0))
    }

    fn room_outline(&self, room: &Room) -> RoomOutline {
        let absent = |user: UserId| {
            self.presence_of(user)
                .is_some_and(|p| p != PresenceView::Present)
        };
        let has_draft = |user: UserId| room.draft(user).is_some_and(|draft| !draft.is_empty());
        // Nobody looks who of an ended room is there.
        let ended = matches!(room.kind, Kind::Ended(_));
        let living = if ended { &[][..] } else { room.members() };
        let members = || living.iter().map(|member| member.user);
        let holder = room.stick().and_then(|stick| stick.holder());
        RoomOutline {
            kind: match &room.kind {
                Kind::Pair { .. } => RoomKind::Pair,
                Kind::Ended(reason) => RoomKind::Ended(*reason),
                Kind::Named { .. } => RoomKind::Named,
            },
            events: room.last_seq().0,
            members: room.members().len(),
            absent: members().filter(|user| absent(*user)).count(),
            drafts: members().filter(|user| has_draft(*user)).count(),
            holder: holder.and_then(|holder| self.presence_of(holder.user)),
            holder_draft: usize::from(holder.is_some_and(|holder| has_draft(holder.user))),
            claims: room.stick().map_or(0, |stick| stick.line().len()),
        }
    }

    fn participant_outline(&self, user: UserId, participant: &Participant) -> ParticipantOutline {
        let place = |room: &RoomId| self.rooms.get(room)?.stick()?.place(user);
        let places = || participant.rooms.iter().filter_map(place);
        ParticipantOutline {
            presence: self.presence_of(user).unwrap_or(PresenceView::Away),
            streams: participant.streams,
            rooms: participant.rooms.len(),
            pairs: usize::from(participant.pair.is_some()),
            ended: participant.ended.len(),
            waiting_since: self.queue.waiting_since(user),
            sticks: (
                places().filter(|place| *place == 0).count(),
                places().filter(|place| *place > 0).count(),
            ),
            blocks: participant.blocks.len(),
            inbox: participant.inbox.len(),
            muted: if self.is_muted(user) {
                Muted::Yes
            } else {
                Muted::No
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Caller, Command, EnterQueue, Entry};
    use crate::id::{Address, SecretHash};
    use chat_types::Config;

    fn call(hub: &mut Hub, who: u8, command: Command) {
        let caller = Caller::New {
            handle: SecretHash([who; 16]),
            reader: SecretHash([who + 100; 16]),
            from: Address(0),
        };
        let key = None;
        let entry = Entry::Call {
            caller,
            key,
            command,
        };
        hub.handle(Time(1), &entry).expect("all of it is right");
    }

    #[test]
    fn an_outline_counts_what_is_there() {
        let mut hub = Hub::new(Config::default(), 1);
        let login = |username: &str| Command::Login {
            username: username.into(),
            room: "lobby".into(),
        };
        call(&mut hub, 1, login("ann"));
        call(&mut hub, 2, login("ben"));
        for who in [1, 2] {
            call(
                &mut hub,
                who,
                Command::TalkingStick {
                    room: None,
                    epoch: None,
                },
            );
        }
        call(&mut hub, 3, Command::EnterQueue(EnterQueue::default()));
        let rooms: Vec<RoomOutline> = hub.room_outlines().collect();
        let [lobby] = rooms[..] else {
            panic!("{rooms:?}");
        };
        assert_eq!(
            (lobby.kind, lobby.members, lobby.absent),
            (RoomKind::Named, 2, 0)
        );
        assert_eq!(
            (lobby.holder, lobby.claims),
            (Some(PresenceView::Present), 1)
        );
        assert_eq!((lobby.drafts, lobby.holder_draft), (0, 0));
        let people: Vec<ParticipantOutline> = hub.participant_outlines().collect();
        let sticks: Vec<_> = people.iter().map(|one| one.sticks).collect();
        assert_eq!(sticks, [(1, 0), (0, 1), (0, 0)]);
        assert_eq!(people[2].waiting_since, Some(Time(1)));
        let first = hub.deadlines()[0];
        assert_eq!(hub.next_deadline(), Some((first.0, first.1)));
    }
}
