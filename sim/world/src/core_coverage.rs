//! Counts the core's work in a run's coverage.

use chat_core::{Counters, StickMove, TimerKind};
use sim_model::outcome::Coverage;

/// Counts the differences between these counters. Mostly there are none, and then nothing is looked
/// up.
pub(super) fn count_core_work(coverage: &mut Coverage, before: &Counters, now: &Counters) {
    for kind in TimerKind::ALL {
        let fired = now.fired[*kind as usize].saturating_sub(before.fired[*kind as usize]);
        if fired > 0 {
            *coverage.timers.entry(kind.name().into()).or_default() += fired;
        }
    }
    for how in StickMove::ALL {
        let moved = now.moves[*how as usize].saturating_sub(before.moves[*how as usize]);
        if moved > 0 {
            *coverage.stick.entry(how.name().into()).or_default() += moved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::names::{STICK_MOVES, TIMERS};

    #[test]
    fn the_model_and_the_core_have_the_same_names() {
        let timers: Vec<&str> = TimerKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(TIMERS, timers[..]);
        let moves: Vec<&str> = StickMove::ALL.iter().map(|how| how.name()).collect();
        assert_eq!(STICK_MOVES, moves[..]);
    }
}
