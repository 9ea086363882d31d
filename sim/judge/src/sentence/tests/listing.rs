//! The sentences of the lists that operators read.

use chat_types::{Ban, Counts, Floor, Measure, MeasureTarget, ParticipantView, RoomView};
use sim_model::listing::{Kept, Listed, ListedParticipant};
use sim_model::protocol::Who;

use super::*;

fn listed(owed: Option<Listed>, seen: Option<Listed>) -> Difference {
    let after_act = false;
    Difference::Listed {
        owed,
        seen,
        after_act,
    }
}

#[test]
fn a_sentence_shows_listed_items() {
    insta::assert_snapshot!(told(&[
        listed(
            Some(Listed::Measure(
                MeasureTarget::Name("Ann".into()),
                Ban {
                    measure: Measure::Ban,
                    at: Time(3),
                    by: "olga".into(),
                    reason: "spam".into(),
                },
            )),
            Some(Listed::Report(Report {
                at: Time(4),
                by: ANN,
                about: BEN,
                from: Address(1),
                reason: "noise".into(),
            })),
        ),
        listed(
            Some(Listed::Totals(Counts {
                participants: 3,
                of_one_address: 2,
                rooms: 1,
                waiting: 1,
                first_waits_since: Some(Time(6)),
                recent_wait: Some(Span(7)),
            })),
            None,
        ),
        listed(
            Some(listed_participant()),
            Some(Listed::Room(Box::new(RoomView {
                id: LOBBY,
                name: "lobby".into(),
                members: 2,
                holder: Some((Epoch(3), ANN)),
                lease_until: Some(Time(5)),
                stick_line: 1,
                next_in_line: vec![BEN],
            }))),
        ),
    ]));
}

#[test]
fn a_sentence_shows_what_an_archive_takes() {
    let kept = |kept: Option<Kept>| kept.map(Listed::Kept);
    let differs = |owed, seen| listed(kept(Some(owed)), kept(seen));
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
    let posted = EventPosition::of_entry(12, 0, &[], None);
    insta::assert_snapshot!(told(&[
        differs(room, Some(member)),
        differs(said, None),
        Difference::Event(posted)
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
