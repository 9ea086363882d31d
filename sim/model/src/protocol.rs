//! The words that virtual users and a server exchange, whatever carries them.
//!
//! The virtual world translates them to and from the core's own types (`translate.rs`); a live
//! world would translate them to and from JSON. Users, history and properties know only these.

use std::fmt;
use std::sync::Arc;

use chat_types::{BreakKind, Span, Time};

/// A virtual user: its index in the order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(pub u32);

/// A participant as clients know it: the 7 of `user_7`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(pub u32);

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user_{}", self.0)
    }
}

/// A room as clients know it: the 3 of `room_3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Room(pub u32);

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "room_{}", self.0)
    }
}

/// The most events that a virtual user's `check` asks for.
pub const CHECK_MAX: usize = 100;

/// The most events that the world writes to a stream at once.
pub const PUSH_MAX: usize = 64;

/// One call of one agent, retries included: counts from 0 for each agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Op {
    /// Stand in the line; registers when the agent has no handle yet.
    EnterQueue {
        display_name: Arc<str>,
        interests: Arc<[Arc<str>]>,
    },
    /// Leave the line.
    LeaveQueue,
    /// Register under a name, or with a handle just join a room.
    Login { username: Arc<str>, room: Arc<str> },
    /// Say something.
    Send {
        room: Option<Room>,
        text: Arc<str>,
        epoch: Option<u64>,
    },
    /// Leave a room.
    LeaveChat { room: Option<Room> },
    /// Claim the stick, or ask for one's place.
    TalkingStick { room: Option<Room> },
    /// Add to the draft.
    Append {
        room: Option<Room>,
        text: Arc<str>,
        epoch: Option<u64>,
    },
    /// Take the last append back.
    Undo { room: Option<Room> },
    /// Clear the draft and release the stick, or withdraw the claim.
    Reset { room: Option<Room> },
    /// Send the draft and release the stick.
    Push {
        room: Option<Room>,
        epoch: Option<u64>,
    },
    /// Tell the room that one is typing.
    Typing { room: Option<Room> },
    /// Never meet or hear somebody again.
    Block { user: User },
    /// Report somebody to the operator.
    Report { user: User, reason: Arc<str> },
    /// Take a break; registers when the agent has no handle yet.
    Break {
        kind: BreakKind,
        excuse: Option<Arc<str>>,
    },
    /// Look at one's stress, and at how alert the boss is.
    Mood,
    /// Read the inbox, waiting up to `wait` for something to come.
    Check { after: Option<u64>, wait: Span },
}

impl Op {
    /// The verb as scenarios and traces write it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::EnterQueue { .. } => "enter_queue",
            Self::LeaveQueue => "leave_queue",
            Self::Login { .. } => "login",
            Self::Send { .. } => "send",
            Self::LeaveChat { .. } => "leave_chat",
            Self::TalkingStick { .. } => "talking_stick",
            Self::Append { .. } => "append",
            Self::Undo { .. } => "undo",
            Self::Reset { .. } => "reset",
            Self::Push { .. } => "push",
            Self::Typing { .. } => "typing",
            Self::Block { .. } => "block",
            Self::Report { .. } => "report",
            Self::Break { .. } => "break",
            Self::Mood => "check_stress_status",
            Self::Check { .. } => "check",
        }
    }
}

