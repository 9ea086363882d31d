//! Differences: the protocol's expectation, and the observation.

use sim_model::protocol::{Refusal, User};
use sim_model::server::{Ask, Entry};

use super::facts::{By, Names};
use super::{Sentence, Tell, tell};
use crate::difference::{Asked, Channel, Decision, Difference, Due, InboxPlace, Turn, Unasked};
use crate::model::Deadline;

impl Tell for Difference {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Self::Decision(decision) => decision.tell(to),
            Self::Answer { call, owed, said } => {
                tell!(to; call, " should be ", owed, "; it was ", said);
            }
            Self::Uncommitted { call, said } => {
                tell!(to; call, " was ", said, " before an entry of the journal decided it");
            }
            Self::Early { call, said } => {
                tell!(to; call, " was ", said, " before its answer was due");
            }
            Self::Unasked(unasked) => unasked.tell(to),
            Self::Event(place) => place.tell(to),
            Self::Gap { reader, owed, seen } => {
                tell!(to; reader, " should receive ", owed, "; it received ", seen);
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
                tell!(to; "the page of ", reader, page, Reach(*owed), "; it held ", Reach(*seen));
            }
            Self::Notice { reader, owed, seen } => {
                tell!(to; reader, "'s stream should carry ", owed, "; it carried ", seen);
            }
            Self::Late { due, since } => {
                tell!(to; due, " was due at ", since, ", and did not come");
            }
            Self::Batch { owed, seen } => match (owed, seen) {
                (owed, None) => tell!(to; "the journal's batch lacks ", owed, ", which was next"),
                (None, seen) => {
                    tell!(to; "the journal's batch holds ", seen, ", and it should have ended")
                }
                (owed, seen) => {
                    tell!(to; "the journal's batch holds ", seen, " where ", owed, " was next");
                }
            },
            Self::Taken { call, owed } => {
                tell!(to; call, " should be ", owed, "; it was put in a batch for the journal");
            }
            Self::Entry { call, entry } => {
                tell!(to; call, " stands in the journal as ", Written(entry, call.caller));
            }
            Self::Size { what, size, limit } => {
                tell!(to; "the size of ", what, " is ", size, "; its limit is ", limit);
            }
            Self::Kept { what, owed, size } => {
                tell!(to; "the size of ", what, " should be ", owed, "; it is ", size);
            }
            Self::Position { .. }
            | Self::Redecided { .. }
            | Self::Damaged { .. }
            | Self::Unjournaled { .. } => journal(self, to),
            Self::Witnessed(facts) => tell!(to; facts[0], ", but ", facts[1]),
        }
    }
}

/// Differences of the journal.
fn journal(difference: &Difference, to: &mut Sentence) {
    if let Difference::Position { owed, seen } = difference {
        tell!(to; "the journal's next position should be ", owed, "; it is ", seen);
    } else if let Difference::Redecided {
        position,
        before,
        after,
    } = difference
    {
        tell!(to; "entry ", position, " of the journal was ", before);
        tell!(to; "; the replay after the crash was ", after);
    } else if let Difference::Damaged { damage, owed, seen } = difference {
        tell!(to; "a start from a journal with the damage ", damage, " should be refused");
        tell!(to; ", or give the state ", owed, "; it gave ", seen);
    } else if let Difference::Unjournaled { user, verb, said } = difference {
        tell!(to; user, "'s ", *verb, " was ", Ok::<_, Refusal>(said.clone()));
        tell!(to; ", and no entry of the journal has this answer");
    }
}

impl Tell for Decision {
    fn tell(&self, to: &mut Sentence) {
        Written(&self.entry, self.caller).tell(to);
        if self.repeated {
            tell!(to; ", which repeats a request key,");
        }
        tell!(to; " should be ", self.owed, "; in entry ", self.position);
        tell!(to; " of the journal it was ", self.said);
    }
}

impl Tell for InboxPlace {
    fn tell(&self, to: &mut Sentence) {
        let (owed, seen) = (self.owed.as_deref(), self.seen.as_ref());
        tell!(to; "place ", self.seq, " of ", self.reader, "'s inbox should hold ", owed);
        tell!(to; "; ", self.reader, " received ", seen);
        if let (Some(owed), Some(seen)) = (owed, seen)
            && owed.shown().ne(seen.shown())
        {
            tell!(to; ", shown as ", Names(seen), " and not as ", Names(owed));
        }
    }
}

