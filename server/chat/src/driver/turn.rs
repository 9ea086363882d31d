//! The driver's turns: inputs, the node, outputs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use chat_core::{Output, Reject, Response, Span, Ticket};
use server_storage::journal::NoWrite;
use tokio::sync::mpsc;

use super::caller_context;
use super::engine::{Engine, EngineOutput};
use super::stream_slot::{Ending, PAGE, StreamSlot};
use super::{Answered, Input, Settled, Shared, Waiter};
use crate::metrics::Row;

/// The largest number of inputs that are taken before the node's batch is appended.
const INPUTS_A_TURN: usize = 1_024;

/// The longest sleep of the driver, so that it never depends on a single wake-up, and notices a pause.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// A longer time between two turns was a pause of the process, as while it is stopped.
const PAUSE: Duration = Duration::from_secs(3);

/// How long a shutdown waits while no stream's reader takes anything.
const UNREAD: Duration = Duration::from_secs(1);

/// An open stream.
struct Open {
    slot: Arc<StreamSlot>,
    /// The node has events for it.
    ready: bool,
    /// The reader has taken the last page.
    has_room: bool,
}

/// A shutdown, until `by` at the latest, or until no stream's reader has taken anything since `moved` for
/// `UNREAD`.
#[derive(Clone, Copy)]
struct Stopping {
    by: Instant,
    moved: Instant,
}

/// All state of the driver.
pub(super) struct Turn {
    engine: Box<dyn Engine>,
    shared: Arc<Shared>,
    waiting: HashMap<Ticket, Waiter>,
    streams: BTreeMap<Ticket, Open>,
    stopping: Option<Stopping>,
    /// The states taken over, and the actions of operators, when the bans were learned.
    bans_of: Option<(u64, u64)>,
}

impl Turn {
    pub(super) fn new(engine: Box<dyn Engine>, shared: Arc<Shared>) -> Self {
        Self {
            engine,
            shared,
            waiting: HashMap::new(),
            streams: BTreeMap::new(),
            stopping: None,
            bans_of: None,
        }
    }

    /// Runs until all clients are gone, or until a shutdown.
    pub(super) async fn run(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
    ) -> Result<(), NoWrite> {
        let mut alarm = std::pin::pin!(tokio::time::sleep(LONGEST_SLEEP));
        let mut taken = Vec::with_capacity(INPUTS_A_TURN);
        let mut woke = tokio::time::Instant::now();
        loop {
            if self.settle() {
                break;
            }
            let metrics = &self.shared.metrics;
            metrics.took(Row::DriverTurnSeconds, "", woke.elapsed());
            let due = tokio::time::Instant::now() + self.sleep();
            // Setting the timer costs more than an occasional early wake-up.
            if due < alarm.deadline() || alarm.is_elapsed() {
                alarm.as_mut().reset(due);
            }
            tokio::select! {
                biased;
                received = inputs.recv_many(&mut taken, INPUTS_A_TURN) => if received == 0 {
                    break;
                },
                () = alarm.as_mut() => {}
            }
            let paused = woke.elapsed();
            woke = tokio::time::Instant::now();
            self.follow_clock(paused);
            for input in taken.drain(..) {
                self.take(input);
            }
        }
        self.engine.close()
    }

    /// Takes a sleep of the machine, a clock that was set forward, or a pause of the process since the
    /// last turn, for a time when nobody was served.
    fn follow_clock(&mut self, since: Duration) {
        let step = self.shared.clock.follow().unwrap_or_default();
        if step > Span::ZERO || since > PAUSE {
            tracing::warn!(
                seconds = step.0 / 1_000_000 + since.as_secs(),
                "the machine slept, its clock was set forward, or this process was paused: deadlines \
                 move by as much"
            );
            self.engine.clock_stepped();
        }
    }

    fn sleep(&mut self) -> Duration {
        let due = self.engine.sleep(&self.shared.clock);
        let sleep = due.map_or(LONGEST_SLEEP, |due| due.min(LONGEST_SLEEP));
        let Some(Stopping { by, moved }) = self.stopping else {
            return sleep;
        };
        let now = Instant::now();
        let unread = moved + UNREAD;
        let next = if now < unread { by.min(unread) } else { by };
        sleep.min(next.saturating_duration_since(now))
    }

    fn take(&mut self, input: Input) {
        let clock = &self.shared.clock;
        match input {
            Input::Call {
                ticket,
                from,
                call,
                sent,
                waiter,
            } => {
                self.shared.queued.fetch_sub(1, Ordering::Relaxed);
                if waiter.slot.is_none() {
                    let metrics = &self.shared.metrics;
                    metrics.took(Row::DriverWaitSeconds, "", sent.elapsed());
                }
                self.waiting.insert(ticket, waiter);
                self.engine.submit(clock, ticket, from, call);
            }
            Input::Look(look) => {
                self.shared.queued.fetch_sub(1, Ordering::Relaxed);
                look(&self.engine.view());
            }
            Input::Cancel(ticket) => self.cancel(ticket),
            Input::Ready(ticket) => {
                if let Some(open) = self.streams.get_mut(&ticket) {
                    open.has_room = true;
                }
                if let Some(stopping) = &mut self.stopping {
                    stopping.moved = Instant::now();
                }
                self.feed(ticket);
            }
            Input::Reported => self.engine.take_reports(clock),
            Input::Stop { by } => {
                self.engine.shut_down(clock);
                let moved = Instant::now();
                self.stopping = Some(Stopping { by, moved });
            }
        }
    }

