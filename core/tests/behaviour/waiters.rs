//! Who waits and is there: first uses of handles, and presence in line.

scripts! {
    one_whose_handle_was_never_used_is_matched_with_nobody: "
        # The first answer is lost, and the call is made again; Cat waits, and is there.
        0s  lost enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann enter_queue ⇒ user_2 waits at 2, estimated wait unknown
        1s  ann seen ⇒ done
        2s  cat enter_queue ⇒ user_3 waits at 3, estimated wait unknown
        cat seen ⇒ done
            room_1/1 chatroom.found user_3 and user_2 → user_2#1 user_3#1
        # A registration that is repeated is no use of the handle.
        3s  dan enter_queue key=1 ⇒ user_4 waits at 2, estimated wait 2s
        dan new enter_queue key=1 ⇒ user_4 waits at 2, estimated wait 2s
        ben enter_queue ⇒ user_5 waits at 3, estimated wait 2s
        60s tick ⇒ done; next 63s
            user_1 is forgotten
    ",

    a_first_use_is_dealt_with_before_the_line_is_looked_at: "
        0s given ann enter_queue; ann seen
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben leave_queue ⇒ left the queue; next 5m
        cat enter_queue ⇒ user_3 waits at 2, estimated wait unknown; next 1m
        cat unregister ⇒ done; next 5m
            user_3 is forgotten
        dan enter_queue ⇒ user_4 waits at 2, estimated wait unknown; next 1m
        dan open_stream ⇒ done; next 5m
            room_1/1 chatroom.found user_4 and user_1 → user_1#1 user_4#1
        ann leave_chat ⇒ left
            room_1/2 partner.disconnected left → user_4#2
        ann enter_queue ⇒ user_1 waits at 1, estimated wait 0s
        eve enter_queue ⇒ user_5 waits at 2, estimated wait 0s; next 1m
        eve login lobby ⇒ user_5 in room_2; next 5m
            room_2/1 user.joined eve → eve#1
            room_3/1 chatroom.found eve and user_1 → user_1#2 eve#2
        eve leave_chat room=room_3 ⇒ left
            room_3/2 partner.disconnected left → user_1#3
        eve enter_queue ⇒ user_5 waits at 1, estimated wait 0s
        fay enter_queue ⇒ user_6 waits at 2, estimated wait 0s; next 1m
        fay enter_queue ⇒ refused, already_waiting: You are in the queue already; wait for chatroom.found; next 5m
            room_4/1 chatroom.found user_6 and eve → eve#3 user_6#1
    ",

    one_with_an_unused_handle_loses_patience_alone: "
        config matching=interests interest_patience=10s
        0s given ann enter_queue interests=rust; ann seen
        ben enter_queue interests=go ⇒ user_2 waits at 2, estimated wait unknown
        10s tick ⇒ done; next 1m
        12s cat enter_queue interests=rust ⇒ user_3 waits at 3, estimated wait unknown; next 22s
        13s ben seen ⇒ done
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        14s cat seen ⇒ done
    ",

    in_line_presence_is_shorter_and_a_match_is_no_call: "
        config idle_timeout=30m queue_timeout=2m
        0s   ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 2m
        ann login den ⇒ user_1 in room_1
            room_1/1 user.joined ann → ann#1
        ann leave_queue ⇒ left the queue; next 30m
        ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown; next 2m
        60s  ben break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 1m
        ben enter_queue ⇒ user_2 matched with ann in room_2
            room_2/1 chatroom.found user_2 and ann → ann#2 user_2#1
        # Nobody speaks for Ann any more.
        120s tick ⇒ done; next 31m
            room_1/2 user.away ann → ann#3
            room_2/2 partner.disconnected timeout → ann#4 user_2#2
        each ben send 'hello?'; ben send 'hello?' room=room_2 ⇒ refused, chat_ended: Chat has ended: one of you was away, after no call for 30m or a lost connection; next 32m
        ben enter_queue ⇒ user_2 waits at 1, estimated wait 1m; next 4m
        239s ben enter_queue ⇒ refused, already_waiting: You are in the queue already; wait for chatroom.found; next 359s
        360s tick ⇒ done; next 1442m
    ",

    the_shorter_of_both_timeouts_holds_in_line: "
        config idle_timeout=10s queue_timeout=2m
        0s given ann enter_queue; ann seen
        10s tick ⇒ done; next 86410s
    ",
}
