//! Breaks: their effect on stress and the boss, and who may take them.

use insta::assert_snapshot;

use crate::check::{check, play};

#[test]
fn stress_rises_by_one_a_minute_and_reading_it_changes_nothing() {
    assert_snapshot!(check("
        0s ann enter_queue
        59.999s ann mood
        60s ann mood
        10m ann mood
            ann mood
        2h ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    59.999s ann mood ⇒ stress 0, boss 0
    60s ann mood ⇒ stress 1, boss 0
    10m ann mood ⇒ stress 10, boss 0
    ann mood ⇒ stress 10, boss 0
    2h ann mood ⇒ stress 100, boss 0
    ");
}

#[test]
fn a_break_takes_stress_away_and_may_be_noticed() {
    assert_snapshot!(check("
        seed 3
        0s ann enter_queue
           ann seen
        90m ann break coffee_mission
            ann mood
        91m ann mood
            ann break chimaek excuse='the chicken was getting cold'
            ann break chimaek
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    90m ann break coffee_mission ⇒ user_1 on coffee_mission, stress 35, boss 1, told at 90m; next 95m
    ann mood ⇒ stress 35, boss 1
    91m ann mood ⇒ stress 36, boss 1
    ann break chimaek excuse='the chicken was getting cold' ⇒ user_1 on chimaek, stress 0, boss 1, told at 91m; next 96m
    ann break chimaek ⇒ user_1 on chimaek, stress 0, boss 2, told at 91m
    ");
}

#[test]
fn a_break_without_a_handle_registers_in_no_room() {
    assert_snapshot!(check("
        0s ann new break show_meme key=1
           ann new break show_meme key=1
        30s ann send 'x'
        40s ann enter_queue
    "), @r"
    0s ann new break show_meme key=1 ⇒ user_1 on show_meme, stress 0, boss 1, told at 0s; next 1m
    ann new break show_meme key=1 ⇒ user_1 on show_meme, stress 0, boss 1, told at 0s
    30s ann send 'x' ⇒ refused, room_ambiguous: You are in 0 rooms; say which by room_id; next 330s
    40s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 340s
    ");
}

#[test]
fn under_a_boss_who_sees_everything_the_sixth_break_waits_as_the_fifth_did() {
    assert_snapshot!(check("
        config boss_alertness=100
        0s ann enter_queue
           ann break take_a_break
           ann break watch_netflix
           ann break show_meme
           ann break bathroom_break
           ann break coffee_mission
           ann break urgent_call
        # No real change, no new cool-down: the level falls five minutes after the fifth.
        299.999s ann mood
        300s ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 1, told at 0s; next 5m
    ann break watch_netflix ⇒ user_1 on watch_netflix, stress 0, boss 2, told at 0s
    ann break show_meme ⇒ user_1 on show_meme, stress 0, boss 3, told at 0s
    ann break bathroom_break ⇒ user_1 on bathroom_break, stress 0, boss 4, told at 0s
    ann break coffee_mission ⇒ user_1 on coffee_mission, stress 0, boss 5, told at 20s
    ann break urgent_call ⇒ user_1 on urgent_call, stress 0, boss 5, told at 20s
    # No real change, no new cool-down: the level falls five minutes after the fifth.
    299.999s ann mood ⇒ stress 4, boss 5
    300s ann mood ⇒ stress 5, boss 4
    ");
}

#[test]
fn a_boss_who_sees_nothing_stays_calm() {
    assert_snapshot!(check("
        config boss_alertness=0
        0s ann enter_queue
           ann break deep_thinking
           ann break email_organizing
           ann break company_dinner
           ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break deep_thinking ⇒ user_1 on deep_thinking, stress 0, boss 0, told at 0s; next 5m
    ann break email_organizing ⇒ user_1 on email_organizing, stress 0, boss 0, told at 0s
    ann break company_dinner ⇒ user_1 on company_dinner, stress 0, boss 0, told at 0s
    ann mood ⇒ stress 0, boss 0
    ");
}

#[test]
fn the_boss_calms_down_while_the_server_is_off_and_by_what_it_was_told_then() {
    assert_snapshot!(check("
        config boss_alertness=100 boss_alertness_cooldown=10s
        0s ann enter_queue
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
        15s resume boss_alertness_cooldown=1m
           ann mood
        69s ann mood
        70s ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 1, told at 0s; next 5m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 2, told at 0s
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 3, told at 0s
    15s resume boss_alertness_cooldown=1m ⇒ done; next 315s
    ann mood ⇒ stress 0, boss 2
    69s ann mood ⇒ stress 1, boss 2
    70s ann mood ⇒ stress 1, boss 1
    ");
}

#[test]
fn one_level_falls_at_most_when_a_restart_shortens_the_cool_down() {
    assert_snapshot!(check("
        config boss_alertness=100 boss_alertness_cooldown=5m
        0s ann enter_queue
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
        299s ann mood
        299s resume boss_alertness_cooldown=10s
             ann mood
        308s ann mood
        309s ann mood
        319s ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 1, told at 0s; next 5m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 2, told at 0s
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 3, told at 0s
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 4, told at 0s
    299s ann mood ⇒ stress 4, boss 4
    299s resume boss_alertness_cooldown=10s ⇒ done; next 599s
    ann mood ⇒ stress 4, boss 3
    308s ann mood ⇒ stress 5, boss 3
    309s ann mood ⇒ stress 5, boss 2
    319s ann mood ⇒ stress 5, boss 1
    ");
}

#[test]
fn a_zero_cool_down_is_a_second() {
    assert_snapshot!(check("
        config boss_alertness=100 boss_alertness_cooldown=0s
        0s ann enter_queue
           ann break take_a_break
        0.999s ann mood
        1s ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 1, told at 0s; next 5m
    0.999s ann mood ⇒ stress 0, boss 1
    1s ann mood ⇒ stress 0, boss 0
    ");
}

#[test]
fn a_repeated_break_is_one_break_with_one_answer() {
    assert_snapshot!(check("
        config boss_alertness=100
        0s ann enter_queue
           ann seen
        2h ann break take_a_break key=1
        3h ann break take_a_break key=1
           ann mood
           ann break show_meme key=1
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann seen ⇒ done; next 5m
    2h ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 63, boss 1, told at 2h; next 125m
    3h ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 63, boss 1, told at 2h; next 185m
    ann mood ⇒ stress 100, boss 0
    ann break show_meme key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
    ");
}

/// A delayed answer shows the levels at the instant at which it leaves, also for a repeated call.
#[test]
fn a_break_in_the_meantime_changes_an_answer_that_was_not_given_yet() {
    assert_snapshot!(check("
        config boss_alertness=100 boss_alertness_cooldown=15s
        0s ann enter_queue
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break key=1
           ann break take_a_break key=1
        16s ann break take_a_break
            ann break take_a_break key=1
        40s ann break take_a_break
            ann break take_a_break key=1
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 1, told at 0s; next 5m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 2, told at 0s
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 3, told at 0s
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 4, told at 0s
    ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 4, told at 20s
    ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 4, told at 20s
    16s ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 4, told at 36s; next 316s
    ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 5, told at 20s
    40s ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 4, told at 1m; next 340s
    ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 5, told at 20s
    ");
}

#[test]
fn an_excuse_is_one_line_of_at_most_so_many_characters() {
    assert_snapshot!(check("
        config max_excuse=12
        0s ann new break leave_work excuse='far too long, all of it'
           ann enter_queue
           ann break leave_work excuse='the cat did'
           ann break leave_work excuse=''
           ann break leave_work excuse=' '
    "), @r"
    0s ann new break leave_work excuse='far too long, all of it' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
    ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break leave_work excuse='the cat did' ⇒ user_1 on leave_work, stress 0, boss 0, told at 0s; next 5m
    ann break leave_work excuse='' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
    ann break leave_work excuse=' ' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
    ");
    let outcomes = play("ann enter_queue \n ann break chimaek excuse='a☕️b  c'").outcomes;
    assert!(outcomes[1].is_ok(), "a line that is no name");
    for excuse in ["a\u{2028}b", "a\tb", "a\u{85}b"] {
        let outcomes = play(&format!(
            "ann enter_queue \n ann break chimaek excuse='{excuse}'"
        ))
        .outcomes;
        let code = outcomes[1].as_ref().map_err(|why| why.code());
        assert_eq!(code, Err("invalid_arguments"));
    }
}

#[test]
fn who_is_forgotten_begins_anew() {
    assert_snapshot!(check("
        config boss_alertness=100
        0s ann enter_queue
           ann break take_a_break
        1h ann mood
           ann unregister
           ann enter_queue
           ann mood
    "), @r"
    0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
    ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 1, told at 0s; next 5m
    1h ann mood ⇒ stress 60, boss 0
    ann unregister ⇒ done; next never
        user_1 is forgotten
    ann enter_queue ⇒ user_2 waits at 1, estimated wait unknown; next 61m
    ann mood ⇒ stress 0, boss 0
    ");
}

#[test]
fn a_break_at_the_instant_of_an_answer_comes_after_it() {
    let transcript = check(
        "
        config boss_alertness=100 boss_alertness_cooldown=300d
        0s ann enter_queue
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
           ann break take_a_break
        9h ann break show_meme key=1
        32420s ann break coffee_mission key=2
           ann break show_meme key=1
    ",
    );
    let answers: Vec<_> = transcript
        .lines()
        .filter_map(|line| line.split_once("show_meme key=1 ⇒ "))
        .collect();
    assert_eq!(answers.len(), 2, "{transcript}");
    let [first, again] = [answers[0].1, answers[1].1].map(|answer| answer.split(';').next());
    assert_eq!(first, again, "{transcript}");
    assert!(
        first.is_some_and(|answer| answer.ends_with("told at 32420s")),
        "{transcript}"
    );
    assert!(
        !transcript.contains("coffee_mission, stress 0"),
        "else nothing would have shown: {transcript}"
    );
}
