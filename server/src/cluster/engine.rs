//! The member as the driver's engine: its outputs become requests to the log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use chat_cluster::{Alarm, LogSnapshot, Member, Now, Outcome, Output, Role};
use chat_core::{Address, Call, Node, Reject, Span, Ticket};
use chat_journal::Origin;
use server_chat::driver::{Engine, EngineOutput, Wake};
use server_chat::metrics::{Metrics, Row};
use server_chat::view::View;
use server_nats::{Log, Report, StoredSnapshot};
use server_storage::clock::{self, Clock};
use server_storage::journal::NoWrite;
use tokio::sync::watch;
use tracing::field::display;

use super::keeper::Keeper;
use super::measures::{LogPace, PauseWatch, TURN};
use super::standing::{MemberStanding, Standings, role_word};
use super::status::Resignation;

/// A member with its log.
pub(super) struct MemberEngine {
    member: Member,
    log: Log,
    keeper: Option<Keeper>,
    origin: Origin,
    reports: Option<Receiver<Report>>,
    standing: watch::Sender<MemberStanding>,
    pauses: PauseWatch,
    metrics: Arc<Metrics>,
    pace: LogPace,
    /// The role that the metrics say.
    role: Option<Role>,
    /// The way to ask this member to resign.
    pub(super) resignation: Arc<Resignation>,
    /// Whether this server shuts down. An owner that only resigns refuses nothing: another member
    /// takes the calls.
    is_stopping: bool,
    /// The refusals of calls that the member was not asked to take.
    refused: VecDeque<EngineOutput>,
    /// The number of snapshots that the member was given.
    states: u64,
}

impl MemberEngine {
    pub(super) fn new(
        member: Member,
        (log, keeper): (Log, Option<Keeper>),
        origin: Origin,
        metrics: Arc<Metrics>,
    ) -> (Self, Standings) {
        let (standing, standings) = watch::channel(MemberStanding::of(&member));
        let engine = Self {
            member,
            log,
            keeper,
            origin,
            reports: None,
            standing,
            pauses: PauseWatch::new(clock::since_boot()),
            metrics,
            pace: LogPace::default(),
            role: None,
            resignation: Arc::default(),
            is_stopping: false,
            refused: VecDeque::new(),
            states: 0,
        };
        (engine, standings)
    }

    fn take(&mut self, now: Now, report: Report) {
        match report {
            Report::Published { id, outcome, took } => {
                let result = match outcome {
                    Some(Outcome::Acknowledged(_)) => "acknowledged",
                    Some(Outcome::WrongLast) => "wrong_last",
                    Some(Outcome::Busy) => "busy",
                    Some(Outcome::Rejected) => "rejected",
                    None => "unknown",
                };
                self.metrics.count(Row::ClusterAppends, result);
                self.metrics.took(Row::ClusterAppendSeconds, "", took);
                self.pace.appended(outcome, took);
                if let Some(outcome) = outcome {
                    self.member.published(now, id, outcome);
                }
            }
            Report::Found { id, bytes } => self.member.found(now, id, bytes.as_deref()),
            Report::Record {
                sequence,
                bytes,
                credit,
            } => {
                self.member.record(now, sequence, &bytes);
                drop(credit);
            }
            Report::Snapshot(bytes) => match LogSnapshot::read(&self.origin, &bytes) {
                Ok(snapshot) => {
                    self.states += 1;
                    self.member.snapshot_found(now, snapshot);
                }
                Err(why) => tracing::error!(%why, "the newest snapshot is not usable"),
            },
            // It only wakes the driver, which may wait for it to stop.
            Report::Stored => {}
        }
    }

    /// Carries out an output, or returns what is the driver's part of it.
    fn carry_out(&mut self, output: Output) -> Option<EngineOutput> {
        match output {
            Output::Node(chat_core::Output::Reply {
                ticket,
                outcome: Err(Reject::ShuttingDown { earlier }),
            }) if !self.is_stopping => return Some(EngineOutput::Moved { ticket, earlier }),
            Output::Node(output) => return Some(EngineOutput::Node(output)),
            Output::Moved { ticket, earlier } => {
                return Some(EngineOutput::Moved { ticket, earlier });
            }
            Output::Publish {
                id,
                expected,
                bytes,
            } => self.log.publish(id, expected, &bytes),
            Output::Read {
                id,
                sequence,
                source,
            } => self.log.read(id, sequence, source),
            Output::Admitted(_) => {}
            Output::Fetch { from, attempt } => self.log.follow(from, attempt),
            Output::StoreSnapshot => {
                let hub = self.member.hub();
                let snapshot = StoredSnapshot {
                    sequence: self.member.sequence(),
                    position: hub.position().0,
                    digest: hub.digest(),
                    bytes: self.member.snapshot(),
                };
                self.log.store(snapshot);
            }
            Output::FetchSnapshot => self.log.fetch_snapshot(),
            Output::BecameOwner { epoch } => {
                self.metrics.count(Row::ClusterOwnershipGained, "");
                tracing::info!(epoch, "this member is the owner of the realm");
            }
            Output::LostOwnership { epoch } => {
                self.metrics.count(Row::ClusterOwnershipLost, "");
                tracing::info!(epoch, "this member is the owner no more");
            }
            Output::Alarm(alarm) => {
                let kind = sound(&alarm);
                self.metrics.count(Row::ClusterAlarms, kind);
            }
            Output::Applied { place, record } => {
                if let Some(keeper) = &self.keeper {
                    keeper.keep(*place, record);
                }
            }
        }
        None
    }

