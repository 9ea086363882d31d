//! Commands, the kinds of breaks, operators' acts, and journal entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, Config, Epoch, RequestKey, RoomId, SecretHash, Seq, Span, UserId};

/// One entry of the journal. The journal adds its position and time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A command of a participant, or of a caller that registers.
    Call {
        /// The caller.
        caller: Caller,
        /// The request key, which identifies a repeated call.
        key: Option<RequestKey>,
        /// The command.
        command: Command,
    },
    /// A consequence of a participant's reads or streams, which the node proposes.
    Implied {
        /// The participant.
        user: UserId,
        /// The consequence.
        implied: Implied,
    },
    /// An operator's act.
    Operate {
        /// The operator's name.
        operator: Arc<str>,
        /// The act.
        act: Operate,
    },
    /// Time passes, and nothing else happens.
    Tick,
    /// The first entry of a journal.
    Started {
        /// The configuration from here on.
        config: Box<Config>,
        /// The version of the core that wrote the journal.
        version: Arc<str>,
        /// The seed of all randomness.
        seed: u64,
    },
    /// The server restarts after downtime. Deadlines move by its length, and all streams count as
    /// just closed.
    Resumed {
        /// The configuration from here on.
        config: Box<Config>,
        /// The version of the core that continues the journal.
        version: Arc<str>,
        /// Whether a life of the server may be lost before this entry.
        continuity: Continuity,
    },
    /// The clock went forward by a step while the server ran, as in a sleep of the machine. Deadlines
    /// move by it, and streams stay open.
    Stepped,
}

impl Entry {
    /// The consequence of a participant's reads or streams, if it is one.
    #[must_use]
    pub const fn implied(&self) -> Option<(UserId, Implied)> {
        if let Self::Implied { user, implied } = self {
            return Some((*user, *implied));
        }
        None
    }
}

/// The caller of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caller {
    /// A participant, identified by the hash of its handle.
    Handle(SecretHash),
    /// A new caller, with the hashes of the handle and the reader id minted for it. In a repeated
    /// registration the handle is known already, and the call is its participant's.
    New {
        /// The handle's hash.
        handle: SecretHash,
        /// The reader id's hash.
        reader: SecretHash,
        /// The address that the registration comes from.
        from: Address,
    },
}

impl Caller {
    /// The hash of the handle.
    #[must_use]
    pub const fn handle(&self) -> SecretHash {
        let (Self::Handle(handle) | Self::New { handle, .. }) = *self;
        handle
    }
}

/// The consequences of reads and streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Implied {
    /// An event stream opens. Its caller waits for the commit.
    OpenStream,
    /// An event stream closed.
    CloseStream,
    /// The participant was seen through reads alone, or is waiting in a `check`.
    Seen {
        /// The time the participant has been waiting in its `check`. Its rooms receive it as a
        /// notice.
        waiting: Option<Span>,
    },
    /// The inbox was read.
    Read {
        /// The caller has received all events up to this one, and will not ask for them again.
        acknowledged: Seq,
        /// An answer with events up to this one was sent to a caller that was still connected.
        delivered: Seq,
    },
}

