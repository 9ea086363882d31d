//! Judges a history: each property has a file of its own, and all share the facts of the ledger.
//!
//! Records come online, in the order of virtual time. The judge compares only what precedes,
//! `epoch` and `room_seq`, never who was first to see what. It knows only what clients saw; of the
//! core it uses no more than the types of its time and configuration.

mod answered;
mod bounded;
mod breaks_rules;
mod called;
mod claimed;
mod delivery_progress;
mod durability;
pub(crate) mod fairness;
mod fifo_matching;
mod findings;
mod idempotent_requests;
pub(crate) mod latency;
mod ledger;
mod line;
mod no_duplicates;
mod no_lost_messages;
mod no_phantoms;
mod queue_progress;
mod received;
mod room_lifecycle;
mod room_order;
mod single_match;
mod stick_exclusion;
mod stick_order;
mod stick_progress;

use std::collections::BTreeMap;

use chat_core::{Span, Time};

use self::bounded::Bounded;
use self::breaks_rules::BreaksRules;
use self::delivery_progress::DeliveryProgress;
use self::durability::Durability;
use self::fifo_matching::FifoMatching;
use self::findings::{Findings, Property};
use self::idempotent_requests::IdempotentRequests;
use self::ledger::Ledger;
use self::ledger::room::Patience;
use self::ledger::stays::Missing;
use self::line::Line;
use self::no_duplicates::NoDuplicates;
use self::no_lost_messages::NoLostMessages;
use self::no_phantoms::NoPhantoms;
use self::queue_progress::QueueProgress;
use self::room_lifecycle::RoomLifecycle;
use self::room_order::RoomOrder;
use self::single_match::SingleMatch;
use self::stick_exclusion::StickExclusion;
use self::stick_order::StickOrder;
use self::stick_progress::StickProgress;
use crate::history::{Observer, Record, What, WorldRecord};
use crate::plan::Plan;
use crate::protocol::Agent;
use crate::result::{Counts, PropertyResult, Violation};

/// Judges the records of one world by the plan's properties.
#[derive(Clone, Debug)]
pub struct Judge {
    ledger: Ledger,
    findings: Findings,
    counts: Counts,
    line: Line,
    no_lost_messages: NoLostMessages,
    no_duplicates: NoDuplicates,
    room_order: RoomOrder,
    no_phantoms: NoPhantoms,
    single_match: SingleMatch,
    fifo_matching: FifoMatching,
    stick_exclusion: StickExclusion,
    stick_order: StickOrder,
    room_lifecycle: RoomLifecycle,
    idempotent_requests: IdempotentRequests,
    durability: Durability,
    bounded: Bounded,
    breaks_rules: BreaksRules,
    queue_progress: QueueProgress,
    stick_progress: StickProgress,
    delivery_progress: DeliveryProgress,
}

/// What a run's history comes to.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Each property that the plan names. `fairness` and `latency` are still open: they follow
    /// from the thresholds, over all seeds (`metrics::judged_by_thresholds`).
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// The first hundred, the first first; `seed` is 0.
    pub violations: Vec<Violation>,
    /// Messages.
    pub counts: Counts,
    /// The most times that anyone was passed over.
    pub overtaken: Overtaken,
    /// The same for each virtual user who was, by their number.
    pub overtaken_users: Vec<(Agent, Overtaken)>,
}

/// The most times that anyone was passed over during one wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overtaken {
    /// In the queue.
    pub queue: u64,
    /// Waiting for a stick.
    pub stick: u64,
}

