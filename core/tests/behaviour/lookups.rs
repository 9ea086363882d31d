//! Lookups for the node and the shell.

use chat_core::{
    Address, Attendance, Hub, Measure, MeasureTarget, RoomId, Seq, Span, Time, UserId,
};

use crate::check::play;
use crate::script::{handle, reader};

const ANN: UserId = UserId(1);
const BEN: UserId = UserId(2);
const CAT: UserId = UserId(3);

fn hub(script: &str) -> Hub {
    play(script).hub
}

fn after(millis: u64) -> Time {
    Time(0) + Span::millis(millis)
}

#[test]
fn a_read_is_reported_for_a_participant_that_may_go_away() {
    let wants = |script: &str, millis| hub(script).wants_seen(ANN, after(millis));
    for (script, millis, is_wanted) in [
        // A quarter of the idle timeout after the last call.
        ("ann login \n ann typing", 75_000, false),
        ("ann login \n ann typing", 75_001, true),
        // The handle was not used yet.
        ("ann login", 0, true),
        // A stream says so.
        ("ann login \n ann open_stream", 0, false),
        ("ann login \n ann open_stream", 200_000, false),
        ("ann login \n ann open_stream \n ann close_stream", 0, true),
        ("ann login \n ann seen \n 5m tick", 0, true),
        // She is forgotten; nobody was there.
        ("ann login \n 60s tick", 0, false),
        ("0s tick", 0, false),
    ] {
        assert_eq!(wants(script, millis), is_wanted, "{script}");
    }
}

#[test]
fn participants_are_found_by_id_and_look_alike_name() {
    let hub = hub("ann enter_queue id=ann.a as=Ann \n ben enter_queue");
    assert_eq!(hub.user_by_public_id("ann.a"), Some(ANN));
    assert_eq!(hub.user_by_public_id("user_2"), Some(BEN));
    // She is not called user_1.
    for other in ["user_1", "user_02", "user_+2", "user_3", "USER_2", "2", ""] {
        assert_eq!(hub.user_by_public_id(other), None, "{other}");
    }
    assert_eq!(hub.user_by_name("ANN"), Some(ANN));
    assert_eq!(hub.user_by_name("user_2"), Some(BEN));
    assert_eq!(hub.user_by_name("Anna"), None);
}

#[test]
fn participants_are_found_by_handle_and_by_reader() {
    let (handle, reader) = (handle("ann"), reader("ann"));
    for (script, ann) in [
        ("ann login", Some(ANN)),
        ("ann login \n ann unregister", None),
    ] {
        let hub = hub(script);
        assert_eq!(hub.user_by_handle(&handle), ann);
        assert_eq!(hub.user_by_reader(&reader), ann);
        assert_eq!(hub.user_by_handle(&reader), None);
        assert_eq!(hub.user_by_reader(&handle), None);
    }
}

#[test]
fn unread_is_what_came_after_a_place() {
    let hub = hub("config stick=optional \n ann login \n ben login \n ann send 'hi'");
    let unread = [0, 1, 2].map(|after| hub.unread(BEN, Seq(after)));
    assert_eq!(unread, [Some(2), Some(1), Some(0)]);
    assert_eq!(hub.unread(CAT, Seq(0)), None);
}

#[test]
fn rooms_tell_their_name_and_members_in_order() {
    let hub = hub("ann enter_queue \n ben login Den \n ann login Den \n given cat,dan pair");
    let members = |room| hub.members_of(RoomId(room)).collect::<Vec<_>>();
    assert_eq!(members(1), [ANN, BEN]);
    assert_eq!(members(3), []);
    // Pairs have no name.
    let names = [1, 2, 3].map(|room| hub.room_name(RoomId(room)));
    assert_eq!(names, [Some("Den"), None, None]);
    assert_eq!(hub.rooms_of(CAT), [RoomId(2)]);
}

#[test]
fn bans_are_looked_up_until_they_are_lifted() {
    let script = "ann login as=Ann \n operator ban ann 'spam' \n operator ban_address 7 'flood'";
    let banned = hub(script);
    assert!(banned.is_banned(Address(7)) && !banned.is_banned(Address(8)));
    let kept: Vec<_> = banned.kept(None).collect();
    assert_eq!(kept.len(), 3, "the name, the handle, the address");
    for (.., ban) in &kept[..2] {
        assert_eq!((&*ban.by, &*ban.reason), ("olga", "spam"));
        assert_eq!(ban.measure, Measure::Ban);
    }
    let MeasureTarget::Handle(owner) = &kept[1].1 else {
        panic!("{kept:?}");
    };
    assert_eq!((owner.id, &*owner.name), (ANN, "Ann"));
    assert_eq!(kept[2].1, MeasureTarget::Address(Address(7)));
    assert_eq!(&*kept[2].2.reason, "flood");
    let lifted = format!("{script} \n operator unban Ann \n operator unban_address 7");
    let lifted = hub(&lifted);
    assert!(!lifted.is_banned(Address(7)));
    assert_eq!(lifted.kept(None).count(), 0);
}

