//! Repeated calls: answered from memory, joined to the attempt in flight, or refused with what is
//! known of earlier attempts.

use chat_core::{Address, BreakKind, Call, Command, Earlier, RequestKey, Span, Ticket};

use crate::shell::{Shell, TYPING, command, config, keyed, login, newcomer, rate, send, text};

fn say(name: &str, key: u128, words: &str) -> Call {
    keyed(name, key, text(words))
}

fn register(name: &str, key: u128) -> Call {
    Call::Command {
        caller: newcomer(name, Address(0)),
        key: Some(RequestKey(key)),
        command: login(name),
    }
}

fn rest(name: &str, key: u128) -> Call {
    let (kind, excuse) = (BreakKind::ShowMeme, None);
    keyed(name, key, Command::TakeBreak { kind, excuse })
}

impl Shell {
    /// A server with space for two pending commands.
    fn narrow() -> Self {
        Self::pair_with(|config| config.max_pending = 2)
    }

    /// The refusal's code, and what it says of earlier attempts.
    fn refusal(&self, ticket: Ticket) -> Option<(&'static str, Earlier)> {
        let reject = self.outcome(ticket)?.as_ref().err()?;
        Some((reject.code(), reject.earlier()))
    }

    /// Makes a call that is refused at once.
    fn refused(&mut self, call: Call) -> (&'static str, Earlier) {
        let ticket = self.call(call);
        self.refusal(ticket).expect("a refusal")
    }

    fn fill(&mut self) {
        for _ in 0..2 {
            self.call(send("ben", "hi"));
        }
        let full = self.refused(send("ben", "hi"));
        assert_eq!(full, ("overloaded", Earlier::Unasked), "it has no key");
    }

    /// Whether all were answered, and alike.
    fn is_one(&self, tickets: &[Ticket]) -> bool {
        let first = self.outcome(tickets[0]);
        first.is_some() && tickets.iter().all(|ticket| self.outcome(*ticket) == first)
    }
}

#[test]
fn what_is_remembered_is_answered_at_once_by_a_full_server() {
    let mut shell = Shell::narrow();
    let first = shell.done(say("ann", 1, "hi"));
    let entries = shell.journal.len();
    shell.fill();
    let again = shell.call(say("ann", 1, "hi"));
    assert!(shell.is_sent(again) && shell.is_one(&[first, again]));
    assert_eq!(shell.node.hub().counters().recalled, 1);
    let other = shell.call(say("ann", 1, "other"));
    assert_eq!(shell.code(other), Some("request_key_reused"));
    shell.commit();
    assert_eq!(shell.journal.len() - entries, 2, "neither cost an entry");
}