    fn measure(&mut self, now: Now) {
        let (member, metrics) = (&self.member, &self.metrics);
        let role = member.role();
        if self.role.replace(role) != Some(role) {
            metrics.set_one(Row::ClusterRole, role_word(role));
        }
        metrics.set(Row::ClusterLease, "", member.has_lease(now).into());
        metrics.set(Row::ClusterEpoch, "", member.place().epoch());
        metrics.set(Row::ClusterSequence, "", member.sequence());
    }

    fn publish_standing(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.announce(self.member.hub().position());
        }
        let standing = MemberStanding::of(&self.member);
        self.standing.send_if_modified(|known| {
            let is_new = *known != standing;
            *known = standing;
            is_new
        });
    }
}

impl Engine for MemberEngine {
    fn attach(&mut self, wake: Wake) {
        // A second driver does not exist.
        let _ = self.resignation.wake.set(Wake::clone(&wake));
        let (report, reports) = channel();
        self.reports = Some(reports);
        self.log.attach(move |reported| {
            // A driver that has stopped needs no reports.
            let _ = report.send(reported);
            wake();
        });
        self.log.follow(self.member.sequence() + 1, 0);
    }

    fn view(&self) -> View<'_> {
        match self.member.owned_node() {
            Some(node) => View::of(node),
            None => View {
                hub: self.member.hub(),
                node: None,
            },
        }
    }

    fn states(&self) -> u64 {
        self.states
    }

    fn node(&mut self) -> Option<&mut Node> {
        self.member.node()
    }

    fn submit(&mut self, clock: &Clock, ticket: Ticket, from: Address, call: Call) {
        let (now, earlier) = (now(clock), call.earlier_if_refused());
        self.pauses.turn(now.boot);
        if self.pauses.is_in_doubt(now.boot) {
            self.metrics.count(Row::ClusterRefusedForPause, "");
            let reject = Reject::StorageUnavailable {
                retry_after: Span::secs(1),
                earlier,
            };
            let refusal = chat_core::Output::Reply {
                ticket,
                outcome: Err(reject),
            };
            return self.refused.push_back(EngineOutput::Node(refusal));
        }
        let node = self.member.owned_node();
        let is_halted = node.is_some_and(|node| node.check_storage(now.wall).is_err());
        if is_halted && !self.is_stopping && !matches!(call, Call::Read { .. }) {
            // The node would refuse it until the log answers. The door tries it again.
            let refusal = EngineOutput::Moved { ticket, earlier };
            return self.refused.push_back(refusal);
        }
        self.member.submit(now, ticket, from, call);
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.member.cancel(ticket);
    }

    fn take_reports(&mut self, clock: &Clock) {
        while let Some(Ok(report)) = self.reports.as_ref().map(Receiver::try_recv) {
            self.take(now(clock), report);
        }
        if self.resignation.take() {
            self.member.resign(now(clock));
        }
    }

    fn handle_timeout(&mut self, clock: &Clock) {
        let now = now(clock);
        self.pauses.turn(now.boot);
        self.member.handle_timeout(now);
    }

    /// What streams that were read imply is appended, too.
    fn append(&mut self, clock: &Clock) -> bool {
        self.member.handle_timeout(now(clock));
        false
    }

    fn poll_output(&mut self) -> Option<EngineOutput> {
        // The standing is published before an output leaves, because its receiver reads it.
        self.publish_standing();
        if let Some(refusal) = self.refused.pop_front() {
            return Some(refusal);
        }
        while let Some(output) = self.member.poll_output() {
            if let Some(output) = self.carry_out(output) {
                return Some(output);
            }
        }
        None
    }

    fn sleep(&mut self, clock: &Clock) -> Option<Duration> {
        self.measure(now(clock));
        let due = self.member.poll_timeout();
        let wall = due.wall.map(|at| clock.until(at));
        let boot = due.boot.map(|at| {
            let rest = at.since(clock::since_boot());
            Duration::from_micros(rest.0)
        });
        wall.into_iter().chain(boot).chain([TURN]).min()
    }

    fn shut_down(&mut self, clock: &Clock) {
        self.is_stopping = true;
        self.member.resign(now(clock));
    }

    /// Whether another member may have the node, and the last snapshot is stored.
    fn finish(&mut self, _: &Clock) -> bool {
        self.member.node().is_none() && !self.log.is_storing()
    }

    fn close(&mut self) -> Result<(), NoWrite> {
        // What was applied since the last turn is kept, too.
        while self.poll_output().is_some() {}
        if let Some(keeper) = &mut self.keeper {
            keeper.close(self.member.place(), self.member.hub());
        }
        // The log has what the folder of this member lacks.
        Ok(())
    }
}

fn now(clock: &Clock) -> Now {
    Now {
        wall: clock.now(),
        boot: clock::since_boot(),
    }
}

/// Tells the operator, and returns the kind of the alarm.
fn sound(alarm: &Alarm) -> &'static str {
    let (kind, sequence, why, what) = match alarm {
        Alarm::Hole { sequence } => {
            let what = "a replica of the log lacks a record, which is read elsewhere";
            ("hole", sequence, None, what)
        }
        Alarm::Damaged { sequence } => {
            let what = "a replica of the log has a damaged record, which is read elsewhere";
            ("damaged", sequence, None, what)
        }
        Alarm::Diverged { sequence } => {
            let what = "the state differs from the owner's: this member waits for a snapshot";
            ("diverged", sequence, None, what)
        }
        Alarm::Unreadable { sequence, why } => {
            let what = "the log has a record that this version cannot apply: this member waits for a \
                        snapshot";
            ("unreadable", sequence, Some(display(why)), what)
        }
    };
    tracing::error!(sequence, why, "{what}");
    kind
}
