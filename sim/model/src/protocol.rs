//! The vocabulary of virtual users and servers, independent of transport.
//!
//! It is that of chat-types, with operations and refusals as clients see them. Live runs translate it to
//! and from JSON. Users, histories and properties depend on these types only.

mod event;
mod op;
mod outcome;

pub use chat_types::{
    Addressees, Answer, Attendance, Body, Code, Command, EVENTS, Earlier, EndReason, EnterQueue,
    Epoch, Event, Gap, LostRange, MemberView as Member, Membership, Notice, NoticeKind, Page, Read,
    Reply, Response, RoomId as Room, StickLoss, UserId as User, WasWaiting, Who,
};

pub use event::InboxEvent;
pub use op::{Op, OpKind, Plain, ReadBy};
pub use outcome::{Decided, Outcome, Refusal};

/// A virtual user: its index in the order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent(pub u32);

impl Agent {
    /// The item of this user in a list with one for each user. Extends the list if it is too short.
    pub fn item_of<T: Default>(self, items: &mut Vec<T>) -> &mut T {
        let index = self.0 as usize;
        if index >= items.len() {
            items.resize_with(index + 1, T::default);
        }
        &mut items[index]
    }
}

/// The largest number of events that a virtual user's `check` asks for.
pub const CHECK_MAX: usize = 100;

/// The largest number of events that the world writes to a stream at once.
pub const PUSH_MAX: usize = 64;

/// A call of one agent with all its attempts, numbered from 0 for each agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);
