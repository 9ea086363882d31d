//! The waits and calls of each virtual user, and what is unfinished at the end of a run: waits, calls
//! with unanswered attempts, and users: those whose `await` timed out, and those that have not finished
//! their flow and read their whole inbox.
//!
//! Two kinds of users are not stuck: users that disconnected permanently, and the odd one out,
//! which waited for a match while no other user was in the queue for as long as a match takes.

use std::collections::BTreeMap;

use chat_types::{Span, Time};
use sim_model::history::{Record, Retry};
use sim_model::outcome::{DisconnectedHolder, START, Stuck, UserOutcome, WorldOutcome};
use sim_model::plan::Metric;
use sim_model::protocol::{Agent, CallId, Op, OpKind, Outcome, Room, User};
use sim_model::user_name::UserName;

use super::shares::{Claimant, Share};
use super::{Metrics, Sample};

/// Two users in the queue who can be matched are matched within this time, as `queue_progress`
/// requires. A user is not the odd one out if another user waits but cannot be matched with it,
/// because of interests or a block: then both wait.
const MATCH_WITHIN: Span = Span::secs(5);

/// The events that end a wait in the line, and one for the stick.
const FOUND: &str = "chatroom.found";
const GRANTED: &str = "stick.granted";

/// Why a user was left out whose calls were not answered.
const UNANSWERED: &str = "unanswered";

/// A claim that no grant has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenClaim {
    pub(super) room: Room,
    pub(super) since: Time,
    /// The user that holds the stick, if it is disconnected.
    pub(super) holder: Option<(usize, Absence)>,
}

impl Metrics {
    /// The run is over: each open wait counts with its length so far, and each open call, unless its
    /// answer may still be delayed.
    pub(super) fn end_waits(&mut self, now: Time) {
        let users = std::mem::take(&mut self.users);
        for (agent, user) in (0..).map(Agent).zip(&users) {
            for call in &user.calls {
                if now.since(call.intended) > call.hold {
                    self.count_unanswered(agent, call, now);
                }
            }
            let (room, claimed_since) = user.open_claim().unzip();
            for (what, room, since) in [
                (Metric::AdmissionWait, None, user.at_door_since),
                (Metric::QueueWait, None, user.in_line_since),
                (Metric::StickWait, room, claimed_since),
            ] {
                if let Some(since) = since {
                    self.measure(Sample {
                        room,
                        open: true,
                        ..Sample::of(what, agent, (since, now))
                    });
                }
            }
        }
        self.users = users;
    }

    /// A call was answered. Returns whether an earlier attempt of it was not.
    pub(super) fn end_call(
        &mut self,
        record: &Record<'_>,
        call: CallId,
        outcome: &Outcome,
    ) -> bool {
        let waits = self.waits(record.agent);
        let open = waits.take_call(call);
        waits.was_let_in |= record.user.is_some();
        if let (false, Err(refusal)) = (waits.was_let_in, outcome) {
            waits.turned_away = Some(refusal.code);
        }
        let Some(open) = open else { return false };
        // A user that has an answer as a participant waits at the door no more.
        let at_door = waits.at_door_since.take_if(|_| record.user.is_some());
        self.measure_call(record.agent, &open, record.at, false);
        if let Some(since) = at_door {
            let waited = (since, record.at);
            self.measure(Sample::of(Metric::AdmissionWait, record.agent, waited));
        }
        open.is_unsure
    }

    fn count_unanswered(&mut self, agent: Agent, call: &OpenCall, now: Time) {
        self.unanswered += 1;
        self.measure_call(agent, call, now, true);
    }

    fn measure_call(&mut self, agent: Agent, call: &OpenCall, until: Time, open: bool) {
        if let Some(what) = call.measured_as {
            self.measure(Sample {
                open,
                ..Sample::of(what, agent, (call.intended, until))
            });
        }
    }

    /// A wait at the door, for a match or for a stick ended in another way.
    pub(super) fn count_unserved(&mut self, what: Metric, since: Option<Time>, now: Time) {
        if let Some(since) = since {
            self.measured.of(what).count_unserved(now.since(since).0);
        }
    }

    /// The run is over: the turns of each room and the matches are shared among who asked for them.
    pub(super) fn end_shares(&mut self, seed: u64, now: Time, name: &dyn Fn(usize) -> UserName) {
        let until = self.healed.map_or(now, |(at, _)| at);
        let mut rooms: BTreeMap<Room, Vec<Claimant>> = BTreeMap::new();
        let mut matches = Vec::new();
        for (index, user) in self.users.iter_mut().enumerate() {
            let claim = user.open_claim();
            if let Some((room, _)) = claim {
                user.turns_in(room);
            }
            for (room, share) in &user.turns {
                let open = claim.filter(|(of, _)| of == room).map(|(_, since)| since);
                let claimant = Claimant::of((index, user.is_done), *share, open);
                rooms.entry(*room).or_default().extend(claimant);
            }
            let open = user.in_line_since;
            matches.extend(Claimant::of((index, user.is_done), user.matches, open));
        }
        for claimants in rooms.values() {
            self.turns.add(claimants, until, seed, name);
        }
        self.matches.add(&matches, until, seed, name);
    }

