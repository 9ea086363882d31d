//! Types that the chat server and its judges share: instants, spans, ids, events and gaps, operators'
//! acts, the configuration with every limit, the kinds of breaks, whether a journal is whole, and the
//! function that folds words into a hash. None of them decides anything.

mod break_kind;
mod call;
mod continuity;
mod event;
mod id;
mod listed;
mod mix;
mod operate;
mod time;

pub mod config;

pub use break_kind::BreakKind;
pub use call::{Earlier, Ticket};
pub use config::{Config, ConfigError};
pub use continuity::Continuity;
pub use event::{
    Attendance, Body, EVENTS, EndReason, Event, Gap, LostRange, Membership, NoticeKind, StickLoss,
    Who,
};
pub use id::{
    Address, Epoch, MessageId, Position, RequestKey, RoomId, RoomSeq, SecretHash, Seq, UserId,
};
pub use mix::{mix, mix_bytes, mix_lanes};
pub use operate::Operate;
pub use time::{Span, Time};
