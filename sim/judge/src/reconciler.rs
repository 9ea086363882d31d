//! Judges a live run by the journal of its server: the auditor judges each decision, and what
//! clients received is compared with what the model owes them.
//!
//! The journal is read after the run. Until then the reconciler keeps what clients received. It
//! judges by four rules:
//!
//! - An event is the model's at the same place of the same inbox.
//! - A gap is one that the model's inbox had at some entry.
//! - The answer to an accepted command is that of an entry. Clients' request keys are not in a
//!   journal, so the entries of one participant and verb are searched for an equal answer.
//! - A check that found nothing more had read every event of an entry that precedes one which any
//!   client knew before the check was sent.
//!
//! The instants of reads and of refusals before the journal are in no journal: these are not
//! judged. Nor are answers to breaks that were held as the clock stepped: these have the figures of
//! the instant at which they left. Nor are answers to calls under the key of another call, whose
//! answer they may be. Nor are clients whose handle came to belong to another participant, which a
//! late attempt of a registration can cause: the client does not know which of the two it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat_types::{BreakKind, Time};
use rustc_hash::{FxHashMap, FxHashSet};
use sim_model::history::{ClientEvent, Record, RequestKey};
use sim_model::plan::Plan;
use sim_model::protocol::{
    Agent, Answer, CallId, InboxEvent, Op, OpKind, Outcome, Reply, Response, User, Who,
};
use sim_model::server::{Entry, Gap, Implied, SecretHash, ServerRecord};
use sim_model::user_name::is_numbered;

use crate::auditor::Auditor;
use crate::comparison::Comparison;
use crate::difference::{Decision, Difference, EventPosition, says_the_same};
use crate::findings::{Finding, Findings, Property};
use crate::model::{Event, Model};
use crate::properties;

/// Compares the histories of a run's clients with the journal of their server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reconciler {
    pub(crate) auditor: Auditor,
    /// The beginning of the run, by the server's clock.
    began: Time,
    clients: BTreeMap<User, Client>,
    /// When a client knew an entry, by an answer or an event: the instant, and the position.
    known: Vec<(Time, u64)>,
    /// The latest participant of each handle, and the participants of handles that had several.
    handles: FxHashMap<SecretHash, User>,
    ambiguous: BTreeSet<User>,
    /// The calls under the key of the previous one, which may have no entry of their own.
    repetitions: FxHashSet<(Agent, CallId)>,
    /// Answers whose instants are in no journal.
    unjudged: u64,
}

/// What the client of one participant received, and is not yet compared.
#[derive(Clone, Debug, Default)]
struct Client {
    /// The events by their places in the inbox, each with the instant of its arrival.
    events: BTreeMap<u64, Event>,
    gaps: Vec<(Time, Gap)>,
    /// The answers to accepted commands.
    answers: Vec<(Time, &'static str, Reply)>,
    /// The decisions on its calls without an equal answer: it received none, or another.
    unanswered: Vec<Decision>,
    /// The latest check that found nothing more: when it was sent, and the end of its page.
    drained: Option<(Time, u64)>,
    /// The place up to which the model's inbox was compared.
    compared: u64,
    /// The first event behind the page of that check, and the position of its entry.
    unread: Option<(u64, EventPosition)>,
    /// The first difference.
    differs: Option<Finding>,
}

impl Reconciler {
    pub(crate) fn new(plan: &Plan, began: Time) -> Self {
        Self {
            auditor: Auditor::of_journal(plan),
            began,
            ..Self::default()
        }
    }

    /// Keeps what a client received.
    pub(crate) fn observe(&mut self, record: &Record<'_>) {
        let Some(user) = record.user else { return };
        if let ClientEvent::Called {
            call,
            key: RequestKey::Previous,
            ..
        } = record.what
        {
            self.repetitions.insert((record.agent, call));
        } else if let ClientEvent::Answered {
            call,
            op,
            called_at,
            outcome,
            ..
        } = record.what
        {
            match self.repetitions.remove(&(record.agent, call)) {
                true => self.unjudged += 1,
                false => self.record_answer(record.at, user, (op, called_at), outcome),
            }
        } else if let ClientEvent::Received { seq, event, .. } = record.what {
            match is_numbered(user) {
                true => self.record_event(record.at, user, seq, event),
                false => self.unjudged += 1,
            }
        }
    }