    /// The run is over: who called and was never let in is left out.
    pub(super) fn end_left_out(&mut self) {
        let never_let_in = |user: &&Waits| user.called && !user.was_let_in;
        for user in self.users.iter().filter(never_let_in) {
            let why = user.turned_away.unwrap_or(UNANSWERED);
            *self.left_out.entry(why).or_default() += 1;
        }
    }

    /// An `await` of this user timed out.
    pub(super) fn ran_out(&mut self, agent: Agent, at: Time, waiting_for: &str) {
        if waiting_for == FOUND {
            self.waits(agent).unmatched_at = Some(at);
        } else if waiting_for == GRANTED {
            let claim = self.open_claim(agent.0 as usize);
            self.waits(agent).timed_out = claim;
        }
    }

    /// Whether this user's `await` of a match timed out while no other user was in the queue for as
    /// long as a match takes, so that there was no possible partner. Valid only at the end of the
    /// run, since other users may learn late that they were matched.
    pub(super) fn is_odd_one_out(&self, agent: usize) -> bool {
        let Some(at) = self.users.get(agent).and_then(|user| user.unmatched_at) else {
            return false;
        };
        let from = Time(at.0.saturating_sub(MATCH_WITHIN.0));
        let mut others = self.users.iter().enumerate();
        !others.any(|(index, user)| index != agent && user.is_in_line(from, at))
    }

    /// The claim that this user has, or had when its `await` of a grant timed out.
    pub(super) fn awaited_claim(&self, agent: usize) -> Option<OpenClaim> {
        let timed_out = self.users.get(agent)?.timed_out;
        timed_out.or_else(|| self.open_claim(agent))
    }

    fn open_claim(&self, agent: usize) -> Option<OpenClaim> {
        let (room, since) = self.users.get(agent)?.open_claim()?;
        let holder = self.disconnected_holder(room);
        Some(OpenClaim {
            room,
            since,
            holder,
        })
    }

    /// The user with the latest grant of this room's stick, if it is disconnected and holds it.
    fn disconnected_holder(&self, room: Room) -> Option<(usize, Absence)> {
        let grants = self.users.iter().enumerate();
        let grants = grants.filter_map(|(agent, user)| Some((agent, user.last_grant(room)?)));
        let (agent, (_, absence)) = grants.max_by_key(|(_, (epoch, _))| *epoch)?;
        Some((agent, absence?))
    }

    /// A later attempt of a call left.
    pub(super) fn record_retry(&mut self, agent: Agent, call: CallId, why: Retry) {
        self.retries += 1;
        let mut calls = self.waits(agent).calls.iter_mut();
        if let Some(open) = calls.find(|open| open.id == call) {
            open.is_unsure |= why != Retry::PutOff;
        }
    }

    /// The client cancelled the call. A user that was never registered does not wait in the queue.
    pub(super) fn record_abandoned(&mut self, record: &Record<'_>, call: CallId, op: &Op) {
        let waits = self.waits(record.agent);
        let open = waits.take_call(call);
        if record.user.is_none() && op.kind() == OpKind::EnterQueue {
            waits.in_line_since = None;
        }
        if let Some(open) = open {
            self.count_unanswered(record.agent, &open, record.at);
        }
    }
}

/// The stuck users of a finished run, and the number of those that were the odd one out; its metrics
/// must be finished too.
pub(crate) fn stuck(ran: &WorldOutcome, metrics: &Metrics) -> (Vec<Stuck>, u64) {
    let mut alone = 0;
    let of = |(index, user): (usize, &UserOutcome)| {
        let waiting = user.waiting.clone()?;
        if waiting.waiting_for == FOUND && metrics.is_odd_one_out(index) {
            alone += 1;
            return None;
        }
        let claim = metrics.awaited_claim(index);
        let holder = claim.and_then(|claim| claim.holder);
        let holder = holder.filter(|_| waiting.waiting_for == GRANTED);
        let holder = holder.map(|(agent, absence)| {
            let user = &ran.users[agent];
            DisconnectedHolder {
                who: UserName::new(absence.user.or(user.user), &user.name),
                since_ms: absence.since.since(START).as_millis(),
            }
        });
        // The event that it waits for in words of the protocol, and since when it waits for its
        // content: longer than its `await`.
        let in_line = metrics.users.get(index).and_then(|user| user.in_line_since);
        let (waiting_for, since) = match (waiting.waiting_for.as_str(), claim, in_line) {
            (FOUND, None, Some(since)) => ("a partner in the queue".to_owned(), since),
            (FOUND, ..) => ("a partner".to_owned(), waiting.since),
            (GRANTED, Some(claim), _) => {
                (format!("the stick of room_{}", claim.room.0), claim.since)
            }
            (GRANTED, ..) => ("the stick, without a claim".to_owned(), waiting.since),
            _ => (waiting.waiting_for, waiting.since),
        };
        Some(Stuck {
            who: user.shown(),
            at: waiting.at,
            waiting_for,
            since_ms: since.since(START).as_millis(),
            holder,
            seed: ran.seed,
        })
    };
    let stuck = ran.users.iter().enumerate().filter_map(of).collect();
    (stuck, alone)
}

