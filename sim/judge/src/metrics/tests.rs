use std::sync::Arc;

use super::open::OpenClaim;
use super::*;
use chat_types::{Epoch, RoomSeq, Span};
use sim_model::history::RequestKey;
use sim_model::protocol::{Addressees, Body, Command, EnterQueue, Event, Read, Refusal, User, Who};

const ANN: Agent = Agent(0);
const BOB: Agent = Agent(1);
const LOBBY: Room = Room(1);

/// A second of the test's history.
fn second(n: u64) -> Time {
    Time(n * 1_000_000)
}

/// Client 0 is user 10, and so on.
fn tell(metrics: &mut Metrics, at: u64, agent: Agent, what: ClientEvent<'_>) {
    metrics.observe(RunEvent::Client(&Record {
        at: second(at),
        agent,
        name: "",
        user: Some(User(u64::from(agent.0) + 10)),
        what,
    }));
}

pub(crate) fn called(call: u32, op: &Op, intended: Time) -> ClientEvent<'_> {
    ClientEvent::Called {
        call: CallId(call),
        op,
        intended,
        key: RequestKey::Own,
    }
}

fn call(metrics: &mut Metrics, at: u64, agent: Agent, op: &Op) {
    tell(metrics, at, agent, called(0, op, second(at)));
}

fn answer(metrics: &mut Metrics, at: u64, agent: Agent, op: &Op, outcome: &Outcome) {
    tell(metrics, at, agent, answered(0, op, second(at), outcome));
}

/// The answer to a call of this instant.
pub(crate) fn answered<'a>(
    call: u32,
    op: &'a Op,
    intended: Time,
    outcome: &'a Outcome,
) -> ClientEvent<'a> {
    ClientEvent::Answered {
        call: CallId(call),
        op,
        called_at: intended,
        intended,
        outcome,
    }
}

fn event(body: Body) -> Event {
    Event {
        room: LOBBY,
        room_seq: RoomSeq(9),
        at: Time(0),
        body,
    }
}

fn see(metrics: &mut Metrics, at: u64, agent: Agent, event: &Event) {
    let what = ClientEvent::Received {
        seq: at,
        sent_at: second(at),
        event: event.into(),
        path: DeliveryPath::Stream,
        first: true,
    };
    tell(metrics, at, agent, what);
}

fn end(metrics: &mut Metrics, at: u64) {
    metrics.observe_world(second(at), &WorldRecord::Ended);
}

fn enter() -> Op {
    Op::Command(Command::EnterQueue(EnterQueue {
        user_id: None,
        display_name: Some(Arc::from("ann")),
        interests: Arc::default(),
    }))
}

fn claim() -> Op {
    claim_in(Some(LOBBY))
}

fn claim_in(room: Option<Room>) -> Op {
    let epoch = None;
    Op::Command(Command::TalkingStick { room, epoch })
}

/// The answer to a claim.
fn placed(room: Room, place: u32, epoch: u64) -> Outcome {
    Ok(Response::Done(Reply::Stick {
        room,
        place,
        epoch: Epoch(epoch),
        holder: User(10),
        lease_until: second(60),
    }))
}

fn send() -> Op {
    Op::Command(Command::SendMessage {
        room: None,
        text: "hello".into(),
        epoch: None,
        to: Addressees::ALL,
    })
}

fn reset() -> Op {
    Op::Command(Command::Reset {
        room: None,
        epoch: None,
    })
}

#[test]
fn an_open_wait_counts_with_its_length_so_far() {
    let mut metrics = Metrics::default();
    for agent in 0..4 {
        call(&mut metrics, 1, Agent(agent), &enter());
    }
    let found = event(Body::Found([10, 11].map(|id| Who::unnamed(User(id)))));
    see(&mut metrics, 3, ANN, &found);
    see(&mut metrics, 3, BOB, &found);
    let left = Ok(Response::Done(Reply::LeftQueue {
        left: WasWaiting::Yes,
    }));
    let leave = Op::Command(Command::LeaveQueue);
    answer(&mut metrics, 5, Agent(3), &leave, &left);
    end(&mut metrics, 31);
    let waits = metrics.results().0["queue_wait"];
    assert_eq!((waits.count, waits.unfinished), (3, 1), "not who left");
    assert!((waits.max.unwrap() - 30_000.0).abs() < 1e-6, "{waits:?}");
    assert!(
        (30_000.0..30_400.0).contains(&waits.p99.unwrap()),
        "{waits:?}"
    );
    let mean = (2_000.0 + 2_000.0 + 30_000.0) / 3.0;
    assert!((waits.mean.unwrap() - mean).abs() < 1.0, "{waits:?}");
    let mut twice = metrics.clone();
    twice.merge(&metrics);
    let waits = twice.results().0["queue_wait"];
    assert_eq!((waits.count, waits.unfinished), (6, 2));
}

