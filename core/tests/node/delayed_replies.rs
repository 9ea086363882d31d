//! Delayed answers: by twenty seconds at the boss's highest alert level, while no other call waits.

use chat_core::{
    Answer, BreakKind, Call, Command, Config, Continuity, Hub, Node, Output, Read, Reply, Response,
    Span, Ticket, Time,
};

use crate::shell::{self, Shell, check, command, handle, send};

const REST: Command = Command::TakeBreak {
    kind: BreakKind::ShowMeme,
    excuse: None,
};

fn keyed(key: u128) -> Call {
    shell::keyed("ann", key, REST)
}

const HELD: Span = Span::secs(20);
const LESS: Span = Span(HELD.0 - 1);
const DAY: Span = Span::secs(86_400);

/// The boss calms down by one level each nine seconds, and all stay present.
fn calming(config: &mut Config) {
    config.boss_alertness_cooldown = Span::secs(9);
    (config.idle_timeout, config.unused_timeout) = (DAY, DAY);
}

impl Shell {
    /// The participant takes a break.
    fn rest(&mut self, name: &str) -> Ticket {
        self.done(command(name, REST))
    }

    /// The levels in the answer. None while it is delayed.
    fn told(&self, ticket: Ticket) -> Option<(u8, u8)> {
        match self.outcome(ticket)?.as_ref().expect("accepted") {
            Response::Done(Reply::OnBreak {
                stress, boss_alert, ..
            })
            | Response::Read(Answer::Mood { stress, boss_alert }) => Some((*stress, *boss_alert)),
            other @ (Response::Done(_) | Response::Read(_) | Response::Streaming) => {
                panic!("a break was answered {other:?}")
            }
        }
    }

    fn mood(&mut self, name: &str) -> (u8, u8) {
        let (reader, read) = (handle(name), Read::Mood);
        let ticket = self.call(Call::Read { reader, read });
        self.told(ticket).expect("a read is answered at once")
    }

    /// Ann, whose boss notices every break, and is one level below the highest.
    fn watched() -> Self {
        Self::watched_with(|_| ())
    }

    fn watched_with(change: impl FnOnce(&mut Config)) -> Self {
        let mut shell = Self::pair_with(|config| {
            config.boss_alertness = 100;
            change(config);
        });
        for level in 1..5 {
            let ticket = shell.rest("ann");
            assert_eq!(shell.told(ticket), Some((0, level)), "answered at once");
        }
        shell
    }
}

#[test]
fn a_break_at_full_alert_is_answered_after_twenty_seconds() {
    let mut shell = Shell::watched();
    let fifth = shell.rest("ann");
    let sixth = shell.rest("ann");
    assert_eq!(shell.node.poll_timeout(), Some(shell.now + HELD));
    shell.pass(LESS);
    assert_eq!((shell.told(fifth), shell.told(sixth)), (None, None));
    shell.pass(Span(1));
    assert_eq!(shell.told(fifth), Some((0, 5)), "the level reached five");
    assert_eq!(shell.told(sixth), Some((0, 5)), "the level stayed at five");
    assert_eq!(shell.node.load().held, 0);
}

#[test]
fn the_answer_that_is_held_back_holds_up_nothing_else() {
    let mut shell = Shell::watched();
    let held = shell.rest("ann");
    assert_eq!(shell.mood("ann"), (0, 5));
    let said = shell.call(send("ann", "hi"));
    let other = shell.rest("ben");
    assert!(shell.is_sent(said), "her other calls");
    assert_eq!(shell.told(other), Some((0, 1)), "and others' breaks");
    assert_eq!(shell.told(held), None);
}

#[test]
fn the_answer_tells_how_things_stand_when_it_leaves() {
    let mut shell = Shell::watched_with(calming);
    // The boss calms down twice before the answer leaves.
    let held = shell.rest("ann");
    shell.pass(HELD);
    assert_eq!(shell.told(held), Some((0, 3)));
}

