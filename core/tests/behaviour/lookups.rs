//! Lookups for the node and the shell.

use chat_core::{Address, Attendance, Measure, MeasureTarget, RoomId, Seq, Span, Time, UserId};

use crate::check::play;

const ANN: UserId = UserId(1);
const BEN: UserId = UserId(2);

fn after(millis: u64) -> Time {
    Time(0) + Span::millis(millis)
}

#[test]
fn a_read_is_worth_telling_a_quarter_of_the_idle_timeout_after_the_last_call() {
    let hub = play("0s ann login \n ann typing").hub;
    assert!(!hub.wants_seen(ANN, after(75_000)));
    assert!(hub.wants_seen(ANN, after(75_001)));
}

#[test]
fn a_read_is_reported_for_a_participant_that_may_go_away() {
    let wants = |script: &str| play(script).hub.wants_seen(ANN, after(0));
    assert!(wants("0s ann login"), "the handle was not used yet");
    assert!(!wants("0s ann login \n ann open_stream"));
    assert!(wants("0s ann login \n ann open_stream \n ann close_stream"));
    assert!(wants("0s ann login \n ann seen \n 5m tick"));
    assert!(!wants("0s ann login \n 60s tick"), "she is forgotten");
    assert!(!wants("0s tick"), "nobody is there");
    let streaming = play("0s ann login \n ann open_stream").hub;
    assert!(
        !streaming.wants_seen(ANN, after(200_000)),
        "her stream says so"
    );
}

#[test]
fn participants_are_found_by_public_id() {
    let hub = play("0s ann enter_queue id=ann.a \n ben login").hub;
    let found = |id: &str| hub.user_by_public_id(id);
    assert_eq!(found("ann.a"), Some(ANN));
    assert_eq!(found("user_1"), None, "she is not called that");
    assert_eq!(found("user_2"), Some(BEN));
    for other in ["user_02", "user_+2", "user_3", "USER_2", "2", ""] {
        assert_eq!(found(other), None, "{other}");
    }
}

#[test]
fn participants_are_found_by_handle_and_by_reader_and_not_by_the_other() {
    use crate::script::{handle, reader};
    let hub = play("0s ann login").hub;
    assert_eq!(hub.user_by_handle(&handle("ann")), Some(ANN));
    assert_eq!(hub.user_by_reader(&reader("ann")), Some(ANN));
    assert_eq!(hub.user_by_handle(&reader("ann")), None);
    assert_eq!(hub.user_by_reader(&handle("ann")), None);
    let hub = play("0s ann login \n ann unregister").hub;
    assert_eq!(hub.user_by_handle(&handle("ann")), None);
    assert_eq!(hub.user_by_reader(&reader("ann")), None);
}

#[test]
fn participants_are_found_by_whatever_looks_like_their_name() {
    let hub = play("0s ann login as=Ann \n ben enter_queue").hub;
    assert_eq!(hub.user_by_name("ANN"), Some(ANN));
    assert_eq!(hub.user_by_name("user_2"), Some(BEN));
    assert_eq!(hub.user_by_name("Anna"), None);
}

#[test]
fn unread_is_what_came_after_a_place() {
    let hub = play("config stick=optional \n 0s ann login \n ben login \n ann send 'hi'").hub;
    let unread = |after| hub.unread(BEN, Seq(after));
    assert_eq!(
        [unread(0), unread(1), unread(2)],
        [Some(2), Some(1), Some(0)]
    );
    assert_eq!(hub.unread(UserId(3), Seq(0)), None);
}

#[test]
fn members_are_told_in_the_order_of_their_ids() {
    let hub = play("0s ann enter_queue \n ben login den \n ann login den").hub;
    let members = |room| hub.members_of(RoomId(room)).collect::<Vec<_>>();
    assert_eq!(members(1), [ANN, BEN]);
    assert_eq!(members(2), []);
}

#[test]
fn bans_are_looked_up_until_they_are_lifted() {
    let script = "0s ann login as=Ann \n operator ban ann 'spam' \n operator ban_address 7 'flood'";
    let hub = play(script).hub;
    assert!(hub.is_banned(Address(7)) && !hub.is_banned(Address(8)));
    let kept: Vec<_> = hub.kept(None).collect();
    assert_eq!(kept.len(), 3, "the name, the handle, the address");
    for (_, ban) in &kept[..2] {
        assert_eq!((&*ban.by, &*ban.reason), ("olga", "spam"));
        assert_eq!(ban.measure, Measure::Ban);
    }
    let MeasureTarget::Handle { owner, .. } = kept[1].0 else {
        panic!("{kept:?}");
    };
    assert_eq!((owner.id, &*owner.name), (ANN, "Ann"));
    assert_eq!(kept[2].0, MeasureTarget::Address(Address(7)));
    assert_eq!(&*kept[2].1.reason, "flood");
    let lifted = format!("{script} \n operator unban Ann \n operator unban_address 7");
    let hub = play(&lifted).hub;
    assert!(!hub.is_banned(Address(7)));
    assert_eq!(hub.kept(None).count(), 0);
}

