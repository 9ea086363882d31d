//! Records what the participants of a diagram sent, received and experienced.

mod records;

use std::collections::{BTreeMap, VecDeque};

use chat_types::{Span, Time};
use rustc_hash::FxHashMap;

use super::call_description::{CallDescription, several};
use super::lane_selection::LaneSelection;
use super::window::{self, Window};
use super::{Band, Diagram, Event, Fate, Kind, Lane, Role, Rule, Shown, VIOLATION};
use sim_model::history::{DeliveryPath, Record};
use sim_model::plan::{Delivery, Plan};
use sim_model::protocol::{Agent, CallId, InboxEvent, Op, Outcome, Response, Room};
use sim_model::words;

/// The most recorded events of a run.
const KEPT: usize = 200_000;

/// A push in transit; its content is known when it arrives.
#[derive(Debug)]
struct PushInTransit {
    first_seq: u64,
    events: u32,
    index: usize,
    /// Its content so far, in words.
    brought: Vec<String>,
}

/// The observer.
#[derive(Debug)]
pub(super) struct LaneRecorder<'a> {
    pub(super) plan: &'a Plan,
    start: Time,
    violation: Span,
    place: Option<(Room, u64)>,
    pub(super) server: usize,
    pub(super) lanes: FxHashMap<Agent, usize>,
    concerned: Vec<usize>,
    events: Vec<Event>,
    pub(super) bands: Vec<Band>,
    rules: Vec<Rule>,
    descriptions: FxHashMap<(Agent, CallId), CallDescription>,
    requests: FxHashMap<(Agent, CallId, u32), usize>,
    /// Answers that have not reached their clients.
    replies: FxHashMap<(Agent, CallId), Vec<usize>>,
    pushes: FxHashMap<Agent, VecDeque<PushInTransit>>,
    /// The latest opening of each client's stream, until it is open.
    openings: FxHashMap<Agent, usize>,
    /// The page of a check, until its answer arrives.
    pages: FxHashMap<Agent, Page>,
    down_since: Option<Span>,
    healed: Option<Span>,
    pub(super) last: Span,
    /// With several servers: the lane of the first one. That of the log is the last lane.
    pub(super) first_member: usize,
    /// What lasts on the lanes of servers and log, and since when.
    pub(super) lasting: BTreeMap<(usize, (&'static str, &'static str)), Span>,
}

#[derive(Debug, Default)]
struct Page {
    words: Vec<String>,
    facts: Vec<(&'static str, String)>,
    named: bool,
}

impl<'a> LaneRecorder<'a> {
    pub(super) fn new(plan: &'a Plan, start: Time, selection: &LaneSelection) -> Self {
        // The server's lane is in the middle, and the most affected participants are beside it, so
        // that arrows are short: the first to the left, the second to the right, and so on outward.
        let server = selection.lanes.len().div_ceil(2);
        let lane = |index: usize| match index % 2 {
            0 => server - 1 - index / 2,
            _ => server + 1 + index / 2,
        };
        let all = selection.lanes.iter().enumerate();
        let concerned = all
            .clone()
            .filter(|(_, (_, who))| who.role == Role::Concerned);
        Self {
            plan,
            start,
            violation: selection.violation,
            place: selection.place,
            server,
            concerned: concerned.map(|(index, _)| lane(index)).collect(),
            lanes: all
                .map(|(index, (agent, _))| (*agent, lane(index)))
                .collect(),
            events: Vec::new(),
            bands: Vec::new(),
            rules: Vec::new(),
            descriptions: FxHashMap::default(),
            requests: FxHashMap::default(),
            replies: FxHashMap::default(),
            pushes: FxHashMap::default(),
            openings: FxHashMap::default(),
            pages: FxHashMap::default(),
            down_since: None,
            healed: None,
            last: Span::ZERO,
            first_member: selection.lanes.len() + 1,
            lasting: BTreeMap::new(),
        }
    }

    /// The events and faults of the lanes, numbered in the order of the selection.
    pub(super) fn into_events(mut self, selection: &LaneSelection) -> (Vec<Event>, Vec<Band>) {
        if let Some(since) = self.down_since.take() {
            self.band(self.server, since, self.last, "crash", "server down");
        }
        self.end_cluster();
        let mut numbers = vec![selection.lanes.len(); self.first_member];
        numbers.extend(self.first_member..self.first_member + self.cluster_lanes().len());
        for (number, (agent, _)) in selection.lanes.iter().enumerate() {
            numbers[self.lanes[agent]] = number;
        }
        for event in &mut self.events {
            event.lane = numbers[event.lane];
        }
        for band in &mut self.bands {
            band.lane = numbers[band.lane];
            band.to_us = band.to_us.min(self.last.0);
        }
        self.events.sort_by_key(|event| event.from_us);
        (self.events, self.bands)
    }

