//! Breaks: their effect on stress and the boss, and who may take them.

scripts! {
    stress_rises_by_one_a_minute: "
        0s given ann enter_queue
        59.999s ann mood ⇒ stress 0, boss 0
        60s ann mood ⇒ stress 1, boss 0
        10m ann mood ⇒ stress 10, boss 0
        ann mood ⇒ stress 10, boss 0
        2h ann mood ⇒ stress 100, boss 0
    ",

    a_break_takes_stress_away_and_may_be_noticed: "
        seed 3
        0s given ann enter_queue; ann seen
        90m ann break coffee_mission ⇒ user_1 on coffee_mission, stress 35, boss 1, told at 90m; next 95m
        ann mood ⇒ stress 35, boss 1
        91m ann mood ⇒ stress 36, boss 1
        ann break chimaek excuse='the chicken was getting cold' ⇒ user_1 on chimaek, stress 0, boss 1, told at 91m; next 96m
        ann break chimaek ⇒ user_1 on chimaek, stress 0, boss 2, told at 91m
    ",

    a_break_without_a_handle_registers_in_no_room: "
        0s ann new break show_meme key=1 ⇒ user_1 on show_meme, stress 0, boss 1, told at 0s; next 1m
        ann new break show_meme key=1 ⇒ user_1 on show_meme, stress 0, boss 1, told at 0s
        30s ann send 'x' ⇒ refused, room_ambiguous: You are in 0 rooms; say which by room_id; next 330s
        40s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 340s
    ",

    the_sixth_noticed_break_waits_as_the_fifth: "
        config boss_alertness=100
        0s given ann enter_queue; ann break take_a_break; ann break watch_netflix
        given ann break show_meme; ann break bathroom_break
        ann break coffee_mission ⇒ user_1 on coffee_mission, stress 0, boss 5, told at 20s
        ann break urgent_call ⇒ user_1 on urgent_call, stress 0, boss 5, told at 20s
        # No real change, no new cool-down: the level falls five minutes after the fifth.
        299.999s ann mood ⇒ stress 4, boss 5
        300s ann mood ⇒ stress 5, boss 4
    ",

    a_boss_who_sees_nothing_stays_calm: "
        config boss_alertness=0
        0s given ann enter_queue
        ann break deep_thinking ⇒ user_1 on deep_thinking, stress 0, boss 0, told at 0s; next 5m
        ann break email_organizing ⇒ user_1 on email_organizing, stress 0, boss 0, told at 0s
        ann break company_dinner ⇒ user_1 on company_dinner, stress 0, boss 0, told at 0s
        ann mood ⇒ stress 0, boss 0
    ",

    the_boss_calms_down_while_the_server_is_off: "
        config boss_alertness=100 boss_alertness_cooldown=10s
        0s given ann enter_queue; ann,ann,ann break take_a_break
        15s resume boss_alertness_cooldown=1m ⇒ done; next 315s
        ann mood ⇒ stress 0, boss 2
        69s ann mood ⇒ stress 1, boss 2
        70s ann mood ⇒ stress 1, boss 1
    ",

    a_shortened_cool_down_lowers_one_level_at_most: "
        config boss_alertness=100 boss_alertness_cooldown=5m
        0s given ann enter_queue; ann,ann,ann,ann break take_a_break
        299s ann mood ⇒ stress 4, boss 4
        299s resume boss_alertness_cooldown=10s ⇒ done; next 599s
        ann mood ⇒ stress 4, boss 3
        308s ann mood ⇒ stress 5, boss 3
        309s ann mood ⇒ stress 5, boss 2
        319s ann mood ⇒ stress 5, boss 1
    ",

    a_zero_cool_down_is_a_second: "
        config boss_alertness=100 boss_alertness_cooldown=0s
        0s given ann enter_queue; ann break take_a_break
        0.999s ann mood ⇒ stress 0, boss 1
        1s ann mood ⇒ stress 0, boss 0
    ",

    a_repeated_break_is_one_break_with_one_answer: "
        config boss_alertness=100
        0s given ann enter_queue; ann seen
        2h ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 63, boss 1, told at 2h; next 125m
        3h ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 63, boss 1, told at 2h; next 185m
        ann mood ⇒ stress 100, boss 0
        ann break show_meme key=1 ⇒ refused, request_key_reused: That request_key was used for another request; choose a fresh one
    ",

    /// A delayed answer shows the levels at the instant at which it leaves, also for a repeated call.
    a_break_meanwhile_changes_an_answer_not_given_yet: "
        config boss_alertness=100 boss_alertness_cooldown=15s
        0s given ann enter_queue; ann,ann,ann,ann break take_a_break
        ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 4, told at 20s
        ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 4, told at 20s
        16s ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 4, told at 36s; next 316s
        ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 5, told at 20s
        40s ann break take_a_break ⇒ user_1 on take_a_break, stress 0, boss 4, told at 1m; next 340s
        ann break take_a_break key=1 ⇒ user_1 on take_a_break, stress 0, boss 5, told at 20s
    ",

    who_is_forgotten_begins_anew: "
        config boss_alertness=100
        0s given ann enter_queue; ann break take_a_break
        1h ann mood ⇒ stress 60, boss 0
        ann unregister ⇒ done; next never
            user_1 is forgotten
        ann enter_queue ⇒ user_2 waits at 1, estimated wait unknown; next 61m
        ann mood ⇒ stress 0, boss 0
    ",

    an_excuse_is_one_line_of_at_most_so_many_characters: r"
        config max_excuse=12
        0s ann new break leave_work excuse='far too long, all of it' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
        given ann enter_queue
        ann break leave_work excuse='the cat did' ⇒ user_1 on leave_work, stress 0, boss 0, told at 0s; next 5m
        each ann break leave_work excuse=''; ann break leave_work excuse=' ' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
        # A line that is no name will do.
        ann break chimaek excuse='a\u{2615}\u{fe0f}b  c' ⇒ user_1 on chimaek, stress 0, boss 0, told at 0s
        each ann break chimaek excuse='a\u{2028}b'; ann break chimaek excuse='a\u{9}b' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
        ann break chimaek excuse='a\u{85}b' ⇒ refused, invalid_arguments: excuse must be 1 to 12 characters on one line
    ",

    a_break_at_the_instant_of_an_answer_comes_after_it: "
        config boss_alertness=100 boss_alertness_cooldown=300d
        0s given ann enter_queue
        given ann,ann,ann,ann,ann break take_a_break
        9h ann break show_meme key=1 ⇒ user_1 on show_meme, stress 87, boss 5, told at 32420s; next 545m
        # Were there no stress left, nothing would show.
        32420s ann break coffee_mission key=2 ⇒ user_1 on coffee_mission, stress 3, boss 5, told at 32440s; next 32720s
        ann break show_meme key=1 ⇒ user_1 on show_meme, stress 87, boss 5, told at 32420s
    ",
}
