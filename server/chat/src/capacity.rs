//! Limits on clients' resources: the memory of the process, a pool for each resource, and a rate
//! for each kind of work.
//!
//! Resources that are held come from pools. A pool has a size, and a share for each [`Source`], which
//! is a bearer token or an address. All realms of a process have one `Capacity`, so that a source has
//! one share, however many realms it uses. [`Pool::take`] returns a [`Reservation`], which returns its
//! amount when it is dropped. It is stored beside the resource, in the session, the stream, the
//! connection or the request, so it cannot be returned too early. The memory of the process has a
//! limit of its own, see [`Memory`]. A [`Rate`] limits what a request consumes without holding it:
//! processor time, and the texts that rooms and inboxes keep after the request.
//!
//! # How each resource is bounded
//!
//! One mechanism bounds the resources of a client: a **pool** of a resource with a **share** for each
//! source, and a **`Reservation`**, which is stored beside the resource that it accounts for. A
//! source is an `Address` in the core: a bearer token, or the address of a connection without one.
//!
//! | pool | a `Reservation` is stored in | at the limit of a source |
//! |---|---|---|
//! | connections | the connection's task | 503, closed |
//! | sessions | the library's end of the session (`PooledTransport`) | the longest idle session ends, its own or that of the source with the most; the new one takes its `Reservation` after the session's last resource is freed |
//! | streams | the body of `GET /events`, the session's stream, the handler of `subscriptions/listen` | 503 |
//! | bytes of requests | the request's extensions (`RequestCharge`) | 503 |
//! | bytes of answers | the bytes themselves, until the connection has written them | 503 for the next request |
//!
//! No code returns resources by hand: a `Reservation` returns its amount when it is dropped, together
//! with the resource. `RequestCharge` travels in the request's extensions because the library keeps
//! the request's head as long as it keeps the message, and clones it where it clones that.
//!
//! A body passes three bounds before anything keeps it: its bytes are counted as they come,
//! `guard/body.rs` counts the values that a parser would make of them, and `mcp/replies.rs` leaves
//! out what nobody reads.
//!
//! The core bounds an answer by its number of events and by the bytes of their texts. An answer
//! counts as delivered once it is made, so it cannot be refused later. Its bytes are charged even
//! beyond the share, and its source can make no further requests until some are written. The
//! connection of a peer that reads below the least rate is closed (`listener.rs`).
//!
//! Processor time is consumed and not held. `capacity::Rate` limits it, in requests and in bytes of
//! large requests. A source that exceeds the rate is not refused but delayed: its connections are not
//! read meanwhile, which leaves the processor to others. Texts have a rate, too, because the core
//! keeps them for longer than a request: a room keeps many messages, and one source may open many
//! rooms.
//!
//! `capacity::Memory` bounds all of this together: it samples the process's resident memory every 100
//! ms. Above the limit `Memory::check` refuses requests that would hold more memory. Messages
//! continue until `Memory::check_texts` refuses them as well, an eighth above the limit. Each pool
//! takes at most an eighth of the limit, so that one source cannot reach it.

mod memory;
mod pool;
mod rate;
mod turns;

use chat_core::Config;

pub use memory::Memory;
pub use pool::{Full, Pool, Reservation, Share};
pub use rate::{MAX_WAIT, Rate, Speed};
pub use turns::Turns;

/// A source of requests in this process: a bearer token, or an address without one, by a keyed hash. It
/// is the same in all realms, unlike the [`chat_core::Address`] by which a realm's state knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(pub u64);

/// The least number of connections, sessions or streams for one source, if the pools are small.
const LEAST: u64 = 128;

/// The least number of bytes of requests or of answers for one source, if the pools are small.
const LEAST_BYTES: u64 = 2 << 20;

