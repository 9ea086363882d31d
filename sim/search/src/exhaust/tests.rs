use std::num::NonZeroUsize;

use chat_types::Time;

use super::search::search_from;
use super::worlds::{actions, begin, plan};
use super::*;
use crate::seed::run_seed;
use sim_model::history::{ClientEvent, Observer, RunEvent};
use sim_model::outcome::{Action, Progress, TinyCall};
use sim_model::protocol::{Code, Read};
use sim_scenario::{parse, to_yaml};

fn options(depth: u32) -> Options {
    Options {
        users: 3,
        depth,
        faults: 1,
        jobs: NonZeroUsize::MIN,
    }
}

fn key(tiny: &Tiny) -> u64 {
    tiny.key(&tiny.clone().finish())
}

fn after(world: TinyWorld, path: &[Action]) -> Tiny {
    search::run(&begin(world, &plan(), 3), path)
}

#[test]
fn an_accepted_message_without_an_entry_is_found_at_once() {
    // The judge receives an answer that accepts a message, and the journal has no entry for it.
    let mut tampered = begin(TinyWorld::Room, &plan(), 3);
    tampered.forge_accepted(0);
    let found = search_from(TinyWorld::Room, tampered, &options(2), &mut |_| {
        ControlFlow::Continue(())
    });
    let path = found.counterexample.unwrap();
    assert_eq!(path.steps.len(), 0);
    assert!(
        path.violations
            .iter()
            .any(|one| one.property == "durability"),
        "{:?}",
        path.violations
    );
    let held = found
        .tally
        .properties()
        .find(|(name, _)| *name == "durability");
    assert_eq!(held.unwrap().1.held, Some(false));
}

#[test]
fn a_message_delivered_twice_is_found_at_its_step() {
    let mut tampered = begin(TinyWorld::Room, &plan(), 3);
    for ask in [TinyCall::Claim, TinyCall::Send] {
        tampered.apply(Action::Call(0, ask));
    }
    tampered.forge_received_again(1);
    assert!(tampered.violated());
}

#[test]
fn a_reader_id_reads_the_inbox_alone_and_the_judge_knows_it() {
    let mut tiny = begin(TinyWorld::Room, &plan(), 3);
    let (room, before, limit) = (None, None, 9);
    let history = Read::History {
        room,
        before,
        limit,
    };
    for read in [history, Read::Members { room }, Read::Mood] {
        let refusal = tiny.read_by_reader_id(0, read).unwrap_err();
        assert!(refusal.is(Code::UnknownHandle), "{refusal:?}");
        assert!(!tiny.violated(), "{read:?}");
    }
}

#[test]
fn a_finished_chat_known_to_all_leads_back_to_its_state() {
    let fresh = after(TinyWorld::Room, &[]);
    let spoken = [
        Action::Call(1, TinyCall::Claim),
        Action::Call(1, TinyCall::Send),
        Action::Call(1, TinyCall::Reset),
    ];
    let spoken = after(TinyWorld::Room, &spoken);
    assert_ne!(key(&fresh), key(&spoken), "b knows a grant that is over");
    let again = [
        Action::Call(1, TinyCall::Claim),
        Action::Call(1, TinyCall::Reset),
    ];
    assert_eq!(key(&spoken), key(&after(TinyWorld::Room, &again)));
}

#[test]
fn commuting_steps_lead_to_one_state() {
    let one = [Action::Disconnect(0), Action::Call(1, TinyCall::Claim)];
    let other = [Action::Call(1, TinyCall::Claim), Action::Disconnect(0)];
    let (one, other) = (after(TinyWorld::Room, &one), after(TinyWorld::Room, &other));
    assert_ne!(
        key(&one),
        key(&other),
        "a has not read of the grant in one of them"
    );
    let one = [
        Action::Call(1, TinyCall::Append),
        Action::Call(0, TinyCall::Claim),
    ];
    let other = [
        Action::Call(0, TinyCall::Claim),
        Action::Call(1, TinyCall::Append),
    ];
    assert_eq!(
        key(&after(TinyWorld::Room, &one)),
        key(&after(TinyWorld::Room, &other)),
        "both appends are refused"
    );
    let claims = |first, second| {
        let path = [
            Action::Call(0, TinyCall::Claim),
            Action::Call(first, TinyCall::Claim),
            Action::Call(second, TinyCall::Claim),
        ];
        key(&after(TinyWorld::Room, &path))
    };
    assert_ne!(claims(1, 2), claims(2, 1), "who waits longer matters");
}

/// Paths on which a judge once reported a false violation, each found by the search.
#[test]
fn correct_paths_have_no_violations() {
    let call = Action::Call;
    let left_and_back_before_reading_of_it = [
        Action::Disconnect(0),
        call(0, TinyCall::Leave),
        call(0, TinyCall::Login),
    ];
    let read_of_the_first_stay_in_the_second = [
        call(0, TinyCall::Claim),
        Action::Crash,
        call(0, TinyCall::Leave),
        call(1, TinyCall::Check),
        call(0, TinyCall::Login),
    ];
    let refused_from_memory_after_a_crash = [
        call(0, TinyCall::Leave),
        Action::Lost(0, TinyCall::Claim),
        call(0, TinyCall::Login),
        Action::Crash,
        Action::Retry(0),
    ];
    let away_in_line_and_back_by_a_stream = [
        Action::Disconnect(0),
        call(2, TinyCall::Block),
        call(0, TinyCall::Enter),
        call(2, TinyCall::Enter),
        Action::Deadline,
        Action::Reconnect(0),
        call(1, TinyCall::Enter),
    ];
    for (world, path) in [
        (TinyWorld::Room, &left_and_back_before_reading_of_it[..]),
        (TinyWorld::Room, &read_of_the_first_stay_in_the_second),
        (TinyWorld::Room, &refused_from_memory_after_a_crash),
        (TinyWorld::Line, &away_in_line_and_back_by_a_stream),
    ] {
        let blamed = after(world, path).finish().judgement.violations;
        assert!(blamed.is_empty(), "{path:?}: {blamed:?}");
    }
}

