//! Batches of the journal: from the node to the disk, and their outcomes back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chat_core::{Counters, StickMove, TimerKind};
use chat_types::{Span, mix};
use sim_model::history::{Observer as _, RunEvent};
use sim_model::outcome::{Coverage, Point};

use crate::World;
use crate::disk::Unsynced;
use crate::event_queue::Event;
use crate::host::ServerHost;

impl World<'_, '_> {
    pub(super) fn append(&mut self) {
        let (now, server_now) = (self.now(), self.server_now());
        let node = self.server.alone.as_mut();
        let batch = node.and_then(|node| node.poll_batch(server_now));
        if batch.is_none() || self.server.appending {
            return;
        }
        if self.host().is_some_and(|mut host| host.begin_append()) {
            self.observers.reach(Point::TimerFired);
        }
        self.server.appending = true;
        self.server.append_is_unknown = false;
        self.server.append_began = now;
        self.server.batch_at = None;
        self.server.appends += 1;
        let (life, append) = (self.server.life, self.server.appends);
        let took = self.plan.capacity.commit.draw(&mut self.server.draw);
        let took = self.slowed(took);
        self.schedule_in(took, Event::Committed { life, append });
    }

    /// The time of an append that takes so many microseconds on a fast disk.
    pub(crate) fn slowed(&self, took: u64) -> Span {
        let factor = self.active_faults.disk_factor(self.now());
        Span(took).times(u64::from(factor))
    }

    pub(crate) fn node_due(&mut self) {
        if let Some(mut host) = self.host() {
            host.wake();
        }
        self.pump();
    }

    /// Handles the end of the append in progress.
    pub(crate) fn handle_commit(&mut self, append: u32) {
        // A crash has discarded this append, or the end of a fault has settled it.
        if append != self.server.appends || !self.server.appending {
            return;
        }
        let at = self.server_now();
        let failure = self.active_faults.disk_fails(self.now());
        let is_lost =
            self.server.append_is_unknown && mix(self.seed, append.into()).is_multiple_of(2);
        let (observer, tells_posted) = (&mut self.observers, self.server.tells_posted);
        let Some(node) = self.server.alone.as_mut() else {
            return;
        };
        let mut host = ServerHost { node, observer, at };
        match failure.or(is_lost.then_some(Unsynced::Lost)) {
            Some(Unsynced::Written) => {
                // The outcome is unknown until the fault ends.
                self.server.append_is_unknown = true;
                return host.append_unknown();
            }
            Some(Unsynced::Lost) => {
                host.append_failed();
            }
            None => {
                let (at, disk) = (self.server.batch_at.unwrap_or(at), &mut self.server.disk);
                let mut entries = 0;
                host.committed(at, tells_posted, |entry, outcome| {
                    disk.commit(entry, outcome);
                    entries += 1;
                });
                disk.end_batch(at, entries);
                self.server.reported = node.hub().position();
                self.server.disk.compact(node.hub());
                self.count_commit();
            }
        }
        self.server.appending = false;
        // Milestones come before the answers to what was committed.
        self.reach_milestones();
        self.pump();
    }

    /// Counts what the core did for a batch, and reports how long its append took.
    pub(crate) fn count_commit(&mut self) {
        let counted = |it: &Counters| (it.recalled, it.fired, it.moves);
        let (before, counters) = (&self.server.counters, self.server.node());
        let counters = counters.map(|node| node.hub().counters());
        if let Some(now) = counters.filter(|now| counted(now) != counted(before)) {
            for _ in before.recalled..now.recalled {
                self.observers.reach(Point::RetryDeduplicated);
            }
            count_core_work(&mut self.observers.points.tally.coverage, before, now);
            self.server.counters = now.clone();
        }
        let took = self.now().since(self.server.append_began);
        self.observers.observe(RunEvent::Committed(took));
    }

    /// Settles an append whose outcome was unknown.
    pub(crate) fn resolve_unknown_append(&mut self) {
        if self.server.appending && self.server.alone.is_some() {
            self.handle_commit(self.server.appends);
        }
    }
}

/// Counts the differences between these counters. Mostly there are none, and then nothing is looked
/// up.
fn count_core_work(coverage: &mut Coverage, before: &Counters, now: &Counters) {
    let timers = (&mut coverage.timers, TimerKind::NAMES);
    count(timers, &before.fired, &now.fired);
    let moves = (&mut coverage.stick, StickMove::NAMES);
    count(moves, &before.moves, &now.moves);
}

type Counts = BTreeMap<Cow<'static, str>, u64>;

fn count((counts, names): (&mut Counts, &[&'static str]), before: &[u64], now: &[u64]) {
    for (name, (before, now)) in names.iter().zip(before.iter().zip(now)) {
        if now > before {
            *counts.entry((*name).into()).or_default() += now - before;
        }
    }
}
