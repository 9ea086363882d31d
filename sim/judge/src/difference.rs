//! Two facts that should be equal and are not: what is owed, and what was seen.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use chat_types::{Span, Time};
use sim_model::protocol::{LostRange, Notice, Op, Outcome, Passing, Refusal, User};
use sim_model::server::{Act, Ask, Batched, Entry, Gap, Ticket};

use crate::fact::Fact;
use crate::model::{Deadline, Event, What};
use crate::outcome_text::OutcomeText;

/// Two facts that differ.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Difference {
    /// The server decided an entry otherwise than the protocol. `repeated`: by a remembered key.
    Decision {
        position: u64,
        entry: Entry,
        caller: Option<User>,
        repeated: bool,
        owed: Outcome,
        said: Outcome,
    },
    /// The answer that left is not what was decided, or what the committed state shows.
    Answer {
        op: Option<Op>,
        caller: Option<User>,
        owed: Outcome,
        said: Outcome,
    },
    /// An answer left before an entry was committed for it.
    Uncommitted { op: Option<Op>, said: Outcome },
    /// An answer, or events, left for a call that is over, or before their time.
    Unasked { op: Option<Op>, said: Outcome },
    /// One place of an inbox. `skipped`: what was seen is owed at a later place. `repeated`: it was
    /// owed at an earlier place, or under another number.
    Event {
        reader: User,
        seq: u64,
        owed: Option<Arc<Event>>,
        seen: Option<Event>,
        skipped: bool,
        repeated: bool,
    },
    /// The first gap of a page that is not the one that is owed.
    Gap {
        reader: User,
        owed: Option<Gap>,
        seen: Option<Gap>,
    },
    /// Where a page begins, and ends, and whether more follows.
    Reach {
        reader: User,
        channel: Channel,
        owed: (u64, u64, bool),
        seen: (u64, u64, bool),
    },
    /// A notice on a stream.
    Notice {
        reader: User,
        owed: Option<Notice>,
        seen: Option<Notice>,
    },
    /// Something that was due did not happen in time.
    Late { due: Due, since: Time },
    /// A batch holds another entry than the one whose turn it was.
    Batch {
        owed: Option<Batched>,
        seen: Option<Batched>,
    },
    /// A batch holds a call that was to be refused.
    Taken {
        op: Option<Op>,
        caller: Option<User>,
        owed: Refusal,
    },
    /// The entry of a call is not what the call asked for.
    Entry { ask: Arc<Ask>, entry: Entry },
    /// A collection passed its limit.
    Size {
        what: &'static str,
        size: u64,
        limit: u64,
    },
    /// A collection holds more or less than the protocol has in it.
    Kept {
        what: &'static str,
        owed: u64,
        size: u64,
    },
    /// The journal's positions have a hole, or go back.
    Position { owed: u64, seen: u64 },
    /// A recovery decided an entry otherwise than it was decided before the crash.
    Redecided {
        position: u64,
        before: Outcome,
        after: Outcome,
    },
    /// Two facts from the clients' histories exclude each other.
    Witnessed(Box<[Fact; 2]>),
}

/// By which way a page left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// In the answer to a `check`.
    Check,
    /// On a stream.
    Stream,
}

impl Channel {
    const fn page(self) -> &'static str {
        match self {
            Self::Check => "the page of a check",
            Self::Stream => "the page on a stream",
        }
    }
}

