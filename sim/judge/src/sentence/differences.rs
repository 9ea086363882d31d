//! The sentence of each kind of difference: the protocol's expectation, and the observation. Also these two
//! facts, each in its own words, for marks in a diagram.

use std::sync::Arc;

use chat_types::Span;
use sim_model::history::DeliveryPath;
use sim_model::listing::Listed;
use sim_model::outcome::Subject;
use sim_model::protocol::{Op, User, Who};
use sim_model::server::{Call, Entry, Implied, JournalState};

use super::{Describe, Each, Sentence, With, phrases};
use crate::difference::{
    BatchItem, CallSummary, Decision, Difference, Due, EventPosition, Unsolicited,
};
use crate::model::{Deadline, Event, GivenAgain, Numbered};
use crate::woken::WakingFault;

impl Difference {
    /// Adds what the protocol prescribes and what was seen to the subject of a violation.
    pub(crate) fn add_facts(&self, subject: &mut Subject) {
        let (predicted, seen) = facts(self);
        subject.predicted = predicted.to_string();
        subject.seen = seen.to_string();
        if let Self::Late { since, .. } | Self::Overtaken { since, .. } = self {
            subject.due = Some(Span(since.0));
        }
    }
}

/// The prescribed fact, and the observed one.
fn facts(difference: &Difference) -> (Sentence, Sentence) {
    match difference {
        Difference::Decision(Decision { owed, said, .. }) => both(owed, said),
        Difference::Answer { owed, said, .. } => both(owed, said),
        Difference::Uncommitted { said, .. } => both(&"no answer before its entry", said),
        Difference::Early { said, .. } => both(&"no answer yet", said),
        Difference::Unsolicited(seen) => both(&"nothing", seen),
        Difference::Event(EventPosition { owed, seen, .. }) => both(owed, seen),
        Difference::Gap { owed, seen, .. } => both(owed, seen),
        Difference::Listed { owed, seen, .. } => both(owed, seen),
        Difference::Reach { owed, seen, .. } => both(owed, seen),
        Difference::Notice { owed, seen, .. } => both(owed, seen),
        Difference::Late { due, .. } => both(due, &"nothing until now"),
        Difference::Unserved { call } => both(&"a later record of the log", call),
        Difference::Overtaken { due, .. } => both(due, &"a record of the log without it"),
        Difference::Batch { owed, seen } => both(owed, seen),
        Difference::Taken { owed, .. } => both(owed, &"put in a batch for the journal"),
        Difference::Entry { call, entry } => both(call, &(entry, call.caller)),
        Difference::Size { size, limit, .. } => both(limit, size),
        Difference::Kept { owed, size, .. } => both(owed, size),
        Difference::Position { owed, seen } => both(owed, seen),
        Difference::Damaged { owed, seen, .. } => both(owed, seen),
        Difference::GivenAgain(numbers) => both(&numbers.given, &numbers.next),
        Difference::AcceptedLoss { owed, seen, .. } => both(owed, seen),
        Difference::Redecided { before, after, .. } => both(before, after),
        Difference::Unjournaled { said, .. } => {
            both(&"an entry of the journal with this answer", said)
        }
        Difference::Servers(detail) => both(&"one history of one log", detail),
        Difference::Waking { fault, .. } => both(&"a knock as the rule says", fault),
        Difference::Witnessed(facts) => both(&facts[0], &facts[1]),
    }
}

fn both(predicted: &impl Describe, seen: &impl Describe) -> (Sentence, Sentence) {
    (Sentence::of(predicted), Sentence::of(seen))
}

/// How the participants are shown that an event names.
fn shown(event: &Event) -> impl Iterator<Item = (&str, Option<&str>)> {
    let named = event.body.named().iter();
    named.map(|who| (&*who.name, who.chosen_id.as_deref()))
}

/// The participants of the observed event and of the expected one, if these show them differently.
fn renamed(place: &EventPosition) -> Option<[&[Arc<Who>]; 2]> {
    let (owed, seen) = (place.owed.as_deref()?, place.seen.as_ref()?);
    let differ = shown(owed).ne(shown(seen));
    differ.then(|| [seen.body.named(), owed.body.named()])
}

