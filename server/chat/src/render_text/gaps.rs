//! The text of a gap: the missing events of each room, and how to recover them.

use std::fmt::Write as _;

use chat_core::{Gap, LostRange, Membership, StickLoss};

use super::next::of_room;
use super::said::count;

/// The largest number of rooms of a gap that are listed. Others are counted.
const MAX_ROOMS: usize = 8;

/// The gap, with one line for each room.
pub(super) fn told(gap: &Gap) -> String {
    let (from, to, lost) = (gap.from, gap.to, gap.lost());
    let mut text = format!("[{to}] gap: {lost} events ({from} to {to}) are gone from your inbox");
    if gap.rooms.is_empty() && !gap.rooms_omitted {
        text.push_str(". What was in them is told in a later gap, or you acknowledged it.");
        return text;
    }
    text.push(':');
    for lost in gap.rooms.iter().take(MAX_ROOMS) {
        let _ = write!(text, "\n- {}: {}", lost.room, missed(lost).join("; "));
    }
    let more = gap.rooms.len().saturating_sub(MAX_ROOMS);
    if gap.rooms_omitted {
        text.push_str("\n- and more rooms, which are no longer named");
    } else if more > 0 {
        let _ = write!(text, "\n- and {more} more");
    }
    text
}

fn missed(lost: &LostRange) -> Vec<String> {
    let messages = (lost.messages > 0).then(|| {
        let messages = usize::try_from(lost.messages).unwrap_or(usize::MAX);
        format!("up to {}", count(messages, "message"))
    });
    let you = lost.you.map(|change| match change {
        Membership::Matched => "you were matched",
        Membership::Joined => "you joined",
        Membership::Kicked => "an operator removed you",
        Membership::Left => "you left",
    });
    let members = lost.members_changed.then_some("others came or went");
    let stick = lost.stick.map(|change| {
        let what = match change {
            StickLoss::Granted(_) => "you were granted the stick",
            StickLoss::Expired(_) => "your stick expired",
            StickLoss::Released(_) => "your stick was released",
        };
        format!("{what} (epoch {})", change.epoch())
    });
    let others = lost
        .stick_changed
        .then_some("the stick passed among others");
    let ended = lost.ended.map(|why| format!("it is over ({})", why.name()));
    let [you, members, others] = [you, members, others].map(|what| what.map(String::from));
    let all = [messages, you, members, stick, others, ended];
    let mut missed: Vec<_> = all.into_iter().flatten().collect();
    if missed.is_empty() {
        missed.push("nothing that changes what you can do".into());
    }
    missed
}

/// The calls that recover what all gaps of a page miss, for the first room where that is possible.
pub(super) fn remedy(missed: &[&LostRange]) -> Option<String> {
    missed.iter().find_map(|first| {
        let same = missed.iter().filter(|lost| lost.room == first.room);
        let (mut is_out, mut history, mut users, mut stick) = (false, false, false, false);
        for lost in same {
            is_out |= matches!(lost.you, Some(Membership::Left | Membership::Kicked));
            is_out |= lost.ended.is_some();
            history |= lost.messages > 0;
            users |= lost.members_changed || lost.you.is_some();
            stick |= lost.stick.is_some() || lost.stick_changed;
        }
        let calls = [
            history.then_some("history"),
            users.then_some("list_users"),
            stick.then_some("talking_stick"),
        ];
        let calls: Vec<_> = calls.into_iter().flatten().collect();
        let is_due = !is_out && !calls.is_empty();
        is_due.then(|| of_room(&calls.join(", "), first.room))
    })
}

#[cfg(test)]
mod tests {
    use chat_core::{EndReason, Epoch, RoomId, RoomSeq, Seq};

    use super::*;

    fn quiet(room: u64) -> LostRange {
        LostRange {
            room: RoomId(room),
            from: RoomSeq(1),
            to: RoomSeq(9),
            ..LostRange::default()
        }
    }

    fn said(seqs: (u64, u64), rooms: &[LostRange], rooms_omitted: bool) -> String {
        told(&Gap {
            from: Seq(seqs.0),
            to: Seq(seqs.1),
            rooms: rooms.to_vec(),
            rooms_omitted,
        })
    }

    #[test]
    fn each_room_says_what_was_missed() {
        let rooms = [
            LostRange {
                messages: 7,
                members_changed: true,
                stick: Some(StickLoss::Expired(Epoch(4))),
                ..quiet(3)
            },
            LostRange {
                you: Some(Membership::Left),
                ..quiet(4)
            },
            LostRange {
                you: Some(Membership::Joined),
                messages: 1,
                ended: Some(EndReason::Timeout),
                ..quiet(5)
            },
            LostRange {
                stick: Some(StickLoss::Granted(Epoch(8))),
                stick_changed: true,
                ..quiet(6)
            },
            quiet(7),
        ];
        insta::assert_snapshot!(said((4, 22), &rooms, false), @"
        [22] gap: 19 events (4 to 22) are gone from your inbox:
        - room_3: up to 7 messages; others came or went; your stick expired (epoch 4)
        - room_4: you left
        - room_5: up to 1 message; you joined; it is over (timeout)
        - room_6: you were granted the stick (epoch 8); the stick passed among others
        - room_7: nothing that changes what you can do
        ");
    }

    #[test]
    fn what_was_acknowledged_and_what_is_not_named_is_said() {
        insta::assert_snapshot!(said((2, 3), &[], false), @"[3] gap: 2 events (2 to 3) are gone from your inbox. What was in them is told in a later gap, or you acknowledged it.");
        insta::assert_snapshot!(said((2, 3), &[], true), @"
        [3] gap: 2 events (2 to 3) are gone from your inbox:
        - and more rooms, which are no longer named
        ");
        let many: Vec<_> = (1..=10).map(quiet).collect();
        let text = said((1, 10), &many, false);
        assert_eq!(text.lines().count(), 1 + MAX_ROOMS + 1);
        assert!(text.ends_with("- and 2 more"));
    }

    #[test]
    fn the_calls_to_make_are_of_a_room_one_is_still_in() {
        let left = LostRange {
            you: Some(Membership::Left),
            messages: 3,
            ..quiet(1)
        };
        let over = LostRange {
            ended: Some(EndReason::Left),
            messages: 3,
            ..quiet(2)
        };
        let rest = LostRange {
            messages: 3,
            members_changed: true,
            stick_changed: true,
            ..quiet(3)
        };
        let calls = remedy(&[&left, &over, &quiet(4), &rest]);
        let expected = "history, list_users, talking_stick {\"room_id\": \"room_3\"}";
        assert_eq!(calls.as_deref(), Some(expected));
        assert_eq!(remedy(&[&left, &over, &quiet(4)]), None);
        // Several gaps of a room lead to one call of each kind.
        let spoken = LostRange {
            messages: 1,
            ..quiet(2)
        };
        let came = LostRange {
            members_changed: true,
            ..quiet(2)
        };
        let calls = remedy(&[&spoken, &quiet(1), &came]);
        let expected = "history, list_users {\"room_id\": \"room_2\"}";
        assert_eq!(calls.as_deref(), Some(expected));
        assert_eq!(remedy(&[&spoken, &came, &over]), None);
    }
}
