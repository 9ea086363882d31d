//! Registering, names, and public ids.

use insta::assert_snapshot;

use crate::check::check;

#[test]
fn a_retried_registration_finds_the_same_participant() {
    assert_snapshot!(check("
        0s ann login lobby key=1
        1s ann new login lobby key=1
        2s ben login lobby
    "), @r"
    0s ann login lobby key=1 ⇒ user_1 in room_1; next 1m
        room_1/1 user.joined ann → ann#1
    1s ann new login lobby key=1 ⇒ user_1 in room_1; next 301s
    2s ben login lobby ⇒ user_2 in room_1; next 62s
        room_1/2 user.joined ben → ann#2 ben#1
    ");
}
