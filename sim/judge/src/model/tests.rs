//! Test scripts for the complicated rules. `a`, `b`, … are handles; `user_1` is the first to
//! register.

mod breaks;
mod line;
mod moderation;
mod names;
mod restarts;

use chat_types::{
    Address, BreakKind, Config, Continuity, Epoch, LastNumbers, RoomSeq, Seq, Span, Time,
};
use std::sync::Arc;

use chat_types::config::{Limit, Matching};
use sim_model::protocol::{
    Addressees, Answer, Command, Decided, EnterQueue, LostRange, Membership, Reply, Room, User,
};
use sim_model::server::{Caller, Entry, Implied, Operate, RequestKey, SecretHash};

use super::{Deadline, Model, Numbered, Owed, PageLimits, State};

const DONE: Decided = Ok(Reply::Done);
/// The seed of the model's draws.
const SEED: u64 = 7;

/// A model, with helpers to write its journal.
struct Script {
    model: Model,
    /// The position of the latest entry.
    position: u64,
    key: Option<u128>,
}

fn secs(n: u64) -> Time {
    Time(n * 1_000_000)
}

fn resumed(config: Box<Config>) -> Entry {
    let continuity = Continuity::Whole;
    Entry::Resumed {
        config,
        version: Arc::default(),
        continuity,
    }
}

fn implied(user: u64, implied: Implied) -> Entry {
    let user = User(user);
    Entry::Implied { user, implied }
}

fn operated(act: Operate) -> Entry {
    Entry::Operate {
        operator: Arc::default(),
        act,
    }
}

fn hash(handle: char) -> SecretHash {
    SecretHash([handle as u8; 16])
}

fn text(text: &str) -> Arc<str> {
    text.into()
}

fn line(interests: &[&str]) -> Command {
    Command::EnterQueue(EnterQueue {
        user_id: None,
        display_name: None,
        interests: interests.iter().copied().map(text).collect(),
    })
}

fn login(username: &str) -> Command {
    login_to("lobby", username)
}

fn login_to(room: &str, username: &str) -> Command {
    Command::Login {
        username: text(username),
        room: text(room),
    }
}

fn enters(id: &str, name: Option<&str>) -> Command {
    Command::EnterQueue(EnterQueue {
        user_id: Some(id.into()),
        display_name: name.map(text),
        interests: [].into(),
    })
}

fn say(words: &str) -> Command {
    say_in(None, words)
}

fn say_in(room: Option<u64>, words: &str) -> Command {
    Command::SendMessage {
        room: room.map(Room),
        text: text(words),
        epoch: None,
        to: Addressees::ALL,
    }
}

fn mute(user: u64) -> Operate {
    Operate::Mute {
        user: User(user),
        reason: text("noise"),
    }
}

fn ban(user: u64) -> Operate {
    Operate::BanUser {
        user: User(user),
        reason: text("spam"),
    }
}

/// The partner in a match.
fn partner(decided: &Decided) -> User {
    match decided {
        Ok(Reply::Matched { partner, .. }) => partner.id,
        other => panic!("{other:?}"),
    }
}

const STICK: Command = Command::TalkingStick {
    room: None,
    epoch: None,
};
const LEAVE: Command = Command::LeaveChat { room: None };

fn rest() -> Command {
    Command::TakeBreak {
        kind: BreakKind::TakeABreak,
        excuse: None,
    }
}

