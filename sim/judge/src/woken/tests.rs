//! Hand-made histories of one waker.

use std::sync::Arc;

use chat_types::{Epoch, Event, Gap, RoomSeq, Seq, Who};
use sim_model::plan::Delivery;

use super::*;
use crate::difference::Difference;
use crate::sentence::Sentence;

const AGENT: Agent = Agent(3);
const ANN: User = User(1);
const BEN: User = User(2);

/// The page of these events: `4:message`, `5:granted`, `6:released`, `7:joined`, `8:gap`; a grant of another
/// participant is `5:theirs`, and a number after a slash is that of another room than 1.
fn page(words: &str, unread: u64) -> Page {
    let mut page = Page {
        gaps: Vec::new(),
        events: Vec::new(),
        cursor: Seq(0),
        unread,
    };
    for word in words.split_whitespace() {
        let (seq, kind) = word.split_once(':').expect("a place and a kind");
        let (kind, room) = kind.split_once('/').unwrap_or((kind, "1"));
        let seq = Seq(seq.parse().expect("a place"));
        page.cursor = seq;
        let (user, ben) = (Who::unnamed(ANN), Who::unnamed(BEN));
        let (epoch, lease) = (Epoch(1), Span::secs(1));
        let body = match kind {
            "message" => Body::Message {
                sender: ben,
                text: "hi".into(),
                epoch: None,
                to: [].into(),
            },
            "message_to_me" | "message_to_him" => Body::Message {
                text: "hi".into(),
                epoch: None,
                to: [match kind {
                    "message_to_me" => user,
                    _ => Arc::clone(&ben),
                }]
                .into(),
                sender: ben,
            },
            "granted" => Body::StickGranted { user, epoch, lease },
            "theirs" => Body::StickGranted {
                user: ben,
                epoch,
                lease,
            },
            "released" => Body::StickReleased { user, epoch },
            "joined" => Body::Joined(ben),
            "gap" => {
                page.gaps.push(Gap {
                    from: seq,
                    to: seq,
                    rooms: Vec::new(),
                    rooms_omitted: false,
                });
                continue;
            }
            kind => panic!("{kind}"),
        };
        let event = Event {
            room: Room(room.parse().expect("a room")),
            room_seq: RoomSeq(seq.0),
            at: Time(0),
            body,
        };
        page.events.push((seq, Arc::new(event)));
    }
    page
}

/// The rules that a history breaks, with their instants in seconds. Its lines: an instant, and `starts`,
/// `sees EVENTS`, `sees more EVENTS`, `knocks PLACE`, `keeps`, `crashes`, `hears nothing` or `ends`. The waker may
/// knock twice an hour.
fn broken(history: &str) -> Vec<String> {
    let mut woken = Woken::default();
    let mut found = Vec::new();
    let mut told = |seconds: &str, broken: Option<(User, WakingFault)>| {
        let said = broken.map(|(reader, fault)| {
            let sentence = Sentence::of(&Difference::Waking { reader, fault });
            format!("{seconds}: {sentence}")
        });
        found.extend(said);
    };
    let mut now = Time(0);
    for line in history.lines().map(str::trim) {
        let (seconds, act) = line.split_once(' ').expect("an instant and an act");
        now = Time(0) + Span::parse(seconds).expect("an instant");
        let (page_seen, last);
        let what = if let Some(events) = act.strip_prefix("sees more") {
            page_seen = page(events, 1);
            WakerRecord::Read { page: &page_seen }
        } else if let Some(events) = act.strip_prefix("sees") {
            page_seen = page(events, 0);
            WakerRecord::Read { page: &page_seen }
        } else if let Some(place) = act.strip_prefix("knocks ") {
            last = place.parse().expect("a place");
            let fate = Delivery::Lost;
            WakerRecord::Knocked { last, fate }
        } else {
            match act {
                "starts" => WakerRecord::Started {
                    reader: ANN,
                    per_hour: 2,
                },
                "keeps" => WakerRecord::Kept,
                "crashes" => WakerRecord::Crashed,
                "hears nothing" => WakerRecord::Unanswered,
                "ends" => WakerRecord::Ended,
                act => panic!("{act}"),
            }
        };
        told(seconds, woken.record(now, AGENT, &what));
    }
    told("end", woken.look_for_late(now + Span::secs(9)));
    found
}

#[track_caller]
fn holds(history: &str) {
    assert_eq!(broken(history), [""; 0]);
}

#[track_caller]
fn breaks(history: &str, expected: &str) {
    assert_eq!(broken(history), [expected]);
}

/// Looks that show this, every nine seconds from the one instant to the other.
fn looks(from: u64, to: u64, events: &str) -> String {
    let instants = (from..=to).step_by(9);
    let lines: Vec<String> = instants.map(|at| format!("{at}s sees {events}")).collect();
    lines.join("\n")
}

#[test]
fn a_waker_knocks_at_the_look_that_shows_something_and_once_more_after_a_minute() {
    holds(&format!(
        "0s starts\n1s sees\n2s sees 1:joined 2:theirs\n3s sees 1:joined 2:theirs 3:message\n3s knocks 3\n4s keeps\n\
         {}\n64s sees 3:message\n64s knocks 3\n65s keeps\n{}",
        looks(5, 60, "3:message"),
        looks(66, 200, "3:message"),
    ));
}

