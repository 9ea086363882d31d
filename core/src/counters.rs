//! Counters of the Hub's decisions. Shells read them; they are no part of the state.

use chat_types::{BreakKind, Span, Time, listed};

use crate::breaks::{BreakOutcome, Noticed};

use crate::timer::TimerKind;

listed! {
    /// Transitions of a stick or of a claim on it.
    StickMove {
        /// A claim was granted at once, because the stick was free.
        GrantedAtOnce "granted_at_once",
        /// A claim was queued, because another member held the stick.
        Queued "queued",
        /// The stick became free and was granted to the first in line.
        GrantedFromLine "granted_from_line",
        /// The lease ended.
        Expired "expired",
        /// The holder pushed.
        ReleasedByPush "released_by_push",
        /// The holder reset.
        ReleasedByReset "released_by_reset",
        /// The holder left the room, or its registration ended.
        ReleasedByLeave "released_by_leave",
        /// The holder went away.
        ReleasedByAway "released_by_away",
        /// An operator muted the holder.
        ReleasedByMute "released_by_mute",
        /// An operator removed the holder.
        ReleasedByKick "released_by_kick",
        /// A claimant reset.
        WithdrawnByReset "withdrawn_by_reset",
        /// A claimant left the room, or its registration ended.
        WithdrawnByLeave "withdrawn_by_leave",
        /// A claimant went away.
        WithdrawnByAway "withdrawn_by_away",
        /// An operator muted a claimant.
        WithdrawnByMute "withdrawn_by_mute",
        /// An operator removed a claimant.
        WithdrawnByKick "withdrawn_by_kick",
    }
}

/// Why a member no longer holds or awaits a stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseCause {
    Push,
    Reset,
    Leave,
    Away,
    Mute,
    Kick,
}

impl ReleaseCause {
    /// The transition if the member held the stick.
    pub(crate) const fn released(self) -> StickMove {
        match self {
            Self::Push => StickMove::ReleasedByPush,
            Self::Reset => StickMove::ReleasedByReset,
            Self::Leave => StickMove::ReleasedByLeave,
            Self::Away => StickMove::ReleasedByAway,
            Self::Mute => StickMove::ReleasedByMute,
            Self::Kick => StickMove::ReleasedByKick,
        }
    }

    /// The transition if the member waited for the stick; none for causes that apply to a holder
    /// only.
    pub(crate) const fn withdrawn(self) -> Option<StickMove> {
        match self {
            Self::Push => None,
            Self::Reset => Some(StickMove::WithdrawnByReset),
            Self::Leave => Some(StickMove::WithdrawnByLeave),
            Self::Away => Some(StickMove::WithdrawnByAway),
            Self::Mute => Some(StickMove::WithdrawnByMute),
            Self::Kick => Some(StickMove::WithdrawnByKick),
        }
    }
}

/// The counters, from when this value of the Hub was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub(crate) recalled: u64,
    fired: [u64; TimerKind::ALL.len()],
    moves: [u64; StickMove::ALL.len()],
    breaks: [u64; BreakKind::ALL.len()],
    alerts: u64,
    held: u64,
    pub(crate) operated: u64,
    pub(crate) messages: u64,
    pub(crate) matches: u64,
    waits: Waits,
}

/// The waits for sticks: the claimants in all lines, and how long all of them have waited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Waits {
    claimants: u64,
    /// The time up to which `waited` counts.
    until: Time,
    waited: Span,
}

impl Waits {
    fn at(&self, now: Time) -> Span {
        let more = now.since(self.until).0.saturating_mul(self.claimants);
        Span(self.waited.0.saturating_add(more))
    }

    /// From `now` on, so many claimants wait.
    fn change(&mut self, now: Time, claimants: u64) {
        *self = Self {
            claimants,
            until: now,
            waited: self.at(now),
        };
    }
}

impl Counters {
    /// The counters of a state in which so many claimants wait for sticks.
    pub(crate) fn starting(now: Time, claimants: u64) -> Self {
        Self {
            waits: Waits {
                claimants,
                until: now,
                waited: Span(0),
            },
            ..Self::default()
        }
    }

    /// Messages that were said.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// Pairs that were matched.
    #[must_use]
    pub const fn matches(&self) -> u64 {
        self.matches
    }

    /// Claimants that wait for a stick now.
    #[must_use]
    pub const fn claimants(&self) -> u64 {
        self.waits.claimants
    }

    /// How long all claimants together have waited until `now`.
    #[must_use]
    pub fn waited(&self, now: Time) -> Span {
        self.waits.at(now)
    }

