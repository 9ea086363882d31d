//! Limits on counts: nothing is refused or lost up to the limit, and beyond it something is, with
//! its own code. (Limits on the length of one call: `drafts.rs`, `named_rooms.rs`, `inbox.rs`.)

use chat_core::{Config, Reject};

use crate::check::play;

/// For each limit, the code with which a limit of two refuses the last line of a script, and none
/// before.
pub(crate) const REFUSING: [(&str, &str, &str); 14] = [
    (
        "max_excuse",
        "invalid_arguments",
        "ann break chimaek excuse=ab \n ann break chimaek excuse=abc",
    ),
    (
        "max_participants",
        "server_full",
        "given ann,ben login \n cat login",
    ),
    (
        "max_per_address",
        "address_full",
        "given ann,ben login; ann,ben seen \n cat login",
    ),
    (
        "max_rooms",
        "server_full",
        "given ann login den; ann login attic \n ann login cellar",
    ),
    (
        "max_queue",
        "queue_full",
        "given ann,ben,cat login; ann block ben; ann,ben block cat
         given ann,ben enter_queue \n cat enter_queue",
    ),
    (
        "max_members",
        "room_full",
        "given ann,ben login \n cat login from=1",
    ),
    (
        "max_rooms_each",
        "room_full",
        "given ann login den; ann login attic \n ann login cellar",
    ),
    (
        "max_message",
        "message_too_long",
        "given ann,ben pair; ann send 'xx' \n ann send 'xxx'",
    ),
    (
        "max_draft",
        "draft_full",
        "given ann,ben pair; ann append 'xx' \n ann append 'x'",
    ),
    (
        "max_interests",
        "invalid_arguments",
        "given ann enter_queue interests=a,b \n ben enter_queue interests=a,b,c",
    ),
    (
        "max_blocks",
        "invalid_arguments",
        "given ann,ben,cat,dan login; ann block ben; ann block cat \n ann block dan",
    ),
    (
        "max_bans",
        "invalid_arguments",
        "given ann break chimaek; operator ban_address 1 'x'; operator ban ann 'x'
         operator ban_address 2 'x'",
    ),
    (
        "max_reports_per_address",
        "invalid_arguments",
        "given ann,ben,cat login; ann report ben '1'; ben report ann '2' \n cat report ann '3'",
    ),
    (
        "max_streams",
        "rate_limited",
        "given ann login; ann,ann open_stream \n ann open_stream",
    ),
];

/// Limits that lead to something other than a refusal: a gap, a cut, an end, less history. For
/// each, the text that shows it, and a script whose last line causes it.
const TELLING: [(&str, &str, &str); 9] = [
    (
        "inbox_limit",
        "gap 1 to 1",
        "given ann,ben,cat login \n ann read after=0",
    ),
    (
        "turn_limit",
        "turn_limit →",
        "given ann,ben pair; ann send 'x' \n ann send 'x'",
    ),
    (
        "max_ended_rooms",
        "room_not_found",
        "given ann,ben pair; ann leave_chat; ann,ben enter_queue; ann leave_chat
         given ann,ben enter_queue; ann leave_chat \n ann typing room=room_1",
    ),
    (
        "history_limit",
        "history ⇒ room_1\n    room_1/3",
        "given ann,ben pair; ann send 'x'; ann send 'x'; ann send 'x' \n ann history",
    ),
    (
        "max_append",
        "1 cut",
        "given ann,ben pair \n ann append 'xxx'",
    ),
    (
        "remembered_keys",
        "room_1/3",
        "given ann,ben pair; ann send 'x' key=1; ann typing key=2; ann typing key=3
         ann send 'x' key=1",
    ),
    (
        "max_reports",
        "reports ⇒ user_2 of user_1: \"2\", user_3",
        "given ann,ben,cat login; ann report ben '1'; ben report ann '2'; cat report ann '3'
         reports",
    ),
    (
        "max_answer",
        "1 unread",
        "given ann,ben,cat login \n ann read after=0",
    ),
    (
        "max_answer_bytes",
        "1 unread",
        "given ann,ben pair; ben send 'x'; ben send 'xx' \n ann read after=0",
    ),
];

/// Limits that the node enforces, and durations.
const ELSEWHERE: &str = "matching interest_patience idle_timeout queue_timeout unused_timeout \
    reconnect_grace forget_after stick stick_lease max_wait rate_limit address_rate_limit \
    registration_rate_limit boss_alertness boss_alertness_cooldown max_held max_held_each \
    max_pending max_batch";

#[test]
fn up_to_its_limit_nothing_is_refused_and_beyond_it_all_is() {
    for (limit, refused, script) in REFUSING {
        let outcomes = |n: u32| play(&format!("config {limit}={n} \n {script}")).outcomes;
        let at_two = outcomes(2);
        let (last, before) = at_two.split_last().expect("lines");
        assert!(before.iter().all(Result::is_ok), "{limit}: {before:?}");
        let code = last.as_ref().map_err(Reject::code).err();
        assert_eq!(code, Some(refused), "{limit}");
        // With a limit one higher, nothing is refused.
        assert!(outcomes(3).iter().all(Result::is_ok), "{limit}");
    }
}

#[test]
fn limits_that_do_not_refuse_tell() {
    for (limit, shown, script) in TELLING {
        let at = |n: u32| play(&format!("config {limit}={n} \n {script}")).transcript;
        assert!(at(2).contains(shown), "{limit}:\n{}", at(2));
        let more = at(3);
        assert!(!more.contains(shown), "{limit}:\n{more}");
    }
}

#[test]
fn no_limit_was_left_out() {
    let config = serde_json::to_value(Config::default()).expect("a configuration serialises");
    let mut known: Vec<&str> = ELSEWHERE.split_whitespace().collect();
    known.extend(REFUSING.iter().chain(&TELLING).map(|(limit, ..)| *limit));
    for key in config.as_object().expect("an object").keys() {
        assert!(known.contains(&key.as_str()), "{key} is not tested here");
    }
}

#[test]
fn what_exceeds_a_lowered_limit_is_named() {
    let hub = play("given ann,ben,cat login \n 1s resume max_participants=2").hub;
    let over = hub.sizes().into_iter().find(|size| size.size > size.limit);
    let over = over.map(|over| (over.name, over.size, over.limit));
    assert_eq!(over, Some(("participants", 3, 2)));
}