/// Bob reads Ann's message at once, Cat before Ann has her answer, Dan ten seconds later.
#[test]
fn each_reader_of_a_message_counts_the_first_one_apart() {
    const CAT: Agent = Agent(2);
    const DAN: Agent = Agent(3);
    let send = send();
    let message = event(Body::Message {
        sender: Who::unnamed(User(10)),
        text: Arc::from("hello"),
        epoch: None,
        to: [].into(),
    });
    let mut metrics = Metrics::default();
    call(&mut metrics, 1, ANN, &send);
    see(&mut metrics, 2, BOB, &message);
    see(&mut metrics, 4, CAT, &message);
    let sent = Ok(Response::Done(Reply::Sent {
        room: LOBBY,
        room_seq: RoomSeq(9),
        at: Time(0),
        turns_left: None,
    }));
    tell(&mut metrics, 5, ANN, answered(0, &send, second(1), &sent));
    see(&mut metrics, 12, DAN, &message);
    let (results, _) = metrics.results();
    let of = |metric: &str| (results[metric].count, results[metric].max.unwrap());
    assert_eq!(of("message_latency"), (1, 1_000.0));
    assert_eq!(of("later_latency"), (2, 11_000.0));
}

/// The answer of a break is held; a break that is never answered counts with the length reached.
#[test]
fn a_break_counts_with_the_time_for_which_its_answer_is_held() {
    let rest = Op::Command(Command::TakeBreak {
        kind: chat_types::BreakKind::TakeABreak,
        excuse: None,
    });
    let mut metrics = Metrics::default();
    call(&mut metrics, 1, ANN, &rest);
    call(&mut metrics, 1, BOB, &rest);
    let done = Ok(Response::Done(Reply::Done));
    tell(&mut metrics, 6, ANN, answered(0, &rest, second(1), &done));
    end(&mut metrics, 60);
    let (results, _) = metrics.results();
    let waits = results["break_wait"];
    assert_eq!((waits.count, waits.unfinished), (2, 1));
    assert!((waits.max.unwrap() - 59_000.0).abs() < 1e-6, "{waits:?}");
    assert_eq!(results["request_latency"].count, 0);
}

/// Four that are no participants want in: one gets in at the second try, one gives up, one waits
/// until the end, and one only looks.
#[test]
fn who_waits_at_the_door_counts_from_its_first_try() {
    let stranger = |metrics: &mut Metrics, at: u64, agent: u32, what: ClientEvent<'_>| {
        metrics.observe(RunEvent::Client(&Record {
            at: second(at),
            agent: Agent(agent),
            name: "",
            user: None,
            what,
        }));
    };
    let tries = |metrics: &mut Metrics, at: u64, agent: u32, op: &Op| {
        stranger(metrics, at, agent, called(0, op, second(at)));
    };
    let mut metrics = Metrics::default();
    for agent in 0..3 {
        tries(&mut metrics, 1, agent, &enter());
    }
    tries(&mut metrics, 1, 3, &Op::by_handle(Read::Mood));
    let refused = Err(Refusal::of(Code::ServerFull));
    stranger(
        &mut metrics,
        2,
        0,
        answered(0, &enter(), second(1), &refused),
    );
    tries(&mut metrics, 5, 0, &enter());
    let done = Ok(Response::Done(Reply::Done));
    answer(&mut metrics, 8, ANN, &enter(), &done);
    stranger(&mut metrics, 9, 1, ClientEvent::Vanished);
    end(&mut metrics, 31);
    let waits = metrics.results().0["admission_wait"];
    assert_eq!((waits.count, waits.unfinished, waits.unserved), (2, 1, 1));
    assert!((waits.max.unwrap() - 30_000.0).abs() < 1e-6, "{waits:?}");
    assert!((waits.mean.unwrap() - 18_500.0).abs() < 1e-6, "{waits:?}");
}

/// Ann claims the stick; then her claim ends in another way, or stays open.
#[test]
fn a_withdrawn_claim_is_not_counted_as_a_wait() {
    type Then = fn(&mut Metrics);
    let back = |metrics: &mut Metrics| {
        see(metrics, 3, ANN, &event(Body::Back(Who::unnamed(User(10)))));
    };
    let cases: [(&str, Then, u64); 6] = [
        ("nothing", |_| {}, 1),
        ("vanished", |m| tell(m, 3, ANN, ClientEvent::Vanished), 0),
        (
            "forgot",
            |m| tell(m, 3, ANN, ClientEvent::Forgot { returns: false }),
            0,
        ),
        ("reset", |m| call(m, 3, ANN, &reset()), 0),
        (
            "left",
            |m| call(m, 3, ANN, &Op::Command(Command::LeaveChat { room: None })),
            0,
        ),
        (
            "closed",
            |m| {
                let reason = "".into();
                see(m, 3, ANN, &event(Body::Closed { reason }));
            },
            0,
        ),
    ];
    for (what, then, unfinished) in cases {
        let mut metrics = Metrics::default();
        call(&mut metrics, 1, ANN, &claim());
        then(&mut metrics);
        end(&mut metrics, 9);
        let waits = metrics.results().0["stick_wait"];
        assert_eq!(waits.unfinished, unfinished, "{what}");
        assert_eq!(waits.count, unfinished, "{what}");
    }
    let mut metrics = Metrics::default();
    call(&mut metrics, 1, ANN, &claim());
    back(&mut metrics);
    assert_eq!(metrics.awaited_claim(0), None, "being away ends a claim");
    call(&mut metrics, 4, ANN, &claim());
    let open = Some(OpenClaim {
        room: LOBBY,
        since: second(4),
        holder: None,
    });
    assert_eq!(metrics.awaited_claim(0), open, "claimed again");
}