    /// Requests that were answered from the remembered outcomes.
    #[must_use]
    pub const fn recalled(&self) -> u64 {
        self.recalled
    }

    /// Timers of this kind that fired.
    #[must_use]
    pub const fn fired(&self, kind: TimerKind) -> u64 {
        self.fired[kind as usize]
    }

    /// Transitions of this kind.
    #[must_use]
    pub const fn moved(&self, how: StickMove) -> u64 {
        self.moves[how as usize]
    }

    /// Breaks of this kind that were taken.
    #[must_use]
    pub const fn breaks(&self, kind: BreakKind) -> u64 {
        self.breaks[kind as usize]
    }

    /// Breaks that raised an alert level.
    #[must_use]
    pub const fn alerts(&self) -> u64 {
        self.alerts
    }

    /// Breaks that were taken at the highest alert level, so that their answers were delayed.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.held
    }

    /// Accepted actions of operators.
    #[must_use]
    pub const fn operated(&self) -> u64 {
        self.operated
    }

    pub(crate) fn count_break(&mut self, now: Time, kind: BreakKind, taken: &BreakOutcome) {
        self.breaks[kind as usize] += 1;
        self.alerts += u64::from(taken.noticed == Noticed::Yes);
        self.held += u64::from(taken.answer_at > now);
    }

    pub(crate) const fn count_fired(&mut self, kind: TimerKind) {
        self.fired[kind as usize] += 1;
    }

    pub(crate) fn count_move(&mut self, now: Time, how: StickMove) {
        self.moves[how as usize] += 1;
        let claimants = self.waits.claimants;
        let claimants = match how {
            StickMove::Queued => claimants + 1,
            StickMove::GrantedFromLine
            | StickMove::WithdrawnByReset
            | StickMove::WithdrawnByLeave
            | StickMove::WithdrawnByAway
            | StickMove::WithdrawnByMute
            | StickMove::WithdrawnByKick => claimants.saturating_sub(1),
            StickMove::GrantedAtOnce
            | StickMove::Expired
            | StickMove::ReleasedByPush
            | StickMove::ReleasedByReset
            | StickMove::ReleasedByLeave
            | StickMove::ReleasedByAway
            | StickMove::ReleasedByMute
            | StickMove::ReleasedByKick => return,
        };
        self.waits.change(now, claimants);
    }

    /// Counts claimants whose room was closed while they waited.
    pub(crate) fn count_dismissed(&mut self, now: Time, dismissed: usize) {
        let left = self.waits.claimants.saturating_sub(dismissed as u64);
        self.waits.change(now, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_counts_its_own_event() {
        let mut counters = Counters::default();
        for _ in 0..3 {
            counters.count_fired(TimerKind::Lease);
            counters.count_move(Time(0), StickMove::Expired);
        }
        let fired = TimerKind::ALL.iter().map(|kind| counters.fired(*kind));
        assert_eq!(
            (counters.fired(TimerKind::Lease), fired.sum::<u64>()),
            (3, 3)
        );
        let moved = StickMove::ALL.iter().map(|how| counters.moved(*how));
        assert_eq!(
            (counters.moved(StickMove::Expired), moved.sum::<u64>()),
            (3, 3)
        );
    }

    #[test]
    fn all_claimants_wait_together() {
        let mut counters = Counters::starting(Time(10), 1);
        counters.count_move(Time(20), StickMove::Queued);
        counters.count_move(Time(50), StickMove::GrantedFromLine);
        counters.count_move(Time(60), StickMove::ReleasedByPush);
        assert_eq!(
            (counters.claimants(), counters.waited(Time(60))),
            (1, Span(80))
        );
        counters.count_move(Time(60), StickMove::WithdrawnByLeave);
        assert_eq!(
            (counters.claimants(), counters.waited(Time(99))),
            (0, Span(80))
        );
    }

    #[test]
    fn whatever_ends_a_turn_but_a_push_ends_a_wait() {
        use ReleaseCause::{Away, Kick, Leave, Mute, Push, Reset};
        let names = [Push, Reset, Leave, Away, Mute, Kick]
            .map(|why| (why.released().name(), why.withdrawn().map(StickMove::name)));
        assert_eq!(
            names,
            [
                ("released_by_push", None),
                ("released_by_reset", Some("withdrawn_by_reset")),
                ("released_by_leave", Some("withdrawn_by_leave")),
                ("released_by_away", Some("withdrawn_by_away")),
                ("released_by_mute", Some("withdrawn_by_mute")),
                ("released_by_kick", Some("withdrawn_by_kick")),
            ]
        );
    }
}
