use std::sync::Arc;

use super::*;
use crate::metrics::tests::{answered, called};
use chat_types::{RoomSeq, Time};
use sim_model::protocol::{Addressees, Body, Command, Event, Refusal, Room, User, WasWaiting, Who};

fn at(ms: u64) -> Time {
    START + Span::millis(ms)
}

fn tell(recorder: &mut SeriesRecorder, ms: u64, agent: u32, what: ClientEvent<'_>) {
    recorder.observe(RunEvent::Client(&Record {
        at: at(ms),
        agent: Agent(agent),
        name: &format!("penpal#{agent}"),
        user: Some(User(agent.into())),
        what,
    }));
}

/// A message of the agent, meant at this instant and accepted and seen `took_ms` later.
fn say(recorder: &mut SeriesRecorder, ms: u64, agent: u32, room_seq: u64, took_ms: u64) {
    let op = Op::Command(Command::SendMessage {
        room: None,
        text: Arc::from("hello"),
        epoch: None,
        to: Addressees::ALL,
    });
    let call = u32::try_from(room_seq).unwrap();
    tell(recorder, ms, agent, called(call, &op, at(ms)));
    let accepted = Ok(Response::Done(Reply::Sent {
        room: Room(1),
        room_seq: RoomSeq(room_seq),
        at: at(ms),
        turns_left: None,
    }));
    tell(
        recorder,
        ms + took_ms,
        agent,
        answered(call, &op, at(ms), &accepted),
    );
    let saw = Event {
        room: Room(1),
        room_seq: RoomSeq(room_seq),
        at: at(ms),
        body: Body::Message {
            sender: Who::unnamed(User(agent.into())),
            text: "hello".into(),
            epoch: None,
            to: [].into(),
        },
    };
    let received = ClientEvent::Received {
        seq: room_seq,
        sent_at: at(ms),
        event: (&saw).into(),
        path: sim_model::history::DeliveryPath::Stream,
        first: true,
    };
    tell(recorder, ms + took_ms, agent + 1, received);
}

#[test]
fn counts_and_quantiles_are_those_of_the_records() {
    let mut recorder = SeriesRecorder::new(7, &[]);
    for n in 0..10 {
        say(&mut recorder, n * 20, 0, n + 1, n + 1);
    }
    let (op, refused) = (
        Op::Command(Command::LeaveQueue),
        Err(Refusal::named("muted")),
    );
    tell(&mut recorder, 300, 0, called(99, &op, at(300)));
    tell(&mut recorder, 300, 0, answered(99, &op, at(300), &refused));
    let finished = ClientEvent::Finished { cut_short: false };
    tell(&mut recorder, 400, 1, finished);
    let series = recorder.series();
    assert_eq!(series.bucket_ms, 10.0);
    assert_eq!(series.messages_offered.iter().sum::<u64>(), 10);
    assert_eq!(series.messages_accepted.iter().sum::<u64>(), 10);
    assert_eq!(series.calls_answered.iter().sum::<u64>(), 11);
    assert_eq!(series.refused.iter().sum::<u64>(), 1);
    assert_eq!(series.arrived.iter().sum::<u64>(), 2);
    assert_eq!(series.present.last(), Some(&1));
    let measured = series.measured["message_latency"].iter().flatten();
    assert_eq!(measured.map(|latency| latency.count).sum::<u64>(), 10);
    assert_eq!(series.sample.len(), 10);
    assert_eq!(series.sample[9], (190.0, 10.0));
    let users: Vec<_> = series
        .users
        .iter()
        .map(|row| (row.sent, row.received))
        .collect();
    assert_eq!(users, [(10, 0), (0, 10)]);
    assert_eq!(series.users[1].left_ms, Some(400.0));
}

#[test]
fn a_long_run_has_no_more_buckets_and_points_than_a_short_one() {
    let mut recorder = SeriesRecorder::new(7, &[]);
    for n in 0..20_000 {
        say(&mut recorder, n * 100, 0, n + 1, 5 + n % 40);
    }
    let series = recorder.series();
    assert!(series.arrived.len() <= BUCKETS, "{}", series.arrived.len());
    assert_eq!(series.bucket_ms, 20_480.0);
    assert_eq!(series.messages_offered.iter().sum::<u64>(), 20_000);
    let measured = series.measured["message_latency"].iter().flatten();
    assert_eq!(measured.map(|latency| latency.count).sum::<u64>(), 20_000);
    assert!((SAMPLE / 2..=SAMPLE).contains(&series.sample.len()));
    assert_eq!(series.sampled_of, 20_000);
    let first = series.sample[0].0;
    let last = series.sample.last().unwrap().0;
    assert!(first < 10_000.0 && last > 1_990_000.0, "{first} {last}");
}

#[test]
fn the_line_holds_those_who_wait() {
    let mut recorder = SeriesRecorder::new(7, &[]);
    let op = Op::Command(Command::LeaveQueue);
    let waiting = |user| Reply::Waiting {
        user: User(user),
        position: 1,
        estimated_wait: None,
    };
    let left = WasWaiting::Yes;
    for (ms, agent, reply) in [
        (1, 0, waiting(0)),
        (12, 1, waiting(1)),
        (25, 0, Reply::LeftQueue { left }),
    ] {
        let outcome = Ok(Response::Done(reply));
        tell(&mut recorder, ms, agent, answered(0, &op, at(0), &outcome));
    }
    tell(&mut recorder, 35, 1, ClientEvent::Vanished);
    assert_eq!(recorder.series().in_line, [1, 2, 1, 0]);
}

#[test]
fn a_refused_start_and_a_fault_of_the_nemesis_last_until_they_are_mended_or_to_the_end() {
    let refused = WorldRecord::StartRefused { why: "a hole" };
    let made = |name| WorldRecord::FaultMade { name };
    let mended = |name| WorldRecord::FaultMended { name };
    let mut recorder = SeriesRecorder::new(7, &[]);
    for (ms, record) in [
        (100, refused),
        (150, made("cut")),
        (200, made("slow")),
        (300, mended("cut")),
        (350, WorldRecord::Restarted),
        (400, WorldRecord::Restarted),
        (420, made("cut")),
        (450, mended("cut")),
        (900, refused),
        (1_000, WorldRecord::Ended),
    ] {
        recorder.observe_world(at(ms), &record);
    }
    let faults = recorder.series().faults;
    let shown: Vec<_> = faults
        .iter()
        .map(|one| {
            (
                one.kind.as_str(),
                one.at.as_millis(),
                one.length.as_millis(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (START_REFUSED, 100, 250),
            ("cut", 150, 150),
            ("slow", 200, 800),
            ("cut", 420, 30),
            (START_REFUSED, 900, 100)
        ]
    );
    assert!(faults[0].words.ends_with("a hole"));
}
