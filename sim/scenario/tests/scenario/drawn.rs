//! Any plan of the steps form reads back from its file as it was. Plans with flows do that where they are
//! drawn, in the tests of exploring.

use std::sync::Arc;

use chat_types::{BreakKind, Span, StickMove, TimerKind};
use proptest::prelude::*;
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::names::properties_of;
use sim_model::outcome::Point;
use sim_model::plan::{
    Alphabet, Argument, ClientHarm, Delivery, Fault, FaultKind, Grant, Harm, LEASE_DRIFT, LogHarm,
    MemberHarm, Milestone, Net, Opening, OperatorAct, OperatorVerb, Outage, OwnerReads, Plan,
    Reached, Repeats, ScriptStep, ScriptUser, ServersNeeded, Step, Stored, Text, Verb, Victims,
    Which, Workload,
};
use sim_model::protocol::{OpKind, ReadBy};
use sim_scenario::{parse, to_yaml};

const NAMES: [&str; 6] = ["a", "no", "1", "é: #", "{ x", "\u{202e}\"'"];

fn one<T: Clone + std::fmt::Debug + 'static>(all: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(all.to_vec())
}

fn words() -> impl Strategy<Value = Arc<str>> {
    one(&["", "spam", "lobby", "~", " - x\n", "漢字 🦀", "2s"]).prop_map(Arc::from)
}

/// A duration that lies within what every key takes.
fn time() -> impl Strategy<Value = Span> {
    (1_u64..5_000).prop_map(Span::millis)
}

fn ratio() -> impl Strategy<Value = Ratio> {
    (1_u32..9, 9_u32..99).prop_map(|(over, under)| Ratio::new(over, under).expect("a share"))
}

fn table() -> impl Strategy<Value = Arc<Quantiles>> {
    let shape = prop_oneof![
        (1_u64..9_000).prop_map(Shape::Fixed),
        (1_u64..90, 90_u64..9_000).prop_map(|(low, high)| Shape::Uniform(low, high)),
        (1_u64..90, 90_u64..9_000).prop_map(|(p50, p99)| Shape::Lognormal { p50, p99 }),
        (1_u64..9_000).prop_map(|mean| Shape::Exponential { mean }),
    ];
    shape.prop_map(|shape| Arc::new(Quantiles::new(shape)))
}

fn text() -> impl Strategy<Value = Text> {
    let alphabet = one(&[Alphabet::Words, Alphabet::Unicode]);
    prop_oneof![
        words().prop_map(Text::Words),
        table().prop_map(Text::Length),
        (alphabet, table()).prop_map(|(alphabet, length)| Text::Letters(alphabet, length)),
    ]
}

fn verb() -> impl Strategy<Value = Verb> {
    let grant = || one(&[Grant::Unnamed, Grant::Latest]);
    let maybe = || prop::option::of(words());
    let plain: Vec<_> = OpKind::ALL.iter().filter_map(|kind| kind.plain()).collect();
    let by = one(&[ReadBy::Handle, ReadBy::ReaderId]);
    let interests = prop::collection::vec(one(&NAMES).prop_map(Arc::from), 0..3);
    prop_oneof![
        (maybe(), maybe(), interests).prop_map(|(name, user_id, interests)| Verb::EnterQueue {
            name,
            user_id,
            interests: interests.into(),
        }),
        (words(), 1_u32..9, maybe()).prop_map(|(room, rooms, name)| Verb::Login {
            room,
            rooms,
            name
        }),
        text().prop_map(Verb::Send),
        text().prop_map(Verb::Append),
        (time(), by).prop_map(|(wait, by)| Verb::Check { wait, by }),
        (prop::option::of(1_u64..99), 1_u32..99)
            .prop_map(|(before, limit)| Verb::History { before, limit }),
        grant().prop_map(Verb::TalkingStick),
        grant().prop_map(Verb::Undo),
        grant().prop_map(Verb::Reset),
        words().prop_map(|reason| Verb::Report { reason }),
        (prop::option::of(one(BreakKind::ALL)), maybe())
            .prop_map(|(kind, excuse)| Verb::Break { kind, excuse }),
        Just(Verb::Mood),
        one(&plain).prop_map(Verb::Plain),
    ]
}

fn delivery() -> impl Strategy<Value = Option<Delivery>> {
    let delivery = prop_oneof![time().prop_map(Delivery::After), Just(Delivery::Lost)];
    prop::option::of(delivery)
}

