//! Gaps: the information about events that an inbox dropped.

use crate::check::play;

/// What happens then, and the gap.
type Row = (&'static str, &'static str);

/// A set-up with the acknowledged place of Ann's inbox, and for each continuation the gap that she
/// then reads behind it. Two more rooms fill her inbox, which has space for two events.
const GAPS: [(&str, u64, &[Row]); 4] = [
    (
        "ben,ann login; ann ack 1; ann leave_chat",
        1,
        &[
            ("tick", "2 to 2, room_1/3 to 3 (you left)"),
            ("ann login", "2 to 3, room_1/3 to 4 (you joined)"),
        ],
    ),
    (
        "ann,ben login; ann ack 2",
        2,
        &[
            (
                "operator kick ann room=1 'noise'",
                "3 to 3, room_1/3 to 3 (you kicked)",
            ),
            (
                "operator kick ben room=1 'noise'",
                "3 to 3, room_1/3 to 3 (members changed)",
            ),
            ("ben leave_chat", "3 to 3, room_1/3 to 3 (members changed)"),
            (
                "cat login \n ben send 'hi'",
                "3 to 4, room_1/3 to 4 (1 said, members changed)",
            ),
            (
                "ben send '1' \n ben send '2' \n ben send '3'",
                "3 to 5, room_1/3 to 5 (3 said)",
            ),
        ],
    ),
    (
        "ann,ben login; ben,ann talking_stick; ann ack 4",
        4,
        &[
            // The grant with its epoch.
            (
                "ben reset",
                "5 to 6, room_1/5 to 6 (your stick granted epoch 2, stick changed)",
            ),
            // It was granted and expired: an `await` of it would not end.
            (
                "ben reset \n 119s ann typing \n 2m ben typing \n 3m ann typing",
                "5 to 7, room_1/5 to 7 (your stick expired epoch 2, stick changed)",
            ),
            (
                "ben reset \n ann reset",
                "5 to 7, room_1/5 to 7 (your stick released epoch 2, stick changed)",
            ),
            // It passed from one other member to another.
            (
                "ann reset \n ben reset \n ben talking_stick",
                "5 to 6, room_1/5 to 6 (stick changed)",
            ),
        ],
    ),
    (
        "ann login; operator close 1 'the end'",
        0,
        &[("tick", "1 to 2, room_1/1 to 2 (you joined, ended closed)")],
    ),
];

#[test]
fn a_gap_says_what_was_lost() {
    for (setup, after, rows) in GAPS {
        for (then, gap) in rows {
            let script = format!(
                "config stick=optional inbox_limit=2 \n 0s given {setup} \n {then}
                 ann login den \n ann login hut \n ann read after={after}"
            );
            let told = play(&script).transcript;
            let (_, read) = told.rsplit_once(" read ").expect("the last line");
            let found = read.lines().nth(1).expect("a gap").trim();
            assert_eq!(found, format!("gap {gap}"), "{told}");
        }
    }
}

scripts! {
    a_gap_says_that_a_chat_began_and_that_it_ended: "
        config inbox_limit=2
        0s given ann,ben pair; ben send 'hi'; ben send 'ho'; ben leave_chat; ann login den; ann login hut
        ann read ⇒ cursor 6, 0 unread
            gap 1 to 4, room_1/1 to 4 (2 said, you matched, ended left)
            #5 room_2/1 user.joined ann
            #6 room_3/1 user.joined ann
        ann read after=1 ⇒ cursor 6, 0 unread
            gap 2 to 4, room_1/1 to 4 (2 said, ended left)
            #5 room_2/1 user.joined ann
            #6 room_3/1 user.joined ann
        ann read after=3 ⇒ cursor 6, 0 unread
            gap 4 to 4, room_1/1 to 4 (ended left)
            #5 room_2/1 user.joined ann
            #6 room_3/1 user.joined ann
    ",

    a_gap_lies_where_its_events_lay: r#"
        config stick=optional inbox_limit=6
        # A noisy room, 2, with three messages of a quiet one, 1, in between.
        0s given ann,ben login one; ann ack 2; ann,ben login two; ben send 'quiet 1' room=1
        given ann talking_stick room=2; ben send '1' room=2; ben send 'quiet 2' room=1
        given ben leave_chat room=2; cat login two; ben send 'quiet 3' room=1
        given cat send '2' room=2; cat send '3' room=2; cat send '4' room=2; cat send '5' room=2
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
        # Smaller pages give the same events together: no page repeats a gap of another.
        ann read after=2 max=1 ⇒ cursor 5, 10 unread
            gap 3 to 4, room_2/1 to 7 (you joined)
            #5 room_1/3 message.received ben: "quiet 1"
        ann read after=5 max=1 ⇒ cursor 8, 7 unread
            gap 6 to 7, room_2/1 to 7 (your stick granted epoch 1)
            #8 room_1/4 message.received ben: "quiet 2"
        ann read after=8 max=1 ⇒ cursor 11, 4 unread
            gap 9 to 10, room_2/1 to 7 (members changed)
            #11 room_1/5 message.received ben: "quiet 3"
        # What is lost of a room stays until the last of it is acknowledged.
        ann ack 8 ⇒ done
        ann read after=8 ⇒ cursor 15, 0 unread
            gap 9 to 10, room_2/1 to 7 (members changed)
            #11 room_1/5 message.received ben: "quiet 3"
            gap 12 to 12, room_2/1 to 7 (2 said)
            #13 room_2/8 message.received cat: "3"
            #14 room_2/9 message.received cat: "4"
            #15 room_2/10 message.received cat: "5"
        ann ack 13 ⇒ done
        ann read after=8 ⇒ cursor 15, 0 unread
            gap 9 to 13
            #14 room_2/9 message.received cat: "4"
            #15 room_2/10 message.received cat: "5"
    "#,
}
