//! Counters of the Hub's decisions. Shells read them; they are no part of the state.

use chat_types::{BreakKind, Span, StickMove, Time, TimerKind};

use StickMove::{
    Expired, GrantedAtOnce, GrantedFromLine, Queued, ReleasedByAway, ReleasedByKick,
    ReleasedByLeave, ReleasedByMute, ReleasedByPush, ReleasedByReset, WithdrawnByAway,
    WithdrawnByKick, WithdrawnByLeave, WithdrawnByMute, WithdrawnByReset,
};

/// Why a member no longer holds or awaits a stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReleaseCause {
    /// The transition if the member held the stick.
    pub(crate) released: StickMove,
    /// The transition if the member waited for the stick; none for causes that apply to a holder
    /// only.
    pub(crate) withdrawn: Option<StickMove>,
}

impl ReleaseCause {
    pub(crate) const PUSH: Self = Self::new(ReleasedByPush, None);
    pub(crate) const RESET: Self = Self::new(ReleasedByReset, Some(WithdrawnByReset));
    pub(crate) const LEAVE: Self = Self::new(ReleasedByLeave, Some(WithdrawnByLeave));
    pub(crate) const AWAY: Self = Self::new(ReleasedByAway, Some(WithdrawnByAway));
    pub(crate) const MUTE: Self = Self::new(ReleasedByMute, Some(WithdrawnByMute));
    pub(crate) const KICK: Self = Self::new(ReleasedByKick, Some(WithdrawnByKick));

    const fn new(released: StickMove, withdrawn: Option<StickMove>) -> Self {
        Self {
            released,
            withdrawn,
        }
    }
}

/// The counters, from when this value of the Hub was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests that were answered from the remembered outcomes.
    pub recalled: u64,
    /// Timers that fired, by kind.
    pub fired: [u64; TimerKind::ALL.len()],
    /// Transitions, by kind.
    pub moves: [u64; StickMove::ALL.len()],
    /// Breaks that were taken, by kind.
    pub breaks: [u64; BreakKind::ALL.len()],
    /// Breaks that raised an alert level.
    pub alerts: u64,
    /// Breaks that were taken at the highest alert level, so that their answers were delayed.
    pub held: u64,
    /// Accepted actions of operators.
    pub operated: u64,
    /// Messages that were said.
    pub messages: u64,
    /// Pairs that were matched.
    pub matches: u64,
    /// Claimants that wait for a stick now.
    pub claimants: u64,
    /// How long all claimants together had waited until `waited_until`.
    pub waited_before: Span,
    /// The time up to which `waited_before` counts.
    pub waited_until: Time,
}

impl Counters {
    /// The counters of a state in which so many claimants wait for sticks.
    pub(crate) fn starting(now: Time, claimants: u64) -> Self {
        Self {
            claimants,
            waited_until: now,
            ..Self::default()
        }
    }

    /// How long all claimants together have waited until `now`.
    #[must_use]
    pub const fn waited(&self, now: Time) -> Span {
        let more = now
            .since(self.waited_until)
            .0
            .saturating_mul(self.claimants);
        Span(self.waited_before.0.saturating_add(more))
    }

    /// From `now` on, so many claimants wait.
    const fn wait(&mut self, now: Time, claimants: u64) {
        self.waited_before = self.waited(now);
        self.waited_until = now;
        self.claimants = claimants;
    }

    pub(crate) fn count_move(&mut self, now: Time, how: StickMove) {
        self.moves[how as usize] += 1;
        match how {
            Queued => self.wait(now, self.claimants + 1),
            GrantedFromLine | WithdrawnByReset | WithdrawnByLeave | WithdrawnByAway
            | WithdrawnByMute | WithdrawnByKick => self.count_dismissed(now, 1),
            GrantedAtOnce | Expired | ReleasedByPush | ReleasedByReset | ReleasedByLeave
            | ReleasedByAway | ReleasedByMute | ReleasedByKick => {}
        }
    }

    /// Counts claimants that no longer wait, such as those of a room that was closed.
    pub(crate) const fn count_dismissed(&mut self, now: Time, dismissed: usize) {
        self.wait(now, self.claimants.saturating_sub(dismissed as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_claimants_wait_together() {
        let mut counters = Counters::starting(Time(10), 1);
        counters.count_move(Time(20), StickMove::Queued);
        counters.count_move(Time(50), StickMove::GrantedFromLine);
        counters.count_move(Time(60), StickMove::ReleasedByPush);
        assert_eq!(
            (counters.claimants, counters.waited(Time(60))),
            (1, Span(80))
        );
        counters.count_move(Time(60), StickMove::WithdrawnByLeave);
        assert_eq!(
            (counters.claimants, counters.waited(Time(99))),
            (0, Span(80))
        );
        assert_eq!(counters.moves.iter().sum::<u64>(), 4);
        assert_eq!(counters.moves[StickMove::Queued as usize], 1);
    }

    #[test]
    fn whatever_ends_a_turn_but_a_push_ends_a_wait() {
        let causes = [
            (ReleaseCause::PUSH, "push"),
            (ReleaseCause::RESET, "reset"),
            (ReleaseCause::LEAVE, "leave"),
            (ReleaseCause::AWAY, "away"),
            (ReleaseCause::MUTE, "mute"),
            (ReleaseCause::KICK, "kick"),
        ];
        for (cause, why) in causes {
            assert_eq!(cause.released.name(), format!("released_by_{why}"));
            let withdrawn = cause.withdrawn.map(|how| how.name().to_owned());
            let expected = (why != "push").then(|| format!("withdrawn_by_{why}"));
            assert_eq!(withdrawn, expected);
        }
    }
}