    /// The diagram of the finished run.
    pub(super) fn into_diagram(mut self, selection: &LaneSelection) -> Diagram {
        if let Some(since) = self.down_since.take() {
            self.band(self.server, since, self.last, "crash", "server down");
        }
        self.end_cluster();
        let server = Lane {
            name: "server".to_owned(),
            persona: match self.plan.servers {
                1 => String::new(),
                _ => "the owner of the chat".to_owned(),
            },
            role: Role::Server,
        };
        let mut lanes = vec![server; selection.lanes.len() + 1];
        for (agent, lane) in &selection.lanes {
            lanes[self.lanes[agent]].clone_from(lane);
        }
        lanes.extend(self.cluster_lanes());
        let seen_there = self.events.iter().any(|event| event.blamed);
        self.rules.push(Rule {
            at_us: self.violation.0,
            label: VIOLATION.to_owned(),
        });
        let window = Window {
            // A violation found at the end of the run may be about a much earlier event.
            about: selection
                .subject
                .filter(|_| !seen_there)
                .unwrap_or(self.violation),
            concerned: &self.concerned,
            last: self.last,
        };
        let mut diagram = Diagram {
            of: Shown::Whole,
            seed: 0,
            property: String::new(),
            detail: String::new(),
            marks: Vec::new(),
            violation_us: self.violation.0,
            from_us: 0,
            to_us: 0,
            lanes,
            events: self.events,
            bands: self.bands,
            rules: self.rules,
            left_out: Vec::new(),
        };
        window::cut(&mut diagram, &window);
        if selection.left_out > 0 {
            let words = format!(
                "{} others of the same rooms have no lane.",
                selection.left_out
            );
            diagram.left_out.push(words);
        }
        diagram
    }

    fn since_start(&self, at: Time) -> Span {
        at.since(self.start)
    }

    fn push(&mut self, event: Event) -> Option<usize> {
        if self.events.len() == KEPT {
            return None;
        }
        self.events.push(event);
        Some(self.events.len() - 1)
    }

    pub(super) fn point(&mut self, lane: usize, at: Span, label: String, fate: Fate) {
        let blamed = at == self.violation && self.concerned.contains(&lane);
        self.push(Event {
            blamed,
            ..event(Kind::Point, lane, at, Some(at), label, fate)
        });
    }

    fn sent(
        &mut self,
        at: Span,
        (agent, call, attempt): (Agent, CallId, u32),
        fate: Delivery,
        is_copy: bool,
    ) {
        let Some(&lane) = self.lanes.get(&agent) else {
            return;
        };
        let description = self.descriptions.get(&(agent, call));
        let mut label = description.map_or_else(
            || format!("call {}", call.0),
            |description| description.words.clone(),
        );
        if attempt > 0 {
            label.push_str(&format!(" (attempt {})", attempt + 1));
        }
        let mut facts = vec![
            ("call", call.0.to_string()),
            ("attempt", (attempt + 1).to_string()),
        ];
        facts.extend(
            description
                .into_iter()
                .flat_map(|description| description.facts.iter().cloned()),
        );
        let (to, how) = arrival(at, fate, Fate::Unheard);
        let event = Event {
            facts,
            copy: is_copy,
            idle: description.is_some_and(|description| description.verb == "check"),
            ..event(Kind::Request, lane, at, to, label, how)
        };
        if let Some(index) = self.push(event)
            && !is_copy
        {
            self.requests.insert((agent, call, attempt), index);
        }
    }

    fn replied(
        &mut self,
        at: Span,
        (agent, call, attempt): (Agent, CallId, u32),
        refused: Option<&'static str>,
        fate: Delivery,
    ) {
        let Some(&lane) = self.lanes.get(&agent) else {
            return;
        };
        let verb = self
            .descriptions
            .get(&(agent, call))
            .map_or("call", |description| description.verb);
        let label = match refused {
            Some(code) => format!("{verb} refused: {code}"),
            None => format!("{verb} answered"),
        };
        let (to, how) = arrival(
            at,
            fate,
            if refused.is_some() {
                Fate::Refused
            } else {
                Fate::Unheard
            },
        );
        let facts = vec![
            ("answers call", call.0.to_string()),
            ("attempt", (attempt + 1).to_string()),
        ];
        let event = Event {
            facts,
            ..event(Kind::Reply, lane, at, to, label, how)
        };
        if let Some(index) = self.push(event)
            && to.is_some()
        {
            self.replies.entry((agent, call)).or_default().push(index);
        }
    }

