//! Taking breaks, and what their answers say, also when they leave later.

use std::sync::Arc;

use chat_types::{BreakKind, Reply, Time, UserId};

use super::Hub;

use crate::breaks::Boss;
use crate::dice::Dice;
use crate::name::has_visible;
use crate::reject::{Accepted, Argument, Outcome, Reject, refuse_if};

impl Hub {
    pub(super) const fn boss(&self) -> Boss {
        Boss {
            alertness: self.config.boss_alertness,
            cooldown: self.config.boss_alertness_cooldown,
        }
    }

    /// The participant's stress and its boss's alert level at `now`; none if it is not registered.
    #[must_use]
    pub fn mood(&self, user: UserId, now: Time) -> Option<(u8, u8)> {
        let breaks = &self.users.get(&user)?.breaks;
        Some(breaks.mood(now, self.boss()))
    }

    /// Checks that the excuse is one line that can be shown.
    pub(super) fn check_excuse(&self, excuse: Option<&Arc<str>>) -> Outcome<()> {
        let limit = self.config.max_excuse;
        let breaks_lines = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let fits = |text: &Arc<str>| {
            text.chars().count() <= limit as usize
                && has_visible(text)
                && !text.chars().any(breaks_lines)
        };
        let refusal = Reject::invalid(Argument::Excuse, Accepted::Characters(limit));
        refuse_if(!excuse.is_none_or(fits), refusal)
    }

    pub(super) fn take_break(
        &mut self,
        user: UserId,
        kind: BreakKind,
        excuse: Option<&Arc<str>>,
    ) -> Outcome {
        self.check_excuse(excuse)?;
        let (now, boss) = (self.now, self.boss());
        let mut dice = Dice::of(self.seed, self.position);
        let participant = self.user_mut(user);
        let taken = participant.breaks.take(now, boss, &mut dice);
        let breaks = participant.breaks;
        // An answer shows the levels at the instant at which it leaves. So this break also counts
        // in earlier answers that are still delayed, or remembered for repeated requests.
        for reply in participant.memory.replies_mut() {
            if let Reply::OnBreak {
                stress,
                boss_alert,
                answer_at,
                ..
            } = reply
                && *answer_at > now
            {
                (*stress, *boss_alert) = breaks.mood(*answer_at, boss);
            }
        }
        let counters = &mut self.counters;
        counters.breaks[kind as usize] += 1;
        counters.alerts += u64::from(taken.is_noticed);
        counters.held += u64::from(taken.answer_at > now);
        let (stress, boss_alert) = breaks.mood(taken.answer_at, boss);
        Ok(Reply::OnBreak {
            user,
            kind,
            stress,
            boss_alert,
            flavour: taken.flavour,
            answer_at: taken.answer_at,
        })
    }
}
