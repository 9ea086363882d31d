//! The shape of rooms, and of participants beside what operators see of them. Searches for new states
//! compare it. Each view walks the whole state; commands cost no more because of it.

use chat_types::{
    Attendance, EndReason, LastNumbers, ParticipantView, RoomId, Time, TimerKind, UserId,
};

use super::Hub;
use crate::participant::Participant;
use crate::room::{Kind, Room};

/// The kind of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomKind {
    /// A live pair room.
    Pair,
    /// An ended pair room.
    Ended(EndReason),
    /// A named room.
    Named,
}

/// A room's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomOutline {
    /// The kind of room.
    pub kind: RoomKind,
    /// The number of events so far.
    pub events: u64,
    /// The number of members.
    pub members: usize,
    /// The number of members in the grace period or away; 0 in an ended room.
    pub absent: usize,
    /// The number of members with a draft.
    pub drafts: usize,
    /// The presence of the stick's holder; none if the stick is free.
    pub holder: Option<Attendance>,
    /// Whether the holder has a draft: 1 or 0.
    pub holder_draft: usize,
    /// The number of members who wait for the stick.
    pub claims: usize,
}

/// A participant's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParticipantOutline {
    /// What operators see of it.
    pub view: ParticipantView,
    /// The number of pair rooms among its live rooms: 0 or 1.
    pub pairs: usize,
    /// The number of ended rooms that it may still name.
    pub ended: usize,
    /// The numbers of sticks that it holds, and that it waits for.
    pub sticks: (usize, usize),
    /// The number of participants that it blocked.
    pub blocks: usize,
    /// The number of events in its inbox.
    pub inbox: usize,
}

impl Hub {
    /// The last numbers that were given, or that a lost life may have given.
    #[must_use]
    pub fn last_numbers(&self) -> LastNumbers {
        let inboxes = self.users.sorted().map(|(id, user)| (id, user.inbox.end));
        let places = self.rooms.sorted().map(|(id, room)| {
            let epoch = room.stick().map(|stick| stick.epoch).unwrap_or_default();
            (id, (room.last_seq, epoch))
        });
        LastNumbers {
            user: self.last_user,
            room: self.last_room,
            inboxes: inboxes.collect(),
            places: places.collect(),
        }
    }

    /// Every room, in the order of their ids.
    pub fn room_outlines(&self) -> impl Iterator<Item = RoomOutline> {
        self.rooms.sorted().map(|(_, room)| self.room_outline(room))
    }

    /// Every participant, in the order of their ids.
    pub fn participant_outlines(&self) -> impl Iterator<Item = ParticipantOutline> {
        let users = self.users.sorted();
        users.filter_map(|(user, participant)| self.participant_outline(user, participant))
    }

    /// The instant and the kind of the next timer.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Time, TimerKind)> {
        let (at, timer) = self.due().min()?;
        Some((at, timer.kind().0))
    }

    fn room_outline(&self, room: &Room) -> RoomOutline {
        let is_absent = |presence: Attendance| presence != Attendance::Present;
        let absent = |user: UserId| self.presence_of(user).is_some_and(is_absent);
        let has_draft = |user: UserId| room.draft(user).is_some_and(|draft| !draft.is_empty());
        // Presence plays no role in an ended room.
        let ended = matches!(room.kind, Kind::Ended(_));
        let living = if ended { &[][..] } else { &room.members };
        let members = || living.iter().map(|member| member.user);
        let holder = room.stick().and_then(|stick| stick.holder);
        RoomOutline {
            kind: match &room.kind {
                Kind::Pair { .. } => RoomKind::Pair,
                Kind::Ended(reason) => RoomKind::Ended(*reason),
                Kind::Named { .. } => RoomKind::Named,
            },
            events: room.last_seq.0,
            members: room.members.len(),
            absent: members().filter(|user| absent(*user)).count(),
            drafts: members().filter(|user| has_draft(*user)).count(),
            holder: holder.and_then(|holder| self.presence_of(holder.user)),
            holder_draft: usize::from(holder.is_some_and(|holder| has_draft(holder.user))),
            claims: room.stick().map_or(0, |stick| stick.line.len()),
        }
    }

    fn participant_outline(
        &self,
        user: UserId,
        participant: &Participant,
    ) -> Option<ParticipantOutline> {
        let place = |room: &RoomId| self.rooms.get(room)?.stick()?.place(user);
        let places = || participant.rooms.iter().filter_map(place);
        Some(ParticipantOutline {
            view: self.participant_view(user)?,
            pairs: usize::from(participant.pair.is_some()),
            ended: participant.ended.len(),
            sticks: (
                places().filter(|place| *place == 0).count(),
                places().filter(|place| *place > 0).count(),
            ),
            blocks: participant.blocks.len(),
            inbox: participant.inbox.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat_types::{Address, Config, SecretHash};
    use chat_types::{Caller, Command, EnterQueue, Entry};

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
    fn an_outline_counts_the_state() {
        let mut hub = Hub::new(Config::default(), 1);
        let login = |username: &str| Command::Login {
            username: username.into(),
            room: "lobby".into(),
        };
        call(&mut hub, 1, login("ann"));
        call(&mut hub, 2, login("ben"));
        for who in [1, 2] {
            let (room, epoch) = (None, None);
            call(&mut hub, who, Command::TalkingStick { room, epoch });
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
        assert_eq!((lobby.holder, lobby.claims), (Some(Attendance::Present), 1));
        assert_eq!((lobby.drafts, lobby.holder_draft), (0, 0));
        let people: Vec<ParticipantOutline> = hub.participant_outlines().collect();
        let sticks: Vec<_> = people.iter().map(|one| one.sticks).collect();
        assert_eq!(sticks, [(1, 0), (0, 1), (0, 0)]);
        assert_eq!(people[2].view.waiting_since, Some(Time(1)));
        let first = hub.deadlines()[0];
        assert_eq!(hub.next_deadline(), Some((first.0, first.1)));
    }
}