    /// Lets the node do all that is possible now. Returns whether the driver has stopped.
    fn settle(&mut self) -> bool {
        self.engine.handle_timeout(&self.shared.clock);
        self.drain();
        while self.engine.append(&self.shared.clock) {
            self.drain();
        }
        self.drain();
        match self.stopping {
            Some(stopping) => self.finish(stopping),
            None => false,
        }
    }

    /// Learns of bans when operators have acted, here or at another member of a cluster.
    fn follow_bans(&mut self) {
        let hub = self.engine.view().hub;
        let version = (self.engine.states(), hub.counters().operated);
        if self.bans_of != Some(version) {
            self.shared.banned_addresses.follow(hub);
            self.bans_of = Some(version);
        }
    }

    /// Ends when all admitted calls are answered and every stream has received its events. Readers
    /// that take nothing are not waited for: the events stay in their inboxes. Returns whether
    /// the driver has stopped.
    fn finish(&mut self, Stopping { by, moved }: Stopping) -> bool {
        let late = Instant::now() >= by;
        let unread = moved.elapsed() >= UNREAD;
        let mut streams = self.streams.values();
        let owed = streams.any(|open| open.ready || !open.has_room);
        if (!owed || unread || late) && self.engine.finish(&self.shared.clock) {
            self.drain();
        } else if late {
            tracing::warn!("the time to stop is over, and the journal is not done");
        } else {
            return false;
        }
        for open in self.streams.values() {
            open.slot.end(Ending::Closing);
        }
        true
    }

    fn drain(&mut self) {
        // The banned addresses are updated before an answer leaves: after an operator read that an
        // address is banned or admitted, the guard already refuses or admits it.
        self.follow_bans();
        while let Some(output) = self.engine.poll_output() {
            match output {
                EngineOutput::Moved { ticket, earlier } => {
                    if let Some(waiter) = self.waiting.remove(&ticket) {
                        // The caller may have disconnected.
                        let _ = waiter.reply.send(Settled::Moved(earlier));
                    }
                }
                EngineOutput::Node(output) => self.carry_out(output),
            }
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Reply { ticket, outcome } => self.answer(ticket, outcome),
            Output::StreamReady(stream) => {
                if let Some(open) = self.streams.get_mut(&stream) {
                    open.ready = true;
                }
                self.feed(stream);
            }
            Output::StreamClosed(stream) => {
                if let Some(open) = self.streams.remove(&stream) {
                    // A node that departs, or has departed, closed all streams.
                    let node = self.engine.node();
                    let is_served = node.is_some_and(|node| !node.is_stopping());
                    open.slot.end(match is_served && self.stopping.is_none() {
                        true => Ending::Forgotten,
                        false => Ending::Closing,
                    });
                }
            }
            Output::Notice {
                stream,
                room,
                notice,
            } => {
                if let Some(open) = self.streams.get(&stream) {
                    open.slot.put_notice(room, notice);
                }
            }
        }
    }

    fn answer(&mut self, ticket: Ticket, outcome: Result<Response, Reject>) {
        let Some(waiter) = self.waiting.remove(&ticket) else {
            return;
        };
        let asked = (ticket, waiter.reader);
        let (view, at) = (self.engine.view(), self.shared.clock.now());
        let context = caller_context::gather(view, at, asked, &outcome);
        if let (Some(slot), Ok(Response::Streaming)) = (waiter.slot, &outcome) {
            let open = Open {
                slot,
                ready: false,
                has_room: true,
            };
            self.streams.insert(ticket, open);
        }
        // The caller may have disconnected; then a cancellation follows.
        let _ = waiter
            .reply
            .send(Settled::Answered(Answered { outcome, context }));
    }

    /// Gives the stream's reader the next page, if there is one and the reader can take it.
    fn feed(&mut self, stream: Ticket) {
        if let Some(open) = self.streams.get_mut(&stream)
            && open.ready
            && open.has_room
            && let Some(node) = self.engine.node()
            && let Some(user) = node.stream_user(stream)
            && let Some(page) = node.read_stream(stream, PAGE)
        {
            open.ready = page.unread > 0;
            if !page.is_empty() {
                open.has_room = false;
                open.slot.put_page(user, page);
            }
        }
    }

    fn cancel(&mut self, ticket: Ticket) {
        if self.waiting.remove(&ticket).is_some() {
            self.engine.cancel(ticket);
        } else if self.streams.remove(&ticket).is_some()
            && let Some(node) = self.engine.node()
        {
            node.close_stream(ticket);
        }
    }
}
