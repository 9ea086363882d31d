//! A client's knowledge of its present and past rooms.

use sim_model::protocol::{Body, Epoch, InboxEvent, LostRange, Membership, Room, StickLoss, User};

use super::unawaited_events::{Kind, UnawaitedEvents};
use sim_model::draw::Draw;

/// The number of rooms that a client remembers. Beyond it, the oldest ended one is dropped.
const REMEMBERED: usize = 6;

#[derive(Clone, Copy, Debug)]
struct KnownRoom {
    room: Room,
    /// Whether the client is a member. Otherwise the room ended, or the client left or was removed.
    is_in: bool,
    /// The epoch of the client's latest grant there; 0 without a grant.
    epoch: u64,
}

/// The rooms of one client, the last one entered at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    known: Vec<KnownRoom>,
    /// The received events that no `await` has consumed.
    pub(super) unawaited: UnawaitedEvents,
    /// The partner of the last match.
    partner: Option<User>,
    /// The sender of the last message.
    speaker: Option<User>,
    /// The newest room whose match was counted. Room ids are assigned in order.
    newest_match: Option<Room>,
    /// Whether the last room is over, and the client has not looked for another.
    pub(super) is_deserted: bool,
    /// Whether the client was away since the last query: it received the event that it came back.
    was_away: bool,
    claim: Claim,
}

/// The result of the latest claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Claim {
    /// It waits, or its answer has not arrived.
    #[default]
    Open,
    /// Its answer says that the client holds the stick.
    Holds,
    /// It was refused, or ended because an operator muted the client.
    Ended,
}

impl Rooms {
    /// The room to speak in: the last one entered of those it is in, otherwise the last one known.
    pub(super) fn current(&self) -> Option<Room> {
        let within = self.known.iter().rev().find(|known| known.is_in);
        within.or(self.known.last()).map(|known| known.room)
    }

    /// Whether the client is in exactly one room, which it need not name.
    pub(super) fn is_in_one(&self) -> bool {
        self.known.iter().filter(|known| known.is_in).count() == 1
    }

    /// The epoch of the client's latest grant in the room (the current one unless named).
    pub(super) fn epoch(&self, room: Option<Room>) -> Option<Epoch> {
        let room = room.or(self.current())?;
        let known = self.known.iter().find(|known| known.room == room)?;
        (known.epoch > 0).then_some(Epoch(known.epoch))
    }

    /// Any remembered room, including ended ones.
    pub(super) fn any(&self, draw: &mut Draw) -> Option<Room> {
        let index = draw.below(self.known.len() as u64);
        let known = self.known.get(usize::try_from(index).ok()?)?;
        Some(known.room)
    }

    /// A participant to block or report: the last partner, or the last sender.
    pub(super) fn any_other(&self) -> Option<User> {
        self.partner.or(self.speaker)
    }

    /// Whether the client was away since the last call of this method.
    pub(super) fn take_absence(&mut self) -> bool {
        std::mem::take(&mut self.was_away)
    }

    /// Records a match. The first of its answer and its event counts as `chatroom.found`. A gap
    /// reports a match without the partner.
    pub(super) fn find(&mut self, room: Room, partner: Option<User>) {
        if self.newest_match.is_some_and(|newest| room <= newest) {
            return;
        }
        self.newest_match = Some(room);
        self.partner = partner;
        self.unawaited.add(Kind::FOUND);
        // If its end is known already (by another path, out of order), it stays ended.
        if !self.known.iter().any(|known| known.room == room) {
            self.add_room(room);
            self.is_deserted = false;
        }
    }

    /// Records that an answer confirmed joining a named room, which the client may have been in
    /// before.
    pub(super) fn join(&mut self, room: Room) {
        let epoch = self.known.iter().position(|known| known.room == room);
        let epoch = epoch.map_or(0, |index| self.known.remove(index).epoch);
        self.add_room(room).epoch = epoch;
        self.is_deserted = false;
    }

    /// Records that the room (the current one unless named) is over for the client.
    pub(super) fn end(&mut self, room: Option<Room>) {
        let Some(room) = room.or(self.current()) else {
            return;
        };
        let was_in = std::mem::replace(&mut self.known_room(room).is_in, false);
        // If the room was over before, the state does not change.
        if was_in && !self.known.iter().any(|known| known.is_in) {
            self.is_deserted = true;
        }
    }

    /// Records a grant. Its answer or its event, whichever arrives first, counts as
    /// `stick.granted`.
    pub(super) fn grant(&mut self, room: Room, epoch: u64) {
        let known = self.known_room(room);
        if epoch > known.epoch {
            known.epoch = epoch;
            self.unawaited.add(Kind::GRANTED);
        }
    }

    /// Records a new claim, which replaces earlier ones.
    pub(super) fn claim(&mut self) {
        self.was_away = false;
        self.claim = Claim::Open;
    }

    /// Records that the latest claim was refused.
    pub(super) fn refuse_claim(&mut self) {
        self.claim = Claim::Ended;
    }

    /// Whether no grant can be expected: the latest claim ended without one, or the client is in no
    /// room.
    pub(super) fn is_claim_over(&self) -> bool {
        self.claim == Claim::Ended || self.is_deserted
    }

