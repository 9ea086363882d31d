//! `no_phantoms`: a message received is the text of a call by its sender in that room, no call that
//! was refused for good, and nothing of the reader's own. `no_duplicates`: the text of one keyed
//! call stands at one place. `room_order`: the place that a sender's answer names shows the
//! sender's text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sim_model::protocol::User;

use super::blame;
use super::book::{Book, Seen, Spoken};
use super::fact::Fact;
use crate::findings::{Findings, Property};
use crate::model::What;

/// Compares every message received with the calls that carry texts.
pub(super) fn judge(book: &Book, findings: &mut Findings) {
    let mut places: BTreeMap<&Arc<str>, Vec<&Seen>> = BTreeMap::new();
    for (seen, sender, text) in book.messages() {
        places.entry(text).or_default().push(seen);
        if !is_phantom(book, seen, sender, text, findings) {
            compare_with_answer(book, seen, sender, text, findings);
        }
    }
    own_messages(book, findings);
    for (text, seen) in places {
        let calls = book.texts.get(text).map_or(&[][..], Vec::as_slice);
        let [call] = calls else {
            findings.leave_unjudged(Property::NoDuplicates, 1);
            continue;
        };
        if call.is_append || !call.keyed || !book.remembers_keys(call.agent) {
            findings.leave_unjudged(Property::NoDuplicates, 1);
            continue;
        }
        findings.exercise(Property::NoDuplicates, 1);
        if let [one, other, ..] = seen[..] {
            blame(
                findings,
                Property::NoDuplicates,
                other.at,
                [one.fact(), other.fact()],
            );
        }
    }
}

fn is_phantom(
    book: &Book,
    seen: &Seen,
    sender: User,
    text: &Arc<str>,
    findings: &mut Findings,
) -> bool {
    let Some(person) = book.people.get(&sender) else {
        findings.leave_unjudged(Property::NoPhantoms, 1);
        return false;
    };
    let room = seen.event.room;
    let calls = book.texts.get(text).into_iter().flatten();
    let mut calls = calls.filter(|call| {
        let named = call.room.is_none_or(|named| named == room);
        !call.is_append && call.user == Some(sender) && named
    });
    let refused =
        |call: &&Spoken| call.keyed && book.remembers_keys(call.agent) && call.is_refused();
    findings.exercise(Property::NoPhantoms, 1);
    let fact = match calls.clone().find(|call| !refused(call)) {
        Some(_) => return false,
        None if person.has_pushed && is_composed(&person.appends, text) => return false,
        None => calls.find_map(|call| {
            let outcome = call.outcome.clone()?;
            Some(Fact::Answered {
                user: sender,
                verb: "send",
                outcome,
            })
        }),
    };
    let fact = fact.unwrap_or(Fact::Unsaid { sender, room });
    blame(findings, Property::NoPhantoms, seen.at, [seen.fact(), fact]);
    true
}

/// Whether appends, cut or whole, make up the text. A draft holds nothing else.
fn is_composed(appends: &[Arc<str>], text: &str) -> bool {
    let mut reached = BTreeSet::from([0]);
    while let Some(from) = reached.pop_first() {
        if from == text.len() {
            return true;
        }
        for append in appends {
            let both = text[from..].chars().zip(append.chars());
            let mut to = from;
            for (letter, _) in both.take_while(|(said, appended)| said == appended) {
                to += letter.len_utf8();
                reached.insert(to);
            }
        }
    }
    false
}

/// A message is in no inbox of its sender. // 4.4
fn own_messages(book: &Book, findings: &mut Findings) {
    for (reader, person) in &book.people {
        for (seq, (room, room_seq)) in &person.inbox {
            let Some(seen) = book.seen(*room, *room_seq) else {
                continue;
            };
            if matches!(seen.event.what, What::Message { sender, .. } if sender == *reader) {
                let (reader, seq, event) = (*reader, *seq, seen.event.clone());
                let facts = [Fact::Received { reader, seq, event }, Fact::Itself(reader)];
                blame(findings, Property::NoPhantoms, seen.at, facts);
            }
        }
    }
}

fn compare_with_answer(
    book: &Book,
    seen: &Seen,
    sender: User,
    text: &Arc<str>,
    findings: &mut Findings,
) {
    let (room, room_seq) = (seen.event.room, seen.event.room_seq);
    let Some(accepted) = book.accepted.get(&room).and_then(|all| all.get(&room_seq)) else {
        return;
    };
    findings.exercise(Property::RoomOrder, 1);
    let says_the_same = accepted.text.as_ref().is_none_or(|said| said == text);
    if accepted.sender != sender || !says_the_same {
        let facts = [accepted.fact(room, room_seq), seen.fact()];
        blame(findings, Property::RoomOrder, seen.at, facts);
    }
}
