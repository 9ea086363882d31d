//! Refusals of commands: their codes, and the sentences that say why.

use serde::{Deserialize, Serialize};

use crate::{Earlier, EndReason, Reply, Span};

macro_rules! rejects {
    ($(
        $(#[$doc:meta])*
        $variant:ident $({ $($field:ident : $type:ty),* })? $word:literal $message:literal;
    )*) => {
        crate::listed! {
            /// The code of a refusal.
            Code { $($(#[$doc])* $variant $word,)* }
        }

        /// A refusal. It changes only the envelope's state and the remembered outcomes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
        #[expect(missing_docs, reason = "the message says what the fields are")]
        pub enum Reject { $($(#[$doc])* #[error($message)] $variant $({ $($field: $type),* })?,)* }

        impl Reject {
            /// Its code.
            #[must_use]
            pub const fn kind(&self) -> Code {
                match self { $(Self::$variant $({ $($field: _),* })? => Code::$variant,)* }
            }
        }
    };
}

// Snapshots and answers of a cluster hold the number of a variant: another order needs another FORMAT in
// core/src/hub/snapshot.rs.
rejects! {
    /// The room does not exist, or it ended and is no longer remembered.
    RoomNotFound "room_not_found" "Room not found";
    /// The pair room ended.
    ChatEnded { ending: Ending } "chat_ended" "Chat has ended: {ending}";
    /// The room exists, and the caller is not a member.
    NotInRoom "not_in_room" "You are not in that room; log in to it first";
    /// The call named no room, and the caller is not in exactly one.
    RoomAmbiguous { rooms: u32 } "room_ambiguous" "You are in {rooms} rooms; say which by room_id";
    /// The caller does not hold the stick, or not under the epoch that it named.
    StickRequired "stick_required"
        "You do not hold the talking stick; claim it and wait for the grant";
    /// A pair room has no stick.
    NoStick "no_stick" "A pair room has no talking stick; just send";
    /// The caller is in the queue.
    AlreadyWaiting "already_waiting" "You are in the queue already; wait for chatroom.found";
    /// The caller is in a live pair room.
    AlreadyChatting "already_chatting" "You are in a chat already; leave it before you queue again";
    /// The public id is taken, or reserved for the server.
    UserIdTaken "user_id_taken"
        "That user_id is taken, looks like another's name or user_id, is the server's own (user_ and a number, or a word such as system), or an operator has banned it";
    /// The name is taken.
    NameTaken { holder: NameHolder } "name_taken" "That name is taken: {holder}";
    /// The name breaks a rule for names.
    NameNotAllowed { why: NameFault } "name_not_allowed" "That name is not allowed: {why}";
    /// No participant has this id.
    UserNotFound "user_not_found" "There is no such participant";
    /// The call needs a handle.
    HandleRequired "handle_required"
        "Pass your handle; login, enter_queue or a break gives you one, under a request_key that was not used before";
    /// No participant has this handle, or its registration ended.
    UnknownHandle "unknown_handle" "This handle is unknown or was forgotten; register again";
    /// An argument is not acceptable.
    InvalidArguments { argument: Argument, accepted: Accepted } "invalid_arguments"
        "{argument} must be {accepted}";
    /// The cursor lies beyond the end of the inbox.
    InvalidCursor { end: u64 } "invalid_cursor"
        "That cursor lies beyond the end of your inbox, which is {end}";
    /// The key was used with other arguments.
    RequestKeyReused "request_key_reused"
        "That request_key was used for another request; choose a fresh one";
    /// The message has no visible character.
    MessageEmpty "message_empty" "A message needs at least one visible character";
    /// The message exceeds the limit.
    MessageTooLong { limit: u32 } "message_too_long" "A message has at most {limit} characters";
    /// The draft is empty.
    DraftEmpty "draft_empty" "Your draft is empty; append to it first";
    /// The append does not fit into the draft.
    DraftFull { limit: u32 } "draft_full"
        "A draft has at most {limit} characters; push it, or undo";
    /// The caller is muted: it may neither speak nor open a room.
    Muted "muted"
        "An operator has muted you; you can read and join rooms, but not speak or open one";
    /// The caller is banned.
    Blocked "blocked" "An operator has banned you from this server";
    /// Too many calls, or too many streams.
    RateLimited { retry_after: Span, earlier: Earlier } "rate_limited"
        "Too many calls; try again in {retry_after}";
    /// The queue is full.
    QueueFull { limit: u32 } "queue_full" "The queue is full ({limit} wait); try again later";
    /// The room is full, or the caller is in as many rooms as it may be.
    RoomFull { limit: u32 } "room_full"
        "At most {limit} fit: the room is full, or you are in as many rooms as you may be";
    /// The largest number of participants is registered from the caller's address, and none of them
    /// gives way.
    AddressFull { limit: u32 } "address_full"
        "At most {limit} may be registered from your address, and all of them are in use. Do not register again: pass the handle of one of them, unregister one, or wait until one has gone away";
    /// The largest number of participants or rooms exists.
    ServerFull "server_full" "The server is full; try again later";
    /// Too many commands are pending.
    Overloaded { retry_after: Span, earlier: Earlier } "overloaded"
        "The server has too much to do; try again in {retry_after}";
    /// The journal cannot be written.
    StorageUnavailable { retry_after: Span, earlier: Earlier } "storage_unavailable"
        "The server cannot write its journal just now, and did nothing; try again in {retry_after}";
    /// The server is shutting down.
    ShuttingDown { earlier: Earlier } "shutting_down"
        "The server is shutting down; try again in a moment";
}

/// What was asked for, such as the answer to a command, or the refusal.
pub type Outcome<T = Reply> = Result<T, Reject>;

/// Refuses if this holds.
///
/// # Errors
/// The refusal.
#[inline]
pub fn refuse_if<E>(holds: bool, why: E) -> Result<(), E> {
    if holds { Err(why) } else { Ok(()) }
}

impl Code {
    /// Whether a repetition of the request, with its key, is decided again.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::StorageUnavailable | Self::ShuttingDown
        )
    }
}

impl Reject {
    /// The code on the wire.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind().name()
    }

    /// The delay after which to retry, where it is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        if let Self::RateLimited { retry_after, .. }
        | Self::Overloaded { retry_after, .. }
        | Self::StorageUnavailable { retry_after, .. } = self
        {
            return Some(*retry_after);
        }
        None
    }

    fn earlier_mut(&mut self) -> Option<&mut Earlier> {
        if let Self::RateLimited { earlier, .. }
        | Self::Overloaded { earlier, .. }
        | Self::StorageUnavailable { earlier, .. }
        | Self::ShuttingDown { earlier } = self
        {
            return Some(earlier);
        }
        None
    }

    /// What is known of earlier attempts of the refused call.
    #[must_use]
    pub fn earlier(&self) -> Earlier {
        let mut copy = *self;
        copy.earlier_mut().copied().unwrap_or_default()
    }

    /// Adds to a refusal that can be retried what is known of earlier attempts.
    #[must_use]
    pub fn with_earlier(mut self, known: Earlier) -> Self {
        if let Some(earlier) = self.earlier_mut() {
            *earlier = known;
        }
        self
    }

    /// The refusal of an argument.
    #[must_use]
    pub const fn invalid(argument: Argument, accepted: Accepted) -> Self {
        Self::InvalidArguments { argument, accepted }
    }

    /// `rate_limited`, before anybody has looked for earlier attempts.
    #[must_use]
    pub const fn rate_limited(retry_after: Span) -> Self {
        Self::RateLimited {
            retry_after,
            earlier: Earlier::Unasked,
        }
    }

    /// `overloaded`, before anybody has looked for earlier attempts.
    #[must_use]
    pub const fn overloaded(retry_after: Span) -> Self {
        Self::Overloaded {
            retry_after,
            earlier: Earlier::Unasked,
        }
    }

    /// `storage_unavailable`, before anybody has looked for earlier attempts.
    #[must_use]
    pub const fn storage_unavailable(retry_after: Span) -> Self {
        Self::StorageUnavailable {
            retry_after,
            earlier: Earlier::Unasked,
        }
    }

    /// `shutting_down`, before anybody has looked for earlier attempts.
    #[must_use]
    pub const fn shutting_down() -> Self {
        let earlier = Earlier::Unasked;
        Self::ShuttingDown { earlier }
    }
}

/// How a pair room ended, to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ending {
    /// The reason.
    pub reason: EndReason,
    /// How long a member may be silent.
    pub silence: Span,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.reason {
            EndReason::Left => f.write_str("one of you left it"),
            EndReason::Blocked => f.write_str("one of you blocked the other"),
            EndReason::TurnLimit => f.write_str("it reached its limit of messages"),
            EndReason::Closed => f.write_str("an operator closed it"),
            EndReason::Timeout => write!(
                f,
                "one of you was away, after no call for {} or a lost connection",
                self.silence
            ),
        }
    }
}

/// Who has a name that was asked for, and how long at most, if nobody speaks for it any more.
/// Of several holders the last one in this order is named.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
pub enum NameHolder {
    /// A participant from the caller's address, which is there for so long without another call.
    #[error(
        "one from your own address has it, or one that looks like it. If that is you, pass your \
         handle; else choose another. If it stays silent, it gives way to you in {0}"
    )]
    SameAddress(Span),
    /// A participant from another address.
    #[error(
        "another has it, or one that looks like it. If that is you, pass your handle; else choose \
         another. Whoever is away for {0} loses its name, and an operator can free it sooner"
    )]
    Other(Span),
    /// It has the form of the names that the server gives.
    #[error("user_ and a number is a name that only the server gives; choose another")]
    Server,
}