/// The ended waits of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    pub(super) times: u32,
    /// In microseconds.
    pub(super) longest: u64,
}

impl Waited {
    pub(super) fn add(&mut self, took: Span) {
        self.times += 1;
        self.longest = self.longest.max(took.0);
    }
}

/// A call that has no answer yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCall {
    pub(super) id: CallId,
    /// Its intended start.
    pub(super) intended: Time,
    /// How long its answer may be delayed.
    pub(super) hold: Span,
    /// What its duration is measured as. A check waits, which is no latency.
    pub(super) measured_as: Option<Metric>,
    /// Whether an earlier attempt was not answered, and may have taken effect.
    pub(super) is_unsure: bool,
}

impl OpenCall {
    pub(super) fn of(id: CallId, op: &Op, intended: Time) -> Self {
        let length = match op.kind() == OpKind::Break {
            true => Metric::BreakWait,
            false => Metric::RequestLatency,
        };
        Self {
            id,
            intended,
            hold: op.hold(),
            measured_as: (op.kind() != OpKind::Check).then_some(length),
            is_unsure: false,
        }
    }
}

/// The absence of a disconnected holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Absence {
    /// The id by which it holds the stick; none if it is the present one.
    pub(super) user: Option<User>,
    /// When its connection ended.
    pub(super) since: Time,
}

/// One virtual user's waits and shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// The intended start of the first call that was to register the user, until it is registered.
    pub(super) at_door_since: Option<Time>,
    /// The intended start of the queue call that no match has answered yet.
    pub(super) in_line_since: Option<Time>,
    /// The room of the last match, because both an answer and an event may report it.
    pub(super) matched_in: Option<Room>,
    /// The room of the awaited stick, and the intended start of the claim.
    pub(super) claim: Option<(Room, Time)>,
    /// The intended start of a claim that names no room, until its answer names it.
    pub(super) unnamed_claim: Option<Time>,
    /// Whether the user was away since its claim, which ends the claim.
    pub(super) claim_lost: bool,
    /// The last wait in the queue that a match ended: its beginning, and the time of the match. The
    /// user may have learned of it much later.
    pub(super) last_in_line: Option<(Time, Time)>,
    /// When its `await` of a match timed out.
    pub(super) unmatched_at: Option<Time>,
    /// Calls in flight.
    pub(super) calls: Vec<OpenCall>,
    /// Whether its flow is over to its last round, or the user is gone.
    pub(super) is_done: bool,
    /// Whether the user called at all.
    pub(super) called: bool,
    /// Whether any call was answered to it as a participant.
    pub(super) was_let_in: bool,
    /// The last refusal before it was let in.
    pub(super) turned_away: Option<&'static str>,
    /// The last grant, because both an answer and an event may report it.
    pub(super) granted: Option<(Room, u64)>,
    /// The grant that it held, and its id, when it vanished or forgot its handle.
    pub(super) left_with: Option<(Room, u64, Option<User>)>,
    /// When its connection ended, unless it has another.
    pub(super) disconnected_at: Option<Time>,
    /// The claim that it had when its `await` of a grant timed out.
    pub(super) timed_out: Option<OpenClaim>,
    /// Whether the last grant still holds; then a claim only asks for the place.
    pub(super) holds: bool,
    /// Whether the open claim was counted as asking.
    pub(super) asked: bool,
    /// The room for whose stick a message waits.
    pub(super) message_waits_in: Option<Room>,
    /// Waits in the queue, and for a stick, that ended in a match or a grant.
    pub(super) queue: Waited,
    pub(super) stick: Waited,
    /// By room.
    pub(super) turns: Vec<(Room, Share)>,
    pub(super) matches: Share,
    /// Bytes read since the last message.
    pub(super) bytes: u64,
}

