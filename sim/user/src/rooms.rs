//! A client's knowledge of its present and past rooms.

use sim_model::protocol::{
    LostRange, Membership, Moderated, Presence, Room, Saw, StickChange, StickLoss, User,
};

use super::heard::{Heard, Kind};
use sim_model::draw::Draw;

/// The number of rooms that a client remembers. Beyond it, the oldest ended one is dropped.
const REMEMBERED: usize = 6;

/// A client's relation to a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It is a member.
    In,
    /// The room ended, or the client left or was removed.
    Out,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    room: Room,
    standing: Standing,
    /// The epoch of the client's latest grant there; 0 without a grant.
    epoch: u64,
}

/// Whether events from others can be expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Company {
    /// The client is in a room, or waits for a match.
    #[default]
    Expected,
    /// The last room is over, and the client has not looked for another.
    Gone,
}

/// The rooms of one client, the last one entered at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    seats: Vec<Seat>,
    /// The partner of the last match.
    partner: Option<User>,
    /// The sender of the last message.
    speaker: Option<User>,
    /// The newest room whose match was counted. Room ids are assigned in order.
    newest_match: Option<Room>,
    company: Company,
    attendance: Attendance,
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

/// Whether the client was away since the last query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attendance {
    #[default]
    There,
    /// It received the event that it came back.
    Interrupted,
}

impl Rooms {
    /// The room to speak in: the last one entered of those it is in, otherwise the last one known.
    pub(super) fn current(&self) -> Option<Room> {
        let within = self.seats.iter().rev().find(|s| s.standing == Standing::In);
        within.or(self.seats.last()).map(|seat| seat.room)
    }

    /// Whether the client is in exactly one room, which it need not name.
    pub(super) fn is_in_one(&self) -> bool {
        let mut within = self.seats.iter().filter(|s| s.standing == Standing::In);
        within.next().is_some() && within.next().is_none()
    }

    /// The epoch of the client's latest grant in the room (the current one unless named).
    pub(super) fn epoch(&self, room: Option<Room>) -> Option<u64> {
        let room = room.or(self.current())?;
        let seat = self.seats.iter().find(|seat| seat.room == room)?;
        (seat.epoch > 0).then_some(seat.epoch)
    }

    /// Any remembered room, including ended ones.
    pub(super) fn any(&self, draw: &mut Draw) -> Option<Room> {
        let index = draw.below(self.seats.len() as u64);
        let seat = self.seats.get(usize::try_from(index).ok()?)?;
        Some(seat.room)
    }

    /// A participant to block or report: the last partner, or the last sender.
    pub(super) fn any_other(&self) -> Option<User> {
        self.partner.or(self.speaker)
    }

    /// Whether no other member can send anything.
    pub(super) fn is_deserted(&self) -> bool {
        self.company == Company::Gone
    }

    /// Whether the client was away since the last call of this method.
    pub(super) fn take_absence(&mut self) -> bool {
        std::mem::take(&mut self.attendance) == Attendance::Interrupted
    }

    /// Records that the client waits in the queue: events can be expected again.
    pub(super) fn wait(&mut self) {
        self.company = Company::Expected;
    }

    /// Records a match. The first of its answer and its event counts as `chatroom.found`. A gap
    /// reports a match without the partner.
    pub(super) fn find(&mut self, room: Room, partner: Option<User>, heard: &mut Heard) {
        if self.newest_match.is_some_and(|newest| room <= newest) {
            return;
        }
        self.newest_match = Some(room);
        self.partner = partner;
        heard.add(Kind::FOUND);
        // If its end is known already (by another path, out of order), it stays ended.
        if !self.seats.iter().any(|seat| seat.room == room) {
            self.sit(room, Standing::In);
            self.company = Company::Expected;
        }
    }