fn attempt() -> impl Strategy<Value = Net> {
    let deliveries = (delivery(), delivery(), delivery(), delivery());
    deliveries.prop_map(|(request, duplicate, reply, duplicate_reply)| Net {
        request,
        duplicate,
        reply,
        duplicate_reply,
        ..Net::default()
    })
}

fn step() -> impl Strategy<Value = ScriptStep> {
    let arguments = [Argument::Room, Argument::Key, Argument::Retries];
    let leave_out = prop::sample::subsequence(arguments.to_vec(), 0..=3);
    let push = prop::option::of((0_u32..6, time()));
    let retries = prop::collection::vec(attempt(), 0..3);
    let call = (verb(), leave_out, attempt(), push, retries);
    let call = call.prop_map(|(verb, leave_out, net, push, retries)| {
        let push = push.map(|(user, time)| (user, Delivery::After(time)));
        let push = push.into_iter().collect();
        let net = Net {
            push,
            retries,
            ..net
        };
        (Step::Call(verb), leave_out, net)
    });
    let leaving = prop::option::of(time()).prop_map(Step::Disconnect);
    let leaving = leaving.prop_map(|step| (step, Vec::new(), Net::default()));
    let what = prop_oneof![4 => call, 1 => leaving];
    (time(), 0_u32..6, what).prop_map(|(at, user, (what, leave_out, net))| ScriptStep {
        whom: (user > 3 && !matches!(what, Step::Disconnect(_))).then_some(user.into()),
        at,
        user,
        what,
        leave_out,
        net,
    })
}

/// Repetitions of a fault, so rare that they stay within the limit.
fn repeats() -> impl Strategy<Value = Repeats> + Clone {
    const SECOND: u64 = 1_000_000;
    let gap = prop_oneof![
        (1_u64..9).prop_map(|n| Shape::Fixed(n * SECOND)),
        (0_u64..3, 3_u64..9).prop_map(|(low, high)| Shape::Uniform(low * SECOND, high * SECOND)),
        (1_u64..9).prop_map(|n| Shape::Exponential { mean: n * SECOND }),
    ];
    gap.prop_map(|gap| Repeats {
        every: Arc::new(Quantiles::new(gap)),
        starts_at_once: true,
    })
}

fn fault_of_servers() -> impl Strategy<Value = FaultKind> {
    prop_oneof![
        (one(MemberHarm::ALL), one(Which::ALL), time(), 1_u32..=50).prop_map(
            |(what, which, duration, percent)| FaultKind::Member {
                what,
                which,
                duration,
                percent: if what.is_drift() {
                    percent
                } else {
                    LEASE_DRIFT
                },
            }
        ),
        (one(LogHarm::ALL), time()).prop_map(|(what, duration)| FaultKind::Log { what, duration }),
    ]
}

fn act() -> impl Strategy<Value = OperatorAct> {
    let parts = (
        one(OperatorVerb::ALL),
        prop::option::of(0_u32..6),
        prop::option::of(1_u64..9),
        prop::option::of(one(&["spam", " spam", "a\nb", ""])),
    );
    parts.prop_map(|(verb, user, room, reason)| OperatorAct {
        verb,
        user,
        room: room.filter(|_| verb.names_room()),
        reason: reason.map(Into::into).filter(|_| verb.has_reason()),
    })
}

