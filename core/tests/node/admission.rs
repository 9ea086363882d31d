//! Admission: refusals before the journal, and its counters.

use std::sync::Arc;

use chat_core::{Address, Call, Command, Config, Continuity, Node, Operate, Span, Ticket, UserId};

use crate::shell::{Shell, TYPING, check, command, config, login, newcomer, rate, send, text};

const HERE: Address = Address(1);
const THERE: Address = Address(2);

fn register(name: &str, from: Address) -> Call {
    Call::Command {
        caller: newcomer(name, from),
        key: None,
        command: login(name),
    }
}

impl Shell {
    fn codes(&self, tickets: &[Ticket]) -> Vec<Option<&'static str>> {
        tickets.iter().map(|ticket| self.code(*ticket)).collect()
    }

    /// Makes a command so many times, and commits those that are taken: their number.
    fn flood(&mut self, times: usize, command: impl Fn() -> Call) -> usize {
        let calls: Vec<_> = (0..times).map(|_| self.call(command())).collect();
        self.commit();
        self.codes(&calls)
            .iter()
            .filter(|code| code.is_none())
            .count()
    }

    /// Registers participants from one address, and commits those that are taken.
    fn register(&mut self, from: Address, names: &[&str]) -> Vec<Option<&'static str>> {
        let register = |name: &&str| self.call_from(from, register(name, from));
        let calls: Vec<_> = names.iter().map(register).collect();
        self.commit();
        self.codes(&calls)
    }

    fn operate(&mut self, act: Operate) {
        let operator = "op".into();
        self.done(Call::Operate { operator, act });
    }
}

#[test]
fn beyond_the_pending_limit_calls_are_refused() {
    let mut shell = Shell::pair_with(|config| config.max_pending = 2);
    let calls = [(); 3].map(|()| shell.call(send("ann", "hi")));
    assert_eq!(shell.codes(&calls), [None, None, Some("overloaded")]);
    shell.commit();
    let more = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(more), None);
}

#[test]
fn floods_cost_no_journal() {
    let mut shell = Shell::pair_with(|config| config.rate_limit = rate(1, 2));
    shell.now += Span::secs(10);
    let before = shell.journal.len();
    assert_eq!(shell.flood(100, || send("ann", "hi")), 2);
    let limited = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(limited), Some("rate_limited"));
    assert_eq!(shell.journal.len() - before, 2);
    let other = shell.done(send("ben", "hi"));
    assert_eq!(shell.code(other), None, "others are not disturbed");
}

#[test]
fn an_address_registers_no_faster_than_its_rate() {
    let mut shell = Shell::new(config(|config| config.registration_rate_limit = rate(1, 2)));
    let before = shell.journal.len();
    let limited = Some("rate_limited");
    assert_eq!(
        shell.register(HERE, &["ann", "ben", "cat"]),
        [None, None, limited]
    );
    assert_eq!(shell.journal.len() - before, 2, "a flood costs no journal");
    assert_eq!(shell.register(THERE, &["cat"]), [None]);
    shell.now += Span::secs(1);
    assert_eq!(shell.register(HERE, &["dan", "eve"]), [None, limited]);
}

#[test]
fn refused_registrations_count_and_calls_by_handle_do_not() {
    let mut shell = Shell::new(config(|config| config.registration_rate_limit = rate(1, 2)));
    assert_eq!(shell.register(HERE, &["ann"]), [None]);
    assert_eq!(
        shell.register(HERE, &["Server"]),
        [Some("name_not_allowed")]
    );
    assert_eq!(shell.register(HERE, &["ben"]), [Some("rate_limited")]);
    assert_eq!(shell.flood(5, || command("ann", TYPING)), 5);
}

#[test]
fn typing_costs_as_much_as_a_message() {
    for spoken in [text("hi"), TYPING] {
        let mut shell = Shell::pair_with(|config| config.rate_limit = rate(2, 5));
        // The bucket is full again.
        shell.now += Span::secs(10);
        assert_eq!(shell.flood(9, || command("ann", spoken.clone())), 5);
    }
}