/// A command. Where `room` is left out, the command applies to the only room that the caller is in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// Enter the queue for a partner.
    EnterQueue(EnterQueue),
    /// Leave the queue.
    LeaveQueue,
    /// Without a handle: register under a name and join a named room. With one: join the room.
    Login {
        /// The display name.
        username: Arc<str>,
        /// The room's name.
        room: Arc<str>,
    },
    /// Send a message.
    SendMessage {
        /// The room.
        room: Option<RoomId>,
        /// The text.
        text: Arc<str>,
        /// The epoch of the grant that the caller believes it holds.
        epoch: Option<Epoch>,
        /// The members that it is addressed to; none for all.
        to: Addressees,
    },
    /// Send a message as soon as the caller holds the stick, and pass the stick on with it. A caller that has
    /// to wait is in the line, and a later `speak` of it replaces the message.
    Speak {
        /// The room.
        room: Option<RoomId>,
        /// The text.
        text: Arc<str>,
        /// The members that it is addressed to; none for all.
        to: Addressees,
    },
    /// Leave a room.
    LeaveChat {
        /// The room that the caller leaves.
        room: Option<RoomId>,
    },
    /// Claim the stick, or read the caller's place in its line.
    TalkingStick {
        /// The room.
        room: Option<RoomId>,
        /// The epoch of the grant that the caller believes to hold.
        epoch: Option<Epoch>,
    },
    /// Append to the caller's draft.
    Append {
        /// The room.
        room: Option<RoomId>,
        /// The text.
        text: Arc<str>,
        /// The epoch of the grant that the caller believes to hold.
        epoch: Option<Epoch>,
    },
    /// Send the draft as a message, and release the stick.
    Push {
        /// The room.
        room: Option<RoomId>,
        /// The epoch of the grant that the caller believes to hold.
        epoch: Option<Epoch>,
        /// The members that it is addressed to; none for all.
        to: Addressees,
    },
    /// Undo the last append.
    Undo {
        /// The room.
        room: Option<RoomId>,
        /// The epoch of the grant that the caller believes to hold.
        epoch: Option<Epoch>,
    },
    /// Clear the draft, and release the stick or withdraw the claim.
    Reset {
        /// The room.
        room: Option<RoomId>,
        /// The epoch of the grant that the caller believes to hold.
        epoch: Option<Epoch>,
    },
    /// Notify the room that the caller is typing.
    Typing {
        /// The room.
        room: Option<RoomId>,
    },
    /// Block a participant: the two are not matched and do not receive each other's messages.
    BlockUser {
        /// The participant to block.
        user: UserId,
    },
    /// Remove the caller's block of a participant.
    UnblockUser {
        /// The participant to unblock.
        user: UserId,
    },
    /// Report a participant to the operators.
    ReportUser {
        /// The participant to report.
        user: UserId,
        /// The reason; at most 500 characters.
        reason: Arc<str>,
    },
    /// Take a break. A caller without a handle is registered, and joins no room.
    TakeBreak {
        /// The kind of break.
        kind: BreakKind,
        /// The caller's own text for the break, in place of the server's: one line, at most
        /// `max_excuse` characters.
        excuse: Option<Arc<str>>,
    },
    /// Leave all rooms and the queue, and end the registration.
    Unregister,
}

impl Command {
    /// The name of its tool.
    #[must_use]
    pub const fn tool(&self) -> &'static str {
        match self {
            Self::EnterQueue(_) => "enter_queue",
            Self::LeaveQueue => "leave_queue",
            Self::Login { .. } => "login",
            Self::SendMessage { .. } => "send_message",
            Self::Speak { .. } => "speak",
            Self::LeaveChat { .. } => "leave_chat",
            Self::TalkingStick { .. } => "talking_stick",
            Self::Append { .. } => "append",
            Self::Push { .. } => "push",
            Self::Undo { .. } => "undo",
            Self::Reset { .. } => "reset",
            Self::Typing { .. } => "typing",
            Self::BlockUser { .. } => "block_user",
            Self::UnblockUser { .. } => "unblock_user",
            Self::ReportUser { .. } => "report_user",
            Self::TakeBreak { kind, .. } => kind.name(),
            Self::Unregister => "unregister",
        }
    }
}

impl Command {
    /// The addressees of a message, to change them; none for a command that sends no message.
    pub const fn to_mut(&mut self) -> Option<&mut Addressees> {
        if let Self::SendMessage { to, .. } | Self::Speak { to, .. } | Self::Push { to, .. } = self
        {
            return Some(to);
        }
        None
    }

    /// The addressees of a message; none for a command that sends no message.
    #[must_use]
    pub const fn to(&self) -> Option<&Addressees> {
        if let Self::SendMessage { to, .. } | Self::Speak { to, .. } | Self::Push { to, .. } = self
        {
            return Some(to);
        }
        None
    }
}

