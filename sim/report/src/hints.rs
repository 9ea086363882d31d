//! Suggestions for a run that proves nothing: for expected points that were never reached, and for
//! calls that were refused.

use sim_model::outcome::Point;

/// The limit that refuses calls by this code, or what the scenario lacks; none where a refusal is part
/// of any conversation.
pub(super) fn refusal_hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "rate_limited" => {
            "rate_limit, address_rate_limit and registration_rate_limit under server: higher, or none"
        }
        "address_full" => "a higher max_per_address under server",
        "server_full" => "a higher max_participants or max_rooms under server",
        "queue_full" => "a higher max_queue under server",
        "room_full" => "a higher max_members or max_rooms_each under server",
        "message_too_long" | "draft_full" => "a higher max_message under server, or shorter texts",
        "overloaded" => "a larger queue or a faster service under capacity, or fewer users",
        "storage_unavailable" => "a shorter fail_disk under faults",
        "stick_required" => {
            "talking_stick and await: stick.granted before a send, or stick: optional under server"
        }
        "not_in_room" | "room_ambiguous" | "room_not_found" => {
            "login, or enter_queue and a match, before the call"
        }
        "handle_required" | "unknown_handle" => "login or enter_queue before the call",
        "name_taken" | "user_id_taken" | "name_not_allowed" => "other names for the users",
        "muted" | "blocked" => "fewer acts of the operator under faults",
        _ => return None,
    })
}

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
        Point::OwnerChanged | Point::CallRepeated => "servers: 3, and a crash of a member",
        Point::LeaseEnded | Point::AppendUnknown => "servers: 3, and a log with no_leader for 6s",
        Point::ReadWaited => "servers: 3, reads: strict, and check or history steps",
        Point::FormerOwnerAsked => "servers: 3, reads: strict, and a freeze of a member for 9s",
        Point::ReportedTwice => "servers: 3, and log: { what: double, for: 6s } under faults",
        Point::TimerFired => "a shorter idle_timeout, stick_lease or reconnect_grace",
        Point::DamageSurvived => "damage_disk of a snapshot, and a crash after it",
        Point::StartRefused => "damage_disk of the journal, and a crash after it",
        Point::FromSnapshot => "a crash after capacity.snapshot_every entries of the journal",
        Point::Swapped => "a longer run: the hub is swapped now and then",
        Point::RoomFull => "a lower max_members, or more users in one room",
        Point::Muted => "operator: mute under faults",
        Point::Kicked => "operator: kick under faults",
        Point::RoomClosed => "operator: close under faults",
        Point::BossAlarmed | Point::BreakHeld => "a higher boss_alertness, or breaks in a row",
        Point::BossCalmed => "a shorter boss_alertness_cooldown, or a longer run",
        Point::StressFull => "two hours of think between breaks",
        Point::HistoryRead => "history steps, after others spoke",
        Point::UsersListed => "list_users steps, by users who are in a room",
        Point::Noticed => "check steps, while others are typing or wait in a check",
        Point::ReadByReader => "check: { as: reader } steps",
        Point::TwoStreams => "the second_stream habit",
        Point::NameRefused => "personas with names: odd",
        Point::IdTaken => "several users who enter_queue with one user_id",
        Point::MessageTooLong => "a lower max_message, or longer texts",
        Point::BeyondAscii => "an alphabet under the lengths of texts",
        Point::Unregistered => "unregister steps",
        Point::Reported => "report steps, after a message or a match",
        Point::Banned => "operator: ban under faults",
        Point::TurnedAway => "a lower max_per_address under server, and addresses: 1 under network",
        Point::Unbanned => "operator: unban under faults, after a ban or a mute",
    }
}