#[test]
fn visitors_see_who_is_there_and_which_rooms_page_by_page() {
    let hub = hub(
        "0s given ann login as=Ann; ben login Attic as=Ben; cat login; ann,cat talking_stick
         dan enter_queue",
    );
    let counts = hub.counts();
    let present = (counts.participants, counts.rooms, counts.waiting);
    assert_eq!(present, (4, 2, 1));
    assert_eq!(counts.first_waits_since, Some(Time(0)));
    assert_eq!(counts.recent_wait, None, "nobody was matched yet");
    let names = |after: Option<&str>, limit| -> Vec<String> {
        let page = hub.participants(after, limit);
        page.map(|view| view.who.name.to_string()).collect()
    };
    assert_eq!(names(None, 2), ["Ann", "Ben"]);
    // Names compare as look-alikes do.
    assert_eq!(names(Some("BEN"), 10), ["cat", "user_4"]);
    assert!(names(Some("zz"), 10).is_empty());
    let rooms: Vec<_> = hub.named_rooms(None, 10).collect();
    let [attic, lobby] = &rooms[..] else {
        panic!("{} rooms", rooms.len());
    };
    assert_eq!(
        (&*attic.name, attic.members, attic.stick_line),
        ("Attic", 1, 0)
    );
    assert_eq!((attic.holder, attic.lease_until), (None, None));
    assert_eq!(
        (&*lobby.name, lobby.members, lobby.stick_line),
        ("lobby", 2, 1)
    );
    assert_eq!(lobby.holder.map(|(_, user)| user), Some(ANN));
    assert_eq!(lobby.next_in_line, [CAT]);
    assert!(lobby.lease_until > Some(hub.now()));
    assert_eq!(hub.named_rooms(Some("attic"), 10).count(), 1);
}

#[test]
fn an_operator_sees_one_participant() {
    let there = hub(
        "0s given ann login as=Ann from=7; ann open_stream; ann enter_queue
         operator mute ann 'loud'",
    );
    let view = there.participant_view(ANN).unwrap();
    assert_eq!(
        (view.streams, view.rooms.len(), view.is_muted),
        (1, 1, true)
    );
    assert_eq!(view.waiting_since, Some(Time(0)));
    assert_eq!(view.address, Address(7));
    assert_eq!(view.presence, Attendance::Present);
    assert_eq!(there.participant_view(BEN), None);
    let elsewhere = hub("ann login as=Ann").participant_view(ANN).unwrap();
    assert_eq!(elsewhere.waiting_since, None);
}

#[test]
fn sizes_are_those_of_the_largest_of_each_kind() {
    let hub = hub("config stick=optional
         0s given ann login key=1; ann login den key=2; ben login key=1
         given ann send 'x' room=1 key=3; ann send 'y' room=1 key=4; ben send 'z' key=2");
    let sizes = hub.sizes();
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
        let size = sizes.iter().find(|size| size.name == name);
        assert_eq!(size.map(|size| size.size), Some(largest), "{name}");
    }
}

#[test]
fn who_is_hidden_is_known_from_both_sides() {
    let hidden = |script: &str, user| -> Vec<UserId> {
        let setup = "given ann,ben,cat login; ann block ben; cat block ben";
        let hub = hub(&format!("{setup} \n {script}"));
        let hidden = hub.hidden_from(user);
        let blocked = [ANN, BEN, CAT].into_iter();
        let blocked = blocked.filter(|other| hub.blocked(user, *other));
        assert!(hidden.iter().copied().eq(blocked));
        hidden.into_iter().collect()
    };
    assert_eq!(hidden("tick", BEN), [ANN, CAT]);
    assert_eq!(hidden("tick", ANN), [BEN]);
    assert_eq!(hidden("cat unblock ben", BEN), [ANN]);
    assert_eq!(hidden("cat unregister", BEN), [ANN]);
    assert_eq!(hidden("ben unregister", ANN), [BEN]);
}
