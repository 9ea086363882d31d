//! Gaps: the information about events that an inbox dropped.

use insta::assert_snapshot;

use crate::check::check;

/// The lines of a script's results with gaps and cursors.
fn gaps(script: &str) -> String {
    let told = check(script);
    let lines = told.lines().map(str::trim);
    let wanted = lines.filter(|line| line.starts_with("gap") || line.contains(" read"));
    wanted.collect::<Vec<_>>().join("\n")
}

/// The results of a script from the first read on.
fn reading(script: &str) -> String {
    let told = check(script);
    let first = told.find("ann read").expect("a reading");
    told[first..].to_owned()
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
    // The grant with its epoch.
    assert_snapshot!(gaps(&script("ben reset")), @"
    ann read after=4 ⇒ cursor 8, 0 unread
    gap 5 to 6, room_1/5 to 6 (your stick granted epoch 2, stick changed)
    ");
    // It was granted and expired: an `await` of it would not end.
    assert_snapshot!(gaps(&script("ben reset\n 119s ann typing\n 2m ben typing\n 3m ann typing")), @"
    ann read after=4 ⇒ cursor 9, 0 unread
    gap 5 to 7, room_1/5 to 7 (your stick expired epoch 2, stick changed)
    ");
    assert_snapshot!(gaps(&script("ben reset\n ann reset")), @"
    ann read after=4 ⇒ cursor 9, 0 unread
    gap 5 to 7, room_1/5 to 7 (your stick released epoch 2, stick changed)
    ");
    // It passed from one other member to another.
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
           ann seen
           ben enter_queue
           ben seen
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
    gap 4 to 4, room_1/1 to 4 (ended left)
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

/// A noisy room, 2, with three messages of a quiet one, 1, in between.
const MIXED: &str = "
    config stick=optional inbox_limit=6
    0s ann login one
       ben login one
       ann ack 2
       ann login two
       ben login two
       ben send 'quiet 1' room=1
       ann talking_stick room=2
       ben send '1' room=2
       ben send 'quiet 2' room=1
       ben leave_chat room=2
       cat login two
       ben send 'quiet 3' room=1
       cat send '2' room=2
       cat send '3' room=2
       cat send '4' room=2
       cat send '5' room=2";

#[test]
fn a_gap_lies_where_the_events_lay_and_each_kind_is_told_where_it_came_last() {
    assert_snapshot!(reading(&format!("{MIXED}\n ann read after=2")), @r#"
    ann read after=2 ⇒ cursor 15, 0 unread
        gap 3 to 4, room_2/1 to 7 (you joined)
        #5 room_1/3 message.received ben: "quiet 1"
        gap 6 to 7, room_2/1 to 7 (your stick granted epoch 1)
        #8 room_1/4 message.received ben: "quiet 2"
        gap 9 to 10, room_2/1 to 7 (members changed)
        #11 room_1/5 message.received ben: "quiet 3"
        gap 12 to 12, room_2/1 to 7 (2 said)
        #13 room_2/8 message.received cat: "3"
        #14 room_2/9 message.received cat: "4"
        #15 room_2/10 message.received cat: "5"
    "#);
    // Smaller pages give the same events together: no page repeats a gap of another.
    let pages = "\n ann read after=2 max=1\n ann read after=5 max=1\n ann read after=8 max=1";
    assert_snapshot!(reading(&format!("{MIXED}{pages}")), @r#"
    ann read after=2 max=1 ⇒ cursor 5, 10 unread
        gap 3 to 4, room_2/1 to 7 (you joined)
        #5 room_1/3 message.received ben: "quiet 1"
    ann read after=5 max=1 ⇒ cursor 8, 7 unread
        gap 6 to 7, room_2/1 to 7 (your stick granted epoch 1)
        #8 room_1/4 message.received ben: "quiet 2"
    ann read after=8 max=1 ⇒ cursor 11, 4 unread
        gap 9 to 10, room_2/1 to 7 (members changed)
        #11 room_1/5 message.received ben: "quiet 3"
    "#);
}

#[test]
fn what_is_lost_of_a_room_stays_until_the_last_of_it_is_acknowledged() {
    let script = |ack: u64| format!("{MIXED}\n ann ack {ack}\n ann read after=8");
    assert_snapshot!(reading(&script(8)), @r#"
    ann read after=8 ⇒ cursor 15, 0 unread
        gap 9 to 10, room_2/1 to 7 (members changed)
        #11 room_1/5 message.received ben: "quiet 3"
        gap 12 to 12, room_2/1 to 7 (2 said)
        #13 room_2/8 message.received cat: "3"
        #14 room_2/9 message.received cat: "4"
        #15 room_2/10 message.received cat: "5"
    "#);
    assert_snapshot!(reading(&script(13)), @r#"
    ann read after=8 ⇒ cursor 15, 0 unread
        gap 9 to 13
        #14 room_2/9 message.received cat: "4"
        #15 room_2/10 message.received cat: "5"
    "#);
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
