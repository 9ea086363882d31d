//! Collects what a diagram shows of its participants from the log of a run: what they sent, received and
//! experienced. `html/diagram.js` draws it.

use std::collections::BTreeMap;

use chat_types::Span;
use rustc_hash::FxHashMap;

use super::bands::{Lasting, SERVER_DOWN};
use super::lane_selection::LaneSelection;
use super::{Band, Diagram, Event, Fate, Kind, Lane, Role, window};
use crate::numbers::{plural, told};
use sim_model::history::{FaultRecord, NetworkRecord, RequestKey};
use sim_model::outcome::START;
use sim_model::plan::{Delivery, Plan};
use sim_model::protocol::{Agent, CallId, Op, Read};
use sim_model::run_log::{Entry, Logged, RunLog};
use sim_model::words;

/// The most drawn events of a run.
const KEPT: usize = 200_000;

/// What is drawn so far.
#[derive(Debug)]
pub(super) struct LaneDrawing<'a> {
    pub(super) plan: &'a Plan,
    log: &'a RunLog,
    pub(super) selection: &'a LaneSelection,
    pub(super) lanes: FxHashMap<Agent, usize>,
    concerned: Vec<usize>,
    events: Vec<Event>,
    pub(super) bands: Vec<Band>,
    healed_us: Option<u64>,
    pub(super) last: Span,
    /// What lasts on the lanes of servers and log, and since when.
    pub(super) lasting: BTreeMap<(usize, Lasting), Span>,
}

impl<'a> LaneDrawing<'a> {
    /// Draws the run.
    pub(super) fn of(plan: &'a Plan, log: &'a RunLog, selection: &'a LaneSelection) -> Self {
        let server = selection.server;
        let lane = |index: usize| index + usize::from(index >= server);
        let all = selection.lanes.iter().enumerate();
        let concerned = all.clone();
        let concerned = concerned.filter(|(_, (_, who))| who.role == Role::Concerned);
        let mut drawing = Self {
            plan,
            log,
            selection,
            concerned: concerned.map(|(index, _)| lane(index)).collect(),
            lanes: all
                .map(|(index, (agent, _))| (*agent, lane(index)))
                .collect(),
            events: Vec::new(),
            bands: Vec::new(),
            healed_us: None,
            last: Span::ZERO,
            lasting: BTreeMap::new(),
        };
        for entry in &log.entries {
            drawing.draw(entry);
        }
        drawing.end_lasting();
        drawing
    }

    /// The events and faults of the lanes.
    pub(super) fn into_events(mut self) -> (Vec<Event>, Vec<Band>) {
        for band in &mut self.bands {
            band.to_us = band.to_us.min(self.last.0);
        }
        self.events.sort_by_key(|event| event.from_us);
        (self.events, self.bands)
    }

    /// The diagram of the finished run.
    pub(super) fn into_diagram(self) -> Diagram {
        let selection = self.selection;
        let owner = match self.plan.servers {
            1 => "",
            _ => "the owner of the chat",
        };
        let server = Lane::new("server".to_owned(), owner.to_owned(), Role::Server);
        let lanes = selection.lanes.iter();
        let mut lanes: Vec<Lane> = lanes.map(|(_, lane)| lane.clone()).collect();
        lanes.insert(selection.server, server);
        lanes.extend(self.cluster_lanes());
        let seen_there = self.events.iter().any(|event| event.blamed);
        // A violation found at the end of the run may be about a much earlier event.
        let subject = selection.subject.filter(|_| !seen_there);
        let about = subject.unwrap_or(selection.violation);
        let mut diagram = Diagram {
            violation_us: self.selection.violation.0,
            lanes,
            events: self.events,
            bands: self.bands,
            healed_us: self.healed_us,
            ..Diagram::default()
        };
        window::cut(&mut diagram, about, &self.concerned, self.last);
        if self.log.is_cut {
            let words = "The run had more events than a log takes: the last ones are missing.";
            diagram.left_out.push(words.to_owned());
        }
        if selection.left_out > 0 {
            let others = selection.left_out;
            let words = format!("{others} others of the same rooms have no lane.");
            diagram.left_out.push(words);
        }
        diagram
    }

    fn push(&mut self, event: Event) {
        if self.events.len() < KEPT {
            self.events.push(event);
        }
    }

    fn is_blamed(&self, lane: usize, at: Span) -> bool {
        at == self.selection.violation && self.concerned.contains(&lane)
    }

    pub(super) fn point(&mut self, lane: usize, at: Span, label: String, fate: Fate) {
        let blamed = self.is_blamed(lane, at);
        self.push(Event {
            blamed,
            fate,
            ..event(Kind::Point, lane, at, Delivery::After(Span::ZERO), label)
        });
    }

