//! Breaks keep to their rules: stress rises by one a minute and falls by a break; the boss notices
//! by one at a time, calms down by one each cool-down, and delays the answers of whoever rests
//! under its eyes by 20 s, and those alone; reading any of it changes nothing.
//!
//! All of it follows from when calls left and were answered: what the server did was done somewhere
//! between. Where breaks of one participant overlap, or may have happened unseen, their effects
//! are not told apart; then only ranges and times are judged, until one break or read is clear.

mod boss;
mod stress;

use std::collections::BTreeMap;

use chat_core::{Span, Time};

use self::boss::{Boss, Left, Nature};
use self::stress::Stress;
use super::STRAY;
use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use crate::protocol::{Agent, Answer, CallId, Op, Outcome, User};

/// An instant, or a length of time, in microseconds by the server's clock.
type Micros = i64;

/// How long the answer to a break is held back under a fully alert boss.
const HELD: Micros = 20_000_000;

/// The time within which the server did something.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Micros,
    to: Micros,
}

/// A break or a read that was not answered yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: CallId,
    /// By the server's clock, and by the world's.
    since: Micros,
    at: Time,
    is_break: bool,
    keyed: bool,
    attempts: u32,
    /// Whether other breaks may have happened since it left.
    disturbed: bool,
}

/// One participant, as its client knows it.
#[derive(Clone, Debug, Default)]
struct Resting {
    /// When the first call left that may have registered it.
    born: Option<Micros>,
    state: Option<(Stress, Boss)>,
    open: Vec<Open>,
    /// Until when a break may still happen whose fate is unknown.
    unsure_until: Micros,
}

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct BreaksRules {
    pub(crate) checks: u64,
    agents: BTreeMap<Agent, Resting>,
}

