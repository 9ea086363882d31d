//! The other members of a cluster, as the driver's client sees them.

use std::fmt;

use async_trait::async_trait;
use chat_core::{Address, Call, Earlier, Reader, Seq};

use super::Answered;
use super::caller_context::CallerContext;
use super::stream_slot::Delivery;

/// A stream of another member's node, or why there is none.
pub type RemoteOpening = Result<(Box<dyn RemoteStream>, CallerContext), Answered>;

/// The way to the node, for the doors of a member that does not have it.
#[async_trait]
pub trait Remote: fmt::Debug + Send + Sync {
    /// Calls the node. A command must have a request key, so that a repetition has no effect.
    /// `earlier` is what is known of the attempts before.
    async fn call(&self, from: Address, call: Call, earlier: Earlier) -> Answered;

    /// Opens a stream at the node.
    async fn open_stream(&self, from: Address, reader: Reader, after: Option<Seq>)
    -> RemoteOpening;
}

/// A stream of another member's node. It is closed on drop.
#[async_trait]
pub trait RemoteStream: fmt::Debug + Send + Sync {
    /// The next delivery. A call that is dropped loses none.
    async fn next(&mut self) -> Delivery;
}