impl Waits {
    /// A match was reported: returns when the wait for it began, if the match is new and the user
    /// waited.
    pub(super) fn record_match(&mut self, room: Room) -> Option<Time> {
        if self.matched_in.replace(room) == Some(room) {
            return None;
        }
        self.matches.had += 1;
        self.in_line_since.take()
    }

    /// A grant was reported: returns when the wait for it began, if the grant is new and the user
    /// waited.
    pub(super) fn record_grant(&mut self, room: Room, epoch: u64) -> Option<Time> {
        if self.granted.replace((room, epoch)) == Some((room, epoch)) {
            return None;
        }
        self.holds = true;
        self.claim_lost = false;
        self.turns_in(room).had += 1;
        let claim = self.claim.take_if(|(of, _)| *of == room);
        claim.map(|(_, since)| since)
    }

    /// Its share of the turns of this room.
    pub(super) fn turns_in(&mut self, room: Room) -> &mut Share {
        let index = self.turns.iter().position(|(of, _)| *of == room);
        let index = index.unwrap_or_else(|| {
            self.turns.push((room, Share::default()));
            self.turns.len() - 1
        });
        &mut self.turns[index].1
    }

    /// The user claims the stick of this room, or of the only one that it is in. Returns since when
    /// an earlier claim stood, which ended because the user was away.
    pub(super) fn record_claim(&mut self, room: Option<Room>, intended: Time) -> Option<Time> {
        let lost = std::mem::take(&mut self.claim_lost);
        if self.holds || !(lost || self.claim.is_none()) {
            return None;
        }
        let ended = self.claim.take().map(|(_, since)| since);
        self.asked = false;
        self.claim = room.map(|room| (room, intended));
        if room.is_none() {
            self.unnamed_claim.get_or_insert(intended);
        }
        ended
    }

    /// The answer to a claim names the room, and the epoch at that time. After a later grant the claim
    /// is over.
    pub(super) fn locate_claim(&mut self, room: Room, epoch: u64) {
        let is_over = |(of, later): (Room, u64)| of == room && later >= epoch;
        let since = self.unnamed_claim.take();
        if self.claim.is_none() && !self.granted.is_some_and(is_over) {
            self.claim = since.map(|since| (room, since));
        }
    }

    /// The claim ends without a grant. Returns since when it stood.
    pub(super) fn give_up_claim(&mut self) -> Option<Time> {
        self.unnamed_claim = None;
        self.claim.take().map(|(_, since)| since)
    }

    /// The user's claim ends, and nobody failed to serve it: the user is gone, or may not have it.
    pub(super) fn excuse_claim(&mut self) {
        if let Some((room, _)) = self.claim
            && std::mem::take(&mut self.asked)
        {
            self.turns_in(room).asked -= 1;
        }
    }

    /// The stick that the user still waits for, and the intended start of the claim.
    pub(super) fn open_claim(&self) -> Option<(Room, Time)> {
        self.claim.filter(|_| !self.claim_lost)
    }

    /// The last grant of this room's stick: its epoch, and the user's id if it holds the stick and is
    /// disconnected. The id is none for the present one.
    pub(super) fn last_grant(&self, room: Room) -> Option<(u64, Option<Absence>)> {
        let absence = |user| {
            let since = self.disconnected_at?;
            Some(Absence { user, since })
        };
        let left = self.left_with.filter(|(of, ..)| *of == room);
        let left = left.map(|(_, epoch, user)| (epoch, absence(user)));
        let own = self.granted.filter(|(of, _)| *of == room);
        let own = own.map(|(_, epoch)| (epoch, absence(None).filter(|_| self.holds)));
        left.into_iter()
            .chain(own)
            .max_by_key(|(epoch, absence)| (*epoch, absence.is_some()))
    }

    /// Whether the user was in the queue all the time between these two instants.
    pub(super) fn is_in_line(&self, from: Time, until: Time) -> bool {
        let open = self.in_line_since.is_some_and(|since| since <= from);
        let ended = |(since, matched_at): (Time, Time)| since <= from && matched_at > until;
        open || self.last_in_line.is_some_and(ended)
    }

    /// The user learned that it was away, which ends its claim in a room.
    pub(super) fn lost_claim(&mut self, room: Room) {
        if self.claim.is_some_and(|(of, _)| of == room) {
            self.claim_lost = true;
            self.excuse_claim();
        }
    }

    /// An operator ended the claim in a room. Returns since when it stood; none if there was none.
    pub(super) fn end_claim(&mut self, room: Room) -> Option<Time> {
        let (_, since) = self.claim.filter(|(of, _)| *of == room)?;
        self.excuse_claim();
        self.claim = None;
        Some(since)
    }

    /// The call is over.
    pub(super) fn take_call(&mut self, call: CallId) -> Option<OpenCall> {
        let index = self.calls.iter().position(|open| open.id == call)?;
        Some(self.calls.swap_remove(index))
    }
}