    /// Records the answer to a claim that the client holds the stick. It may announce the grant, or
    /// repeat it.
    pub(super) fn hold(&mut self, room: Room, epoch: u64) {
        self.grant(room, epoch);
        self.claim = Claim::Holds;
    }

    /// Returns once whether the answer to the latest claim said that the client holds the stick.
    pub(super) fn take_holding(&mut self) -> bool {
        let holds = self.claim == Claim::Holds;
        if holds {
            self.claim = Claim::Open;
        }
        holds
    }

    /// Records an event that `me` receives for the first time.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "no other event changes what the client knows"
    )]
    pub(super) fn see(&mut self, event: InboxEvent<'_>, me: User) {
        self.unawaited.count(event, me);
        let event = match event {
            InboxEvent::Event(event) => event,
            InboxEvent::Gap(gap) => {
                for lost in &gap.rooms {
                    self.miss(lost);
                }
                return;
            }
        };
        let room = event.room;
        match &event.body {
            Body::Found(_) => {
                let partner = event.about(me).map(|who| who.id);
                self.find(room, partner);
            }
            Body::Message { sender, .. } => self.speaker = Some(sender.id),
            Body::PartnerDisconnected(_) | Body::Closed { .. } => self.end(Some(room)),
            Body::StickGranted { user, epoch, .. } if user.id == me => {
                self.grant(room, epoch.0);
            }
            Body::Kicked { user, .. } if user.id == me => self.end(Some(room)),
            Body::Muted { user, .. } if user.id == me => self.refuse_claim(),
            Body::Back(user) if user.id == me => self.was_away = true,
            _ => {}
        }
    }

    /// Records what a gap says about one room.
    fn miss(&mut self, lost: &LostRange) {
        if lost.you == Some(Membership::Matched) {
            self.find(lost.room, None);
        }
        if let Some(
            StickLoss::Granted(epoch) | StickLoss::Released(epoch) | StickLoss::Expired(epoch),
        ) = lost.stick
        {
            self.grant(lost.room, epoch.0);
        }
        let is_out = matches!(lost.you, Some(Membership::Left | Membership::Kicked));
        if is_out || lost.ended.is_some() {
            self.end(Some(lost.room));
        }
    }

    /// The room, added if it is unknown.
    fn known_room(&mut self, room: Room) -> &mut KnownRoom {
        match self.known.iter().position(|known| known.room == room) {
            Some(index) => &mut self.known[index],
            None => self.add_room(room),
        }
    }

    fn add_room(&mut self, room: Room) -> &mut KnownRoom {
        if self.known.len() == REMEMBERED {
            let out = self.known.iter().position(|known| !known.is_in);
            self.known.remove(out.unwrap_or(0));
        }
        self.known.push(KnownRoom {
            room,
            is_in: true,
            epoch: 0,
        });
        let last = self.known.len() - 1;
        &mut self.known[last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_counts_once_for_each_epoch() {
        let mut rooms = Rooms::default();
        rooms.join(Room(1));
        for (room, epoch) in [(1, 4), (1, 4), (1, 3), (2, 4), (1, 6)] {
            rooms.grant(Room(room), epoch);
        }
        let mut consumed = 0;
        while rooms.unawaited.consume(Kind::GRANTED) {
            consumed += 1;
        }
        assert_eq!((consumed, rooms.epoch(Some(Room(1)))), (3, Some(Epoch(6))));
        assert_eq!(rooms.epoch(None), Some(Epoch(4)), "room 2 was entered last");
    }

    #[test]
    fn the_current_room_is_the_last_joined_or_the_last_known() {
        let mut rooms = Rooms::default();
        assert_eq!(rooms.current(), None);
        rooms.join(Room(1));
        rooms.find(Room(2), Some(User(1)));
        assert_eq!((rooms.current(), rooms.is_in_one()), (Some(Room(2)), false));
        rooms.end(Some(Room(2)));
        assert_eq!((rooms.current(), rooms.is_in_one()), (Some(Room(1)), true));
        assert!(!rooms.is_deserted);
        rooms.end(None);
        assert_eq!((rooms.current(), rooms.is_in_one()), (Some(Room(2)), false));
        assert!(rooms.is_deserted);
        rooms.is_deserted = false;
        rooms.end(Some(Room(2)));
        assert!(!rooms.is_deserted, "an old end says nothing of today");
    }

    #[test]
    fn an_end_that_arrives_before_its_match_is_kept() {
        let mut rooms = Rooms::default();
        rooms.end(Some(Room(4)));
        rooms.find(Room(4), Some(User(1)));
        assert_eq!((rooms.is_in_one(), rooms.is_deserted), (false, true));
        rooms.find(Room(4), Some(User(1)));
        assert!(rooms.unawaited.consume(Kind::FOUND) && !rooms.unawaited.consume(Kind::FOUND));
        rooms.find(Room(5), Some(User(1)));
        assert!(rooms.unawaited.consume(Kind::FOUND), "the next match");
    }

    #[test]
    fn only_the_latest_rooms_are_remembered() {
        let mut rooms = Rooms::default();
        rooms.join(Room(0));
        for n in 1..100 {
            rooms.find(Room(n), Some(User(n)));
            rooms.end(Some(Room(n)));
        }
        assert_eq!(rooms.known.len(), REMEMBERED);
        assert_eq!(rooms.current(), Some(Room(0)), "one is still in it");
    }
}
