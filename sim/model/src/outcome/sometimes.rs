//! `sometimes` points: interesting events that a scenario should reach. A scenario that misses its
//! purpose proves nothing, so `expect_sometimes` makes that a failure.

use super::Coverage;

chat_types::listed! {
    /// An event that only interesting runs reach.
    Point {
        /// Two users were matched.
        Match "match",
        /// Two users were matched that had been partners before.
        Rematch "rematch",
        /// A waiting user was matched.
        MatchAfterWait "match_after_wait",
        /// A user left the queue before a match.
        QueueLeft "queue_left",
        /// A stick was granted to a waiting user.
        StickWaited "stick_waited",
        /// A lease ended.
        StickExpired "stick_expired",
        /// A message was refused because its sender did not hold the stick.
        StickRefused "stick_refused",
        /// A draft was pushed after the stick under which it was written was lost.
        DraftOutlivedStick "draft_outlived_stick",
        /// Part of an append was cut.
        AppendCut "append_cut",
        /// A user went away from a named room.
        Away "away",
        /// A user that was away came back.
        Back "back",
        /// A partner's last stream closed.
        PartnerAway "partner_away",
        /// A partner came back within the grace period.
        ReconnectInGrace "reconnect_in_grace",
        /// A pair room ended because a partner went away.
        PartnerTimeout "partner_timeout",
        /// A pair room reached its limit of turns.
        TurnLimit "turn_limit",
        /// A pair room ended by a block.
        Blocked "blocked",
        /// A call was refused because the chat had ended meanwhile.
        ChatEnded "chat_ended",
        /// A repeated request was answered from memory.
        RetryDeduplicated "retry_deduplicated",
        /// A retry was answered although its first attempt was lost.
        RetrySucceeded "retry_succeeded",
        /// A second answer to one call arrived.
        AnsweredTwice "answered_twice",
        /// A client cancelled a call without an answer.
        Abandoned "abandoned",
        /// A client had several calls in flight at once.
        Parallel "parallel",
        /// A client received an event that it had received before.
        Redelivered "redelivered",
        /// A client received an event by a check before any stream delivered it.
        ByCheck "by_check",
        /// A waiting check was answered by an event.
        CheckWoken "check_woken",
        /// A waiting check was ended by a second one.
        CheckSuperseded "check_superseded",
        /// An inbox overflowed, and a gap said so.
        Gap "gap",
        /// A stream broke.
        StreamBroken "stream_broken",
        /// A slow reader's stream was cut.
        SlowReaderCut "slow_reader_cut",
        /// A client forgot its handle and registered again.
        HandleForgotten "handle_forgotten",
        /// A server did not know a handle.
        UnknownHandle "unknown_handle",
        /// A name was refused because it is taken.
        NameTaken "name_taken",
        /// A call was refused as too fast.
        RateLimited "rate_limited",
        /// A call was refused because the server was overloaded.
        Overloaded "overloaded",
        /// A call was refused because the journal could not be written.
        StorageUnavailable "storage_unavailable",
        /// The server crashed.
        Crash "crash",
        /// A crash lost uncommitted entries.
        UnsyncedLost "unsynced_lost",
        /// The server recovered from a snapshot.
        FromSnapshot "from_snapshot",
        /// The server started from damaged files, with all that it had acknowledged.
        DamageSurvived "damage_survived",
        /// The server refused to start from damaged files.
        StartRefused "start_refused",
        /// Another server became the owner of the chat.
        OwnerChanged "owner_changed",
        /// A server repeated a call of its client, because the owner changed.
        CallRepeated "call_repeated",
        /// A server was without its lease, and took no calls.
        LeaseEnded "lease_ended",
        /// The outcome of an append to the shared log was unknown.
        AppendUnknown "append_unknown",
        /// A read waited for an append to the shared log.
        ReadWaited "read_waited",
        /// A call reached a server that took itself for the owner while another one was.
        FormerOwnerAsked "former_owner_asked",
        /// The report of an append to the shared log came a second time.
        ReportedTwice "reported_twice",
        /// Timers fired between two commands.
        TimerFired "timer_fired",
        /// The Hub was swapped for its restored snapshot.
        Swapped "swapped",
        /// A room was full.
        RoomFull "room_full",
        /// A user was muted.
        Muted "muted",
        /// A user was removed from a room.
        Kicked "kicked",
        /// A room was closed.
        RoomClosed "room_closed",
        /// A boss reached its highest alert level.
        BossAlarmed "boss_alarmed",
        /// A boss calmed down.
        BossCalmed "boss_calmed",
        /// The answer to a break was delayed.
        BreakHeld "break_held",
        /// A user reached the highest stress level.
        StressFull "stress_full",
        /// A history listed past messages.
        HistoryRead "history_read",
        /// A room's members were listed.
        UsersListed "users_listed",
        /// A check brought a notice.
        Noticed "noticed",
        /// An inbox was read by its reader id.
        ReadByReader "read_by_reader",
        /// A client held two streams at once.
        TwoStreams "two_streams",
        /// A name was refused as not allowed.
        NameRefused "name_refused",
        /// A public id was refused because it is taken.
        IdTaken "user_id_taken",
        /// A message was refused as too long.
        MessageTooLong "message_too_long",
        /// A message with characters beyond ASCII arrived.
        BeyondAscii "beyond_ascii",
        /// A user unregistered.
        Unregistered "unregistered",
        /// A user reported another.
        Reported "reported",
        /// A user was banned.
        Banned "banned",
        /// A ban was lifted.
        Unbanned "unbanned",
        /// A user that was no participant was refused.
        TurnedAway "turned_away",
    }
}

/// The count of each point, and the coverage of the core's behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    points: [u64; Point::ALL.len()],
    coverage: Coverage,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            points: [0; Point::ALL.len()],
            coverage: Coverage::default(),
        }
    }
}

impl Tally {
    /// Counts a point.
    pub fn reach(&mut self, point: Point) {
        self.points[point as usize] += 1;
    }

    /// The count of a point.
    #[must_use]
    pub fn count(&self, point: Point) -> u64 {
        self.points[point as usize]
    }

    /// The coverage of the core's behaviour.
    #[must_use]
    pub const fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// The coverage of the core's behaviour, for counting.
    pub const fn coverage_mut(&mut self) -> &mut Coverage {
        &mut self.coverage
    }

    /// The counts of all points, in the order of [`Point::ALL`].
    #[must_use]
    pub const fn points(&self) -> &[u64; Point::ALL.len()] {
        &self.points
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.points.iter_mut().zip(other.points) {
            *mine += theirs;
        }
        self.coverage.add(&other.coverage);
    }
}