impl Script {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            unused_timeout: Span::secs(100_000),
            idle_timeout: Span::secs(100_000),
            ..Config::default()
        };
        change(&mut config);
        let mut model = Model::new(&config);
        model.seed = SEED;
        Self {
            model,
            position: 0,
            key: None,
        }
    }

    fn entry(&mut self, at: u64, entry: &Entry) -> Owed {
        self.position += 1;
        self.model.commit(self.position, secs(at), entry)
    }

    fn owed(&mut self, at: u64, handle: char, command: Command) -> Owed {
        let handle = hash(handle);
        let caller = match self.model.user_of(handle) {
            Some(_) => Caller::Handle(handle),
            None => Caller::New {
                handle,
                reader: handle,
                from: Address(0),
            },
        };
        let entry = Entry::Call {
            caller,
            key: self.key.take().map(RequestKey),
            command,
        };
        self.entry(at, &entry)
    }

    fn call(&mut self, at: u64, handle: char, command: Command) -> Decided {
        self.owed(at, handle, command).outcome
    }

    /// Enters the queue as a participant whose handle is in use: only such ones are matched.
    fn enter(&mut self, at: u64, handle: char, interests: &[&str]) -> Decided {
        if self.model.user_of(hash(handle)).is_none() {
            self.call(at, handle, rest())?;
        }
        self.call(at, handle, line(interests))
    }

    fn refused(&mut self, at: u64, handle: char, command: Command) -> &'static str {
        self.call(at, handle, command)
            .map_or_else(|r| r.code, |_| "")
    }

    fn keyed(&mut self, at: u64, key: u128, handle: char, command: Command) -> Owed {
        self.key = Some(key);
        self.owed(at, handle, command)
    }

    /// The places of the messages that the first room shows a reader, and whether there are more.
    fn history(&self, user: u64, before: Option<u64>) -> (Vec<u64>, bool) {
        let (room, before) = (Some(Room(1)), before.map(RoomSeq));
        match self.model.history(User(user), room, before, 50) {
            Ok(Answer::History { messages, more, .. }) => {
                let seqs = messages.iter().map(|event| event.room_seq.0);
                (seqs.collect(), more)
            }
            other => panic!("{other:?}"),
        }
    }

    /// The kinds of the events of an inbox after a cursor.
    fn kinds(&self, user: u64, after: u64) -> Vec<&'static str> {
        let events = self.events(user, after).into_iter();
        events.map(|(_, _, kind)| kind).collect()
    }

    /// The participants in the queue, in the order of entering.
    fn line(&self) -> Vec<User> {
        let waiters = self.model.line.waiters.values();
        waiters.map(|waiter| waiter.user).collect()
    }

    /// The events of an inbox after a cursor: instant in seconds, room seq, kind.
    fn events(&self, user: u64, after: u64) -> Vec<(u64, u64, &'static str)> {
        let user = User(user);
        let page = self.model.inbox(user).unwrap().page(user, after, most(100));
        let events = page.events.iter();
        events
            .map(|(_, event)| (event.at.0 / 1_000_000, event.room_seq.0, event.kind()))
            .collect()
    }
}

/// Limits to this number of events, with texts of any length.
fn most(events: usize) -> PageLimits {
    PageLimits {
        events,
        bytes: usize::MAX,
    }
}

/// A room of two with four messages: three of three bytes each, and one of ten.
fn texts(config: impl FnOnce(&mut Config)) -> Script {
    let mut s = Script::new(config);
    s.enter(0, 'a', &[]).unwrap();
    s.enter(0, 'b', &[]).unwrap();
    for words in ["one", "\u{e9}x", "ten letters", "two"] {
        s.call(1, 'b', say(words)).unwrap();
    }
    s
}

#[test]
fn an_answer_is_limited_in_bytes_but_holds_one_text_of_any_length() {
    let s = texts(|config| config.max_answer_bytes = 6);
    let inbox = s.model.inbox(User(1)).unwrap();
    let page = |after| {
        let most = PageLimits {
            events: 9,
            bytes: 6,
        };
        let page = inbox.page(User(1), after, most);
        (page.events.len(), page.cursor.0, page.unread > 0)
    };
    assert_eq!(
        page(0),
        (3, 3, true),
        "a match, and two messages of three bytes"
    );
    assert_eq!(page(3), (1, 4, true), "one that is too long goes alone");
    assert_eq!(page(4), (1, 5, false));
    assert_eq!(s.history(1, None), (vec![5], true));
    assert_eq!(s.history(1, Some(5)), (vec![4], true));
    assert_eq!(s.history(1, Some(4)), (vec![2, 3], false));
}

#[test]
fn at_one_instant_a_holder_goes_away_before_its_lease_ends() {
    let mut s = Script::new(|c| {
        c.idle_timeout = Span::secs(120);
        c.unused_timeout = Span::secs(1_000);
    });
    s.call(0, 'a', login("ann")).unwrap();
    s.call(0, 'b', login("bob")).unwrap();
    s.call(10, 'a', STICK).unwrap();
    s.call(20, 'b', STICK).unwrap();
    assert_eq!(
        s.model.next_deadline(),
        Some((secs(130), Deadline::Presence(User(1))))
    );
    s.entry(135, &Entry::Tick);
    assert_eq!(
        s.events(2, 3),
        [
            (130, 5, "stick.released"),
            (130, 6, "stick.granted"),
            (130, 7, "user.away")
        ]
    );
    // A call at exactly the deadline: its caller first goes away, and then comes back.
    assert_eq!(s.call(140, 'b', Command::Typing { room: None }), DONE);
    assert_eq!(
        s.events(2, 6),
        [
            (140, 8, "stick.released"),
            (140, 9, "user.away"),
            (140, 10, "user.back")
        ]
    );
}

