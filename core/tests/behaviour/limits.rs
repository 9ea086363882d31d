//! Limits on counts: nothing is refused or lost up to the limit, and beyond it something is, with
//! its own code. (Limits on the length of one call: `drafts.rs`, `named_rooms.rs`, `inbox.rs`.)

use chat_core::{Config, Reject};

use crate::check::play;

/// A limit of two. The script's last line exceeds it; the line before does not.
struct AtTwo {
    limit: &'static str,
    script: &'static str,
    refused: &'static str,
}

const REFUSING: [AtTwo; 14] = [
    AtTwo {
        limit: "max_excuse",
        script: "ann break chimaek excuse=ab \n ann break chimaek excuse=abc",
        refused: "invalid_arguments",
    },
    AtTwo {
        limit: "max_participants",
        script: "ann login \n ben login \n cat login",
        refused: "server_full",
    },
    AtTwo {
        limit: "max_per_address",
        script: "ann login \n ann seen \n ben login \n ben seen \n cat login",
        refused: "address_full",
    },
    AtTwo {
        limit: "max_rooms",
        script: "ann login den \n ann login attic \n ann login cellar",
        refused: "server_full",
    },
    AtTwo {
        limit: "max_queue",
        script:
            "ann login \n ben login \n cat login \n ann block ben \n ann block cat \n ben block cat
                 ann enter_queue \n ben enter_queue \n cat enter_queue",
        refused: "queue_full",
    },
    AtTwo {
        limit: "max_members",
        script: "ann login \n ben login \n cat login from=1",
        refused: "room_full",
    },
    AtTwo {
        limit: "max_rooms_each",
        script: "ann login den \n ann login attic \n ann login cellar",
        refused: "room_full",
    },
    AtTwo {
        limit: "max_message",
        script: "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann send 'xx' \n ann send 'xxx'",
        refused: "message_too_long",
    },
    AtTwo {
        limit: "max_draft",
        script: "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann append 'xx' \n ann append 'x'",
        refused: "draft_full",
    },
    AtTwo {
        limit: "max_interests",
        script: "ann enter_queue interests=a,b \n ben enter_queue interests=a,b,c",
        refused: "invalid_arguments",
    },
    AtTwo {
        limit: "max_blocks",
        script: "ann login \n ben login \n cat login \n dan login
                 ann block ben \n ann block cat \n ann block dan",
        refused: "invalid_arguments",
    },
    AtTwo {
        limit: "max_bans",
        script: "ann break chimaek \n operator ban_address 1 'x' \n operator ban ann 'x'
                 operator ban_address 2 'x'",
        refused: "invalid_arguments",
    },
    AtTwo {
        limit: "max_reports_per_address",
        script: "ann login \n ben login \n ann report ben '1' \n ben report ann '2'
                 cat login \n cat report ann '3'",
        refused: "invalid_arguments",
    },
    AtTwo {
        limit: "max_streams",
        script: "ann login \n ann open_stream \n ann open_stream \n ann open_stream",
        refused: "rate_limited",
    },
];

/// Limits that lead to something other than a refusal: a gap, a cut, an end, less history. For
/// each, the text that shows it, and a script whose last line causes it.
const TELLING: [(&str, &str, &str); 9] = [
    (
        "inbox_limit",
        "gap 1 to 1",
        "ann login \n ben login \n cat login \n ann read after=0",
    ),
    (
        "turn_limit",
        "turn_limit →",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann send 'x' \n ann send 'x'",
    ),
    (
        "max_ended_rooms",
        "room_not_found",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann leave_chat \n ann enter_queue \n ben enter_queue
         ann leave_chat \n ann enter_queue \n ben enter_queue \n ann leave_chat
         ann typing room=room_1",
    ),
    (
        "history_limit",
        "history ⇒ room_1\n    room_1/3",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann send 'x' \n ann send 'x' \n ann send 'x'
         ann history",
    ),
    (
        "max_append",
        "1 cut",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann append 'xxx'",
    ),
    (
        "remembered_keys",
        "room_1/3",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann send 'x' key=1 \n ann typing key=2
         ann typing key=3 \n ann send 'x' key=1",
    ),
    (
        "max_reports",
        "reports ⇒ user_2 of user_1: \"2\", user_3",
        "ann login \n ben login \n cat login \n ann report ben '1' \n ben report ann '2'
         cat report ann '3' \n reports",
    ),
    (
        "max_answer",
        "1 unread",
        "ann login \n ben login \n cat login \n ann read after=0",
    ),
    (
        "max_answer_bytes",
        "1 unread",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ben send 'x' \n ben send 'xx' \n ann read after=0",
    ),
];

/// Limits that the node enforces, and durations.
const ELSEWHERE: [&str; 19] = [
    "matching",
    "interest_patience",
    "idle_timeout",
    "queue_timeout",
    "unused_timeout",
    "reconnect_grace",
    "forget_after",
    "stick",
    "stick_lease",
    "max_wait",
    "rate_limit",
    "address_rate_limit",
    "registration_rate_limit",
    "boss_alertness",
    "boss_alertness_cooldown",
    "max_held",
    "max_held_each",
    "max_pending",
    "max_batch",
];

#[test]
fn up_to_its_limit_nothing_is_refused_and_beyond_it_all_is() {
    for AtTwo {
        limit,
        script,
        refused,
    } in REFUSING
    {
        let outcomes = play(&format!("config {limit}=2 \n 0s tick \n {script}")).outcomes;
        let (last, before) = outcomes.split_last().expect("lines");
        assert!(before.iter().all(Result::is_ok), "{limit}: {before:?}");
        assert_eq!(
            last.as_ref().map_err(Reject::code).err(),
            Some(refused),
            "{limit}"
        );
        // With a limit one higher, nothing is refused.
        let outcomes = play(&format!("config {limit}=3 \n 0s tick \n {script}")).outcomes;
        assert!(outcomes.iter().all(Result::is_ok), "{limit}: {outcomes:?}");
    }
}

#[test]
fn limits_that_do_not_refuse_tell() {
    for (limit, shown, script) in TELLING {
        let at = |n: u32| play(&format!("config {limit}={n} \n 0s tick \n {script}")).transcript;
        assert!(at(2).contains(shown), "{limit}:\n{}", at(2));
        let more = at(3);
        assert!(!more.contains(shown), "{limit}:\n{more}");
    }
}

#[test]
fn no_limit_was_left_out() {
    let config = serde_json::to_value(Config::default()).expect("a configuration serialises");
    let known = REFUSING
        .iter()
        .map(|at| at.limit)
        .chain(TELLING.iter().map(|(limit, ..)| *limit))
        .chain(ELSEWHERE);
    let known: Vec<&str> = known.collect();
    for key in config.as_object().expect("an object").keys() {
        assert!(known.contains(&key.as_str()), "{key} is not tested here");
    }
}

#[test]
fn what_was_there_before_a_limit_was_lowered_is_told_by_its_name() {
    let hub = play("0s ann login \n ben login \n cat login \n 1s resume max_participants=2").hub;
    let over = hub.sizes().into_iter().find(|size| size.size > size.limit);
    let over = over.map(|over| (over.name, over.size, over.limit));
    assert_eq!(over, Some(("participants", 3, 2)));
}
