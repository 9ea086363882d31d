//! The numbers of a lost life are not given again.
//!
//! A journal that was restored from a backup, or whose damaged end was given up, ends before entries
//! whose answers have left. Clients know numbers from them: cursors, ids of messages, epochs. The
//! numbers of the next life begin behind every one that the lost life can have given.

use chat_types::Span;

use super::{Effect, Hub};
use crate::id::{RoomId, RoomSeq, Seq, UserId};

/// The largest number that every JSON parser reads exactly.
const MAX_PLACE: u64 = (1 << 53) - 1;

/// The place behind which an order of events continues after the loss of a life of at most `down`.
/// An inbox, a room and a stick take less than one event in a microsecond.
pub(super) fn place_behind(last: u64, down: Span) -> u64 {
    behind(last, (down.0, 1_000_000), MAX_PLACE)
}

/// The number behind which participants or rooms are numbered: one for each millisecond, because
/// they have 32 bits.
fn number_behind(last: u32, down: Span) -> u32 {
    let behind = behind(last.into(), (down.0 / 1_000, 1_000), u32::MAX.into());
    u32::try_from(behind).expect("the limit fits")
}

/// At least `step` behind `last`, and a multiple of the numbers of a `second`, so that people read it
/// easily. No more, because another life from the same backup begins behind this one by the time
/// between them. A step takes at most an eighth of what is left below the limit.
fn behind(last: u64, (step, second): (u64, u64), limit: u64) -> u64 {
    let most = limit.saturating_sub(last) / 8;
    if most < second {
        return last;
    }
    (last + step.clamp(second, most)).next_multiple_of(second)
}

impl Hub {
    /// Passes every number that a lost life of at most `down` can have given, but for the epochs.
    pub(super) fn pass_lost_numbers(&mut self, down: Span) {
        self.last_user = UserId(number_behind(self.last_user.0, down));
        self.last_room = RoomId(number_behind(self.last_room.0, down));
        for user in self.users.sorted_keys() {
            let inbox = &mut self.user_mut(user).inbox;
            inbox.pass_to(Seq(place_behind(inbox.end().0, down)));
            self.effects.push_back(Effect::InboxGrew(user));
        }
        for room in self.rooms.sorted_keys() {
            let room = self.room_mut(room);
            room.pass_to(RoomSeq(place_behind(room.last_seq().0, down)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_behind_the_step_at_a_round_one() {
        let places = [(21, 0), (21, 90_000_000), (1_999_999, 0), (2_000_001, 0)];
        let behind = places.map(|(last, down)| place_behind(last, Span(down)));
        assert_eq!(behind, [2_000_000, 91_000_000, 3_000_000, 4_000_000]);
        assert_eq!(number_behind(7, Span::secs(86_400)), 86_401_000);
        // A second life from one backup begins behind all of the first.
        let [one, other] = [60, 70].map(|down| place_behind(21, Span::secs(down)));
        assert_eq!(other - one, 10_000_000);
    }

    #[test]
    fn numbers_stay_below_their_limits() {
        let mut number = 0;
        for _ in 0..200 {
            let next = number_behind(number, Span(u64::MAX));
            assert!(next >= number && next < u32::MAX);
            number = next;
        }
        assert!(place_behind(MAX_PLACE - 3, Span(u64::MAX)) <= MAX_PLACE);
        assert_eq!(place_behind(MAX_PLACE, Span::ZERO), MAX_PLACE);
    }
}
