//! The vocabulary of virtual users and servers, independent of transport.
//!
//! The virtual world translates it to the core's calls, and the core's answers to it
//! (`sim/world/src/translate.rs`); live runs translate it to and from JSON. Users, histories and properties depend on these types only.

mod answer;
mod event;
mod op;

pub use chat_types::{
    Attendance, Body, Code, Command, EVENTS, Earlier, EndReason, EnterQueue, Epoch, Event, Gap,
    LostRange, MemberView as Member, Membership, NoticeKind, RoomId as Room, StickLoss,
    UserId as User, Who,
};

pub use answer::{Answer, Outcome, Refusal};
pub use event::InboxEvent;
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

/// A transient notice. It has no place in a room's order and in inboxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The room.
    pub room: Room,
    /// The sender.
    pub user: Arc<Who>,
    /// The kind of notice.
    pub kind: NoticeKind,
    /// The instant, by the server's clock.
    pub at: Time,
}
