//! Notices: typing, and waiting in a `check`.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn a_notice_takes_no_place_in_the_room_and_none_in_the_inbox() {
    assert_snapshot!(check("
        config stick=optional
        0s ann login
           ben login
           ann typing
           ann seen waiting=10s
           ann send 'done'
           ben notices
           ann notices
    "), @r#"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ann typing ⇒ done
        ~ room_1 ann types
    ann seen waiting=10s ⇒ done
        ~ room_1 ann has waited 10s
    ann send 'done' ⇒ sent room_1/3 at 0s
        room_1/3 message.received ann: "done" → ben#2
    ben notices ⇒ room_1 ann has waited 10s
    ann notices ⇒ none
    "#);
}

#[test]
fn only_the_latest_notice_of_each_sender_is_kept() {
    assert_snapshot!(check("
        0s ann login
           ben login
           cat login
        1s ben typing
        2s cat typing
        3s ben seen waiting=10s
           ann notices
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    cat login ⇒ user_3 in room_1
        room_1/3 user.joined cat → ann#3 ben#2 cat#1
    1s ben typing ⇒ done
        ~ room_1 ben types
    2s cat typing ⇒ done
        ~ room_1 cat types
    3s ben seen waiting=10s ⇒ done
        ~ room_1 ben has waited 10s
    ann notices ⇒ room_1 cat types, room_1 ben has waited 10s
    ");
}

#[test]
fn a_notice_is_told_for_ten_seconds() {
    assert_snapshot!(check("
        0s ann login
           ben login
        1s ben typing
        11s ann notices
        11.001s ann notices
    "), @r"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    1s ben typing ⇒ done
        ~ room_1 ben types
    11s ann notices ⇒ room_1 ben types
    11.001s ann notices ⇒ none
    ");
}

#[test]
fn one_who_waits_tells_all_rooms() {
    assert_snapshot!(check("
        0s ann login lobby
           ann login den
           ann enter_queue
           ben enter_queue
           ben seen
           ann seen waiting=20s
           ben notices
    "), @r"
    0s ann login lobby ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ann login den ⇒ user_1 in room_2; next 5m
        room_2/1 user.joined ann → ann#2
    ann enter_queue ⇒ user_1 waits at 1, estimated wait unknown
    ben enter_queue ⇒ user_2 waits at 2, estimated wait unknown; next 1m
    ben seen ⇒ done; next 5m
        room_3/1 chatroom.found user_2 and ann → ann#3 user_2#1
    ann seen waiting=20s ⇒ done
        ~ room_1 ann has waited 20s
        ~ room_2 ann has waited 20s
        ~ room_3 ann has waited 20s
    ben notices ⇒ room_3 ann has waited 20s
    ");
}

#[test]
fn a_member_that_leaves_takes_its_notices_along() {
    assert_snapshot!(check("
        0s ann login
           ben login
           ben typing
           ben leave_chat
           ann notices
    "), @"
    0s ann login ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    ben login ⇒ user_2 in room_1
        room_1/2 user.joined ben → ann#2 ben#1
    ben typing ⇒ done
        ~ room_1 ben types
    ben leave_chat ⇒ left
        room_1/3 user.left ben → ann#3 ben#2
    ann notices ⇒ none
    ");
}
