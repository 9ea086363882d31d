//! Hand-written histories: who calls, what is answered, who receives what; and what a witness may
//! conclude from that.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Config, Span, Time};
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::history::{Observer as _, Path, Record, What};
use sim_model::names::PROPERTIES;
use sim_model::plan::{Capacity, Client, Network, Plan, Schedule, Workload};
use sim_model::protocol::{
    Agent, Answer, CallId, Earlier, EndReason, LostRange, Op, Outcome, Presence, ReadBy, Refusal,
    Room, Saw, Shown, StickChange, User,
};
use sim_model::recipe::Recipe;

use crate::{Judge, Judgement};

const ANN: User = User(1);
const BEN: User = User(2);
const CAT: User = User(3);
/// A participant whose client is not observed.
const STRANGER: User = User(9);
const PAIR: Room = Room(1);
const NEXT: Room = Room(2);
const LOBBY: Room = Room(7);

fn plan() -> Plan {
    let none = Arc::new(Quantiles::new(Shape::Fixed(0)));
    Plan {
        name: "story".into(),
        about: String::new(),
        seed: 1,
        duration: Span::secs(60),
        liveness: Span::secs(60),
        server: Config::default(),
        capacity: Capacity {
            service: none.clone(),
            commit: none.clone(),
            queue: 4_096,
        },
        client: Client {
            timeout: Span::millis(500),
            backoff: 2,
            max: Span::secs(8),
            attempts: 8,
        },
        workload: Workload::Steps {
            users: Vec::new(),
            steps: Vec::new(),
        },
        network: Network {
            latency: none,
            loss: Ratio::NEVER,
            duplicate: Ratio::NEVER,
            stream_break: Ratio::NEVER,
        },
        schedule: Schedule::Plain,
        recipe: Recipe::default(),
        allow_stuck: Ratio::NEVER,
        faults: Vec::new(),
        properties: PROPERTIES.to_vec(),
        expect_sometimes: Vec::new(),
        thresholds: Vec::new(),
    }
}

/// One history. Each record is a millisecond after the one before.
struct Story {
    judge: Judge,
    now: Time,
    calls: u32,
    inboxes: BTreeMap<User, u64>,
}

impl Story {
    fn new() -> Self {
        Self {
            judge: Judge::live(&plan()),
            now: Time(1_000_000),
            calls: 0,
            inboxes: BTreeMap::new(),
        }
    }

    /// Ann and Ben find each other.
    fn of_a_pair() -> Self {
        let mut story = Self::new();
        story.finds(PAIR, ANN, BEN);
        story.finds(PAIR, BEN, ANN);
        story
    }

    /// Ann, Ben and Cat join the lobby: its events 1 to 3.
    fn in_the_lobby() -> Self {
        let mut story = Self::new();
        for (place, user) in [(1, ANN), (2, BEN), (3, CAT)] {
            for there in [ANN, BEN, CAT].into_iter().take(place) {
                let change = Presence::Joined;
                story.sees(there, member(place as u64, user, change));
            }
        }
        story
    }

    fn record(&mut self, user: User, what: What<'_>) {
        self.now += Span::millis(1);
        self.judge.observe(&Record {
            at: self.now,
            agent: Agent(user.0),
            user: Some(user),
            what,
        });
    }

    /// The next event of the inbox arrives, on the stream.
    fn sees(&mut self, user: User, saw: Saw<'_>) {
        let seq = self.inboxes.get(&user).copied().unwrap_or(0) + 1;
        self.sees_at(user, seq, saw);
    }

    fn sees_at(&mut self, user: User, seq: u64, saw: Saw<'_>) {
        self.sees_of(user, seq, Time(500), saw);
    }

    fn sees_of(&mut self, user: User, seq: u64, sent_at: Time, saw: Saw<'_>) {
        self.inboxes.insert(user, seq);
        let (saw, path, first) = (&saw, Path::Stream, true);
        self.record(
            user,
            What::Received {
                seq,
                sent_at,
                saw,
                path,
                first,
            },
        );
    }

    fn all_see(&mut self, users: &[User], saw: Saw<'_>) {
        for user in users {
            self.sees(*user, saw);
        }
    }

    fn finds(&mut self, room: Room, user: User, partner: User) {
        self.sees(
            user,
            Saw::Found {
                shown: Shown::NAMELESS,
                room,
                room_seq: 1,
                partner,
            },
        );
    }

    fn calls(&mut self, user: User, op: &Op) -> (CallId, Time) {
        let (call, intended) = (CallId(self.calls), self.now);
        self.calls += 1;
        self.record(
            user,
            What::Called {
                call,
                op,
                intended,
                keyed: true,
            },
        );
        (call, self.now)
    }

