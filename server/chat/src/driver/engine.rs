//! What the driver drives: a node with its journal, or a member of a cluster with the shared log. And the
//! other members of a cluster, as the driver's client sees them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat_core::{Address, Call, Earlier, Node, Output, Reader, Seq, Ticket};
use server_storage::clock::Clock;
use server_storage::journal::NoWrite;

use super::Answered;
use super::caller_context::CallerContext;
use super::stream_slot::Delivery;
use crate::view::View;

/// Wakes the driver, from any thread, because something was reported to the engine.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// An output of an engine.
#[derive(Debug)]
pub enum EngineOutput {
    /// An output of the node.
    Node(Output),
    /// Another member has to take the call.
    Moved {
        /// The call.
        ticket: Ticket,
        /// What is known of the request.
        earlier: Earlier,
    },
}

/// The part of a server that decides and remembers. The driver calls nothing else of it.
pub trait Engine: Send {
    /// Receives, once, what wakes the driver.
    fn attach(&mut self, wake: Wake);

    /// The committed state.
    fn view(&self) -> View<'_>;

    /// The number of states that this engine has taken over whole, such as a snapshot's.
    fn states(&self) -> u64 {
        0
    }

    /// The node; none while another member has it.
    fn node(&mut self) -> Option<&mut Node>;

    /// Accepts a call. Its answer follows as an output.
    fn submit(&mut self, clock: &Clock, ticket: Ticket, from: Address, call: Call);

    /// The caller disconnected.
    fn cancel(&mut self, ticket: Ticket);

    /// Takes all that was reported since the last time.
    fn take_reports(&mut self, clock: &Clock);

    /// The clock went forward by a step, since the last input.
    fn clock_stepped(&mut self) {
        if let Some(node) = self.node() {
            node.clock_stepped();
        }
    }

    /// Does what is due.
    fn handle_timeout(&mut self, clock: &Clock);

    /// Begins the next append, if there is one. True if its fate is known already.
    fn append(&mut self, clock: &Clock) -> bool;

    /// The next output.
    fn poll_output(&mut self) -> Option<EngineOutput>;

    /// The time until `handle_timeout` is due.
    fn sleep(&mut self, clock: &Clock) -> Option<Duration>;

    /// Takes nothing new, and finishes what it has.
    fn shut_down(&mut self, clock: &Clock);

    /// Whether all that was taken is finished. It ends long polls and streams.
    fn finish(&mut self, clock: &Clock) -> bool;

    /// Ends. Nothing follows.
    ///
    /// # Errors
    /// What was accepted is not where the next start looks for it.
    fn close(&mut self) -> Result<(), NoWrite>;
}

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
