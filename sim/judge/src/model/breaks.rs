//! Breaks: stress, the boss's alertness, and delayed answers; and the random draws of an entry. // 10, 15

use std::sync::Arc;

use chat_types::{BreakKind, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim_model::protocol::{Code, Decided, Reply, User};

use super::names::says_something;
use super::speech::count;
use super::{Checked, Model, refuse, refuse_if};

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

impl Model {
    /// Stress and alert level at an instant; reading changes nothing. // 10.2
    pub(crate) fn mood(&self, user: User, at: Time) -> Option<(u8, u8)> {
        let participant = self.participants.get(user.0)?;
        Some(participant.stress_state.at(at, self.cooldown()))
    }

    /// Whether the excuse is allowed. // 10.5
    pub(super) fn check_excuse(&self, excuse: Option<&Arc<str>>) -> Checked {
        let Some(excuse) = excuse else { return Ok(()) };
        let plain = |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
        let is_allowed = count(excuse) <= self.config.max_excuse
            && says_something(excuse)
            && excuse.chars().all(plain);
        refuse_if(!is_allowed, refuse(Code::InvalidArguments))
    }

    /// A break. // 10.3, 10.5
    pub(super) fn take_break(
        &mut self,
        user: User,
        kind: BreakKind,
        excuse: Option<&Arc<str>>,
    ) -> Decided {
        self.check_excuse(excuse)?;
        let (now, cooldown, mut draws) = (self.now, self.cooldown(), self.draws());
        let mut stress_state = self.participant(user).stress_state;
        let (stress, alert) = stress_state.at(now, cooldown);
        let relief = 1 + draws.below(100);
        let relief = u8::try_from(relief).expect("it is at most 100");
        stress_state.stress = stress.saturating_sub(relief);
        stress_state.stress_at = now; // 10.3 (1)
        let is_noticed = draws.below(100) < u64::from(self.config.boss_alertness);
        if is_noticed && alert < FULL {
            stress_state.alert = alert + 1;
            stress_state.alert_at = now; // 10.3 (2)
        }
        let (_, level) = stress_state.at(now, cooldown);
        let answer_at = if level == FULL { now + HELD } else { now }; // 10.3 (3)
        let flavour = draws.below(1 << 32);
        self.participant_mut(user).stress_state = stress_state;
        self.renew_held(user);
        let (stress, boss_alert) = stress_state.at(answer_at, cooldown);
        Ok(Reply::OnBreak {
            user,
            stress,
            boss_alert,
            flavour: u32::try_from(flavour).expect("it has 32 bits"), // 10.3 (4)
            kind,
            answer_at,
        })
    }

    /// Updates the remembered levels of breaks whose answers may not have left yet: to those at
    /// their instants, as known now. // 10.5
    fn renew_held(&mut self, user: User) {
        let (now, cooldown) = (self.now, self.cooldown());
        let participant = self.participant_mut(user);
        let remembered = participant.keys.remembered.values_mut();
        remembered.for_each(|remembered| {
            if let Ok(Reply::OnBreak {
                stress,
                boss_alert,
                answer_at,
                ..
            }) = &mut remembered.outcome
                && *answer_at > now
            {
                (*stress, *boss_alert) = participant.stress_state.at(*answer_at, cooldown);
            }
        });
    }
}

/// The draws of one entry, in their order.
#[derive(Clone, Debug)]
pub(super) struct Draws(ChaCha8Rng);

impl Draws {
    /// The draws of the entry at this position of the journal.
    pub(super) fn of(seed: u64, position: u64) -> Self {
        let mut numbers = ChaCha8Rng::seed_from_u64(seed);
        numbers.set_stream(position);
        Self(numbers)
    }

    /// The next draw, from 0 to `n` − 1.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        let n = u128::from(n);
        let refused = (1_u128 << 64) % n;
        loop {
            let product = u128::from(self.0.next_u64()) * n;
            let (whole, rest) = (product >> 64, product % (1 << 64));
            if rest >= refused {
                return u64::try_from(whole).expect("it is below n");
            }
        }
    }
}
