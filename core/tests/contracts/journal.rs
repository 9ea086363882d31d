//! Random journals, and the Hub's results.

use chat_core::config::{Limit, Matching, StickRule};
use chat_core::{
    Address, Addressees, BreakKind, Caller, Command, Config, Continuity, Effect, EnterQueue, Entry,
    Epoch, Hub, Implied, Operate, Reject, Reply, RequestKey, RoomId, SecretHash, Seq, Span, Time,
    UserId,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// The number of people that may register: more than the drawn limits allow.
const PEOPLE: u8 = 6;

/// Stands for the caller's usual name. Other names are mostly refused, because a chosen name cannot
/// change.
const OWN: &str = "own";

/// A configuration and the entries after it, with their times.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) config: Config,
    pub(crate) entries: Vec<(Time, Entry)>,
}

/// The result of one entry.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) reply: Result<Reply, Reject>,
    pub(crate) effects: Vec<Effect>,
}

impl Journal {
    pub(crate) fn hub(&self) -> Hub {
        Hub::new(self.config.clone(), 42)
    }

    /// The journal under other limits, also after downtimes.
    pub(crate) fn under(mut self, change: impl Fn(&mut Config)) -> Self {
        change(&mut self.config);
        for (_, entry) in &mut self.entries {
            if let Entry::Resumed { config, .. } = entry {
                change(config);
            }
        }
        self
    }
}

/// Handles one entry and drains the effects.
pub(crate) fn step(hub: &mut Hub, at: Time, entry: &Entry) -> Outcome {
    let reply = hub.handle(at, entry);
    let effects = std::iter::from_fn(|| hub.poll_effect()).collect();
    Outcome { reply, effects }
}

/// Handles entries in order.
pub(crate) fn run(hub: &mut Hub, entries: &[(Time, Entry)]) -> Vec<Outcome> {
    entries
        .iter()
        .map(|(at, entry)| step(hub, *at, entry))
        .collect()
}

/// All participants that may be registered.
pub(crate) fn users() -> impl Iterator<Item = UserId> {
    (1..40).map(UserId)
}

/// The handles of all people.
pub(crate) fn handles() -> impl Iterator<Item = SecretHash> {
    (0..PEOPLE).map(|person| secret(person, 1))
}

/// An entry with the effect of an entry's envelope alone: time advances, and a caller with a handle
/// is seen, as is one whose stream opens.
pub(crate) fn envelope(hub: &Hub, entry: &Entry) -> Entry {
    let mut seen = None;
    if let Entry::Call {
        caller: Caller::Handle(handle),
        ..
    } = entry
    {
        seen = hub.user_by_handle(handle);
    } else if let Some((user, Implied::OpenStream)) = entry.implied() {
        seen = Some(user);
    }
    seen.map_or(Entry::Tick, |user| Entry::Implied {
        user,
        implied: Implied::Seen { waiting: None },
    })
}

/// Any journal under small limits.
pub(crate) fn journal() -> impl Strategy<Value = Journal> {
    let first = vec((waits(), registration()), 0..10);
    let then = vec((waits(), entry()), 1..80);
    let any = (first, then).prop_map(|(first, then)| [first, then].concat());
    let returning = vec((moments(), coming_back()), 40..90);
    let moments = prop_oneof![4 => any, 1 => returning];
    (config(), moments).prop_map(|(config, moments)| Journal {
        entries: timed(moments.into_iter(), &config),
        config,
    })
}

/// A `journal` without random matching, breaks, downtime and steps of the clock, which depend on
/// the position of entries or on the time of the last one.
pub(crate) fn steady_journal() -> impl Strategy<Value = Journal> {
    journal().prop_map(|mut journal| {
        if journal.config.matching == Matching::Random {
            journal.config.matching = Matching::Fifo;
        }
        for (_, entry) in &mut journal.entries {
            if matches!(entry, Entry::Resumed { .. } | Entry::Stepped) {
                *entry = Entry::Tick;
            }
            if let Entry::Call { command, .. } = entry
                && matches!(command, Command::TakeBreak { .. })
            {
                *command = Command::EnterQueue(EnterQueue::default());
            }
        }
        journal
    })
}

