//! The one owner of the node: a task that nobody shares it with.
//!
//! Everybody else holds a [`NodeClient`]: calls go in over a bounded channel, and answers come
//! back when their cause is committed. Nobody polls: who waits is woken by what happens.
//!
//! It is a task and not a thread, since a call goes to the owner and back: from thread to thread
//! each way costs the kernel a wake-up and a switch, which took longer than all the rest; a task is
//! mostly run where it was woken. It never blocks. A journal that must has a thread of its own.
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
use crate::journal::{Fate, Journal, Later};
use crate::metrics::Metrics;

pub use caller_context::{CallerContext, Me, More, RoomKind, RoomLabel};
pub use client::{EventStream, NodeClient};
pub use stream_slot::{Delivery, Ending};

use stream_slot::StreamSlot;
use turn::Turn;

/// How many calls may lie in the channel; beyond it they are refused as `overloaded`.
pub const MAX_QUEUED: usize = 16_384;

/// The answer to a call, and what else its caller should be told.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What was decided.
    pub outcome: Result<Response, Reject>,
    /// Who and where the caller is now.
    pub context: CallerContext,
}

/// A call whose participant concerned is named by its public id, which the node alone can read.
pub type Naming = Box<dyn FnOnce(UserId) -> Call + Send>;

/// What is asked of the node.
pub enum Request {
    /// This.
    Call(Call),
    /// Something about the participant with this public id.
    About(Box<str>, Naming),
}

/// Looks at the node, between two of its turns.
type Look = Box<dyn FnOnce(&Node) + Send>;

/// What comes to the driver.
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
    /// The caller is gone.
    Cancel(Ticket),
    /// The stream's reader is gone.
    Close(Ticket),
    /// The stream's reader can take more.
    Ready(Ticket),
    /// The batch in flight came to this.
    Appended(Fate),
    /// Take nothing new; finish what was taken; end by then.
    Stop {
        by: std::time::Instant,
    },
}

/// What the clients and the driver share.
#[derive(Debug)]
struct Shared {
    clock: Clock,
    metrics: Arc<Metrics>,
    tickets: AtomicU64,
    queued: AtomicUsize,
}

/// A driver that runs.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

impl Running {
    /// Waits until the driver has died, which it does by a bug alone.
    pub async fn died(&mut self) -> Died {
        // However it ended: nobody told it to.
        let _ = (&mut self.0).await;
        Died
    }

    /// Waits until the driver has stopped: it was told to, and finished.
    ///
    /// # Errors
    /// When it died of a broken invariant instead. There is nothing left to serve.
    pub async fn ended(self) -> Result<(), Died> {
        self.0.await.map_err(|_| Died)
    }
}

/// The driver panicked: an invariant of the core is broken, and its state with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's state is damaged, and is not served any more; the log says by what")]
pub struct Died;

/// Starts to drive the node over the journal. It has to be called on a runtime, where the driver
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
    journal.attach(Later::new(move |fate| {
        // A driver that has stopped needs no fates.
        let _ = later.send(Input::Appended(fate));
    }));
    let turn = Turn::new(node, journal, Arc::clone(&shared));
    let running = Running(tokio::spawn(turn.run(inputs)));
    (NodeClient::new(sender, shared), running)
}
