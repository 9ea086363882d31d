//! The numbers of a lost life are not given again.
//!
//! A journal that was restored from a backup, or whose damaged end was given up, ends before entries
//! whose answers have left. Clients know numbers from them: cursors, ids of messages, epochs. The
//! numbers of the next life begin behind every one that the lost life can have given. Another life may
//! go on from the same backup at the same instant, or with a clock that is behind: so each passes a
//! number of chance, too.

use chat_types::Span;

use super::{Effect, Hub};
use crate::id::{RoomId, RoomSeq, Seq, UserId};

/// The largest number that every JSON parser reads exactly.
const MAX_PLACE: u64 = (1 << 53) - 1;

/// A life that is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostLife {
    /// The longest that it can have been.
    pub(super) down: Span,
    /// The seconds by chance that count as if it had been longer.
    pub(super) draw: u16,
}

impl LostLife {
    /// The place behind which an order of events continues. An inbox, a room and a stick take less
    /// than one event in a microsecond.
    pub(super) fn place_behind(self, last: u64) -> u64 {
        self.behind(last, (self.down.0, 1_000_000), MAX_PLACE)
    }

    /// The number behind which participants or rooms are numbered: one for each millisecond, because
    /// they have 32 bits.
    fn number_behind(self, last: u32) -> u32 {
        let behind = self.behind(last.into(), (self.down.0 / 1_000, 1_000), u32::MAX.into());
        u32::try_from(behind).expect("the limit fits")
    }

    /// At least `step` behind `last`, and a multiple of the numbers of a `second`, so that people read
    /// it easily. Time and chance take at most a sixteenth each of what is left below the limit.
    fn behind(self, last: u64, (step, second): (u64, u64), limit: u64) -> u64 {
        let most = limit.saturating_sub(last) / 16;
        if most < second {
            return last;
        }
        let drawn = (u64::from(self.draw) * second).min(most);
        (last + step.clamp(second, most) + drawn).next_multiple_of(second)
    }
}

impl Hub {
    /// Passes every number that this lost life can have given, but for the epochs.
    pub(super) fn pass_lost_numbers(&mut self, lost: LostLife) {
        self.last_user = UserId(lost.number_behind(self.last_user.0));
        self.last_room = RoomId(lost.number_behind(self.last_room.0));
        for user in self.users.sorted_keys() {
            let inbox = &mut self.user_mut(user).inbox;
            inbox.pass_to(Seq(lost.place_behind(inbox.end().0)));
            self.effects.push_back(Effect::InboxGrew(user));
        }
        for room in self.rooms.sorted_keys() {
            let room = self.room_mut(room);
            room.pass_to(RoomSeq(lost.place_behind(room.last_seq().0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn lost(down: Span, draw: u16) -> LostLife {
        LostLife { down, draw }
    }

    #[test]
    fn numbers_continue_behind_the_step_at_a_round_one() {
        let places = [(21, 0), (21, 90_000_000), (1_999_999, 0), (2_000_001, 0)];
        let behind = places.map(|(last, down)| lost(Span(down), 0).place_behind(last));
        assert_eq!(behind, [2_000_000, 91_000_000, 3_000_000, 4_000_000]);
        let day = Span::secs(86_400);
        assert_eq!(lost(day, 0).number_behind(7), 86_401_000);
        assert_eq!(lost(day, 5).number_behind(7), 86_406_000);
        // A second life from one backup begins behind all of the first.
        let [one, other] = [60, 70].map(|down| lost(Span::secs(down), 3).place_behind(21));
        assert_eq!(other - one, 10_000_000);
    }

    #[test]
    fn lives_from_one_backup_differ_by_chance_however_old_it_is() {
        for down in [
            Span::ZERO,
            Span::secs(60),
            Span::secs(86_400 * 3_650),
            Span(u64::MAX),
        ] {
            let lives = [0, 1, u16::MAX].map(|draw| {
                let lost = lost(down, draw);
                (lost.place_behind(21), u64::from(lost.number_behind(21)))
            });
            let [first, second, last] = lives;
            assert_eq!((second.0 - first.0, second.1 - first.1), (1_000_000, 1_000));
            assert_eq!(
                (last.0 - first.0, last.1 - first.1),
                (65_535_000_000, 65_535_000)
            );
        }
    }

    #[test]
    fn numbers_stay_below_their_limits() {
        let longest = lost(Span(u64::MAX), u16::MAX);
        let mut number = 0;
        for _ in 0..200 {
            let next = longest.number_behind(number);
            assert!(next >= number && next < u32::MAX);
            number = next;
        }
        assert!(longest.place_behind(MAX_PLACE - 3) <= MAX_PLACE);
        assert_eq!(lost(Span::ZERO, 0).place_behind(MAX_PLACE), MAX_PLACE);
    }
}
