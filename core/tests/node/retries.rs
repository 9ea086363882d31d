//! Repeated calls: answered from memory, joined to the attempt in flight, or refused with what is
//! known of earlier attempts.

use chat_core::config::RateLimit;
use chat_core::{
    Address, BreakKind, Call, Caller, Command, Config, Earlier, Reply, RequestKey, Response, Span,
    Ticket,
};

use crate::shell::{Shell, command, secret, send};

fn keyed_as(caller: Caller, key: u128, command: Command) -> Call {
    Call::Command {
        caller,
        key: Some(RequestKey(key)),
        command,
    }
}

fn keyed(name: &str, key: u128, text: &str) -> Call {
    let say = Command::SendMessage {
        room: None,
        text: text.into(),
        epoch: None,
    };
    keyed_as(Caller::Handle(secret(name, 0)), key, say)
}

fn login(name: &str, key: u128) -> Call {
    let caller = Caller::New {
        handle: secret(name, 0),
        reader: secret(name, 1),
        from: Address(0),
    };
    let enter = Command::Login {
        username: name.into(),
        room: "lobby".into(),
    };
    keyed_as(caller, key, enter)
}

fn rest(name: &str, key: u128) -> Call {
    let rest = Command::TakeBreak {
        kind: BreakKind::ShowMeme,
        excuse: None,
    };
    keyed_as(Caller::Handle(secret(name, 0)), key, rest)
}

/// A server with space for two pending commands.
fn narrow() -> Config {
    Config {
        max_pending: 2,
        ..Config::default()
    }
}

impl Shell {
    /// The refusal's code, and what it says of earlier attempts.
    fn refusal(&self, ticket: Ticket) -> Option<(&'static str, Earlier)> {
        let reject = self.outcome(ticket)?.as_ref().err()?;
        Some((reject.code(), reject.earlier()))
    }

    fn fill(&mut self) {
        for _ in 0..2 {
            self.call(send("ben", "hi"));
        }
        let full = self.call(send("ben", "hi"));
        let refused = ("overloaded", Earlier::Unasked);
        assert_eq!(self.refusal(full), Some(refused), "it has no key");
    }

    fn fail(&mut self) {
        assert!(self.node.poll_batch(self.now).is_some());
        self.node.append_failed(self.now);
        self.drain();
    }

    fn is_sent(&self, ticket: Ticket) -> bool {
        matches!(
            self.outcome(ticket),
            Some(Ok(Response::Done(Reply::Sent { .. })))
        )
    }
}

#[test]
fn what_is_remembered_is_answered_at_once_by_a_full_server() {
    let mut shell = Shell::with_pair(narrow());
    let first = shell.call(keyed("ann", 1, "hi"));
    shell.commit();
    let entries = shell.journal.len();
    shell.fill();
    let again = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    assert_eq!(shell.outcome(again), shell.outcome(first));
    assert_eq!(shell.node.hub().counters().recalled, 1);
    let other = shell.call(keyed("ann", 1, "other"));
    assert_eq!(shell.code(other), Some("request_key_reused"));
    shell.commit();
    assert_eq!(shell.journal.len() - entries, 2, "neither cost an entry");
}

#[test]
fn what_is_remembered_passes_rate_limits_and_a_disk_that_fails_and_a_stop() {
    let mut shell = Shell::with_pair(Config {
        rate_limit: RateLimit::rate(1, 1),
        ..Config::default()
    });
    shell.now += Span::secs(10);
    shell.call(keyed("ann", 1, "hi"));
    shell.commit();
    let limited = shell.call(keyed("ann", 2, "more"));
    let refused = ("rate_limited", Earlier::None);
    assert_eq!(shell.refusal(limited), Some(refused));
    let again = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    shell.call(keyed("ben", 3, "hi"));
    shell.fail();
    let again = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    shell.node.shut_down();
    let again = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    let late = shell.call(keyed("ann", 4, "late"));
    assert_eq!(
        shell.refusal(late),
        Some(("shutting_down", Earlier::None)),
        "a stop looks at keys before rates"
    );
}

#[test]
fn a_refusal_that_says_try_again_is_decided_again() {
    let mut shell = Shell::with_pair(Config {
        rate_limit: RateLimit::rate(1, 1),
        ..Config::default()
    });
    shell.call(send("ann", "hi"));
    shell.commit();
    let refused = shell.call(keyed("ann", 1, "hi"));
    assert_eq!(
        shell.refusal(refused),
        Some(("rate_limited", Earlier::None))
    );
    shell.pass(Span::secs(1));
    let decided = shell.call(keyed("ann", 1, "hi"));
    shell.commit();
    assert!(shell.is_sent(decided));
    let again = shell.call(keyed("ann", 1, "hi"));
    assert_eq!(shell.outcome(again), shell.outcome(decided));
}