    /// Draws an entry. A message is drawn where it left, with its arrival.
    fn draw(&mut self, entry: &Entry) {
        let (at, server) = (entry.at.since(START), self.selection.server);
        let lane = match entry.agent {
            Some(agent) => self.lanes.get(&agent).copied(),
            None => Some(server),
        };
        if entry.is_of_client() {
            self.last = at;
        }
        match &entry.what {
            Logged::Called(_)
            | Logged::Retried(..)
            | Logged::Answered { .. }
            | Logged::Received { .. }
            | Logged::Fault(FaultRecord::Mishap(_) | FaultRecord::RoomNamed { .. }) => {}
            Logged::Abandoned(_)
            | Logged::Forgot { .. }
            | Logged::Vanished
            | Logged::Finished
            | Logged::Said => {
                if let (Some(lane), Some((mark, words))) = (lane, &entry.said) {
                    let is_fine = *mark == words::FINE;
                    let fate = if is_fine { Fate::Fine } else { Fate::Broken };
                    self.point(lane, at, words.clone(), fate);
                }
            }
            Logged::Network(record) => {
                if let Some(lane) = lane {
                    self.traffic(at, lane, entry, record);
                }
            }
            Logged::Fault(FaultRecord::Applied { fault, victims }) => {
                self.fault_started(at, *fault, victims);
            }
            Logged::Down(how) => {
                self.lasting.insert((server, SERVER_DOWN), at);
                self.point(server, at, how.name().to_owned(), Fate::Broken);
            }
            Logged::Restarted => {
                self.ends(server, at, SERVER_DOWN);
                self.point(server, at, "up again".to_owned(), Fate::Fine);
            }
            Logged::ClockJumped(by) => {
                self.point(server, at, format!("clock jumps by {by}"), Fate::Broken);
            }
            Logged::Cluster(member, what) => self.cluster_event(at, *member, *what),
            Logged::Healed => {
                self.healed_us = Some(at.0);
                self.disk_bands();
                for band in &mut self.bands {
                    band.to_us = band.to_us.min(at.0).max(band.from_us);
                }
            }
            Logged::Ended => {
                self.last = at;
                if self.healed_us.is_none() {
                    self.disk_bands();
                }
            }
        }
    }

    fn traffic(&mut self, at: Span, lane: usize, entry: &Entry, record: &NetworkRecord) {
        let drawn = match *record {
            NetworkRecord::Sent {
                call,
                attempt,
                fate,
                copy,
            } => return self.request(lane, entry, (call, attempt), fate, copy),
            NetworkRecord::Replied {
                call,
                attempt,
                refused,
                fate,
                ..
            } => self.reply(lane, entry, (call, attempt), refused, fate),
            NetworkRecord::Pushed {
                first_seq,
                events,
                fate,
            } => self.push_of(lane, entry, (first_seq, events), fate),
            NetworkRecord::Opening { fate, .. } => {
                let label = "open stream".to_owned();
                let mut drawn = event(Kind::Opening, lane, at, fate, label);
                // The answer is known when the stream is open.
                if self.log.then(entry).any(Entry::is_of_client) {
                    drawn.fate = Fate::Fine;
                }
                drawn
            }
            NetworkRecord::StreamBroke => {
                return self.point(lane, at, "stream breaks".to_owned(), Fate::Broken);
            }
            NetworkRecord::Disconnected { length } => {
                let until = length.map_or(Span(u64::MAX), |length| at + length);
                return self.band(lane, at, until, "disconnect", "disconnected");
            }
            NetworkRecord::Served { .. } | NetworkRecord::Opened { .. } => return,
        };
        self.push(drawn);
    }

    /// Draws an attempt of a call, and the network's copy of it.
    fn request(
        &mut self,
        lane: usize,
        entry: &Entry,
        (call, attempt): (CallId, u32),
        fate: Delivery,
        copy: Option<Delivery>,
    ) {
        let (at, log) = (entry.at.since(START), self.log);
        let number = call.0.to_string();
        let call = log.call(entry.agent.unwrap_or_default(), call);
        let mut label = words::called(&call.op);
        if attempt > 0 {
            label.push_str(&format!(" (attempt {})", attempt + 1));
        }
        let mut drawn = event(Kind::Request, lane, at, fate, label);
        drawn.facts = vec![("call", number), ("attempt", (attempt + 1).to_string())];
        drawn.facts.extend(call_facts(&call.op, call.key));
        drawn.idle = call.op.verb() == "check";
        let copy = copy.map(|fate| Event {
            copy: true,
            facts: drawn.facts.clone(),
            idle: drawn.idle,
            ..event(Kind::Request, lane, at, fate, drawn.label.clone())
        });
        let is_served =
            |entry: &&Entry| matches!(entry.what, Logged::Network(NetworkRecord::Served { .. }));
        if let Some(served) = log.then(entry).find(is_served)
            && drawn.fate == Fate::Unheard
        {
            drawn.fate = Fate::Fine;
            drawn.served_us = Some(served.at.since(START).0);
        }
        // A poll with new events is shown like any other call.
        let has_news = |answer: &usize| !self.is_idle(&log.entries[*answer]);
        drawn.idle &= !call.heard.iter().any(has_news)
            || !(0..attempt).all(|attempt| call.sent.contains_key(&attempt));
        self.push(drawn);
        if let Some(copy) = copy {
            self.push(copy);
        }
    }