    fn record_answer(
        &mut self,
        at: Time,
        user: User,
        (op, called_at): (&Op, Time),
        outcome: &Outcome,
    ) {
        let client = self.clients.entry(user).or_default();
        match outcome {
            Ok(Response::Read(Answer::Page { page, .. })) if page.unread == 0 => {
                let latest = client.drained.is_none_or(|(before, _)| before <= called_at);
                if latest {
                    client.drained = Some((called_at, page.cursor.0));
                }
            }
            Ok(Response::Read(Answer::Page { .. })) => {}
            Ok(Response::Done(reply)) if is_numbered(user) => {
                client.answers.push((at, op.verb(), reply.clone()));
            }
            Ok(_) | Err(_) => self.unjudged += 1,
        }
    }

    fn record_event(&mut self, at: Time, user: User, seq: u64, event: InboxEvent<'_>) {
        let client = self.clients.entry(user).or_default();
        match event {
            InboxEvent::Gap(gap) => client.gaps.push((at, gap.clone())),
            InboxEvent::Event(event) => {
                let event = event.clone();
                client.events.entry(seq).or_insert(Event { at, ..event });
            }
        }
    }

    /// Compares what clients received with an entry of the journal.
    pub(crate) fn record(&mut self, now: Time, record: &ServerRecord<'_>) {
        let ServerRecord::Committed {
            position,
            at,
            entry,
            said,
            ..
        } = *record
        else {
            return self.auditor.record(now, record);
        };
        let before = self.caller(entry);
        if *entry == Entry::Stepped {
            self.leave_held_unjudged();
        }
        let committed = (entry, None, said);
        self.auditor.committed((position, at), at, committed);
        if let Some(found) = &mut self.auditor.found {
            found.at = Time(found.at.since(self.began).0);
            return;
        }
        let caller = self.caller(entry).or(before);
        if let Entry::Call { command, .. } = entry
            && let Some(user) = caller
            && let Some(client) = self.clients.get_mut(&user)
        {
            let asked = OpKind::of(command).verb();
            let equal = client.answers.iter().position(|(_, verb, answer)| {
                *verb == asked && said.is_ok_and(|said| is_equal(said, answer))
            });
            if let Some(index) = equal {
                let (answered_at, ..) = client.answers.remove(index);
                self.known.push((answered_at, position));
                self.auditor.tally.add(Comparison::Journaled);
            } else if !client.answers.is_empty() {
                let owed = said.cloned();
                client.unanswered.push(Decision {
                    position,
                    entry: entry.clone(),
                    caller,
                    repeated: false,
                    said: owed.clone(),
                    owed,
                });
            }
        }
        // What a reader acknowledges changes its gaps.
        let implied = entry.implied().into_iter();
        let reads = implied.filter(|(_, implied)| matches!(implied, Implied::Read { .. }));
        let grown = std::mem::take(&mut self.auditor.grown).into_iter();
        for user in grown.chain(reads.map(|(user, _)| user)) {
            self.compare(user, position);
        }
    }

    /// The clock steps: of each break whose answer is held, one answer has later figures.
    fn leave_held_unjudged(&mut self) {
        let now = self.auditor.model.now;
        for client in self.clients.values_mut() {
            client.unanswered.retain(|Decision { said, .. }| {
                let mut answers = client.answers.iter();
                let index = answers.position(|(_, verb, _)| *verb == OpKind::Break.verb());
                if let (Ok(Reply::OnBreak { answer_at, .. }), Some(index)) = (said, index)
                    && *answer_at > now
                {
                    client.answers.remove(index);
                    self.unjudged += 1;
                    return false;
                }
                true
            });
        }
    }