/// What a server answers to a call that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Answer {
    /// In the line; `position` counts from 1.
    Waiting { user: User, position: u32 },
    /// Matched at once.
    Matched {
        user: User,
        room: Room,
        partner: User,
    },
    /// Out of the line; `left` is false if one was not in it.
    LeftQueue { left: bool },
    /// In the room, and known as `user`. `user` is new when the call had no handle.
    LoggedIn { user: User, room: Room },
    /// The message (or the pushed draft) stands at `room_seq` in its room.
    Sent {
        room: Room,
        room_seq: u64,
        at: Time,
        turns_left: Option<u32>,
    },
    /// Out of the room.
    LeftChat,
    /// `place` 0 holds the stick, 1 is next. `epoch` is the current grant's.
    Stick { room: Room, place: u32, epoch: u64 },
    /// The draft's length in characters, and how many of the append were cut.
    Draft { length: u32, truncated: u32 },
    /// The break is over: stress from 0 to 100, the boss's alertness from 0 to 5, and a number that
    /// stands for the text.
    OnBreak {
        user: User,
        stress: u8,
        boss_alert: u8,
        flavour: u32,
    },
    /// Stress from 0 to 100, and the boss's alertness from 0 to 5.
    Mood { stress: u8, boss_alert: u8 },
    /// Done, with nothing more to say.
    Done,
    /// The inbox was read; its events were handed over one by one before this.
    /// `cursor` is the seq of the last of them, or where the reading began when there were none.
    Read { cursor: u64, more: bool },
}

/// What a server answers to a call that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the protocol, such as `stick_required`.
    pub code: &'static str,
    /// When to try again, if that helps.
    pub retry_after: Option<Span>,
    /// What the server knows of earlier attempts of the call: those with its request key.
    pub earlier: Earlier,
}

/// What a refusal that can be tried again says of earlier attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// Nothing: the call has no request key, or another server answers.
    #[default]
    Unsaid,
    /// None has taken effect, and none waits to be decided.
    None,
    /// One may have taken effect, or may yet.
    Unknown,
}

impl Refusal {
    /// Whether the same call may be tried again and is decided anew
    /// (`rate_limited`, `overloaded`, `storage_unavailable`, `shutting_down`).
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.code,
            "rate_limited" | "overloaded" | "storage_unavailable" | "shutting_down"
        )
    }
}

/// A server's answer.
pub type Outcome = Result<Answer, Refusal>;

/// Why a pair room ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// The partner left.
    Left,
    /// The partner went away.
    Timeout,
    /// One of the two blocked the other.
    Blocked,
    /// The room's turns are used up.
    TurnLimit,
    /// An operator closed it.
    Closed,
}

/// How the stick changed hands, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum StickChange {
    /// Somebody stands in line for it, at this place.
    Claimed { place: u32 },
    /// Somebody holds it from now on, for `lease`.
    Granted { epoch: u64, lease: Span },
    /// The holder gave it back.
    Released { epoch: u64 },
    /// The holder's lease ran out.
    Expired { epoch: u64 },
}

/// How somebody's presence in a room changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// Joined the room.
    Joined,
    /// Left the room.
    Left,
    /// Went away; still a member.
    Away,
    /// Came back.
    Back,
}

/// What an operator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moderated {
    /// Somebody may not speak.
    Muted,
    /// Somebody was put out of the room.
    Kicked,
    /// The room was closed.
    Closed,
}

/// One room's share of a gap.
///
/// `from` and `messages` also count events that the reader has read and not acknowledged; all else
/// is of the gap alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRange {
    /// The room.
    pub room: Room,
    /// None of its events before this room seq is missing.
    pub from: u64,
    /// The last room seq that is missing.
    pub to: u64,
    /// At most so many of the events were messages.
    pub messages: u64,
    /// The last of the reader's own comings and goings that is missing.
    pub you: Option<Membership>,
    /// Whether others came, went, went away or came back.
    pub members_changed: bool,
    /// The last of the reader's own grants, releases and expiries that is missing.
    pub stick: Option<StickLoss>,
    /// Whether others' grants, releases or expiries are missing.
    pub stick_changed: bool,
    /// Why the room ended, if that is missing.
    pub ended: Option<EndReason>,
}

/// How the reader's own membership of a room changed within a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It joined, or was matched.
    Joined,
    /// It left.
    Left,
    /// An operator put it out.
    Kicked,
}

/// What became of the reader's own stick within a gap. Each names the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StickLoss {
    /// The reader held it when the gap ended.
    Granted(u64),
    /// The reader gave it back.
    Released(u64),
    /// Its lease ran out.
    Expired(u64),
}