impl Tell for Unasked {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Self::Answer(said) => tell!(to; "a call that was over or never made was ", said),
            Self::Opening => tell!(to; "a stream was opened for a call that was over"),
            Self::Page => tell!(to; "events left the server for a reader that was gone"),
            Self::End(user) => tell!(to; user, "'s stream should stay open; the server ended it"),
        }
    }
}

/// The position before a page, its end, and whether more follows.
struct Reach((u64, u64, bool));

impl Tell for Reach {
    fn tell(&self, to: &mut Sentence) {
        let (after, end, more) = self.0;
        let rest = if more { "more" } else { "nothing" };
        tell!(to; "what comes after place ", after, " up to place ", end);
        tell!(to; ", with ", rest, " to follow");
    }
}

impl Tell for Due {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Self::Answer(call) => tell!(to; "the answer to ", call),
            Self::Check { user, after } => {
                tell!(to; "the answer to ", user, "'s check after place ", after);
            }
            Self::Push { user, after } => {
                tell!(to; "the event after place ", after, " on ", user, "'s stream");
            }
            Self::Notice(user) => tell!(to; "a notice on ", user, "'s stream"),
            Self::Commit(call) => tell!(to; "the commit or the refusal of ", call),
            Self::Deadline(Deadline::Presence(user)) => {
                tell!(to; "the change of ", user, "'s presence");
            }
            Self::Deadline(Deadline::Lease(room)) => {
                tell!(to; "the end of the lease of ", room, "'s stick");
            }
            Self::Deadline(Deadline::Patience(user)) => {
                tell!(to; "the end of ", user, "'s patience in the line");
            }
            Self::Close(user) => tell!(to; "the entry that ", user, "'s stream closed"),
            Self::Seen(user) => tell!(to; "the entry that ", user, " was heard of"),
            Self::Read(user) => tell!(to; "the entry of how far ", user, " has read"),
            Self::Restart => tell!(to; "the entry that the server is up"),
            Self::StreamEnd(user) => tell!(to; "the end of ", user, "'s stream"),
        }
    }
}

impl Tell for Turn {
    fn tell(&self, to: &mut Sentence) {
        match self {
            Self::Call(Some(call)) => call.tell(to),
            Self::Call(None) => tell!(to; "a call that is over"),
            Self::Own(entry) => Written(entry, None).tell(to),
        }
    }
}

impl Tell for Asked {
    fn tell(&self, to: &mut Sentence) {
        match self.ask.as_ref() {
            Ask::Call { op, .. } => tell!(to; By(self.caller), op),
            Ask::OpenStream { after: None, .. } => {
                tell!(to; By(self.caller), "opening of a stream")
            }
            Ask::OpenStream { after, .. } => {
                tell!(to; By(self.caller), "opening of a stream after place ", after);
            }
            Ask::Operate(act) => act.tell(to),
        }
    }
}

/// An entry of the journal, and its caller.
struct Written<'a>(&'a Entry, Option<User>);

impl Tell for Written<'_> {
    fn tell(&self, to: &mut Sentence) {
        let Self(entry, caller) = self;
        match entry {
            Entry::Call { op, .. } => tell!(to; By(*caller), op),
            Entry::OpenStream { user } => tell!(to; user, "'s opening of a stream"),
            Entry::CloseStream { user } => tell!(to; "the entry that ", user, "'s stream closed"),
            Entry::Seen {
                user,
                waiting: None,
            } => {
                tell!(to; "the entry that ", user, " was heard of");
            }
            Entry::Seen { user, waiting } => {
                tell!(to; "the entry that ", user, " has waited in a check for ", waiting);
            }
            Entry::Read {
                user,
                acknowledged,
                delivered,
            } => {
                tell!(to; "the entry that ", user, " acknowledged place ", acknowledged);
                tell!(to; " and was sent place ", delivered);
            }
            Entry::Operate(act) => act.tell(to),
            Entry::Tick => tell!(to; "an entry that lets time pass"),
            Entry::Started { .. } => tell!(to; "the entry that the journal begins"),
            Entry::Resumed { .. } => tell!(to; "the entry that the server is up again"),
        }
    }
}