/// A claim that names no room is of the room in its answer, unless it was granted meanwhile.
#[test]
fn a_claim_without_a_room_is_counted_once_its_answer_names_it() {
    let unnamed = claim_in(None);
    let granted = |epoch| {
        event(Body::StickGranted {
            user: Who::unnamed(User(10)),
            epoch: Epoch(epoch),
            lease: Span::secs(60),
        })
    };
    let mut metrics = Metrics::default();
    call(&mut metrics, 1, ANN, &unnamed);
    answer(&mut metrics, 2, ANN, &unnamed, &placed(LOBBY, 1, 4));
    see(&mut metrics, 5, ANN, &granted(5));
    let wait = metrics.results().0["stick_wait"];
    assert_eq!(wait.count, 1);
    assert!((wait.max.unwrap() - 4_000.0).abs() < 1e-6, "{wait:?}");

    let mut metrics = Metrics::default();
    call(&mut metrics, 1, ANN, &unnamed);
    see(&mut metrics, 2, ANN, &granted(5));
    answer(&mut metrics, 3, ANN, &unnamed, &placed(LOBBY, 1, 4));
    assert_eq!(metrics.awaited_claim(0), None, "the grant came first");
}

/// A send is refused after an unanswered attempt, which may have been accepted. After a refused
/// retryable attempt it was not accepted.
#[test]
fn a_refusal_after_an_attempt_without_an_answer_is_no_refusal() {
    use sim_model::history::Retry;
    let send = send();
    for (why, code, refused) in [
        (Retry::Silence, "overloaded", 0),
        (Retry::Dropped, "rate_limited", 0),
        (Retry::PutOff, "overloaded", 1),
        (Retry::Silence, "chat_ended", 1),
    ] {
        let mut metrics = Metrics::default();
        call(&mut metrics, 1, ANN, &send);
        let (call, op) = (CallId(0), &send);
        tell(&mut metrics, 2, ANN, ClientEvent::Retried { call, op, why });
        answer(&mut metrics, 3, ANN, &send, &Err(Refusal::named(code)));
        let counted: u64 = metrics.refusals().values().sum();
        assert_eq!(counted, refused, "{why:?}, {code}");
    }
}

#[test]
fn only_a_user_with_nobody_else_in_the_queue_is_the_odd_one_out() {
    let stuck = ClientEvent::Stuck {
        waiting_for: "chatroom.found",
    };
    // Bob enters at the first instant, or waits no longer than a match takes.
    for (bob_enters, alone) in [(None, true), (Some(1), false), (Some(18), true)] {
        let mut metrics = Metrics::default();
        call(&mut metrics, 2, ANN, &enter());
        if let Some(at) = bob_enters {
            call(&mut metrics, at, BOB, &enter());
        }
        tell(&mut metrics, 20, ANN, stuck);
        end(&mut metrics, 30);
        assert_eq!(metrics.is_odd_one_out(0), alone, "{bob_enters:?}");
    }
}

#[test]
fn a_claim_is_not_taken_for_one_of_another_room() {
    let hall = Room(2);
    let waiting = placed(hall, 1, 1);
    let mut metrics = Metrics::default();
    call(&mut metrics, 1, ANN, &claim());
    call(&mut metrics, 2, ANN, &claim_in(Some(hall)));
    answer(&mut metrics, 3, ANN, &claim_in(Some(hall)), &waiting);
    // Its claim in the lobby is excused, which no answer had counted.
    tell(&mut metrics, 4, ANN, ClientEvent::Forgot { returns: false });
    end(&mut metrics, 5);
}

#[test]
fn calls_are_counted_by_the_second_until_the_heal() {
    let mut metrics = Metrics::default();
    let check = Op::by_handle(Read::Mood);
    for _ in 0..10 {
        call(&mut metrics, 0, ANN, &check);
    }
    assert_eq!(metrics.calls_each_second(second(1)), (10.0, 0.0));
    metrics.observe_world(second(2), &WorldRecord::Healed);
    call(&mut metrics, 2, ANN, &check);
    assert_eq!(metrics.calls_each_second(Time::MAX), (5.0, 0.0));
    assert_eq!(metrics.calls.offered, 11);
}