    fn asks(&mut self, user: User, op: &Op, outcome: Outcome) {
        let (call, called_at) = self.calls(user, op);
        let (intended, outcome) = (called_at, &outcome);
        self.record(
            user,
            What::Answered {
                call,
                op,
                called_at,
                intended,
                outcome,
            },
        );
    }

    fn sends(&mut self, user: User, text: &str, (room, room_seq): (Room, u64)) {
        self.asks(user, &send(room, text), sent(room, room_seq));
    }

    /// An exact check behind `after` ends at `cursor`, with nothing behind it.
    fn reads(&mut self, user: User, after: u64, cursor: u64) {
        let op = Op::Check {
            by: ReadBy::Handle,
            after: Some(after),
            wait: Span::ZERO,
        };
        self.asks(
            user,
            &op,
            Ok(Answer::Read {
                unread: 0,
                notices: [].into(),
                cursor,
                more: false,
            }),
        );
    }

    fn ends(self) -> Judgement {
        let now = self.now;
        self.judge.finish(now)
    }

    /// The run breaks this property, and no other.
    #[track_caller]
    fn breaks(self, property: &str) {
        let judged = self.ends();
        let broken = judged.violations.iter().map(|one| one.property.as_str());
        assert_eq!(
            broken.collect::<Vec<_>>(),
            [property],
            "{:?}",
            judged.violations
        );
    }

    /// The run breaks nothing, and this much of the property is judged and not judged.
    #[track_caller]
    fn keeps(self, property: &str, (checks, unjudged): (u64, u64)) {
        let judged = self.ends();
        assert_eq!(judged.violations, []);
        let result = judged.properties[property];
        assert_eq!((result.checks, result.unjudged), (checks, unjudged));
        assert_eq!(result.held, (checks > 0).then_some(true));
    }
}

fn send(room: Room, text: &str) -> Op {
    Op::Send {
        room: Some(room),
        text: text.into(),
        epoch: None,
    }
}

fn sent(room: Room, room_seq: u64) -> Outcome {
    Ok(Answer::Sent {
        room,
        room_seq,
        at: Time(0),
        turns_left: None,
    })
}

fn message(room: Room, room_seq: u64, sender: User, text: &str) -> Saw<'_> {
    Saw::Message {
        shown: Shown::NAMELESS,
        room,
        room_seq,
        sender,
        text,
        epoch: None,
    }
}

fn speech(room_seq: u64, sender: User, text: &str, epoch: u64) -> Saw<'_> {
    Saw::Message {
        shown: Shown::NAMELESS,
        room: LOBBY,
        room_seq,
        sender,
        text,
        epoch: Some(epoch),
    }
}

fn member(room_seq: u64, user: User, change: Presence) -> Saw<'static> {
    Saw::Member {
        shown: Shown::NAMELESS,
        room: LOBBY,
        room_seq,
        user,
        change,
    }
}

fn stick(room_seq: u64, user: User, change: StickChange) -> Saw<'static> {
    Saw::Stick {
        shown: Shown::NAMELESS,
        room: LOBBY,
        room_seq,
        user,
        change,
    }
}

const fn granted(epoch: u64) -> StickChange {
    StickChange::Granted {
        epoch,
        lease: Span::secs(4),
    }
}

const ALL: [User; 3] = [ANN, BEN, CAT];

#[test]
fn a_message_that_arrives_is_judged_and_one_that_may_come_is_not() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sends(ANN, "two", (PAIR, 3));
    story.calls(ANN, &send(PAIR, "three"));
    story.keeps("no_lost_messages", (1, 2));
}

#[test]
fn a_message_is_lost_when_its_reader_read_to_the_end() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.reads(BEN, 1, 1);
    story.breaks("no_lost_messages");
}

#[test]
fn a_message_is_lost_when_its_reader_received_a_later_event() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sends(ANN, "two", (PAIR, 3));
    story.sees(BEN, message(PAIR, 3, ANN, "two"));
    story.breaks("no_lost_messages");
}

#[test]
fn what_a_gap_or_a_block_may_hide_is_not_judged() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    let rooms = &[LostRange {
        room: PAIR,
        from: 2,
        to: 2,
        ..LostRange::default()
    }];
    story.sees(
        BEN,
        Saw::Gap {
            from: 2,
            to: 2,
            lost: 1,
            rooms,
        },
    );
    story.reads(BEN, 2, 2);
    story.keeps("no_lost_messages", (1, 1));

    let mut story = Story::in_the_lobby();
    story.calls(BEN, &Op::Block { user: ANN });
    story.sends(ANN, "one", (LOBBY, 4));
    story.sees(CAT, message(LOBBY, 4, ANN, "one"));
    story.reads(BEN, 2, 2);
    story.keeps("no_lost_messages", (2, 1));
}

