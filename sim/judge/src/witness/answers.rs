//! Answers: a second answer to a keyed call is the first (`idempotent_requests`); figures of
//! breaks keep to their bounds, and rise alone while no break is taken (`breaks_rules`); of two
//! accepted messages, the one called for after the other was answered stands behind it
//! (`room_order`); an answer to a check brings all places up to its end (`no_lost_messages`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chat_types::Time;
use sim_model::protocol::{Agent, Answer, CallId, Op, Outcome, Room, User};

use super::blame;
use super::book::{Book, is_remembered};
use super::fact::Fact;
use crate::findings::{Findings, Property};

/// Answers of one client that may be repeated. Clients look back less far.
const REMEMBERED: usize = 8;

/// The answer to a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered<'a> {
    pub(super) at: Time,
    pub(super) agent: Agent,
    pub(super) user: User,
    pub(super) call: CallId,
    pub(super) op: &'a Op,
    pub(super) called_at: Time,
    pub(super) outcome: &'a Outcome,
}

impl Answered<'_> {
    fn fact(&self, outcome: Outcome) -> Fact {
        let (user, verb) = (self.user, self.op.verb());
        Fact::Answered {
            user,
            verb,
            outcome,
        }
    }
}

/// What later answers are compared with.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// Keyed calls without an answer, and whether they may register their client.
    open: BTreeMap<(Agent, CallId), bool>,
    first: BTreeMap<Agent, VecDeque<(CallId, Outcome, bool)>>,
    /// Who ever called for a break.
    rested: BTreeSet<Agent>,
    moods: BTreeMap<User, (Time, Outcome)>,
    /// Of each room, the highest place that was answered by then.
    places: BTreeMap<Room, Vec<(Time, u64, User)>>,
}

impl Answers {
    pub(super) fn called(&mut self, id: (Agent, CallId), user: Option<User>, op: &Op, keyed: bool) {
        if let Op::Break { .. } = op {
            self.rested.insert(id.0);
        }
        if keyed {
            self.open.insert(id, user.is_none());
        }
    }

    pub(super) fn abandoned(&mut self, id: (Agent, CallId)) {
        self.open.remove(&id);
    }

    pub(super) fn answered(
        &mut self,
        book: &mut Book,
        answered: &Answered<'_>,
        findings: &mut Findings,
    ) {
        let Answered { agent, call, .. } = *answered;
        let keyed = self.open.remove(&(agent, call));
        if let Some(registers) = keyed {
            let first = self.first.entry(agent).or_default();
            first.push_back((call, answered.outcome.clone(), registers));
            if first.len() > REMEMBERED {
                first.pop_front();
            }
        }
        match *answered.outcome {
            Ok(Answer::Sent { room, room_seq, .. }) if keyed.is_some() && book.has_own_keys() => {
                self.place(answered, (room, room_seq), findings);
            }
            Ok(Answer::OnBreak {
                stress, boss_alert, ..
            }) => bound(answered, stress, boss_alert, findings),
            Ok(Answer::Mood { stress, boss_alert }) => {
                bound(answered, stress, boss_alert, findings);
                self.mood(answered, stress, boss_alert, findings);
            }
            Ok(Answer::Read { cursor, more, .. }) => page(book, answered, cursor, more, findings),
            Ok(_) | Err(_) => {}
        }
    }

    /// A second answer to the same call.
    pub(super) fn again(&self, book: &Book, answered: &Answered<'_>, findings: &mut Findings) {
        let first = self.first.get(&answered.agent);
        let known = first.and_then(|first| first.iter().find(|(call, ..)| *call == answered.call));
        // The remembered answer of a break may be updated.
        let Some((_, known, registers)) =
            known.filter(|_| !matches!(answered.op, Op::Break { .. }))
        else {
            return;
        };
        let is_settled = [known, answered.outcome]
            .into_iter()
            .all(|outcome| match outcome {
                Ok(_) => true,
                Err(refusal) => !registers && is_remembered(refusal.code),
            });
        if !is_settled || !book.remembers_keys(answered.agent) {
            findings.leave_unjudged(Property::IdempotentRequests, 1);
            return;
        }
        findings.exercise(Property::IdempotentRequests, 1);
        if plain(known) != plain(answered.outcome) {
            let facts = [
                answered.fact(known.clone()),
                answered.fact(answered.outcome.clone()),
            ];
            blame(findings, Property::IdempotentRequests, answered.at, facts);
        }
    }