#[test]
fn one_that_is_answered_from_memory_was_heard_of() {
    let mut shell = Shell::with_pair(Config {
        idle_timeout: Span::secs(100),
        ..Config::default()
    });
    shell.call(keyed("ann", 1, "hi"));
    shell.call(send("ben", "ho"));
    shell.commit();
    for _ in 0..4 {
        shell.pass(Span::secs(60));
        shell.call(keyed("ann", 1, "hi"));
        shell.call(command("ben", Command::Typing { room: None }));
        shell.pass(Span::secs(1));
    }
    let more = shell.call(keyed("ann", 2, "still here"));
    shell.commit();
    assert!(shell.is_sent(more), "the chat goes on");
}

#[test]
fn a_repetition_of_what_is_in_flight_waits_for_its_outcome() {
    let mut shell = Shell::with_pair(narrow());
    let first = shell.call(keyed("ann", 1, "hi"));
    shell.call(send("ben", "ho"));
    let again = shell.call(keyed("ann", 1, "hi"));
    let third = shell.call(keyed("ann", 1, "hi"));
    // There is no space for a third call that joins, nor for another request.
    let fourth = shell.call(keyed("ann", 1, "hi"));
    let other = shell.call(keyed("ann", 1, "other"));
    let fresh = shell.call(keyed("ann", 2, "hi"));
    let joined = [again, third].map(|ticket| shell.outcome(ticket).is_none());
    assert_eq!(joined, [true; 2]);
    let unknown = Some(("overloaded", Earlier::Unknown));
    assert_eq!(shell.refusal(fourth), unknown);
    assert_eq!(shell.refusal(other), unknown);
    assert_eq!(shell.refusal(fresh), Some(("overloaded", Earlier::None)));
    let sizes = shell.node.sizes();
    let size = sizes.iter().find(|size| size.name == "joined").unwrap();
    assert_eq!((size.size, size.limit), (2, 2));
    let entries = shell.journal.len();
    shell.commit();
    for ticket in [first, again, third] {
        assert!(shell.is_sent(ticket));
        assert_eq!(shell.outcome(ticket), shell.outcome(first));
    }
    assert_eq!(shell.journal.len() - entries, 2);
    let sizes = shell.node.sizes();
    assert!(
        sizes
            .iter()
            .any(|size| size.name == "joined" && size.size == 0)
    );
}

#[test]
fn what_comes_and_goes_while_calls_are_refused_is_kept_count_of() {
    let mut shell = Shell::with_pair(narrow());
    shell.fill();
    let refused = shell.call(keyed("ann", 1, "hi"));
    assert_eq!(shell.refusal(refused), Some(("overloaded", Earlier::None)));
    // The batch in flight frees the space; the call with the key is proposed now.
    assert!(shell.node.poll_batch(shell.now).is_some());
    let first = shell.call(keyed("ann", 1, "hi"));
    shell.call(send("ben", "more"));
    let again = shell.call(keyed("ann", 1, "hi"));
    let position = shell.node.hub().position().next();
    shell.node.committed(position, shell.now, shell.now);
    shell.drain();
    assert_eq!(shell.outcome(again), None, "it waits for the next batch");
    shell.commit();
    assert_eq!(shell.outcome(again), shell.outcome(first));
    assert!(shell.is_sent(first));
}

#[test]
fn a_failed_append_refuses_what_joined_and_nothing_happened() {
    let mut shell = Shell::with_pair(narrow());
    let first = shell.call(keyed("ann", 1, "hi"));
    shell.call(send("ben", "ho"));
    let again = shell.call(keyed("ann", 1, "hi"));
    shell.fail();
    let none = Some(("storage_unavailable", Earlier::None));
    assert_eq!(
        [first, again].map(|ticket| shell.refusal(ticket)),
        [none; 2]
    );
    let resting = shell.call(keyed("ann", 1, "hi"));
    assert_eq!(shell.refusal(resting), none);
    shell.pass(Span::secs(1));
    let said = shell.call(keyed("ann", 1, "hi"));
    shell.commit();
    assert!(shell.is_sent(said));
}

#[test]
fn a_failed_append_of_a_repetition_is_answered_from_memory() {
    let mut shell = Shell::with_pair(Config::default());
    let first = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    let again = shell.call(keyed("ann", 1, "hi"));
    let position = shell.node.hub().position().next();
    shell.node.committed(position, shell.now, shell.now);
    shell.fail();
    assert!(shell.is_sent(again));
    assert_eq!(shell.outcome(again), shell.outcome(first));
}

