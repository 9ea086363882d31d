//! The rows of the metrics.

use chat_core::StickMove;

use crate::refusal::Refusal;
use crate::refused_requests::Kind;
use crate::tools::Tool;

/// What has a metric's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Process,
    Realm,
    /// A member of a cluster. A server that is alone has none of them.
    Member,
}

/// What the samples of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowShape {
    /// A count that only grows.
    Count,
    /// A number that rises and falls.
    Number,
    /// A sum of seconds that only grows.
    Sum,
    /// A number of seconds that rises and falls.
    Seconds,
    /// A histogram of durations.
    Times,
    /// An information, which its labels carry. Its number is 1.
    Info,
}

/// What is said of a metric.
pub(super) struct About {
    pub(super) scope: Scope,
    /// Its name, without the prefix of those that are the server's own.
    pub(super) name: &'static str,
    pub(super) shape: RowShape,
    /// The names of its labels.
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

/// Generates `Row` from rows: name and shape; the labels; the values of the label that are there from
/// the start, because a rate needs a value to begin with; and the help.
macro_rules! rows {
    ($($scope:ident {$(
        $row:ident $name:literal $shape:ident $(by $label:literal)* $(from $first:expr)?, $help:literal;
    )*})*) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Row {
            $($(#[doc = $help] $row,)*)*
        }

        impl Row {
            /// All metrics, in the order in which they are written.
            pub(super) const ALL: &'static [Self] = &[$($(Self::$row,)*)*];

            pub(super) const fn about(self) -> About {
                match self {
                    $($(Self::$row => About {
                        scope: Scope::$scope,
                        name: $name,
                        shape: RowShape::$shape,
                        labels: &[$($label),*],
                        help: $help,
                    },)*)*
                }
            }

            /// The labels of the samples that are there from the start.
            pub(super) fn first(self) -> Vec<&'static str> {
                let first: Option<Vec<_>> = match self {
                    $($(Self::$row => [$($first)?].into_iter().next(),)*)*
                };
                let is_plain = self.about().labels.is_empty();
                first.unwrap_or_else(|| is_plain.then_some("").into_iter().collect())
            }
        }
    };
}

rows! {
    Process {
        CpuSeconds "process_cpu_seconds" Sum, "Time that the processors spent on the process";
        StartTime "process_start_time_seconds" Seconds, "When the process started, in seconds since 1970";
        ResidentMemory "process_resident_memory_bytes" Number, "Memory of the process in RAM";
        VirtualMemory "process_virtual_memory_bytes" Number, "Addresses that the process has";
        Threads "process_threads" Number, "Threads of the process";
        OpenFiles "process_open_fds" Number, "Open files";
        MostFiles "process_max_fds" Number, "Files that may be open at once";
        Build "build" Info by "version" by "commit" by "os" by "arch",
            "The server's version, and what it was built for";
        Connections "connections" Count, "Connections that were accepted";
        ConnectionsRefused "connections_refused" Count by "why"
            from vec!["full", "too_fast", "not_accepted"], "Connections that were refused by why";
        Held "held" Number by "resource",
            "Participants, connections, streams, sessions or bytes in use, by resource";
        HeldByOne "held_by_one" Number by "resource",
            "How much of a resource the address or token has that has most";
        HeldLimit "held_limit" Number by "resource",
            "How much of a resource all addresses and tokens may have together";
        HeldByOneLimit "held_by_one_limit" Number by "resource",
            "How much of a resource one address or token may have";
        HeldRefused "held_refused" Count by "resource",
            "How often somebody was refused because a resource or its share was used up";
        MemoryLimit "memory_limit_bytes" Number,
            "The memory above which nothing is taken that holds some; 0 for no limit";
        MemoryRefused "memory_refused" Count, "How often something was refused for want of memory";
        RateWaited "rate_waited" Count by "of",
            "How often a source was faster than it may be, and waited";
        RateRefused "rate_refused" Count by "of",
            "How often a source would have had to wait too long, and was refused";
        LogLinesDropped "log_lines_dropped" Count,
            "Lines of the log that its reader did not take in time";
    }
    Realm {
        Calls "calls" Count by "tool" from Tool::all().map(Tool::name).collect(),
            "Calls by tool, refused ones among them";
        Refusals "refusals" Count by "code" from Refusal::codes().collect(), "Refused calls by code";
        TurnedAway "turned_away" Count by "why" from Kind::NAMES.to_vec(),
            "Requests refused by the guard, by why";
        StaleTokenFiles "stale_token_files" Number by "of" from vec!["callers", "operators"],
            "Files of tokens that cannot be read again, so that their tokens of before are valid";
        CallSeconds "call_seconds" Times, "From a call to its answer, waits of checks left out";
        DriverWaitSeconds "driver_wait_seconds" Times,
            "How long calls lay in the channel before the driver took them";
        DriverTurnSeconds "driver_turn_seconds" Times, "How long the driver was busy at a time";
        CommitSeconds "commit_seconds" Times,
            "How long the journal took to keep a batch of calls, on its disk with fsync";
        InboxLagSeconds "inbox_lag_seconds" Times, "From an event to its stream's reader";
        ModelBytes "model_bytes" Count, "Bytes of text that models were sent to read";
        HistoryLag "history_lag" Number, "Entries of the journal that the history lacks";
        HistoryCopyLag "history_copy_lag" Number,
            "Entries of the journal that the copy of the history in PostgreSQL lacks";
        HistoryDamaged "history_damaged" Count,
            "Damaged files of the history, each of which was rebuilt";
        HistoryLost "history_lost" Count,
            "Rows of the history that were damaged, and that the journal no longer had";
        Participants "participants" Number, "Registered participants";
        Rooms "rooms" Number, "Rooms, ended ones among them";
        QueueLength "queue_length" Number, "Waiting for a partner";
        QueueFirstWait "queue_first_wait_seconds" Seconds,
            "How long the first in that line has been waiting";
        QueueRecentWait "queue_recent_wait_seconds" Seconds,
            "How long recent waits for a partner were on average";
        Streams "streams" Number, "Open event streams";
        WaitingChecks "waiting_checks" Number, "Checks that wait for something to come";
        HeldAnswers "held_answers" Number,
            "Answers of breaks that are held back, or may have to be";
        BossAlerts "boss_alerts" Count, "Breaks that made a boss more alert";
        BreaksHeld "breaks_held" Count,
            "Breaks whose answers were held back, under a boss who was fully alert";
        Messages "messages" Count, "Messages that were said";
        Matches "matches" Count, "Pairs that were matched";
        StickMoves "stick_moves" Count by "how"
            from StickMove::NAMES.to_vec(),
            "Transitions of sticks and of claims on them";
        StickClaimants "stick_claimants" Number, "Members who wait for a stick";
        StickWait "stick_wait_seconds" Sum, "How long all of them together have waited";
        JournalPending "journal_pending" Number, "Commands that wait for the journal";
        DriverQueued "driver_queued" Number, "Calls that lie in the driver's channel";
        RatedAddresses "rated_addresses" Number,
            "Addresses whose calls or registrations are counted against a rate";
        DiskBytes "disk_bytes" Number by "of",
            "Bytes of the journal, of its WAL, of the history with its own, and free on their disk";
        HttpResponses "http_responses" Count by "route" by "status", "Answers by route and status";
        HttpRequestSeconds "http_request_seconds" Times by "route",
            "From a request's head to its answer's by route, waits of checks among it";
    }
    Member {
        ClusterRole "cluster_role" Number by "role"
            from vec!["follower", "claiming", "owner", "settling", "resigning", "stranded"],
            "1 for the role that the member has";
        ClusterEpoch "cluster_epoch" Number, "The epoch of the owner that the member knows";
        ClusterSequence "cluster_sequence" Number,
            "The sequence of the last record of the log that the member has applied";
        ClusterLease "cluster_lease" Number, "1 while the member takes the realm's calls";
        ClusterOwnershipGained "cluster_ownership_gained" Count,
            "How often the member became the owner";
        ClusterOwnershipLost "cluster_ownership_lost" Count,
            "How often the member was the owner no more";
        ClusterAlarms "cluster_alarms" Count by "kind"
            from vec!["hole", "damaged", "diverged", "unreadable", "unsafe"],
            "What an operator must know of, by kind";
        ClusterAppends "cluster_appends" Count by "outcome"
            from vec!["acknowledged", "wrong_last", "busy", "rejected", "unknown"],
            "Attempts to append a record by outcome";
        ClusterAppendSeconds "cluster_append_seconds" Times,
            "From an attempt to append to its outcome";
        ClusterConnected "cluster_connected" Number,
            "1 while the member is connected to a NATS server";
        ClusterReconnects "cluster_reconnects" Count,
            "How often a lost connection was made again";
        ClusterBehind "cluster_behind" Number,
            "Records of the log that the member has not applied";
        ClusterLogRecords "cluster_log_records" Number, "Records that the log holds";
        ClusterLogBytes "cluster_log_bytes" Number, "The size of the log";
        ClusterSnapshotTime "cluster_snapshot_time_seconds" Number,
            "When the last snapshot was stored; 0 if there is none";
        ClusterForwarded "cluster_forwarded" Count by "outcome" from vec!["answered", "unavailable"],
            "Calls that this member passed on to the owner, by outcome";
        ClusterRefusedForPause "cluster_refused_for_pause" Count,
            "Calls refused because they may have waited while the process was paused";
    }
}
