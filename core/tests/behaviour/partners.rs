//! Participants that are not matched with one another, or only if there is no other candidate.

scripts! {
    the_last_partner_comes_after_everybody_else: "
        0s given ann,ben pair; ann leave_chat
        # The two who wait have blocked one another.
        1s given cat,ann login den; cat block ann; ann leave_chat
        2s given ann,cat enter_queue
        # Ben would be Ann's again, were there nobody else.
        3s ben enter_queue ⇒ user_2 matched with cat in room_3; next 302s
            room_3/1 chatroom.found ben and cat → ben#3 cat#4
    ",

    the_last_partner_will_do_if_nobody_else_is_there: "
        0s given ann,ben pair; ann leave_chat; ann enter_queue
        3s ben enter_queue ⇒ user_2 matched with ann in room_2
            room_2/1 chatroom.found ben and ann → ann#2 ben#3
    ",

    the_last_partner_of_a_newcomer_is_passed_over: "
        0s given ann,ben pair; ben leave_chat; ben,cat enter_queue; cat seen; cat leave_chat
        # Ben's last partner is Cat; Ann's is Ben.
        1s given dan,ben login den; dan block ben; ben leave_chat; ben,dan enter_queue
        2s ann enter_queue ⇒ user_1 matched with dan in room_4
            room_4/1 chatroom.found ann and dan → ann#3 dan#4
    ",

    those_who_blocked_one_another_never_meet: "
        0s given ann,ben pair; ann block ben
        1s ann enter_queue ⇒ user_1 waits at 1, estimated wait 0s
        ben enter_queue ⇒ user_2 waits at 2, estimated wait 0s; next 301s
    ",

    a_newcomer_passes_over_those_whose_last_partner_it_was: "
        0s given ann,ben pair; ben leave_chat; ben,cat enter_queue; cat seen; cat leave_chat
        # Ann's last partner is Ben, though Ben's is Cat. Dan and Ann wait, and will not meet.
        1s given dan,ann login den; dan block ann; ann leave_chat; ann,dan enter_queue
        2s ben enter_queue ⇒ user_2 matched with dan in room_4
            room_4/1 chatroom.found ben and dan → ben#4 dan#4
    ",
}
