//! Types that the chat server and its judges share: instants, spans, ids, events and gaps, calls and
//! their answers, pages, entries of the journal, operators' acts, their mutes and bans, what operators
//! and members read, what a restart and an archive take over, when an owner answers reads, the codes of
//! refusals, the configuration with every limit, the kinds of breaks and timers, the moves of a stick,
//! whether a journal is whole, and the function that folds words into a hash. None of them decides
//! anything.

mod call;
mod command;
mod counted;
mod event;
mod id;
mod listed;
mod measure;
mod mix;
mod reply;
mod time;

pub mod config;
pub mod reject;

pub use call::{Call, Earlier, OwnerReads, Read, Reader, Ticket};
pub use command::{
    Addressees, BreakKind, Caller, Command, Continuity, EnterQueue, Entry, Implied, Operate,
};
pub use config::{Config, ConfigError};
pub use counted::{StickMove, TimerKind};
pub use event::{
    Attendance, Body, EVENTS, EndReason, Event, Gap, LostRange, Membership, NoticeKind, StickLoss,
    Who,
};
pub use id::{
    Address, Epoch, MessageId, Position, RequestKey, RoomId, RoomSeq, SecretHash, Seq, UserId,
};
pub use measure::{Ban, Measure, MeasurePlace, MeasureTarget};
pub use mix::{mix, mix_bytes, mix_lanes};
pub use reject::{Code, Reject};
pub use reply::{
    Answer, Counts, Floor, Item, KeptRoom, LINE_SHOWN, LastNumbers, MemberView, Notice, Page,
    ParticipantView, Reply, Report, Response, RoomView, WasWaiting,
};
pub use time::{Span, Time};