#[test]
fn named_rooms_tell_their_name_and_pairs_have_none() {
    let hub =
        play("0s ann login Den \n ben enter_queue \n cat enter_queue \n ben seen \n cat seen").hub;
    assert_eq!(hub.room_name(RoomId(1)), Some("Den"));
    assert_eq!(hub.room_name(RoomId(2)), None);
    assert_eq!(hub.room_name(RoomId(3)), None);
    assert_eq!(hub.rooms_of(BEN), [RoomId(2)]);
}

#[test]
fn visitors_see_who_is_there_and_which_rooms_page_by_page() {
    let script = "0s ann login lobby as=Ann \n ben login Attic as=Ben \n cat login lobby as=cat \n ann talking_stick \n cat talking_stick \n dan enter_queue";
    let hub = play(script).hub;
    let counts = hub.counts();
    assert_eq!(
        (counts.participants, counts.rooms, counts.waiting),
        (4, 2, 1)
    );
    assert_eq!(counts.first_waits_since, Some(Time(0)));
    assert_eq!(counts.recent_wait, None, "nobody was matched yet");
    let names = |after: Option<&str>, limit| -> Vec<String> {
        let page = hub.participants(after, limit);
        page.map(|view| view.who.name.to_string()).collect()
    };
    assert_eq!(names(None, 2), ["Ann", "Ben"]);
    assert_eq!(
        names(Some("BEN"), 10),
        ["cat", "user_4"],
        "names compare as look-alikes do"
    );
    assert!(names(Some("zz"), 10).is_empty());
    let rooms: Vec<_> = hub.named_rooms(None, 10).collect();
    assert_eq!(&*rooms[0].name, "Attic");
    assert_eq!(
        (rooms[0].members, rooms[0].holder, rooms[0].stick_line),
        (1, None, 0)
    );
    assert_eq!(&*rooms[1].name, "lobby");
    assert_eq!((rooms[1].members, rooms[1].stick_line), (2, 1));
    assert_eq!(rooms[1].holder.map(|(_, user)| user), Some(ANN));
    assert_eq!(rooms[1].next_in_line, [UserId(3)]);
    assert!(rooms[1].lease_until > Some(hub.now()));
    assert_eq!(rooms[0].lease_until, None);
    assert_eq!(hub.named_rooms(Some("attic"), 10).count(), 1);
}

#[test]
fn an_operator_sees_where_a_participant_is_and_whether_it_is_muted() {
    let script = "0s ann login as=Ann from=7 \n ann open_stream \n ann enter_queue \n operator mute ann 'loud'";
    let hub = play(script).hub;
    let view = hub.participant_view(ANN).unwrap();
    assert_eq!(
        (view.streams, view.rooms.len(), view.is_muted),
        (1, 1, true)
    );
    assert_eq!(view.waiting_since, Some(Time(0)));
    assert_eq!(view.address, Address(7));
    assert_eq!(view.presence, Attendance::Present);
    assert_eq!(hub.participant_view(BEN), None);
    let elsewhere = play("0s ann login as=Ann").hub;
    assert_eq!(elsewhere.participant_view(ANN).unwrap().waiting_since, None);
}

#[test]
fn sizes_are_those_of_the_largest_of_each_kind() {
    let script = "config stick=optional \n 0s ann login lobby key=1 \n ann login den key=2 \n ben login lobby key=1 \n ann send 'x' room=room_1 key=3 \n ann send 'y' room=room_1 key=4 \n ben send 'z' key=2";
    let hub = play(script).hub;
    let sizes = hub.sizes();
    let size = |name| sizes.iter().find(|s| s.name == name).map(|s| s.size);
    for (name, largest) in [
        ("participants", 2),
        ("rooms", 2),
        ("queue", 0),
        ("remembered_keys", 4),
        ("rooms_each", 2),
        ("members", 2),
        ("history", 3),
        ("inbox", 4),
    ] {
        assert_eq!(size(name), Some(largest), "{name}");
    }
}

#[test]
fn who_is_hidden_is_known_from_both_sides() {
    let hidden = |script: &str, user| {
        let hub = play(&format!(
            "0s ann login \n ben login \n cat login \n{script}"
        ))
        .hub;
        hub.validate().expect("it is sound");
        let hidden = hub.hidden_from(user);
        let all = (1..=3).map(UserId);
        assert!(
            hidden
                .iter()
                .copied()
                .eq(all.filter(|other| hub.blocked(user, *other)))
        );
        hidden.into_iter().collect::<Vec<_>>()
    };
    let cat = UserId(3);
    let blocks = "ann block ben \n cat block ben";
    assert_eq!(hidden(blocks, BEN), [ANN, cat]);
    assert_eq!(hidden(blocks, ANN), [BEN]);
    assert_eq!(hidden(&format!("{blocks} \n cat unblock ben"), BEN), [ANN]);
    assert_eq!(hidden(&format!("{blocks} \n cat unregister"), BEN), [ANN]);
    assert_eq!(hidden(&format!("{blocks} \n ben unregister"), ANN), [BEN]);
}
