//! What the clients of one run did and observed, by participant, room and text.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Span, Time};
use rustc_hash::{FxHashMap, FxHashSet};
use sim_model::draw::Ratio;
use sim_model::plan::{Argument, Fault, Persona, Plan, Registrations, ScriptStep};
use sim_model::protocol::{
    Agent, CallId, Command, Op, OpKind, Outcome, Reply, Response, Room, User,
};

use crate::difference::Fact;
use crate::model::Event;

/// Judges one run by what its clients did and observed: the facts that rules compare at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    /// The participants whose clients are observed. All others are strangers.
    pub(super) participants: BTreeMap<User, Client>,
    /// The known positions of each room.
    pub(super) places: BTreeMap<(Room, u64), Place>,
    /// All calls with a text, by that text.
    pub(super) texts: FxHashMap<Arc<str>, Vec<TextCall>>,
    /// Attempted blocks, whatever their answers.
    pub(super) blocks: FxHashSet<(User, User)>,
    /// The index of an unanswered call in `texts`.
    open: FxHashMap<(Agent, CallId), (Arc<str>, usize)>,
    callers: Vec<Caller>,
    remembered_keys: u64,
    /// Whether no call of the plan reuses the key of another call.
    has_own_keys: bool,
    /// Whether the network may copy requests.
    copies: bool,
    /// The time for which every registration lasts.
    lasting: Span,
}

/// What one virtual user called.
#[derive(Clone, Copy, Debug, Default)]
struct Caller {
    /// The number of calls with a request key.
    keyed: u64,
    /// When it sent its first registering request, and whether it sent more than one.
    registering: Option<(Time, bool)>,
}

/// A position of a room.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Its event, if a client received it.
    pub(super) seen: Option<ObservedEvent>,
    /// The answer to a send or a push that names it.
    pub(super) accepted: Option<Accepted>,
}

/// A participant, as known to its own client.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    /// The events of its inbox: the room, and the position there.
    pub(super) inbox: BTreeMap<u64, (Room, u64)>,
    /// The first and the last position of each gap.
    pub(super) gaps: Vec<(u64, u64)>,
    /// All positions up to this one arrived, as events or in gaps.
    pub(super) complete: u64,
    /// When the latest check that found nothing after `complete` was sent.
    pub(super) drained: Option<Time>,
    /// Its calls that may release the stick or end a membership, with their room if they name one.
    given_up: FxHashSet<(&'static str, Option<Room>)>,
}

/// An event of a room, as its first reader received it.
#[derive(Clone, Debug)]
pub(super) struct ObservedEvent {
    pub(super) event: Event,
    pub(super) reader: User,
    pub(super) seq: u64,
    pub(super) at: Time,
}

/// A position of a room from the answer to a send; or to a push, if there is no text.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) sender: User,
    pub(super) text: Option<Arc<str>>,
    pub(super) at: Time,
}

/// A call with a text.
#[derive(Clone, Debug)]
pub(super) struct TextCall {
    pub(super) agent: Agent,
    pub(super) user: Option<User>,
    pub(super) room: Option<Room>,
    pub(super) verb: &'static str,
    pub(super) is_keyed: bool,
    pub(super) outcome: Option<Outcome>,
}

impl ObservedEvent {
    pub(super) fn fact(&self) -> Fact {
        Fact::Received(self.reader, self.seq, self.event.clone())
    }

    /// The sender and the text of a message.
    pub(super) fn message(&self) -> Option<(User, &Arc<str>)> {
        self.event.body.message()
    }
}

impl Accepted {
    pub(super) const fn fact(&self, (room, room_seq): (Room, u64)) -> Fact {
        Fact::Accepted(self.sender, room, room_seq)
    }
}

impl Client {
    /// An event arrived at this position.
    pub(super) fn receive(&mut self, seq: u64, place: (Room, u64)) {
        self.inbox.insert(seq, place);
        self.advance();
    }

    /// A gap arrived.
    pub(super) fn miss(&mut self, gap: (u64, u64)) {
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
            self.advance();
        }
    }

    fn advance(&mut self) {
        while let Some(end) = self.end_of(self.complete.saturating_add(1))
            && end > self.complete
        {
            self.complete = end;
        }
    }

    /// The last position of the gap that covers this position, or the position itself if it has an
    /// event.
    fn end_of(&self, seq: u64) -> Option<u64> {
        let mut gaps = self.gaps.iter();
        let gap = gaps.find(|(from, to)| (*from..=*to).contains(&seq));
        let event = self.inbox.contains_key(&seq).then_some(seq);
        gap.map(|(_, to)| *to).or(event)
    }

    /// Whether it ever made a call of this kind that may affect the room.
    pub(super) fn may_have_called(&self, verb: &'static str, room: Room) -> bool {
        let mut rooms = [None, Some(room)].into_iter();
        rooms.any(|room| self.given_up.contains(&(verb, room)))
    }
}

impl TextCall {
    /// Whether the first attempt was refused, and with it all others.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.outcome, Some(Err(refusal)) if is_remembered(refusal.code))
    }

    /// Whether it is a send whose effect is uncertain.
    pub(super) fn is_open(&self) -> bool {
        self.verb == "send" && !matches!(self.outcome, Some(Ok(_))) && !self.is_refused()
    }
}