impl Limits {
    /// These limits, raised to fit `config`: one source may have `max_per_address` participants,
    /// each with a connection, a session and a stream, and with calls up to `rate_limit`. If that
    /// is more than `USUAL`, the rates of its large requests and its answers grow in proportion.
    /// Without a `rate_limit` the rates of requests, texts and answers are off.
    #[must_use]
    pub fn for_core(self, config: &Config) -> Self {
        let participants = u64::from(config.max_per_address);
        let rated = config.rate_limit.limit();
        let rated = rated.map(|bucket| u64::from(bucket.per_second));
        let requests = rated.map(|calls| (participants * calls).max(LEAST_REQUESTS));
        Self {
            connections: self.connections.at_least(participants),
            sessions: self.sessions.at_least(participants),
            streams: self.streams.at_least(participants),
            large: self.large.map(|speed| speed.for_participants(participants)),
            requests: requests.map(|calls| Speed::new(calls, calls / 4)),
            woken: requests.map(|calls| Speed::new(calls, WOKEN)),
            archive: rated.and(self.archive),
            answered: rated.map(|_| ANSWERED.for_participants(participants)),
            texts: rated.map(|_| {
                Speed::new(
                    participants * TEXT_PER_SECOND,
                    (participants * TEXT_BURST).max(LEAST_TEXT_BURST),
                )
            }),
            ..self
        }
    }

    /// These limits, lowered to fit `memory`: each pool may occupy at most an eighth of that limit.
    /// One source has at most a quarter of each pool, so it cannot use up the memory alone.
    #[must_use]
    pub fn within_memory(self) -> Self {
        let Some(limit) = self.memory else {
            return self;
        };
        let part = limit / 8;
        let fitting = |share: Share, cost: u64| share.within((part / cost).max(1), LEAST);
        Self {
            connections: fitting(self.connections, CONNECTION),
            sessions: fitting(self.sessions, SESSION),
            streams: fitting(self.streams, STREAM),
            bodies: self.bodies.within(part, LEAST_BYTES),
            answers: self.answers.within(part, LEAST_BYTES),
            ..self
        }
    }

    /// These limits, lowered to fit the limit of open files of a server with this number of further
    /// realms.
    #[must_use]
    pub fn within_files(self, files: u64, further_realms: usize) -> Self {
        let others = OTHER_FILES + FILES_OF_REALM * further_realms as u64;
        let room = files.saturating_sub(others).max(1);
        if room < self.connections.all {
            tracing::debug!(
                connections = room,
                wanted = self.connections.all,
                "fewer connections fit than are wanted; `ulimit -n` or LimitNOFILE= gives more"
            );
        }
        Self {
            connections: self.connections.within(room, LEAST),
            ..self
        }
    }
}

/// The rate of bytes of large requests of one source with at most `USUAL` participants. A session
/// that is opened counts as [`OPENING`].
pub const LARGE: Speed = Speed::new(4 << 20, 16 << 20);

/// The rate of bytes of answers to one source with at most `USUAL` participants. Each answer, and
/// each part of a stream, counts as [`PART`] more.
pub const ANSWERED: Speed = Speed::new(4 << 20, 4 << 20);

/// The additional cost of an answer, or of a part of a stream, in bytes: writing it to its
/// connection takes as much processor time as so many bytes.
pub const PART: u64 = 512;

/// The number of requests that a connection counts as: opening and closing one takes the system as
/// long.
pub const CONNECTING: u64 = 4;

/// The default number of participants for one source.
const USUAL: u64 = 64;

impl Speed {
    /// This rate, scaled from the usual number of participants to `participants`.
    fn for_participants(self, participants: u64) -> Self {
        let scaled = |amount: u64| amount.saturating_mul(participants.max(USUAL)) / USUAL;
        Self::new(scaled(self.per_second), scaled(self.burst))
    }
}

/// The cost of a new session, in bytes of requests and their values. Handling this many bytes
/// takes about as much processor time as opening a session and allocating its memory.
pub const OPENING: u64 = 128 * 1_024;