#[test]
fn who_left_is_owed_nothing() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, member(4, CAT, Presence::Left));
    story.sends(ANN, "one", (LOBBY, 5));
    story.sees(BEN, message(LOBBY, 5, ANN, "one"));
    story.reads(CAT, 2, 2);
    story.keeps("no_lost_messages", (2, 0));
}

#[test]
fn a_page_that_skips_a_place_lost_it() {
    let mut story = Story::of_a_pair();
    story.reads(BEN, 1, 2);
    story.breaks("no_lost_messages");
}

#[test]
fn one_event_at_two_places_is_a_duplicate() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.breaks("no_duplicates");
}

#[test]
fn one_keyed_call_at_two_places_is_a_duplicate() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sees(BEN, message(PAIR, 3, ANN, "one"));
    story.breaks("no_duplicates");
}

#[test]
fn a_redelivery_is_none_unless_it_shows_something_else() {
    let mut story = Story::of_a_pair();
    story.sees_at(
        BEN,
        1,
        Saw::Found {
            shown: Shown::NAMELESS,
            room: PAIR,
            room_seq: 1,
            partner: ANN,
        },
    );
    story.keeps("no_duplicates", (1, 0));

    let mut story = Story::in_the_lobby();
    story.sees_at(CAT, 1, member(2, BEN, Presence::Joined));
    story.breaks("no_duplicates");
}

#[test]
fn two_calls_with_one_text_may_stand_at_two_places() {
    let mut story = Story::of_a_pair();
    for place in [2, 3] {
        story.sends(ANN, "hi", (PAIR, place));
        story.sees(BEN, message(PAIR, place, ANN, "hi"));
    }
    // Places of the inbox that ascend are no duplicates either.
    story.keeps("no_duplicates", (2, 1));
}

#[test]
fn places_of_a_room_ascend_and_are_the_same_for_all() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sends(ANN, "two", (PAIR, 3));
    story.sees(BEN, message(PAIR, 3, ANN, "two"));
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.breaks("room_order");

    let mut story = Story::in_the_lobby();
    story.sees(ANN, member(4, BEN, Presence::Away));
    story.sees(CAT, member(4, BEN, Presence::Left));
    story.breaks("room_order");

    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sends(ANN, "two", (PAIR, 3));
    story.sees(BEN, message(PAIR, 2, ANN, "two"));
    story.breaks("room_order");
}

#[test]
fn timestamps_go_back_only_where_the_server_gives_none() {
    let told = |given: bool| {
        let mut story = Story::in_the_lobby();
        for (place, sent_at) in [(4, Time(700)), (5, Time(600))] {
            let sent_at = if given {
                sent_at
            } else {
                story.now + Span::millis(1)
            };
            let saw = member(place, BEN, Presence::Away);
            story.sees_of(ANN, place, sent_at, saw);
        }
        story
    };
    told(true).breaks("room_order");
    assert_eq!(told(false).ends().violations, []);
}

#[test]
fn a_message_that_no_call_says_is_a_phantom() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(BEN, message(PAIR, 2, ANN, "won"));
    story.breaks("no_phantoms");

    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    story.sees(ANN, message(PAIR, 2, ANN, "one"));
    story.breaks("no_phantoms");
}

#[test]
fn a_message_that_was_refused_is_a_phantom_unless_an_attempt_may_have_passed() {
    let told = |code| {
        let mut story = Story::of_a_pair();
        let refusal = Refusal {
            code,
            retry_after: None,
            earlier: Earlier::Unsaid,
        };
        story.asks(ANN, &send(PAIR, "one"), Err(refusal));
        story.sees(BEN, message(PAIR, 2, ANN, "one"));
        story
    };
    told("muted").breaks("no_phantoms");
    told("overloaded").keeps("no_phantoms", (1, 0));
}

#[test]
fn nobody_knows_what_strangers_and_drafts_say() {
    let mut story = Story::of_a_pair();
    story.calls(
        ANN,
        &Op::Push {
            room: None,
            epoch: None,
        },
    );
    story.sees(BEN, message(PAIR, 2, ANN, "one"));
    story.sees(ANN, message(NEXT, 2, STRANGER, "two"));
    story.keeps("no_phantoms", (0, 2));
}

#[test]
fn the_stick_passes_from_holder_to_holder() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(1)));
    story.all_see(&ALL, stick(5, BEN, StickChange::Claimed { place: 1 }));
    story.all_see(&ALL, stick(6, CAT, StickChange::Claimed { place: 2 }));
    story.sends(ANN, "one", (LOBBY, 7));
    story.all_see(&[BEN, CAT], speech(7, ANN, "one", 1));
    story.all_see(&ALL, stick(8, ANN, StickChange::Released { epoch: 1 }));
    story.all_see(&ALL, stick(9, BEN, granted(2)));
    story.keeps("stick_exclusion", (4, 0));
}