#[test]
fn a_knock_that_does_not_come_is_missed_by_the_next_record() {
    let missed =
        "2s: the waker of user_1 did not knock for what is unread and for it, the last at place 4";
    breaks("0s starts\n1s sees 4:message\n2s sees", missed);
    breaks("0s starts\n1s sees 4:message_to_me\n2s sees", missed);
    holds("0s starts\n1s sees 4:message_to_him\n2s sees");
    breaks("0s starts\n1s sees 4:gap\n2s hears nothing", missed);
    // A mark before its knock, and a knock that a crash took for good.
    breaks("0s starts\n1s sees 4:message\n2s keeps", missed);
    breaks(
        "0s starts\n1s sees 4:message\n1s crashes\n1s starts\n1s sees 4:message\n2s sees 4:message",
        missed,
    );
    let repeat = format!(
        "0s starts\n1s sees 4:message\n1s knocks 4\n1s keeps\n{}\n61s sees 4:message\n62s sees 4:message",
        looks(2, 60, "4:message")
    );
    breaks(
        &repeat,
        "62s: the waker of user_1 did not knock for what is unread and for it, the last at place 4",
    );
}

#[test]
fn a_waker_knocks_for_nothing_that_was_read_or_is_for_others() {
    let unfounded = "2s: the waker of user_1 knocked while nothing was unread and for it";
    breaks("0s starts\n1s sees\n2s knocks 4", unfounded);
    breaks(
        "0s starts\n1s sees 3:joined 4:theirs\n2s knocks 4",
        unfounded,
    );
    breaks(
        "0s starts\n1s sees 3:granted 4:released\n2s knocks 4",
        unfounded,
    );
    breaks("0s starts\n1s sees more 4:message\n2s knocks 4", unfounded);
    holds("0s starts\n1s sees 3:granted 4:released/2\n1s knocks 3\n1s keeps");
    breaks(
        "0s starts\n1s sees 3:granted 4:message\n1s knocks 3",
        "1s: the waker of user_1 knocked for what is unread up to place 3; the last for it is at 4",
    );
}

#[test]
fn a_waker_does_not_knock_again_within_a_minute_or_a_third_time() {
    breaks(
        "0s starts\n1s sees 4:message\n1s knocks 4\n1s keeps\n2s sees 4:message\n2s knocks 4",
        "2s: the waker of user_1 knocked again for what is unread up to place 4",
    );
    // It is limited, too, and so forgets the first knock in an hour.
    let third = format!(
        "0s starts\n1s sees 4:message\n1s knocks 4\n1s keeps\n{}\n61s sees 4:message\n61s knocks 4\n61s keeps\n{}\n\
         3670s sees 4:message\n3670s knocks 4",
        looks(2, 60, "4:message"),
        looks(62, 3_669, "4:message"),
    );
    breaks(
        &third,
        "3670s: the waker of user_1 knocked again for what is unread up to place 4",
    );
}

#[test]
fn after_a_crash_one_more_knock_is_allowed() {
    holds(
        "0s starts\n1s sees 4:message\n1s knocks 4\n1s crashes\n2s starts\n2s sees 4:message\n2s knocks 4\n2s keeps",
    );
    // The mark may have been kept: then the minute begins again.
    holds(
        "0s starts\n1s sees 4:message\n1s knocks 4\n1s keeps\n1s crashes\n2s starts\n2s sees 4:message\n9s sees 4:message",
    );
    breaks(
        "0s starts\n1s sees 4:message\n1s knocks 4\n1s crashes\n2s starts\n2s sees 4:message\n2s knocks 4\n2s keeps\n\
         3s sees 4:message\n3s knocks 4",
        "3s: the waker of user_1 knocked again for what is unread up to place 4",
    );
}

#[test]
fn a_waker_stays_within_its_limit() {
    let limited = "0s starts\n1s sees 4:message\n1s knocks 4\n1s keeps\n2s sees 5:message\n2s knocks 5\n2s keeps\n3s sees 6:message";
    holds(limited);
    breaks(
        &format!("{limited}\n3s knocks 6"),
        "3s: the waker of user_1 knocked more than 2 times in an hour",
    );
}

#[test]
fn a_waker_looks_without_a_long_pause() {
    holds("0s starts\n9s hears nothing\n18s sees\n19s crashes\n99s starts\n99s ends");
    breaks(
        "0s starts\n1s sees\n12s sees",
        "12s: the waker of user_1 has not looked into its inbox since 1s",
    );
    let mut woken = Woken::default();
    let started = WakerRecord::Started {
        reader: ANN,
        per_hour: 2,
    };
    assert!(woken.record(Time(0), AGENT, &started).is_none());
    assert!(woken.look_for_late(Time(0) + T).is_none());
    assert!(woken.look_for_late(Time(0) + T + Span(1)).is_some());
}

#[test]
fn looks_that_show_something_are_counted() {
    let mut woken = Woken::default();
    let started = WakerRecord::Started {
        reader: ANN,
        per_hour: 2,
    };
    woken.record(Time(0), AGENT, &started);
    for (words, unread, checks) in [("", 0, 0), ("1:message", 1, 0), ("2:joined", 0, 1)] {
        let page = page(words, unread);
        woken.record(Time(1), AGENT, &WakerRecord::Read { page: &page });
        assert_eq!(woken.checks, checks);
    }
}