    fn place(
        &mut self,
        answered: &Answered<'_>,
        (room, room_seq): (Room, u64),
        findings: &mut Findings,
    ) {
        let places = self.places.entry(room).or_default();
        let before = places.partition_point(|(at, ..)| *at < answered.called_at);
        if let Some((_, highest, sender)) = before.checked_sub(1).map(|index| places[index]) {
            findings.exercise(Property::RoomOrder, 1);
            if room_seq <= highest {
                let place = |sender, room_seq| Fact::Accepted {
                    sender,
                    room,
                    room_seq,
                    text: None,
                };
                let facts = [place(sender, highest), place(answered.user, room_seq)];
                blame(findings, Property::RoomOrder, answered.at, facts);
            }
        }
        if places
            .last()
            .is_none_or(|(_, highest, _)| *highest < room_seq)
        {
            places.push((answered.at, room_seq, answered.user));
        }
    }

    /// Who takes no break reads a stress that never falls, and a boss who never notices.
    fn mood(&mut self, answered: &Answered<'_>, stress: u8, alert: u8, findings: &mut Findings) {
        let Answered {
            at,
            user,
            called_at,
            ..
        } = *answered;
        if self.rested.contains(&answered.agent) {
            findings.leave_unjudged(Property::BreaksRules, 1);
            return;
        }
        let now = answered.fact(answered.outcome.clone());
        if alert > 0 {
            blame(
                findings,
                Property::BreaksRules,
                at,
                [Fact::NeverRested(user), now],
            );
        } else if let Some((_, before)) = self.moods.get(&user).filter(|(at, _)| *at < called_at)
            && matches!(before, Ok(Answer::Mood { stress: before, .. }) if *before > stress)
        {
            blame(
                findings,
                Property::BreaksRules,
                at,
                [answered.fact(before.clone()), now],
            );
        }
        self.moods.insert(user, (at, answered.outcome.clone()));
    }
}

/// The outcome without instants, which a server may leave out or round, and without what it looks up
/// when the answer leaves.
fn plain(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    if let Ok(Answer::Sent { at, .. }) = &mut outcome {
        *at = Time(0);
    }
    if let Ok(Answer::Stick {
        holder,
        lease_until,
        ..
    }) = &mut outcome
    {
        (*holder, *lease_until) = (None, Time(0));
    }
    outcome
}

fn bound(answered: &Answered<'_>, stress: u8, alert: u8, findings: &mut Findings) {
    for (what, figure, most) in [
        ("stress level", stress, 100),
        ("boss's alert level", alert, 5),
    ] {
        findings.exercise(Property::BreaksRules, 1);
        if figure > most {
            let facts = [
                Fact::Bound { what, most },
                answered.fact(answered.outcome.clone()),
            ];
            blame(findings, Property::BreaksRules, answered.at, facts);
        }
    }
}

/// A page behind a cursor begins right behind it: all of it arrived before its answer.
fn page(
    book: &mut Book,
    answered: &Answered<'_>,
    cursor: u64,
    more: bool,
    findings: &mut Findings,
) {
    let Op::Check {
        after: Some(after), ..
    } = answered.op
    else {
        return;
    };
    let reader = answered.user;
    let Some(person) = book.people.get_mut(&reader) else {
        return;
    };
    findings.exercise(Property::NoLostMessages, 1);
    if let Some(seq) = person.vacant(after + 1, cursor) {
        let facts = [Fact::Read { reader, cursor }, Fact::Vacant { reader, seq }];
        blame(findings, Property::NoLostMessages, answered.at, facts);
    } else if !more && person.complete >= cursor {
        person.drained = person.drained.max(Some(answered.called_at));
    }
}
