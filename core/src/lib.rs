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

use chat_types::reject;

pub use chat_types::reject::{
    Accepted, Argument, Ending, LineFault, NameFault, NameHolder, Reject,
};
pub use chat_types::{
    Address, Answer, Attendance, Body, BreakKind, Call, Caller, Code, Command, Config, ConfigError,
    Continuity, Counts, Earlier, EndReason, EnterQueue, Entry, Epoch, Event, Floor, Gap, Implied,
    Item, LINE_SHOWN, LostRange, MemberView, Membership, MessageId, Notice, NoticeKind, Operate,
    Page, ParticipantView, Position, Read, Reader, Reply, Report, RequestKey, Response, RoomId,
    RoomSeq, RoomView, SecretHash, Seq, Span, StickLoss, StickMove, Ticket, Time, TimerKind,
    UserId, WasWaiting, Who, config,
};
pub use counters::Counters;
pub use digest::{mix, mix_bytes, mix_lanes};
pub use hub::{
    Effect, Hub, KeptRoom, LastNumbers, ParticipantOutline, RestoreError, RoomKind, RoomOutline,
    Size,
};
pub use moderation::{Ban, Measure, MeasurePlace, MeasureTarget};
pub use node::{Departure, InFlight, Load, Node, Output, VERSION};
