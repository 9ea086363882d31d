//! The tasks of a live run: callers, as many as requests in flight, and streams.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::available_parallelism;

use rustc_hash::FxHashMap;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use super::caller::{CallerContext, CallerRequest, Job, Message, Session, TimedMessage, serve};
use super::clock::Clock;
use super::connector::Connector;
use super::listening::{Opening, listen};
use super::request::Writer;
use super::watch;

/// A caller's channel and task.
#[derive(Debug)]
struct Caller {
    jobs: UnboundedSender<Job>,
    task: AbortHandle,
}

/// The tasks of a run. On drop all of them and their connections end.
#[derive(Debug)]
pub(super) struct Pool {
    runtime: Runtime,
    pub(super) net: Arc<CallerContext>,
    messages: Receiver<TimedMessage>,
    callers: Vec<Option<Caller>>,
    /// Idle callers, and free places.
    idle: Vec<usize>,
    vacant: Vec<usize>,
    /// The caller of each request in flight.
    busy: FxHashMap<u64, usize>,
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
            }),
            messages,
            callers: Vec::new(),
            idle: Vec::new(),
            vacant: Vec::new(),
            busy: FxHashMap::default(),
            tickets: 0,
        })
    }

    /// The channel of messages from the network.
    pub(super) const fn messages(&self) -> &Receiver<TimedMessage> {
        &self.messages
    }

    /// Starts a request, and returns its number.
    pub(super) fn send(&mut self, session: &Arc<Session>, want: CallerRequest) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        let place = self.idle.pop().unwrap_or_else(|| self.spawn_caller());
        self.busy.insert(ticket, place);
        if let Some(caller) = &self.callers[place] {
            let session = Arc::clone(session);
            // The task receives until it is aborted here.
            let _ = caller.jobs.send(Job {
                ticket,
                session,
                want,
            });
        }
        ticket
    }

    fn spawn_caller(&mut self) -> usize {
        let (jobs, todo) = unbounded_channel();
        let task = self.runtime.spawn(serve(Arc::clone(&self.net), todo));
        let caller = Some(Caller {
            jobs,
            task: task.abort_handle(),
        });
        if let Some(place) = self.vacant.pop() {
            self.callers[place] = caller;
            return place;
        }
        self.callers.push(caller);
        self.callers.len() - 1
    }

    /// Handles the end of a request: its caller becomes idle. Returns whether the request was still
    /// awaited.
    pub(super) fn finish(&mut self, ticket: u64) -> bool {
        let place = self.busy.remove(&ticket);
        self.idle.extend(place);
        place.is_some()
    }

    /// Cancels a request and drops its connection.
    pub(super) fn cancel(&mut self, ticket: u64) {
        if let Some(place) = self.busy.remove(&ticket)
            && let Some(caller) = self.callers[place].take()
        {
            caller.task.abort();
            self.vacant.push(place);
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
        self.runtime.block_on(async {
            let mut outputs = Vec::new();
            for task in tasks {
                outputs.push(task.await.ok());
            }
            outputs
        })
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
