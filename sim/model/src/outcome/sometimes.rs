//! `sometimes` points: interesting events that a scenario should reach. A scenario that misses its
//! purpose proves nothing, so `expect_sometimes` makes that a failure.
//!
//! And the coverage of the core's behaviour: every code of a refusal, every type of event, every kind of
//! timer, every transition of a stick; 0 for what a run never reached.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chat_types::{Code, StickMove, TimerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::EVENTS;

chat_types::listed! {
    /// An event that only interesting runs reach, each with a change to the scenario that makes it
    /// likelier.
    Point {
        /// Two users were matched.
        Match "match" "two users whose flows enter_queue at the same time",
        /// Two users were matched that had been partners before.
        Rematch "rematch" "few users who loop over enter_queue and leave_chat",
        /// A waiting user was matched.
        MatchAfterWait "match_after_wait" "an odd number of users, or slower arrivals",
        /// A user left the queue before a match.
        QueueLeft "queue_left" "a persona that enters the queue, thinks, and calls leave_queue",
        /// A stick was granted to a waiting user.
        StickWaited "stick_waited" "several users who login to one room and ask for talking_stick",
        /// A lease ended.
        StickExpired "stick_expired" "a shorter stick_lease, or a holder who disconnects",
        /// A message was refused because its sender did not hold the stick.
        StickRefused "stick_refused" "a persona that sends without the stick in a named room",
        /// A draft was pushed after the stick under which it was written was lost.
        DraftOutlivedStick "draft_outlived_stick"
            "append, a think longer than stick_lease, then push",
        /// Part of an append was cut.
        AppendCut "append_cut" "an append longer than max_append (200 characters)",
        /// A user went away from a named room.
        Away "away" "a disconnect that lasts longer than reconnect_grace",
        /// A user that was away came back.
        Back "back" "a disconnect for longer than reconnect_grace, then a check",
        /// A partner's last stream closed.
        PartnerAway "partner_away" "a disconnect in a pair room for less than reconnect_grace",
        /// A partner came back within the grace period.
        ReconnectInGrace "reconnect_in_grace"
            "a disconnect in a pair room for less than reconnect_grace",
        /// A pair room ended because a partner went away.
        PartnerTimeout "partner_timeout" "a disconnect in a pair room for good, or a shorter grace",
        /// A pair room reached its limit of turns.
        TurnLimit "turn_limit" "a lower turn_limit, or a longer loop of send",
        /// A pair room ended by a block.
        Blocked "blocked" "a block step in a pair room",
        /// A call was refused because the chat had ended meanwhile.
        ChatEnded "chat_ended" "personas that leave while their partners still send",
        /// A repeated request was answered from memory.
        RetryDeduplicated "retry_deduplicated" "more loss under network",
        /// A retry was answered although its first attempt was lost.
        RetrySucceeded "retry_succeeded" "more loss under network",
        /// A second answer to one call arrived.
        AnsweredTwice "answered_twice" "more duplicate under network, or a shorter client timeout",
        /// A client cancelled a call without an answer.
        Abandoned "abandoned" "the abandon habit, more loss, or fewer client attempts",
        /// A client had several calls in flight at once.
        Parallel "parallel" "the parallel habit",
        /// A client received an event that it had received before.
        Redelivered "redelivered" "more stream_break under network",
        /// A client received an event by a check before any stream delivered it.
        ByCheck "by_check" "check steps, and more stream_break under network",
        /// A waiting check was answered by an event.
        CheckWoken "check_woken" "a check with a wait, while others speak",
        /// A waiting check was ended by a second one.
        CheckSuperseded "check_superseded" "the parallel habit, with checks that wait",
        /// An inbox overflowed, and a gap said so.
        Gap "gap" "a lower inbox_limit, and slow_readers or a long disconnect",
        /// A stream broke.
        StreamBroken "stream_broken" "more stream_break under network",
        /// A slow reader's stream was cut.
        SlowReaderCut "slow_reader_cut" "slow_readers under faults, for more than 30s",
        /// A client forgot its handle and registered again.
        HandleForgotten "handle_forgotten" "the forget_handle habit",
        /// A server did not know a handle.
        UnknownHandle "unknown_handle" "a disconnect for longer than forget_after",
        /// A name was refused because it is taken.
        NameTaken "name_taken" "users who login under one name",
        /// A call was refused as too fast.
        RateLimited "rate_limited" "a lower rate_limit, or shorter think times",
        /// A call was refused because the server was overloaded.
        Overloaded "overloaded" "a smaller capacity queue, or a slower service",
        /// A call was refused because the journal could not be written.
        StorageUnavailable "storage_unavailable" "fail_disk under faults",
        /// The server crashed.
        Crash "crash" "crash: server under faults",
        /// A crash lost uncommitted entries.
        UnsyncedLost "unsynced_lost" "crash: server with lose_unsynced, and a slower commit",
        /// The server recovered from a snapshot.
        FromSnapshot "from_snapshot" "a crash after capacity.snapshot_every entries of the journal",
        /// The server started from damaged files, with all that it had acknowledged.
        DamageSurvived "damage_survived" "damage_disk of a snapshot, and a crash after it",
        /// The server refused to start from damaged files.
        StartRefused "start_refused" "damage_disk of the journal, and a crash after it",
        /// Another server became the owner of the chat.
        OwnerChanged "owner_changed" "servers: 3, and a crash of a member",
        /// A server repeated a call of its client, because the owner changed.
        CallRepeated "call_repeated" "servers: 3, and a crash of a member",
        /// A server was without its lease, and took no calls.
        LeaseEnded "lease_ended" "servers: 3, and a log with no_leader for 6s",
        /// The outcome of an append to the shared log was unknown.
        AppendUnknown "append_unknown" "servers: 3, and a log with no_leader for 6s",
        /// A read waited for an append to the shared log.
        ReadWaited "read_waited" "servers: 3, reads: strict, and check or history steps",
        /// A call reached a server that took itself for the owner while another one was.
        FormerOwnerAsked "former_owner_asked"
            "servers: 3, reads: strict, and a freeze of a member for 9s",
        /// The report of an append to the shared log came a second time.
        ReportedTwice "reported_twice"
            "servers: 3, and log: { what: double, for: 6s } under faults",
        /// Timers fired between two commands.
        TimerFired "timer_fired" "a shorter idle_timeout, stick_lease or reconnect_grace",
        /// The Hub was swapped for its restored snapshot.
        Swapped "swapped" "a longer run: the hub is swapped now and then",
        /// A room was full.
        RoomFull "room_full" "a lower max_members, or more users in one room",
        /// A user was muted.
        Muted "muted" "operator: mute under faults",
        /// A user was removed from a room.
        Kicked "kicked" "operator: kick under faults",
        /// A room was closed.
        RoomClosed "room_closed" "operator: close under faults",
        /// A boss reached its highest alert level.
        BossAlarmed "boss_alarmed" "a higher boss_alertness, or breaks in a row",
        /// A boss calmed down.
        BossCalmed "boss_calmed" "a shorter boss_alertness_cooldown, or a longer run",
        /// The answer to a break was delayed.
        BreakHeld "break_held" "a higher boss_alertness, or breaks in a row",
        /// A user reached the highest stress level.
        StressFull "stress_full" "two hours of think between breaks",
        /// A history listed past messages.
        HistoryRead "history_read" "history steps, after others spoke",
        /// A room's members were listed.
        UsersListed "users_listed" "list_users steps, by users who are in a room",
        /// A check brought a notice.
        Noticed "noticed" "check steps, while others are typing or wait in a check",
        /// An inbox was read by its reader id.
        ReadByReader "read_by_reader" "check: { as: reader } steps",
        /// A client held two streams at once.
        TwoStreams "two_streams" "the second_stream habit",
        /// A name was refused as not allowed.
        NameRefused "name_refused" "personas with names: odd",
        /// A public id was refused because it is taken.
        IdTaken "user_id_taken" "several users who enter_queue with one user_id",
        /// A message was refused as too long.
        MessageTooLong "message_too_long" "a lower max_message, or longer texts",
        /// A message with characters beyond ASCII arrived.
        BeyondAscii "beyond_ascii" "an alphabet under the lengths of texts",
        /// A user unregistered.
        Unregistered "unregistered" "unregister steps",
        /// A user reported another.
        Reported "reported" "report steps, after a message or a match",
        /// A user was banned.
        Banned "banned" "operator: ban under faults",
        /// A ban was lifted.
        Unbanned "unbanned" "operator: unban under faults, after a ban or a mute",
        /// A user that was no participant was refused.
        TurnedAway "turned_away"
            "a lower max_per_address under server, and addresses: 1 under network",
        /// A knock for a user that sleeps was lost at its door.
        KnockLost "knock_lost" "users with reads: knocked, and more loss under network",
        /// A waker knocked once more for what its user had not read.
        KnockedAgain "knocked_again" "users with reads: knocked, and a think of more than a minute",
        /// A waker crashed between a knock and its mark.
        KnockUnmarked "knock_unmarked" "more users with reads: knocked",
        /// A waker reached its limit of knocks an hour.
        KnocksLimited "knocks_limited" "users with reads: knocked, in a room where much is said",
    }
}