#[test]
fn an_answer_due_before_its_commit_leaves_with_it() {
    let mut shell = Shell::watched_with(calming);
    let ticket = shell.call(keyed(1));
    let written_at = shell.now;
    shell.append();
    // A shared log has the batch when the boss would have calmed down a third time.
    shell.now += Span::secs(28);
    let first = shell.node.hub().position().next();
    shell.node.committed(first, written_at, shell.now);
    shell.drain();
    let levels = shell.told(ticket);
    assert_eq!(levels, Some((0, 3)), "the levels at its instant");
    let again = shell.done(keyed(1));
    assert_eq!(shell.told(again), Some((0, 3)), "and of its repetition");
}

#[test]
fn a_break_in_the_meantime_is_told_of_as_well() {
    let mut shell = Shell::watched_with(|config| {
        calming(config);
        config.boss_alertness_cooldown = DAY;
    });
    shell.pass(Span::secs(100 * 60));
    let first = shell.rest("ann");
    let left = shell.mood("ann").0;
    shell.pass(Span::secs(10));
    let second = shell.rest("ann");
    let less = shell.mood("ann").0;
    assert!(less < left, "this seed leaves something for the second");
    shell.pass(Span::secs(10));
    assert_eq!(shell.told(first), Some((less, 5)));
    assert_eq!(shell.told(second), None);
}

#[test]
fn a_caller_who_is_gone_is_not_held() {
    for cancel_first in [true, false] {
        let mut shell = Shell::watched();
        let gone = shell.call(command("ann", REST));
        if cancel_first {
            shell.node.cancel(gone);
        }
        shell.commit();
        shell.node.cancel(gone);
        assert_eq!(shell.node.load().held, 0);
        shell.pass(HELD);
        assert_eq!(shell.told(gone), None);
        assert_eq!(
            shell.mood("ann"),
            (0, 5),
            "the break was taken all the same"
        );
    }
}

#[test]
fn stopping_answers_what_is_held_back_before_its_time() {
    let mut shell = Shell::watched();
    let held = shell.rest("ann");
    shell.node.shut_down();
    shell.commit();
    assert!(shell.node.finish(shell.now));
    shell.drain();
    assert_eq!(shell.told(held), Some((0, 5)));
}

#[test]
fn beyond_the_limit_no_break_is_taken() {
    let mut shell = Shell::watched_with(|config| config.max_held = 2);
    // Two undecided breaks count, because both answers may have to be delayed.
    let calls = [(); 3].map(|()| shell.call(command("ann", REST)));
    assert_eq!(shell.code(calls[2]), Some("overloaded"));
    shell.commit();
    let more = shell.rest("ben");
    assert_eq!(shell.code(more), Some("overloaded"));
    assert_eq!(shell.mood("ben"), (0, 0), "nothing was done");
    assert_eq!(shell.node.load().held, 2);
    assert_eq!(shell.size("held"), (2, 2));
    let check = shell.call(check("ben", None, Span::ZERO));
    assert!(shell.read(check).is_some(), "all else goes on");
    shell.pass(HELD);
    let again = shell.rest("ben");
    assert_eq!(shell.told(again), Some((0, 1)));
}

#[test]
fn each_participant_has_a_share_of_the_delayed_answers() {
    let mut shell = Shell::watched_with(|config| config.max_held_each = 2);
    let held = shell.done(keyed(7));
    // An undecided break counts, because its answer may have to be delayed.
    let more = [(); 2].map(|()| shell.call(command("ann", REST)));
    let again = shell.call(keyed(7));
    assert_eq!(shell.code(more[1]), Some("rate_limited"));
    assert_eq!(shell.code(again), Some("rate_limited"));
    shell.commit();
    assert_eq!(shell.node.load().held, 2);
    let others = shell.rest("ben");
    assert_eq!(shell.told(others), Some((0, 1)), "others have their own");
    shell.node.cancel(held);
    let third = shell.rest("ann");
    assert_eq!(shell.code(third), None, "a caller who left has no part");
    shell.pass(HELD);
    assert!(shell.told(third).is_some());
    let lost = [(); 2].map(|()| shell.call(command("ann", REST)));
    shell.append();
    shell.fail();
    assert_eq!(
        lost.map(|one| shell.code(one)),
        [Some("storage_unavailable"); 2]
    );
    shell.pass(Span::secs(1));
    let anew = [(); 2].map(|()| shell.call(command("ann", REST)));
    assert_eq!(
        anew.map(|one| shell.code(one)),
        [None; 2],
        "none of these was held"
    );
}