#[test]
fn a_grant_is_the_next_and_its_holder_the_only_one() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(2)));
    story.breaks("stick_exclusion");

    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(1)));
    story.all_see(&ALL, stick(5, BEN, granted(2)));
    story.breaks("stick_exclusion");

    // One place is not known: the grant between may have stood there.
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(5, ANN, granted(2)));
    story.keeps("stick_exclusion", (1, 0));
}

#[test]
fn speech_shows_the_grant_of_its_speaker() {
    for epoch in [1, 3] {
        let mut story = Story::in_the_lobby();
        story.all_see(&ALL, stick(4, ANN, granted(1)));
        let speaker = if epoch == 1 { CAT } else { ANN };
        story.sends(speaker, "one", (LOBBY, 5));
        story.sees(BEN, speech(5, speaker, "one", epoch));
        story.breaks("stick_exclusion");
    }
}

#[test]
fn a_push_releases() {
    let mut story = Story::in_the_lobby();
    story.all_see(&ALL, stick(4, ANN, granted(1)));
    story.asks(
        ANN,
        &Op::Push {
            room: None,
            epoch: None,
        },
        sent(LOBBY, 5),
    );
    story.all_see(&[BEN, CAT], speech(5, ANN, "one", 1));
    story.all_see(&ALL, member(6, BEN, Presence::Away));
    story.breaks("stick_exclusion");
}

#[test]
fn no_claim_is_passed_over_unless_it_may_be_withdrawn() {
    let told = |resets: &[User]| {
        let mut story = Story::in_the_lobby();
        story.all_see(&ALL, stick(4, ANN, granted(1)));
        story.all_see(&ALL, stick(5, BEN, StickChange::Claimed { place: 1 }));
        story.all_see(&ALL, stick(6, CAT, StickChange::Claimed { place: 2 }));
        for user in resets {
            story.calls(*user, &Op::Reset { room: None });
        }
        story.all_see(&ALL, stick(7, ANN, StickChange::Expired { epoch: 1 }));
        story.all_see(&ALL, stick(8, CAT, granted(2)));
        story
    };
    told(&[]).breaks("stick_order");
    told(&[BEN]).keeps("stick_order", (2, 1));
}

#[test]
fn a_pair_is_two_who_are_in_no_other() {
    let mut story = Story::new();
    story.finds(PAIR, ANN, ANN);
    story.breaks("single_match");

    let mut story = Story::of_a_pair();
    story.finds(PAIR, CAT, ANN);
    story.breaks("single_match");

    let mut story = Story::of_a_pair();
    story.finds(NEXT, ANN, CAT);
    story.breaks("single_match");

    let mut story = Story::of_a_pair();
    story.calls(ANN, &Op::LeaveChat { room: Some(PAIR) });
    story.finds(NEXT, ANN, CAT);
    story.keeps("single_match", (3, 1));
}

#[test]
fn nothing_comes_after_the_end() {
    let mut story = Story::of_a_pair();
    let (room, reason) = (PAIR, EndReason::Left);
    story.sees(
        BEN,
        Saw::Ended {
            room,
            room_seq: 2,
            reason,
        },
    );
    story.sends(ANN, "one", (PAIR, 3));
    story.breaks("room_lifecycle");
}

#[test]
fn figures_have_bounds() {
    for (stress, boss_alert) in [(101, 0), (0, 6)] {
        let mut story = Story::new();
        story.asks(ANN, &Op::Mood, Ok(Answer::Mood { stress, boss_alert }));
        story.breaks("breaks_rules");
    }
    let mut story = Story::new();
    story.asks(
        ANN,
        &Op::Mood,
        Ok(Answer::Mood {
            stress: 100,
            boss_alert: 5,
        }),
    );
    story.keeps("breaks_rules", (1, 0));
}

#[test]
fn what_only_the_server_knows_is_counted_and_not_judged() {
    let mut story = Story::of_a_pair();
    story.sends(ANN, "one", (PAIR, 2));
    let judged = story.ends();
    for (property, unjudged) in [("fifo_matching", 1), ("outcomes", 1), ("durability", 0)] {
        let result = judged.properties[property];
        assert_eq!(
            (result.held, result.unjudged),
            (None, unjudged),
            "{property}"
        );
    }
}

#[test]
fn numbers_without_sense_do_no_harm() {
    let mut story = Story::of_a_pair();
    let rooms = &[];
    story.sees_at(
        BEN,
        u64::MAX,
        Saw::Gap {
            from: 2,
            to: u64::MAX,
            lost: 0,
            rooms,
        },
    );
    story.sees_at(ANN, u64::MAX, stick(u64::MAX, ANN, granted(u64::MAX)));
    story.sees_at(ANN, 0, stick(0, ANN, granted(0)));
    story.reads(BEN, u64::MAX, u64::MAX);
    assert!(!story.ends().violations.is_empty());
}
