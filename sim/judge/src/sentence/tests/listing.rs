//! The sentences of the lists that operators read.

use sim_model::listing::{
    Kept, Listed, ListedParticipant, ListedRoom, Measure, RoomStanding, Target, Totals,
};
use sim_model::protocol::Who;

use super::*;

#[test]
fn a_sentence_shows_listed_items() {
    insta::assert_snapshot!(told(&[
        Difference::Listed {
            owed: Some(Listed::Measure(
                Target::Name("Ann".into()),
                Measure {
                    is_ban: true,
                    at: Time(3),
                    reason: "spam".into(),
                },
            )),
            seen: Some(Listed::Report(Report {
                at: Time(4),
                by: ANN,
                about: BEN,
                from: Address(1),
                reason: "noise".into(),
            })),
            after_act: false,
        },
        Difference::Listed {
            owed: Some(Listed::Totals(Totals {
                participants: 3,
                of_one_address: 2,
                rooms: 1,
                waiting: 1,
                first_waits_since: Some(Time(6)),
                recent_wait: Some(Span(7)),
            })),
            seen: None,
            after_act: false,
        },
        Difference::Listed {
            owed: Some(listed_participant()),
            seen: Some(Listed::Room(Box::new(ListedRoom {
                room: LOBBY,
                name: "lobby".into(),
                members: 2,
                held: Some((3, ANN, Time(5))),
                claims: 1,
                next: vec![BEN],
            }))),
            after_act: false,
        },
    ]));
}

#[test]
fn a_sentence_shows_what_an_archive_takes() {
    let kept = |kept: Option<Kept>| kept.map(Listed::Kept);
    let differs = |owed, seen| Difference::Listed {
        owed: kept(Some(owed)),
        seen: kept(seen),
        after_act: false,
    };
    let room = Kept::Room {
        room: LOBBY,
        last: 9,
        name: Some("lobby".into()),
    };
    let member = Kept::Member {
        room: LOBBY,
        who: ben(),
        since: secs(3),
    };
    let said = Kept::Message {
        room: LOBBY,
        room_seq: 8,
        at: secs(4),
        sender: ben(),
        text: "hello".into(),
        epoch: Some(2),
    };
    let posted = Difference::Event(EventPosition {
        reader: None,
        seq: 12,
        owed: None,
        seen: None,
        skipped: false,
        repeated: false,
    });
    insta::assert_snapshot!(told(&[
        differs(room, Some(member)),
        differs(said, None),
        posted
    ]));
}

fn listed_participant() -> Listed {
    Listed::Participant(Box::new(ListedParticipant {
        who: Arc::new(Who {
            id: ANN,
            chosen_id: Some("ann".into()),
            name: "Ann".into(),
        }),
        attendance: Attendance::Reconnecting,
        streams: 1,
        rooms: vec![LOBBY],
        waits_since: Some(Time(2)),
        is_muted: true,
        address: 7,
        standings: vec![RoomStanding {
            needs_stick: true,
            place: Some(1),
            epoch: 3,
            has_draft: true,
        }],
        unread: 4,
        by_number: None,
        by_id: Some(ANN),
        by_name: Some(BEN),
    }))
}
