//! The vocabulary of virtual users and servers, independent of transport.
//!
//! The virtual world translates it to and from the core's types (`translate.rs`), and live runs to
//! and from JSON. Users, histories and properties depend on these types only.

mod answer;
mod event;
mod op;
mod verbs;

pub use chat_types::{
    Attendance, Earlier, EndReason, LostRange, Membership, NoticeKind, RoomId as Room, StickLoss,
    UserId as User,
};

pub use answer::{Answer, Member, Outcome, PastMessage, Refusal};
pub use event::{InboxEvent, Moderated, Presence, StickChange};
pub use op::{ArgumentSource, Op, OpKind, Plain, ReadBy};

use std::sync::Arc;

use chat_types::Time;

/// A virtual user: its index in the order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(pub u32);

/// The largest number of events that a virtual user's `check` asks for.
pub const CHECK_MAX: usize = 100;

/// The largest number of events that the world writes to a stream at once.
pub const PUSH_MAX: usize = 64;

/// A call of one agent with all its attempts, numbered from 0 for each agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// A participant as others see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shown<T> {
    /// The public id, where the participant chose one; `user_7` otherwise.
    pub chosen_id: Option<T>,
    /// The display name.
    pub name: T,
}

impl Shown<Arc<str>> {
    /// A view that borrows its texts.
    #[must_use]
    pub fn as_ref(&self) -> Shown<&str> {
        Shown {
            chosen_id: self.chosen_id.as_deref(),
            name: &self.name,
        }
    }
}

impl Shown<&str> {
    /// A participant whose name is unknown.
    pub const NAMELESS: Shown<&'static str> = Shown {
        chosen_id: None,
        name: "",
    };

    /// A copy that owns its texts.
    #[must_use]
    pub fn to_owned(&self) -> Shown<Arc<str>> {
        Shown {
            chosen_id: self.chosen_id.map(Into::into),
            name: self.name.into(),
        }
    }
}

/// A transient notice. It has no place in a room's order and in inboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The room.
    pub room: Room,
    /// The sender.
    pub user: User,
    /// The sender as others see it.
    pub shown: Shown<Arc<str>>,
    /// The kind of notice.
    pub kind: NoticeKind,
    /// The instant, by the server's clock.
    pub at: Time,
}
