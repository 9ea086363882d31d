//! Pair rooms. `single_match`: a room's `chatroom.found` goes to two different participants, and to
//! none that is in another pair room. `room_lifecycle`: `chatroom.found` is the first event of a
//! room, and the end is its last.

use std::ops::Bound;

use sim_model::protocol::{Room, User};

use super::blame;
use super::book::{Book, Seen};
use crate::fact::Fact;
use crate::findings::{Findings, Property};
use crate::model::What;

const MATCH: Property = Property::SingleMatch;
const LIFE: Property = Property::RoomLifecycle;

/// Compares the known facts about every pair room.
pub(super) fn judge(book: &Book, findings: &mut Findings) {
    for reader in book.people.keys() {
        one_after_another(book, *reader, findings);
    }
    for (room, of_room) in &book.rooms {
        for seen in of_room.values() {
            first_and_last(book, *room, seen, findings);
        }
    }
}

/// Walks through one inbox: whether the previous room was over at each new match.
fn one_after_another(book: &Book, reader: User, findings: &mut Findings) {
    let person = &book.people[&reader];
    let (mut current, mut last): (Option<(Room, User, u64)>, u64) = (None, 0);
    for (seq, place) in &person.inbox {
        let Some(seen) = book.seen(*place) else {
            continue;
        };
        let is_over = matches!(seen.event.what, What::Ended { .. });
        if *seq != last.saturating_add(1)
            || is_over && current.is_some_and(|(room, ..)| room == place.0)
        {
            current = None;
        }
        last = *seq;
        let What::Found { pair } = seen.event.what else {
            continue;
        };
        findings.exercise(MATCH, 1);
        let received = |seq| book.received(reader, seq);
        if let Some(found) =
            received(*seq).filter(|_| pair[0] == pair[1] || !pair.contains(&reader))
        {
            let rule = Fact::Rule("a pair is two participants, and the reader is one of them");
            blame(findings, MATCH, seen.at, [rule, found]);
        }
        if let Some((room, partner, before)) = current {
            // A participant that ends a room by its own call receives no event about it.
            if person.may_have_called("leave_chat", room)
                || book.blocks.contains(&(reader, partner))
            {
                findings.leave_unjudged(MATCH, 1);
            } else if let Some((one, other)) = received(before).zip(received(*seq)) {
                blame(findings, MATCH, seen.at, [one, other]);
            }
        }
        let partner = pair.into_iter().find(|one| *one != reader);
        current = Some((place.0, partner.unwrap_or(reader), *seq));
    }
}

fn first_and_last(book: &Book, room: Room, seen: &Seen, findings: &mut Findings) {
    let place = seen.event.room_seq;
    if matches!(seen.event.what, What::Found { .. }) {
        findings.exercise(LIFE, 1);
        if place != 1 {
            let rule = Fact::Rule("a pair room begins with chatroom.found");
            blame(findings, LIFE, seen.at, [rule, seen.fact()]);
        }
    }
    if !matches!(seen.event.what, What::Ended { .. }) {
        return;
    }
    findings.exercise(LIFE, 1);
    let behind = (Bound::Excluded(place), Bound::Unbounded);
    let seen_later = book
        .rooms
        .get(&room)
        .and_then(|all| all.range(behind).next());
    if let Some((_, later)) = seen_later {
        blame(findings, LIFE, later.at, [seen.fact(), later.fact()]);
    }
    let accepted = book
        .accepted
        .get(&room)
        .and_then(|all| all.range(behind).next());
    if let Some((room_seq, later)) = accepted {
        blame(
            findings,
            LIFE,
            later.at,
            [seen.fact(), later.fact(room, *room_seq)],
        );
    }
}
