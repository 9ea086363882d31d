//! A population: many participants in one Hub, in blocks of eight. Two are idle, two chat with each
//! other, and four share a named room with a stick.

use std::hint::black_box;
use std::sync::Arc;

use chat_core::config::{Limit, Matching, RateLimit};
use chat_core::{
    Address, BreakKind, Caller, Command, Config, EnterQueue, Entry, Hub, Implied, Operate, Reply,
    RequestKey, RoomId, SecretHash, Span, Time, UserId, mix,
};

/// The number of participants in a block.
pub const BLOCK: usize = 8;

/// The idle places of a block.
pub const IDLE: [usize; 2] = [0, 1];

/// The places of the pair.
pub const PAIR: [usize; 2] = [2, 3];

/// The places of the four in a named room.
pub const ROOM: [usize; 4] = [4, 5, 6, 7];

const SEED: u64 = 42;

/// Longer than any benchmark, so that no participant goes away.
const EVER: Span = Span::secs(365 * 86_400);

/// A Hub with many participants.
#[derive(Clone, Debug)]
pub struct Population {
    pub(crate) hub: Hub,
    pub(crate) now: Time,
    /// The time between two entries.
    pub(crate) pace: Span,
    /// The participant at each place.
    members: Vec<UserId>,
    /// The number of minted handles.
    minted: u64,
}

/// The outcomes of handled entries or calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accepted entries.
    pub accepted: u64,
    /// Refused entries.
    pub refused: u64,
    /// Effects for the shell, or outputs of a node other than replies.
    pub effects: u64,
}

/// The speed of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// No timer is ever due, so each command is measured alone.
    Still,
    /// Each participant calls every thirty seconds on average, and all deadlines have their usual
    /// length.
    Lively,
}

/// A block of a population.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The population.
    pub population: &'a Population,
    /// Its number.
    pub number: usize,
}

impl Block<'_> {
    /// The participant at this place.
    pub fn user(self, place: usize) -> UserId {
        self.population.members[self.number * BLOCK + place]
    }

    /// The room of the block's four.
    ///
    /// # Panics
    /// If they have none, which is a mistake in a benchmark.
    pub fn room(self) -> RoomId {
        let rooms = self.population.hub.rooms_of(self.user(ROOM[0]));
        *rooms.first().expect("the four stay where they are")
    }

    /// A command of the participant at this place.
    pub fn call(self, place: usize, command: Command) -> Entry {
        self.keyed_call(place, None, command)
    }

    /// A command of the participant at this place, with a request key if there is one.
    ///
    /// # Panics
    /// If it is not registered, which is a mistake in a benchmark.
    pub fn keyed_call(self, place: usize, key: Option<RequestKey>, command: Command) -> Entry {
        let handle = self.population.hub.handle_of(self.user(place));
        called(handle.expect("who has a place is registered"), key, command)
    }

    /// A consequence of reads or streams of the participant at this place.
    pub fn imply(self, place: usize, implied: Implied) -> Entry {
        let user = self.user(place);
        Entry::Implied { user, implied }
    }

    /// The entry of a participant that has read its inbox to the end.
    pub fn read(self, place: usize) -> Entry {
        let cursors = self.population.hub.inbox_cursors(self.user(place));
        let (end, _) = cursors.unwrap_or_default();
        let implied = Implied::Read {
            acknowledged: end,
            delivered: end,
        };
        self.imply(place, implied)
    }
}

fn called(handle: SecretHash, key: Option<RequestKey>, command: Command) -> Entry {
    Entry::Call {
        caller: Caller::Handle(handle),
        key,
        command,
    }
}

impl Population {
    /// A population of this many participants, rounded down to whole blocks.
    pub fn new(size: usize, matching: Matching, pace: Pace) -> Self {
        let step = match pace {
            Pace::Still => Span(1),
            Pace::Lively => Span(30_000_000 / size as u64),
        };
        let mut population = Self {
            hub: Hub::new(config(matching, pace), SEED),
            now: Time(1_000_000),
            pace: step,
            members: Vec::with_capacity(size),
            minted: 0,
        };
        for block in 0..size / BLOCK {
            population.seat_block(block, matching);
        }
        population
    }

    fn seat_block(&mut self, block: usize, matching: Matching) {
        for place in 0..BLOCK {
            let user = self.register(block, place);
            self.members.push(user);
        }
        // Waiters that find no partner.
        if matching == Matching::Interests {
            let alone = enter(&format!("alone {block}"));
            let alone = self.block(block).call(IDLE[1], alone);
            self.carry_out(&alone);
        }
    }

    /// Registers a newcomer for a place, and puts it where the place belongs.
    fn register(&mut self, block: usize, place: usize) -> UserId {
        self.minted += 1;
        let command = match place {
            place if ROOM.contains(&place) => login(block, place),
            place if PAIR.contains(&place) => enter(&format!("pair {block}")),
            _ => a_break(),
        };
        let reply = self.carry_out(&newcomer(1, self.minted, command));
        let (Reply::LoggedIn { user, .. }
        | Reply::OnBreak { user, .. }
        | Reply::Waiting { user, .. }
        | Reply::Matched { user, .. }) = reply
        else {
            panic!("a registration is answered by {reply:?}");
        };
        // Uses the handle: an unused registration would expire soon.
        let implied = Implied::Seen { waiting: None };
        self.carry_out(&Entry::Implied { user, implied });
        user
    }

