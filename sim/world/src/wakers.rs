//! The wakers of users that sleep. Each looks into the inbox of its user again and again, by its reader id,
//! and does as the waker of the core decides.
//!
//! A knock goes through the network, which is its door: it may lose, double and delay it. A waker may crash
//! after each of its acts, and then only the mark in its file is left.

use chat_core::{Mark, News, Waker, WakerEffect};
use chat_types::{Seq, Span, Time, mix};
use sim_model::draw::{Actor, Draw};
use sim_model::history::{WakerRecord, WorldRecord};
use sim_model::outcome::Point;
use sim_model::plan::Delivery;
use sim_model::protocol::{Agent, Answer, Code, Op, Outcome, ReadBy, Response, User};
use sim_model::words::outcome_word;
use sim_user::Credential;

use super::event_queue::Event;
use super::in_flight::RequestOrigin;
use super::race_schedule::Direction;
use super::{Phase, World};
use crate::translate;

/// The time between two looks, and the most that a knock takes at the door.
const PAUSE: Span = Span::secs(1);

/// How long a waker waits for the answer to a look.
const PATIENCE: Span = Span::secs(2);

/// The longest time that a crashed waker is down.
const DOWN: Span = Span::secs(5);

/// The most knocks of a waker in an hour: few, so that runs reach them.
const PER_HOUR: u16 = 12;

/// A waker crashes after one of so many acts.
const CRASHES_ONE_IN: u64 = 16;

/// The waker of a user.
#[derive(Clone, Debug)]
pub(super) struct SleeperWaker {
    /// The number that determined the handle of its user, and so the reader id.
    secret: u64,
    reader: User,
    draw: Draw,
    /// The mark in its file.
    file: Mark,
    /// Its state; none while it is down.
    waker: Option<Waker>,
    stage: Stage,
    /// The number of the present look, or of the last one.
    looks: u32,
    /// What the present look has shown.
    news: News,
    due: Time,
}

/// What a waker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Pausing,
    Looking,
    Knocking,
}

impl SleeperWaker {
    /// Whether its timer was moved after it was scheduled.
    pub(super) fn due_is_stale(&self, at: Time) -> bool {
        self.due != at
    }

    /// Draws later crashes from this generator.
    pub(super) fn rekey(&mut self, draw: Draw) {
        self.draw = draw;
    }
}

impl World<'_, '_> {
    /// Starts the waker of a user that has begun to sleep under a new handle, and ends the one of another.
    pub(super) fn watch(&mut self, agent: u32) {
        let client = &mut self.clients[agent as usize];
        let wanted = client.user.watched();
        let watched = client.waker.as_ref().map(|it| (it.secret, it.reader));
        if watched == wanted {
            return;
        }
        if client.waker.take().is_some() {
            self.tell_waker(agent, &WakerRecord::Ended);
        }
        let Some((secret, reader)) = wanted else {
            return;
        };
        self.clients[agent as usize].waker = Some(Box::new(SleeperWaker {
            secret,
            reader,
            draw: Draw::new(self.random_key.key, Actor::Waker(agent)),
            file: Mark::default(),
            waker: None,
            stage: Stage::Pausing,
            looks: 0,
            news: News::default(),
            due: Time::MAX,
        }));
        self.start_waker(agent);
    }

    pub(super) fn waker_due(&mut self, agent: u32) {
        let now = self.now();
        let Some(it) = self.clients[agent as usize].waker.as_mut() else {
            return;
        };
        match (&mut it.waker, it.stage) {
            (None, _) => self.start_waker(agent),
            (Some(_), Stage::Pausing) => self.look(agent, None),
            (Some(_), Stage::Looking) => {
                self.tell_waker(agent, &WakerRecord::Unanswered);
                self.look(agent, None);
            }
            (Some(waker), Stage::Knocking) => {
                waker.handle_knocked(now);
                self.rest(agent);
                self.perform_effects(agent);
            }
        }
    }

    fn start_waker(&mut self, agent: u32) {
        let now = self.now();
        if let Some(it) = self.clients[agent as usize].waker.as_mut() {
            it.waker = Some(Waker::new(now, it.file, PER_HOUR));
            let started = WakerRecord::Started {
                reader: it.reader,
                per_hour: PER_HOUR,
            };
            self.tell_waker(agent, &started);
            self.look(agent, None);
        }
    }

    /// Asks for the unread events: for all, or for those behind the page before.
    fn look(&mut self, agent: u32, after: Option<u64>) {
        let Some(it) = self.clients[agent as usize].waker.as_mut() else {
            return;
        };
        if after.is_none() {
            it.news = News::default();
        }
        it.stage = Stage::Looking;
        it.looks += 1;
        let look = it.looks;
        let who = Credential {
            secret: it.secret,
            is_new: false,
        };
        self.set_waker(agent, PATIENCE);
        let op = Op::check(after, Span::ZERO, ReadBy::ReaderId);
        let ask = translate::call(who, self.address_of(agent), None, op);
        self.send(RequestOrigin::Look { agent, look }, ask);
    }