#[test]
fn one_late_entry_fires_a_chain_of_leases_each_at_its_own_instant() {
    let mut s = Script::new(|_| {});
    for (handle, name) in [('a', "ann"), ('b', "bob"), ('c', "cec")] {
        s.call(0, handle, login(name)).unwrap();
        s.call(0, handle, STICK).unwrap();
    }
    let seen = s.model.inbox_end(User(3));
    s.entry(1_000, &Entry::Tick);
    let events = s.events(3, seen).into_iter();
    assert_eq!(
        events.map(|(at, _, kind)| (at, kind)).collect::<Vec<_>>(),
        [
            (120, "stick.expired"),
            (120, "stick.granted"),
            (240, "stick.expired"),
            (240, "stick.granted"),
            (360, "stick.expired"),
        ]
    );
    assert_eq!(s.model.holder_of(Room(1)), None);
}

#[test]
fn a_push_at_exactly_the_end_of_the_lease_is_refused() {
    let mut s = Script::new(|_| {});
    s.call(0, 'a', login("ann")).unwrap();
    s.call(0, 'a', STICK).unwrap();
    let append = Command::Append {
        room: None,
        text: text("hello"),
        epoch: Some(Epoch(1)),
    };
    s.call(119, 'a', append).unwrap();
    let (room, epoch) = (None, None);
    let push = Command::Push {
        room,
        epoch,
        to: Addressees::ALL,
    };
    assert_eq!(s.refused(120, 'a', push.clone()), "stick_required");
    s.call(120, 'a', STICK).unwrap();
    // The draft outlives the stick.
    let pushed = s.call(121, 'a', push);
    assert!(matches!(
        pushed,
        Ok(Reply::Sent {
            room_seq: RoomSeq(5),
            ..
        })
    ));
    assert_eq!(s.model.holder_of(Room(1)), None);
}

#[test]
fn the_claim_line_shifts_and_a_grant_makes_no_claim() {
    let mut s = Script::new(|_| {});
    for (handle, name) in [('a', "ann"), ('b', "bob"), ('c', "cec"), ('d', "dan")] {
        s.call(0, handle, login(name)).unwrap();
    }
    let place = |s: &mut Script, handle| match s.call(1, handle, STICK) {
        Ok(Reply::Stick { place, epoch, .. }) => (place, epoch.0),
        other => panic!("{other:?}"),
    };
    let places: Vec<_> = ['a', 'b', 'c', 'd', 'a', 'c']
        .into_iter()
        .map(|handle| place(&mut s, handle))
        .collect();
    assert_eq!(places, [(0, 1), (1, 1), (2, 1), (3, 1), (0, 1), (2, 1)]);
    // A waiting claimant leaves the queue of claims without an event of the stick.
    let (room, epoch) = (None, None);
    s.call(2, 'b', Command::Reset { room, epoch }).unwrap();
    assert_eq!(place(&mut s, 'c'), (1, 1));
    // A muted holder releases the stick, and the next claimant gets it.
    s.entry(3, &operated(mute(1)));
    assert_eq!(place(&mut s, 'c'), (0, 2));
    assert_eq!(place(&mut s, 'd'), (1, 2));
    assert_eq!(s.refused(4, 'a', STICK), "muted");
    s.call(5, 'c', LEAVE).unwrap();
    let seen = s.model.inbox_end(User(4)) - 3;
    assert_eq!(
        s.kinds(4, seen),
        ["stick.released", "stick.granted", "user.left"]
    );
}

#[test]
fn a_key_gives_the_first_outcome_and_renews_presence() {
    let mut s = Script::new(|c| {
        (c.idle_timeout, c.queue_timeout) = (Span::secs(100), Span::secs(100));
        c.remembered_keys = 2;
    });
    let first = s.keyed(0, 1, 'a', line(&[]));
    assert_eq!(first.caller, Some(User(1)));
    let again = s.keyed(50, 1, 'a', line(&[]));
    assert_eq!(
        (again.outcome, again.repeated),
        (first.outcome.clone(), true)
    );
    assert_eq!(s.model.next_deadline().unwrap().0, secs(150));
    let other = s.keyed(51, 1, 'a', line(&["art"]));
    assert_eq!(other.outcome.unwrap_err().code, "request_key_reused");
    assert!(!other.repeated);
    // A refusal is remembered too, though by now the call would be accepted.
    let refused = s.keyed(52, 2, 'a', line(&[])).outcome;
    assert_eq!(refused.clone().unwrap_err().code, "already_waiting");
    s.call(53, 'a', Command::LeaveQueue).unwrap();
    assert_eq!(s.keyed(54, 2, 'a', line(&[])).outcome, refused);
    // A third key removes the oldest: its call is decided again.
    s.keyed(55, 3, 'a', Command::LeaveQueue);
    assert_eq!(s.keyed(56, 1, 'a', line(&[])).outcome, first.outcome);
    assert_eq!(s.line(), [User(1)]);
    // A refused registration is remembered by no participant.
    let nobody = s.keyed(57, 9, 'b', LEAVE);
    assert_eq!(nobody.outcome.unwrap_err().code, "handle_required");
    assert_eq!(nobody.caller, None);
    assert!(s.keyed(58, 9, 'b', login("bob")).outcome.is_ok());
    // An unregistered participant remembers nothing. // 9.4
    let repeated = |s: &Script| s.model.repeat(User(2), RequestKey(9), &login("bob"));
    assert!(repeated(&s).is_some());
    s.call(59, 'b', Command::Unregister).unwrap();
    assert_eq!(repeated(&s), None);
}