/// Something that must happen by some instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The answer to a decided call.
    Answer(&'static str),
    /// The answer to a `check` that reads behind `after`: its inbox grew, or its wait is over.
    Check { user: User, after: u64 },
    /// Events behind `after` on an open stream that takes them.
    Push { user: User, after: u64 },
    /// A notice on an open stream.
    Notice(User),
    /// The commit, or the refusal, of a call.
    Commit(&'static str),
    /// An entry that lets time pass a deadline.
    Deadline(Deadline),
    /// The entry that says that a stream closed.
    Close(User),
    /// The entry that says that a participant was heard of.
    Seen(User),
    /// The entry that says how far a participant has read.
    Read(User),
    /// The entry that says that the server is up.
    Restart,
    /// The end of a stream whose participant is forgotten, or whose server stops.
    StreamEnd(User),
}

impl Due {
    /// The participant concerned, if there is one.
    #[must_use]
    pub const fn user(self) -> Option<User> {
        match self {
            Self::Check { user, .. }
            | Self::Push { user, .. }
            | Self::Notice(user)
            | Self::Close(user)
            | Self::Seen(user)
            | Self::Read(user)
            | Self::StreamEnd(user)
            | Self::Deadline(Deadline::Presence(user) | Deadline::Patience(user)) => Some(user),
            Self::Answer(_)
            | Self::Commit(_)
            | Self::Restart
            | Self::Deadline(Deadline::Lease(_)) => None,
        }
    }
}

impl Difference {
    /// The participants concerned.
    #[must_use]
    pub fn users(&self) -> Vec<User> {
        match self {
            Self::Decision { caller, .. }
            | Self::Answer { caller, .. }
            | Self::Taken { caller, .. } => caller.iter().copied().collect(),
            Self::Event { reader, .. }
            | Self::Gap { reader, .. }
            | Self::Reach { reader, .. }
            | Self::Notice { reader, .. } => vec![*reader],
            Self::Batch { owed, seen } => {
                let users = owed.iter().chain(seen).filter_map(user_of);
                let users: BTreeSet<User> = users.collect();
                users.into_iter().collect()
            }
            Self::Late { due, .. } => due.user().into_iter().collect(),
            Self::Witnessed(facts) => {
                let users: BTreeSet<User> = facts.iter().filter_map(Fact::user).collect();
                users.into_iter().collect()
            }
            Self::Uncommitted { .. }
            | Self::Unasked { .. }
            | Self::Entry { .. }
            | Self::Size { .. }
            | Self::Kept { .. }
            | Self::Position { .. }
            | Self::Redecided { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision {
                position,
                entry,
                caller,
                repeated,
                owed,
                said,
            } => {
                write!(f, "entry {position}, {}{}", EntryText(entry), By(*caller))?;
                f.write_str(if *repeated { " (a remembered key)" } else { "" })?;
                let (owed, said) = (OutcomeText(owed), OutcomeText(said));
                write!(f, ": the protocol says {owed}, the server decided {said}")
            }
            Self::Answer {
                op,
                caller,
                owed,
                said,
            } => {
                let (op, by) = (OpText(op.as_ref()), By(*caller));
                let (owed, said) = (OutcomeText(owed), OutcomeText(said));
                write!(
                    f,
                    "{op}{by}: the answer owed is {owed}, the answer that left is {said}"
                )
            }
            Self::Uncommitted { op, said } => write!(
                f,
                "{}: the server answered {}, and no entry was committed for the call",
                OpText(op.as_ref()),
                OutcomeText(said)
            ),
            Self::Unasked { op, said } => write!(
                f,
                "{}: the server answered {} before the answer was due",
                OpText(op.as_ref()),
                OutcomeText(said)
            ),
            Self::Event {
                reader,
                seq,
                owed,
                seen,
                ..
            } => event_text(f, (*reader, *seq), owed.as_deref(), seen.as_ref()),
            Self::Reach {
                reader,
                channel,
                owed,
                seen,
            } => write!(
                f,
                "{} of {reader} goes {}, owed {}",
                channel.page(),
                Reach(*seen),
                Reach(*owed)
            ),
            Self::Late { due, since } => write!(f, "{due}, due at {}", clock(*since)),
            Self::Gap { .. }
            | Self::Notice { .. }
            | Self::Batch { .. }
            | Self::Taken { .. }
            | Self::Entry { .. }
            | Self::Size { .. }
            | Self::Kept { .. }
            | Self::Position { .. }
            | Self::Redecided { .. }
            | Self::Witnessed(_) => self.plain_text(f),
        }
    }
}

impl Difference {
    /// The differences that are a sentence of their fields.
    fn plain_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { reader, owed, seen } => {
                let (owed, seen) = (GapText(owed.as_ref()), GapText(seen.as_ref()));
                write!(f, "{reader} is owed {owed}, and received {seen}")
            }
            Self::Notice { reader, owed, seen } => {
                let (owed, seen) = (NoticeText(owed.as_ref()), NoticeText(seen.as_ref()));
                write!(f, "{reader}'s stream is owed {owed}, and carried {seen}")
            }
            Self::Batch { owed, seen } => {
                let (owed, seen) = (BatchedText(owed.as_ref()), BatchedText(seen.as_ref()));
                write!(f, "the batch holds {seen}, and {owed} was next")
            }
            Self::Taken { op, caller, owed } => write!(
                f,
                "{}{}: the refusal owed is {}, and the batch holds the call",
                OpText(op.as_ref()),
                By(*caller),
                owed.code
            ),
            Self::Entry { ask, entry } => {
                write!(f, "the call asked for {ask:?}, its entry says {entry:?}")
            }
            Self::Size { what, size, limit } => {
                write!(f, "{what} holds {size}, the limit is {limit}")
            }
            Self::Kept { what, owed, size } => {
                write!(f, "{what} holds {size}, owed {owed}")
            }
            Self::Position { owed, seen } => {
                write!(f, "the journal goes on at {seen}, owed {owed}")
            }
            Self::Redecided {
                position,
                before,
                after,
            } => {
                let (before, after) = (OutcomeText(before), OutcomeText(after));
                write!(
                    f,
                    "entry {position} was decided {before}, and after the crash {after}"
                )
            }
            Self::Witnessed(facts) => write!(f, "{}; {}", facts[0], facts[1]),
            Self::Late { .. }
            | Self::Decision { .. }
            | Self::Answer { .. }
            | Self::Uncommitted { .. }
            | Self::Unasked { .. }
            | Self::Event { .. }
            | Self::Reach { .. } => Ok(()),
        }
    }
}