#[test]
fn unknown_handles_and_banned_addresses_stop_at_the_door() {
    let mut shell = Shell::pair();
    let stranger = shell.call(send("eve", "hi"));
    assert_eq!(shell.code(stranger), Some("unknown_handle"));
    assert!(shell.node.poll_batch(shell.now).is_none());
    let (address, reason) = (HERE, "spam".into());
    shell.operate(Operate::BanAddress { address, reason });
    let banned = shell.call(send("ann", "hi"));
    assert_eq!(shell.code(banned), Some("blocked"));
    // Operators pass a ban of their own address.
    shell.operate(Operate::UnbanAddress { address });
    let said = shell.done(send("ann", "hi"));
    assert!(shell.is_sent(said));
}

#[test]
fn the_collections_of_a_node_keep_to_their_limits() {
    let mut shell = Shell::pair();
    shell.call(check("ben", Some(1), Span::secs(20)));
    shell.call(send("ann", "hi"));
    for size in shell.node.sizes() {
        assert!(size.size <= size.limit, "{size:?}");
    }
    assert_eq!(shell.size("parked").0, 1);
}

#[test]
fn sizes_count_the_stick_line_and_addresses() {
    let mut shell = Shell::new(config(|config| config.address_rate_limit = rate(5, 50)));
    shell.register(HERE, &["ann", "ben", "cat"]);
    for name in ["ann", "ben", "cat"] {
        let (room, epoch) = (None, None);
        shell.done(command(name, Command::TalkingStick { room, epoch }));
    }
    assert_eq!(shell.size("stick_line").0, 2, "Ann holds it");
    assert_eq!(shell.size("members").0, 3);
    assert_eq!(shell.size("addresses").0, 1);
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
    let limit = |name| shell.size(name).1;
    assert_eq!(limit("open_streams"), 2 * 30);
    assert_eq!(limit("parked"), 10);
    assert_eq!(limit("held"), 5);
    // The calls, each stream closed, the notice of each waiting participant, the first entry, and a
    // tick.
    assert_eq!(limit("pending"), 100 + 30 + 10 + 2);
}

#[test]
fn a_restart_with_other_rates_charges_by_these() {
    let mut shell = Shell::pair_with(|config| config.rate_limit = rate(1, 1));
    let config = config(|config| config.rate_limit = rate(1, 3));
    shell.node = Node::resume(shell.node.hub().clone(), config, Continuity::Whole);
    // Also before the entry of the restart is committed, because no entry fills a bucket.
    assert_eq!(shell.flood(2, || send("ann", "hi")), 2);
    assert_eq!(shell.flood(2, || send("ann", "hi")), 1);
}

#[test]
fn a_text_that_is_far_too_long_costs_no_journal() {
    let mut shell = Shell::pair_with(|config| (config.max_message, config.max_draft) = (3, 5));
    let before = shell.journal.len();
    let long = |bytes: usize| -> Arc<str> { "x".repeat(bytes).into() };
    let log_in = |username, room| Command::Login {
        username: long(username),
        room: long(room),
    };
    let append = Command::Append {
        room: None,
        text: long(21),
        epoch: None,
    };
    let report = Command::ReportUser {
        user: UserId(9),
        reason: long(2_001),
    };
    for (far_too_long, code) in [
        (text(&long(13)), "message_too_long"),
        (append, "draft_full"),
        (log_in(257, 1), "name_not_allowed"),
        (log_in(1, 257), "invalid_arguments"),
        (report, "invalid_arguments"),
    ] {
        let ticket = shell.call(command("ann", far_too_long));
        assert_eq!(shell.code(ticket), Some(code), "at once");
    }
    assert_eq!(shell.journal.len(), before);
    let too_long = shell.call(send("ann", &long(12)));
    assert_eq!(shell.code(too_long), None, "the Hub counts the characters");
    shell.commit();
    assert_eq!(shell.code(too_long), Some("message_too_long"));
}
