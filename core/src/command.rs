//! What callers ask for. A command that reaches the journal is one of these.

use std::sync::Arc;

use chat_types::{BreakKind, Config, Span};
use serde::{Deserialize, Serialize};

use crate::id::{Address, Epoch, RequestKey, RoomId, SecretHash, Seq, UserId};

/// One entry of the journal, but for its position and time, which the journal gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// A participant, or somebody who registers, asks for something.
    Call {
        /// Who asks.
        caller: Caller,
        /// The request key, by which a repetition is known.
        key: Option<RequestKey>,
        /// What is asked.
        command: Command,
    },
    /// What a participant's reads and streams imply, said by the node.
    Implied {
        /// Whose.
        user: UserId,
        /// What.
        implied: Implied,
    },
    /// An operator acts.
    Operate {
        /// Which operator, by name.
        operator: Arc<str>,
        /// What it does.
        act: Operate,
    },
    /// Time passed.
    Tick,
    /// The first entry of a journal.
    Started {
        /// The limits kept from here on.
        config: Box<Config>,
        /// The version of the core that wrote the journal.
        version: Arc<str>,
        /// The seed of all randomness.
        seed: u64,
    },
    /// The server is back after downtime: deadlines move by it, streams are as just closed.
    Resumed {
        /// The limits kept from here on.
        config: Box<Config>,
        /// The version of the core that goes on.
        version: Arc<str>,
    },
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caller {
    /// A participant, by the hash of its handle.
    Handle(SecretHash),
    /// Somebody who registers: the hashes of the handle and the reader id minted for it.
    /// A repeated registration finds the handle known, and speaks for its participant.
    New {
        /// The handle's hash.
        handle: SecretHash,
        /// The reader id's hash.
        reader: SecretHash,
        /// Where the registration comes from.
        from: Address,
    },
}

/// What reads and streams imply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Implied {
    /// An event stream opens, for a caller that waits for it.
    OpenStream,
    /// An event stream closed.
    CloseStream,
    /// A participant was heard of through reads alone, or waits in a `check` since so long.
    Seen {
        /// How long the participant has been waiting; told to its rooms.
        waiting: Option<Span>,
    },
    /// The inbox was read.
    Read {
        /// The caller has everything up to here, and will not ask for it again.
        acknowledged: Seq,
        /// An answer up to here went to a caller who was still there.
        delivered: Seq,
    },
}

/// What is asked. Where `room` is left out, the one room the caller is in is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Stand in the line for a partner.
    EnterQueue(EnterQueue),
    /// Leave the line.
    LeaveQueue,
    /// Register under a name and join a named room; with a handle, just join.
    Login {
        /// The display name.
        username: Arc<str>,
        /// The room's name.
        room: Arc<str>,
    },
    /// Say something at once.
    SendMessage {
        /// Where.
        room: Option<RoomId>,
        /// What.
        text: Arc<str>,
        /// The grant under which the caller believes to speak.
        epoch: Option<Epoch>,
    },
    /// Leave a room.
    LeaveChat {
        /// The room that the caller leaves.
        room: Option<RoomId>,
    },
    /// Claim the stick, or ask for one's place in its line.
    TalkingStick {
        /// Where.
        room: Option<RoomId>,
        /// The grant that the caller believes to have.
        epoch: Option<Epoch>,
    },
    /// Add to one's draft.
    Append {
        /// Where.
        room: Option<RoomId>,
        /// What.
        text: Arc<str>,
        /// The grant under which the caller believes to speak.
        epoch: Option<Epoch>,
    },
    /// Send the draft, and release the stick.
    Push {
        /// Where.
        room: Option<RoomId>,
        /// The grant under which the caller believes to speak.
        epoch: Option<Epoch>,
    },
    /// Take the last append back.
    Undo {
        /// Where.
        room: Option<RoomId>,
        /// The grant that the caller believes to have.
        epoch: Option<Epoch>,
    },
    /// Clear the draft, and release the stick or withdraw the claim.
    Reset {
        /// Where.
        room: Option<RoomId>,
        /// The grant that the caller believes to have.
        epoch: Option<Epoch>,
    },
    /// Tell the room that one is typing.
    Typing {
        /// Where.
        room: Option<RoomId>,
    },
    /// Neither meet nor hear a participant again.
    BlockUser {
        /// The participant to block.
        user: UserId,
    },
    /// Meet and hear a participant again that the caller has blocked.
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
    /// Take a break. A caller without a handle is registered, in no room.
    TakeBreak {
        /// The kind of break.
        kind: BreakKind,
        /// What to say of it in place of the server's own words: one line, of `max_excuse`
        /// characters at most.
        excuse: Option<Arc<str>>,
    },
    /// Just be here. A caller without a handle is registered, in no room.
    Arrive,
    /// Leave everything, and be forgotten.
    Unregister,
}

/// What `enter_queue` takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EnterQueue {
    /// The public id one would have; only at registration. Ids like `user_7` are the server's.
    pub user_id: Option<Arc<str>>,
    /// The display name one would have; only while one has none.
    pub display_name: Option<Arc<str>>,
    /// What one would talk about.
    pub interests: Arc<[Arc<str>]>,
}

/// What operators do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operate {
    /// A participant may not speak until it is unmuted.
    Mute {
        /// The participant.
        user: UserId,
        /// The reason, which the participant's rooms receive.
        reason: Arc<str>,
    },
    /// A muted participant may speak again.
    Unmute {
        /// The participant.
        user: UserId,
    },
    /// A participant is removed from a room.
    Kick {
        /// The participant.
        user: UserId,
        /// The room that it is removed from.
        room: RoomId,
        /// The reason, which the room receives.
        reason: Arc<str>,
    },
    /// A room ends.
    Close {
        /// The room to close.
        room: RoomId,
        /// The reason, which the room receives.
        reason: Arc<str>,
    },
    /// A participant is forgotten, and neither its handle nor its name may be registered again.
    BanUser {
        /// The participant.
        user: UserId,
        /// The reason.
        reason: Arc<str>,
    },
    /// The participants registered from this address may not speak, now and later, until it is
    /// unbanned.
    MuteAddress {
        /// The hash of the address.
        address: Address,
        /// The reason, which the rooms of these participants receive.
        reason: Arc<str>,
    },
    /// Nothing from this address is admitted any more.
    BanAddress {
        /// The hash of the address.
        address: Address,
        /// The reason.
        reason: Arc<str>,
    },
    /// A name is neither muted nor banned any more.
    Unban {
        /// The name, in any spelling.
        name: Arc<str>,
    },
    /// The address is neither muted nor banned any more.
    UnbanAddress {
        /// The hash of the address.
        address: Address,
    },
}