    /// Handles the answer to a look. An answer that comes too late is ignored.
    pub(super) fn look_answered(&mut self, agent: u32, look: u32, outcome: &Outcome) {
        let now = self.now();
        self.hash = mix(self.hash, outcome_word(outcome));
        let client = &mut self.clients[agent as usize];
        let Some(it) = client.waker.as_mut() else {
            return;
        };
        if it.stage != Stage::Looking || it.looks != look || it.waker.is_none() {
            return;
        }
        match outcome {
            Ok(Response::Read(Answer::Page { page, .. })) => {
                page.items().for_each(|item| it.news.read(item, it.reader));
                self.tell_waker(agent, &WakerRecord::Read { page });
                if page.unread > 0 {
                    return self.look(agent, Some(page.cursor.0));
                }
                self.rest(agent);
                if let Some(it) = self.clients[agent as usize].waker.as_mut()
                    && let Some(waker) = &mut it.waker
                {
                    waker.handle_unread(now, std::mem::take(&mut it.news));
                }
                self.perform_effects(agent);
            }
            Err(refusal) if refusal.is(Code::UnknownHandle) => {
                it.stage = Stage::Pausing;
                it.due = Time::MAX;
                self.tell_waker(agent, &WakerRecord::Ended);
            }
            Ok(_) | Err(_) => {
                self.tell_waker(agent, &WakerRecord::Unanswered);
                self.rest(agent);
            }
        }
    }

    /// Performs what the waker wants done, until a crash.
    fn perform_effects(&mut self, agent: u32) {
        while let Some(it) = self.clients[agent as usize].waker.as_mut()
            && let Some(waker) = &mut it.waker
            && let Some(effect) = waker.poll_effect()
        {
            let is_knock = matches!(effect, WakerEffect::Knock(_));
            match effect {
                WakerEffect::Knock(news) => self.knock(agent, news.last()),
                WakerEffect::Keep(mark) => {
                    it.file = mark;
                    if mark.is_repeated {
                        self.observers.reach(Point::KnockedAgain);
                    }
                    self.tell_waker(agent, &WakerRecord::Kept);
                }
                WakerEffect::Limited => self.observers.reach(Point::KnocksLimited),
            }
            self.may_crash(agent, is_knock);
        }
    }

    fn may_crash(&mut self, agent: u32, is_unmarked: bool) {
        let phase = self.phase;
        let Some(it) = self.clients[agent as usize].waker.as_mut() else {
            return;
        };
        if phase != Phase::Safety || it.draw.below(CRASHES_ONE_IN) > 0 {
            return;
        }
        let down = Span(1 + it.draw.below(DOWN.0));
        (it.waker, it.stage) = (None, Stage::Pausing);
        if is_unmarked {
            self.observers.reach(Point::KnockUnmarked);
        }
        self.tell_waker(agent, &WakerRecord::Crashed);
        self.set_waker(agent, down);
    }

    /// Knocks: the door has the knock at once, and the user later, twice, or never.
    fn knock(&mut self, agent: u32, Seq(last): Seq) {
        let fate = self.fate(agent, Direction::Client, None);
        self.tell_waker(agent, &WakerRecord::Knocked { last, fate });
        if let Delivery::After(latency) = fate {
            self.schedule_in(latency, Event::Knock(agent));
        } else {
            self.observers.reach(Point::KnockLost);
        }
        if self.network.doubles(agent) {
            let latency = self.latency(agent, Direction::Client);
            self.schedule_in(latency, Event::Knock(agent));
        }
        if let Some(it) = self.clients[agent as usize].waker.as_mut() {
            it.stage = Stage::Knocking;
        }
        let took = match fate {
            Delivery::After(latency) => latency.min(PAUSE),
            Delivery::Lost => PAUSE,
        };
        self.set_waker(agent, took);
    }

    /// A knock reaches its user.
    pub(super) fn knock_arrives(&mut self, agent: u32) {
        if self.defer(agent, Event::Knock(agent)) {
            return;
        }
        let now = self.now();
        let user = &mut self.clients[agent as usize].user;
        user.handle_knock(now, &mut self.observers);
        self.settle(agent);
    }

    /// Lets the waker look again after a pause.
    fn rest(&mut self, agent: u32) {
        if let Some(it) = self.clients[agent as usize].waker.as_mut() {
            it.stage = Stage::Pausing;
        }
        self.set_waker(agent, PAUSE);
    }

    fn set_waker(&mut self, agent: u32, time: Span) {
        let due = self.now() + time;
        if let Some(it) = self.clients[agent as usize].waker.as_mut() {
            it.due = due;
            self.events.schedule(due, Event::WakerDue(agent));
        }
    }

    fn tell_waker(&mut self, agent: u32, what: &WakerRecord<'_>) {
        let agent = Agent(agent);
        self.tell_world(&WorldRecord::Waker { agent, what });
    }
}