    /// The participant that the entry's handle belongs to now.
    fn caller(&mut self, entry: &Entry) -> Option<User> {
        let Entry::Call { caller, .. } = entry else {
            return None;
        };
        let handle = caller.handle();
        let user = self.auditor.model.user_of(handle)?;
        if let Some(before) = self.handles.insert(handle, user).filter(|one| *one != user) {
            self.ambiguous.extend([before, user]);
        }
        Some(user)
    }

    /// Compares a client's events and gaps with the participant's inbox.
    fn compare(&mut self, user: User, position: u64) {
        let Some(client) = self.clients.get_mut(&user) else {
            return;
        };
        let Some(inbox) = self.auditor.model.inbox(user) else {
            return;
        };
        let gaps = client.gaps.len();
        client.gaps.retain(|(_, gap)| !inbox.has_gap(user, gap));
        for _ in client.gaps.len()..gaps {
            self.auditor.tally.add(Comparison::Gap);
        }
        let began = self.began;
        let place = |seq, seen| {
            let mut place = EventPosition::of(inbox, user, seq, seen);
            place.owed = place.owed.map(|owed| {
                Arc::new(Event {
                    at: Time(owed.at.since(began).0),
                    ..Event::clone(&owed)
                })
            });
            place
        };
        // A lost life passes more numbers than anyone can look at one by one.
        let owed = inbox.behind(client.compared).map(|(seq, _)| *seq);
        let received = client.events.range(client.compared + 1..);
        let received = received.map(|(seq, _)| *seq);
        let received = received.take_while(|seq| *seq <= inbox.end);
        let mut places: Vec<u64> = owed.chain(received).collect();
        places.sort_unstable();
        places.dedup();
        for seq in places {
            let owed = inbox.event(seq);
            if let Some(seen) = client.events.remove(&seq) {
                let received_at = seen.at;
                self.known.push((received_at, position));
                self.auditor.tally.add(Comparison::Answer);
                self.auditor.tally.add(Comparison::of_event(&seen.body));
                if !owed.is_some_and(|owed| is_as(owed, &seen, user)) {
                    let difference = Difference::Event(place(seq, Some(seen)));
                    let finding = finding(&self.auditor.model, received_at, difference);
                    client.differs.get_or_insert(finding);
                }
            } else if client.drained.is_some_and(|(_, cursor)| cursor < seq) && owed.is_some() {
                let unread = || (position, place(seq, None));
                client.unread.get_or_insert_with(unread);
            }
        }
        client.compared = inbox.end;
    }

    /// Whether the journal so far has an equal for all that clients received.
    pub(crate) fn is_complete(&self) -> bool {
        self.clients.values().all(|client| {
            client.events.is_empty() && client.gaps.is_empty() && client.answers.is_empty()
        })
    }

    /// The journal is read to its end: what is left has no equal in it. Returns the state.
    pub(crate) fn finish(self, findings: &mut Findings) -> Model {
        let Auditor { model, tally, .. } = self.auditor;
        let known = Known::new(self.known);
        let (mut found, mut unjudged) = (Vec::new(), self.unjudged);
        for (reader, client) in self.clients {
            let gaps = client.gaps.into_iter().map(|(at, seen)| {
                let (owed, seen) = (None, Some(seen));
                (at, Difference::Gap { reader, owed, seen })
            });
            let unanswered = client.unanswered;
            let answers = client.answers.into_iter().map(|(at, verb, said)| {
                let decision = nearest(&unanswered, verb, known.before(at), &said);
                let user = reader;
                let unjournaled = Difference::Unjournaled { user, verb, said };
                (at, decision.unwrap_or(unjournaled))
            });
            let events = client.events.into_iter().map(|(seq, seen)| {
                let at = seen.at;
                let place = EventPosition::alone(reader, seq, None, Some(seen));
                (at, Difference::Event(place))
            });
            let unread = client.drained.zip(client.unread);
            let unread = unread.filter(|((at, _), (position, _))| *position <= known.before(*at));
            let unread = unread.map(|((at, _), (_, place))| (at, Difference::Event(place)));
            let left = events.chain(answers).chain(gaps).chain(unread);
            let left = left.map(|(at, difference)| finding(&model, at, difference));
            let all: Vec<Finding> = client.differs.into_iter().chain(left).collect();
            match self.ambiguous.contains(&reader) {
                true => unjudged += all.len() as u64,
                false => found.extend(all),
            }
        }
        let first = found.into_iter().min_by_key(|finding| finding.at);
        if let Some(first) = first.filter(|_| !findings.is_closed) {
            findings.add(first);
        }
        properties::count(&tally, findings);
        findings.leave_unjudged(Property::Outcomes, unjudged);
        model
    }
}

/// The latest positions that clients knew, by instant: both ascend.
struct Known(Vec<(Time, u64)>);

impl Known {
    fn new(mut all: Vec<(Time, u64)>) -> Self {
        all.sort_unstable();
        let mut latest = 0;
        for (_, position) in &mut all {
            latest = latest.max(*position);
            *position = latest;
        }
        Self(all)
    }

