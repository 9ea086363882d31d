//! The tasks of a live run: requests, streams, and the watch of the target.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::available_parallelism;

use rustc_hash::FxHashMap;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use super::caller::{CallerContext, CallerRequest, Message, Session, TimedMessage, serve};
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
    /// The requests in flight, each with its client and its task.
    busy: FxHashMap<u64, (u32, AbortHandle)>,
    tickets: u64,
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
            busy: FxHashMap::default(),
            tickets: 0,
        })
    }

    /// Starts a request of a client, and returns its number.
    pub(super) fn send(&mut self, agent: u32, session: &Arc<Session>, want: CallerRequest) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        let request = serve(Arc::clone(&self.net), ticket, Arc::clone(session), want);
        let task = self.runtime.spawn(request).abort_handle();
        self.busy.insert(ticket, (agent, task));
        ticket
    }

    /// The client of a request, if it is still awaited.
    pub(super) fn client_of(&self, ticket: u64) -> Option<u32> {
        self.busy.get(&ticket).map(|(agent, _)| *agent)
    }

    /// Handles the end of a request. Returns its client if it was still awaited.
    pub(super) fn finish(&mut self, ticket: u64) -> Option<u32> {
        self.busy.remove(&ticket).map(|(agent, _)| agent)
    }

    /// Cancels a request that is not awaited any more, and drops its connection.
    pub(super) fn cancel(&mut self, ticket: u64) {
        if let Some((_, task)) = self.busy.remove(&ticket) {
            task.abort();
        }
    }

    /// Opens a stream. The returned handle aborts it.
    pub(super) fn listen(&self, opening: Opening) -> AbortHandle {
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
