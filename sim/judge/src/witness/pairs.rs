//! Pair rooms. `single_match`: a room's `chatroom.found` goes to two different participants, and to
//! none that is in another pair room. `room_lifecycle`: `chatroom.found` is the first event of a
//! room, and the end is its last.

use std::ops::Bound;

use sim_model::protocol::{Room, User};

use super::Witness;
use super::observations::{Client, ObservedEvent};
use crate::difference::Fact;
use crate::findings::{Findings, Property};
use crate::model::Body;

const MATCH: Property = Property::SingleMatch;
const LIFE: Property = Property::RoomLifecycle;

/// Compares the known facts about every pair room.
pub(super) fn judge(witness: &Witness, findings: &mut Findings) {
    for (reader, client) in &witness.participants {
        one_after_another(witness, (*reader, client), findings);
    }
    for seen in witness.events() {
        first_and_last(witness, seen, findings);
    }
}

/// Walks through one inbox: whether the previous room was over at each new match.
fn one_after_another(
    witness: &Witness,
    (reader, client): (User, &Client),
    findings: &mut Findings,
) {
    let (mut current, mut last): (Option<(Room, User, u64)>, u64) = (None, 0);
    for (seq, place) in &client.inbox {
        let Some(seen) = witness.seen(place) else {
            continue;
        };
        let is_over = matches!(seen.event.body, Body::PartnerDisconnected(_));
        if *seq != last.saturating_add(1)
            || is_over && current.is_some_and(|(room, ..)| room == place.0)
        {
            current = None;
        }
        last = *seq;
        let Body::Found(pair) = &seen.event.body else {
            continue;
        };
        let pair = [pair[0].id, pair[1].id];
        findings.exercise(MATCH, 1);
        let received = |seq| witness.received(reader, seq);
        if let Some(found) =
            received(*seq).filter(|_| pair[0] == pair[1] || !pair.contains(&reader))
        {
            let rule = Fact::Rule("a pair is two participants, and the reader is one of them");
            findings.contradict(MATCH, seen.at, [rule, found]);
        }
        if let Some((room, partner, before)) = current {
            // A participant that ends a room by its own call receives no event about it.
            if client.may_have_called("leave_chat", room)
                || witness.blocks.contains(&(reader, partner))
            {
                findings.leave_unjudged(MATCH, 1);
            } else if let Some((one, other)) = received(before).zip(received(*seq)) {
                findings.contradict(MATCH, seen.at, [one, other]);
            }
        }
        let partner = pair.into_iter().find(|one| *one != reader);
        current = Some((place.0, partner.unwrap_or(reader), *seq));
    }
}

fn first_and_last(witness: &Witness, seen: &ObservedEvent, findings: &mut Findings) {
    let (room, place) = (seen.event.room, seen.event.room_seq.0);
    if matches!(seen.event.body, Body::Found(_)) {
        let rule = Fact::Rule("a pair room begins with chatroom.found");
        findings.compare(LIFE, place == 1, seen.at, || [rule, seen.fact()]);
    }
    if !matches!(seen.event.body, Body::PartnerDisconnected(_)) {
        return;
    }
    findings.exercise(LIFE, 1);
    let behind = (
        Bound::Excluded((room, place)),
        Bound::Included((room, u64::MAX)),
    );
    let mut behind = witness.places.range(behind);
    if let Some(later) = behind.clone().find_map(|(_, known)| known.seen.as_ref()) {
        findings.contradict(LIFE, later.at, [seen.fact(), later.fact()]);
    }
    let accepted = behind.find_map(|(place, known)| Some((place, known.accepted.as_ref()?)));
    if let Some((place, later)) = accepted {
        findings.contradict(LIFE, later.at, [seen.fact(), later.fact(*place)]);
    }
}
