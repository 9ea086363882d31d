//! The numbers of a lost life, which are passed. // 2.7

use chat_types::Span;
use sim_model::protocol::{Room, User};
use sim_model::server::NextNumbers;

use super::{Inbox, Model};

/// The largest numbers: of participants and rooms, and of all else.
const LAST_NUMBER: u64 = u32::MAX as u64;
const LAST_PLACE: u64 = (1 << 53) - 1;

/// The numbers that are not behind those of a life that was lost: what a new one goes on behind, and
/// what the lost one gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenAgain {
    /// What the numbers count.
    pub what: Numbered,
    /// The last one that clients may know.
    pub given: u64,
    /// The one behind which the next life goes on.
    pub next: u64,
}

/// What numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// Participants.
    Users,
    /// Rooms.
    Rooms,
    /// The events of this participant's inbox.
    Inbox(User),
    /// The events of this room.
    Room(Room),
    /// The grants of this room's stick.
    Grants(Room),
}

/// The place after a step of the microseconds of `down`. // 2.7
pub(super) fn pass(last: u64, down: Span) -> u64 {
    pass_step(last, down.0, 1_000_000, LAST_PLACE)
}

fn pass_step(last: u64, n: u64, second: u64, limit: u64) -> u64 {
    let most = (limit - last) / 8;
    if most < second {
        return last;
    }
    (last + n.max(second).min(most)).div_ceil(second) * second
}

fn pass_number(last: u32, down: Span) -> u32 {
    let next = pass_step(last.into(), down.0 / 1_000, 1_000, LAST_NUMBER);
    u32::try_from(next).expect("it is below the limit")
}

impl Model {
    /// The numbers of participants, rooms and events pass those of a lost life. // 2.7
    pub(super) fn pass_numbers(&mut self, down: Span) {
        self.participants.pass(|last| pass_number(last, down));
        self.rooms.pass(|last| pass_number(last, down));
        for user in self.participants.numbers().into_iter().map(User) {
            let participant = self.participant_mut(user);
            let end = pass(participant.inbox.end(), down);
            participant.inbox.pass_to(end);
            if !std::mem::replace(&mut participant.grown, true) {
                self.grown.push(user);
            }
        }
        for room in self.rooms.numbers().into_iter().map(Room) {
            let place = self.place_mut(room);
            place.last_seq = pass(place.last_seq, down);
        }
    }

    /// The first number of this state that a server which goes on behind `next` gives again.
    #[must_use]
    pub fn given_beyond(&self, next: &NextNumbers) -> Option<GivenAgain> {
        let numbers = [
            (Numbered::Users, self.participants.last(), next.user.0),
            (Numbered::Rooms, self.rooms.last(), next.room.0),
        ];
        let numbers = numbers.map(|(what, given, next)| (what, given.into(), next.into()));
        let inboxes = next.inboxes.iter().filter_map(|(user, next)| {
            let given = self.inbox(*user).map(Inbox::end)?;
            Some((Numbered::Inbox(*user), given, *next))
        });
        let places = next.places.iter().filter_map(|(room, [seq, epoch])| {
            let given = self.rooms.get(room.0)?.last_seq;
            let grants = self.stick(*room).map_or(0, |stick| stick.epoch);
            let both = [
                (Numbered::Room(*room), given, *seq),
                (Numbered::Grants(*room), grants, *epoch),
            ];
            Some(both)
        });
        let all = numbers.into_iter().chain(inboxes).chain(places.flatten());
        all.map(|(what, given, next)| GivenAgain { what, given, next })
            .find(|one| one.next < one.given)
    }
}
