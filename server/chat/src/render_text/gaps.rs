//! The text of a gap: the missing events of each room, and how to recover them.

use std::fmt::Write as _;

use crate::wire::Lost;

/// The largest number of rooms of a gap that are listed. Others are counted.
const MAX_ROOMS: usize = 8;

/// The gap, with one line for each room. `seqs` are its first and last place.
pub(super) fn told(seqs: (u64, u64), rooms: &[Lost], omitted: bool) -> String {
    let (from, to) = seqs;
    let mut text = format!(
        "[{to}] gap: {} events ({from} to {to}) are gone from your inbox",
        to + 1 - from
    );
    if rooms.is_empty() && !omitted {
        text.push_str(". What was in them is told in a later gap, or you acknowledged it.");
        return text;
    }
    text.push(':');
    for lost in rooms.iter().take(MAX_ROOMS) {
        text.push_str("\n- ");
        text.push_str(&lost.room_id);
        text.push_str(": ");
        text.push_str(&missed(lost).join("; "));
    }
    let more = rooms.len().saturating_sub(MAX_ROOMS);
    if omitted {
        text.push_str("\n- and more rooms, which are no longer named");
    } else if more > 0 {
        let _ = write!(text, "\n- and {more} more");
    }
    text
}

fn missed(lost: &Lost) -> Vec<String> {
    let messages = match lost.messages {
        0 => None,
        1 => Some("up to 1 message".to_owned()),
        n => Some(format!("up to {n} messages")),
    };
    let you = lost.you.map(|change| match change {
        "matched" => "you were matched".to_owned(),
        "joined" => "you joined".to_owned(),
        "kicked" => "an operator put you out".to_owned(),
        _ => "you left".to_owned(),
    });
    let members = lost
        .members_changed
        .then(|| "others came or went".to_owned());
    let epoch = lost.epoch.unwrap_or_default();
    let stick = lost.stick.map(|change| match change {
        "granted" => format!("you were granted the stick (epoch {epoch})"),
        "expired" => format!("your stick expired (epoch {epoch})"),
        _ => format!("your stick was released (epoch {epoch})"),
    });
    let others = lost
        .stick_changed
        .then(|| "the stick passed among others".to_owned());
    let ended = lost.ended.map(|why| format!("it is over ({why})"));
    let all = [messages, you, members, stick, others, ended];
    let mut missed: Vec<_> = all.into_iter().flatten().collect();
    if missed.is_empty() {
        missed.push("nothing that changes what you can do".into());
    }
    missed
}

/// The calls that recover what all gaps of a page miss, for the first room where that is possible.
pub(super) fn remedy(missed: &[&Lost]) -> Option<String> {
    missed.iter().find_map(|first| {
        let room = &first.room_id;
        let any = |is_so: &dyn Fn(&Lost) -> bool| {
            let mut of_room = missed.iter().filter(|lost| lost.room_id == *room);
            of_room.any(|lost| is_so(lost))
        };
        let is_out = |lost: &Lost| matches!(lost.you, Some("left" | "kicked"));
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
    use super::*;

    fn quiet(room: u32) -> Lost {
        Lost {
            room_id: format!("room_{room}"),
            from_room_seq: 1,
            to_room_seq: 9,
            messages: 0,
            you: None,
            members_changed: false,
            stick: None,
            epoch: None,
            stick_changed: false,
            ended: None,
        }
    }

    #[test]
    fn each_room_says_what_was_missed() {
        let rooms = [
            Lost {
                messages: 7,
                members_changed: true,
                stick: Some("expired"),
                epoch: Some(4),
                ..quiet(3)
            },
            Lost {
                you: Some("left"),
                ..quiet(4)
            },
            Lost {
                you: Some("joined"),
                messages: 1,
                ended: Some("timeout"),
                ..quiet(5)
            },
            Lost {
                stick: Some("granted"),
                epoch: Some(8),
                stick_changed: true,
                ..quiet(6)
            },
            quiet(7),
        ];
        insta::assert_snapshot!(told((4, 22), &rooms, false), @"
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
        insta::assert_snapshot!(told((2, 3), &[], false), @"[3] gap: 2 events (2 to 3) are gone from your inbox. What was in them is told in a later gap, or you acknowledged it.");
        insta::assert_snapshot!(told((2, 3), &[], true), @"
        [3] gap: 2 events (2 to 3) are gone from your inbox:
        - and more rooms, which are no longer named
        ");
        let many: Vec<_> = (1..=10).map(quiet).collect();
        let text = told((1, 10), &many, false);
        assert_eq!(text.lines().count(), 1 + MAX_ROOMS + 1);
        assert!(text.ends_with("- and 2 more"));
    }

    #[test]
    fn the_calls_to_make_are_of_a_room_one_is_still_in() {
        let left = Lost {
            you: Some("left"),
            messages: 3,
            ..quiet(1)
        };
        let over = Lost {
            ended: Some("left"),
            messages: 3,
            ..quiet(2)
        };
        let rest = Lost {
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
        let said = Lost {
            messages: 1,
            ..quiet(2)
        };
        let came = Lost {
            members_changed: true,
            ..quiet(2)
        };
        let calls = remedy(&[&said, &quiet(1), &came]);
        let expected = "history, list_users {\"room_id\": \"room_2\"}";
        assert_eq!(calls.as_deref(), Some(expected));
        assert_eq!(remedy(&[&said, &came, &over]), None);
    }
}