#[test]
fn a_repeated_call_is_held_until_the_same_instant() {
    let mut shell = Shell::watched();
    let first = shell.done(keyed(7));
    shell.pass(Span::secs(15));
    let second = shell.done(keyed(7));
    shell.pass(Span(4_999_999));
    assert_eq!((shell.told(first), shell.told(second)), (None, None));
    shell.pass(Span(1));
    assert_eq!(shell.told(first), Some((0, 5)));
    assert_eq!(shell.told(second), Some((0, 5)));
    let third = shell.done(keyed(7));
    assert_eq!(shell.told(third), Some((0, 5)), "past that instant at once");
    let breaks = shell.node.hub().counters().breaks[BreakKind::ShowMeme as usize];
    assert_eq!(breaks, 5, "one break for all three");
}

#[test]
fn after_a_crash_the_same_key_is_answered_when_due() {
    let mut shell = Shell::watched();
    shell.done(keyed(7));
    let config = shell.node.hub().config().clone();
    let mut hub = Hub::new(config.clone(), 7);
    for (at, entry) in &shell.journal {
        let _ = hub.handle(*at, entry);
        while hub.poll_effect().is_some() {}
    }
    shell.node = Node::resume(hub, config, Continuity::Whole);
    shell.pass(Span::secs(5));
    assert_eq!(shell.node.load().held, 0, "held calls are gone, as all are");
    let again = shell.done(keyed(7));
    shell.pass(Span(14_999_999));
    assert_eq!(shell.told(again), None);
    shell.pass(Span(1));
    assert_eq!(shell.told(again), Some((0, 5)));
}

#[test]
fn one_who_is_forgotten_is_told_so() {
    let mut shell = Shell::watched();
    let held = shell.rest("ann");
    shell.done(command("ann", Command::Unregister));
    assert_eq!(shell.code(held), Some("unknown_handle"));
    assert_eq!(shell.node.load().held, 0);
}

#[test]
fn a_failed_append_holds_nothing_back() {
    let mut shell = Shell::watched();
    let ticket = shell.call(command("ann", REST));
    shell.append();
    shell.fail();
    assert_eq!(shell.code(ticket), Some("storage_unavailable"));
    assert_eq!(shell.node.load().held, 0);
    assert_eq!(shell.mood("ann"), (0, 4), "the break was not taken");
}

#[test]
fn what_is_held_back_leaves_in_the_order_of_its_time() {
    let mut shell = Shell::watched();
    let first = shell.rest("ann");
    shell.pass(Span::secs(3));
    let second = shell.rest("ann");
    shell.outputs.clear();
    shell.pass(Span::secs(60));
    let order = shell.outputs.iter().filter_map(|output| {
        let Output::Reply { ticket, .. } = output else {
            return None;
        };
        Some(*ticket)
    });
    assert_eq!(order.collect::<Vec<_>>(), [first, second]);
    assert!(shell.now > Time(0) + HELD);
}

#[test]
fn breaks_are_counted_by_kind() {
    let mut shell = Shell::watched();
    let (kind, excuse) = (BreakKind::Chimaek, None);
    shell.call(command("ann", Command::TakeBreak { kind, excuse }));
    shell.rest("ann");
    let figures = shell.node.hub().counters();
    let counts =
        [BreakKind::Chimaek, BreakKind::ShowMeme].map(|kind| figures.breaks[kind as usize]);
    assert_eq!(counts, [1, 5]);
    assert_eq!((figures.alerts, figures.held), (5, 2));
}
