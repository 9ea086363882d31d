//! The text of a gap: the missing events of each room, and how to recover them.

use std::fmt::Write as _;

use chat_core::{Gap, LostRange, Membership, StickLoss};

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
    let messages = match lost.messages {
        0 => None,
        1 => Some("up to 1 message".to_owned()),
        n => Some(format!("up to {n} messages")),
    };
    let you = lost.you.map(|change| match change {
        Membership::Matched => "you were matched".to_owned(),
        Membership::Joined => "you joined".to_owned(),
        Membership::Kicked => "an operator put you out".to_owned(),
        Membership::Left => "you left".to_owned(),
    });
    let members = lost
        .members_changed
        .then(|| "others came or went".to_owned());
    let stick = lost.stick.map(|change| match change {
        StickLoss::Granted(epoch) => format!("you were granted the stick (epoch {epoch})"),
        StickLoss::Expired(epoch) => format!("your stick expired (epoch {epoch})"),
        StickLoss::Released(epoch) => format!("your stick was released (epoch {epoch})"),
    });
    let others = lost
        .stick_changed
        .then(|| "the stick passed among others".to_owned());
    let ended = lost
        .ended
        .map(|why| format!("it is over ({})", why.as_str()));
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
        let room = first.room;
        let any = |is_so: &dyn Fn(&LostRange) -> bool| {
            let mut of_room = missed.iter().filter(|lost| lost.room == room);
            of_room.any(|lost| is_so(lost))
        };
        let is_out =
            |lost: &LostRange| matches!(lost.you, Some(Membership::Left | Membership::Kicked));
        if any(&is_out) || any(&|lost| lost.ended.is_some()) {
            return None;
        }
        let calls = [
            ("history", any(&|lost| lost.messages > 0)),
            (
                "list_users",
                any(&|lost| lost.members_changed || lost.you.is_some()),
            ),
            (
                "talking_stick",
                any(&|lost| lost.stick.is_some() || lost.stick_changed),
            ),
        ];
        let calls: Vec<_> = calls.iter().filter(|(_, is_due)| *is_due).collect();
        let names: Vec<_> = calls.iter().map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| format!("{} {{\"room_id\": \"{room}\"}}", names.join(", ")))
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