/// The members of a room that a message is addressed to; mostly none, which means all. Shared, because every
/// command has the size of the largest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Addressees(Option<Arc<BTreeSet<UserId>>>);

impl Addressees {
    /// A message to all.
    pub const ALL: Self = Self(None);

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |all| all.len())
    }

    /// Whether the message is to all.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Each of them, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = UserId> {
        self.0.iter().flat_map(|all| all.iter().copied())
    }
}

impl FromIterator<UserId> for Addressees {
    fn from_iter<I: IntoIterator<Item = UserId>>(users: I) -> Self {
        let all: BTreeSet<_> = users.into_iter().collect();
        Self((!all.is_empty()).then(|| Arc::new(all)))
    }
}

/// The arguments of `enter_queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnterQueue {
    /// The public id that the caller wants, at registration only. Ids such as `user_7` are assigned
    /// by the server alone.
    pub user_id: Option<Arc<str>>,
    /// The display name that the caller wants, if it has not chosen one yet.
    pub display_name: Option<Arc<str>>,
    /// The topics that the caller wants to talk about.
    pub interests: Arc<[Arc<str>]>,
}

crate::listed! {
    /// The kinds of breaks. All follow the same rules, and differ only in the texts of their
    /// answers.
    #[derive(Serialize, Deserialize)]
    BreakKind {
        /// A break without a stated purpose.
        TakeABreak "take_a_break",
        /// Watching a series.
        WatchNetflix "watch_netflix",
        /// Looking at a meme.
        ShowMeme "show_meme",
        /// A bathroom break, with a phone.
        BathroomBreak "bathroom_break",
        /// A long walk to fetch a coffee.
        CoffeeMission "coffee_mission",
        /// A private phone call that passes for an urgent one.
        UrgentCall "urgent_call",
        /// Eyes closed, as if in thought.
        DeepThinking "deep_thinking",
        /// Online shopping that passes for sorting mail.
        EmailOrganizing "email_organizing",
        /// Fried chicken and beer.
        Chimaek "chimaek",
        /// Leaving work at once.
        LeaveWork "leave_work",
        /// A dinner with the whole team.
        CompanyDinner "company_dinner",
    }
}

/// An operator's act.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operate {
    /// Mute a participant until it is unmuted.
    Mute {
        /// The participant.
        user: UserId,
        /// The reason, which the participant's rooms receive.
        reason: Arc<str>,
    },
    /// Unmute a participant.
    Unmute {
        /// The participant.
        user: UserId,
    },
    /// Remove a participant from a room.
    Kick {
        /// The participant.
        user: UserId,
        /// The room.
        room: RoomId,
        /// The reason, which the room receives.
        reason: Arc<str>,
    },
    /// Close a room.
    Close {
        /// The room to close.
        room: RoomId,
        /// The reason, which the room receives.
        reason: Arc<str>,
    },
    /// End a participant's registration. Neither its handle nor its name can be registered again.
    BanUser {
        /// The participant.
        user: UserId,
        /// The reason.
        reason: Arc<str>,
    },
    /// Mute all present and future participants of this address, until it is unbanned.
    MuteAddress {
        /// The hash of the address.
        address: Address,
        /// The reason, which the rooms of these participants receive.
        reason: Arc<str>,
    },
    /// Refuse all calls from this address.
    BanAddress {
        /// The hash of the address.
        address: Address,
        /// The reason.
        reason: Arc<str>,
    },
    /// Remove the mute or the ban of a name.
    Unban {
        /// The name, in any spelling.
        name: Arc<str>,
    },
    /// Remove the mute or the ban of an address.
    UnbanAddress {
        /// The hash of the address.
        address: Address,
    },
}

/// Whether entries whose answers have left may be missing at the end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Continuity {
    /// The journal has all of them.
    Whole,
    /// It was restored from a backup, or its damaged end was given up: a life of the server is lost.
    Broken,
}
