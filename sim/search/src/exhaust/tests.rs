use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use chat_types::Time;

use super::search::search_from;
use super::worlds::{actions, begin, first_calls, plan};
use super::*;
use crate::seed::run_seed;
use Action::{Call, Crash, Deadline, Disconnect, Lost, Reconnect, Retry};
use TinyCall::{Append, Block, Check, Claim, Enter, Leave, LeaveQueue, Login, Push, Reset, Send};
use TinyWorld::{Queue, Room};
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

/// The key of the room after these actions.
fn in_room(path: &[Action]) -> u64 {
    key(&after(Room, path))
}

fn after(world: TinyWorld, path: &[Action]) -> Tiny {
    search::run(&begin(world, &plan(), 3), path)
}

#[test]
fn an_accepted_message_without_an_entry_is_found_at_once() {
    // The judge receives an answer that accepts a message, and the journal has no entry for it.
    let mut tampered = begin(Room, &plan(), 3);
    tampered.forge_accepted(0);
    let found = search_from(Room, tampered, &options(2), &mut |_| {
        ControlFlow::Continue(())
    });
    let path = found.counterexample.unwrap();
    assert_eq!(path.steps.len(), 0);
    let mut broken = path.violations.iter();
    assert!(broken.any(|one| one.property == "durability"), "{path:?}");
    let mut judged = found.tally.properties();
    let durability = judged.find(|(name, _)| *name == "durability");
    assert_eq!(durability.unwrap().1.held, Some(false));
}

#[test]
fn a_message_delivered_twice_is_found_at_its_step() {
    let mut tampered = begin(Room, &plan(), 3);
    for ask in [Claim, Send] {
        tampered.apply(Call(0, ask));
    }
    tampered.forge_received_again(1);
    assert!(tampered.violated());
}

#[test]
fn a_reader_id_reads_the_inbox_alone_and_the_judge_knows_it() {
    let mut tiny = begin(Room, &plan(), 3);
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
    let fresh = in_room(&[]);
    let spoken = [Call(1, Claim), Call(1, Send), Call(1, Reset)];
    let spoken = in_room(&spoken);
    assert_ne!(fresh, spoken, "b knows a grant that is over");
    let again = [Call(1, Claim), Call(1, Reset)];
    assert_eq!(spoken, in_room(&again));
}

#[test]
fn commuting_steps_lead_to_one_state() {
    let one = [Disconnect(0), Call(1, Claim)];
    let other = [Call(1, Claim), Disconnect(0)];
    let unread = "a has not read of the grant in one of them";
    assert_ne!(in_room(&one), in_room(&other), "{unread}");
    let one = [Call(1, Append), Call(0, Claim)];
    let other = [Call(0, Claim), Call(1, Append)];
    let refused = "both appends are refused";
    assert_eq!(in_room(&one), in_room(&other), "{refused}");
    let claims = |first, second| {
        let path = [Call(0, Claim), Call(first, Claim), Call(second, Claim)];
        in_room(&path)
    };
    assert_ne!(claims(1, 2), claims(2, 1), "who waits longer matters");
}

/// Paths on which a judge once reported a false violation, each found by the search.
#[test]
fn correct_paths_have_no_violations() {
    let left_and_back_before_reading_of_it = [Disconnect(0), Call(0, Leave), Call(0, Login)];
    let read_of_the_first_stay_in_the_second = [
        Call(0, Claim),
        Crash,
        Call(0, Leave),
        Call(1, Check),
        Call(0, Login),
    ];
    let refused_from_memory_after_a_crash = [
        Call(0, Leave),
        Lost(0, Claim),
        Call(0, Login),
        Crash,
        Retry(0),
    ];
    let away_in_line_and_back_by_a_stream = [
        Disconnect(0),
        Call(2, Block),
        Call(0, Enter),
        Call(2, Enter),
        Deadline,
        Reconnect(0),
        Call(1, Enter),
    ];
    for (world, path) in [
        (Room, &left_and_back_before_reading_of_it[..]),
        (Room, &read_of_the_first_stay_in_the_second),
        (Room, &refused_from_memory_after_a_crash),
        (Queue, &away_in_line_and_back_by_a_stream),
    ] {
        let blamed = after(world, path).finish().judgement.violations;
        assert!(blamed.is_empty(), "{path:?}: {blamed:?}");
    }
}

#[test]
fn time_advances_only_by_its_own_step() {
    let claimed = after(Room, &[Call(0, Claim)]);
    let expired = after(Room, &[Call(0, Claim), Deadline]);
    assert_ne!(key(&claimed), key(&expired));
    assert!(claimed.now < Time(2_000_000) && expired.now > Time(4_000_000));
}

#[test]
fn a_path_s_steps_read_back_as_written() {
    let lines: Vec<String> = [Call(0, Claim), Lost(1, Push), Retry(1), Crash]
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
        if let (Call(user, _) | Retry(user), Some(outcome)) = (action, outcome) {
            told.push((*user, words(&outcome)));
        }
    }
    let scenario = to_yaml(&script::script(world, 3, path, "path"));
    let scenario = parse("path.yaml", &scenario).unwrap();
    let mut seen = Answers::default();
    run_seed(&scenario, 1, &Progress::default(), Some(&mut seen));
    let set_up = 3 * first_calls(world).len();
    let seen = seen.0.into_iter().skip(set_up).take(told.len()).collect();
    [told, seen]
}

/// Whether the path can be expressed as a scenario: see the head of `script.rs`.
fn can_be_said(here: &Tiny, action: Action) -> bool {
    let lost_an_answer = |user: u8| here.clients[usize::from(user)].unanswered.is_some();
    let (user, ask) = match action {
        Call(user, ask) | Lost(user, ask) => (user, ask),
        Disconnect(user) => return !lost_an_answer(user),
        Crash => return !(0..3).any(lost_an_answer),
        Retry(_) | Reconnect(_) | Deadline => return true,
    };
    let client = &here.clients[usize::from(user)];
    match ask {
        Block => false,
        Leave | Claim | Append | Push | Reset | Send => client.in_room,
        Enter | LeaveQueue | Login | Check => true,
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
                let every = [1, 2, 11][depth - 1];
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
        Call(0, Claim),
        Call(1, Claim),
        Lost(0, Append),
        Disconnect(2),
        Deadline,
        Retry(0),
        Crash,
        Reconnect(2),
    ];
    let [told, seen] = answers(Room, &path);
    assert_eq!(told, seen);
    assert_eq!(told.last().unwrap(), &(0, "draft of 1".to_owned()));
}