/// The number of waiting checks of one source that are answered at once by one event; the others
/// follow at the rate of the source's requests. Each answer wakes a connection of the source, whose
/// client sends the next check immediately. If all members of a large room were answered at once,
/// other clients would wait for all of them.
const WOKEN: u64 = 8;

/// The time of one source's reads of the archive: a fifth of one connection's, and a few seconds at
/// once.
const ARCHIVE: Speed = Speed::new(200, 4_000);

/// The least number of requests per second for one source, even if its participants may make fewer
/// calls.
const LEAST_REQUESTS: u64 = 1_000;

/// The rate of bytes of texts for each participant of a source: several times the output of a
/// model.
const TEXT_PER_SECOND: u64 = 256;

/// The burst of bytes of texts for each participant.
const TEXT_BURST: u64 = 64 * 1_024;

/// The least burst of bytes of texts of a source.
const LEAST_TEXT_BURST: u64 = 1 << 20;

/// The additional cost of a text, in bytes, in its room and in the inboxes of its members.
pub const TEXT: u64 = 256;

/// The cost of any other command besides its texts, in bytes of the journal.
pub const ENTRY: u64 = 64;

/// The largest memory of a connection, in bytes: an incomplete head and a small incomplete body.
const CONNECTION: u64 = 64 * 1_024;

/// The memory of a session, in bytes: mostly the library's queues.
const SESSION: u64 = 128 * 1_024;

/// The memory of a stream besides its connection, in bytes.
const STREAM: u64 = 32 * 1_024;

/// A generous number of open files other than connections, with one realm.
const OTHER_FILES: u64 = 64;

/// A generous number of open files of a further realm: its journal and its history, with all readers.
const FILES_OF_REALM: u64 = 24;

