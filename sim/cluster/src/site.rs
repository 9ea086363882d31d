//! One member's machine: its process, its clocks, its connections to the log.

use chat_cluster::{LogSnapshot, Member, MemberId, Now, Reads, Settings};
use chat_core::Config;
use chat_journal::{Identity, Origin};
use chat_types::config::{Limit, RateLimit, StickRule};
use chat_types::{Span, Time};
use sim_model::draw::Draw;

/// The number of members.
pub(crate) const MEMBERS: usize = 3;

/// The records between two snapshots.
const SNAPSHOT_EVERY: u64 = 60;

/// The time of day at the beginning of every history.
const MORNING: u64 = 1_000_000_000_000;

/// One machine.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    number: usize,
    incarnation: u64,
    pub(crate) reads: Reads,
    /// None while no process runs.
    pub(crate) member: Option<Member>,
    /// How far the time of day is off, in microseconds.
    pub(crate) wall_off: i64,
    boot_off: u64,
    /// How long the machine's clock stood still, in microseconds.
    stood: u64,
    /// How much faster the machine's clock runs, in units of 1/10,000.
    drift: i64,
    /// Nothing happens before this instant.
    pub(crate) paused_until: Time,
    /// The next turn is interrupted for this long, before its outputs leave.
    pub(crate) interrupt: Option<Span>,
    pub(crate) out_cut_until: Time,
    pub(crate) in_cut_until: Time,
    /// The replica that it follows, and the next record to receive.
    pub(crate) replica: usize,
    pub(crate) next_record: u64,
    /// The newest of its wake-ups.
    pub(crate) wake: u64,
    /// The last record that was reported as applied.
    pub(crate) reported: u64,
}

/// The cluster's identity: the same in every history.
pub(crate) fn origin() -> Origin {
    let identity = Identity {
        realm: 0x7515,
        seed: 11,
        secret: [3; 32],
    };
    identity.origin()
}

/// The settings of a member.
pub(crate) fn settings(id: MemberId, reads: Reads) -> Settings {
    Settings {
        id,
        address: format!("{}", id.number).into(),
        origin: origin(),
        config: config(),
        snapshot_every: SNAPSHOT_EVERY,
        reads,
    }
}

fn config() -> Config {
    Config {
        stick: StickRule::Optional,
        rate_limit: RateLimit::None,
        turn_limit: Limit::None,
        idle_timeout: Span::secs(3_600),
        unused_timeout: Span::secs(3_600),
        history_limit: 100_000,
        max_pending: 3,
        ..Config::default()
    }
}

impl Site {
    pub(crate) fn new(number: usize, reads: Reads, draw: &mut Draw) -> Self {
        let drift = i64::try_from(draw.below(200)).unwrap_or_default() - 100;
        Self {
            number,
            incarnation: 0,
            reads,
            member: None,
            wall_off: i64::try_from(draw.below(4_000_000)).unwrap_or_default() - 2_000_000,
            boot_off: 100_000_000 + draw.below(1_000_000_000),
            stood: 0,
            drift,
            paused_until: Time(0),
            interrupt: None,
            out_cut_until: Time(0),
            in_cut_until: Time(0),
            replica: number,
            next_record: 1,
            wake: 0,
            reported: 0,
        }
    }

    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// What its clocks show.
    pub(crate) fn now(&self, at: Time) -> Now {
        let steps = i64::try_from(at.0 / 10_000).unwrap_or(i64::MAX);
        let ran = at.0.saturating_add_signed(steps * self.drift);
        Now {
            wall: Time((MORNING + at.0).saturating_add_signed(self.wall_off)),
            boot: Time((self.boot_off + ran).saturating_sub(self.stood)),
        }
    }

    /// Nothing happens for this long. Strict reads do not depend on clocks: in histories with them
    /// the machine's clock stands still meanwhile, so that a paused owner believes in its lease.
    pub(crate) fn pause(&mut self, at: Time, lasts: Span) {
        self.paused_until = at + lasts;
        if self.reads == Reads::Strict {
            self.stood += lasts.0;
        }
    }

    /// The instant at which its clocks show that something is due, after `at`.
    pub(crate) fn due(&mut self, at: Time) -> Option<Time> {
        let now = self.now(at);
        let due = self.member.as_mut()?.poll_timeout();
        let wall = due.wall.map(|due| due.since(now.wall));
        // A clock that is slower needs longer; one step more does no harm.
        let boot = due.boot.map(|due| {
            let rest = due.since(now.boot);
            rest + Span(rest.0 / 90)
        });
        let rest = wall.into_iter().chain(boot).min()?;
        Some(at + rest.max(Span::micros(200)))
    }

    /// Starts the process, from a snapshot or from the beginning of the log.
    pub(crate) fn start(&mut self, at: Time, snapshot: Option<&[u8]>) {
        self.incarnation += 1;
        let id = MemberId {
            number: self.number as u64,
            incarnation: self.incarnation,
        };
        let settings = settings(id, self.reads);
        let now = self.now(at);
        let member = match snapshot {
            Some(bytes) => {
                let snapshot = LogSnapshot::read(&origin(), bytes).expect("a member wrote it");
                Member::restored(settings, snapshot, now)
            }
            None => Member::new(settings, now),
        };
        let member = member.expect("the configuration fits");
        self.next_record = member.sequence() + 1;
        self.reported = member.sequence();
        self.member = Some(member);
    }
}
