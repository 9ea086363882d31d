//! Participants that are not matched with one another, or only if there is no other candidate.

scripts! {
    the_last_partner_comes_after_everybody_else: "
        0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 5m
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ann leave_chat ⇒ left
            room_1/2 partner.disconnected left → user_2#2
        # The two who wait have blocked one another.
        1s cat login den ⇒ user_3 in room_2; next 61s
            room_2/1 user.joined cat → cat#1
        ann login den ⇒ user_1 in room_2
            room_2/2 user.joined ann → ann#2 cat#2
        cat block ann ⇒ done; next 5m
        ann leave_chat ⇒ left
            room_2/3 user.left ann → ann#3 cat#3
        2s ann enter_queue ⇒ user_1 waits at 1, estimated wait 0s
        cat enter_queue ⇒ user_3 waits at 2, estimated wait 0s
        # Ben would be Ann's again, were there nobody else.
        3s ben enter_queue ⇒ user_2 matched with cat in room_3; next 302s
            room_3/1 chatroom.found user_2 and cat → user_2#3 cat#4
    ",

    the_last_partner_will_do_if_nobody_else_is_there: "
        0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 5m
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ann leave_chat ⇒ left
            room_1/2 partner.disconnected left → user_2#2
        ann enter_queue ⇒ user_1 waits at 1, estimated wait 0s
        3s ben enter_queue ⇒ user_2 matched with user_1 in room_2
            room_2/1 chatroom.found user_2 and user_1 → user_1#2 user_2#3
    ",

    the_last_partner_of_a_newcomer_is_passed_over: "
        0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 5m
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ben leave_chat ⇒ left
            room_1/2 partner.disconnected left → user_1#2
        ben enter_queue ⇒ user_2 waits at 1, estimated wait 0s
        cat enter_queue ⇒ user_3 waits at 2, estimated wait 0s; next 1m
        cat seen ⇒ done; next 5m
            room_2/1 chatroom.found user_3 and user_2 → user_2#2 user_3#1
        cat leave_chat ⇒ left
            room_2/2 partner.disconnected left → user_2#3
        # Ben's last partner is Cat; Ann's is Ben.
        1s dan login den ⇒ user_4 in room_3; next 61s
            room_3/1 user.joined dan → dan#1
        ben login den ⇒ user_2 in room_3
            room_3/2 user.joined ben → ben#4 dan#2
        dan block ben ⇒ done; next 5m
        ben leave_chat ⇒ left
            room_3/3 user.left ben → ben#5 dan#3
        ben enter_queue ⇒ user_2 waits at 1, estimated wait 0s
        dan enter_queue ⇒ user_4 waits at 2, estimated wait 0s
        2s ann enter_queue ⇒ user_1 matched with dan in room_4
            room_4/1 chatroom.found user_1 and dan → user_1#3 dan#4
    ",

    those_who_blocked_one_another_never_meet: "
        0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 5m
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ann block ben ⇒ done
            room_1/2 partner.disconnected blocked → user_2#2
        1s ann enter_queue ⇒ user_1 waits at 1, estimated wait 0s
        ben enter_queue ⇒ user_2 waits at 2, estimated wait 0s; next 301s
    ",

    a_newcomer_passes_over_those_whose_last_partner_it_was: "
        0s ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 5m
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ben leave_chat ⇒ left
            room_1/2 partner.disconnected left → user_1#2
        ben enter_queue ⇒ user_2 waits at 1, estimated wait 0s
        cat enter_queue ⇒ user_3 waits at 2, estimated wait 0s; next 1m
        cat seen ⇒ done; next 5m
            room_2/1 chatroom.found user_3 and user_2 → user_2#2 user_3#1
        cat leave_chat ⇒ left
            room_2/2 partner.disconnected left → user_2#3
        # Ann's last partner is Ben, though Ben's is Cat. Dan and Ann wait, and will not meet.
        1s dan login den ⇒ user_4 in room_3; next 61s
            room_3/1 user.joined dan → dan#1
        ann login den ⇒ user_1 in room_3
            room_3/2 user.joined ann → ann#3 dan#2
        dan block ann ⇒ done; next 5m
        ann leave_chat ⇒ left
            room_3/3 user.left ann → ann#4 dan#3
        ann enter_queue ⇒ user_1 waits at 1, estimated wait 0s
        dan enter_queue ⇒ user_4 waits at 2, estimated wait 0s
        2s ben enter_queue ⇒ user_2 matched with dan in room_4
            room_4/1 chatroom.found user_2 and dan → user_2#4 dan#4
    ",
}
