//! Request keys: a repeated one returns its first outcome.

use crate::check::play;

scripts! {
    a_repeated_key_has_one_effect_and_one_answer: r#"
        config stick=optional
        0s given ann,ben login
        ann send 'once' key=1 ⇒ sent room_1/3 at 0s
            room_1/3 message.received ann: "once" → ben#2
        1s ann send 'once' key=1 ⇒ sent room_1/3 at 0s
        ann send 'twice' key=2 ⇒ sent room_1/4 at 1s
            room_1/4 message.received ann: "twice" → ben#3
    "#,

    refusals_are_remembered_too: "
        0s given ann login
        ann send 'x' key=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant; next 5m
        ann talking_stick ⇒ place 0 in room_1; ann holds epoch 1 until 2m; next 2m
            room_1/2 stick.granted ann epoch 1 for 2m → ann#2
        ann send 'x' key=1 ⇒ refused, stick_required: You do not hold the talking stick; claim it and wait for the grant
        ann send 'x' key=2 ⇒ sent room_1/3 at 0s
    ",

    a_key_is_for_one_request: "
        config stick=optional
        0s given ann login
        ann send 'x' key=1 ⇒ sent room_1/2 at 0s; next 5m
        each ann send 'y' key=1; ann typing key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
        # The first request is remembered still.
        ann send 'x' key=1 ⇒ sent room_1/2 at 0s
    ",

    keys_are_their_participants_own: r#"
        config stick=optional
        0s given ann,ben login key=1
        ann send 'x' key=2 ⇒ sent room_1/3 at 0s
            room_1/3 message.received ann: "x" → ben#2
        ben send 'y' key=2 ⇒ sent room_1/4 at 0s; next 5m
            room_1/4 message.received ben: "y" → ann#3
    "#,

    a_remembered_answer_still_counts_as_a_call: "
        0s given ann login
        1s ann typing key=1 ⇒ done; next 301s
            ~ room_1 ann types
        4m ann typing key=1 ⇒ done; next 9m
        8m ann users ⇒ room_1: ann present since 0s read to 0
    ",
}

#[test]
fn a_key_is_forgotten_after_128_others() {
    let fill = |others: usize| -> String {
        let keys = (0..others).map(|n| format!("ann typing key={}\n", n + 100));
        keys.collect()
    };
    let told = |before: usize, between: usize| {
        let (before, between) = (fill(before), fill(between));
        let send = "ann send 'x' key=1";
        let script = format!("0s ann login\n{before}{send}\n{between}{send}");
        play(&format!("config stick=optional\n{script}")).transcript
    };
    let again = |told: &str| told.ends_with("ann send 'x' key=1 ⇒ sent room_1/2 at 0s\n");
    assert!(again(&told(0, 127)));
    assert!(told(0, 128).ends_with("ann send 'x' key=1 ⇒ sent room_1/3 at 0s\n"));
    for others in [127, 128, 129, 200, 300] {
        assert!(again(&told(others, 0)), "after {others} others");
    }
}
