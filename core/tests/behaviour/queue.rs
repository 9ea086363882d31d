//! The queue and matching.

use crate::check::play;

scripts! {
    a_waiter_is_paired_with_a_newcomer: r#"
        0s ann enter_queue as=Ann ⇒ user_1 waits at 1, estimated wait unknown; next 1m
        ann seen ⇒ done; next 5m
        5s ben enter_queue as=Ben ⇒ user_2 waits at 2, estimated wait unknown; next 65s
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found Ben and Ann → Ann#1 Ben#1
        ben send 'hi Ann' ⇒ sent room_1/2 at 5s
            room_1/2 message.received Ben: "hi Ann" → Ann#2
    "#,

    under_fifo_the_longest_waiter_is_next: "
        # The two who wait will not meet: one has blocked the other.
        0s given ann,ben login den; ann block ben
        ben enter_queue ⇒ user_2 waits at 1, estimated wait unknown; next 5m
        1s ann enter_queue ⇒ user_1 waits at 2, estimated wait unknown
        2s cat enter_queue ⇒ user_3 waits at 3, estimated wait unknown; next 62s
        cat seen ⇒ done; next 5m
            room_2/1 chatroom.found user_3 and ben → ben#2 user_3#1
        3s dan enter_queue ⇒ user_4 waits at 2, estimated wait 2s; next 63s
        dan seen ⇒ done; next 5m
            room_3/1 chatroom.found user_4 and ann → ann#3 user_4#1
    ",

    under_interests_the_waiter_that_shares_most_is_next: "
        config matching=interests
        0s given ann enter_queue interests=rust,tea; ann seen; ben enter_queue interests=chess,go
        given ben seen
        1s cat enter_queue interests=GO,Chess,rust ⇒ user_3 waits at 3, estimated wait unknown
        cat seen ⇒ done
            room_1/1 chatroom.found user_3 and user_2 → user_2#1 user_3#1
    ",

    without_patience_one_takes_anyone_without_it: "
        config matching=interests interest_patience=10s
        0s given ann enter_queue interests=rust; ann seen
        5s given ben enter_queue interests=go; ben seen
        10s tick ⇒ done; next 15s
        # Ann would take anyone now, Ben would not yet.
        14.999s tick ⇒ done
        15s tick ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
    ",

    one_without_interests_takes_anyone_who_takes_anyone: "
        config matching=interests interest_patience=10s
        0s given ann enter_queue interests=rust; ann seen
        5s given ben enter_queue; ben seen
        6s  cat enter_queue ⇒ user_3 waits at 3, estimated wait unknown
        cat seen ⇒ done
            room_1/1 chatroom.found user_3 and user_2 → user_2#1 user_3#1
        10s dan enter_queue ⇒ user_4 waits at 2, estimated wait 1s; next 70s
        dan seen ⇒ done; next 5m
            room_2/1 chatroom.found user_4 and user_1 → user_1#1 user_4#1
    ",

    sharing_an_interest_overcomes_impatience: "
        config matching=interests interest_patience=10s
        0s given ann enter_queue; ann seen
        5s given ben enter_queue interests=go; ben seen
        6s  cat enter_queue interests=go ⇒ user_3 waits at 3, estimated wait unknown
        cat seen ⇒ done; next 5m
            room_1/1 chatroom.found user_3 and user_2 → user_2#1 user_3#1
    ",

    with_no_patience_at_all_anyone_will_do_at_once: "
        config matching=interests interest_patience=0s
        0s given ann enter_queue interests=rust; ann seen
        ben enter_queue interests=go ⇒ user_2 waits at 2, estimated wait unknown; next 0s
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        tick ⇒ done
    ",

    one_waits_once: "
        0s given ann enter_queue; ann seen
        ann enter_queue ⇒ refused, already_waiting: You are in the queue already; wait for chatroom.found
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ann enter_queue ⇒ refused, already_chatting: You are in a chat already; leave it before you queue again
    ",

    the_estimated_wait_is_the_mean_of_recent_ones: "
        0s given ann enter_queue; ann seen
        4s  ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 64s
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ann leave_chat ⇒ left; next 304s
            room_1/2 partner.disconnected left → user_2#2
        10s ann enter_queue ⇒ user_1 waits at 1, estimated wait 4s
        18s cat enter_queue ⇒ user_3 waits at 2, estimated wait 4s; next 78s
        cat seen ⇒ done; next 304s
            room_2/1 chatroom.found user_3 and user_1 → user_1#2 user_3#1
        20s dan enter_queue ⇒ user_4 waits at 1, estimated wait 6s; next 80s
        dan seen ⇒ done; next 304s
    ",

    leaving_says_whether_one_waited: "
        0s given ann enter_queue
        1s ann leave_queue ⇒ left the queue; next 301s
        ann leave_queue ⇒ was not waiting
        2s ben enter_queue ⇒ user_2 waits at 1, estimated wait unknown; next 62s
    ",

    a_full_queue_still_pairs_those_who_can_be_paired: "
        config max_queue=1
        0s given ann enter_queue; ann seen
        ben enter_queue ⇒ refused, queue_full: The queue is full (1 wait); try again later
        ben break chimaek ⇒ user_2 on chimaek, stress 0, boss 0, told at 0s; next 1m
        ben enter_queue ⇒ user_2 matched with user_1 in room_1; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        ben leave_chat ⇒ left
            room_1/2 partner.disconnected left → user_1#2
        ben block ann ⇒ done
        ben enter_queue ⇒ user_2 waits at 1, estimated wait 0s
        ann enter_queue ⇒ refused, queue_full: The queue is full (1 wait); try again later
        cat break chimaek ⇒ user_3 on chimaek, stress 0, boss 1, told at 0s; next 1m
        cat enter_queue ⇒ user_3 matched with user_2 in room_2; next 5m
            room_2/1 chatroom.found user_3 and user_2 → user_2#2 user_3#1
    ",

    one_who_waits_keeps_a_place_for_the_pair_room: "
        config max_rooms_each=1
        0s given ann enter_queue; ann seen
        ann login lobby ⇒ refused, room_full: At most 1 fit: the room is full, or you are in as many rooms as you may be
        ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
    ",

    those_who_wait_keep_rooms_for_themselves: "
        config matching=interests interest_patience=10s max_rooms=1
        0s given ann enter_queue interests=rust; ann seen; ben enter_queue interests=go; ben seen
        each cat login den; cat enter_queue interests=tea ⇒ refused, server_full: The server is full; try again later
        10s tick ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
    ",

    interests_are_the_same_in_any_case_and_count_once: "
        config matching=interests
        0s given ann enter_queue interests=Rust; ann seen
        ben enter_queue interests=rUST ⇒ user_2 waits at 2, estimated wait unknown
        ben seen ⇒ done; next 5m
            room_1/1 chatroom.found user_2 and user_1 → user_1#1 user_2#1
        # One shared interest equals another that is stated twice; of equal shares the longest waiter is next.
        1s cat enter_queue interests=chess,go ⇒ user_3 waits at 1, estimated wait 0s; next 11s
        cat seen ⇒ done
        dan enter_queue interests=tea,tea ⇒ user_4 waits at 2, estimated wait 0s
        dan seen ⇒ done
        2s eve enter_queue interests=chess,tea,tea ⇒ user_5 waits at 3, estimated wait 0s
        eve seen ⇒ done
            room_2/1 chatroom.found user_5 and user_3 → user_3#1 user_5#1
    ",
}

#[test]
fn under_random_the_seed_and_the_position_decide() {
    let partners = |seed: u64, ticks: usize| {
        let script = format!(
            "config matching=random
             seed {seed}
             0s given ann,ben login den; ann block ben; ann,ben enter_queue
             {}
             cat enter_queue as=cat
             cat seen",
            "tick\n".repeat(ticks)
        );
        let told = play(&script).transcript;
        told.lines().last().expect("a line").to_owned()
    };
    let [ann, ben] = [
        "    room_2/1 chatroom.found cat and ann → ann#3 cat#1",
        "    room_2/1 chatroom.found cat and ben → ben#2 cat#1",
    ];
    let seeds: Vec<_> = (0..40).map(|seed| partners(seed, 0)).collect();
    let positions: Vec<_> = (0..40).map(|ticks| partners(1, ticks)).collect();
    for drawn in [seeds, positions] {
        assert!(drawn.iter().all(|told| told == ann || told == ben));
        let anns = drawn.iter().filter(|told| *told == ann).count();
        assert!((10..=30).contains(&anns), "{anns} of 40");
    }
}