fn event_text(
    f: &mut fmt::Formatter<'_>,
    (reader, seq): (User, u64),
    owed: Option<&Event>,
    seen: Option<&Event>,
) -> fmt::Result {
    write!(f, "place {seq} of {reader}'s inbox is ")?;
    match owed {
        Some(owed) => write!(f, "{owed}")?,
        None => f.write_str("empty")?,
    }
    match seen {
        Some(seen) => write!(f, "; {reader} received {seen}")?,
        None => write!(f, "; {reader} did not receive it")?,
    }
    let names = owed.map(Event::names).zip(seen.map(Event::names));
    match names {
        Some((owed, seen)) if owed != seen => write!(f, "; shown as {seen}, owed {owed}"),
        _ => Ok(()),
    }
}

/// The participant that called, if it is known.
struct By(Option<User>);

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |user| write!(f, " by {user}"))
    }
}

/// Where a page begins and ends, and whether more follows.
struct Reach((u64, u64, bool));

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to, more) = self.0;
        let follows = if more {
            "more follows"
        } else {
            "nothing follows"
        };
        write!(f, "from {from} to {to} ({follows})")
    }
}

/// An instant of the virtual clock, which begins at 0.
fn clock(at: Time) -> Span {
    at.since(Time(0))
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(verb) => write!(f, "the answer to {verb} did not leave"),
            Self::Check { user, .. } => write!(f, "{user}'s waiting check was not answered"),
            Self::Push { user, .. } => write!(f, "{user}'s open stream did not carry a new event"),
            Self::Notice(user) => write!(f, "{user}'s open stream did not carry a notice"),
            Self::Commit(verb) => write!(f, "{verb} was neither committed nor refused"),
            Self::Deadline(Deadline::Presence(user)) => {
                write!(f, "{user}'s presence deadline did not take effect")
            }
            Self::Deadline(Deadline::Lease(room)) => {
                write!(f, "the lease of {room}'s stick did not end")
            }
            Self::Deadline(Deadline::Patience(user)) => {
                write!(f, "{user}'s patience in the line did not end")
            }
            Self::Close(user) => write!(f, "the end of {user}'s stream was not committed"),
            Self::Seen(user) => write!(f, "{user} was heard of, and that was not committed"),
            Self::Read(user) => write!(f, "{user} has read on, and that was not committed"),
            Self::StreamEnd(user) => write!(f, "{user}'s stream did not end"),
            Self::Restart => f.write_str("the begin of the server's life was not committed"),
        }
    }
}

struct NoticeText<'a>(Option<&'a Notice>);

impl fmt::Display for NoticeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(notice) = self.0 else {
            return f.write_str("no notice");
        };
        let (user, room) = (notice.user, notice.room);
        match notice.kind {
            Passing::Typing => write!(f, "\"{user} is typing in {room}\""),
            Passing::Waiting(span) => write!(f, "\"{user} has waited in {room} for {span}\""),
        }?;
        write!(f, " ({}, {})", notice.shown.name, clock(notice.at))
    }
}

struct OpText<'a>(Option<&'a Op>);

impl fmt::Display for OpText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.map_or("opening a stream", Op::verb))
    }
}

