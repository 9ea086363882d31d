//! The actions of a tiny world, and their written form.

use std::fmt;

/// One step of a path: an action of a client or of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A client makes a call, and receives its answer at once.
    Call(u8, TinyCall),
    /// A client makes a call with a request key. The server handles it, and the answer is lost.
    Lost(u8, TinyCall),
    /// The client whose answer was lost repeats the request under its key.
    Retry(u8),
    /// A client's event stream closes.
    Disconnect(u8),
    /// A client opens its event stream again, after the last event it has.
    Reconnect(u8),
    /// Time passes until the next deadline: a lease, a grace, an idle timeout.
    Deadline,
    /// The server crashes and recovers its committed state; every stream is closed.
    Crash,
}

impl Action {
    /// Whether the action is a fault.
    #[must_use]
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Lost(..) | Self::Disconnect(_) | Self::Crash => true,
            Self::Call(..) | Self::Retry(_) | Self::Reconnect(_) | Self::Deadline => false,
        }
    }
}

chat_types::listed! {
    /// A client's call, by its verb in scenarios.
    TinyCall {
        /// Enters the line.
        Enter "enter_queue",
        /// Leaves the line.
        LeaveQueue "leave_queue",
        /// Enters the one named room.
        Login "login",
        /// Leaves the room.
        Leave "leave_chat",
        /// Claims the stick.
        Claim "talking_stick",
        /// Appends one letter.
        Append "append",
        /// Pushes under the newest grant that the client knows, current or past.
        Push "push",
        /// Gives the stick back.
        Reset "reset",
        /// Sends one letter.
        Send "send",
        /// Blocks the next user.
        Block "block",
        /// Acknowledges all that came before it.
        Check "check",
    }
}

/// The name of a tiny world's user in paths.
#[must_use]
pub fn user_letter(user: u8) -> char {
    char::from(b'a'.saturating_add(user))
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, what) = match *self {
            Self::Call(user, ask) => (Some(user), ask.name()),
            Self::Lost(user, ask) => {
                let (who, what) = (user_letter(user), ask.name());
                return write!(f, "{who}  {what}, and the answer is lost");
            }
            Self::Retry(user) => (Some(user), "the same call again, under the same key"),
            Self::Disconnect(user) => (Some(user), "its stream closes"),
            Self::Reconnect(user) => (Some(user), "its stream opens again"),
            Self::Deadline => (None, "time passes until the next deadline"),
            Self::Crash => (None, "the server crashes and comes back"),
        };
        write!(f, "{}  {what}", who.map_or('-', user_letter))
    }
}
