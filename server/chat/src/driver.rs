//! The driver: a task that owns the engine alone: a node with its journal, or a member of a cluster.
//!
//! Other tasks hold a [`NodeClient`]: calls enter over a channel with a limit, and answers return
//! when their cause is committed. Waiting tasks are woken by events and never poll.
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

mod alone;
mod caller_context;
mod client;
mod engine;
mod stream_slot;
mod turn;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Instant;

use chat_core::{Call, Earlier, Node, Reader, Reject, Response, Ticket};
use serde::{Deserialize, Serialize};
use server_storage::clock::Clock;
use server_storage::history::History;
use server_storage::journal::{Journal, NoWrite};
use tokio::sync::{mpsc, oneshot};

use crate::banned_addresses::BannedAddresses;
use crate::metrics::Metrics;
use crate::task;
use crate::view::View;

pub use caller_context::{AnswerFacts, CallerContext, KeptDraft, Me, RoomKind, RoomLabel};
pub use client::{EventStream, NodeClient};
pub use engine::{Engine, EngineOutput, Remote, RemoteOpening, RemoteStream, Wake};
pub use stream_slot::{Delivery, Ending};

use alone::Alone;
use stream_slot::StreamSlot;
use turn::Turn;

/// The largest number of calls in the channel; beyond it calls are refused as `overloaded`.
pub const MAX_QUEUED: usize = 16_384;

/// The answer to a call, with the caller's context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The outcome.
    pub outcome: Result<Response, Reject>,
    /// The caller's identity and rooms after the call.
    pub context: CallerContext,
}

/// A function that reads the state between two turns.
type Look = Box<dyn FnOnce(&View<'_>) + Send>;

/// What became of a call at this server's engine.
#[derive(Debug)]
pub enum Settled {
    /// This server's node has answered it.
    Answered(Answered),
    /// Another member has to take it.
    Moved(Earlier),
}

/// A waiting caller.
struct Waiter {
    reader: Option<Reader>,
    reply: oneshot::Sender<Settled>,
    /// The slot for a stream's events, if the call opens one.
    slot: Option<Arc<StreamSlot>>,
}

/// An input of the driver.
enum Input {
    Call {
        ticket: Ticket,
        from: chat_core::Address,
        call: Call,
        sent: Instant,
        waiter: Waiter,
    },
    Look(Look),
    /// The caller, or the stream's reader, disconnected.
    Cancel(Ticket),
    /// The stream's reader can take the next page.
    Ready(Ticket),
    /// Something was reported to the engine.
    Reported,
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
    banned_addresses: BannedAddresses,
    tickets: AtomicU64,
    queued: AtomicUsize,
}

/// A running driver.
#[derive(Debug)]
pub struct Running {
    /// Receives how the driver ended, unless it panicked.
    end: oneshot::Receiver<Result<(), NoWrite>>,
}

impl Running {
    /// Waits until the driver has died, which only a bug can cause.
    pub async fn died(&mut self) -> Died {
        // The driver ended without a request to stop.
        let _ = (&mut self.end).await;
        Died::Panicked
    }

    /// Waits until the driver has stopped on request.
    ///
    /// # Errors
    /// The driver died of a broken invariant, or the journal is not where the next start looks for it.
    pub async fn ended(self) -> Result<(), Died> {
        let end = self.end.await.map_err(|_| Died::Panicked)?;
        end.map_err(Died::Unkept)
    }
}

/// Why the driver did not end cleanly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Died {
    /// It panicked: an invariant of the core is broken, and its state is lost.
    #[error("the server's state is damaged, and is not served any more; the log says by what")]
    Panicked,
    /// What accepts connections panicked.
    #[error("the server accepts no connections any more; the log says why")]
    Deaf,
    /// The folder of the journal has vanished.
    #[error("the journal was not kept to the end: {0}")]
    Unkept(NoWrite),
}

/// Starts the driver over the node and the journal, which a history may follow. Must be called on a
/// runtime, where the driver runs.
pub fn start(
    node: Node,
    journal: Box<dyn Journal>,
    history: Option<History>,
    clock: Clock,
    metrics: Arc<Metrics>,
) -> (NodeClient, Running) {
    let engine = Alone::new(node, journal, history, Arc::clone(&metrics));
    start_engine(Box::new(engine), clock, metrics)
}

/// Starts the driver over any engine.
pub fn start_engine(
    mut engine: Box<dyn Engine>,
    clock: Clock,
    metrics: Arc<Metrics>,
) -> (NodeClient, Running) {
    let (sender, inputs) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        clock,
        metrics,
        banned_addresses: BannedAddresses::default(),
        tickets: AtomicU64::new(1),
        queued: AtomicUsize::new(0),
    });
    let wake = sender.clone();
    engine.attach(Arc::new(move || {
        // A driver that has stopped needs no reports.
        let _ = wake.send(Input::Reported);
    }));
    let turn = Turn::new(engine, Arc::clone(&shared));
    let (ended, end) = oneshot::channel();
    task::spawn(async move {
        // A server that is dropped waits for no end.
        let _ = ended.send(turn.run(inputs).await);
    });
    (NodeClient::new(sender, shared), Running { end })
}
