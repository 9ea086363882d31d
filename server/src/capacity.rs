//! What clients may use up, and for how long: the memory of the process, a pool for each resource,
//! and a rate of what costs much time.
//!
//! One idea carries what is held. A pool has a size, and a share of it for one source, which is a
//! bearer token or an address. [`Pool::take`] gives a [`Held`], and the amount goes back when the
//! `Held` is dropped: it lies beside what it paid for, in the session, the stream, the connection
//! or the request, and so cannot be given back too early. The process as a whole has a watermark,
//! see [`Memory`]. What is used up once and not held, the time of the processor, has a [`Rate`].

mod memory;
mod pool;
mod rate;

use chat_core::Config;

pub use memory::{Memory, MemoryLimit};
pub use pool::{Full, Held, Pool, Resource, Share};
pub use rate::{MAX_WAIT, Rate, TooFast};

/// How much of each resource there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The resident memory, in bytes, above which nothing is taken that holds memory.
    pub memory: Option<u64>,
    /// Connections.
    pub connections: Share,
    /// Sessions of MCP.
    pub sessions: Share,
    /// Streams of events and of pushes.
    pub streams: Share,
    /// Bytes of requests, and of what was parsed of them.
    pub bodies: Share,
    /// Bytes of answers that their readers have not taken.
    pub answers: Share,
}

/// How many parts of a pool one source may not have.
const PARTS: u64 = 4;

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: None,
            connections: Share::of(20_000, PARTS),
            sessions: Share::of(10_000, PARTS),
            streams: Share::of(20_000, PARTS),
            bodies: Share::of(64 << 20, PARTS),
            answers: Share::of(256 << 20, PARTS),
        }
    }
}

impl Limits {
    /// The same where one source brings as many participants as the core lets it: each of them may
    /// have a connection, a session and a stream.
    #[must_use]
    pub fn for_core(self, config: &Config) -> Self {
        let participants = u64::from(config.max_per_address);
        Self {
            connections: self.connections.at_least(participants),
            sessions: self.sessions.at_least(participants),
            streams: self.streams.at_least(participants),
            ..self
        }
    }

    /// The same with no more connections than there may be open files.
    #[must_use]
    pub fn within_files(self, files: u64) -> Self {
        let room = files.saturating_sub(OTHER_FILES).max(1);
        if room < self.connections.all {
            tracing::info!(
                connections = room,
                wanted = self.connections.all,
                "fewer connections fit than are wanted; `ulimit -n` or LimitNOFILE= gives more"
            );
        }
        Self {
            connections: self.connections.within(room, PARTS),
            ..self
        }
    }
}

/// How many bytes a second one source may send of large requests. A session that is opened counts
/// as [`OPENING`].
const WORK_PER_SECOND: u64 = 4 << 20;

/// How many of these at once.
pub const WORK_BURST: u64 = 16 << 20;

/// What a new session counts as, in bytes of requests: it takes the processor about as long.
pub const OPENING: u64 = 16 * 1_024;

/// Files that a server has open besides its connections, generously.
const OTHER_FILES: u64 = 64;

/// The pools, the rate, and the watermark of the process.
#[derive(Debug)]
pub struct Capacity {
    /// The memory of the process.
    pub memory: Memory,
    /// Connections.
    pub connections: Pool,
    /// Sessions of MCP.
    pub sessions: Pool,
    /// Streams of events and of pushes.
    pub streams: Pool,
    /// Bytes of requests, and of what was parsed of them.
    pub bodies: Pool,
    /// Bytes of answers that their readers have not taken.
    pub answers: Pool,
    /// Large requests and new sessions, by the time that they take.
    pub work: Rate,
}

impl Capacity {
    /// Pools of these sizes.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            memory: Memory::new(limits.memory),
            connections: Pool::new(Resource::Connections, limits.connections),
            sessions: Pool::new(Resource::Sessions, limits.sessions),
            streams: Pool::new(Resource::Streams, limits.streams),
            bodies: Pool::new(Resource::RequestBytes, limits.bodies),
            answers: Pool::new(Resource::AnswerBytes, limits.answers),
            work: Rate::new(WORK_PER_SECOND, WORK_BURST),
        }
    }

    /// All pools.
    #[must_use]
    pub const fn pools(&self) -> [&Pool; 5] {
        [
            &self.connections,
            &self.sessions,
            &self.streams,
            &self.bodies,
            &self.answers,
        ]
    }
}

impl Default for Capacity {
    fn default() -> Self {
        Self::new(&Limits::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_other_files() {
        let limits = Limits::default();
        let connections = |files| limits.within_files(files).connections;
        assert_eq!(
            connections(1_024),
            Share {
                all: 960,
                each: 240
            }
        );
        assert_eq!(connections(1), Share { all: 1, each: 1 });
        assert_eq!(connections(u64::MAX), limits.connections);
    }

    #[test]
    fn a_source_that_may_bring_many_participants_has_a_larger_share() {
        let of = |max_per_address| {
            let config = Config {
                max_per_address,
                ..Config::default()
            };
            Limits::default().for_core(&config).sessions.each
        };
        assert_eq!([of(200), of(5_000), of(1_000_000)], [2_500, 5_000, 10_000]);
    }
}
