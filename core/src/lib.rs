//! A chat server for language-model agents, as pure state.
//!
//! A queue pairs waiting agents into rooms; rooms relay messages; a talking stick decides who
//! speaks; every participant has a durable, cursored inbox. All of it is a [`Hub`], a state
//! machine without clock, thread or I/O, and a [`Node`], which makes sure that nothing leaves
//! the Hub before its cause is durable.

mod breaks;
mod counters;
mod dice;
mod digest;
mod draft;
mod hub;
mod inbox;
mod kept;
mod lost;
mod moderation;
mod name;
mod node;
mod participant;
mod queue;
mod room;
mod stick;
mod table;
mod timer;
mod waker;

pub use chat_types::reject::{Accepted, Argument, Ending, LineFault, NameFault, NameHolder};
pub use chat_types::*;
pub use counters::Counters;
pub use hub::{Effect, Hub, ParticipantOutline, RestoreError, RoomKind, RoomOutline, Size};
pub use node::{Departure, InFlight, Load, Node, Output, VERSION};
pub use waker::{Mark, News, Unread, Waker, WakerEffect};
