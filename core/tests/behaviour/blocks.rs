//! Blocks and reports among participants.

scripts! {
    a_block_hides_messages_both_ways_and_nothing_else: r#"
        config stick=optional
        0s given ann,ben,cat login
        ann block ben ⇒ done
        # A second one is no mistake.
        ann block ben ⇒ done
        ann send 'from ann' ⇒ sent room_1/4 at 0s
            room_1/4 message.received ann: "from ann" → cat#2
        ben send 'from ben' ⇒ sent room_1/5 at 0s
            room_1/5 message.received ben: "from ben" → cat#3
        ben append 'pushed' ⇒ draft of 6, 0 cut
        ben push ⇒ sent room_1/6 at 0s
            room_1/6 message.received ben: "pushed" → cat#4
        cat send 'from cat' ⇒ sent room_1/7 at 0s; next 5m
            room_1/7 message.received cat: "from cat" → ann#4 ben#3
        ben leave_chat ⇒ left
            room_1/8 user.left ben → ann#5 ben#4 cat#5
    "#,

    a_block_hides_the_past_as_well: r#"
        config stick=optional
        0s given ann,ben,cat login; ben send 'before'; cat send 'hello'; ann send 'mine'
        ann block ben ⇒ done
        ann history ⇒ room_1
            room_1/5 message.received cat: "hello"
            room_1/6 message.received ann: "mine"
        ben history ⇒ room_1
            room_1/4 message.received ben: "before"
            room_1/5 message.received cat: "hello"
        cat history ⇒ room_1
            room_1/4 message.received ben: "before"
            room_1/5 message.received cat: "hello"
            room_1/6 message.received ann: "mine"
    "#,

    who_is_unblocked_is_heard_again_and_seen_in_the_past: r#"
        config stick=optional
        0s given ann,ben login
        ann block ben ⇒ done
        ben send 'hidden' ⇒ sent room_1/3 at 0s; next 5m
        ann unblock ben ⇒ done
        ann unblock ben ⇒ done
        ben send 'heard' ⇒ sent room_1/4 at 0s
            room_1/4 message.received ben: "heard" → ann#3
        ann history ⇒ room_1
            room_1/3 message.received ben: "hidden"
            room_1/4 message.received ben: "heard"
        ann unblock ann ⇒ refused, invalid_arguments: user_id must be another participant
        ann unblock user_9 ⇒ done
    "#,

    a_block_of_the_other_s_own_stays_when_one_is_lifted: "
        config stick=optional
        0s given ann,ben login; ann block ben; ben block ann
        ann unblock ben ⇒ done
        ben send 'hidden' ⇒ sent room_1/3 at 0s
        ben unregister ⇒ done
            user_2 is forgotten
            room_1/4 user.left ben → ann#3
        ann unblock user_2 ⇒ done
    ",

    a_participant_blocks_another_and_a_third: "
        0s given ann login
        ann block ann ⇒ refused, invalid_arguments: user_id must be another participant; next 5m
        ann block user_9 ⇒ refused, user_not_found: There is no such participant
        ann report ann 'me' ⇒ refused, invalid_arguments: user_id must be another participant
        ann report user_9 'who' ⇒ refused, user_not_found: There is no such participant
    ",

    a_report_needs_a_reason_on_one_line: r#"
        0s given ann,ben login
        ann report ben 'spam' ⇒ done
        ann report ben '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
        ann report ben 'x'*501 ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is longer
        ann report ben 'a\u{9}b' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it has a line break, or another character that shows nothing
        reports ⇒ user_1 of user_2: "spam"
    "#,

    of_reports_on_the_same_subject_the_first_is_kept: r#"
        config max_reports=2
        0s given ann,ben,cat login
        ann report ben 'first' ⇒ done
        ann report ben 'second' ⇒ done
        # What is wrong with a report is said all the same.
        ann report ben '' ⇒ refused, invalid_arguments: reason must be 1 to 500 visible characters on one line, with single spaces inside; it is empty
        ben report ann 'third' ⇒ done
        reports ⇒ user_1 of user_2: "first", user_2 of user_1: "third"
        # As soon as the first has gone, there may be another.
        ann report cat 'fourth' ⇒ done
        ann report ben 'fifth' ⇒ done
        reports ⇒ user_1 of user_3: "fourth", user_1 of user_2: "fifth"
        # Another registration is another participant.
        ann unregister ⇒ done
            user_1 is forgotten
            room_1/4 user.left ann → ben#3 cat#2
        ann login ⇒ user_4 in room_1
            room_1/5 user.joined ann → ben#4 cat#3 ann#1
        ann report ben 'sixth' ⇒ done
        reports ⇒ user_1 of user_2: "fifth", user_4 of user_2: "sixth"
    "#,

    one_address_has_so_many_reports: r#"
        config max_reports_per_address=2 max_reports=3
        0s given ann,ben login from=1; cat login from=2
        ann report ben '1' ⇒ done
        ann unregister ⇒ done
            user_1 is forgotten
            room_1/4 user.left ann → ben#3 cat#2
        ben report cat '2' ⇒ done
        # Those of one that is gone count, too.
        dan login from=1 ⇒ user_4 in room_1
            room_1/5 user.joined dan → ben#4 cat#3 dan#1
        dan report ben 'too many' ⇒ refused, invalid_arguments: the number of reports from your address that are kept must be at most 2
        # A report that is kept already takes no place.
        ben report cat 'again' ⇒ done
        cat report ben '3' ⇒ done; next 5m
        reports ⇒ user_1 of user_2: "1", user_2 of user_3: "2", user_3 of user_2: "3"
        # The oldest goes, and leaves a place.
        cat report dan '4' ⇒ done
        dan report ben '5' ⇒ done
        reports ⇒ user_3 of user_2: "3", user_3 of user_4: "4", user_4 of user_2: "5"
    "#,
}
