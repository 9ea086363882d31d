//! The inbox: one bounded log with cursors for each participant, with gaps for dropped events.

use crate::check::play;

scripts! {
    only_what_is_acknowledged_goes: r#"
        config stick=optional
        0s given ann,ben login; ben send '1'; ben send '2'
        ann read ⇒ cursor 4, 0 unread
            #1 room_1/1 user.joined ann
            #2 room_1/2 user.joined ben
            #3 room_1/3 message.received ben: "1"
            #4 room_1/4 message.received ben: "2"
        # What was acknowledged is gone and not named, what was delivered is kept.
        given ann ack 2; ann deliver 3
        ann read after=1 ⇒ cursor 4, 0 unread
            gap 2 to 2
            #3 room_1/3 message.received ben: "1"
            #4 room_1/4 message.received ben: "2"
    "#,

    a_bare_check_goes_on_from_the_last_answer: r#"
        config stick=optional
        0s given ann,ben login; ben send '1'; ann deliver 2
        ann read ⇒ cursor 3, 0 unread
            #3 room_1/3 message.received ben: "1"
        ann deliver 3 ⇒ done
        ann read ⇒ cursor 3, 0 unread
        ben send '2' ⇒ sent room_1/4 at 0s
            room_1/4 message.received ben: "2" → ann#4
        ann read ⇒ cursor 4, 0 unread
            #4 room_1/4 message.received ben: "2"
        ann read after=0 max=1 ⇒ cursor 1, 3 unread
            #1 room_1/1 user.joined ann
    "#,

    at_the_limit_the_oldest_of_the_largest_room_go: r#"
        config stick=optional inbox_limit=3
        0s given ann login lobby; ann,ben login den; ben send '1'; ben send '2'; ben send '3'
        ann read ⇒ cursor 6, 0 unread
            #1 room_1/1 user.joined ann
            gap 2 to 4, room_2/1 to 3 (1 said, you joined, members changed)
            #5 room_2/4 message.received ben: "2"
            #6 room_2/5 message.received ben: "3"
        ann read after=2 ⇒ cursor 6, 0 unread
            gap 3 to 4, room_2/1 to 3 (1 said, members changed)
            #5 room_2/4 message.received ben: "2"
            #6 room_2/5 message.received ben: "3"
        ann read after=3 ⇒ cursor 6, 0 unread
            gap 4 to 4, room_2/1 to 3 (1 said)
            #5 room_2/4 message.received ben: "2"
            #6 room_2/5 message.received ben: "3"
    "#,

    a_room_gives_what_it_has_beyond_its_share: r#"
        config stick=optional inbox_limit=4
        0s given ann login one; ann login two; ben login one; ben login two; ann ack 4
        given ben send '1' room=1; ben send '2' room=1; ben send '3' room=1; ben send '4' room=1
        # Of the largest room the oldest goes, until both have two.
        given ben send '5' room=2; ben send '6' room=2
        # Two rooms with as many: the new event makes its own the larger one.
        given ben send '7' room=2
        ann read ⇒ cursor 11, 0 unread
            gap 5 to 6, room_1/3 to 4 (2 said)
            #7 room_1/5 message.received ben: "3"
            #8 room_1/6 message.received ben: "4"
            gap 9 to 9, room_2/3 to 3 (1 said)
            #10 room_2/4 message.received ben: "6"
            #11 room_2/5 message.received ben: "7"
        # One page ends where the next begins, before, in and behind a gap.
        ann read after=4 max=1 ⇒ cursor 7, 4 unread
            gap 5 to 6, room_1/3 to 4 (2 said)
            #7 room_1/5 message.received ben: "3"
        ann read after=6 max=1 ⇒ cursor 7, 4 unread
            #7 room_1/5 message.received ben: "3"
        ann read after=8 max=1 ⇒ cursor 10, 1 unread
            gap 9 to 9, room_2/3 to 3 (1 said)
            #10 room_2/4 message.received ben: "6"
        ann read after=9 max=2 ⇒ cursor 11, 0 unread
            #10 room_2/4 message.received ben: "6"
            #11 room_2/5 message.received ben: "7"
    "#,

    delivered_events_go_before_undelivered_ones: r#"
        config stick=optional inbox_limit=3
        0s given ann,ben login; ben send '1'; ann deliver 2; ben send '2'; ben send '3'
        ann read ⇒ cursor 5, 0 unread
            #3 room_1/3 message.received ben: "1"
            #4 room_1/4 message.received ben: "2"
            #5 room_1/5 message.received ben: "3"
        ben send '4' ⇒ sent room_1/6 at 0s
            room_1/6 message.received ben: "4" → ann#6
        ann read ⇒ cursor 6, 0 unread
            gap 3 to 3, room_1/1 to 3 (1 said)
            #4 room_1/4 message.received ben: "2"
            #5 room_1/5 message.received ben: "3"
            #6 room_1/6 message.received ben: "4"
    "#,

    acknowledging_what_is_left_ends_the_gap: r#"
        config stick=optional inbox_limit=2
        0s given ann,ben login; ben send '1'; ben send '2'; ben send '3'; ann ack 1
        # Not all that is gone was acknowledged: the gap is told until it is.
        ann read after=1 ⇒ cursor 5, 0 unread
            gap 2 to 3, room_1/1 to 3 (1 said, members changed)
            #4 room_1/4 message.received ben: "2"
            #5 room_1/5 message.received ben: "3"
        ann ack 3 ⇒ done
        ann read after=3 ⇒ cursor 5, 0 unread
            #4 room_1/4 message.received ben: "2"
            #5 room_1/5 message.received ben: "3"
        given ben send '4'; ben send '5'; ben send '6'
        ann read after=3 ⇒ cursor 8, 0 unread
            gap 4 to 6, room_1/4 to 6 (3 said)
            #7 room_1/7 message.received ben: "5"
            #8 room_1/8 message.received ben: "6"
    "#,

    one_entry_may_overflow_an_inbox_all_alone: "
        config inbox_limit=2 stick_lease=4s
        0s given ann,ben login; ann,ben talking_stick; ann ack 4
        9s tick ⇒ done; next 5m
            room_1/6 stick.granted ben epoch 2 for 4s → ann#6 ben#5
            room_1/7 stick.expired ben epoch 2 → ann#7 ben#6
            ann gap 5 to 5, room_1/5 to 5 (your stick expired epoch 1)
            ben gap 4 to 4, room_1/2 to 5 (stick changed)
        ann read after=4 ⇒ cursor 7, 0 unread
            gap 5 to 5, room_1/5 to 5 (your stick expired epoch 1)
            #6 room_1/6 stick.granted ben epoch 2 for 4s
            #7 room_1/7 stick.expired ben epoch 2
    ",

    a_cursor_beyond_the_end_is_invalid: "
        0s given ann login
        ann read after=1 ⇒ cursor 1, 0 unread
        ann read after=2 ⇒ refused, invalid_cursor: That cursor lies beyond the end of your inbox, which is 1
        # What the node proposes beyond the end is taken as the end.
        ann ack 9 ⇒ done
        ben login ⇒ user_2 in room_1
            room_1/2 user.joined ben → ann#2 ben#1
        ann read ⇒ cursor 2, 0 unread
            #2 room_1/2 user.joined ben
    ",

    an_answer_is_cut_at_its_limit_and_says_how_many_follow: r#"
        config stick=optional max_answer=2
        0s given ann,ben login; ben send '1'; ben send '2'
        ann read after=0 ⇒ cursor 2, 2 unread
            #1 room_1/1 user.joined ann
            #2 room_1/2 user.joined ben
        ann read after=2 max=1 ⇒ cursor 3, 1 unread
            #3 room_1/3 message.received ben: "1"
        ann read after=2 max=9 ⇒ cursor 4, 0 unread
            #3 room_1/3 message.received ben: "1"
            #4 room_1/4 message.received ben: "2"
        ann read after=2 max=0 ⇒ cursor 2, 2 unread
    "#,

    an_answer_is_limited_in_bytes_but_for_one_text: r#"
        config stick=optional max_answer_bytes=6
        0s given ann,ben login; ben send 'one'; ben send '\u{e9}x'; ben send 'ten letters'
        given ben send 'two'
        ann read after=0 ⇒ cursor 4, 2 unread
            #1 room_1/1 user.joined ann
            #2 room_1/2 user.joined ben
            #3 room_1/3 message.received ben: "one"
            #4 room_1/4 message.received ben: "éx"
        ann read after=4 ⇒ cursor 5, 1 unread
            #5 room_1/5 message.received ben: "ten letters"
        ann read after=5 ⇒ cursor 6, 0 unread
            #6 room_1/6 message.received ben: "two"
        ann history ⇒ room_1, and older ones
            room_1/6 message.received ben: "two"
        ann history before=6 ⇒ room_1, and older ones
            room_1/5 message.received ben: "ten letters"
        ann history before=5 ⇒ room_1
            room_1/3 message.received ben: "one"
            room_1/4 message.received ben: "éx"
    "#,
}

#[test]
fn a_noisy_room_cannot_push_out_the_message_of_a_quiet_one() {
    for noise in [9, 99] {
        let noise = "eve send 'x' room=2\n".repeat(noise);
        let told = play(&format!(
            "config stick=optional inbox_limit=6
             0s given ann login quiet; ann login noisy; ben login quiet; eve login noisy; ann ack 4
             ben send 'are you there?'
             {noise}
             ann read"
        ));
        let (_, read) = told
            .transcript
            .rsplit_once("unread")
            .expect("it is the last line");
        let first = "    #5 room_1/3 message.received ben: \"are you there?\"";
        assert_eq!(read.lines().nth(1), Some(first));
    }
}
