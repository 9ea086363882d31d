//! Differences: the protocol's expectation, and the observation.

use sim_model::listing::Listed;
use sim_model::protocol::{Op, User};
use sim_model::server::{Call, Entry, Implied, JournalState};

use super::facts::{By, Names};
use super::{Describe, Detail, Sentence, describe};
use crate::difference::{
    BatchItem, CallSummary, Channel, Decision, Difference, Due, EventPosition, Unsolicited,
};
use crate::model::{Deadline, Event, GivenAgain, Numbered};

impl Describe for Difference {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Decision(decision) => decision.describe(to),
            Self::Answer { call, owed, said } => {
                describe!(to; call, " should be ", owed, "; it was ", said);
            }
            Self::Uncommitted { call, said } => {
                describe!(to; call, " was ", said, " before an entry of the journal decided it");
            }
            Self::Early { call, said } => {
                describe!(to; call, " was ", said, " before its answer was due");
            }
            Self::Unsolicited(unasked) => unasked.describe(to),
            Self::Event(place) => place.describe(to),
            Self::Gap { reader, owed, seen } => {
                describe!(to; reader, " should receive ", owed, "; it received ", seen);
            }
            Self::Reach {
                reader,
                channel,
                owed,
                seen,
            } => {
                let page = match channel {
                    Channel::Check => "'s check should hold ",
                    Channel::Stream => "'s stream should hold ",
                };
                describe!(to; "the page of ", reader, page, PageRange(*owed), "; it held ", PageRange(*seen));
            }
            Self::Notice { reader, owed, seen } => {
                describe!(to; reader, "'s stream should carry ", owed, "; it carried ", seen);
            }
            Self::Late { due, since } => {
                describe!(to; due, " was due at ", since, ", and did not come");
            }
            Self::Unserved { call } => {
                describe!(to; call, " should wait for a later record of the log, and did not");
            }
            Self::Overtaken { due, since } => {
                describe!(to; due, " was due at ", since, ", and the log got a record without it");
            }
            Self::Batch { owed, seen: None } => {
                describe!(to; "the journal's batch lacks ", owed, ", which was next");
            }
            Self::Batch { owed: None, seen } => {
                describe!(to; "the journal's batch holds ", seen, ", and it should have ended");
            }
            Self::Batch { owed, seen } => {
                describe!(to; "the journal's batch holds ", seen, " where ", owed, " was next");
            }
            Self::Taken { call, owed } => {
                describe!(to; call, " should be ", owed, "; it was put in a batch for the journal");
            }
            Self::Size { what, size, limit } => {
                describe!(to; "the size of ", what, " is ", size, "; its limit is ", limit);
            }
            Self::Kept { what, owed, size } => {
                describe!(to; "the size of ", what, " should be ", owed, "; it is ", size);
            }
            Self::Entry { .. }
            | Self::Listed { .. }
            | Self::Position { .. }
            | Self::Redecided { .. }
            | Self::Damaged { .. }
            | Self::AcceptedLoss { .. }
            | Self::GivenAgain(_)
            | Self::Unjournaled { .. } => journal_or_lists(self, to),
            Self::Servers(detail) => describe!(to; Detail(detail)),
            Self::Witnessed(facts) => describe!(to; facts[0], ", but ", facts[1]),
        }
    }
}

/// Differences of the journal, and of the lists that operators read.
fn journal_or_lists(difference: &Difference, to: &mut Sentence) {
    if let Difference::Position { owed, seen } = difference {
        describe!(to; "the journal's next position should be ", owed, "; it is ", seen);
    } else if let Difference::Redecided {
        position,
        before,
        after,
    } = difference
    {
        describe!(to; "entry ", position, " of the journal was ", before);
        describe!(to; "; the replay after the crash was ", after);
    } else if let Difference::Damaged { damage, owed, seen } = difference {
        describe!(to; "a start from a journal with the damage ", damage, " should be refused");
        describe!(to; ", or give the state ", owed, "; it gave ", seen);
    } else if let Difference::AcceptedLoss { damage, owed, seen } = difference {
        describe!(to; "after the damage ", damage, ", an accepted loss should leave ", *owed);
        describe!(to; "; it left ", *seen);
    } else if let Difference::GivenAgain(GivenAgain { what, given, next }) = difference {
        describe!(to; "after an accepted loss, the ", *what, " should go on behind ", *given);
        describe!(to; "; they went on behind ", *next);
    } else if let Difference::Unjournaled { user, verb, said } = difference {
        describe!(to; user, "'s ", *verb, " was ", said);
        describe!(to; ", and no entry of the journal has this answer");
    } else if let Difference::Entry { call, entry } = difference {
        describe!(to; call, " stands in the journal as ", Written(entry, call.caller));
    } else if let Difference::Listed { owed, seen, .. } = difference {
        match [owed, seen].map(|listed| matches!(listed, Some(Listed::Kept(_)))) {
            [false, false] => {
                describe!(to; "the operators' lists should hold ", owed, "; they held ", seen);
            }
            _ => describe!(to; "an archive should take ", owed, " from the state; it took ", seen),
        }
    }
}

impl Describe for Numbered {
    fn describe(&self, to: &mut Sentence) {
        match *self {
            Self::Users => describe!(to; "numbers of participants"),
            Self::Rooms => describe!(to; "numbers of rooms"),
            Self::Inbox(user) => describe!(to; "places of the inbox of ", user),
            Self::Room(room) => describe!(to; "places of the order of ", room),
            Self::Grants(room) => describe!(to; "epochs of ", room),
        }
    }
}

impl Describe for JournalState {
    fn describe(&self, to: &mut Sentence) {
        describe!(to; "the state ", self.digest, " at position ", self.position);
    }
}