    /// Whether this answer is a page without an event, elsewhere than at the violation.
    fn is_idle(&self, answer: &Entry) -> bool {
        let is_empty = answer.said.is_none() && answer.then.is_empty();
        is_empty && answer.at.since(START) != self.selection.violation
    }

    fn reply(
        &self,
        lane: usize,
        entry: &Entry,
        (call, attempt): (CallId, u32),
        refused: Option<&'static str>,
        fate: Delivery,
    ) -> Event {
        let known = self.log.call(entry.agent.unwrap_or_default(), call);
        let verb = known.op.verb();
        let label = match refused {
            Some(code) => format!("{verb} refused: {code}"),
            None => format!("{verb} answered"),
        };
        let mut drawn = event(Kind::Reply, lane, entry.at.since(START), fate, label);
        if refused.is_some() && fate != Delivery::Lost {
            drawn.fate = Fate::Refused;
        }
        drawn.facts = vec![
            ("answers call", call.0.to_string()),
            ("attempt", (attempt + 1).to_string()),
        ];
        let Some(answer) = self.log.then(entry).next() else {
            return drawn;
        };
        let Logged::Answered {
            is_refused, place, ..
        } = answer.what
        else {
            return drawn;
        };
        self.arrive(&mut drawn, answer);
        if is_refused {
            drawn.fate = Fate::Refused;
        }
        drawn.named = place.is_some() && place == self.selection.place;
        drawn.idle = self.is_idle(answer);
        let brought = self.brought(&mut drawn, answer);
        let said = answer.said.as_ref().map(|(_, words)| words.clone());
        let words = said.or_else(|| several(&brought));
        drawn.label = words.unwrap_or_else(|| "nothing new".to_owned());
        drawn
    }

    fn push_of(
        &self,
        lane: usize,
        entry: &Entry,
        (first_seq, events): (u64, u32),
        fate: Delivery,
    ) -> Event {
        let label = plural(events.into(), "event");
        let facts = vec![("inbox", format!("from {first_seq}, {label}"))];
        let mut drawn = event(Kind::Push, lane, entry.at.since(START), fate, label);
        drawn.facts = facts;
        for received in self.log.then(entry) {
            self.arrive(&mut drawn, received);
        }
        if let Some(words) = several(&self.brought(&mut drawn, entry)) {
            drawn.label = words;
        }
        drawn
    }

    /// A message arrived at its client.
    fn arrive(&self, drawn: &mut Event, there: &Entry) {
        let at = there.at.since(START);
        drawn.to_us = Some(at.0);
        drawn.fate = Fate::Fine;
        drawn.blamed |= self.is_blamed(drawn.lane, at);
    }

    /// Adds the events that a message brought, and returns each in words.
    fn brought(&self, drawn: &mut Event, message: &Entry) -> Vec<String> {
        let mut all = Vec::new();
        for received in self.log.then(message) {
            if let Logged::Received {
                seq, kind, place, ..
            } = &received.what
                && let Some((_, words)) = &received.said
            {
                let mut fact = format!("{words} · {kind} · inbox {seq}");
                if let Some((room, room_seq)) = place {
                    fact.push_str(&format!(" · room_{} #{room_seq}", room.0));
                }
                drawn.facts.push(("brought", fact));
                drawn.named |= place.is_some() && *place == self.selection.place;
                all.push(words.clone());
            }
        }
        all
    }
}

/// What leaves at an instant, and arrives unless it is lost.
fn event(kind: Kind, lane: usize, at: Span, fate: Delivery, label: String) -> Event {
    let (to_us, fate) = match fate {
        Delivery::After(latency) => (Some((at + latency).0), Fate::Unheard),
        Delivery::Lost => (None, Fate::Lost),
    };
    Event {
        kind,
        lane,
        from_us: at.0,
        to_us,
        label,
        fate,
        ..Event::default()
    }
}

/// What a call asks for besides its words, each with a name.
fn call_facts(op: &Op, key: RequestKey) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(room) = op.room().flatten() {
        facts.push(("room", format!("room_{}", room.0)));
    }
    if let Some(epoch) = op.epoch() {
        facts.push(("epoch", epoch.to_string()));
    }
    if let Op::Read { read, .. } = op
        && let Read::Check { after, wait, .. } = read
    {
        let after = after.map_or_else(
            || "the server's own cursor".to_owned(),
            |after| after.to_string(),
        );
        facts.push(("after", after));
        facts.push(("wait", wait.to_string()));
    }
    match key {
        RequestKey::None if !op.is_read() => facts.push(("request key", "none".to_owned())),
        RequestKey::Previous => facts.push(("request key", "that of the previous call".to_owned())),
        RequestKey::None | RequestKey::Own => {}
    }
    facts
}

/// The first of several items, and the number of the others.
fn several(words: &[String]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    let others = (!rest.is_empty()).then_some(rest.len());
    Some(first.clone() + &told(" +", others, ""))
}
