//! What the driver drives: a node with its journal, or a member of a cluster with the shared log.

use std::sync::Arc;
use std::time::Duration;

use chat_core::{Address, Call, Earlier, Node, Output, Ticket};
use server_storage::clock::Clock;
use server_storage::journal::NoWrite;

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