impl Witness {
    /// A witness without any records.
    pub(crate) fn new(plan: &Plan) -> Self {
        let reuses = |step: &ScriptStep| step.leave_out.contains(&Argument::FreshKey);
        // A stray call sometimes has the key of the call before.
        let strays = |persona: &Arc<Persona>| persona.habits.stray != Ratio::NEVER;
        let (steps, personas) = (plan.workload.steps(), plan.workload.personas());
        let reused = steps.iter().any(reuses) || personas.iter().any(strays);
        let copied = |step: &ScriptStep| step.net.duplicate.is_some();
        let copies = steps.iter().any(copied);
        Self {
            remembered_keys: plan.server.remembered_keys as u64,
            has_own_keys: !reused,
            copies: copies || plan.network.duplicate != Ratio::NEVER,
            lasting: lasting(plan),
            ..Self::default()
        }
    }

    /// A client without a participant sends a request: it registers.
    pub(super) fn register(&mut self, at: Time, agent: Agent) {
        let first = &mut agent.item_of(&mut self.callers).registering;
        *first = Some(first.map_or((at, false), |(since, _)| (since, true)));
    }

    /// Whether the client's handle may be another participant's by now: the registration has ended,
    /// and a second copy of the registering request has registered the handle anew.
    pub(super) fn may_be_another(&self, at: Time, agent: Agent) -> bool {
        let registering = self.callers.get(agent.0 as usize);
        let registering = registering.and_then(|caller| caller.registering);
        registering
            .is_some_and(|(since, again)| (self.copies || again) && at.since(since) >= self.lasting)
    }

    /// Processes a call. `is_keyed`: it has a request key.
    pub(super) fn call(
        &mut self,
        id: (Agent, CallId),
        user: Option<User>,
        op: &Op,
        is_keyed: bool,
    ) {
        id.0.item_of(&mut self.callers).keyed += u64::from(is_keyed);
        if let (Some(text), Some(room)) = (op.text(), op.room()) {
            let of_text = self.texts.entry(Arc::clone(text)).or_default();
            self.open.insert(id, (Arc::clone(text), of_text.len()));
            of_text.push(TextCall {
                agent: id.0,
                user,
                room,
                verb: op.verb(),
                is_keyed,
                outcome: None,
            });
        }
        let Some(user) = user else { return };
        if let Op::Command(Command::BlockUser { user: other }) = op {
            self.blocks.insert((user, *other));
        }
        if let OpKind::LeaveChat | OpKind::Reset | OpKind::Push = op.kind() {
            let given_up = op.room().map(|room| (op.verb(), room));
            let participant = self.participants.entry(user).or_default();
            participant.given_up.extend(given_up);
        }
    }

    /// Processes the answer to a call.
    pub(super) fn answer(&mut self, id: (Agent, CallId), user: User, outcome: &Outcome, at: Time) {
        let open = self.open.remove(&id);
        if let Some((text, index)) = &open
            && let Some(spoken) = self.texts.get_mut(text).and_then(|all| all.get_mut(*index))
        {
            spoken.outcome = Some(outcome.clone());
        }
        if let Ok(Response::Done(Reply::Sent { room, room_seq, .. })) = *outcome {
            let (sender, text) = (user, open.map(|(text, _)| text));
            let place = self.places.entry((room, room_seq.0)).or_default();
            let accepted = Accepted { sender, text, at };
            place.accepted.get_or_insert(accepted);
        }
    }

    /// The events that clients received, by room and position.
    pub(super) fn events(&self) -> impl Iterator<Item = &ObservedEvent> + Clone {
        self.places.values().filter_map(|known| known.seen.as_ref())
    }

    /// The event at this position of a room, if a client received it.
    pub(super) fn seen(&self, place: &(Room, u64)) -> Option<&ObservedEvent> {
        self.places.get(place)?.seen.as_ref()
    }

    /// The event that this reader received at this position of its inbox.
    pub(super) fn received(&self, reader: User, seq: u64) -> Option<Fact> {
        let place = self.participants.get(&reader)?.inbox.get(&seq)?;
        let event = self.seen(place)?.event.clone();
        Some(Fact::Received(reader, seq, event))
    }

    /// Whether every key of the client belongs to one call only, and the server still remembers it.
    pub(super) fn remembers_keys(&self, agent: Agent) -> bool {
        let keys = self.callers.get(agent.0 as usize);
        self.has_own_keys && keys.is_none_or(|caller| caller.keyed <= self.remembered_keys)
    }
}

/// The time for which every registration of the plan lasts: the shortest time until a participant is
/// away or unused, unless clocks jump, or operators act.
fn lasting(plan: &Plan) -> Span {
    let may_end = |fault: &Fault| fault.kind.row().registrations == Registrations::MayEnd;
    if plan.faults.iter().any(may_end) {
        return Span::ZERO;
    }
    let server = &plan.server;
    let away = server.idle_timeout.min(server.queue_timeout);
    away.min(server.reconnect_grace).min(server.unused_timeout)
}

/// Whether the refusal is the outcome of the first attempt. // 13.3
pub(super) fn is_remembered(code: &str) -> bool {
    let of_an_attempt = ["blocked", "handle_required", "overloaded", "rate_limited"];
    let of_a_retry = ["request_key_reused", "shutting_down", "storage_unavailable"];
    code != "unknown_handle" && !of_an_attempt.contains(&code) && !of_a_retry.contains(&code)
}