/// An event that a client sees, from its inbox by a stream or by `check`.
///
/// All but `Gap` have a room and a place in its order (`room_seq`, from 1, without holes).
/// A room's event reaches every member, the one it is about among them, with these exceptions:
/// a message skips its sender (who has its `room_seq` from the reply), `PartnerAway` and
/// `PartnerBack` skip the one they are about, `Ended` skips the member whose own call ended the
/// room, and a message skips those who blocked its sender or whom its sender blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Saw<'a> {
    /// `chatroom.found`: the first event of a pair room, to both.
    Found {
        room: Room,
        room_seq: u64,
        partner: User,
    },
    /// `message.received`. `epoch` is the speaker's, in a stick room.
    Message {
        room: Room,
        room_seq: u64,
        sender: User,
        text: &'a str,
        epoch: Option<u64>,
    },
    /// `partner.disconnected`: the last event of a pair room.
    Ended {
        room: Room,
        room_seq: u64,
        reason: EndReason,
    },
    /// `partner.away`: the partner's last stream closed, and the grace runs.
    PartnerAway { room: Room, room_seq: u64 },
    /// `partner.reconnected`, within the grace.
    PartnerBack { room: Room, room_seq: u64 },
    /// `user.joined`, `user.left`, `user.away`, `user.back`.
    Member {
        room: Room,
        room_seq: u64,
        user: User,
        change: Presence,
    },
    /// `stick.claimed`, `stick.granted`, `stick.released`, `stick.expired`.
    Stick {
        room: Room,
        room_seq: u64,
        user: User,
        change: StickChange,
    },
    /// `moderation.muted`, `.kicked`, `.closed`.
    Moderation {
        room: Room,
        room_seq: u64,
        user: Option<User>,
        act: Moderated,
    },
    /// `gap`: the inbox events `from..=to` are gone, `lost` of them.
    Gap {
        from: u64,
        to: u64,
        lost: u64,
        rooms: &'a [LostRange],
    },
}

impl Saw<'_> {
    /// The event's type as the protocol writes it, such as `message.received`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Found { .. } => "chatroom.found",
            Self::Message { .. } => "message.received",
            Self::Ended { .. } => "partner.disconnected",
            Self::PartnerAway { .. } => "partner.away",
            Self::PartnerBack { .. } => "partner.reconnected",
            Self::Member {
                change: Presence::Joined,
                ..
            } => "user.joined",
            Self::Member {
                change: Presence::Left,
                ..
            } => "user.left",
            Self::Member {
                change: Presence::Away,
                ..
            } => "user.away",
            Self::Member {
                change: Presence::Back,
                ..
            } => "user.back",
            Self::Stick {
                change: StickChange::Claimed { .. },
                ..
            } => "stick.claimed",
            Self::Stick {
                change: StickChange::Granted { .. },
                ..
            } => "stick.granted",
            Self::Stick {
                change: StickChange::Released { .. },
                ..
            } => "stick.released",
            Self::Stick {
                change: StickChange::Expired { .. },
                ..
            } => "stick.expired",
            Self::Moderation {
                act: Moderated::Muted,
                ..
            } => "moderation.muted",
            Self::Moderation {
                act: Moderated::Kicked,
                ..
            } => "moderation.kicked",
            Self::Moderation {
                act: Moderated::Closed,
                ..
            } => "moderation.closed",
            Self::Gap { .. } => "gap",
        }
    }

    /// The room and the place in its order; none for a gap.
    #[must_use]
    pub fn place(&self) -> Option<(Room, u64)> {
        match *self {
            Self::Found { room, room_seq, .. }
            | Self::Message { room, room_seq, .. }
            | Self::Ended { room, room_seq, .. }
            | Self::PartnerAway { room, room_seq }
            | Self::PartnerBack { room, room_seq }
            | Self::Member { room, room_seq, .. }
            | Self::Stick { room, room_seq, .. }
            | Self::Moderation { room, room_seq, .. } => Some((room, room_seq)),
            Self::Gap { .. } => None,
        }
    }
}