fn micros(span: Span) -> Micros {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

/// What the server's clock says now.
fn now(l: &Ledger) -> Micros {
    micros((l.clock.now + l.clock.jumped).since(Time(0)))
}

fn nature(l: &Ledger) -> Nature {
    let cooldown = micros(l.config.boss_alertness_cooldown);
    Nature {
        alertness: l.config.boss_alertness,
        cooldown: if cooldown == 0 { 1_000_000 } else { cooldown },
    }
}

impl BreaksRules {
    /// A call's first attempt left.
    pub(crate) fn called(&mut self, l: &Ledger, agent: Agent, id: CallId, op: &Op, keyed: bool) {
        let is_break = matches!(op, Op::Break { .. });
        if !is_break && *op != Op::Mood {
            return;
        }
        let since = now(l);
        let resting = self.agents.entry(agent).or_default();
        let disturbed =
            resting.unsure_until >= since || resting.open.iter().any(|call| call.is_break);
        if is_break {
            resting.disturb();
        }
        resting.open.push(Open {
            id,
            since,
            at: l.clock.now,
            is_break,
            keyed,
            attempts: 1,
            disturbed,
        });
    }

    /// A call left of somebody who has no handle yet.
    pub(crate) fn may_register(&mut self, l: &Ledger, agent: Agent) {
        let born = now(l);
        self.agents
            .entry(agent)
            .or_default()
            .born
            .get_or_insert(born);
    }

    /// A call was accepted that may have registered its caller.
    pub(crate) fn registered(&mut self, l: &Ledger, agent: Agent) {
        let to = now(l);
        let resting = self.agents.entry(agent).or_default();
        if let (None, Some(from)) = (&resting.state, resting.born) {
            let born = Window { from, to };
            resting.state = Some((Stress::fresh(born), Boss::fresh(nature(l), born)));
        }
    }

    /// A later attempt of a call left.
    pub(crate) fn retried(&mut self, agent: Agent, id: CallId) {
        if let Some(resting) = self.agents.get_mut(&agent)
            && let Some(call) = resting.open.iter_mut().find(|call| call.id == id)
        {
            call.attempts += 1;
        }
    }

    /// A call was given up: a break may have happened, or may yet.
    pub(crate) fn abandoned(&mut self, l: &Ledger, agent: Agent, id: CallId) {
        if let Some(resting) = self.agents.get_mut(&agent)
            && let Some(call) = resting.close(id)
            && call.is_break
        {
            resting.lose_count(now(l));
        }
    }

    /// The handle is lost: nothing will be heard of this participant any more.
    pub(crate) fn lost_touch(&mut self, agent: Agent) {
        self.agents.remove(&agent);
    }

    /// The first answer to a break, or to a look at one's stress.
    pub(crate) fn answered(
        &mut self,
        l: &Ledger,
        (agent, user): (Agent, User),
        id: CallId,
        outcome: &Outcome,
        f: &mut Findings,
    ) {
        let Some(resting) = self.agents.get_mut(&agent) else {
            return;
        };
        let Some(mut call) = resting.close(id) else {
            return;
        };
        let several = call.attempts > 1 || l.copies > 1;
        // Without a key each attempt, and each copy, may have been a break of its own.
        let many_breaks = call.is_break && several && !call.keyed;
        call.disturbed |= many_breaks;
        let mut say = |why: String| {
            f.blame(Property::BreaksRules, l.clock.now, &[user], || {
                format!("{}: {why}", name(user))
            });
        };
        match outcome {
            Ok(
                Answer::OnBreak {
                    stress, boss_alert, ..
                }
                | Answer::Mood { stress, boss_alert },
            ) => {
                self.checks += 1;
                let told = (i64::from(*stress), i64::from(*boss_alert));
                let found = in_range(told)
                    .and_then(|()| call.in_time(l, told.1))
                    .and_then(|left| resting.judge(l, &call, left, told));
                if let Err(why) = found {
                    say(why);
                    resting.doubt(now(l));
                }
                if many_breaks {
                    resting.lose_count(now(l));
                }
            }
            Ok(_) => {}
            // What was refused did not happen, unless another attempt of it did.
            Err(refusal) => {
                let decided = call.keyed && !refusal.is_retryable();
                if call.is_break && several && !decided {
                    resting.lose_count(now(l));
                }
            }
        }
    }
}

impl Resting {
    fn close(&mut self, id: CallId) -> Option<Open> {
        let index = self.open.iter().position(|call| call.id == id)?;
        Some(self.open.swap_remove(index))
    }

    /// Whatever is under way may see the effect of another break.
    fn disturb(&mut self) {
        for call in &mut self.open {
            call.disturbed = true;
        }
    }

    /// A break may have happened that nobody was told of, or may happen soon.
    fn lose_count(&mut self, now: Micros) {
        self.unsure_until = now + micros(STRAY);
        self.disturb();
        self.doubt(self.unsure_until);
    }

    fn doubt(&mut self, until: Micros) {
        if let Some((stress, boss)) = &mut self.state {
            stress.doubt(until);
            boss.doubt(until);
        }
    }

    /// What was told follows from what was known; from now on it is known too.
    fn judge(
        &mut self,
        l: &Ledger,
        call: &Open,
        left: Left,
        (stress, alert): (i64, i64),
    ) -> Result<(), String> {
        let to = now(l);
        let from = call.since;
        let window = Window { from, to };
        let state = self.state.get_or_insert_with(|| {
            // Of one who was not seen to come anything may be.
            let ever = Window { from: 0, to: from };
            let mut state = (Stress::fresh(ever), Boss::fresh(nature(l), ever));
            state.0.doubt(from);
            state.1.doubt(from);
            state
        });
        if call.disturbed {
            if call.is_break {
                self.doubt(to);
            }
            return Ok(());
        }
        if !call.is_break {
            state.0.read(window, stress)?;
            return state.1.read(window, alert);
        }
        state.1.take(window, left, alert)?;
        let mut rolled = window;
        if !left.at_once {
            rolled.to = to - HELD;
        }
        let minutes = if left.held {
            stress::minutes(to - from)
        } else {
            0
        };
        state.0.take(rolled, minutes, stress)
    }
}

impl Open {
    /// The answer came when it had to, going by the level that it told.
    fn in_time(&self, l: &Ledger, alert: i64) -> Result<Left, String> {
        let took = l.clock.now.since(self.at);
        let may_be_held = self.is_break && now(l) - self.since >= HELD;
        if self.is_break && alert == boss::TOP && !may_be_held {
            return Err(format!(
                "a break under a boss of level {alert} was answered after {took}"
            ));
        }
        let calm = l.calm.since(&l.clock).is_some_and(|since| since <= self.at);
        let within = l.calm.within;
        let late = calm && self.attempts == 1 && took > within;
        let far_too_late = late && took > Span(HELD.unsigned_abs()) + within;
        if far_too_late || (late && !may_be_held) {
            let what = if self.is_break {
                "a break"
            } else {
                "a look at one's stress"
            };
            return Err(format!("{what} was answered after {took}"));
        }
        Ok(Left {
            at_once: !late,
            held: may_be_held,
        })
    }
}

fn in_range((stress, alert): (i64, i64)) -> Result<(), String> {
    if stress > stress::MOST || alert > boss::TOP {
        return Err(format!(
            "a stress of {stress} and a boss of level {alert} were told, which cannot be"
        ));
    }
    Ok(())
}