#[test]
fn a_gap_names_the_rooms_in_the_order_of_their_first_loss() {
    let mut s = Script::new(|c| {
        c.inbox_limit = 2;
        c.stick = chat_types::config::StickRule::Optional;
    });
    s.call(0, 'a', login("ann")).unwrap();
    s.call(0, 'b', login("bob")).unwrap();
    s.enter(0, 'a', &[]).unwrap();
    s.enter(0, 'b', &[]).unwrap();
    // Joined, joined, found: the first event is lost. Then a message in each room: two more are
    // lost.
    s.call(1, 'b', say_in(Some(1), "one")).unwrap();
    s.call(2, 'b', say_in(Some(2), "two")).unwrap();
    s.call(3, 'b', say_in(Some(1), "three")).unwrap();
    let inbox = s.model.inbox(User(1)).unwrap();
    let page = inbox.page(User(1), 1, most(1));
    let gap = &page.gaps[0];
    assert_eq!((gap.from.0, gap.to.0), (2, 4));
    // Her own joining is before the gap; another member's, and a message, are in it.
    let lobby = LostRange {
        room: Room(1),
        from: RoomSeq(1),
        to: RoomSeq(3),
        messages: 1,
        members_changed: true,
        ..LostRange::default()
    };
    let pair = LostRange {
        room: Room(2),
        from: RoomSeq(1),
        to: RoomSeq(1),
        you: Some(Membership::Matched),
        ..LostRange::default()
    };
    assert_eq!(gap.rooms, [lobby, pair]);
    assert_eq!((page.cursor.0, page.unread > 0), (5, true));
    // A room leaves the ranges when its last event there is acknowledged.
    let read = |acknowledged| {
        let (acknowledged, delivered) = (Seq(acknowledged), Seq(9));
        let read = Implied::Read {
            acknowledged,
            delivered,
        };
        implied(1, read)
    };
    s.entry(4, &read(3));
    let inbox = s.model.inbox(User(1)).unwrap();
    assert_eq!(inbox.page(User(1), 1, most(1)).gaps[0].rooms, [lobby]);
    s.entry(4, &read(5));
    let inbox = s.model.inbox(User(1)).unwrap();
    assert_eq!((inbox.delivered, inbox.end), (6, 6));
    assert_eq!(inbox.page(User(1), 0, most(9)).gaps[0].rooms, []);
}

#[test]
fn the_last_turn_ends_a_pair_room_and_it_is_remembered_for_a_while() {
    let mut s = Script::new(|c| {
        c.turn_limit = Limit::At(2);
        c.max_ended_rooms = 1;
    });
    s.enter(0, 'a', &[]).unwrap();
    s.enter(0, 'b', &[]).unwrap();
    let mut grown = vec![User(9)];
    s.model.take_grown(&mut grown);
    assert_eq!(grown, [User(1), User(2)]);
    s.model.take_grown(&mut grown);
    assert_eq!(grown, []);
    let left = |outcome| match outcome {
        Ok(Reply::Sent { turns_left, .. }) => turns_left,
        other => panic!("{other:?}"),
    };
    assert_eq!(left(s.call(1, 'a', say("one"))), Some(1));
    assert_eq!(left(s.call(2, 'b', say("two"))), Some(0));
    assert_eq!(
        s.events(2, 1),
        [(1, 2, "message.received"), (2, 4, "partner.disconnected")]
    );
    assert_eq!(s.refused(3, 'a', say("three")), "chat_ended");
    assert_eq!(s.refused(3, 'c', LEAVE), "handle_required");
    // A second ended room makes both participants forget the first, which is then removed.
    s.enter(4, 'a', &[]).unwrap();
    s.enter(4, 'b', &[]).unwrap();
    s.call(5, 'b', LEAVE).unwrap();
    assert!(s.model.rooms.get(1).is_none());
    let refused = s.refused(6, 'a', say_in(Some(1), "four"));
    assert_eq!(refused, "room_not_found");
    assert_eq!(s.events(2, 3), [(4, 1, "chatroom.found")]);
}
