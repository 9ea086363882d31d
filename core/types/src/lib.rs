//! Types that the chat server and its judges share: instants, spans, ids, the configuration with
//! every limit, the kinds of breaks, whether a journal is whole, and the function that folds words into a
//! hash. None of them decides anything.

mod break_kind;
mod continuity;
mod id;
mod listed;
mod mix;
mod time;

pub mod config;

pub use break_kind::BreakKind;
pub use config::{Config, ConfigError};
pub use continuity::Continuity;
pub use id::{
    Address, Epoch, MessageId, Position, RequestKey, RoomId, RoomSeq, SecretHash, Seq, UserId,
};
pub use mix::{mix, mix_bytes, mix_lanes};
pub use time::{Span, Time};
