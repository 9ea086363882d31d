//! Admission: refusals before the journal, and its counters.

use chat_core::config::RateLimit;
use chat_core::{Address, Call, Caller, Command, Config, Continuity, Node, Operate, Span, Ticket};

use crate::shell::{Shell, check, command, secret, send};

#[test]
fn beyond_the_pending_limit_calls_are_refused_as_overloaded() {
    let mut shell = Shell::with_pair(Config {
        max_pending: 2,
        ..Config::default()
    });
    let calls: Vec<_> = (0..3).map(|_| shell.call(send("ann", "hi"))).collect();
    assert_eq!(calls.map_codes(&shell), [None, None, Some("overloaded")]);
    shell.commit();
    let more = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(more), None);
}

trait Codes {
    fn map_codes(&self, shell: &Shell) -> Vec<Option<&'static str>>;
}

impl Codes for Vec<Ticket> {
    fn map_codes(&self, shell: &Shell) -> Vec<Option<&'static str>> {
        self.iter().map(|ticket| shell.code(*ticket)).collect()
    }
}

#[test]
fn floods_cost_no_journal() {
    let bucket = RateLimit::rate(1, 2);
    let mut shell = Shell::with_pair(Config {
        rate_limit: bucket,
        ..Config::default()
    });
    shell.now += Span::secs(10);
    let before = shell.journal.len();
    let calls: Vec<_> = (0..100).map(|_| shell.call(send("ann", "hi"))).collect();
    shell.commit();
    let limited = calls
        .map_codes(&shell)
        .iter()
        .filter(|c| **c == Some("rate_limited"))
        .count();
    assert_eq!((limited, shell.journal.len() - before), (98, 2));
    let other = shell.call(send("ben", "hi"));
    shell.commit();
    assert_eq!(shell.code(other), None, "others are not disturbed");
}

fn register(name: &str, from: Address) -> Call {
    Call::Command {
        caller: Caller::New {
            handle: secret(name, 0),
            reader: secret(name, 1),
            from,
        },
        key: None,
        command: Command::Login {
            username: name.into(),
            room: "lobby".into(),
        },
    }
}

/// At most two registrations at once, and one more each second.
fn slow_registration() -> Config {
    Config {
        registration_rate_limit: RateLimit::rate(1, 2),
        ..Config::default()
    }
}

#[test]
fn an_address_registers_no_faster_than_its_rate_and_others_are_not_disturbed() {
    let mut shell = Shell::new(slow_registration());
    let before = shell.journal.len();
    let [here, there] = [Address(1), Address(2)];
    let calls = ["ann", "ben", "cat"].map(|name| shell.call_from(here, register(name, here)));
    shell.commit();
    let codes = calls.to_vec().map_codes(&shell);
    assert_eq!(codes, [None, None, Some("rate_limited")]);
    assert_eq!(shell.journal.len() - before, 2, "a flood costs no journal");
    let other = shell.call_from(there, register("cat", there));
    shell.commit();
    assert_eq!(shell.code(other), None);
    shell.now += Span::secs(1);
    let calls = ["dan", "eve"].map(|name| shell.call_from(here, register(name, here)));
    shell.commit();
    let codes = calls.to_vec().map_codes(&shell);
    assert_eq!(codes, [None, Some("rate_limited")]);
}

#[test]
fn refused_registrations_count_and_calls_by_handle_do_not() {
    let mut shell = Shell::new(slow_registration());
    let here = Address(1);
    let calls: Vec<_> = ["ann", "Server", "ben"]
        .into_iter()
        .map(|name| {
            let call = shell.call_from(here, register(name, here));
            shell.commit();
            call
        })
        .collect();
    let codes = calls.map_codes(&shell);
    assert_eq!(
        codes,
        [None, Some("name_not_allowed"), Some("rate_limited")]
    );
    let typing = || command("ann", Command::Typing { room: None });
    let calls: Vec<_> = (0..5).map(|_| shell.call_from(here, typing())).collect();
    shell.commit();
    assert_eq!(calls.map_codes(&shell), [None; 5]);
}

#[test]
fn typing_costs_as_much_as_a_message() {
    let refused_after = |calls: &dyn Fn() -> Command| {
        let mut shell = Shell::with_pair(Config {
            rate_limit: RateLimit::rate(2, 5),
            ..Config::default()
        });
        // The bucket is full again.
        shell.now += Span::secs(10);
        let calls: Vec<_> = (0..9)
            .map(|_| shell.call(command("ann", calls())))
            .collect();
        shell.commit();
        let codes = calls.map_codes(&shell);
        codes.iter().filter(|code| code.is_none()).count()
    };
    let send = || Command::SendMessage {
        room: None,
        text: "hi".into(),
        epoch: None,
    };
    assert_eq!(refused_after(&send), 5);
    assert_eq!(refused_after(&|| Command::Typing { room: None }), 5);
}