/// The participant of an entry that the server wrote by itself.
const fn user_of(entry: &Batched) -> Option<User> {
    match entry {
        Batched::Own(
            Entry::CloseStream { user } | Entry::Seen { user, .. } | Entry::Read { user, .. },
        ) => Some(*user),
        Batched::Own(_) | Batched::Call(_) => None,
    }
}

struct BatchedText<'a>(Option<&'a Batched>);

impl fmt::Display for BatchedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("nothing"),
            Some(Batched::Call(Ticket(number))) => write!(f, "call {number}"),
            Some(Batched::Own(entry)) => {
                write!(f, "\"{}\"", EntryText(entry))?;
                user_of(&Batched::Own(entry.clone())).map_or(Ok(()), |user| write!(f, " of {user}"))
            }
        }
    }
}

struct EntryText<'a>(&'a Entry);

impl fmt::Display for EntryText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Entry::Call { op, .. } => f.write_str(op.verb()),
            Entry::OpenStream { .. } => f.write_str("open stream"),
            Entry::CloseStream { .. } => f.write_str("close stream"),
            Entry::Seen { waiting: None, .. } => f.write_str("seen"),
            Entry::Seen {
                waiting: Some(waiting),
                ..
            } => write!(f, "seen (waiting for {waiting})"),
            Entry::Read {
                acknowledged,
                delivered,
                ..
            } => write!(
                f,
                "read (acknowledged {acknowledged}, delivered {delivered})"
            ),
            Entry::Operate(act) => f.write_str(act_name(act)),
            Entry::Tick => f.write_str("tick"),
            Entry::Started { .. } => f.write_str("started"),
            Entry::Resumed { .. } => f.write_str("resumed"),
        }
    }
}

const fn act_name(act: &Act) -> &'static str {
    match act {
        Act::Mute { .. } | Act::MuteAddress { .. } => "mute",
        Act::Unmute { .. } => "unmute",
        Act::Kick { .. } => "kick",
        Act::Close { .. } => "close",
        Act::BanUser { .. } | Act::BanAddress { .. } => "ban",
        Act::Unban { .. } | Act::UnbanAddress { .. } => "unban",
    }
}

struct GapText<'a>(Option<&'a Gap>);

impl fmt::Display for GapText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(gap) = self.0 else {
            return f.write_str("no gap");
        };
        write!(f, "a gap from {} to {}", gap.from, gap.to)?;
        for (index, lost) in gap.rooms.iter().enumerate() {
            let mark = if index == 0 { " (" } else { ", " };
            write!(f, "{mark}{}", LostText(lost))?;
        }
        f.write_str(if gap.rooms.is_empty() { "" } else { ")" })?;
        f.write_str(if gap.rooms_omitted {
            ", not all named"
        } else {
            ""
        })
    }
}

/// All that a gap says of one room.
struct LostText<'a>(&'a LostRange);

impl fmt::Display for LostText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostRange {
            room,
            from,
            to,
            messages,
            you,
            members_changed,
            stick,
            stick_changed,
            ended,
        } = *self.0;
        write!(f, "{room} {from}–{to}")?;
        if messages > 0 {
            write!(f, " messages {messages}")?;
        }
        if let Some(you) = you {
            write!(f, " you {you:?}")?;
        }
        f.write_str(if members_changed {
            " members_changed"
        } else {
            ""
        })?;
        if let Some(stick) = stick {
            write!(f, " stick {stick:?}")?;
        }
        f.write_str(if stick_changed { " stick_changed" } else { "" })?;
        match ended {
            Some(reason) => write!(f, " ended {reason:?}"),
            None => Ok(()),
        }
    }
}

impl Event {
    /// How those whom it names are shown.
    fn names(&self) -> String {
        let shown = self.named.iter().flatten().map(|(_, shown)| shown);
        let shown = shown.map(|shown| match &shown.chosen_id {
            Some(id) => format!("\"{}\" ({id})", shown.name),
            None => format!("\"{}\"", shown.name),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (room, seq) = (self.room, self.room_seq);
        if let What::Message { sender, text, .. } = &self.what {
            let shown: String = text.chars().take(24).collect();
            let rest = if shown.len() < text.len() { "…" } else { "" };
            write!(
                f,
                "message {seq} of {room} from {sender}, \"{shown}{rest}\""
            )?;
        } else {
            write!(f, "event {seq} of {room}, {:?}", self.what)?;
        }
        write!(f, " ({})", clock(self.at))
    }
}
