//! Pair rooms. `single_match`: a room is found by two different participants, the ones that answers
//! name; nobody finds a room while in another. `room_lifecycle`: a room is found at its first
//! place, and ends once, at its last.

use sim_model::protocol::{Room, User};

use super::blame;
use super::book::{Book, Person, Seen};
use super::fact::Fact;
use crate::findings::{Findings, Property};
use crate::model::What;

const MATCH: Property = Property::SingleMatch;
const LIFE: Property = Property::RoomLifecycle;

/// Compares what is known of every pair room.
pub(super) fn judge(book: &Book, findings: &mut Findings) {
    for (reader, person) in &book.people {
        one_after_another(book, *reader, person, findings);
    }
    for (user, room, partner, at) in &book.matched {
        let Some(seen) = book.seen(*room, 1) else {
            findings.leave_unjudged(MATCH, 1);
            continue;
        };
        findings.exercise(MATCH, 1);
        if !pair(seen).is_some_and(|pair| pair == [*user, *partner] || pair == [*partner, *user]) {
            let answer = Fact::Pair {
                room: *room,
                pair: [*user, *partner],
            };
            blame(findings, MATCH, *at, [answer, seen.fact()]);
        }
    }
    for (room, of_room) in &book.rooms {
        for seen in of_room.values() {
            first_and_last(book, *room, seen, findings);
        }
    }
}

fn pair(seen: &Seen) -> Option<[User; 2]> {
    match seen.event.what {
        What::Found { pair } => Some(pair),
        What::Message { .. }
        | What::Ended { .. }
        | What::PartnerAway
        | What::PartnerBack
        | What::Member { .. }
        | What::Stick { .. }
        | What::Moderation { .. } => None,
    }
}

/// Goes through one inbox: each room that is found, and whether the one before was over.
fn one_after_another(book: &Book, reader: User, person: &Person, findings: &mut Findings) {
    let mut current: Option<(Room, User, u64)> = None;
    let mut last = 0;
    for (seq, (room, room_seq)) in &person.inbox {
        let is_next = *seq == last + 1;
        last = *seq;
        let Some(seen) = book.seen(*room, *room_seq) else {
            continue;
        };
        if !is_next {
            current = None;
        }
        if matches!(seen.event.what, What::Ended { .. })
            && current.is_some_and(|(now, ..)| now == *room)
        {
            current = None;
        }
        let Some(pair) = pair(seen) else {
            continue;
        };
        findings.exercise(MATCH, 1);
        let fact = |room: Room, room_seq: u64, seq: u64| {
            let event = book.seen(room, room_seq).map(|seen| seen.event.clone());
            event.map(|event| Fact::Received { reader, seq, event })
        };
        let [one, other] = pair;
        let partner = if one == reader { other } else { one };
        if one == other || !pair.contains(&reader) {
            let named = if one == other {
                Fact::Itself(reader)
            } else {
                Fact::Pair { room: *room, pair }
            };
            if let Some(found) = fact(*room, *room_seq, *seq) {
                blame(findings, MATCH, seen.at, [named, found]);
            }
        }
        if let Some((before, old, before_seq)) = current {
            if may_have_ended(book, (reader, person), before, old) {
                findings.leave_unjudged(MATCH, 1);
            } else if let (Some(one), Some(other)) =
                (fact(before, 1, before_seq), fact(*room, *room_seq, *seq))
            {
                blame(findings, MATCH, seen.at, [one, other]);
            }
        }
        current = Some((*room, partner, *seq));
    }
}

/// Whether the reader's own call may have ended the room, of which it then receives no event.
fn may_have_ended(
    book: &Book,
    (reader, person): (User, &Person),
    room: Room,
    partner: User,
) -> bool {
    person.leaves.contains(&None)
        || person.leaves.contains(&Some(room))
        || book.blocks.contains(&(reader, partner))
}

fn first_and_last(book: &Book, room: Room, seen: &Seen, findings: &mut Findings) {
    let place = seen.event.room_seq;
    if pair(seen).is_some() {
        findings.exercise(LIFE, 1);
        if place != 1 {
            let first = book.rooms.get(&room).and_then(|all| all.values().next());
            let first = first.map_or(Fact::Itself(seen.reader), Seen::fact);
            blame(findings, LIFE, seen.at, [first, seen.fact()]);
        }
    }
    if !matches!(seen.event.what, What::Ended { .. }) {
        return;
    }
    findings.exercise(LIFE, 1);
    let behind = book
        .rooms
        .get(&room)
        .and_then(|all| all.range(place + 1..).next());
    if let Some((_, later)) = behind {
        blame(findings, LIFE, later.at, [seen.fact(), later.fact()]);
    }
    let accepted = book
        .accepted
        .get(&room)
        .and_then(|all| all.range(place + 1..).next());
    if let Some((room_seq, later)) = accepted {
        blame(
            findings,
            LIFE,
            later.at,
            [seen.fact(), later.fact(room, *room_seq)],
        );
    }
}