#[test]
fn a_failed_append_says_when_another_attempt_waits() {
    let mut shell = Shell::with_pair(Config::default());
    let first = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    let again = shell.call(keyed("ann", 1, "hi"));
    shell.node.append_failed(shell.now);
    shell.drain();
    let unknown = Some(("storage_unavailable", Earlier::Unknown));
    assert_eq!(shell.refusal(first), unknown);
    shell.pass(Span::secs(1));
    assert!(shell.is_sent(again), "and it took effect");
}

#[test]
fn while_an_appends_fate_is_unknown_a_repetition_waits_and_others_are_refused() {
    let mut shell = Shell::with_pair(Config::default());
    let first = shell.call(keyed("ann", 1, "hi"));
    assert!(shell.node.poll_batch(shell.now).is_some());
    shell.node.append_unknown();
    let again = shell.call(keyed("ann", 1, "hi"));
    let other = shell.call(keyed("ann", 2, "ho"));
    let none = Some(("storage_unavailable", Earlier::None));
    assert_eq!(shell.refusal(other), none);
    assert_eq!(shell.outcome(again), None);
    let position = shell.node.hub().position().next();
    shell.node.committed(position, shell.now, shell.now);
    shell.drain();
    assert!(shell.is_sent(again));
    assert_eq!(shell.outcome(again), shell.outcome(first));
}

#[test]
fn a_repeated_mint_is_answered_with_its_first_outcome_too() {
    let mut shell = Shell::with_pair(narrow());
    let first = shell.call(login("cat", 7));
    shell.call(send("ben", "hi"));
    let again = shell.call(login("cat", 7));
    let fresh = shell.call(login("dan", 8));
    assert_eq!(shell.outcome(again), None);
    assert_eq!(shell.refusal(fresh), Some(("overloaded", Earlier::None)));
    shell.commit();
    assert_eq!(shell.outcome(again), shell.outcome(first));
    shell.fill();
    let third = shell.call(login("cat", 7));
    assert_eq!(shell.outcome(third), shell.outcome(first));
}

#[test]
fn a_registration_is_repeated_past_its_rate_until_the_handle_is_used() {
    let mut shell = Shell::new(Config {
        registration_rate_limit: RateLimit::rate(1, 1),
        ..Config::default()
    });
    let first = shell.call(login("cat", 7));
    shell.commit();
    let entries = shell.journal.len();
    let again = shell.call(login("cat", 7));
    assert!(shell.outcome(again).is_some());
    assert_eq!(shell.outcome(again), shell.outcome(first));
    let fresh = shell.call(login("dan", 8));
    assert_eq!(shell.refusal(fresh), Some(("rate_limited", Earlier::None)));
    shell.pass(Span::millis(250));
    assert_eq!(shell.journal.len(), entries, "it is no sign of life");
    shell.call(command("cat", Command::Typing { room: None }));
    shell.commit();
    let late = shell.call(login("cat", 7));
    assert_eq!(shell.code(late), Some("handle_required"));
    assert!(shell.node.poll_batch(shell.now).is_none());
}

#[test]
fn the_answer_to_a_repeated_break_is_held_back_as_long_as_the_first() {
    let mut shell = Shell::with_pair(Config {
        max_held: 2,
        boss_alertness: 100,
        ..Config::default()
    });
    for key in 1..=5 {
        shell.call(rest("ann", key));
        shell.commit();
        shell.pass(Span::secs(20));
    }
    let first = shell.call(rest("ann", 6));
    shell.commit();
    shell.pass(Span::secs(1));
    let again = shell.call(rest("ann", 6));
    // There is no space for a third delayed answer.
    let third = shell.call(rest("ann", 6));
    assert_eq!(
        shell.refusal(third),
        Some(("overloaded", Earlier::Unknown)),
        "it has taken effect"
    );
    assert_eq!(shell.outcome(again), None);
    shell.pass(Span::secs(18));
    assert_eq!(shell.outcome(again), None);
    shell.pass(Span::secs(1));
    assert!(shell.outcome(first).is_some());
    assert_eq!(shell.outcome(again), shell.outcome(first));
}

#[test]
fn a_break_joins_the_same_break_in_flight() {
    let mut shell = Shell::with_pair(narrow());
    let first = shell.call(rest("ann", 1));
    shell.call(send("ben", "hi"));
    let again = shell.call(rest("ann", 1));
    assert_eq!(shell.outcome(again), None);
    shell.commit();
    assert!(shell.outcome(first).is_some());
    assert_eq!(shell.outcome(again), shell.outcome(first));
    assert_eq!(shell.node.load().held, 0);
}
