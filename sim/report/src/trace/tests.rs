use chat_types::{Epoch, RoomSeq, Seq, Span, Time};

use super::*;
use sim_model::history::{DeliveryPath, RequestKey, Retry};
use sim_model::outcome::START;
use sim_model::plan::Outage;
use sim_model::protocol::{
    Addressees, Body, CallId, Code, Command, Event, Gap, InboxEvent, LostRange, Op, Outcome,
    Refusal, Reply, Response, Who,
};
use sim_model::run_log::RunLog;

fn at(ms: u64) -> Time {
    START + Span::millis(ms)
}

/// Plays a small run to an observer: one user is granted the stick, the other speaks too late, with
/// a crash and a gap in between. In the end the other user receives a long message.
fn play(observer: &mut dyn Observer) {
    let login = Op::Command(Command::Login {
        username: "ann".into(),
        room: "lobby".into(),
    });
    let push = Op::Command(Command::Push {
        room: Some(Room(3)),
        epoch: Some(Epoch(3)),
        to: Addressees::ALL,
    });
    let logged_in = Ok(Response::Done(Reply::LoggedIn {
        user: User(7),
        room: Room(3),
    }));
    let refused = Err(Refusal::of(Code::StickRequired));
    let granted = Body::StickGranted {
        user: Who::unnamed(User(9)),
        epoch: Epoch(4),
        lease: Span::secs(4),
    };
    let message = Body::Message {
        sender: Who::unnamed(User(7)),
        text: "x".repeat(100).into(),
        epoch: Some(Epoch(3)),
        to: [].into(),
    };
    let (granted, message) = (event(17, granted), event(18, message));
    let gap = Gap {
        from: Seq(1),
        to: Seq(2),
        rooms: vec![LostRange {
            room: Room(3),
            from: RoomSeq(1),
            to: RoomSeq(2),
            ..LostRange::default()
        }],
        rooms_omitted: false,
    };
    let retried = ClientEvent::Retried {
        call: CallId(1),
        op: &push,
        why: Retry::Silence,
    };
    for (ms, user, what) in [
        (0, None, called(0, &login)),
        (20, Some(7), answered(0, &login, &logged_in)),
        (22, Some(7), received(4, &granted)),
        (23, Some(9), received(5, &granted)),
        (24, Some(7), called(1, &push)),
        (25, Some(7), retried),
    ] {
        tell(observer, ms, user, what);
    }
    let how = Outage::CrashUnsynced;
    observer.observe_world(at(26), &WorldRecord::Down { how });
    let sizes = WorldRecord::Sizes {
        sizes: &[("queue", 3, 100)],
        lists: None,
        archived: false,
    };
    observer.observe_world(at(26), &sizes);
    for (ms, user, what) in [
        (27, Some(7), answered(1, &push, &refused)),
        (28, Some(9), received(6, &message)),
        (29, Some(9), received(7, &gap)),
        (30, Some(7), ClientEvent::StreamClosed),
    ] {
        tell(observer, ms, user, what);
    }
    observer.observe_world(at(31), &WorldRecord::Ended);
}

fn event(room_seq: u64, body: Body) -> Event {
    Event {
        room: Room(3),
        room_seq: RoomSeq(room_seq),
        at: START,
        body,
    }
}

/// Reports what user 9, or else its partner, did or observed.
fn tell(observer: &mut dyn Observer, ms: u64, user: Option<u64>, what: ClientEvent<'_>) {
    let agent = u32::from(user == Some(9));
    observer.observe(RunEvent::Client(&Record {
        at: at(ms),
        agent: Agent(agent),
        name: &format!("penpal#{agent}"),
        user: user.map(User),
        what,
    }));
}

fn called(call: u32, op: &Op) -> ClientEvent<'_> {
    ClientEvent::Called {
        call: CallId(call),
        op,
        intended: START,
        key: RequestKey::Own,
    }
}

fn answered<'a>(call: u32, op: &'a Op, outcome: &'a Outcome) -> ClientEvent<'a> {
    ClientEvent::Answered {
        call: CallId(call),
        op,
        called_at: START,
        intended: START,
        outcome,
    }
}

fn received<'a>(seq: u64, event: impl Into<InboxEvent<'a>>) -> ClientEvent<'a> {
    ClientEvent::Received {
        seq,
        sent_at: START,
        event: event.into(),
        path: DeliveryPath::Stream,
        first: true,
    }
}

fn trace(follow: Option<Follow>) -> String {
    let mut writer = TraceWriter::new(Vec::new(), follow);
    play(&mut writer);
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn a_trace_has_a_line_for_everything() {
    insta::assert_snapshot!(trace(None));
}

#[test]
fn a_user_can_be_followed() {
    insta::assert_snapshot!(trace(Some(Follow::User(User(9)))));
}

#[test]
fn a_room_can_be_followed() {
    let text = trace(Some(Follow::Room(Room(3))));
    assert!(
        text.lines()
            .all(|line| line.contains("\"room_3\"") || line.contains("\"world\""))
    );
    let lines = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    // The registering call does not know its room yet, but its answer does.
    assert_eq!(
        (
            lines("\"called\""),
            lines("\"retried\""),
            lines("\"answered\"")
        ),
        (1, 1, 2)
    );
    assert_eq!((lines("\"gap\""), lines("\"sizes\"")), (1, 0));
    assert_eq!(trace(Some(Follow::Room(Room(4)))).lines().count(), 2);
}

#[test]
fn every_line_is_an_object_that_begins_with_its_time() {
    for line in trace(None).lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(value["t_ms"].is_number() && value["kind"].is_string());
        assert!(line.starts_with("{\"t_ms\":"), "{line}");
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("no space left"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = TraceWriter::new(Full, None);
    play(&mut writer);
    assert_eq!(
        writer.finish().map(|_| ()).unwrap_err().to_string(),
        "no space left"
    );
}

fn recorded(until_ms: u64, users: &[User], keep: usize) -> String {
    let mut log = RunLog::default();
    play(&mut log);
    let mut text = String::new();
    let shown = excerpt(&log, Span::millis(until_ms), users, keep);
    for line in shown.lines {
        let mark = if line.blamed { " ◀" } else { "" };
        let user = line.lane.map_or("", |lane| &shown.users[lane]);
        text.push_str(&format!("{} {user} {}{mark}\n", line.at, line.text));
    }
    text
}

#[test]
fn an_excerpt_ends_at_the_violation() {
    insta::assert_snapshot!(recorded(28, &[User(7), User(9)], 12));
}

#[test]
fn a_busy_user_does_not_displace_the_others() {
    let text = recorded(100, &[User(7), User(9)], 4);
    assert_eq!(
        ["user_7 ", "user_9 "].map(|user| text.matches(user).count()),
        [2, 2],
        "{text}"
    );
    let text = recorded(100, &[User(7)], 4);
    assert_eq!(text.matches("user_7 ").count(), 4, "{text}");
}
