//! What to try when a point that a scenario is after was never reached.

use crate::sometimes::Point;

/// A change to the scenario that makes the point likelier.
pub(super) const fn hint(point: Point) -> &'static str {
    match point {
        Point::Match => "two users whose flows enter_queue at the same time",
        Point::Rematch => "few users who loop over enter_queue and leave_chat",
        Point::MatchAfterWait => "an odd number of users, or slower arrivals",
        Point::QueueLeft => "a persona that enters the queue, thinks, and calls leave_queue",
        Point::StickWaited => "several users who login to one room and ask for talking_stick",
        Point::StickExpired => "a shorter stick_lease, or a holder who disconnects",
        Point::StickRefused => "a persona that sends without the stick in a named room",
        Point::DraftOutlivedStick => "append, a think longer than stick_lease, then push",
        Point::AppendCut => "an append longer than max_append (200 characters)",
        Point::Away => "a disconnect that lasts longer than reconnect_grace",
        Point::Back => "a disconnect for longer than reconnect_grace, then a check",
        Point::PartnerAway | Point::ReconnectInGrace => {
            "a disconnect in a pair room for less than reconnect_grace"
        }
        Point::PartnerTimeout => "a disconnect in a pair room for good, or a shorter grace",
        Point::TurnLimit => "a lower turn_limit, or a longer loop of send",
        Point::Blocked => "a block step in a pair room",
        Point::ChatEnded => "personas that leave while their partners still send",
        Point::RetryDeduplicated | Point::RetrySucceeded => "more loss under network",
        Point::AnsweredTwice => "more duplicate under network, or a shorter client timeout",
        Point::Abandoned => "the abandon habit, more loss, or fewer client attempts",
        Point::Parallel => "the parallel habit",
        Point::Redelivered | Point::StreamBroken => "more stream_break under network",
        Point::ByCheck => "check steps, and more stream_break under network",
        Point::CheckWoken => "a check with a wait, while others speak",
        Point::CheckSuperseded => "the parallel habit, with checks that wait",
        Point::Gap => "a lower inbox_limit, and slow_readers or a long disconnect",
        Point::SlowReaderCut => "slow_readers under faults, for more than 30s",
        Point::HandleForgotten => "the forget_handle habit",
        Point::UnknownHandle => "a disconnect for longer than forget_after",
        Point::NameTaken => "users who login under one name",
        Point::RateLimited => "a lower rate_limit, or shorter think times",
        Point::Overloaded => "a smaller capacity queue, or a slower service",
        Point::StorageUnavailable => "fail_disk under faults",
        Point::Crash => "crash: server under faults",
        Point::UnsyncedLost => "crash: server with lose_unsynced, and a slower commit",
        Point::TimerFired => "a shorter idle_timeout, stick_lease or reconnect_grace",
        Point::Swapped => "a longer run: the hub is swapped now and then",
        Point::RoomFull => "a lower max_members, or more users in one room",
        Point::Muted => "operator: mute under faults",
        Point::Kicked => "operator: kick under faults",
        Point::RoomClosed => "operator: close under faults",
        Point::BossAlarmed | Point::BreakHeld => "a higher boss_alertness, or breaks in a row",
        Point::BossCalmed => "a shorter boss_alertness_cooldown, or a longer run",
        Point::StressFull => "two hours of think between breaks",
    }
}
