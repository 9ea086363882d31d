//! `no_phantoms`: a received message has the text of a call by its sender in that room, which was
//! not finally refused, and is not the reader's own. `no_duplicates`: the text of one call with a
//! key is at one position. `room_order`: the position in a sender's answer has the sender's text.

use std::sync::Arc;

use sim_model::protocol::User;

use super::Witness;
use super::observations::{ObservedEvent, TextCall};
use crate::difference::Fact;
use crate::findings::{Findings, Property};

/// Compares every received message with the calls that have texts.
pub(super) fn judge(witness: &Witness, findings: &mut Findings) {
    let mut messages: Vec<(&Arc<str>, &ObservedEvent)> = Vec::new();
    for (place, known) in &witness.places {
        if let Some(seen) = &known.seen
            && let Some((sender, text)) = seen.message()
        {
            messages.push((text, seen));
            if !is_phantom(witness, seen, (sender, text), findings)
                && let Some(accepted) = &known.accepted
            {
                let is_same = accepted.text.as_ref().is_none_or(|said| said == text);
                let holds = accepted.sender == sender && is_same;
                let facts = || [accepted.fact(*place), seen.fact()];
                findings.compare(Property::RoomOrder, holds, seen.at, facts);
            }
        }
    }
    messages.sort_by_key(|(text, _)| *text);
    for seen in messages.chunk_by(|(one, _), (other, _)| one == other) {
        let (text, first) = seen[0];
        let calls = witness.texts.get(text).map_or(&[][..], Vec::as_slice);
        if !matches!(calls, [call] if is_once(witness, call, seen)) {
            findings.leave_unjudged(Property::NoDuplicates, 1);
            continue;
        }
        let (_, second) = seen.get(1).unwrap_or(&seen[0]);
        let facts = || [first.fact(), second.fact()];
        findings.compare(Property::NoDuplicates, seen.len() == 1, second.at, facts);
    }
    for (reader, participant) in &witness.participants {
        for (seq, place) in &participant.inbox {
            if let Some(seen) = witness.seen(place)
                && seen.message().is_some_and(|(sender, _)| sender == *reader)
            {
                let received = Fact::Received(*reader, *seq, seen.event.clone());
                let rule = Fact::Rule("a message is in no inbox of its sender");
                findings.contradict(Property::NoPhantoms, seen.at, [received, rule]);
            }
        }
    }
}

/// Whether all messages with the text must be one effect of this call: the call has a key, and
/// neither a stranger nor a push can have sent the text.
fn is_once(witness: &Witness, call: &TextCall, seen: &[(&Arc<str>, &ObservedEvent)]) -> bool {
    let is_own = |(_, seen): &(&Arc<str>, &ObservedEvent)| {
        let participant = call.user.and_then(|user| witness.participants.get(&user));
        let pushes = participant.is_none_or(|one| one.may_have_called("push", seen.event.room));
        seen.message().map(|(sender, _)| sender) == call.user && !pushes
    };
    let keyed = is_said(call) && call.is_keyed && witness.remembers_keys(call.agent);
    keyed && seen.iter().all(is_own)
}

fn is_phantom(
    witness: &Witness,
    seen: &ObservedEvent,
    (sender, text): (User, &Arc<str>),
    findings: &mut Findings,
) -> bool {
    let room = seen.event.room;
    let is_here = |call: &&TextCall| {
        let room = call.room.is_none_or(|named| named == room);
        is_said(call) && call.user == Some(sender) && room
    };
    let is_refused =
        |call: &&TextCall| call.is_keyed && call.is_refused() && witness.remembers_keys(call.agent);
    let of_text = witness.texts.get(text).into_iter().flatten();
    let mut calls = of_text.filter(is_here);
    let refused = calls.clone().find(is_refused);
    if calls.any(|call| !is_refused(&call)) {
        findings.exercise(Property::NoPhantoms, 1);
        return false;
    }
    // The text of a push is uncertain, and that of a stranger is unknown.
    let sender_book = witness.participants.get(&sender);
    if sender_book.is_none_or(|participant| participant.may_have_called("push", room)) {
        findings.leave_unjudged(Property::NoPhantoms, 1);
        return false;
    }
    let outcome = refused.and_then(|call| call.outcome.clone());
    let unsaid = Fact::Rule("no call of the sender says that");
    let said = outcome.map_or(unsaid, |outcome| Fact::Answered(sender, "send", outcome));
    findings.contradict(Property::NoPhantoms, seen.at, [seen.fact(), said]);
    true
}

/// Whether the call says its text, at once or in turn.
fn is_said(call: &TextCall) -> bool {
    ["send", "speak"].contains(&call.verb)
}
