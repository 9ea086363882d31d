//! Two facts that should be equal but differ: the expected and the observed one; or the two that a
//! witness's finding cites.

use std::sync::Arc;

use chat_types::{Epoch, Time};
use sim_model::history::DeliveryPath;
use sim_model::listing::Listed;
use sim_model::protocol::{Decided, Notice, OpKind, Outcome, Refusal, Reply, Room, User};
use sim_model::server::{Call, Entry, Gap, JournalState};

use crate::model::{Body, Deadline, Event, GivenAgain, Inbox};
use crate::woken::WakingFault;

/// Two facts that differ.
#[derive(Clone, Debug)]
pub(crate) enum Difference {
    /// The server's decision on an entry differs from the protocol's.
    Decision(Decision),
    /// The answer that left differs from the decision, or from the committed state.
    Answer {
        call: CallSummary,
        owed: Outcome,
        said: Outcome,
    },
    /// An answer left before an entry was committed for it.
    Uncommitted { call: CallSummary, said: Outcome },
    /// An answer left too early.
    Early { call: CallSummary, said: Outcome },
    /// A read did not wait for a record of the shared log that was appended after it arrived.
    Unserved { call: CallSummary },
    /// An answer or an event left for a call or a stream that does not exist.
    Unsolicited(Unsolicited),
    /// An inbox has another event at one position.
    Event(EventPosition),
    /// The first gap of a page that differs from the expected one.
    Gap {
        reader: User,
        owed: Option<Gap>,
        seen: Option<Gap>,
    },
    /// The beginning and end of a page, and whether more follows.
    Reach {
        reader: User,
        path: DeliveryPath,
        owed: (u64, u64, bool),
        seen: (u64, u64, bool),
    },
    /// A notice on a stream.
    Notice {
        reader: User,
        owed: Option<(Room, Notice)>,
        seen: Option<(Room, Notice)>,
    },
    /// Something that was due did not happen in time.
    Late { due: Due, since: Time },
    /// A record that is no batch went into the shared log before what was due.
    Overtaken { due: Due, since: Time },
    /// A batch holds another entry than the next expected one.
    Batch {
        owed: Option<BatchItem>,
        seen: Option<BatchItem>,
    },
    /// Several servers break a rule about their log, in words.
    Servers(String),
    /// A batch holds a call that should have been refused.
    Taken { call: CallSummary, owed: Refusal },
    /// The entry of a call does not match the call.
    Entry { call: CallSummary, entry: Entry },
    /// A collection exceeded its limit.
    Size {
        what: &'static str,
        size: u64,
        limit: u64,
    },
    /// The size of a collection differs from the protocol's.
    Kept {
        what: &'static str,
        owed: u64,
        size: u64,
    },
    /// An item of a list that operators read.
    Listed {
        owed: Option<Listed>,
        seen: Option<Listed>,
        /// Whether an operator acted since the lists were last read.
        after_act: bool,
    },
    /// The journal's positions have a gap, or go back.
    Position { owed: u64, seen: u64 },
    /// A recovery decided an entry differently from the server before the crash.
    Redecided {
        position: u64,
        before: Decided,
        after: Decided,
    },
    /// A damaged journal was recovered, and gave another state than the whole one.
    Damaged {
        damage: Arc<str>,
        owed: u64,
        seen: u64,
    },
    /// An accepted loss of a damaged journal left another state than the one before the first lost
    /// entry, or none.
    AcceptedLoss {
        damage: Arc<str>,
        owed: JournalState,
        seen: Option<JournalState>,
    },
    /// A server that goes on after the loss of a life gives its numbers again.
    GivenAgain(GivenAgain),
    /// A client's call was accepted, and the journal has no entry with this answer.
    Unjournaled {
        user: User,
        verb: &'static str,
        said: Reply,
    },
    /// The waker of a user that sleeps breaks its rule.
    Waking { reader: User, fault: WakingFault },
    /// Two facts from the clients' histories contradict each other.
    Witnessed(Box<[Fact; 2]>),
}

/// An entry of the journal, with the expected decision and the server's.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) position: u64,
    pub(crate) entry: Entry,
    pub(crate) caller: Option<User>,
    /// Whether the expected outcome is that of a remembered key.
    pub(crate) repeated: bool,
    pub(crate) owed: Decided,
    pub(crate) said: Decided,
}

/// A position of an inbox, or what an entry of the journal posts to all rooms, with the expected and
/// the observed event.
#[derive(Clone, Debug)]
pub(crate) struct EventPosition {
    /// Whose inbox it is; none for an entry.
    pub(crate) reader: Option<User>,
    /// The place in the inbox, or the position of the entry.
    pub(crate) seq: u64,
    pub(crate) owed: Option<Arc<Event>>,
    pub(crate) seen: Option<Event>,
    /// Whether the observed event is expected at a later position.
    pub(crate) skipped: bool,
    /// Whether the observed event was expected at an earlier position, or with another number.
    pub(crate) repeated: bool,
}

