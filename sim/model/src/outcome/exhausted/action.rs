//! What can happen next in a tiny world, and how it is written.

use std::fmt;

/// One step of a path: somebody does something, or the world does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A client calls, and its answer comes back at once.
    Call(u8, Ask),
    /// A client calls with a request key; the server does it, and the answer is lost.
    Lost(u8, Ask),
    /// The client whose answer was lost sends the same request again, under the same key.
    Retry(u8),
    /// A client's event stream closes.
    Disconnect(u8),
    /// A client opens its event stream again, from behind the last event it has.
    Reconnect(u8),
    /// Time passes until the next deadline: a lease, a grace, an idle timeout.
    Deadline,
    /// The server dies and comes back from what it had committed: every stream is gone.
    Crash,
}

impl Action {
    /// Whether something goes wrong.
    #[must_use]
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Lost(..) | Self::Disconnect(_) | Self::Crash => true,
            Self::Call(..) | Self::Retry(_) | Self::Reconnect(_) | Self::Deadline => false,
        }
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    /// `enter_queue`
    Enter,
    /// `leave_queue`
    LeaveQueue,
    /// `login` to the one named room
    Login,
    /// `leave_chat`
    Leave,
    /// `talking_stick`
    Claim,
    /// `append` of one letter
    Append,
    /// `push`, under the newest grant that the client was told of, over or not
    Push,
    /// `reset`
    Reset,
    /// `send`
    Send,
    /// `block`, of the user who comes next
    Block,
    /// `check`, which acknowledges all that came before it
    Check,
}

impl Ask {
    /// The verb as scenarios write it.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Enter => "enter_queue",
            Self::LeaveQueue => "leave_queue",
            Self::Login => "login",
            Self::Leave => "leave_chat",
            Self::Claim => "talking_stick",
            Self::Append => "append",
            Self::Push => "push",
            Self::Reset => "reset",
            Self::Send => "send",
            Self::Block => "block",
            Self::Check => "check",
        }
    }
}

/// The name of a tiny world's user, as paths write it.
#[must_use]
pub fn user_letter(user: u8) -> char {
    char::from(b'a'.saturating_add(user))
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Call(user, ask) => write!(f, "{}  {}", user_letter(user), ask.verb()),
            Self::Lost(user, ask) => {
                write!(
                    f,
                    "{}  {}, and the answer is lost",
                    user_letter(user),
                    ask.verb()
                )
            }
            Self::Retry(user) => {
                write!(
                    f,
                    "{}  the same call again, under the same key",
                    user_letter(user)
                )
            }
            Self::Disconnect(user) => write!(f, "{}  its stream closes", user_letter(user)),
            Self::Reconnect(user) => write!(f, "{}  its stream opens again", user_letter(user)),
            Self::Deadline => write!(f, "-  time passes until the next deadline"),
            Self::Crash => write!(f, "-  the server crashes and comes back"),
        }
    }
}