    /// The latest position that any client knew before the instant; 0 if none did.
    fn before(&self, at: Time) -> u64 {
        let earlier = self.0.partition_point(|one| one.0 < at);
        earlier.checked_sub(1).map_or(0, |index| self.0[index].1)
    }
}

/// The difference between this answer and the decision nearest to a position; none if there is no
/// decision on such a call. Which of the calls it answers is unknown, but it is equal to none.
fn nearest(
    decisions: &[Decision],
    verb: &str,
    position: u64,
    answer: &Reply,
) -> Option<Difference> {
    let is_of_verb = |decision: &&Decision| matches!(&decision.entry, Entry::Call { command, .. } if OpKind::of(command).verb() == verb);
    let of_verb = decisions.iter().filter(is_of_verb);
    let nearest = of_verb.min_by_key(|decision| decision.position.abs_diff(position))?;
    Some(Difference::Decision(Decision {
        said: Ok(answer.clone()),
        ..nearest.clone()
    }))
}

fn finding(model: &Model, at: Time, difference: Difference) -> Finding {
    Finding::of(properties::owner(&difference, model), at, difference)
}

/// Whether a client received this answer. Estimates, timestamps and leases are rounded for clients.
fn is_equal(said: &Reply, seen: &Reply) -> bool {
    if let Reply::Matched {
        user,
        room,
        partner,
    } = said
        && let Reply::Matched {
            user: to,
            room: found,
            partner: other,
        } = seen
    {
        return (user, room) == (to, found) && is_shown_as(partner, other);
    }
    rounded(said) == rounded(seen)
}

/// The answer without what is rounded for clients, or not told to them.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other answers are told in full"
)]
fn rounded(reply: &Reply) -> Reply {
    let mut reply = reply.clone();
    match &mut reply {
        Reply::Waiting { estimated_wait, .. } => *estimated_wait = None,
        Reply::Sent { at, .. } => *at = Time(0),
        Reply::Stick {
            holder,
            lease_until,
            ..
        } => {
            *holder = User::default();
            *lease_until = Time(0);
        }
        Reply::OnBreak {
            user,
            flavour,
            kind,
            answer_at,
            ..
        } => {
            *user = User::default();
            *flavour = 0;
            *kind = BreakKind::ALL[0];
            *answer_at = Time(0);
        }
        _ => {}
    }
    reply
}

/// Whether a client received the owed event.
fn is_as(owed: &Event, seen: &Event, reader: User) -> bool {
    let (about, named) = (owed.about(reader), seen.about(reader));
    let is_named = match (about, named) {
        (Some(about), Some(named)) => is_shown_as(about, named),
        (about, named) => about == named,
    };
    is_named
        && (owed.room, owed.room_seq) == (seen.room, seen.room_seq)
        && says_the_same(&owed.body, &seen.body)
}

/// Whether a client was shown this participant. A client that sees a chosen id does not know the
/// participant's number.
fn is_shown_as(who: &Who, seen: &Who) -> bool {
    let is_known = who.id == seen.id || (!is_numbered(seen.id) && seen.chosen_id.is_some());
    is_known && (&who.chosen_id, &who.name) == (&seen.chosen_id, &seen.name)
}
