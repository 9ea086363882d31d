//! Scripts for names: which names are equal, and who owns them.

use super::super::names::{Case, fold, fold_ascii, fold_other};
use super::*;

/// A use of a handle: the participant no longer gives way.
const USE: Command = Command::LeaveQueue;

#[test]
fn names_are_well_formed_and_not_reserved() {
    let mut s = Script::new(|_| {});
    let names = "Вob/Ηolly/Ꭱita/SYSТEМ/SEᎡVEᎡ/Server\u{70f}/\
        Server:/Operator/you/the server/ser-ver bot/ADMlN/\
        🦀/?!/\u{301}Ann/a\u{301}\u{301}\u{301}\u{301}\u{301}/🅰nn/Ann-Анна";
    for name in names.split('/') {
        assert_eq!(s.refused(0, 'a', login(name)), "name_not_allowed", "{name}");
    }
    s.call(0, 'a', login("Alice")).unwrap();
    s.call(0, 'a', USE).unwrap();
    assert_eq!(s.refused(0, 'b', login("AIice")), "name_taken");
    s.call(0, 'b', login("Алиса GPT 🦀")).unwrap();
    s.call(0, 'c', login("bob")).unwrap();
    s.call(0, 'c', USE).unwrap();
    assert_eq!(s.refused(0, 'd', login("ВОВ")), "name_taken");
    for id in ["alice", "B0B", "admin", "the-server", "user_l"] {
        assert_eq!(s.refused(0, 'd', enters(id, None)), "user_id_taken", "{id}");
    }
    s.call(0, 'd', enters("Dan.1", None)).unwrap();
    s.call(0, 'd', USE).unwrap();
    assert_eq!(s.refused(0, 'e', enters("dan.l", None)), "user_id_taken");
    assert_eq!(s.refused(0, 'e', login("DAN.1")), "name_taken");
    s.call(0, 'd', Command::Unregister).unwrap();
    s.call(0, 'e', login("DAN.1")).unwrap();
}

#[test]
fn look_alike_names_have_a_key_in_common() {
    let every: String = (' '..='~').collect();
    for case in [Case::Lower, Case::Given, Case::Upper] {
        assert_eq!(fold_ascii(&every, case), fold_other(&every, case));
    }
    assert_eq!(fold("Ünder 10"), fold("ünder|o"));
    assert_eq!(fold("раураl"), fold("paypa1"));
    let mut s = Script::new(|_| {});
    s.call(0, 'a', login("modern")).unwrap();
    s.call(0, 'a', USE).unwrap();
    assert_eq!(s.refused(0, 'b', login("rnodem")), "name_taken");
    assert_eq!(s.refused(0, 'b', login("System")), "name_not_allowed");
    assert_eq!(s.refused(0, 'b', login("two  spaces")), "name_not_allowed");
    assert_eq!(s.refused(0, 'b', login("user_99")), "name_taken");
    assert_eq!(s.refused(0, 'a', login("Modern")), "name_not_allowed");
    // Only its owner can respell a given name, once.
    s.call(0, 'c', rest()).unwrap();
    let name = |s: &Script| {
        let participant = s.model.participant(User(2));
        (participant.who.name.clone(), participant.chosen)
    };
    assert_eq!(name(&s), ("user_2".into(), false));
    assert_eq!(s.refused(0, 'd', login("USER_2")), "name_taken");
    s.call(0, 'c', login("user_2")).unwrap();
    assert_eq!(name(&s), ("user_2".into(), false));
    s.call(0, 'c', login("USER_2")).unwrap();
    assert_eq!(name(&s), ("USER_2".into(), true));
    assert_eq!(s.refused(0, 'c', login("user_2")), "name_not_allowed");
    // A ban keeps the name from others, and an unban gives it back.
    s.entry(1, &operated(ban(1)));
    assert_eq!(s.refused(1, 'e', login("modem")), "name_not_allowed");
    let name = text("m0dern");
    s.entry(2, &operated(Operate::Unban { name }));
    assert!(s.call(2, 'e', login("modem")).is_ok());
    assert_eq!(std::mem::take(&mut s.model.forgotten), [User(1)]);
}

#[test]
fn ghosts_of_the_same_address_give_way_for_a_name_an_id_and_a_place() {
    let mut s = Script::new(|c| {
        c.max_per_address = 2;
        c.unused_timeout = Span::secs(90);
        c.idle_timeout = Span::secs(60);
    });
    s.call(0, 'a', login("Ann")).unwrap();
    // Its answer was lost: the handle was never used.
    s.call(1, 'b', login("ann")).unwrap();
    assert_eq!(std::mem::take(&mut s.model.forgotten), [User(1)]);
    s.call(2, 'b', LEAVE).unwrap();
    let refusal = s.call(3, 'c', login("Ann")).unwrap_err();
    let refused = (refusal.code, refusal.number);
    assert_eq!(refused, ("name_taken", Some(59_000_000)));
    s.call(4, 'c', login("Cid")).unwrap();
    // The first place that is given way is that of one whose handle was never used.
    s.call(5, 'd', login("Dan")).unwrap();
    assert_eq!(std::mem::take(&mut s.model.forgotten), [User(3)]);
    s.call(6, 'd', LEAVE).unwrap();
    assert_eq!(s.refused(7, 'e', login("Eve")), "address_full");
    // The second is away by now, and gives its name and with it a place.
    s.call(62, 'e', login("AnN")).unwrap();
    assert_eq!(std::mem::take(&mut s.model.forgotten), [User(2)]);
}
