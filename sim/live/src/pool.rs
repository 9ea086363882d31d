//! The tasks of a live run: requests, streams, and the watch of the target.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use super::caller::{CallerContext, CallerRequest, Message, Session, TimedMessage, perform};
use super::clock::Clock;
use super::listening::{Opening, listen};
use super::request::Writer;
use super::watch;
use super::wire::Connector;

/// The tasks of a run. On drop all of them and their connections end.
#[derive(Debug)]
pub(super) struct Pool {
    runtime: Runtime,
    pub(super) net: Arc<CallerContext>,
    /// The channel of messages from the network.
    pub(super) messages: Receiver<TimedMessage>,
    tickets: u64,
}

/// A request in flight. Dropped, it is cancelled, and its connection with it.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) ticket: u64,
    task: AbortHandle,
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pool {
    /// Starts the threads for tasks to one server.
    ///
    /// # Errors
    /// The machine has no threads.
    pub(super) fn new(writer: Writer, connector: Connector, clock: Clock) -> io::Result<Self> {
        // One core is left for the owner.
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let runtime = Builder::new_multi_thread()
            .worker_threads((cores - 1).max(1))
            .thread_name("sim-net")
            .enable_all()
            .build()?;
        let (tell, messages) = channel();
        Ok(Self {
            runtime,
            net: Arc::new(CallerContext {
                writer,
                connector,
                clock,
                messages: tell,
                idle: Vec::new().into(),
            }),
            messages,
            tickets: 0,
        })
    }

    /// A number for a request.
    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Starts a request of a client. Its result comes as a message.
    pub(super) fn send(&mut self, agent: u32, session: &Arc<Session>, want: CallerRequest) -> Sent {
        let ticket = self.ticket();
        let (net, session) = (Arc::clone(&self.net), Arc::clone(session));
        let task = self.runtime.spawn(async move {
            let result = perform(&net, ticket, &session, want).await;
            net.tell(Message::Ended {
                agent,
                ticket,
                result,
            });
        });
        let task = task.abort_handle();
        Sent { ticket, task }
    }

    /// Opens a stream. The returned handle aborts it.
    pub(super) fn listen(&self, opening: Arc<Opening>) -> AbortHandle {
        let task = self.runtime.spawn(listen(Arc::clone(&self.net), opening));
        task.abort_handle()
    }

    /// Asks the target whether it is there. What that led to comes as a message.
    pub(super) fn ask_target(&self) {
        let net = Arc::clone(&self.net);
        self.runtime
            .spawn(async move { net.tell(Message::Asked(watch::ask(&net).await)) });
    }

    /// Runs tasks concurrently until all have ended. A task that panicked gives none.
    pub(super) fn together<F>(&self, tasks: Vec<F>) -> Vec<Option<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let tasks: Vec<_> = tasks.into_iter().map(|t| self.runtime.spawn(t)).collect();
        let ended = tasks.into_iter().map(|task| self.wait(task).ok());
        ended.collect()
    }

    /// The number of threads for tasks.
    pub(super) fn threads(&self) -> usize {
        self.runtime.metrics().num_workers()
    }

    /// Runs a task to its end.
    pub(super) fn wait<F: Future>(&self, task: F) -> F::Output {
        self.runtime.block_on(task)
    }
}