fn timed(moments: impl Iterator<Item = (Wait, Entry)>, config: &Config) -> Vec<(Time, Entry)> {
    let mut now = Time(1_000_000);
    let at = |(wait, mut entry): (Wait, Entry)| {
        if let Entry::Resumed { config: kept, .. } = &mut entry {
            **kept = config.clone();
        }
        match wait {
            Wait::For(span) => {
                now += span;
                (now, entry)
            }
            // The clock goes back for this one entry.
            Wait::Back(span) => (Time(now.0.saturating_sub(span.0)), entry),
        }
    };
    moments.map(at).collect()
}

#[derive(Clone, Copy, Debug)]
enum Wait {
    For(Span),
    Back(Span),
}

fn moments() -> impl Strategy<Value = Wait> {
    (0..1_000u64).prop_map(|ms| Wait::For(Span::millis(ms)))
}

fn waits() -> impl Strategy<Value = Wait> {
    prop_oneof![
        4 => Just(Wait::For(Span::ZERO)),
        4 => moments(),
        3 => (1..6u64).prop_map(|secs| Wait::For(Span::secs(secs))),
        1 => select(vec![10, 20, 60]).prop_map(|secs| Wait::For(Span::secs(secs))),
        1 => (1..9u64).prop_map(|secs| Wait::Back(Span::secs(secs))),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let matching = select(vec![Matching::Fifo, Matching::Random, Matching::Interests]);
    let stick = select(vec![StickRule::Required, StickRule::Optional]);
    let turns = select(vec![Limit::At(3), Limit::None]);
    (matching, stick, turns, 1..4u32, 2..5u32).prop_map(
        |(matching, stick, turn_limit, few, some)| Config {
            matching,
            stick,
            turn_limit,
            interest_patience: Span::secs(u64::from(few)),
            idle_timeout: Span::secs(20),
            unused_timeout: Span::secs(30),
            reconnect_grace: Span::secs(4),
            forget_after: Span::secs(30),
            stick_lease: Span::secs(3),
            max_participants: some + 1,
            max_per_address: some,
            max_rooms: some,
            max_queue: few,
            max_members: some,
            max_rooms_each: few,
            max_ended_rooms: few,
            inbox_limit: some + 2,
            history_limit: few,
            max_message: 6,
            max_draft: 6,
            max_append: 5,
            max_interests: 2,
            max_blocks: few,
            max_reports: few,
            max_reports_per_address: few,
            max_bans: some,
            remembered_keys: few,
            boss_alertness: 50 * (few - 1),
            boss_alertness_cooldown: Span::secs(10),
            max_excuse: 8,
            max_streams: few,
            max_answer: some,
            ..Config::default()
        },
    )
}

fn secret(person: u8, salt: u8) -> SecretHash {
    SecretHash([person, salt, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
}

fn registration() -> impl Strategy<Value = Entry> {
    let speechless = Just(Command::Unregister);
    let command = prop_oneof![20 => login(), 10 => enter(), 2 => take_break(), 1 => speechless];
    (0..PEOPLE, 0..2u64, key(), command)
        .prop_map(|(person, from, key, command)| by(person, newcomer(person, from), key, command))
}

fn entry() -> impl Strategy<Value = Entry> {
    let call = (0..PEOPLE, key(), command()).prop_map(|(person, key, command)| {
        by(person, Caller::Handle(secret(person, 1)), key, command)
    });
    prop_oneof![
        6 => registration(),
        20 => call,
        9 => (user(), implied()).prop_map(|(user, implied)| Entry::Implied { user, implied }),
        2 => operate().prop_map(|act| Entry::Operate { operator: "olga".into(), act }),
        1 => Just(Entry::Tick),
        1 => Just(Entry::Stepped),
        1 => Just(Entry::Resumed { config: Box::default(), version: "test".into(), continuity: Continuity::Whole }),
    ]
}

/// Entries that bring muted and banned participants back: names are few, and participants register,
/// unregister and are muted often.
fn coming_back() -> impl Strategy<Value = Entry> {
    let name = || select(vec!["Ann", "ANN", "Ben"]).prop_map(std::sync::Arc::from);
    let login = || {
        name().prop_map(|username| Command::Login {
            username,
            room: "lobby".into(),
        })
    };
    let new = prop_oneof![login(), take_break()];
    let known = prop_oneof![
        2 => login(),
        1 => Just(Command::Unregister),
        3 => Just(Command::TalkingStick { room: None, epoch: None }),
        // By the name that the server assigned, which stays assigned.
        1 => (1..9u64).prop_map(|number| Command::Login {
            username: UserId(number).to_string().into(),
            room: "lobby".into(),
        }),
        2 => (1..9u64).prop_map(|number| Command::ReportUser {
            user: UserId(number),
            reason: "why".into(),
        }),
    ];
    let act = (1..9u64, name(), 0..8u8).prop_map(|(number, name, act)| {
        let (user, reason) = (UserId(number), "why".into());
        match act {
            0 => Operate::BanUser { user, reason },
            1 => Operate::Unban { name },
            2 => Operate::Unmute { user },
            _ => Operate::Mute { user, reason },
        }
    });
    let newcomer = |one| newcomer(one, u64::from(one % 2));
    let known_as = |one| Caller::Handle(secret(one, 1));
    prop_oneof![
        3 => (0..PEOPLE, new).prop_map(move |(one, new)| by(one, newcomer(one), None, new)),
        3 => (0..PEOPLE, known).prop_map(move |(one, known)| by(one, known_as(one), None, known)),
        3 => act.prop_map(|act| Entry::Operate { operator: "olga".into(), act }),
        1 => entry(),
    ]
}

fn newcomer(person: u8, from: u64) -> Caller {
    Caller::New {
        handle: secret(person, 1),
        reader: secret(person, 2),
        from: Address(from),
    }
}

fn addressees() -> impl Strategy<Value = Addressees> {
    vec(user(), 0..3).prop_map(|users| users.into_iter().collect())
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        3 => login(),
        5 => enter(),
        1 => Just(Command::LeaveQueue),
        5 => (room(), text(), epoch(), addressees())
            .prop_map(|(room, text, epoch, to)| Command::SendMessage { room, text, epoch, to }),
        3 => (room(), text(), addressees())
            .prop_map(|(room, text, to)| Command::Speak { room, text, to }),
        2 => room().prop_map(|room| Command::LeaveChat { room }),
        7 => (room(), epoch()).prop_map(|(room, epoch)| Command::TalkingStick { room, epoch }),
        9 => (room(), text(), epoch())
            .prop_map(|(room, text, epoch)| Command::Append { room, text, epoch }),
        2 => (room(), epoch(), addressees())
            .prop_map(|(room, epoch, to)| Command::Push { room, epoch, to }),
        1 => (room(), epoch()).prop_map(|(room, epoch)| Command::Undo { room, epoch }),
        1 => (room(), epoch()).prop_map(|(room, epoch)| Command::Reset { room, epoch }),
        1 => room().prop_map(|room| Command::Typing { room }),
        1 => user().prop_map(|user| Command::BlockUser { user }),
        1 => user().prop_map(|user| Command::UnblockUser { user }),
        1 => (user(), text()).prop_map(|(user, reason)| Command::ReportUser { user, reason }),
        3 => take_break(),
        1 => Just(Command::Unregister),
    ]
}

fn take_break() -> impl Strategy<Value = Command> {
    let excuses = vec!["the cat", "two\nlines", "far too long"];
    let excuse = option::weighted(0.3, select(excuses));
    (select(BreakKind::ALL), excuse).prop_map(|(kind, excuse)| Command::TakeBreak {
        kind,
        excuse: excuse.map(Into::into),
    })
}

fn login() -> impl Strategy<Value = Command> {
    let room = prop_oneof![6 => Just("lobby"), 1 => select(vec!["Lobby", "den", ""])];
    (name(), room).prop_map(|(username, room)| Command::Login {
        username,
        room: room.into(),
    })
}

fn enter() -> impl Strategy<Value = Command> {
    let id = option::weighted(0.2, select(vec!["a", "b", "user_1"]));
    let interests = vec(select(vec!["rust", "Rust", "tea", "go"]), 0..4);
    let name = option::weighted(0.3, name());
    (id, name, interests).prop_map(|(id, display_name, interests)| {
        Command::EnterQueue(EnterQueue {
            user_id: id.map(Into::into),
            display_name,
            interests: interests.into_iter().map(Into::into).collect(),
        })
    })
}

fn name() -> impl Strategy<Value = std::sync::Arc<str>> {
    let others = vec!["Person 0", "person 1", "Ann", "Server", "user_2"];
    prop_oneof![6 => Just(OWN), 1 => select(others)].prop_map(Into::into)
}

fn by(person: u8, caller: Caller, key: Option<RequestKey>, mut command: Command) -> Entry {
    if let Command::Login { username: name, .. }
    | Command::EnterQueue(EnterQueue {
        display_name: Some(name),
        ..
    }) = &mut command
        && **name == *OWN
    {
        *name = format!("Person {person}").into();
    }
    Entry::Call {
        caller,
        key,
        command,
    }
}

fn text() -> impl Strategy<Value = std::sync::Arc<str>> {
    select(vec!["hi", "äöü", "hello", "too long", "", "\u{200b}"]).prop_map(Into::into)
}

fn key() -> impl Strategy<Value = Option<RequestKey>> {
    option::weighted(0.3, (0..5u128).prop_map(RequestKey))
}

fn room() -> impl Strategy<Value = Option<RoomId>> {
    option::weighted(0.4, (1..5u64).prop_map(RoomId))
}

fn user() -> impl Strategy<Value = UserId> {
    (1..7u64).prop_map(UserId)
}

fn epoch() -> impl Strategy<Value = Option<Epoch>> {
    option::weighted(0.2, (1..5u64).prop_map(Epoch))
}

fn implied() -> impl Strategy<Value = Implied> {
    let waiting = option::of((1..30u64).prop_map(Span::secs));
    prop_oneof![
        3 => Just(Implied::OpenStream),
        2 => Just(Implied::CloseStream),
        2 => waiting.prop_map(|waiting| Implied::Seen { waiting }),
        2 => (0..20u64, 0..20u64).prop_map(|(acknowledged, delivered)| Implied::Read {
            acknowledged: Seq(acknowledged),
            delivered: Seq(delivered),
        }),
    ]
}

fn operate() -> impl Strategy<Value = Operate> {
    let reason = || select(vec!["why", ""]).prop_map(std::sync::Arc::from);
    let room = || (1..6u64).prop_map(RoomId);
    let address = || (0..3u64).prop_map(Address);
    prop_oneof![
        (user(), reason()).prop_map(|(user, reason)| Operate::Mute { user, reason }),
        user().prop_map(|user| Operate::Unmute { user }),
        (user(), room(), reason()).prop_map(|(user, room, reason)| Operate::Kick {
            user,
            room,
            reason
        }),
        (room(), reason()).prop_map(|(room, reason)| Operate::Close { room, reason }),
        (user(), reason()).prop_map(|(user, reason)| Operate::BanUser { user, reason }),
        (address(), reason())
            .prop_map(|(address, reason)| Operate::MuteAddress { address, reason }),
        (address(), reason()).prop_map(|(address, reason)| Operate::BanAddress { address, reason }),
        name().prop_map(|name| Operate::Unban { name }),
        address().prop_map(|address| Operate::UnbanAddress { address }),
    ]
}