impl Point {
    /// A change to the scenario that makes the point likelier.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        self.word(1)
    }
}

/// The count of each point, and the coverage of the core's behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The counts of all points, in the order of [`Point::ALL`].
    pub points: [u64; Point::ALL.len()],
    /// The coverage of the core's behaviour.
    pub coverage: Coverage,
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

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.points.iter_mut().zip(other.points) {
            *mine += theirs;
        }
        self.coverage.add(&other.coverage);
    }
}

/// Codes that no scenario can reach. They are not counted. The core's own tests reach all but the first.
pub const OUT_OF_REACH: [&str; 3] = [
    // A call without a handle is refused before it becomes one of the core's calls.
    "handle_required",
    // Operators ban addresses where scenarios are drawn alone.
    "blocked",
    // No scenario stops a server cleanly but those that are drawn.
    "shutting_down",
];

/// The counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Refusals by code, including those that clients retry without a record.
    pub rejects: BTreeMap<Cow<'static, str>, u64>,
    /// Events by type, counted at clients.
    pub events: BTreeMap<Cow<'static, str>, u64>,
    /// Timers that fired, by kind.
    pub timers: BTreeMap<Cow<'static, str>, u64>,
    /// Transitions of sticks and of claims on them.
    pub stick: BTreeMap<Cow<'static, str>, u64>,
}