    fn heard(
        &mut self,
        at: Span,
        lane: usize,
        (agent, call): (Agent, CallId),
        op: &Op,
        outcome: &Outcome,
    ) {
        let page = self.pages.remove(&agent).unwrap_or_default();
        let blamed = at == self.violation && self.concerned.contains(&lane);
        let (violation, place) = (self.violation, self.place);
        let arrived = |events: &[Event], index: &usize| events[*index].to_us <= Some(at.0);
        let pending = self.replies.entry((agent, call)).or_default();
        let Some(found) = pending
            .iter()
            .position(|index| arrived(&self.events, index))
        else {
            return;
        };
        let index = pending.swap_remove(found);
        let event = &mut self.events[index];
        event.to_us = Some(at.0);
        event.blamed = blamed;
        event.fate = if outcome.is_err() {
            Fate::Refused
        } else {
            Fate::Fine
        };
        if let Some(words) = words::answered(op, outcome) {
            event.label = words;
        } else if page.words.is_empty() {
            event.label = "nothing new".to_owned();
            event.idle = event.to_us != Some(violation.0);
        } else {
            event.label = several(&page.words);
        }
        event.named = page.named
            || matches!(outcome, Ok(Response::Done(reply))
                if place.is_some() && reply.place().map(|(room, seq)| (room, seq.0)) == place);
        event.facts.extend(page.facts);
        if event.idle {
            return;
        }
        // A poll with new events is shown like any other call.
        for attempt in 0.. {
            let Some(&index) = self.requests.get(&(agent, call, attempt)) else {
                break;
            };
            self.events[index].idle = false;
        }
    }

    fn record_served(&mut self, at: Span, attempt: (Agent, CallId, u32)) {
        if let Some(&index) = self.requests.get(&attempt) {
            let event = &mut self.events[index];
            if event.fate == Fate::Unheard {
                event.fate = Fate::Fine;
                event.served_us = Some(at.0);
            }
        }
    }

    /// The answer is known when the stream is open.
    fn record_opening(&mut self, at: Span, agent: Agent, fate: Delivery) {
        let Some(&lane) = self.lanes.get(&agent) else {
            return;
        };
        let (to, how) = arrival(at, fate, Fate::Unheard);
        let opening = event(Kind::Opening, lane, at, to, "open stream".to_owned(), how);
        if let Some(index) = self.push(opening) {
            self.openings.insert(agent, index);
        }
    }

    fn record_opened(&mut self, at: Span, agent: Agent, lane: usize) {
        if let Some(index) = self.openings.remove(&agent) {
            self.events[index].fate = Fate::Fine;
        }
        self.point(lane, at, "stream open".to_owned(), Fate::Fine);
    }

    fn record_push(
        &mut self,
        at: Span,
        agent: Agent,
        (first_seq, events): (u64, u32),
        fate: Delivery,
    ) {
        let Some(&lane) = self.lanes.get(&agent) else {
            return;
        };
        let (to, how) = arrival(at, fate, Fate::Unheard);
        let label = match events {
            1 => "1 event".to_owned(),
            n => format!("{n} events"),
        };
        let facts = vec![("inbox", format!("from {first_seq}, {label}"))];
        let event = Event {
            facts,
            ..event(Kind::Push, lane, at, to, label, how)
        };
        if let Some(index) = self.push(event)
            && to.is_some()
        {
            self.pushes
                .entry(agent)
                .or_default()
                .push_back(PushInTransit {
                    first_seq,
                    events,
                    index,
                    brought: Vec::new(),
                });
        }
    }

    fn received(
        &mut self,
        record: &Record<'_>,
        lane: usize,
        seq: u64,
        event: InboxEvent<'_>,
        path: DeliveryPath,
    ) {
        let at = self.since_start(record.at);
        let text = words::event_words(event, record.user);
        let place = event.place();
        let mut fact = format!("{text} · {} · inbox {seq}", event.kind());
        if let Some((room, room_seq)) = place {
            fact.push_str(&format!(" · room_{} #{room_seq}", room.0));
        }
        let named = place.is_some() && place == self.place;
        if path == DeliveryPath::Check {
            let page = self.pages.entry(record.agent).or_default();
            page.words.push(text);
            page.facts.push(("brought", fact));
            page.named |= named;
            return;
        }
        let blamed = at == self.violation && self.concerned.contains(&lane);
        let waiting = self.pushes.entry(record.agent).or_default();
        // A stream keeps its order: an earlier push that has not arrived never will.
        while waiting.len() > 1 && waiting[0].first_seq + u64::from(waiting[0].events) <= seq {
            waiting.pop_front();
        }
        let Some(front) = waiting.front_mut() else {
            return;
        };
        front.brought.push(text);
        let event = &mut self.events[front.index];
        event.label = several(&front.brought);
        event.fate = Fate::Fine;
        event.to_us = Some(at.0);
        event.blamed |= blamed;
        event.named |= named;
        event.facts.push(("brought", fact));
    }
}

fn event(
    kind: Kind,
    lane: usize,
    from: Span,
    to: Option<Span>,
    label: String,
    fate: Fate,
) -> Event {
    Event {
        kind,
        lane,
        from_us: from.0,
        to_us: to.map(|to| to.0),
        served_us: None,
        label,
        fate,
        copy: false,
        idle: false,
        blamed: false,
        named: false,
        facts: Vec::new(),
    }
}

/// When a packet arrives, and its outcome: `until_heard` until more is known.
fn arrival(at: Span, fate: Delivery, until_heard: Fate) -> (Option<Span>, Fate) {
    match fate {
        Delivery::After(latency) => (Some(at + latency), until_heard),
        Delivery::Lost => (None, Fate::Lost),
    }
}