/// Which rule a name breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
pub enum NameFault {
    /// The length.
    #[error("it must have 1 to 64 characters")]
    Length,
    /// It must be one visible line.
    #[error("it must be one line of visible characters, with single spaces at most inside")]
    Line,
    /// The allowed characters.
    #[error(
        "it may have letters and digits that Unicode allows in identifiers, ASCII punctuation \
         and emoji of one character"
    )]
    Characters,
    /// It must have a letter or a digit.
    #[error("it needs a letter or a digit")]
    Bare,
    /// A combining mark without a letter, or too many on one.
    #[error("a combining mark must follow a letter or a digit, at most four on each")]
    Marks,
    /// Letters of several scripts in one word.
    #[error("each of its words must keep to the letters of one script")]
    Scripts,
    /// It looks like a reserved word.
    #[error("it has a word that is reserved for the server, or looks like one")]
    Reserved,
    /// An operator banned it.
    #[error("an operator has banned it")]
    Banned,
    /// The participant has a chosen name already, which cannot change.
    #[error("your handle has a name already, which cannot be changed")]
    Kept,
}

/// What keeps a text from being a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
pub enum LineFault {
    /// It has no character.
    #[error("is empty")]
    Empty,
    /// It has too many characters.
    #[error("is longer")]
    Long,
    /// It has a control, or a character that shows nothing.
    #[error("has a line break, or another character that shows nothing")]
    Hidden,
    /// Spaces that nobody sees.
    #[error("has a space at its beginning or end, or two in a row")]
    Spaces,
}