    /// Records that an answer confirmed joining a named room, which the client may have been in
    /// before.
    pub(super) fn join(&mut self, room: Room) {
        let epoch = self.seats.iter().position(|seat| seat.room == room);
        let epoch = epoch.map_or(0, |index| self.seats.remove(index).epoch);
        self.sit(room, Standing::In).epoch = epoch;
        self.company = Company::Expected;
    }

    /// Records that the room (the current one unless named) is over for the client.
    pub(super) fn end(&mut self, room: Option<Room>) {
        let Some(room) = room.or(self.current()) else {
            return;
        };
        match self.seats.iter_mut().find(|seat| seat.room == room) {
            // The room was over before, so the state does not change.
            Some(seat) if seat.standing == Standing::Out => return,
            Some(seat) => seat.standing = Standing::Out,
            None => {
                self.sit(room, Standing::Out);
            }
        }
        if self.seats.iter().all(|seat| seat.standing == Standing::Out) {
            self.company = Company::Gone;
        }
    }

    /// Records a grant. The first of its answer and its event counts as `stick.granted`.
    pub(super) fn grant(&mut self, room: Room, epoch: u64, heard: &mut Heard) {
        let seat = match self.seats.iter().position(|seat| seat.room == room) {
            Some(index) => &mut self.seats[index],
            None => self.sit(room, Standing::In),
        };
        if epoch > seat.epoch {
            seat.epoch = epoch;
            heard.add(Kind::GRANTED);
        }
    }

    /// Records a new claim, which replaces earlier ones.
    pub(super) fn claim(&mut self) {
        self.attendance = Attendance::There;
        self.claim = Claim::Open;
    }

    /// Records that the latest claim was refused.
    pub(super) fn refuse_claim(&mut self) {
        self.claim = Claim::Ended;
    }

    /// Whether no grant can be expected: the latest claim ended without one, or the client is in no
    /// room.
    pub(super) fn is_claim_over(&self) -> bool {
        self.claim == Claim::Ended || self.is_deserted()
    }

    /// Records the answer to a claim that the client holds the stick. It may announce the grant, or
    /// repeat it.
    pub(super) fn hold(&mut self, room: Room, epoch: u64, heard: &mut Heard) {
        self.grant(room, epoch, heard);
        self.claim = Claim::Holds;
    }

    /// Takes the information that the answer to the latest claim confirmed the stick.
    pub(super) fn take_holding(&mut self) -> bool {
        let holds = self.claim == Claim::Holds;
        if holds {
            self.claim = Claim::Open;
        }
        holds
    }

    /// Records an event that `me` receives for the first time.
    pub(super) fn see(&mut self, saw: &Saw<'_>, me: User, heard: &mut Heard) {
        match *saw {
            Saw::Found { room, partner, .. } => self.find(room, Some(partner), heard),
            Saw::Message { sender, .. } => self.speaker = Some(sender),
            Saw::Ended { room, .. } => self.end(Some(room)),
            Saw::Stick {
                room,
                user,
                change: StickChange::Granted { epoch, .. },
                ..
            } if user == me => self.grant(room, epoch, heard),
            Saw::Moderation {
                room, user, act, ..
            } => match act {
                Moderated::Closed => self.end(Some(room)),
                Moderated::Kicked if user == Some(me) => self.end(Some(room)),
                Moderated::Muted if user == Some(me) => self.refuse_claim(),
                Moderated::Kicked | Moderated::Muted => {}
            },
            Saw::Member {
                user,
                change: Presence::Back,
                ..
            } if user == me => self.attendance = Attendance::Interrupted,
            Saw::Gap { rooms, .. } => {
                for lost in rooms {
                    self.miss(lost, heard);
                }
            }
            Saw::PartnerAway { .. }
            | Saw::PartnerBack { .. }
            | Saw::Member { .. }
            | Saw::Stick { .. } => {}
        }
    }