impl Observer for Judge {
    fn observe(&mut self, record: &Record<'_>) {
        self.ledger.clock.now = record.at;
        match record.what {
            What::Received {
                seq,
                sent_at,
                saw,
                path,
                first,
            } => {
                let delivery = received::Delivery {
                    seq,
                    sent_at,
                    path,
                    first,
                };
                self.received(record, delivery, saw);
            }
            What::Called {
                call, op, keyed, ..
            } => self.called(record, call, op, keyed),
            What::Answered {
                call,
                op,
                called_at,
                outcome,
                ..
            } => self.answered(record, (call, called_at), op, outcome),
            What::AnsweredAgain { call, op, outcome } => {
                self.answered_again(record, call, op, outcome);
            }
            What::Retried { call, why } => self.retried(record, call, why),
            What::Abandoned { call, op } => self.abandoned(record, call, op),
            What::StreamOpened => self.stream(record, true),
            What::StreamClosed => self.stream(record, false),
            What::Forgot => self.lost_touch(record),
            What::Vanished => {
                self.ledger.client(record.agent).vanished = true;
                self.lost_touch(record);
            }
            What::Finished => {
                let client = self.ledger.client(record.agent);
                client.finished_at = Some(record.at);
                client.drained_at = None;
                client.read_out_at = None;
            }
            What::Drained => self.drained(record),
            What::Stuck { .. } => {}
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        self.ledger.world(record);
        if let WorldRecord::ClockJumped { at, .. } = *record {
            self.jumped(at);
        }
        if let WorldRecord::Sizes { sizes, .. } = record {
            self.bounded.sizes(&self.ledger, sizes, &mut self.findings);
        }
    }
}

impl Judge {
    /// A judge who has seen nothing yet. Only the plan's properties are judged.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            ledger: Ledger::new(plan),
            findings: Findings::new(plan),
            counts: Counts::default(),
            line: Line::default(),
            no_lost_messages: NoLostMessages::default(),
            no_duplicates: NoDuplicates::default(),
            room_order: RoomOrder::default(),
            no_phantoms: NoPhantoms::default(),
            single_match: SingleMatch::default(),
            fifo_matching: FifoMatching::default(),
            stick_exclusion: StickExclusion::default(),
            stick_order: StickOrder::default(),
            room_lifecycle: RoomLifecycle::default(),
            idempotent_requests: IdempotentRequests::default(),
            durability: Durability::default(),
            bounded: Bounded::default(),
            breaks_rules: BreaksRules::default(),
            queue_progress: QueueProgress::new(plan),
            stick_progress: StickProgress::default(),
            delivery_progress: DeliveryProgress::default(),
        }
    }

    /// Whether a safety property is known to be violated.
    #[must_use]
    pub fn violated(&self) -> bool {
        self.findings.safety_is_broken()
    }

    /// The run is over, at this time: what is still open is judged.
    #[must_use]
    pub fn finish(mut self, now: Time) -> Judgement {
        self.ledger.clock.now = self.ledger.clock.now.max(now);
        let now = self.ledger.clock.now;
        for index in 0..self.ledger.clients.len() {
            self.ledger.clients[index].give_up_all();
            if let Ok(agent) = u32::try_from(index) {
                self.judge_overdue(Agent(agent));
            }
        }
        for slot in 0..self.ledger.rooms.len() {
            self.in_order(slot, Patience::None);
        }
        let passed_over = self.line.finish(&self.ledger);
        self.fifo_matching
            .overtaken(&self.ledger, &passed_over, &mut self.findings);
        self.delivery_progress
            .finish(&mut self.ledger, now, &mut self.findings);
        self.counts.phantom = self.no_phantoms.phantoms;
        let (attempted, settled) = (
            self.counts.attempted,
            self.counts.accepted + self.counts.refused,
        );
        self.counts.unanswered = attempted.saturating_sub(settled);
        Judgement {
            properties: self.results(),
            counts: self.counts,
            overtaken: Overtaken {
                queue: self.line.most_overtaken,
                stick: self.stick_order.most_overtaken,
            },
            overtaken_users: self.overtaken_users(),
            violations: self.findings.into_violations(),
        }
    }

    fn overtaken_users(&self) -> Vec<(Agent, Overtaken)> {
        let people = &self.ledger.people;
        let mut users: BTreeMap<Agent, Overtaken> = BTreeMap::new();
        for (person, times) in &self.line.overtaken {
            if let Some(agent) = people[*person].owner {
                let most = &mut users.entry(agent).or_default().queue;
                *most = (*most).max(*times);
            }
        }
        for (user, times) in &self.stick_order.overtaken {
            let person = self.ledger.person_known(*user);
            if let Some(agent) = person.and_then(|person| people[person].owner) {
                let most = &mut users.entry(agent).or_default().stick;
                *most = (*most).max(*times);
            }
        }
        users.into_iter().collect()
    }

    fn results(&self) -> BTreeMap<&'static str, PropertyResult> {
        Property::ALL
            .into_iter()
            .filter(|&property| self.findings.judges(property))
            .map(|property| {
                let checks = self.checks(property);
                let held = if self.findings.is_broken(property) {
                    Some(false)
                } else {
                    (checks > 0).then_some(true)
                };
                let result = PropertyResult {
                    held,
                    checks,
                    class: property.class(),
                };
                (property.name(), result)
            })
            .collect()
    }

    const fn checks(&self, property: Property) -> u64 {
        match property {
            Property::NoLostMessages => self.no_lost_messages.checks,
            Property::NoDuplicates => self.no_duplicates.checks,
            Property::RoomOrder => self.room_order.checks,
            Property::NoPhantoms => self.no_phantoms.checks,
            Property::SingleMatch => self.single_match.checks,
            Property::FifoMatching => self.fifo_matching.checks,
            Property::StickExclusion => self.stick_exclusion.checks,
            Property::StickOrder => self.stick_order.checks,
            Property::RoomLifecycle => self.room_lifecycle.checks,
            Property::IdempotentRequests => self.idempotent_requests.checks,
            Property::Durability => self.durability.checks,
            Property::Bounded => self.bounded.checks,
            Property::QueueProgress => self.queue_progress.checks,
            Property::StickProgress => self.stick_progress.checks,
            Property::DeliveryProgress => self.delivery_progress.checks,
            Property::BreaksRules => self.breaks_rules.checks,
            Property::Fairness | Property::Latency => 0,
        }
    }

    /// A stream opened or closed: past the grace a closed one puts its user out of the line.
    fn stream(&mut self, record: &Record<'_>, open: bool) {
        let Some(person) = self.ledger.who(record) else {
            return;
        };
        self.heard(person, None, record.at);
        if open {
            self.opened(person, record.at);
        } else {
            self.away(person, record.at);
        }
        self.ledger.people[person].streaming = open.then_some(record.at);
    }

    fn opened(&mut self, person: usize, now: Time) {
        self.back(person, now, true);
        let closed_at = self.ledger.people[person].stream_closed_at;
        let grace = self.ledger.config.reconnect_grace;
        if let Some(since) = self.line.waits_since(person)
            && closed_at < since
            && now.since(since + self.ledger.client_timeout) >= grace
        {
            // The first opening may have been given up, and counted as closed: the grace after that
            // may have been over before this one. One that closed while it waited is known of.
            self.line.lapse(person);
        }
    }

    /// Nobody will ever be heard of again under this handle.
    fn lost_touch(&mut self, record: &Record<'_>) {
        self.ledger.client(record.agent).give_up_all();
        self.breaks_rules.lost_touch(record.agent);
        let Some((_, person)) = self.ledger.client(record.agent).current.take() else {
            return;
        };
        self.ledger.people[person].gone = true;
        self.line.drop_out(&mut self.ledger, person);
        self.stick_progress.drop(&mut self.ledger, person, None);
        for index in 0..self.ledger.people[person].memberships.len() {
            let slot = self.ledger.people[person].memberships[index].slot;
            if self.ledger.partner_is_gone(person, slot) {
                self.ledger.abandon_room(slot);
            }
        }
        self.judge_overdue(record.agent);
    }

    /// Somebody's inbox is drained: all that was owed has come, or is lost.
    fn drained(&mut self, record: &Record<'_>) {
        let Some(person) = self.ledger.who(record) else {
            return;
        };
        self.ledger
            .client(record.agent)
            .drained_at
            .get_or_insert(record.at);
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let someone = &mut l.people[person];
        someone.empty_at = someone.empty_at.max(someone.read_at);
        let user = someone.user;
        let received = std::mem::take(&mut someone.received);
        let survived = std::mem::take(&mut someone.survived);
        let lacks = l.take_lacks(person);
        self.no_lost_messages.drained(l, user, received, &lacks, f);
        self.durability.drained(l, user, survived, &lacks, f);
        for lack in &lacks {
            match lack.what {
                Missing::Message { .. } => self.counts.lost += 1,
                Missing::End => self.room_lifecycle.end_untold(l, user, lack.room, f),
                Missing::Event | Missing::Unexplained => {}
            }
        }
        self.room_lifecycle.drained(l, person, f);
        self.no_phantoms.drained(l, person, f);
        self.single_match.drained(l, person, f);
        self.bounded.drained(l, person, f);
        self.emptied(person);
    }

    /// Somebody's inbox was read to its end: whatever still waits has waited until then.
    fn emptied(&mut self, person: usize) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        if l.people[person].in_line {
            self.queue_progress.emptied(l, &self.line, person, f);
        }
        if l.people[person].claims_stick {
            self.stick_progress.emptied(l, person, f);
        }
    }

    /// Hands each place of a room's order over, once all before it is known.
    fn in_order(&mut self, slot: usize, patience: Patience) {
        use self::ledger::event::Event;
        use self::ledger::room::RoomKind;
        while let Some((seq, entry)) = self.ledger.rooms[slot].take_in_order(patience) {
            let (l, f) = (&mut self.ledger, &mut self.findings);
            self.no_phantoms.in_order(l, slot, seq, entry.event, f);
            match (l.rooms[slot].kind, entry.event) {
                (RoomKind::Named, _) => {
                    let reign = self.stick_exclusion.in_order(l, slot, seq, &entry, f);
                    self.stick_order.in_order(l, slot, seq, &entry, f);
                    if let Some(entry) = l.rooms[slot].entry_mut(seq) {
                        entry.reign = reign;
                    }
                }
                (RoomKind::Pair, Event::Message { sender, .. }) => {
                    self.room_lifecycle.in_order(l, slot, sender, f);
                }
                (RoomKind::Pair, Event::Ended(reason)) => {
                    self.room_lifecycle.end_in_order(l, slot, reason, f);
                }
                (RoomKind::Pair | RoomKind::Unknown, _) => {}
            }
        }
    }
}

/// How long an answer may still be on its way after its client gave the call up.
const STRAY: Span = Span::secs(60);
