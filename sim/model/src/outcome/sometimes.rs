//! Points that a run should reach now and then: a scenario that never reaches what it is after
//! proves nothing, so `expect_sometimes` makes that a failure.

use super::Coverage;

macro_rules! points {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// Something that happens only in interesting runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Point { $($(#[$doc])* $variant,)* }

        impl Point {
            /// Every point, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name that scenarios and reports write.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

points! {
    /// Two were matched.
    Match "match",
    /// Two were matched who had been partners just before.
    Rematch "rematch",
    /// Somebody who was already waiting was matched.
    MatchAfterWait "match_after_wait",
    /// Somebody left the line before a match.
    QueueLeft "queue_left",
    /// A stick was granted to somebody who had waited for it.
    StickWaited "stick_waited",
    /// A lease ran out.
    StickExpired "stick_expired",
    /// Speech was refused for want of the stick.
    StickRefused "stick_refused",
    /// A draft outlived the stick it was written under, and was pushed later.
    DraftOutlivedStick "draft_outlived_stick",
    /// Part of an append was cut.
    AppendCut "append_cut",
    /// Somebody went away from a named room.
    Away "away",
    /// And came back.
    Back "back",
    /// A partner's last stream closed.
    PartnerAway "partner_away",
    /// A partner was back within the grace.
    ReconnectInGrace "reconnect_in_grace",
    /// A pair room ended because a partner stayed away.
    PartnerTimeout "partner_timeout",
    /// A pair room's turns ran out.
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
    /// A call was given up without an answer.
    Abandoned "abandoned",
    /// A client had several calls in flight at once.
    Parallel "parallel",
    /// An event reached a client that had it already.
    Redelivered "redelivered",
    /// An event reached its client by a check before any stream brought it.
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
    /// A handle was forgotten by its client, who registered again.
    HandleForgotten "handle_forgotten",
    /// A server did not know a handle.
    UnknownHandle "unknown_handle",
    /// A name was refused because somebody has it.
    NameTaken "name_taken",
    /// A call was refused as too fast.
    RateLimited "rate_limited",
    /// A call was refused because the server had too much to do.
    Overloaded "overloaded",
    /// A call was refused because the journal could not be written.
    StorageUnavailable "storage_unavailable",
    /// The server crashed.
    Crash "crash",
    /// A crash lost entries that were not yet committed.
    UnsyncedLost "unsynced_lost",
    /// The server came back from a snapshot.
    FromSnapshot "from_snapshot",
    /// Timers fired between two commands.
    TimerFired "timer_fired",
    /// The Hub was swapped for its restored snapshot.
    Swapped "swapped",
    /// A room was full.
    RoomFull "room_full",
    /// Somebody was muted.
    Muted "muted",
    /// Somebody was kicked.
    Kicked "kicked",
    /// A room was closed.
    RoomClosed "room_closed",
    /// Somebody's boss became fully alert.
    BossAlarmed "boss_alarmed",
    /// Somebody's boss calmed down.
    BossCalmed "boss_calmed",
    /// The answer to a break was held back.
    BreakHeld "break_held",
    /// Somebody was as stressed as can be.
    StressFull "stress_full",
    /// A newcomer registered by `check_stress_status`.
    Arrived "arrived",
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
    /// A public id was refused because somebody has it.
    IdTaken "user_id_taken",
    /// A message was refused as too long.
    MessageTooLong "message_too_long",
    /// A message beyond ASCII arrived.
    BeyondAscii "beyond_ascii",
    /// Somebody unregistered.
    Unregistered "unregistered",
    /// Somebody reported somebody.
    Reported "reported",
    /// Somebody was banned.
    Banned "banned",
    /// A ban was lifted.
    Unbanned "unbanned",
}

impl Point {
    /// The point of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|point| point.name() == name)
    }
}

/// How often each point was reached, and what else of the core's behaviour.
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
    /// The point was reached.
    pub fn reach(&mut self, point: Point) {
        self.points[point as usize] += 1;
    }

    /// How often the point was reached.
    #[must_use]
    pub fn count(&self, point: Point) -> u64 {
        self.points[point as usize]
    }

    /// What of the core's behaviour was reached.
    #[must_use]
    pub const fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// What of the core's behaviour was reached, to count in it.
    pub const fn coverage_mut(&mut self) -> &mut Coverage {
        &mut self.coverage
    }

    /// How often each point was reached, in the order of [`Point::ALL`].
    #[must_use]
    pub const fn points(&self) -> &[u64; Point::ALL.len()] {
        &self.points
    }

    /// Adds what another run reached.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.points.iter_mut().zip(other.points) {
            *mine += theirs;
        }
        self.coverage.add(&other.coverage);
    }
}
