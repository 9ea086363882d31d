//! What the Hub counts of its own doings: figures for shells, and no part of the state.

use chat_types::{BreakKind, Time, listed};

use crate::breaks::{Noticed, Taken};

use crate::timer::TimerKind;

listed! {
    /// How a stick changes hands, or a claim on it comes and goes.
    StickMove {
        /// Nobody held it: whoever claimed it has it.
        GrantedAtOnce "granted_at_once",
        /// Somebody held it: whoever claimed it waits.
        Queued "queued",
        /// It was free again: whoever waited longest has it.
        GrantedFromLine "granted_from_line",
        /// The lease ran out.
        Expired "expired",
        /// The holder pushed.
        ReleasedByPush "released_by_push",
        /// The holder reset.
        ReleasedByReset "released_by_reset",
        /// The holder left the room, or was forgotten.
        ReleasedByLeave "released_by_leave",
        /// The holder went away.
        ReleasedByAway "released_by_away",
        /// An operator muted the holder.
        ReleasedByMute "released_by_mute",
        /// An operator put the holder out.
        ReleasedByKick "released_by_kick",
        /// Who waited reset.
        WithdrawnByReset "withdrawn_by_reset",
        /// Who waited left the room, or was forgotten.
        WithdrawnByLeave "withdrawn_by_leave",
        /// Who waited went away.
        WithdrawnByAway "withdrawn_by_away",
        /// An operator muted one who waited.
        WithdrawnByMute "withdrawn_by_mute",
        /// An operator put one out who waited.
        WithdrawnByKick "withdrawn_by_kick",
    }
}

/// Why somebody no longer holds or awaits a stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Because {
    Push,
    Reset,
    Leave,
    Away,
    Mute,
    Kick,
}

impl Because {
    /// What it is when the holder gives the stick back.
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

    /// What it is when a claim is withdrawn; none for what only the holder does.
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

/// The figures. They count from when the Hub's value was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub(crate) recalled: u64,
    fired: [u64; TimerKind::ALL.len()],
    moves: [u64; StickMove::ALL.len()],
    breaks: [u64; BreakKind::ALL.len()],
    alerts: u64,
    held: u64,
}

impl Figures {
    /// How many requests were answered from memory.
    #[must_use]
    pub const fn recalled(&self) -> u64 {
        self.recalled
    }

    /// How many timers of this kind fired.
    #[must_use]
    pub const fn fired(&self, kind: TimerKind) -> u64 {
        self.fired[kind as usize]
    }

    /// How many times a stick, or a claim on one, moved so.
    #[must_use]
    pub const fn moved(&self, how: StickMove) -> u64 {
        self.moves[how as usize]
    }

    /// How many breaks of this kind were taken.
    #[must_use]
    pub const fn breaks(&self, kind: BreakKind) -> u64 {
        self.breaks[kind as usize]
    }

    /// How many breaks made a boss more alert.
    #[must_use]
    pub const fn alerts(&self) -> u64 {
        self.alerts
    }

    /// How many breaks found a boss fully alert, so that their answers were held back.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn count_break(&mut self, now: Time, kind: BreakKind, taken: &Taken) {
        self.breaks[kind as usize] += 1;
        self.alerts += u64::from(taken.noticed == Noticed::Yes);
        self.held += u64::from(taken.answer_at > now);
    }

    pub(crate) const fn count_fired(&mut self, kind: TimerKind) {
        self.fired[kind as usize] += 1;
    }

    pub(crate) const fn count_move(&mut self, how: StickMove) {
        self.moves[how as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_counts_its_own() {
        let mut figures = Figures::default();
        for _ in 0..3 {
            figures.count_fired(TimerKind::Lease);
            figures.count_move(StickMove::Expired);
        }
        let fired = TimerKind::ALL.iter().map(|kind| figures.fired(*kind));
        assert_eq!(
            (figures.fired(TimerKind::Lease), fired.sum::<u64>()),
            (3, 3)
        );
        let moved = StickMove::ALL.iter().map(|how| figures.moved(*how));
        assert_eq!(
            (figures.moved(StickMove::Expired), moved.sum::<u64>()),
            (3, 3)
        );
    }

    #[test]
    fn whatever_ends_a_turn_but_a_push_ends_a_wait() {
        use Because::{Away, Kick, Leave, Mute, Push, Reset};
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
