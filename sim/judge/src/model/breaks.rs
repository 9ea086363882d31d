//! Breaks: stress, the boss's alertness, and delayed answers. // 10

use std::sync::Arc;

use chat_types::{Span, Time};
use sim_model::protocol::{Answer, Outcome, Refusal, User};
use sim_model::server::Decided;

use super::names::says_something;
use super::speech::count;
use super::{Model, refuse};

const MINUTE: Span = Span::secs(60);
/// The level of a fully alert boss.
const FULL: u8 = 5;
/// The delay of an answer under a fully alert boss. // 10.3 (3)
const HELD: Span = Span::secs(20);

/// A participant's stress and the boss's alertness, each with its instant. // 10.1
#[derive(Clone, Copy, Debug)]
pub(super) struct StressState {
    stress: u8,
    stress_at: Time,
    alert: u8,
    alert_at: Time,
}

/// The number of whole `unit`s in a span, at most 255.
fn whole(span: Span, unit: Span) -> u8 {
    u8::try_from(span.0 / unit.0).unwrap_or(u8::MAX)
}

impl StressState {
    pub(super) const fn calm(now: Time) -> Self {
        Self {
            stress: 0,
            stress_at: now,
            alert: 0,
            alert_at: now,
        }
    }

    /// The stress level and the boss's alert level at an instant. // 10.2
    pub(super) fn at(&self, at: Time, cooldown: Span) -> (u8, u8) {
        let minutes = whole(at.since(self.stress_at), MINUTE);
        let calmed = whole(at.since(self.alert_at), cooldown);
        (
            self.stress.saturating_add(minutes).min(100),
            self.alert.saturating_sub(calmed),
        )
    }

    /// Recomputes the alert value as the level at `now` under the previous cooldown. The current
    /// level then lasts for a whole new cooldown. // 10.4
    pub(super) fn settle(&mut self, now: Time, was: Span, is: Span) {
        let (_, level) = self.at(now, was);
        let fallen = self.alert - level;
        self.alert = level;
        self.alert_at += was.times(u64::from(fallen));
        if now.since(self.alert_at) > is {
            self.alert_at = Time(now.0 - is.0);
        }
    }
}

/// One possible course of a break.
#[derive(Clone, Copy)]
struct BreakOutcome {
    stress_state: StressState,
    answer_at: Time,
    /// The levels in the answer.
    shown: (u8, u8),
}

impl Model {
    /// Stress and alert level at an instant; reading changes nothing. // 10.2
    #[must_use]
    pub fn mood(&self, user: User, at: Time) -> Option<(u8, u8)> {
        let participant = self.participants.get(user.0)?;
        Some(participant.stress_state.at(at, self.cooldown()))
    }

    /// Whether the excuse is allowed. // 10.5
    pub(super) fn check_excuse(&self, excuse: Option<&Arc<str>>) -> Result<(), Refusal> {
        let Some(excuse) = excuse else { return Ok(()) };
        let plain = |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
        if count(excuse) <= self.config.max_excuse
            && says_something(excuse)
            && excuse.chars().all(plain)
        {
            Ok(())
        } else {
            Err(refuse("invalid_arguments"))
        }
    }

    /// A break: the outcome, and when the answer may leave. // 10.3, 10.5
    pub(super) fn take_break(
        &mut self,
        user: User,
        excuse: Option<&Arc<str>>,
        said: &Decided,
    ) -> (Outcome, Time) {
        if let Err(refusal) = self.check_excuse(excuse) {
            return (Err(refusal), self.now);
        }
        let wish = match said.outcome {
            Ok(Answer::OnBreak {
                stress,
                boss_alert,
                flavour,
                ..
            }) => Some((stress, boss_alert, flavour)),
            Ok(_) | Err(_) => None,
        };
        let (stress, _) = self
            .participant(user)
            .stress_state
            .at(self.now, self.cooldown());
        // Any relief from 1 to 100 is allowed. A delayed answer leaves within a minute, so it shows
        // the stress right after the break. // 10.3 (1), 15
        let least = stress.saturating_sub(1);
        let relieved = wish.map_or(least, |(stress, ..)| stress.min(least));
        let courses = [
            (self.config.boss_alertness > 0).then(|| self.course(user, relieved, 1)),
            (self.config.boss_alertness < 100).then(|| self.course(user, relieved, 0)),
        ];
        // With a cooldown above 10 s and up to 20 s both courses from level 4 can show 4: one at
        // once, one after the delay. The time at which the answer may leave distinguishes them. //
        // 15
        let possible = || courses.into_iter().flatten();
        let shows = |course: &BreakOutcome| Some(course.shown.1) == wish.map(|wish| wish.1);
        let course = possible()
            .find(|course| shows(course) && course.answer_at == said.answer_at)
            .or_else(|| possible().find(shows))
            .or_else(|| possible().next())
            .expect("the boss notices or does not: one of the two is possible");
        self.participant_mut(user).stress_state = course.stress_state;
        self.renew_held(user);
        let (stress, boss_alert) = course.shown;
        let answer = Answer::OnBreak {
            user,
            stress,
            boss_alert,
            flavour: wish.map_or(0, |(.., flavour)| flavour),
        };
        (Ok(answer), course.answer_at)
    }

    /// The course of a break if the boss's alertness rises by `noticed` levels. // 10.3
    fn course(&self, user: User, stress: u8, noticed: u8) -> BreakOutcome {
        let (now, cooldown) = (self.now, self.cooldown());
        let mut stress_state = self.participant(user).stress_state;
        let (_, alert) = stress_state.at(now, cooldown);
        stress_state.stress = stress;
        stress_state.stress_at = now;
        if noticed > 0 && alert < FULL {
            stress_state.alert = alert + noticed;
            stress_state.alert_at = now; // 10.3 (2)
        }
        let (_, level) = stress_state.at(now, cooldown);
        let answer_at = if level == FULL { now + HELD } else { now }; // 10.3 (3)
        BreakOutcome {
            stress_state,
            answer_at,
            shown: stress_state.at(answer_at, cooldown),
        }
    }

    /// Updates the remembered levels of breaks whose answers may not have left yet: to those at
    /// their instants, as known now. // 10.5
    fn renew_held(&mut self, user: User) {
        let (now, cooldown) = (self.now, self.cooldown());
        let participant = self.participant_mut(user);
        participant.held.retain(|(_, answer_at)| *answer_at > now);
        for (key, answer_at) in &participant.held {
            let remembered = participant.keys.get_mut(*key);
            if let Some(remembered) = remembered
                && remembered.answer_at == *answer_at
                && let Ok(Answer::OnBreak {
                    stress, boss_alert, ..
                }) = &mut remembered.outcome
            {
                (*stress, *boss_alert) = participant.stress_state.at(*answer_at, cooldown);
            }
        }
    }
}