#[test]
fn what_is_remembered_passes_limits_failures_and_a_stop() {
    let mut shell = Shell::pair_with(|config| config.rate_limit = rate(1, 1));
    shell.now += Span::secs(10);
    shell.done(say("ann", 1, "hi"));
    let limited = shell.refused(say("ann", 2, "more"));
    assert_eq!(limited, ("rate_limited", Earlier::None));
    let again = shell.call(say("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    shell.call(say("ben", 3, "hi"));
    shell.append();
    shell.fail();
    let again = shell.call(say("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    shell.node.shut_down();
    let again = shell.call(say("ann", 1, "hi"));
    assert!(shell.is_sent(again));
    let late = shell.refused(say("ann", 4, "late"));
    let stopped = ("shutting_down", Earlier::None);
    assert_eq!(late, stopped, "a stop looks at keys before rates");
}

#[test]
fn a_refusal_that_says_try_again_is_decided_again() {
    let mut shell = Shell::pair_with(|config| config.rate_limit = rate(1, 1));
    shell.done(send("ann", "hi"));
    let refused = shell.refused(say("ann", 1, "hi"));
    assert_eq!(refused, ("rate_limited", Earlier::None));
    shell.pass(Span::secs(1));
    let decided = shell.done(say("ann", 1, "hi"));
    assert!(shell.is_sent(decided));
    let again = shell.call(say("ann", 1, "hi"));
    assert!(shell.is_one(&[decided, again]));
}

#[test]
fn one_that_is_answered_from_memory_was_heard_of() {
    let mut shell = Shell::pair_with(|config| config.idle_timeout = Span::secs(100));
    shell.call(say("ann", 1, "hi"));
    shell.done(send("ben", "ho"));
    for _ in 0..4 {
        shell.pass(Span::secs(60));
        shell.call(say("ann", 1, "hi"));
        shell.call(command("ben", TYPING));
        shell.pass(Span::secs(1));
    }
    let more = shell.done(say("ann", 2, "still here"));
    assert!(shell.is_sent(more), "the chat goes on");
}

#[test]
fn a_repetition_of_what_is_in_flight_waits_for_its_outcome() {
    let mut shell = Shell::narrow();
    let first = shell.call(say("ann", 1, "hi"));
    shell.call(send("ben", "ho"));
    let joined = [(); 2].map(|()| shell.call(say("ann", 1, "hi")));
    // There is no space for a third call that joins, nor for another request.
    let unknown = ("overloaded", Earlier::Unknown);
    assert_eq!(shell.refused(say("ann", 1, "hi")), unknown);
    assert_eq!(shell.refused(say("ann", 1, "other")), unknown);
    let fresh = shell.refused(say("ann", 2, "hi"));
    assert_eq!(fresh, ("overloaded", Earlier::None));
    assert_eq!(
        joined.map(|ticket| shell.outcome(ticket).is_none()),
        [true; 2]
    );
    assert_eq!(shell.size("joined"), (2, 2));
    let entries = shell.journal.len();
    shell.commit();
    assert!(shell.is_sent(first) && shell.is_one(&[first, joined[0], joined[1]]));
    assert_eq!(shell.journal.len() - entries, 2);
    assert_eq!(shell.size("joined"), (0, 2));
}

#[test]
fn what_is_in_flight_is_counted_while_calls_are_refused() {
    let mut shell = Shell::narrow();
    shell.fill();
    let refused = shell.refused(say("ann", 1, "hi"));
    assert_eq!(refused, ("overloaded", Earlier::None));
    // The batch in flight frees the space; the call with the key is proposed now.
    shell.append();
    let first = shell.call(say("ann", 1, "hi"));
    shell.call(send("ben", "more"));
    let again = shell.call(say("ann", 1, "hi"));
    shell.land();
    assert_eq!(shell.outcome(again), None, "it waits for the next batch");
    shell.commit();
    assert!(shell.is_sent(first) && shell.is_one(&[first, again]));
}

#[test]
fn a_failed_append_refuses_what_joined() {
    let mut shell = Shell::narrow();
    let first = shell.call(say("ann", 1, "hi"));
    shell.call(send("ben", "ho"));
    let again = shell.call(say("ann", 1, "hi"));
    shell.append();
    shell.fail();
    let none = ("storage_unavailable", Earlier::None);
    let told = [first, again].map(|ticket| shell.refusal(ticket));
    assert_eq!(told, [Some(none); 2]);
    assert_eq!(shell.refused(say("ann", 1, "hi")), none, "the disk rests");
    shell.pass(Span::secs(1));
    let said = shell.done(say("ann", 1, "hi"));
    assert!(shell.is_sent(said));
}

#[test]
fn a_failed_append_of_a_repetition_is_answered_from_memory() {
    let mut shell = Shell::pair();
    let first = shell.call(say("ann", 1, "hi"));
    shell.append();
    let again = shell.call(say("ann", 1, "hi"));
    shell.land();
    shell.append();
    shell.fail();
    assert!(shell.is_sent(again) && shell.is_one(&[first, again]));
}

#[test]
fn a_failed_append_says_when_another_attempt_waits() {
    let mut shell = Shell::pair();
    let first = shell.call(say("ann", 1, "hi"));
    shell.append();
    let again = shell.call(say("ann", 1, "hi"));
    shell.fail();
    let unknown = Some(("storage_unavailable", Earlier::Unknown));
    assert_eq!(shell.refusal(first), unknown);
    shell.pass(Span::secs(1));
    assert!(shell.is_sent(again), "and it took effect");
}

#[test]
fn while_an_append_is_unknown_a_repetition_waits() {
    let mut shell = Shell::pair();
    let first = shell.call(say("ann", 1, "hi"));
    shell.append();
    shell.node.append_unknown();
    let again = shell.call(say("ann", 1, "hi"));
    let other = shell.refused(say("ann", 2, "ho"));
    assert_eq!(other, ("storage_unavailable", Earlier::None));
    assert_eq!(shell.outcome(again), None);
    shell.land();
    assert!(shell.is_sent(again) && shell.is_one(&[first, again]));
}

#[test]
fn a_repeated_mint_is_answered_with_its_first_outcome_too() {
    let mut shell = Shell::narrow();
    let first = shell.call(register("cat", 7));
    shell.call(send("ben", "hi"));
    let again = shell.call(register("cat", 7));
    let fresh = shell.refused(register("dan", 8));
    assert_eq!(fresh, ("overloaded", Earlier::None));
    assert_eq!(shell.outcome(again), None);
    shell.commit();
    shell.fill();
    let third = shell.call(register("cat", 7));
    assert!(shell.is_one(&[first, again, third]));
}

#[test]
fn a_registration_is_repeated_past_its_rate() {
    let mut shell = Shell::new(config(|config| config.registration_rate_limit = rate(1, 1)));
    let first = shell.done(register("cat", 7));
    let entries = shell.journal.len();
    let again = shell.call(register("cat", 7));
    assert!(shell.is_one(&[first, again]));
    let fresh = shell.refused(register("dan", 8));
    assert_eq!(fresh, ("rate_limited", Earlier::None));
    shell.pass(Span::millis(250));
    assert_eq!(shell.journal.len(), entries, "it is no sign of life");
    shell.done(command("cat", TYPING));
    let late = shell.call(register("cat", 7));
    assert_eq!(shell.code(late), Some("handle_required"));
    assert!(shell.node.poll_batch(shell.now).is_none());
}

#[test]
fn a_repeated_break_is_held_as_long_as_the_first() {
    let mut shell = Shell::pair_with(|config| {
        (config.max_held, config.boss_alertness) = (2, 100);
    });
    for key in 1..=5 {
        shell.done(rest("ann", key));
        shell.pass(Span::secs(20));
    }
    let first = shell.done(rest("ann", 6));
    shell.pass(Span::secs(1));
    let again = shell.call(rest("ann", 6));
    // There is no space for a third delayed answer.
    let third = shell.refused(rest("ann", 6));
    assert_eq!(
        third,
        ("overloaded", Earlier::Unknown),
        "it has taken effect"
    );
    assert_eq!(shell.outcome(again), None);
    shell.pass(Span::secs(18));
    assert_eq!(shell.outcome(again), None);
    shell.pass(Span::secs(1));
    assert!(shell.is_one(&[first, again]));
}

#[test]
fn a_break_joins_the_same_break_in_flight() {
    let mut shell = Shell::narrow();
    let first = shell.call(rest("ann", 1));
    shell.call(send("ben", "hi"));
    let again = shell.call(rest("ann", 1));
    assert_eq!(shell.outcome(again), None);
    shell.commit();
    assert!(shell.is_one(&[first, again]));
    assert_eq!(shell.node.load().held, 0);
}