fn fault() -> impl Strategy<Value = Fault> {
    let victims = || {
        let users = prop::sample::subsequence((0..6).collect::<Vec<u32>>(), 1..4);
        prop_oneof![
            ratio().prop_map(Victims::Share),
            users.prop_map(Victims::Users)
        ]
    };
    let how = one(&[Outage::Stop, Outage::Crash, Outage::CrashUnsynced]);
    let kind = prop_oneof![
        (time(), how).prop_map(|(down_for, how)| FaultKind::Down { down_for, how }),
        (1_u32..99).prop_map(
            |max_queue| FaultKind::Configure(Box::new(chat_types::Config {
                max_queue,
                ..chat_types::Config::default()
            }))
        ),
        (one(ClientHarm::ALL), victims(), time()).prop_map(|(what, victims, duration)| {
            FaultKind::Clients {
                what,
                victims,
                duration,
            }
        }),
        (2_u32..9, time()).prop_map(|(factor, duration)| FaultKind::SlowDisk { factor, duration }),
        (time(), any::<bool>())
            .prop_map(|(duration, unknown)| FaultKind::FailDisk { duration, unknown }),
        (one(Harm::ALL), one(Stored::ALL), time()).prop_map(|(what, of, restore_after)| {
            FaultKind::DamageDisk {
                what,
                of,
                restore_after,
            }
        }),
        fault_of_servers(),
        time().prop_map(|by| FaultKind::ClockJump { by }),
        Just(FaultKind::LoseReplies),
        act().prop_map(FaultKind::Operator),
    ];
    let reached = prop_oneof![
        one(Point::ALL).prop_map(|point| Reached::Sometimes(point.name())),
        one(StickMove::NAMES).prop_map(Reached::Stick),
        one(TimerKind::NAMES).prop_map(Reached::Timer),
    ];
    let milestone = (reached, 1_u32..9).prop_map(|(reached, count)| Milestone { reached, count });
    let repeats = repeats();
    let when = prop_oneof![
        time().prop_map(|at| (at, None, None)),
        (time(), milestone).prop_map(|(at, milestone)| (at, Some(milestone), None)),
        (time(), repeats.clone()).prop_map(|(at, repeats)| (at, None, Some(repeats))),
        repeats.prop_map(|repeats| {
            let starts_at_once = false;
            let repeats = Repeats {
                starts_at_once,
                ..repeats
            };
            (Span::ZERO, None, Some(repeats))
        }),
    ];
    (when, kind, any::<bool>()).prop_map(|((at, milestone, repeats), kind, is_optional)| Fault {
        at,
        milestone,
        repeats,
        kind,
        is_optional,
    })
}

fn opening() -> impl Strategy<Value = Opening> {
    let by = one(&[None, Some(ReadBy::Handle), Some(ReadBy::ReaderId)]);
    let reply = prop::option::of(time());
    let beside = one(&[None, Some(Span::millis(7)), Some(Span::secs(2))]);
    let how = (by, any::<bool>(), beside);
    (how, delivery(), reply).prop_map(|((by, bare, beside), request, reply)| Opening {
        by,
        bare,
        beside,
        request,
        reply,
    })
}

/// A plan of the steps form, with users who have odd names.
fn plan() -> impl Strategy<Value = Plan> {
    let stream = one(&[None, Some(ReadBy::Handle), Some(ReadBy::ReaderId)]);
    let steps = prop::collection::vec(step(), 1..6);
    let faults = prop::collection::vec(fault(), 0..4);
    let streams = (stream, prop::collection::vec(opening(), 0..3));
    (streams, steps, faults, table(), ratio(), 1_u64..99).prop_map(
        |((stream, opens), mut steps, mut faults, latency, loss, seed)| {
            let base = "users: [a]\nsteps: [{ at: 0s, user: a, do: login }]\n";
            let mut plan = parse("drawn.yaml", base).expect("a scenario");
            let user = |name: &str| ScriptUser {
                name: name.to_owned(),
                stream,
                opens: opens.clone(),
                keeps_handle: opens.len() == 1,
            };
            steps.sort_by_key(|step| step.at);
            faults.sort_by_key(|fault| fault.at);
            let users = NAMES.iter().map(|name| user(name)).collect();
            plan.workload = Workload::Steps { users, steps };
            // The first fault decides whether there is one server or several.
            let needed = faults.iter().find_map(|fault| fault.kind.row().servers);
            let needed = needed.unwrap_or(ServersNeeded::One);
            faults.retain(|fault| {
                let servers = fault.kind.row().servers;
                servers.is_none_or(|other| other == needed)
            });
            (plan.servers, plan.reads) = match needed {
                ServersNeeded::One => (1, OwnerReads::Lease),
                ServersNeeded::Several => (3, OwnerReads::Lease),
                ServersNeeded::Strict => (3, OwnerReads::Strict),
            };
            plan.properties = properties_of(plan.servers, false);
            plan.faults = faults;
            plan.network.latency = latency;
            plan.network.loss = loss;
            plan.seed = seed;
            plan
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_of_steps_reads_back_as_written(plan in plan()) {
        let written = to_yaml(&plan);
        let read = parse("drawn.yaml", &written);
        let read = read.map_err(|error| TestCaseError::fail(format!("{error:?}\n{written}")))?;
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", plan), "{}", written);
        for fault in &plan.faults {
            let key = format!("{}:", fault.kind.row().key);
            prop_assert!(written.contains(&key), "{key}{written}");
        }
    }
}
