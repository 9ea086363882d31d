//! A node that is alone, with its journal.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use chat_core::{Address, Call, Node, Ticket};
use server_storage::clock::Clock;
use server_storage::history::History;
use server_storage::journal::{Fate, FateReporter, Journal, NoWrite};

use super::engine::{Engine, EngineOutput, Wake};
use crate::metrics::{Metrics, Row};
use crate::view::View;

/// A node, its journal, and the history that follows the journal.
pub(super) struct Alone {
    node: Node,
    journal: Box<dyn Journal>,
    history: Option<History>,
    fates: Option<Receiver<Fate>>,
    metrics: Arc<Metrics>,
    /// When the batch in flight was given to the journal.
    appended: Option<Instant>,
}

impl Alone {
    pub(super) const fn new(
        node: Node,
        journal: Box<dyn Journal>,
        history: Option<History>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            node,
            journal,
            history,
            fates: None,
            metrics,
            appended: None,
        }
    }

    fn learn(&mut self, clock: &Clock, fate: Fate) {
        match fate {
            Fate::Committed { first, at } => {
                if let Some(appended) = self.appended.take() {
                    let took = appended.elapsed();
                    self.metrics.took(Row::CommitSeconds, "", took);
                }
                self.node.committed(first, at, clock.now());
                // Reads that follow the answer wait for the history; the answer does not.
                if let Some(history) = &self.history {
                    history.commit(self.node.hub().position());
                }
            }
            Fate::Failed => self.node.append_failed(clock.now()),
            Fate::Unknown => self.node.append_unknown(),
            Fate::Refused if self.node.batch().next().is_none() => {
                self.node.append_failed(clock.now());
            }
            Fate::Refused => {}
            Fate::Lost => panic!("the journal is not written any more"),
        }
    }
}

impl Engine for Alone {
    fn attach(&mut self, wake: Wake) {
        let (report, fates) = channel();
        self.fates = Some(fates);
        self.journal.attach(FateReporter::new(move |fate| {
            // A driver that has stopped needs no fates.
            let _ = report.send(fate);
            wake();
        }));
    }

    fn view(&self) -> View<'_> {
        View::of(&self.node)
    }

    fn node(&mut self) -> Option<&mut Node> {
        Some(&mut self.node)
    }

    fn submit(&mut self, clock: &Clock, ticket: Ticket, from: Address, call: Call) {
        self.node.submit(clock.now(), ticket, from, call);
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.node.cancel(ticket);
    }

    fn take_reports(&mut self, clock: &Clock) {
        while let Some(Ok(fate)) = self.fates.as_ref().map(Receiver::try_recv) {
            self.learn(clock, fate);
        }
    }

    fn handle_timeout(&mut self, clock: &Clock) {
        self.node.handle_timeout(clock.now());
    }

    fn append(&mut self, clock: &Clock) -> bool {
        let now = clock.now();
        let Some(batch) = self.node.poll_batch(now) else {
            return false;
        };
        self.appended = Some(Instant::now());
        let Some(fate) = self.journal.append(now, batch) else {
            return false;
        };
        self.learn(clock, fate);
        true
    }

    fn poll_output(&mut self) -> Option<EngineOutput> {
        self.node.poll_output().map(EngineOutput::Node)
    }

    fn sleep(&mut self, clock: &Clock) -> Option<Duration> {
        self.node.poll_timeout().map(|at| clock.until(at))
    }

    fn shut_down(&mut self, _: &Clock) {
        self.node.shut_down();
    }

    fn finish(&mut self, clock: &Clock) -> bool {
        self.node.finish(clock.now())
    }

    fn close(&mut self) -> Result<(), NoWrite> {
        let closed = self.journal.close(self.node.hub());
        if let Some(history) = &self.history {
            history.stop();
        }
        closed
    }
}
