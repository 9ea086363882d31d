//! Gaps: what a reader learns of events that its inbox dropped.

use insta::assert_snapshot;

use crate::check::check;

/// The lines of what a script tells in which a gap or its cursor is told.
fn gaps(script: &str) -> String {
    let told = check(script);
    let lines = told.lines().map(str::trim);
    let wanted = lines.filter(|line| line.starts_with("gap") || line.contains(" read"));
    wanted.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_gap_says_that_the_reader_left_and_whether_it_came_back() {
    let script = |rest: &str| {
        format!(
            "config stick=optional inbox_limit=2
             0s ben login
                ann login
                ann ack 1
                ann leave_chat
                {rest}
                ann login den
                ann login hut
                ann read after=1"
        )
    };
    assert_snapshot!(gaps(&script("")), @"
    ann read after=1 ⇒ cursor 4, 0 unread
    gap 2 to 2, room_1/3 to 3 (you left)
    ");
    assert_snapshot!(gaps(&script("ann login")), @"
    ann read after=1 ⇒ cursor 5, 0 unread
    gap 2 to 3, room_1/3 to 4 (you joined)
    ");
}

#[test]
fn a_gap_says_that_the_reader_was_put_out_or_that_others_were() {
    let script = |whom: &str| {
        format!(
            "config stick=optional inbox_limit=2
             0s ann login
                ben login
                ann ack 2
                operator kick {whom} room=1 'noise'
                ann login den
                ann login hut
                ann read after=2"
        )
    };
    assert_snapshot!(gaps(&script("ann")), @"
    ann read after=2 ⇒ cursor 5, 0 unread
    gap 3 to 3, room_1/3 to 3 (you kicked)
    ");
    assert_snapshot!(gaps(&script("ben")), @"
    ann read after=2 ⇒ cursor 5, 0 unread
    gap 3 to 3, room_1/3 to 3 (members changed)
    ");
}

#[test]
fn a_gap_says_what_became_of_the_readers_own_stick() {
    let script = |rest: &str| {
        format!(
            "config inbox_limit=2
             0s ann login
                ben login
                ben talking_stick
                ann talking_stick
                ann ack 4
                {rest}
                ann typing
                ann login den
                ann login hut
                ann read after=4"
        )
    };
    // The grant, under its number.
    assert_snapshot!(gaps(&script("ben reset")), @"
    ann read after=4 ⇒ cursor 8, 0 unread
    gap 5 to 6, room_1/5 to 6 (your stick granted epoch 2, stick changed)
    ");
    // It came and ran out: who waits for it waits in vain.
    assert_snapshot!(gaps(&script("ben reset\n 119s ann typing\n 2m ben typing\n 3m ann typing")), @"
    ann read after=4 ⇒ cursor 9, 0 unread
    gap 5 to 7, room_1/5 to 7 (your stick expired epoch 2, stick changed)
    ");
    assert_snapshot!(gaps(&script("ben reset\n ann reset")), @"
    ann read after=4 ⇒ cursor 9, 0 unread
    gap 5 to 7, room_1/5 to 7 (your stick released epoch 2, stick changed)
    ");
    // It went from another to another.
    assert_snapshot!(gaps(&script("ann reset\n ben reset\n ben talking_stick")), @"
    ann read after=4 ⇒ cursor 8, 0 unread
    gap 5 to 6, room_1/5 to 6 (stick changed)
    ");
}

#[test]
fn a_gap_says_that_a_chat_began_and_that_it_ended() {
    assert_snapshot!(gaps("
        config inbox_limit=2
        0s ann enter_queue
           ben enter_queue
           ben send 'hi'
           ben send 'ho'
           ben leave_chat
           ann login den
           ann login hut
           ann read
           ann read after=1
           ann read after=3
    "), @"
    ann read ⇒ cursor 6, 0 unread
    gap 1 to 4, room_1/1 to 4 (2 said, you matched, ended left)
    ann read after=1 ⇒ cursor 6, 0 unread
    gap 2 to 4, room_1/1 to 4 (2 said, ended left)
    ann read after=3 ⇒ cursor 6, 0 unread
    gap 4 to 4, room_1/1 to 4 (1 said, ended left)
    ");
}

#[test]
fn a_gap_says_that_a_room_was_closed() {
    assert_snapshot!(gaps("
        config inbox_limit=2
        0s ann login
           operator close 1 'the end'
           ann login den
           ann login hut
           ann read
    "), @"
    ann read ⇒ cursor 4, 0 unread
    gap 1 to 2, room_1/1 to 2 (you joined, ended closed)
    ");
}

#[test]
fn a_gap_says_that_others_came_and_went() {
    let script = |rest: &str| {
        format!(
            "config stick=optional inbox_limit=2
             0s ann login
                ben login
                ann ack 2
                {rest}
                ann login den
                ann login hut
                ann read after=2"
        )
    };
    assert_snapshot!(gaps(&script("ben leave_chat")), @"
    ann read after=2 ⇒ cursor 5, 0 unread
    gap 3 to 3, room_1/3 to 3 (members changed)
    ");
    assert_snapshot!(gaps(&script("cat login\n ben send 'hi'")), @"
    ann read after=2 ⇒ cursor 6, 0 unread
    gap 3 to 4, room_1/3 to 4 (1 said, members changed)
    ");
    assert_snapshot!(gaps(&script("ben send '1'\n ben send '2'\n ben send '3'")), @"
    ann read after=2 ⇒ cursor 7, 0 unread
    gap 3 to 5, room_1/3 to 5 (3 said)
    ");
}

#[test]
fn what_was_acknowledged_is_gone_and_not_named() {
    assert_snapshot!(gaps("
        config stick=optional
        0s ann login
           ben login
           ben send 'hi'
           ann ack 3
           ann read after=1
    "), @"
    ann read after=1 ⇒ cursor 3, 0 unread
    gap 2 to 3
    ");
}