phrases! {
    Difference {
        Self::Decision(decision) => decision;
        Self::Answer { call, owed, said } => call, " should be ", owed, "; it was ", said;
        Self::Uncommitted { call, said } =>
            call, " was ", said, " before an entry of the journal decided it";
        Self::Early { call, said } => call, " was ", said, " before its answer was due";
        Self::Unsolicited(unasked) => unasked;
        Self::Event(place) => place;
        Self::Gap { reader, owed, seen } =>
            reader, " should receive ", owed, "; it received ", seen;
        Self::Reach { reader, path, owed, seen } =>
            "the page of ", reader, path, " should hold ", owed, "; it held ", seen;
        Self::Notice { reader, owed, seen } =>
            reader, "'s stream should carry ", owed, "; it carried ", seen;
        Self::Late { due, since } => due, " was due at ", since, ", and did not come";
        Self::Unserved { call } =>
            call, " should wait for a later record of the log, and did not";
        Self::Overtaken { due, since } =>
            due, " was due at ", since, ", and the log got a record without it";
        Self::Batch { owed, seen: None } =>
            "the journal's batch lacks ", owed, ", which was next";
        Self::Batch { owed: None, seen } =>
            "the journal's batch holds ", seen, ", and it should have ended";
        Self::Batch { owed, seen } =>
            "the journal's batch holds ", seen, " where ", owed, " was next";
        Self::Taken { call, owed } =>
            call, " should be ", owed, "; it was put in a batch for the journal";
        Self::Size { what, size, limit } =>
            "the size of ", what, " is ", size, "; its limit is ", limit;
        Self::Kept { what, owed, size } =>
            "the size of ", what, " should be ", owed, "; it is ", size;
        Self::Entry { call, entry } =>
            call, " stands in the journal as ", (entry, call.caller);
        Self::Listed { owed: owed @ Some(Listed::Kept(_)), seen, .. }
        | Self::Listed { owed, seen: seen @ Some(Listed::Kept(_)), .. } =>
            "an archive should take ", owed, " from the state; it took ", seen;
        Self::Listed { owed, seen, .. } =>
            "the operators' lists should hold ", owed, "; they held ", seen;
        Self::Position { owed, seen } =>
            "the journal's next position should be ", owed, "; it is ", seen;
        Self::Redecided { position, before, after } =>
            "entry ", position, " of the journal was ", before,
            "; the replay after the crash was ", after;
        Self::Damaged { damage, owed, seen } =>
            "a start from a journal with the damage ", damage, " should be refused",
            ", or give the state ", owed, "; it gave ", seen;
        Self::AcceptedLoss { damage, owed, seen } =>
            "after the damage ", damage, ", an accepted loss should leave ", owed,
            "; it left ", seen;
        Self::GivenAgain(GivenAgain { what, given, next }) =>
            "after an accepted loss, the ", what, " should go on behind ", given,
            "; they went on behind ", next;
        Self::Unjournaled { user, verb, said } =>
            user, "'s ", verb, " was ", said, ", and no entry of the journal has this answer";
        Self::Servers(detail) => detail;
        Self::Waking { reader, fault } => "the waker of ", reader, " ", fault;
        Self::Witnessed(facts) => facts[0], ", but ", facts[1];
    }
    WakingFault {
        Self::Silent { since } => "has not looked into its inbox since ", since;
        Self::Unknocked { last } =>
            "did not knock for what is unread and for it, the last at place ", last;
        Self::Misplaced { last, knocked } =>
            "knocked for what is unread up to place ", knocked, "; the last for it is at ", last;
        Self::Unfounded => "knocked while nothing was unread and for it";
        Self::Again { last } => "knocked again for what is unread up to place ", last;
        Self::Beyond { per_hour } => "knocked more than ", per_hour, " times in an hour";
    }
    DeliveryPath {
        Self::Check => "'s check";
        Self::Stream => "'s stream";
    }

    // The position before a page, its end, and whether more follows.
    (u64, u64, bool) {
        (after, end, more) =>
            "what comes after place ", after, " up to place ", end,
            if *more { ", with more to follow" } else { ", with nothing to follow" };
    }

    Numbered {
        Self::Users => "numbers of participants";
        Self::Rooms => "numbers of rooms";
        Self::Inbox(user) => "places of the inbox of ", user;
        Self::Room(room) => "places of the order of ", room;
        Self::Grants(room) => "epochs of ", room;
    }

    JournalState {
        Self { digest, position } => "the state ", digest, " at position ", position;
    }

    Decision {
        Self { position, entry, caller, repeated, owed, said } =>
            (entry, *caller), if *repeated { ", which repeats a request key," } else { "" },
            " should be ", owed, "; in entry ", position, " of the journal it was ", said;
    }

    EventPosition {
        place @ Self { reader: Some(reader), seq, owed, seen, .. } =>
            "place ", seq, " of ", reader, "'s inbox should hold ", owed,
            "; ", reader, " received ", seen, With(", shown as ", renamed(place));
        place @ Self { reader: None, seq, owed, seen, .. } =>
            "entry ", seq, " of the journal should post ", owed,
            " to the room; it posted ", seen, With(", shown as ", renamed(place));
    }

    [&[Arc<Who>]; 2] {
        [seen, owed] => Each("", " and ", seen), " and not as ", Each("", " and ", owed);
    }

    Unsolicited {
        Self::Answer(said) => "a call that was over or never made was ", said;
        Self::Opening => "a stream was opened for a call that was over";
        Self::Page => "events left the server for a reader that was gone";
        Self::End(user) => user, "'s stream should stay open; the server ended it";
    }

    Due {
        Self::Answer(call) => "the answer to ", call;
        Self::Check { user, after } => "the answer to ", user, "'s check after place ", after;
        Self::Push { user, after } =>
            "the event after place ", after, " on ", user, "'s stream";
        Self::Notice(user) => "a notice on ", user, "'s stream";
        Self::Entry(BatchItem::Call(call)) => "the commit or the refusal of ", call;
        Self::Entry(BatchItem::Own(Entry::Implied { user, implied: Implied::Seen { .. } })) =>
            "the entry that ", user, " was heard of";
        Self::Entry(BatchItem::Own(Entry::Implied { user, implied: Implied::Read { .. } })) =>
            "the entry of how far ", user, " has read";
        Self::Entry(BatchItem::Own(entry @ Entry::Implied { .. })) => (entry, None);
        Self::Entry(BatchItem::Own(_)) => "the entry that the server is up";
        Self::Deadline(Deadline::Presence(user)) => "the change of ", user, "'s presence";
        Self::Deadline(Deadline::Lease(room)) => "the end of the lease of ", room, "'s stick";
        Self::Deadline(Deadline::Patience(user)) =>
            "the end of ", user, "'s patience in the line";
        Self::StreamEnd(user) => "the end of ", user, "'s stream";
    }

    BatchItem {
        Self::Call(Some(call)) => call;
        Self::Call(None) => "a call that is over";
        Self::Own(entry) => (entry, None);
    }

    CallSummary {
        Self { ask, caller } => (&**ask, *caller);
    }

    // A call, and its caller.
    (&Call, Option<User>) {
        (Call::Command { command, .. }, caller) => By(*caller), Op::Command(command.clone());
        (Call::Read { read, .. }, caller) => By(*caller), Op::by_handle(*read);
        (Call::OpenStream { after, .. }, caller) =>
            By(*caller), "opening of a stream", With(" after place ", *after);
        (Call::Operate { act, .. }, _) => act;
    }

    // An entry of the journal, and its caller.
    (&Entry, Option<User>) {
        (Entry::Call { command, .. }, caller) => By(*caller), Op::Command(command.clone());
        (Entry::Implied { user, implied }, _) => (user, implied);
        (Entry::Operate { act, .. }, _) => act;
        (Entry::Tick, _) => "an entry that lets time pass";
        (Entry::Started { .. }, _) => "the entry that the journal begins";
        (Entry::Resumed { .. }, _) => "the entry that the server is up again";
        (Entry::Stepped, _) => "the entry that the clock went forward by a step";
    }

    (&User, &Implied) {
        (user, Implied::OpenStream) => user, "'s opening of a stream";
        (user, Implied::CloseStream) => "the entry that ", user, "'s stream closed";
        (user, Implied::Seen { waiting: None }) => "the entry that ", user, " was heard of";
        (user, Implied::Seen { waiting }) =>
            "the entry that ", user, " has waited in a check for ", waiting;
        (user, Implied::Read { acknowledged, delivered }) =>
            "the entry that ", user, " acknowledged place ", acknowledged,
            " and was sent place ", delivered;
    }

    By {
        Self(Some(user)) => user, "'s ";
        Self(None) => "an unregistered client's ";
    }
}

/// The caller of a call.
struct By(Option<User>);