/// A call at the server's border.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallSummary {
    /// The call's content.
    pub(crate) ask: Arc<Call>,
    /// The calling participant, if it is registered.
    pub(crate) caller: Option<User>,
}

impl EventPosition {
    /// What the reader saw at the place of this inbox.
    pub(crate) fn of(inbox: &Inbox, reader: User, seq: u64, seen: Option<Event>) -> Self {
        let owed = inbox.event(seq).map(Arc::clone);
        let later = inbox.behind(seq).map(|(_, event)| event);
        let before = inbox.behind(0).take_while(|(place, _)| *place < seq);
        let before = before.map(|(_, event)| event);
        Self::between(before, later, (Some(reader), seq), (owed, seen))
    }

    /// What the reader saw at the place of its inbox, of which no other place has anything alike.
    pub(crate) fn alone(
        reader: User,
        seq: u64,
        owed: Option<Arc<Event>>,
        seen: Option<Event>,
    ) -> Self {
        Self::between([].iter(), [].iter(), (Some(reader), seq), (owed, seen))
    }

    /// What the entry of this position posted in place of the expected event with this index.
    pub(crate) fn of_entry(
        position: u64,
        index: usize,
        owed: &[Arc<Event>],
        seen: Option<Event>,
    ) -> Self {
        let (before, rest) = owed.split_at(index);
        let (owed, later) = (rest.first().cloned(), rest.iter().skip(1));
        Self::between(before.iter(), later, (None, position), (owed, seen))
    }

    fn between<'e>(
        mut before: impl Iterator<Item = &'e Arc<Event>>,
        mut later: impl Iterator<Item = &'e Arc<Event>>,
        (reader, seq): (Option<User>, u64),
        (owed, seen): (Option<Arc<Event>>, Option<Event>),
    ) -> Self {
        let alike = |event: &Event| {
            let seen = seen.as_ref();
            seen.is_some_and(|seen| event.room == seen.room && is_alike(&event.body, &seen.body))
        };
        let is_place =
            |event: &Event| seen.as_ref().map(|seen| seen.room_seq) == Some(event.room_seq);
        Self {
            reader,
            seq,
            owed,
            skipped: later.any(|event| alike(event) && is_place(event)),
            repeated: before.any(|event| alike(event)),
            seen,
        }
    }
}

impl Difference {
    /// The affected participants.
    pub(crate) fn users(&self) -> Vec<User> {
        let users: [Option<User>; 2] = match self {
            Self::Decision(decision) => [decision.caller, None],
            Self::Answer { call, .. }
            | Self::Uncommitted { call, .. }
            | Self::Early { call, .. }
            | Self::Unserved { call }
            | Self::Taken { call, .. }
            | Self::Entry { call, .. } => [call.caller, None],
            Self::Event(EventPosition { reader, .. }) => [*reader, None],
            Self::Gap { reader, .. }
            | Self::Reach { reader, .. }
            | Self::Notice { reader, .. }
            | Self::Unsolicited(Unsolicited::End(reader))
            | Self::Waking { reader, .. }
            | Self::Unjournaled { user: reader, .. } => [Some(*reader), None],
            Self::Batch { owed, seen } => [owed, seen].map(|item| item.as_ref()?.user()),
            Self::Late { due, .. } | Self::Overtaken { due, .. } => [due.user(), None],
            Self::Listed { owed, seen, .. } => [owed, seen].map(|item| item.as_ref()?.user()),
            Self::Witnessed(facts) => facts.each_ref().map(Fact::user),
            Self::Unsolicited(_)
            | Self::Servers(_)
            | Self::Size { .. }
            | Self::Kept { .. }
            | Self::Position { .. }
            | Self::Redecided { .. }
            | Self::Damaged { .. }
            | Self::AcceptedLoss { .. }
            | Self::GivenAgain(_) => [None; 2],
        };
        let mut users: Vec<User> = users.into_iter().flatten().collect();
        users.sort_unstable();
        users.dedup();
        users
    }
}

impl CallSummary {
    /// The kind of operation, if the call is that of a tool.
    pub(crate) fn kind(&self) -> Option<OpKind> {
        match self.ask.as_ref() {
            Call::Command { command, .. } => Some(OpKind::of(command)),
            Call::Read { read, .. } => Some(OpKind::of_read(read)),
            Call::OpenStream { .. } | Call::Operate { .. } => None,
        }
    }
}