impl Describe for Decision {
    fn describe(&self, to: &mut Sentence) {
        Written(&self.entry, self.caller).describe(to);
        if self.repeated {
            describe!(to; ", which repeats a request key,");
        }
        describe!(to; " should be ", self.owed, "; in entry ", self.position);
        describe!(to; " of the journal it was ", self.said);
    }
}

/// How the participants are shown that an event names.
fn shown(event: &Event) -> impl Iterator<Item = (&str, Option<&str>)> {
    let named = event.body.named().iter();
    named.map(|who| (&*who.name, who.chosen_id.as_deref()))
}

impl Describe for EventPosition {
    fn describe(&self, to: &mut Sentence) {
        let (owed, seen) = (self.owed.as_deref(), self.seen.as_ref());
        match self.reader {
            Some(reader) => {
                describe!(to; "place ", self.seq, " of ", reader, "'s inbox should hold ", owed);
                describe!(to; "; ", reader, " received ", seen);
            }
            None => {
                describe!(to; "entry ", self.seq, " of the journal should post ", owed);
                describe!(to; " to the room; it posted ", seen);
            }
        }
        if let (Some(owed), Some(seen)) = (owed, seen)
            && shown(owed).ne(shown(seen))
        {
            describe!(to; ", shown as ", Names(seen), " and not as ", Names(owed));
        }
    }
}

impl Describe for Unsolicited {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Answer(said) => describe!(to; "a call that was over or never made was ", said),
            Self::Opening => describe!(to; "a stream was opened for a call that was over"),
            Self::Page => describe!(to; "events left the server for a reader that was gone"),
            Self::End(user) => {
                describe!(to; user, "'s stream should stay open; the server ended it")
            }
        }
    }
}

/// The position before a page, its end, and whether more follows.
pub(super) struct PageRange(pub(super) (u64, u64, bool));

impl Describe for PageRange {
    fn describe(&self, to: &mut Sentence) {
        let (after, end, more) = self.0;
        let rest = if more { "more" } else { "nothing" };
        describe!(to; "what comes after place ", after, " up to place ", end);
        describe!(to; ", with ", rest, " to follow");
    }
}

impl Describe for Due {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Answer(call) => describe!(to; "the answer to ", call),
            Self::Check { user, after } => {
                describe!(to; "the answer to ", user, "'s check after place ", after);
            }
            Self::Push { user, after } => {
                describe!(to; "the event after place ", after, " on ", user, "'s stream");
            }
            Self::Notice(user) => describe!(to; "a notice on ", user, "'s stream"),
            Self::Commit(call) => describe!(to; "the commit or the refusal of ", call),
            Self::Deadline(Deadline::Presence(user)) => {
                describe!(to; "the change of ", user, "'s presence");
            }
            Self::Deadline(Deadline::Lease(room)) => {
                describe!(to; "the end of the lease of ", room, "'s stick");
            }
            Self::Deadline(Deadline::Patience(user)) => {
                describe!(to; "the end of ", user, "'s patience in the line");
            }
            Self::Close(user) => describe!(to; "the entry that ", user, "'s stream closed"),
            Self::Seen(user) => describe!(to; "the entry that ", user, " was heard of"),
            Self::Read(user) => describe!(to; "the entry of how far ", user, " has read"),
            Self::Restart => describe!(to; "the entry that the server is up"),
            Self::StreamEnd(user) => describe!(to; "the end of ", user, "'s stream"),
        }
    }
}

impl Describe for BatchItem {
    fn describe(&self, to: &mut Sentence) {
        match self {
            Self::Call(Some(call)) => call.describe(to),
            Self::Call(None) => describe!(to; "a call that is over"),
            Self::Own(entry) => Written(entry, None).describe(to),
        }
    }
}

impl Describe for CallSummary {
    fn describe(&self, to: &mut Sentence) {
        match self.ask.as_ref() {
            Call::Command { command, .. } => {
                describe!(to; By(self.caller), Op::Command(command.clone()));
            }
            Call::Read { read, .. } => describe!(to; By(self.caller), Op::by_handle(*read)),
            Call::OpenStream { after: None, .. } => {
                describe!(to; By(self.caller), "opening of a stream")
            }
            Call::OpenStream { after, .. } => {
                describe!(to; By(self.caller), "opening of a stream after place ", after);
            }
            Call::Operate { act, .. } => act.describe(to),
        }
    }
}

/// An entry of the journal, and its caller.
pub(super) struct Written<'a>(pub(super) &'a Entry, pub(super) Option<User>);

impl Describe for Written<'_> {
    fn describe(&self, to: &mut Sentence) {
        let Self(entry, caller) = self;
        match entry {
            Entry::Call { command, .. } => {
                describe!(to; By(*caller), Op::Command(command.clone()));
            }
            Entry::Implied { user, implied } => match implied {
                Implied::OpenStream => describe!(to; user, "'s opening of a stream"),
                Implied::CloseStream => describe!(to; "the entry that ", user, "'s stream closed"),
                Implied::Seen { waiting: None } => {
                    describe!(to; "the entry that ", user, " was heard of");
                }
                Implied::Seen { waiting } => {
                    describe!(to; "the entry that ", user, " has waited in a check for ", waiting);
                }
                Implied::Read {
                    acknowledged,
                    delivered,
                } => {
                    describe!(to; "the entry that ", user, " acknowledged place ", acknowledged);
                    describe!(to; " and was sent place ", delivered);
                }
            },
            Entry::Operate { act, .. } => act.describe(to),
            Entry::Tick => describe!(to; "an entry that lets time pass"),
            Entry::Started { .. } => describe!(to; "the entry that the journal begins"),
            Entry::Resumed { .. } => describe!(to; "the entry that the server is up again"),
            Entry::Stepped => describe!(to; "the entry that the clock went forward by a step"),
        }
    }
}
