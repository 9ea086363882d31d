//! The numbers of a lost life, which are passed. // 2.7

use chat_types::Span;
use sim_model::protocol::{Room, User};
use sim_model::server::NextNumbers;

use super::{Inbox, Model};

/// The largest number.
const LAST: u64 = (1 << 53) - 1;

/// The numbers that are not behind those of a life that was lost: what a new one goes on behind, and
/// what the lost one gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenAgain {
    /// What the numbers count.
    pub(crate) what: Numbered,
    /// The last one that clients may know.
    pub(crate) given: u64,
    /// The one behind which the next life goes on.
    pub(crate) next: u64,
}

/// What numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
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

/// The number after a step over `down`. // 2.7
pub(super) fn pass(last: u64, down: Span) -> u64 {
    last + (down.0.saturating_add(1_000_000)).min((LAST - last) / 8)
}

impl Model {
    /// The numbers of participants, rooms and events pass those of a lost life. // 2.7
    pub(super) fn pass_numbers(&mut self, down: Span) {
        self.has_lost_life = true;
        self.participants.pass(|last| pass(last, down));
        self.rooms.pass(|last| pass(last, down));
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

    /// The first number of this state that a server which goes on from `position` and behind `next`
    /// gives again. Where all is lost, nothing says how far the steps of earlier lives went: such a
    /// server passes one step.
    pub(crate) fn given_beyond(&self, position: u64, next: &NextNumbers) -> Option<GivenAgain> {
        let most = match position == 0 && self.has_lost_life {
            true => pass(0, Span::ZERO),
            false => LAST,
        };
        let numbers = [
            (Numbered::Users, self.participants.last(), next.user.0),
            (Numbered::Rooms, self.rooms.last(), next.room.0),
        ];
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
        let known = |(what, given, next): (_, u64, _)| GivenAgain {
            what,
            given: given.min(most),
            next,
        };
        all.map(known).find(|one| one.next < one.given)
    }
}