/// What left the server for a call or a stream that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unsolicited {
    /// An answer to a call that is over.
    Answer(Outcome),
    /// The opening of a stream whose call is over.
    Opening,
    /// Events for a forgotten participant, or on a stream that is over.
    Page,
    /// The end of a registered participant's stream.
    End(User),
}

/// An entry of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BatchItem {
    /// The entry of this call; `None` for a call that is over.
    Call(Option<CallSummary>),
    /// The server's own entry.
    Own(Entry),
}

/// Something that must happen by some instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The answer to a decided call.
    Answer(CallSummary),
    /// The answer to a `check` that reads after `after`: its inbox grew, or its wait ended.
    Check { user: User, after: u64 },
    /// Events after `after` on a writable open stream.
    Push { user: User, after: u64 },
    /// A notice on an open stream.
    Notice(User),
    /// A batch with this entry; of a call its commit, or its refusal.
    Entry(BatchItem),
    /// An entry that advances time past a deadline.
    Deadline(Deadline),
    /// The end of a stream, because its participant is forgotten or the server stops.
    StreamEnd(User),
}

impl BatchItem {
    fn user(&self) -> Option<User> {
        match self {
            Self::Call(call) => call.as_ref()?.caller,
            Self::Own(Entry::Implied { user, .. }) => Some(*user),
            Self::Own(_) => None,
        }
    }
}

impl Due {
    fn user(&self) -> Option<User> {
        match self {
            Self::Answer(call) => call.caller,
            Self::Entry(item) => item.user(),
            Self::Check { user, .. }
            | Self::Push { user, .. }
            | Self::Notice(user)
            | Self::StreamEnd(user)
            | Self::Deadline(Deadline::Presence(user) | Deadline::Patience(user)) => Some(*user),
            Self::Deadline(Deadline::Lease(_)) => None,
        }
    }
}

/// Whether the same happened to the same participants, however they are shown.
pub(crate) fn is_alike(one: &Body, other: &Body) -> bool {
    let [these, those] = [one, other].map(|what| what.named().iter().map(|who| who.id));
    says_the_same(one, other) && these.eq(those)
}

/// Whether the same happened, to anyone.
pub(crate) fn says_the_same(one: &Body, other: &Body) -> bool {
    one.number() == other.number()
        && details(one) == details(other)
        && addressees(one).eq(addressees(other))
}

/// Those that a message is addressed to.
fn addressees(what: &Body) -> impl Iterator<Item = User> {
    let to = if let Body::Message { to, .. } = what {
        &to[..]
    } else {
        &[]
    };
    to.iter().map(|who| who.id)
}

/// What an event says beside its kind and its participants.
fn details(what: &Body) -> (Option<&str>, Option<Epoch>, Option<u64>) {
    match what {
        Body::Message { text, epoch, .. } => (Some(text), *epoch, None),
        Body::PartnerDisconnected(reason) => (Some(reason.name()), None, None),
        Body::StickClaimed { place, .. } => (None, None, Some(u64::from(*place))),
        Body::StickGranted { epoch, lease, .. } => (None, Some(*epoch), Some(lease.0)),
        Body::StickReleased { epoch, .. } | Body::StickExpired { epoch, .. } => {
            (None, Some(*epoch), None)
        }
        Body::Muted { reason, .. } | Body::Kicked { reason, .. } | Body::Closed { reason } => {
            (Some(reason), None, None)
        }
        Body::Found(_)
        | Body::PartnerAway(_)
        | Body::PartnerReconnected(_)
        | Body::Joined(_)
        | Body::Left(_)
        | Body::Away(_)
        | Body::Back(_) => (None, None, None),
    }
}

/// One fact from the clients' histories, or the rule that a fact breaks. A finding cites two that
/// contradict each other.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// The reader received the event at this position of its inbox.
    Received(User, u64, Event),
    /// The answer to the sender's send or push has this `room_seq`.
    Accepted(User, Room, u64),
    /// The answer to the participant's call of this verb.
    Answered(User, &'static str, Outcome),
    /// The reader has neither an event nor a gap at this position of its inbox.
    Vacant(User, u64),
    /// The reader, a member, read past this `room_seq` and has no event with it.
    Absent(User, Room, u64),
    /// A rule of the protocol that the other fact breaks.
    Rule(&'static str),
}

impl Fact {
    /// The affected participant.
    pub(crate) const fn user(&self) -> Option<User> {
        match self {
            Self::Received(user, ..)
            | Self::Accepted(user, ..)
            | Self::Answered(user, ..)
            | Self::Vacant(user, _)
            | Self::Absent(user, ..) => Some(*user),
            Self::Rule(_) => None,
        }
    }
}