    /// Replaces the participant at this place by a newcomer.
    pub fn replace(&mut self, block: usize, place: usize) {
        let leave = self.block(block).call(place, Command::Unregister);
        self.carry_out(&leave);
        self.members[block * BLOCK + place] = self.register(block, place);
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.members.len() / BLOCK
    }

    /// The block of this number.
    pub const fn block(&self, number: usize) -> Block<'_> {
        let population = self;
        Block { population, number }
    }

    /// Handles an entry that must be accepted.
    ///
    /// # Panics
    /// If it is refused, which is a mistake in a benchmark.
    pub fn carry_out(&mut self, entry: &Entry) -> Reply {
        self.now += self.pace;
        let reply = match self.hub.handle(self.now, entry) {
            Ok(reply) => reply,
            Err(reject) => panic!("{entry:?} is refused: {reject}"),
        };
        while self.hub.poll_effect().is_some() {}
        reply
    }

    /// Handles the measured entries.
    pub fn handle(&mut self, entries: &[Entry]) -> Tally {
        let began = self.now;
        self.now += self.pace.times(entries.len() as u64);
        handle_all(&mut self.hub, began, self.pace, entries)
    }
}

/// Passes entries to a Hub and drains its effects. Never inlined, because instruction counters find
/// it by name.
#[inline(never)]
pub fn handle_all(hub: &mut Hub, mut at: Time, pace: Span, entries: &[Entry]) -> Tally {
    let mut tally = Tally::default();
    for entry in entries {
        at += pace;
        match black_box(hub.handle(at, entry)) {
            Ok(_) => tally.accepted += 1,
            Err(_) => tally.refused += 1,
        }
        while let Some(effect) = hub.poll_effect() {
            black_box(effect);
            tally.effects += 1;
        }
    }
    tally
}

/// Limits that no benchmark reaches, and times that do not change with the defaults.
fn config(matching: Matching, pace: Pace) -> Config {
    let config = Config {
        matching,
        turn_limit: Limit::None,
        rate_limit: RateLimit::None,
        registration_rate_limit: RateLimit::None,
        max_participants: 2_000_000,
        max_queue: 2_000_000,
        interest_patience: EVER,
        idle_timeout: Span::secs(1_800),
        queue_timeout: Span::secs(120),
        ..Config::default()
    };
    match pace {
        Pace::Lively => config,
        Pace::Still => Config {
            idle_timeout: EVER,
            queue_timeout: EVER,
            unused_timeout: EVER,
            reconnect_grace: EVER,
            stick_lease: EVER,
            ..config
        },
    }
}

/// The hash of the `n`th handle of a series.
fn secret(series: u64, n: u64) -> SecretHash {
    let mut hash = [0; 16];
    let (left, right) = hash.split_at_mut(8);
    left.copy_from_slice(&mix(series, n).to_le_bytes());
    right.copy_from_slice(&mix(n, series).to_le_bytes());
    SecretHash(hash)
}

/// A registration with the `n`th handle of a series.
pub fn newcomer(series: u64, n: u64, command: Command) -> Entry {
    Entry::Call {
        caller: Caller::New {
            handle: secret(series, n),
            reader: secret(!series, n),
            from: Address(n),
        },
        key: None,
        command,
    }
}

/// A later command of that newcomer.
pub fn by_newcomer(series: u64, n: u64, command: Command) -> Entry {
    called(secret(series, n), None, command)
}

/// Whether the `n`th handle of a series is registered.
pub fn is_there(hub: &Hub, series: u64, n: u64) -> bool {
    hub.user_by_handle(&secret(series, n)).is_some()
}

/// Entering the queue with this interest.
pub fn enter(interest: &str) -> Command {
    Command::EnterQueue(EnterQueue {
        interests: Arc::from([Arc::from(interest)]),
        ..EnterQueue::default()
    })
}

/// Takes a break; a newcomer is registered by it in no room.
pub const fn a_break() -> Command {
    Command::TakeBreak {
        kind: BreakKind::CoffeeMission,
        excuse: None,
    }
}

/// Joining the block's room.
pub fn login(block: usize, place: usize) -> Command {
    Command::Login {
        username: agent_name(block, place).into(),
        room: room_name(block).into(),
    }
}

/// The name of a participant that has chosen one.
pub fn agent_name(block: usize, place: usize) -> String {
    format!("agent {block} of {place}")
}

/// The name of the block's room. All names have the same length.
pub fn room_name(block: usize) -> String {
    format!("room {block:07}")
}

/// An operator's act.
pub fn operate(act: Operate) -> Entry {
    Entry::Operate {
        operator: "operator".into(),
        act,
    }
}