/// The argument at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[expect(missing_docs, reason = "each is the argument of that name")]
pub enum Argument {
    #[error("user_id")]
    UserId,
    #[error("the number of users that a message is addressed to")]
    To,
    #[error("interests")]
    Interests,
    #[error("room")]
    Room,
    #[error("reason")]
    Reason,
    #[error("text")]
    Text,
    #[error("excuse")]
    Excuse,
    #[error("the number of users you block")]
    Blocks,
    #[error("the number of bans and mutes that are kept")]
    Bans,
    #[error("the number of reports from your address that are kept")]
    Reports,
}

/// The accepted values of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
pub enum Accepted {
    /// A number up to this one.
    #[error("at most {0}")]
    AtMost(u32),
    /// A text of at most this many characters.
    #[error("1 to {0} characters on one line")]
    Characters(u32),
    /// A line of at most so many characters, and what was wrong with the text.
    #[error("1 to {0} visible characters on one line, with single spaces inside; it {1}")]
    Line(u32, LineFault),
    /// A public id.
    #[error("1 to 64 letters, digits, dots, dashes and underscores")]
    PublicId,
    /// A list of at most this many short texts.
    #[error("a list of at most {0}, each of 1 to 64 characters on one line")]
    List(u32),
    /// Another participant.
    #[error("another participant")]
    AnotherParticipant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_says_when_to_try_again_and_what_is_known_of_earlier_attempts() {
        let retry_after = Span::secs(3);
        let passing = [
            Reject::rate_limited(retry_after),
            Reject::overloaded(retry_after),
            Reject::storage_unavailable(retry_after),
            Reject::shutting_down(),
        ];
        for reject in passing {
            let wanted = (reject.code() != "shutting_down").then_some(retry_after);
            assert_eq!(reject.retry_after(), wanted, "{reject}");
            for known in [Earlier::Unasked, Earlier::None, Earlier::Unknown] {
                assert_eq!(reject.with_earlier(known).earlier(), known);
            }
        }
        let lasting = Reject::NoStick;
        assert_eq!(lasting.with_earlier(Earlier::Unknown), lasting);
        assert_eq!(lasting.earlier(), Earlier::Unasked);
    }
}
