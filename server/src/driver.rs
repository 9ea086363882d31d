//! The driver: a task that owns the node alone.
//!
//! Other tasks hold a [`NodeClient`]: calls enter over a bounded channel, and answers return when
//! their cause is committed. Waiting tasks are woken by events and never poll.
//!
//! It is a task and not a thread, because each call goes to the driver and back. Between threads,
//! each way costs a wake-up and a context switch of the kernel, which took longer than all the
//! rest. A task mostly runs on the thread that woke it. The driver never blocks: a journal that
//! blocks has its own thread.
//!
//! ```text
//! NodeClient ──calls──► channel ──► Node ──batches──► Journal
//!     ▲                              │ ▲                 │
//!     └── answers, pages of streams ─┘ └──── fates ──────┘
//! ```

mod caller_context;
mod client;
mod stream_slot;
mod turn;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Instant;

use chat_core::{Call, Node, Reject, Response, Ticket, UserId};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::journal::{Fate, FateReporter, Journal};
use crate::metrics::Metrics;

pub use caller_context::{AnswerFacts, CallerContext, Me, RoomKind, RoomLabel};
pub use client::{EventStream, NodeClient};
pub use stream_slot::{Delivery, Ending};

use stream_slot::StreamSlot;
use turn::Turn;

/// The largest number of calls in the channel; beyond it calls are refused as `overloaded`.
pub const MAX_QUEUED: usize = 16_384;

/// The answer to a call, with the caller's context.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The outcome.
    pub outcome: Result<Response, Reject>,
    /// The caller's identity and rooms after the call.
    pub context: CallerContext,
}

/// A call about a participant that is named by its public id, which only the node can resolve.
pub type Naming = Box<dyn FnOnce(UserId) -> Call + Send>;

/// A request to the node.
pub enum Request {
    /// A call.
    Call(Call),
    /// A call about the participant with this public id.
    About(Box<str>, Naming),
}

/// A function that reads the node between two turns.
type Look = Box<dyn FnOnce(&Node) + Send>;

/// An input of the driver.
enum Input {
    Call {
        ticket: Ticket,
        from: chat_core::Address,
        request: Request,
        sent: Instant,
        reply: oneshot::Sender<Answered>,
    },
    Open {
        ticket: Ticket,
        from: chat_core::Address,
        call: Call,
        slot: Arc<StreamSlot>,
        reply: oneshot::Sender<Answered>,
    },
    Look(Look),
    /// The caller disconnected.
    Cancel(Ticket),
    /// The stream's reader disconnected.
    Close(Ticket),
    /// The stream's reader can take the next page.
    Ready(Ticket),
    /// The fate of the batch in flight.
    Appended(Fate),
    /// Shut down: refuse new calls, finish admitted ones, and end at `by` at the latest.
    Stop {
        by: std::time::Instant,
    },
}

/// State shared by the clients and the driver.
#[derive(Debug)]
struct Shared {
    clock: Clock,
    metrics: Arc<Metrics>,
    tickets: AtomicU64,
    queued: AtomicUsize,
}

/// A running driver.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

impl Running {
    /// Waits until the driver has died, which only a bug can cause.
    pub async fn died(&mut self) -> Died {
        // The driver ended without a request to stop.
        let _ = (&mut self.0).await;
        Died
    }

    /// Waits until the driver has stopped on request.
    ///
    /// # Errors
    /// The driver died of a broken invariant.
    pub async fn ended(self) -> Result<(), Died> {
        self.0.await.map_err(|_| Died)
    }
}

/// The driver panicked: an invariant of the core is broken, and its state is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's state is damaged, and is not served any more; the log says by what")]
pub struct Died;

/// Starts the driver over the node and the journal. Must be called on a runtime, where the driver
/// runs.
pub fn start(
    node: Node,
    mut journal: Box<dyn Journal>,
    clock: Clock,
    metrics: Arc<Metrics>,
) -> (NodeClient, Running) {
    let (sender, inputs) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        clock,
        metrics,
        tickets: AtomicU64::new(1),
        queued: AtomicUsize::new(0),
    });
    let later = sender.clone();
    journal.attach(FateReporter::new(move |fate| {
        // A driver that has stopped needs no fates.
        let _ = later.send(Input::Appended(fate));
    }));
    let turn = Turn::new(node, journal, Arc::clone(&shared));
    let running = Running(tokio::spawn(turn.run(inputs)));
    (NodeClient::new(sender, shared), running)
}
