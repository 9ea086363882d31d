//! The numbers of a lost life are not given again.
//!
//! A journal that was restored from a backup, or whose damaged end was given up, ends before entries
//! whose answers have left. Clients know numbers from them: cursors, ids of messages, epochs. The
//! numbers of the next life begin behind every one that the lost life can have given.

use chat_types::{RoomId, RoomSeq, Seq, Span, UserId};

use super::{Effect, Hub};

/// The largest number that every JSON parser reads exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The number behind which a sequence continues after the loss of a life of at most `down`: nothing
/// takes more than one number in a microsecond. Another life from the same backup begins behind this
/// one by the time between them. The second more is for a clock that went back a little. A step takes
/// at most an eighth of what is left below the limit.
pub(super) fn number_behind(last: u64, down: Span) -> u64 {
    let most = MAX_NUMBER.saturating_sub(last) / 8;
    last + (Span::secs(1) + down).0.min(most)
}

impl Hub {
    /// Passes every number that a lost life of at most `down` can have given, but for the epochs.
    pub(super) fn pass_lost_numbers(&mut self, down: Span) {
        self.last_user = UserId(number_behind(self.last_user.0, down));
        self.last_room = RoomId(number_behind(self.last_room.0, down));
        for user in self.users.sorted_keys() {
            let inbox = &mut self.user_mut(user).inbox;
            inbox.pass_to(Seq(number_behind(inbox.end.0, down)));
            self.effects.push_back(Effect::InboxGrew(user));
        }
        for room in self.rooms.sorted_keys() {
            let room = self.room_mut(room);
            room.last_seq = RoomSeq(number_behind(room.last_seq.0, down));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_behind_the_step() {
        let places = [(21, 0), (21, 90_000_000), (1_999_999, 1)];
        let behind = places.map(|(last, down)| number_behind(last, Span(down)));
        assert_eq!(behind, [1_000_021, 91_000_021, 3_000_000]);
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        let mut number = 0;
        for _ in 0..400 {
            let next = number_behind(number, Span(u64::MAX));
            assert!(next >= number && next <= MAX_NUMBER);
            number = next;
        }
    }
}
