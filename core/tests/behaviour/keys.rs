//! Request keys: a repeated one returns its first outcome.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn a_repeated_key_has_one_effect_and_one_answer() {
    assert_snapshot!(check("
        config stick=optional
        0s ann login
           ben login
           ann send 'once' key=1
        1s ann send 'once' key=1
           ann send 'twice' key=2
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann send 'once' key=1 ⇒ sent room_1/3 at 0s
        room_1/3 message.received ann: "once" → ben#2
    1s ann send 'once' key=1 ⇒ sent room_1/3 at 0s
    ann send 'twice' key=2 ⇒ sent room_1/4 at 1s
        room_1/4 message.received ann: "twice" → ben#3
    "#);
}

#[test]
fn refusals_are_remembered_too() {
    assert_snapshot!(check("
        0s ann login
           ann send 'x' key=1
           ann talking_stick
           ann send 'x' key=1
           ann send 'x' key=2
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann send 'x' key=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant; next 5m
    ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m; next 2m
        room_1/2 stick.granted ann epoch 1 for 2m → ann#2
    ann send 'x' key=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
    ann send 'x' key=2 ⇒ sent room_1/3 at 0s
    ");
}

#[test]
fn a_key_is_for_one_request() {
    assert_snapshot!(check("
        config stick=optional
        0s ann login
           ann send 'x' key=1
           ann send 'y' key=1
           ann typing key=1
        # The first request is remembered still.
           ann send 'x' key=1
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann send 'x' key=1 ⇒ sent room_1/2 at 0s; next 5m
    ann send 'y' key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
    ann typing key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
    # The first request is remembered still.
    ann send 'x' key=1 ⇒ sent room_1/2 at 0s
    ");
}

#[test]
fn keys_are_their_participants_own() {
    assert_snapshot!(check("
        config stick=optional
        0s ann login key=1
           ben login key=1
           ann send 'x' key=2
           ben send 'y' key=2
    "), @r#"
    0s ann login key=1 ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login key=1 ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann send 'x' key=2 ⇒ sent room_1/3 at 0s
        room_1/3 message.received ann: "x" → ben#2
    ben send 'y' key=2 ⇒ sent room_1/4 at 0s; next 5m
        room_1/4 message.received ben: "y" → ann#3
    "#);
}

#[test]
fn a_key_is_forgotten_after_128_others() {
    let told = |others: usize| {
        let fill: String = (0..others)
            .map(|n| format!("ann typing key={}\n", n + 100))
            .collect();
        check(&format!(
            "config stick=optional
             0s ann login
                ann send 'x' key=1
                {fill}
                ann send 'x' key=1"
        ))
    };
    assert!(told(127).ends_with("ann send 'x' key=1 ⇒ sent room_1/2 at 0s\n"));
    assert!(told(128).ends_with("ann send 'x' key=1 ⇒ sent room_1/3 at 0s\n"));
}

#[test]
fn a_remembered_answer_still_counts_as_a_call() {
    assert_snapshot!(check("
        0s ann login
        1s ann typing key=1
        4m ann typing key=1
        8m ann users
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    1s ann typing key=1 ⇒ done; next 301s
        ~ room_1 ann types
    4m ann typing key=1 ⇒ done; next 9m
    8m ann users ⇒ room_1: ann present since 0s
    ");
}

#[test]
fn the_latest_key_is_known_however_many_came_before() {
    for others in [127, 128, 129, 200, 300] {
        let fill: String = (0..others)
            .map(|n| format!("ann typing key={}\n", n + 100))
            .collect();
        let told = check(&format!(
            "config stick=optional
             0s ann login
                {fill}
                ann send 'x' key=1
                ann send 'x' key=1"
        ));
        let again = "ann send 'x' key=1 ⇒ sent room_1/2 at 0s\n";
        assert!(told.ends_with(again), "after {others} others: {told}");
    }
}
