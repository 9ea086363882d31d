//! The owner: it drives the node, whose batches it appends.

use chat_core::{Departure, Earlier, InFlight, Node, Output as NodeOutput, Position, Time};

use super::append::Purpose;
use super::reads::WaitingCalls;
use super::{Member, State};
use crate::envelope::{Body, MAX_ENVELOPE_BYTES};
use crate::output::Output;
use crate::timing::{HEARTBEAT, LEASE, Now};

/// Whether the owner gives up the ownership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    No,
    /// It finishes the calls that it has.
    Finishing,
    /// Its resignation may be in the log, so that another member may be the owner.
    Gone,
}

/// All that only the owner has.
#[derive(Clone, Debug)]
pub(super) struct Ownership {
    pub(super) node: Node,
    /// When the last append that is in the log began.
    began: Time,
    /// The instant of the next heartbeat, or of the next attempt to resign.
    pub(super) next_at: Time,
    pub(super) leaving: Leaving,
    /// Calls whose strict answers wait for the log.
    pub(super) waiting: WaitingCalls,
    /// The digest of the state at a position.
    digest: Option<(Position, u64)>,
}

impl Ownership {
    fn new(node: Node, began: Time) -> Self {
        Self {
            node,
            began,
            next_at: began,
            leaving: Leaving::No,
            waiting: WaitingCalls::default(),
            digest: None,
        }
    }

    /// Whether no other member can be the owner. Another one claims only after it has waited for
    /// longer than the lease, from the arrival of the last record that it knows; and its claim
    /// succeeds only if that is the last record of the log.
    pub(super) fn has_lease(&self, boot: Time) -> bool {
        self.leaving != Leaving::Gone && boot < self.began + LEASE
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving != Leaving::No
    }

    pub(super) fn leave(&mut self) {
        if self.leaving == Leaving::No {
            self.node.shut_down();
            self.leaving = Leaving::Finishing;
        }
    }

    /// An append that began at this instant is in the log.
    pub(super) fn renew(&mut self, began: Time) {
        self.began = began;
        self.next_at = began + HEARTBEAT;
    }

    /// When the lease ends, so that another member may take the calls that wait. `None` if none
    /// waits.
    pub(super) fn waiting_end(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.began + LEASE)
    }

    /// All but the hub, as text.
    pub(super) fn outline(&self) -> String {
        let batch: Vec<_> = self.node.batch().collect();
        let load = self.node.load();
        let times = (self.began, self.next_at, self.leaving);
        let storage = self.node.check_storage(Time(0));
        let waiting = &self.waiting;
        format!("{batch:?} {load:?} {times:?} {storage:?} {waiting:?}")
    }

    fn digest(&mut self) -> (Position, u64) {
        let hub = self.node.hub();
        match self.digest {
            Some((position, digest)) if position == hub.position() => (position, digest),
            _ => *self.digest.insert((hub.position(), hub.digest())),
        }
    }
}

impl Member {
    /// The claim is in the log: the state becomes a node's.
    pub(super) fn become_owner(&mut self, began: Time) {
        let State::Standby(hub) = self.state.take() else {
            unreachable!("only a standby claims");
        };
        let config = self.settings.config.clone();
        let seed = self.settings.origin.seed;
        let node = Node::with_journal(*hub, config, seed, self.place.continuity);
        self.state = State::Owner(Box::new(Ownership::new(node, began)));
        let epoch = self.place.epoch();
        self.outputs.push_back(Output::BecameOwner { epoch });
    }

    /// Another member owns the log, or may claim it. Does nothing on a member that is not the owner.
    pub(super) fn depart(&mut self, in_flight: InFlight) {
        if !matches!(self.state, State::Owner(_)) {
            return;
        }
        let State::Owner(mut ownership) = self.state.take() else {
            unreachable!("it was the owner");
        };
        let epoch = self.place.epoch();
        let waiting = ownership.waiting.take_all();
        let Departure {
            hub,
            outputs,
            unanswered,
            streams,
        } = ownership.node.depart(in_flight);
        self.state = State::Standby(Box::new(hub));
        for output in outputs {
            self.outputs.push_back(Output::Node(doubted(output)));
        }
        for (ticket, earlier) in unanswered {
            self.refuse(ticket, earlier);
        }
        self.refuse_all(waiting);
        let closed = streams.into_iter().map(NodeOutput::StreamClosed);
        self.outputs.extend(closed.map(Output::Node));
        self.outputs.push_back(Output::LostOwnership { epoch });
    }

    /// Lets the owner do all that is possible now, and takes the node's outputs.
    pub(super) fn advance(&mut self, now: Now) {
        if self.append.is_none() {
            self.append_next(now);
        }
        self.take_outputs(now);
    }

    /// Takes the outputs of the owner's node.
    pub(super) fn take_outputs(&mut self, now: Now) {
        let State::Owner(ownership) = &mut self.state else {
            return;
        };
        let has_lease = ownership.has_lease(now.boot);
        while let Some(output) = ownership.node.poll_output() {
            let output = if has_lease { output } else { doubted(output) };
            self.outputs.push_back(Output::Node(output));
        }
    }

    fn append_next(&mut self, now: Now) {
        let State::Owner(ownership) = &mut self.state else {
            return;
        };
        if self.records >= self.settings.snapshot_every {
            self.records = 0;
            self.outputs.push_back(Output::StoreSnapshot);
        }
        let id = self.settings.id;
        if let Some(batch) = ownership.node.poll_batch(now.wall) {
            let sealed = self.place.chain.seal(now.wall, batch);
            let record = sealed.bytes.as_slice();
            let (bytes, mut after) = self.place.seal(id, Body::Batch { record });
            assert!(
                bytes.len() <= MAX_ENVELOPE_BYTES,
                "the largest batch fits into a record"
            );
            after.chain = sealed.after;
            let purpose = Purpose::Batch {
                first: sealed.first,
                at: now.wall,
                record: sealed.bytes.into(),
            };
            return self.begin_append(now, purpose, (bytes, after));
        }
        let is_due = now.boot >= ownership.next_at;
        let may_resign = ownership.is_leaving() && (is_due || ownership.leaving != Leaving::Gone);
        if may_resign && ownership.node.finish(now.wall) {
            ownership.leaving = Leaving::Gone;
            self.outputs.push_back(Output::StoreSnapshot);
            let resigned = self.place.seal(id, Body::Resigned);
            return self.begin_append(now, Purpose::Resigned, resigned);
        }
        if ownership.waiting.due().is_some_and(|due| now.boot >= due) {
            let noop = self.place.seal(id, Body::Noop);
            return self.begin_append(now, Purpose::Noop, noop);
        }
        if !is_due {
            return;
        }
        let (position, digest) = ownership.digest();
        let heartbeat = self.place.seal(id, Body::Heartbeat { position, digest });
        self.begin_append(now, Purpose::Heartbeat, heartbeat);
    }
}

/// An output of a node that may not be the owner any more. A refusal does not say that no attempt
/// has taken effect: another member may have taken one.
fn doubted(mut output: NodeOutput) -> NodeOutput {
    if let NodeOutput::Reply {
        outcome: Err(reject),
        ..
    } = &mut output
        && reject.earlier() == Earlier::None
    {
        *reject = reject.with_earlier(Earlier::Unknown);
    }
    output
}