/// Generates `Limits` and `Capacity` from rows: the limit, its word in the metrics, what it limits in
/// words, and its size.
macro_rules! capacity {
    (pools { $($pool:ident $pool_name:literal $pool_words:literal $share:expr;)* }
     rates { $($rate:ident $rate_name:literal $rate_words:literal $speed:expr;)* }) => {
        /// The sizes of all pools, and the rates of one source; without a rate there is no limit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            /// The resident memory, in bytes, above which requests that hold memory are refused.
            pub memory: Option<u64>,
            $(#[doc = $pool_words] pub $pool: Share,)*
            $(#[doc = $rate_words] pub $rate: Option<Speed>,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { memory: None, $($pool: $share,)* $($rate: $speed,)* }
            }
        }

        /// The pools, the rates, and the memory of the process.
        #[derive(Debug)]
        pub struct Capacity {
            /// The memory of the process.
            pub memory: Memory,
            $(#[doc = $pool_words] pub $pool: Pool,)*
            $(#[doc = $rate_words] pub $rate: Rate,)*
            /// Reads of the archive, one of each source at a time.
            pub archive_turns: Turns<Source>,
        }

        impl Capacity {
            /// Creates pools and rates of these sizes.
            #[must_use]
            pub fn new(limits: &Limits) -> Self {
                Self {
                    memory: Memory::new(limits.memory),
                    $($pool: Pool::new(($pool_name, $pool_words), limits.$pool),)*
                    $($rate: Rate::new(($rate_name, $rate_words), limits.$rate),)*
                    archive_turns: Turns::default(),
                }
            }

            /// All pools.
            pub fn pools(&self) -> impl Iterator<Item = &Pool> {
                [$(&self.$pool),*].into_iter()
            }

            /// All rates.
            pub fn rates(&self) -> impl Iterator<Item = &Rate> {
                [$(&self.$rate),*].into_iter()
            }
        }
    };
}

capacity! {
    pools {
        connections "connections" "connections" Share::of(20_000, LEAST);
        sessions "sessions" "sessions of MCP" Share::of(10_000, LEAST);
        streams "streams" "open streams" Share::of(20_000, LEAST);
        bodies "request_bytes" "bytes of requests in work" Share::of(64 << 20, LEAST_BYTES);
        answers "answer_bytes" "bytes of answers that were not read yet"
            Share::of(256 << 20, LEAST_BYTES);
    }
    rates {
        requests "requests" "requests" None;
        large "large_requests" "bytes of large requests and new sessions" Some(LARGE);
        texts "texts" "bytes of messages and other texts" None;
        answered "answers" "bytes of answers" None;
        woken "woken_checks" "answers of checks that waited" None;
        archive "archive" "milliseconds of reads of older messages" Some(ARCHIVE);
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self::new(&Limits::default())
    }
}

#[cfg(test)]
mod tests {
    use chat_core::config::RateLimit;

    use super::*;

    #[test]
    fn the_limit_of_connections_leaves_descriptors_for_files() {
        let limits = Limits::default();
        let connections = |files| limits.within_files(files, 0).connections;
        assert_eq!(
            connections(1_024),
            Share {
                all: 960,
                each: LEAST
            }
        );
        assert_eq!(connections(1), Share { all: 1, each: 1 });
        assert_eq!(connections(u64::MAX), limits.connections);
        assert_eq!(limits.within_files(1_024, 10).connections.all, 720);
    }

    /// The limits for this number of participants of one source.
    fn limits_of(max_per_address: u32) -> Limits {
        let config = Config {
            max_per_address,
            ..Config::default()
        };
        Limits::default().for_core(&config)
    }

    #[test]
    fn a_source_that_may_bring_many_participants_has_a_larger_share() {
        let of = |participants| limits_of(participants).sessions.each;
        assert_eq!([of(64), of(5_000), of(1_000_000)], [625, 5_000, 10_000]);
    }

    #[test]
    fn a_source_makes_as_many_requests_as_its_participants_may_make_calls() {
        let of = |max_per_address, rate_limit| {
            let config = Config {
                max_per_address,
                rate_limit,
                ..Config::default()
            };
            let limits = Limits::default().for_core(&config);
            assert_eq!(limits.answered.is_some(), limits.texts.is_some());
            (limits.requests, limits.texts)
        };
        let usual = Config::default().rate_limit;
        let (requests, texts) = of(64, usual);
        let expected = Speed::new(1_280, 320);
        assert_eq!(requests, Some(expected));
        let expected = Speed::new(16 << 10, 4 << 20);
        assert_eq!(texts, Some(expected));
        assert_eq!(of(1, usual).0.map(|speed| speed.per_second), Some(1_000));
        assert_eq!(of(64, RateLimit::None), (None, None));
    }

    #[test]
    fn large_requests_are_faster_where_there_may_be_more_participants_than_usual() {
        let of = |participants| limits_of(participants).large;
        assert_eq!(u64::from(Config::default().max_per_address), USUAL);
        assert_eq!([of(1), of(64)], [Some(LARGE); 2]);
        let tenfold = Speed::new(40 << 20, 160 << 20);
        assert_eq!(of(640), Some(tenfold));
    }

    #[test]
    fn a_small_limit_of_memory_admits_several_sources() {
        let usual = Limits::default().for_core(&Config::default());
        let within = |memory| {
            let limits = Limits { memory, ..usual };
            limits.within_memory()
        };
        assert_eq!(within(None), usual);
        let large = within(Some(16 << 30));
        let expected = Limits {
            memory: Some(16 << 30),
            ..usual
        };
        assert_eq!(large, expected);
        for memory in [64 << 20, 256 << 20, 1 << 30] {
            let limits = within(Some(memory));
            let of_one = limits.connections.each * CONNECTION
                + limits.sessions.each * SESSION
                + limits.streams.each * STREAM
                + limits.bodies.each
                + limits.answers.each;
            assert!(of_one <= memory * 5 / 8, "{memory}: {limits:?}");
            assert!(limits.bodies.each >= 1 << 20 && limits.answers.each >= 1 << 20);
        }
    }
}