impl Default for Coverage {
    fn default() -> Self {
        let none = |names: &[&'static str]| {
            let names = names.iter().map(|name| (Cow::Borrowed(*name), 0));
            names.collect::<BTreeMap<_, _>>()
        };
        let mut rejects = none(Code::NAMES);
        rejects.retain(|code, _| !OUT_OF_REACH.contains(&&**code));
        Self {
            rejects,
            events: none(&EVENTS),
            timers: none(TimerKind::NAMES),
            stick: none(StickMove::NAMES),
        }
    }
}

impl Coverage {
    /// Counts a refusal.
    pub fn record_refusal(&mut self, code: &'static str) {
        *self.rejects.entry(code.into()).or_default() += 1;
    }

    /// Counts received events of this type.
    pub fn record_event(&mut self, event: &'static str, times: u64) {
        *self.events.entry(event.into()).or_default() += times;
    }

    /// Adds the coverage of another run.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.rejects, &other.rejects),
            (&mut self.events, &other.events),
            (&mut self.timers, &other.timers),
            (&mut self.stick, &other.stick),
        ] {
            for (name, n) in theirs {
                *mine.entry(name.clone()).or_default() += n;
            }
        }
    }

    /// Each group by its name, with its counts.
    #[must_use]
    pub fn groups(&self) -> [(&'static str, &BTreeMap<Cow<'static, str>, u64>); 4] {
        [
            ("rejects", &self.rejects),
            ("events", &self.events),
            ("timers", &self.timers),
            ("stick", &self.stick),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_counts_reached_codes_and_lists_the_others() {
        let mut one = Coverage::default();
        one.record_refusal("chat_ended");
        one.record_event("gap", 1);
        let mut all = Coverage::default();
        all.add(&one);
        all.add(&one);
        assert_eq!((all.rejects["chat_ended"], all.events["gap"]), (2, 2));
        assert_eq!((all.rejects["muted"], all.timers["lease"]), (0, 0));
        assert_eq!(
            all.groups().map(|(_, group)| group.len()),
            [
                Code::NAMES.len() - OUT_OF_REACH.len(),
                EVENTS.len(),
                TimerKind::ALL.len(),
                StickMove::ALL.len(),
            ]
        );
    }

    #[test]
    fn unreachable_codes_exist() {
        for code in OUT_OF_REACH {
            assert!(Code::NAMES.contains(&code), "{code}");
            assert!(!Coverage::default().rejects.contains_key(code));
        }
    }
}
