//! The sentences of the lists that operators read.

use chat_types::{Counts, Floor, ParticipantView, RoomView};
use sim_model::listing::{Kept, Listed, ListedParticipant, Measure, Target};
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
            owed: Some(Listed::Totals(Counts {
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
            seen: Some(Listed::Room(Box::new(RoomView {
                id: LOBBY,
                name: "lobby".into(),
                members: 2,
                holder: Some((Epoch(3), ANN)),
                lease_until: Some(Time(5)),
                stick_line: 1,
                next_in_line: vec![BEN],
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
    let said = Kept::Message(said(8, 4, Some(Epoch(2))));
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
        view: ParticipantView {
            who: Arc::new(Who {
                id: ANN,
                chosen_id: Some("ann".into()),
                name: "Ann".into(),
            }),
            presence: Attendance::Reconnecting,
            streams: 1,
            rooms: vec![LOBBY],
            waiting_since: Some(Time(2)),
            is_muted: true,
            address: Address(7),
        },
        standings: vec![Floor {
            needs_stick: true,
            place: Some(1),
            epoch: Epoch(3),
            has_draft: true,
        }],
        unread: 4,
        by_number: None,
        by_id: Some(ANN),
        by_name: Some(BEN),
    }))
}