#[test]
fn unknown_handles_and_banned_addresses_stop_at_the_door() {
    let mut shell = Shell::with_pair(Config::default());
    let before = shell.journal.len();
    let stranger = shell.call(send("eve", "hi"));
    assert_eq!(shell.code(stranger), Some("unknown_handle"));
    assert!(shell.node.poll_batch(shell.now).is_none());
    assert_eq!(shell.journal.len(), before);
    let act = Operate::BanAddress {
        address: Address(1),
        reason: "spam".into(),
    };
    shell.call(Call::Operate {
        operator: "op".into(),
        act,
    });
    shell.commit();
    let banned = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(banned), Some("blocked"));
    let act = Operate::UnbanAddress {
        address: Address(1),
    };
    shell.call(Call::Operate {
        operator: "op".into(),
        act,
    });
    shell.commit();
    let said = shell.call(send("ann", "hi"));
    shell.commit();
    assert_eq!(
        shell.code(said),
        None,
        "operators pass a ban of their own address"
    );
}

#[test]
fn the_collections_of_a_node_keep_to_their_limits() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(check("ben", Some(1), Span::secs(20)));
    shell.call(send("ann", "hi"));
    for size in shell.node.sizes() {
        assert!(size.size <= size.limit, "{size:?}");
    }
    let parked = shell
        .node
        .sizes()
        .into_iter()
        .find(|s| s.name == "parked")
        .unwrap();
    assert_eq!(parked.size, 1);
}

#[test]
fn sizes_count_who_waits_for_a_stick_and_which_addresses_are_told_apart() {
    let limit = RateLimit::rate(5, 50);
    let mut shell = Shell::new(Config {
        address_rate_limit: limit,
        ..Config::default()
    });
    for name in ["ann", "ben", "cat"] {
        shell.call(register(name, Address(1)));
        let claim = Command::TalkingStick {
            room: None,
            epoch: None,
        };
        shell.commit();
        shell.call(command(name, claim));
        shell.commit();
    }
    let size = |name| {
        let sizes = shell.node.sizes();
        sizes.iter().find(|size| size.name == name).map(|s| s.size)
    };
    assert_eq!(size("stick_line"), Some(2), "Ann holds it");
    assert_eq!(size("members"), Some(3));
    assert_eq!(size("addresses"), Some(1));
}

#[test]
fn what_is_asked_and_what_is_in_flight_are_both_pending() {
    let mut shell = Shell::with_pair(Config::default());
    shell.call(send("ann", "one"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.call(send("ann", "two"));
    shell.call(send("ann", "three"));
    assert_eq!(shell.node.load().pending, 3);
}

#[test]
fn the_limits_of_a_node_follow_from_its_configuration() {
    let shell = Shell::new(Config {
        max_participants: 10,
        max_streams: 3,
        max_pending: 100,
        max_held: 5,
        ..Config::default()
    });
    let sizes = shell.node.sizes();
    let limit = |name| sizes.iter().find(|s| s.name == name).map(|s| s.limit);
    assert_eq!(limit("open_streams"), Some(2 * 30));
    assert_eq!(limit("parked"), Some(10));
    assert_eq!(limit("held"), Some(5));
    // The calls, each stream closed, the notice of each waiting participant, the first entry, and a
    // tick.
    assert_eq!(limit("pending"), Some(100 + 30 + 10 + 2));
}

#[test]
fn a_restart_with_other_rates_charges_by_these() {
    let limit = |burst| RateLimit::rate(1, burst);
    let mut shell = Shell::with_pair(Config {
        rate_limit: limit(1),
        ..Config::default()
    });
    let config = Config {
        rate_limit: limit(3),
        ..Config::default()
    };
    shell.node = Node::resume(shell.node.hub().clone(), config, Continuity::Whole);
    // Also before the entry of the restart is committed, because no entry fills a bucket.
    let calls: Vec<_> = (0..2).map(|_| shell.call(send("ann", "hi"))).collect();
    shell.commit();
    assert_eq!(calls.map_codes(&shell), [None, None]);
    let calls: Vec<_> = (0..2).map(|_| shell.call(send("ann", "hi"))).collect();
    assert_eq!(calls.map_codes(&shell), [None, Some("rate_limited")]);
}

#[test]
fn a_text_that_is_far_too_long_costs_no_journal() {
    let mut shell = Shell::with_pair(Config {
        max_message: 3,
        max_draft: 5,
        ..Config::default()
    });
    let before = shell.journal.len();
    let long = |bytes: usize| "x".repeat(bytes);
    let text = |bytes: usize| -> std::sync::Arc<str> { long(bytes).into() };
    let (room, epoch) = (None, None);
    let far_too_long = [
        (send("ann", &long(13)), "message_too_long"),
        (
            command(
                "ann",
                Command::Append {
                    room,
                    text: text(21),
                    epoch,
                },
            ),
            "draft_full",
        ),
        (
            command(
                "ann",
                Command::Login {
                    username: text(257),
                    room: text(1),
                },
            ),
            "name_not_allowed",
        ),
        (
            command(
                "ann",
                Command::Login {
                    username: text(1),
                    room: text(257),
                },
            ),
            "invalid_arguments",
        ),
        (
            command(
                "ann",
                Command::ReportUser {
                    user: chat_core::UserId(9),
                    reason: text(2_001),
                },
            ),
            "invalid_arguments",
        ),
    ];
    for (call, code) in far_too_long {
        let ticket = shell.call(call);
        assert_eq!(shell.code(ticket), Some(code), "at once");
    }
    assert_eq!(shell.journal.len(), before);
    let too_long = shell.call(send("ann", &long(12)));
    assert_eq!(shell.code(too_long), None, "the Hub counts the characters");
    shell.commit();
    assert_eq!(shell.code(too_long), Some("message_too_long"));
}