#[test]
fn time_advances_only_by_its_own_step() {
    let claimed = after(TinyWorld::Room, &[Action::Call(0, TinyCall::Claim)]);
    let expired = after(
        TinyWorld::Room,
        &[Action::Call(0, TinyCall::Claim), Action::Deadline],
    );
    assert_ne!(key(&claimed), key(&expired));
    assert!(claimed.now() < Time(2_000_000) && expired.now() > Time(4_000_000));
}

#[test]
fn a_path_s_steps_read_back_as_written() {
    let lines: Vec<String> = [
        Action::Call(0, TinyCall::Claim),
        Action::Lost(1, TinyCall::Push),
        Action::Retry(1),
        Action::Crash,
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    assert_eq!(
        lines,
        [
            "a  talking_stick",
            "b  push, and the answer is lost",
            "b  the same call again, under the same key",
            "-  the server crashes and comes back",
        ]
    );
}

/// The answers of each client, step by step.
#[derive(Default)]
struct Answers(Vec<(u8, String)>);

impl Observer for Answers {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Client(record) = event
            && let ClientEvent::Answered { outcome, .. } = record.what
        {
            let user = u8::try_from(record.agent.0).unwrap();
            self.0.push((user, words(outcome)));
        }
    }
}

/// The answers to the clients of a path, and to the users of its scenario. Of the latter only the
/// first ones, because all users drain their inboxes at the end.
fn answers(world: TinyWorld, path: &[Action]) -> [Vec<(u8, String)>; 2] {
    let mut tiny = begin(world, &plan(), 3);
    let mut told = Vec::new();
    for action in path {
        let outcome = tiny.apply(*action);
        if let (Action::Call(user, _) | Action::Retry(user), Some(outcome)) = (action, outcome) {
            told.push((*user, words(&outcome)));
        }
    }
    let scenario = to_yaml(&script::script(world, 3, path, "path"));
    let scenario = parse("path.yaml", &scenario).unwrap();
    let mut seen = Answers::default();
    run_seed(&scenario, 1, &Progress::default(), Some(&mut seen));
    let set_up = match world {
        TinyWorld::Line => 6,
        TinyWorld::Room => 3,
    };
    let seen = seen.0.into_iter().skip(set_up).take(told.len()).collect();
    [told, seen]
}

/// Whether the path can be expressed as a scenario: see the head of `script.rs`.
fn can_be_said(here: &Tiny, action: Action) -> bool {
    let lost_an_answer = |user: u8| here.clients()[usize::from(user)].unanswered.is_some();
    let (user, ask) = match action {
        Action::Call(user, ask) | Action::Lost(user, ask) => (user, ask),
        Action::Disconnect(user) => return !lost_an_answer(user),
        Action::Crash => return !(0..3).any(lost_an_answer),
        Action::Retry(_) | Action::Reconnect(_) | Action::Deadline => return true,
    };
    let client = &here.clients()[usize::from(user)];
    match ask {
        TinyCall::Block => false,
        TinyCall::Leave
        | TinyCall::Claim
        | TinyCall::Append
        | TinyCall::Push
        | TinyCall::Reset
        | TinyCall::Send => client.in_room,
        TinyCall::Enter | TinyCall::LeaveQueue | TinyCall::Login | TinyCall::Check => true,
    }
}

#[test]
fn a_path_s_scenario_gives_the_path_s_answers() {
    for &world in TinyWorld::ALL {
        let mut paths: Vec<Vec<Action>> = vec![Vec::new()];
        for depth in 1..=3_usize {
            let mut longer = Vec::new();
            for (index, path) in paths.iter().enumerate() {
                let here = after(world, path);
                let actions = actions(world, &here, 2);
                let possible = actions.iter().filter(|action| can_be_said(&here, **action));
                // Of the longer paths, a sample of all kinds.
                let every = [1, 2, 7][depth - 1];
                let chosen = possible.skip(index % every).step_by(every);
                longer.extend(chosen.map(|action| [path.as_slice(), &[*action]].concat()));
            }
            for path in &longer {
                let [told, seen] = answers(world, path);
                assert_eq!(told, seen, "{world}: {path:?}");
            }
            paths = longer;
        }
        assert!(paths.len() > 100, "{} paths", paths.len());
    }
}

#[test]
fn a_path_s_scenario_repeats_its_waits_and_retries() {
    let path = [
        Action::Call(0, TinyCall::Claim),
        Action::Call(1, TinyCall::Claim),
        Action::Lost(0, TinyCall::Append),
        Action::Disconnect(2),
        Action::Deadline,
        Action::Retry(0),
        Action::Crash,
        Action::Reconnect(2),
    ];
    let [told, seen] = answers(TinyWorld::Room, &path);
    assert_eq!(told, seen);
    assert_eq!(told.last().unwrap(), &(0, "draft of 1".to_owned()));
}