    /// Records what a gap says about one room.
    fn miss(&mut self, lost: &LostRange, heard: &mut Heard) {
        if lost.you == Some(Membership::Matched) {
            self.find(lost.room, None, heard);
        }
        if let Some(
            StickLoss::Granted(epoch) | StickLoss::Released(epoch) | StickLoss::Expired(epoch),
        ) = lost.stick
        {
            self.grant(lost.room, epoch, heard);
        }
        let is_out = matches!(lost.you, Some(Membership::Left | Membership::Kicked));
        if is_out || lost.ended.is_some() {
            self.end(Some(lost.room));
        }
    }

    fn sit(&mut self, room: Room, standing: Standing) -> &mut Seat {
        if self.seats.len() == REMEMBERED {
            let out = self.seats.iter().position(|s| s.standing == Standing::Out);
            self.seats.remove(out.unwrap_or(0));
        }
        self.seats.push(Seat {
            room,
            standing,
            epoch: 0,
        });
        let last = self.seats.len() - 1;
        &mut self.seats[last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_counts_once_by_answer_and_event() {
        let (mut rooms, mut heard) = (Rooms::default(), Heard::default());
        rooms.find(Room(3), Some(User(1)), &mut heard);
        rooms.find(Room(3), Some(User(1)), &mut heard);
        assert!(heard.consume(Kind::FOUND) && !heard.consume(Kind::FOUND));
        rooms.find(Room(5), Some(User(1)), &mut heard);
        assert!(heard.consume(Kind::FOUND));
    }

    #[test]
    fn a_grant_counts_once_for_each_epoch() {
        let (mut rooms, mut heard) = (Rooms::default(), Heard::default());
        rooms.join(Room(1));
        for (room, epoch) in [(1, 4), (1, 4), (1, 3), (2, 4), (1, 6)] {
            rooms.grant(Room(room), epoch, &mut heard);
        }
        let mut consumed = 0;
        while heard.consume(Kind::GRANTED) {
            consumed += 1;
        }
        assert_eq!((consumed, rooms.epoch(Some(Room(1)))), (3, Some(6)));
        assert_eq!(rooms.epoch(None), Some(4), "room 2 was entered last");
    }

    #[test]
    fn the_current_room_is_the_last_one_is_in_else_the_last_known() {
        let (mut rooms, mut heard) = (Rooms::default(), Heard::default());
        assert_eq!(rooms.current(), None);
        rooms.join(Room(1));
        rooms.find(Room(2), Some(User(1)), &mut heard);
        assert_eq!((rooms.current(), rooms.is_in_one()), (Some(Room(2)), false));
        rooms.end(Some(Room(2)));
        assert_eq!((rooms.current(), rooms.is_in_one()), (Some(Room(1)), true));
        assert!(!rooms.is_deserted());
        rooms.end(None);
        assert_eq!((rooms.current(), rooms.is_in_one()), (Some(Room(2)), false));
        assert!(rooms.is_deserted());
        rooms.wait();
        rooms.end(Some(Room(2)));
        assert!(!rooms.is_deserted(), "an old end says nothing of today");
    }

    #[test]
    fn an_end_that_comes_first_stays() {
        let (mut rooms, mut heard) = (Rooms::default(), Heard::default());
        rooms.end(Some(Room(4)));
        rooms.find(Room(4), Some(User(1)), &mut heard);
        assert_eq!((rooms.is_in_one(), rooms.is_deserted()), (false, true));
        assert!(heard.consume(Kind::FOUND));
    }

    #[test]
    fn few_rooms_are_remembered() {
        let (mut rooms, mut heard) = (Rooms::default(), Heard::default());
        rooms.join(Room(0));
        for n in 1..100 {
            rooms.find(Room(n), Some(User(n)), &mut heard);
            rooms.end(Some(Room(n)));
        }
        assert_eq!(rooms.seats.len(), REMEMBERED);
        assert_eq!(rooms.current(), Some(Room(0)), "one is still in it");
    }
}
