//! Types that the chat server and its judges share: instants, spans, ids, events and gaps, calls and
//! their answers, pages, entries of the journal, operators' acts, what operators and members read, the codes of
//! refusals, the configuration with every limit, the kinds of breaks, whether a journal is whole, and the
//! function that folds words into a hash. None of them decides anything.

mod break_kind;
mod call;
mod command;
mod continuity;
mod event;
mod id;
mod listed;
mod mix;
mod operate;
mod page;
mod reply;
mod time;
mod view;

pub mod config;
pub mod reject;

pub use break_kind::BreakKind;
pub use call::{Call, Earlier, Read, Reader, Ticket};
pub use command::{Caller, Command, EnterQueue, Entry, Implied};
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
pub use page::{Item, Page};
pub use reject::{Code, Reject};
pub use reply::{Answer, Notice, Reply, Response, WasWaiting};
pub use time::{Span, Time};
pub use view::{Counts, Floor, LINE_SHOWN, MemberView, ParticipantView, Report, RoomView};
