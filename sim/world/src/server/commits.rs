//! Batches of the journal: from the node to the disk, and their outcomes back.

use chat_core::Entry;

use chat_types::Span;
use sim_model::history::Observer as _;
use sim_model::outcome::Point;
use sim_model::server::ServerRecord;

use super::Show;
use crate::World;
use crate::agenda::Event;
use crate::disk::Unsynced;
use crate::translate;
use crate::worked::worked;

impl World<'_, '_> {
    pub(super) fn append(&mut self) {
        let (now, server_now) = (self.now(), self.server_now());
        let Some(node) = self.server.node.as_mut() else {
            return;
        };
        let Some(batch) = node
            .poll_batch(server_now)
            .filter(|_| !self.server.appending)
        else {
            return;
        };
        if batch.iter().any(|entry| matches!(entry, Entry::Tick)) {
            self.watch.reach(Point::TimerFired);
        }
        self.server.disk.begin(batch);
        let batch = &translate::batch(node);
        self.watch.observe_server(&ServerRecord::Appending {
            at: server_now,
            batch,
        });
        self.server.appending = true;
        self.server.append_began = now;
        self.server.appends += 1;
        let (life, append) = (self.server.life, self.server.appends);
        let took = self.plan.capacity.commit.draw(&mut self.server.draw);
        let took = Span(took).times(u64::from(self.weather.disk_factor(now)));
        self.agenda
            .at(now + took, Event::Committed { life, append });
    }

    pub(crate) fn node_due(&mut self) {
        let now = self.server_now();
        if let Some(node) = self.server.node.as_mut() {
            self.watch.observe_server(&ServerRecord::Woken { at: now });
            node.handle_timeout(now);
        }
        self.pump();
    }

    /// Handles the end of the append in progress.
    pub(crate) fn committed(&mut self, append: u32) {
        // A crash has ended it, or the end of a fault has settled it.
        if append != self.server.appends || !self.server.appending {
            return;
        }
        let (now, server_now) = (self.now(), self.server_now());
        let Some(node) = self.server.node.as_mut() else {
            return;
        };
        match self.weather.disk_fails(now) {
            Some(Unsynced::Written) => {
                // The outcome is unknown until the fault ends.
                node.append_unknown();
                self.watch
                    .observe_server(&ServerRecord::AppendUnknown { at: server_now });
                return;
            }
            Some(Unsynced::Lost) => {
                self.server.disk.abandon();
                self.watch
                    .observe_server(&ServerRecord::AppendFailed { at: server_now });
                node.append_failed(server_now);
            }
            None => {
                let first = node.hub().position().next();
                let (watch, disk) = (&mut self.watch, &mut self.server.disk);
                let (mut show, mut position) = (Show { watch }, first);
                node.committed_and(first, server_now, |entry, ticket, outcome| {
                    disk.commit(server_now, outcome);
                    show.entry((position, server_now), entry, ticket, outcome);
                    position = position.next();
                });
                self.server.shown = node.hub().position();
                let figures = node.hub().counters();
                if self.server.figures != *figures {
                    for _ in self.server.figures.recalled()..figures.recalled() {
                        self.watch.reach(Point::RetryDeduplicated);
                    }
                    worked(self.watch.coverage(), &self.server.figures, figures);
                    self.server.figures.clone_from(figures);
                }
                self.server.disk.compact(node.hub());
                self.watch
                    .observe_commit(now.since(self.server.append_began));
            }
        }
        self.server.appending = false;
        // Milestones come before the answers to what was committed.
        self.reach_milestones();
        self.pump();
    }

    /// Settles an append whose outcome was unknown.
    pub(crate) fn fate_known(&mut self) {
        if self.server.appending && self.server.node.is_some() {
            self.committed(self.server.appends);
        }
    }
}
